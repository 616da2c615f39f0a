//! Guarantees of progress against an oracle of their own: thousands of small random objects, their
//! whole unreduced graphs, and the definitions taken literally. Strongly connected sets come from
//! the transitive closure here, explanations from sets of pairs, and nothing is shared with the
//! engine but the machine with fine steps and the interpreter of specifications.

use crate::common::program;
use seriatim_explore::{
    Counterexample, Guarantee, Options, Replay, Saved, Verdict, ViolationKind, run_progress,
};
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{Bounds, Granularity, Machine, State, Stop};
use seriatim_lang::spec::{Datum, Spec, SpecState};
use seriatim_lang::{Program, lower};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::process::Command;

/// What a thread did of its operation: nothing, called a method, took effect with a result.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Phase {
    Idle,
    Called(usize),
    Done(Datum),
}

type Explanation = (SpecState, Vec<Phase>);
type Explained = BTreeSet<Explanation>;

struct Edge {
    to: usize,
    thread: usize,
    call: Option<usize>,
    ret: Option<Datum>,
}

/// A node: who is inside and who can go on, as masks; what explains its history; its edges.
struct Node {
    inside: u32,
    able: u32,
    explained: Explained,
    edges: Vec<Edge>,
}

struct Oracle {
    spec: Spec,
    threads: usize,
    nodes: Vec<Node>,
}

const MOST_NODES: usize = 600;

impl Oracle {
    /// The whole graph; `None` if it is too large or a step is an error.
    fn new(program: &Program, threads: u32, client: Option<&str>) -> Option<Oracle> {
        let bounds = Bounds { values: 1, keys: 0, nodes: None, capacity: None };
        let spec = Spec::new(program.spec.clone()?, bounds);
        let steps = lower(program, threads, client).ok()?;
        let mut machine = Machine::new(steps, bounds, Granularity::Fine);
        let threads = machine.thread_count();
        let first = machine.initial().ok()?;
        let start = Explained::from([(spec.initial().ok()?, vec![Phase::Idle; threads])]);
        let mut oracle = Oracle { spec, threads, nodes: Vec::new() };
        let mut found: Vec<(State, Explained)> = vec![(first, start)];
        let mut numbers = HashMap::from([(found[0].clone(), 0)]);
        while oracle.nodes.len() < found.len() {
            if found.len() > MOST_NODES {
                return None;
            }
            let (from, explained) = found[oracle.nodes.len()].clone();
            let mut node = Node { inside: 0, able: 0, explained, edges: Vec::new() };
            for thread in 0..threads {
                node.inside |= u32::from(!machine.is_idle(&from, thread)) << thread;
                let mut choices = Choices::default();
                loop {
                    let mut to = State::default();
                    match machine.run(&from, thread, &mut choices, &mut to) {
                        Ok(seen) => {
                            node.able |= 1 << thread;
                            let name = |m: u32| &machine.steps.methods[m as usize].name;
                            let call =
                                seen.call.as_ref().map(|(m, _)| oracle.spec.method(name(*m)));
                            let call = call.map(|m| m.expect("the specification has it"));
                            let ret = seen.ret.as_ref().map(|words| datum(words));
                            let mut next = node.explained.clone();
                            if let Some(method) = call {
                                next = called(&next, thread, method);
                            }
                            if let Some(result) = &ret {
                                next = returned(&oracle.closed(&next, 0), thread, result);
                            }
                            let key = (to, next);
                            let to = *numbers.entry(key.clone()).or_insert(found.len());
                            if to == found.len() {
                                found.push(key);
                            }
                            node.edges.push(Edge { to, thread, call, ret });
                        }
                        Err(Stop::Waits | Stop::Ended) => {}
                        Err(Stop::Fault(..)) => return None,
                        Err(_) => node.able |= 1 << thread,
                    }
                    if !choices.advance() {
                        break;
                    }
                }
            }
            oracle.nodes.push(node);
        }
        Some(oracle)
    }

    fn is_enabled(&self, state: &SpecState, method: usize) -> bool {
        self.spec.outcomes(state, method, &[]).is_ok_and(|outcomes| !outcomes.is_empty())
    }

    fn is_blocked(&self, (state, phases): &Explanation, who: u32) -> bool {
        members(who).all(|thread| match phases[thread] {
            Phase::Called(method) => !self.is_enabled(state, method),
            _ => false,
        })
    }

    /// What can be after effects; those in `who` stay blocked throughout.
    fn closed(&self, explained: &Explained, who: u32) -> Explained {
        let mut all = explained.clone();
        let mut todo: Vec<Explanation> = all.iter().cloned().collect();
        while let Some((state, phases)) = todo.pop() {
            for (thread, phase) in phases.iter().enumerate() {
                let Phase::Called(method) = phase else { continue };
                for (next, result) in self.spec.outcomes(&state, *method, &[]).unwrap_or_default() {
                    let mut after = phases.clone();
                    after[thread] = Phase::Done(result);
                    let after = (next, after);
                    if (who == 0 || self.is_blocked(&after, who)) && all.insert(after.clone()) {
                        todo.push(after);
                    }
                }
            }
        }
        all
    }

    fn blocked(&self, explained: &Explained, who: u32) -> Explained {
        let all = self.closed(explained, 0);
        all.into_iter().filter(|e| self.is_blocked(e, who)).collect()
    }

    fn holds(&self, guarantee: Guarantee) -> bool {
        let waits = || self.nodes.iter().any(|node| node.inside & !node.able != 0);
        match guarantee {
            Guarantee::LockFree => !waits() && !self.cycles(u32::MAX),
            Guarantee::ObstructionFree => {
                !waits() && !(0..self.threads).any(|thread| self.cycles(1 << thread))
            }
            Guarantee::LivelockFree => !(1..1 << self.threads).any(|who| self.starves(who, true)),
            Guarantee::StarvationFree => {
                !(1..1 << self.threads).any(|who| self.starves(who, false))
            }
        }
    }

    /// Whether some of these threads can go round without a return.
    fn cycles(&self, who: u32) -> bool {
        let edges = self.nodes.iter().map(|node| {
            let quiet = node.edges.iter().filter(|e| e.ret.is_none() && who >> e.thread & 1 == 1);
            quiet.map(|edge| edge.to).collect()
        });
        let reach = closure(&edges.collect::<Vec<Vec<usize>>>());
        (0..self.nodes.len()).any(|node| reach[node].has(node))
    }

    /// Whether in some fair run exactly these threads never return, though nothing excuses it;
    /// perhaps of runs in which nobody returns.
    fn starves(&self, who: u32, is_silent: bool) -> bool {
        let is_of_interest = |node: usize| {
            let inside = self.nodes[node].inside;
            if is_silent { inside == who } else { inside & who == who }
        };
        let mut keys: Vec<(usize, Explained)> = (0..self.nodes.len())
            .filter(|node| is_of_interest(*node))
            .map(|node| (node, self.blocked(&self.nodes[node].explained, who)))
            .collect();
        let mut numbers: BTreeMap<(usize, Explained), usize> =
            keys.iter().cloned().enumerate().map(|(number, key)| (key, number)).collect();
        let mut edges: Vec<Vec<(usize, usize, bool, bool)>> = Vec::new();
        while edges.len() < keys.len() {
            let (node, since) = keys[edges.len()].clone();
            // Standing still is a step of nobody.
            let mut own = vec![(edges.len(), usize::MAX, false, since.is_empty())];
            for edge in &self.nodes[node].edges {
                let may_return = !is_silent && who >> edge.thread & 1 == 0;
                if !is_of_interest(edge.to) || edge.ret.is_some() && !may_return {
                    continue;
                }
                let mut next = since.clone();
                if let Some(method) = edge.call {
                    next = called(&next, edge.thread, method);
                }
                if let Some(result) = &edge.ret {
                    next = returned(&next, edge.thread, result);
                }
                next.retain(|e| self.is_blocked(e, who));
                next = self.closed(&next, who);
                let ran_out = next.is_empty();
                if ran_out {
                    next = self.blocked(&self.nodes[edge.to].explained, who);
                }
                let key = (edge.to, next);
                let fresh = keys.len();
                let to = *numbers.entry(key.clone()).or_insert(fresh);
                if to == fresh {
                    keys.push(key);
                }
                own.push((to, edge.thread, edge.ret.is_some(), ran_out));
            }
            edges.push(own);
        }
        let plain: Vec<Vec<usize>> =
            edges.iter().map(|own| own.iter().map(|(to, ..)| *to).collect()).collect();
        let reach = closure(&plain);
        let mut done = vec![false; keys.len()];
        (0..keys.len()).any(|root| {
            if done[root] {
                return false;
            }
            let together = |node: usize| reach[root].has(node) && reach[node].has(root);
            let is_member: Vec<bool> = (0..keys.len()).map(together).collect();
            let set = || (0..keys.len()).filter(|node| is_member[*node]);
            set().for_each(|node| done[node] = true);
            let inner = || {
                let from = set().flat_map(|node| edges[node].iter());
                from.filter(|edge| is_member[edge.0])
            };
            let idle = |t: usize| set().any(|n| self.nodes[keys[n].0].inside >> t & 1 == 0);
            let unable = |t: usize| set().any(|n| self.nodes[keys[n].0].able >> t & 1 == 0);
            let fair = |t: usize| idle(t) || unable(t) || inner().any(|edge| edge.1 == t);
            let rests = |t: usize| idle(t) || inner().any(|edge| edge.1 == t && edge.2);
            (0..self.threads).all(fair)
                && (0..self.threads).all(|t| who >> t & 1 == 1 || rests(t))
                && inner().any(|edge| edge.3)
        })
    }
}

fn members(who: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |thread| who >> thread & 1 == 1)
}

fn datum(words: &[i32]) -> Datum {
    match words {
        [] => Datum::unit(),
        [word, ..] => Datum::Bool(*word != 0),
    }
}

fn called(explained: &Explained, thread: usize, method: usize) -> Explained {
    let call = |(state, mut phases): Explanation| {
        phases[thread] = Phase::Called(method);
        (state, phases)
    };
    explained.iter().cloned().map(call).collect()
}

fn returned(explained: &Explained, thread: usize, result: &Datum) -> Explained {
    let done = Phase::Done(result.clone());
    let kept = explained.iter().filter(|(_, phases)| phases[thread] == done).cloned();
    let rest = |(state, mut phases): Explanation| {
        phases[thread] = Phase::Idle;
        (state, phases)
    };
    kept.map(rest).collect()
}

/// A set of nodes.
#[derive(Clone)]
struct Bits(Vec<u64>);

impl Bits {
    fn has(&self, node: usize) -> bool {
        self.0[node / 64] >> (node % 64) & 1 == 1
    }
}

/// Which nodes can be reached by one edge or more (Warshall).
fn closure(edges: &[Vec<usize>]) -> Vec<Bits> {
    let mut reach = vec![Bits(vec![0; edges.len() / 64 + 1]); edges.len()];
    for (from, to) in edges.iter().enumerate() {
        to.iter().for_each(|to| reach[from].0[to / 64] |= 1 << (to % 64));
    }
    for middle in 0..edges.len() {
        let through = reach[middle].clone();
        for row in reach.iter_mut().filter(|row| row.has(middle)) {
            row.0.iter_mut().zip(&through.0).for_each(|(own, further)| *own |= further);
        }
    }
    reach
}

/// Pseudo-random numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % bound as u64) as usize
    }

    fn one<'a>(&mut self, items: &[&'a str]) -> &'a str {
        items[self.below(items.len())]
    }
}

const SPECS: &[(&str, &[&str], &str)] = &[
    (
        "gate { var open: bool = false\n method a() { assume open; open = false }\n \
         method b() { open = true } }",
        &["a", "b"],
        "",
    ),
    (
        "free { method a() { } method b() { } }",
        &["a", "b"],
        "client c { thread x { loop { a() } } thread y { loop { b() } } }",
    ),
    (
        "lock { var held: bool = false\n method a() { assume !held; held = true }\n \
         method b() { held = false } }",
        &["a", "b"],
        "client c { thread x * rest { loop { a(); b() } } }",
    ),
    (
        "pair { var n: int 0..1 = 0\n method a() { assume n == 0; choose { n = 1 or n = 0 } }\n \
         method b() { assume n == 1; n = 0 } }",
        &["a", "b"],
        "",
    ),
];

/// What an object may do: nothing that waits or spins; spin; anything.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Manner {
    Retries,
    Spins,
    Waits,
}

/// A random statement.
fn statement(random: &mut Random, depth: usize, fresh: &mut usize, manner: Manner) -> String {
    *fresh += 1;
    let name = format!("r{fresh}");
    let variable = random.one(&["p", "q"]);
    let truth = random.one(&["true", "false"]);
    let mut inner = |random: &mut Random| statement(random, depth + 1, fresh, manner);
    match random.below(if depth > 2 { 6 } else { 14 }) {
        0 | 1 => format!("{variable} = {truth}"),
        13 => format!("loop {{ {variable} = {truth}; if {variable} == {truth} {{ break }} }}"),
        2 | 7 | 10 if manner == Manner::Retries => {
            format!(
                "loop {{ {variable} = {truth}; turn = self; if {variable} == {truth} {{ break }} }}"
            )
        }
        3 | 8 | 9 | 11 if manner == Manner::Retries => {
            format!("if cas({variable}, {truth}, !{truth}) {{}}")
        }
        2 | 3 | 10 if manner == Manner::Spins => {
            format!("loop {{ if cas({variable}, {truth}, !{truth}) {{ break }} }}")
        }
        2 => format!("await {variable} == {truth}"),
        3 => format!("let {name} = {variable}; assume {name} == {truth}"),
        4 => "turn = self".to_owned(),
        5 => format!("let {name}: bool = any; {variable} = {name}"),
        6 => {
            let (yes, no) = (inner(random), inner(random));
            format!("let {name} = {variable}\n if {name} {{ {yes} }} else {{ {no} }}")
        }
        7 => format!("while {variable} == {truth} {{}}"),
        8 => {
            let body = inner(random);
            format!("while {variable} == {truth} {{ {body} }}")
        }
        9 => format!("loop {{ if cas({variable}, {truth}, !{truth}) {{ break }} }}"),
        10 => {
            let body = inner(random);
            format!("lock(l)\n {body}\n unlock(l)")
        }
        11 => "while turn == self {}".to_owned(),
        _ => {
            let (one, two) = (inner(random), inner(random));
            format!("choose {{ {one} or {two} }}")
        }
    }
}

/// A random object with its client, if it has one.
fn object(random: &mut Random) -> (String, Option<&'static str>) {
    let (spec, methods, client) = SPECS[random.below(SPECS.len())];
    let mut fresh = 0;
    let manner = [Manner::Retries, Manner::Spins, Manner::Waits][random.below(3)];
    let mut source = "object o : ".to_owned() + spec.split(' ').next().unwrap_or_default();
    source += &format!(
        "\nspec {spec}\nvar p: bool = false\nvar q: bool = false\nvar l: lock\nvar turn: tid? = null\n"
    );
    for method in methods {
        let count = 1 + random.below(3);
        let body: Vec<String> =
            (0..count).map(|_| statement(random, 0, &mut fresh, manner)).collect();
        source += &format!("method {method}() {{\n {}\n}}\n", body.join("\n "));
    }
    source += client;
    (source, (!client.is_empty()).then_some("c"))
}

/// What the engine says; `None` where it found an error of another kind.
fn engine(
    program: &Program,
    options: &Options,
    guarantee: Guarantee,
) -> Option<Option<Box<Counterexample>>> {
    let outcome = run_progress(program, options, guarantee).expect("it can be explored");
    match outcome.verdict {
        Verdict::Holds => Some(None),
        Verdict::Violation(found) if matches!(found.kind, ViolationKind::Fault(_)) => None,
        Verdict::Violation(found) => Some(Some(found)),
        Verdict::Unknown(reason) => panic!("{reason:?}"),
    }
}

#[test]
fn the_engine_agrees_with_the_definitions_on_random_objects() {
    let (seed, programs) = (0x5eed_0021, if seriatim_testing::long() { 40_000 } else { 4_000 });
    let mut random = Random(seed);
    let mut counts: BTreeMap<(String, bool), u32> = BTreeMap::new();
    let mut apart: BTreeMap<&str, u32> = BTreeMap::new();
    for _ in 0..programs {
        let (source, client) = object(&mut random);
        let threads = if random.below(6) == 0 { 3 } else { 2 };
        let program = program(&source);
        let Some(oracle) = Oracle::new(&program, threads, client) else { continue };
        let client = client.map(str::to_owned);
        let options = Options { threads, values: 1, keys: 0, client, ..Options::default() };
        let mut held = Vec::new();
        for guarantee in Guarantee::ALL {
            let Some(found) = engine(&program, &options, guarantee) else { continue };
            let holds = oracle.holds(guarantee);
            assert_eq!(found.is_none(), holds, "{guarantee:?}, {threads} threads\n{source}");
            *counts.entry((format!("{guarantee:?}"), holds)).or_default() += 1;
            held.push(holds);
            if let Some(found) = found {
                let saved = Saved::of(&program, &options, &BTreeMap::new(), &found);
                let read = Saved::parse(&saved.text()).expect("what was written can be read");
                let again = read.replay(&program).expect("it can be replayed");
                let same = matches!(&again, Replay::Fails(again) if again.kind == found.kind);
                assert!(same, "{guarantee:?}: {again:?}\n{source}");
            }
        }
        if let [lock, obstruction, livelock, starvation] = held[..] {
            *apart.entry("obstruction-free alone").or_default() += u32::from(obstruction && !lock);
            *apart.entry("starves alone").or_default() += u32::from(livelock && !starvation);
            *apart.entry("fair, not lock-free").or_default() += u32::from(starvation && !lock);
            *apart.entry("lock-free, starves").or_default() += u32::from(lock && !starvation);
        }
    }
    assert_eq!(counts.len(), 8, "{counts:?}");
    assert!(counts.values().all(|count| *count > 200), "{counts:?}");
    assert!(apart.values().all(|count| *count > 10), "{apart:?}");
}

#[test]
fn stronger_guarantees_give_weaker_ones() {
    let mut random = Random(0x5eed_0022);
    for _ in 0..600 {
        let (source, client) = object(&mut random);
        let program = program(&source);
        let client = client.map(str::to_owned);
        let options = Options { values: 1, keys: 0, client, ..Options::default() };
        let all = Guarantee::ALL.map(|guarantee| engine(&program, &options, guarantee));
        let [Some(lock), Some(obstruction), Some(livelock), Some(starvation)] = all else {
            continue;
        };
        let implies = |strong: &Option<_>, weak: &Option<_>| strong.is_some() || weak.is_none();
        assert!(implies(&lock, &obstruction), "{source}");
        assert!(implies(&lock, &livelock), "{source}");
        assert!(implies(&starvation, &livelock), "{source}");
    }
}

/// Mistakes in the rules of progress.
const MISTAKES: [&str; 8] = [
    "IgnoredTurn",
    "IdleMustCall",
    "IgnoredExcuse",
    "LastingExcuse",
    "SeparateExcuses",
    "BlindWaiting",
    "LostPlace",
    "SymmetricThreads",
];

#[test]
fn every_mistake_in_the_rules_of_progress_is_noticed() {
    for mistake in MISTAKES {
        let mut tests = Command::new(std::env::current_exe().expect("this program"));
        tests.arg("fairness::the_engine_agrees_with_the_definitions_on_random_objects");
        let ran = tests.env("SERIATIM_SABOTAGE", mistake).output().expect("this program runs");
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(!said.contains("running 0 tests"), "nothing was run: {said}");
        assert!(!ran.status.success(), "nobody notices {mistake}");
    }
}
