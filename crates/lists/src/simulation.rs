//! The soundness of the abstraction, tested: along random concrete runs on random lists there is
//! always an abstract step whose result stands for the concrete state. What an abstract state
//! stands for is written down here a second time, without use of the normal form.

use crate::cases::{Case, Input, Interval, Presence, orders};
use crate::composition::{Composition, parse_composition};
use crate::monitor::Monitor;
use crate::movers::Reductions;
use crate::normal::{Buffers, Mode, normalise};
use crate::random::Random;
use crate::state::{Class, ListState, MARKED, Segment, UNMARKED};
use crate::step::{Ended, Trail, Turn, step};
use crate::subject::{Code, Subject};
use seriatim_lang::choices::Choices;
use seriatim_lang::steps::NULL;
use seriatim_lang::types::Scalar;
use std::sync::Arc;

/// Which node of the concrete state a node of the abstract one stands for, as far as known.
struct Matching<'s> {
    subject: &'s Subject,
    whole: &'s ListState,
    concrete: &'s ListState,
    pairs: Vec<(i32, i32)>,
}

/// Whether an abstract state stands for a concrete one.
fn covers(subject: &Subject, whole: &ListState, concrete: &ListState) -> bool {
    let lost = concrete.lost || is_missing(subject, concrete);
    if whole.configurations != concrete.configurations || lost && !whole.lost {
        return false;
    }
    let mut matching = Matching { subject, whole, concrete, pairs: vec![] };
    matching.registers_agree() && matching.nodes_agree() && matching.order_agrees()
}

impl Matching<'_> {
    fn registers_agree(&mut self) -> bool {
        let (a, c) = (&self.whole.machine.words, &self.concrete.machine.words);
        let mut keys = vec![];
        for at in 0..self.subject.machine.steps.shared.len() {
            match self.subject.machine.steps.shared[at].kind.scalar {
                Scalar::Ref(_) => self.pairs.push((a[at], c[at])),
                _ if a[at] != c[at] => return false,
                _ => {}
            }
        }
        for thread in 0..self.subject.machine.thread_count() {
            let base = self.subject.machine.thread_base(thread);
            let registers = self.subject.machine.register_base(thread);
            if a[base..registers] != c[base..registers] {
                return false;
            }
            for (reg, kind) in &self.subject.code.live[a[base] as usize] {
                let at = registers + *reg as usize;
                match kind.scalar {
                    Scalar::Ref(_) => self.pairs.push((a[at], c[at])),
                    Scalar::Key => keys.push((a[at], c[at])),
                    _ if a[at] != c[at] => return false,
                    _ => {}
                }
            }
        }
        keys.iter().all(|(x, y)| Class::of(*x) == Class::of(*y))
    }

    fn nodes_agree(&mut self) -> bool {
        let shape = &self.subject.code.shape;
        let mut at = 0;
        while at < self.pairs.len() {
            let (a, c) = self.pairs[at];
            at += 1;
            if (a == NULL) != (c == NULL) {
                return false;
            }
            if a == NULL || self.pairs[..at - 1].contains(&(a, c)) {
                continue;
            }
            if self.pairs[..at - 1].iter().any(|(x, y)| *x == a || *y == c) {
                return false;
            }
            let slot = |state: &ListState, node: i32, slot: usize| {
                state.machine.heap[self.subject.slot(node as usize, slot)]
            };
            let (whole, concrete) = (self.whole, self.concrete);
            let flags = [shape.mark, shape.lock].into_iter().flatten();
            let same_flags = flags.into_iter().all(|s| slot(whole, a, s) == slot(concrete, c, s));
            let classes = (slot(whole, a, shape.key), slot(concrete, c, shape.key));
            if !same_flags || Class::of(classes.0) != Class::of(classes.1) {
                return false;
            }
            if !self.paths_agree(slot(whole, a, shape.next), slot(concrete, c, shape.next)) {
                return false;
            }
        }
        true
    }

    /// Follows both lists to the next node of the abstract one.
    fn paths_agree(&mut self, mut a: i32, mut c: i32) -> bool {
        let shape = &self.subject.code.shape;
        let (subject, whole, concrete) = (self.subject, self.whole, self.concrete);
        let value = |state: &ListState, node: i32, slot: usize| {
            state.machine.heap[subject.slot(node as usize, slot)]
        };
        let mut segments: Vec<(Class, Segment)> = vec![];
        while a != NULL && !whole.segments[a as usize].is_node() {
            segments.push((Class::of(value(whole, a, shape.key)), whole.segments[a as usize]));
            a = value(whole, a, shape.next);
        }
        if segments.is_empty() {
            self.pairs.push((a, c));
            return true;
        }
        let looked_at = pointed(subject, concrete);
        let mut nodes: Vec<(Class, u8)> = vec![];
        let stops = |node: i32| {
            let class = Class::of(value(concrete, node, shape.key));
            let locked = shape.lock.is_some_and(|l| value(concrete, node, l) == 1);
            !class.is_open() || locked || looked_at.contains(&node)
        };
        let mut last = None;
        while c != NULL && !stops(c) {
            let marked = shape.mark.is_some_and(|m| value(concrete, c, m) == 1);
            let key = value(concrete, c, shape.key);
            if last.is_some_and(|last| last >= key) {
                return false;
            }
            last = Some(key);
            nodes.push((Class::of(key), if marked { MARKED } else { UNMARKED }));
            c = value(concrete, c, shape.next);
        }
        self.pairs.push((a, c));
        accepts(&segments, &nodes)
    }

    /// Keys compare the same way on both sides.
    fn order_agrees(&self) -> bool {
        let key = |state: &ListState, node: i32| {
            state.machine.heap[self.subject.slot(node as usize, self.subject.code.shape.key)]
        };
        let nodes: Vec<_> = self.pairs.iter().filter(|(a, _)| *a != NULL).collect();
        nodes.iter().all(|(a, c)| {
            nodes.iter().all(|(b, d)| {
                (key(self.whole, *a) < key(self.whole, *b))
                    == (key(self.concrete, *c) < key(self.concrete, *d))
            })
        })
    }
}

fn accepts(segments: &[(Class, Segment)], nodes: &[(Class, u8)]) -> bool {
    let Some(((class, segment), rest)) = segments.split_first() else { return nodes.is_empty() };
    (0..=nodes.len()).any(|count| {
        let fits = |n: &(Class, u8)| n.0 == *class && segment.labels() & n.1 != 0;
        count >= segment.least() as usize
            && nodes[..count].iter().all(fits)
            && accepts(rest, &nodes[count..])
    })
}

/// The nodes to which registers refer, by reference or by key.
fn pointed(subject: &Subject, state: &ListState) -> Vec<i32> {
    let words = &state.machine.words;
    let mut found = vec![];
    for thread in 0..subject.machine.thread_count() {
        let base = subject.machine.thread_base(thread);
        let registers = subject.machine.register_base(thread);
        for (reg, kind) in &subject.code.live[words[base] as usize] {
            let word = words[registers + *reg as usize];
            match kind.scalar {
                Scalar::Ref(_) => found.push(word),
                Scalar::Key => {
                    let key = subject.code.shape.key;
                    let all = 0..state.segments.len();
                    let same = all.filter(|n| state.machine.heap[subject.slot(*n, key)] == word);
                    found.extend(same.map(|n| n as i32));
                }
                _ => {}
            }
        }
    }
    found
}

/// Whether an unmarked node of an open class can no longer be reached by anybody.
fn is_missing(subject: &Subject, state: &ListState) -> bool {
    let shape = &subject.code.shape;
    let value = |node: i32, slot: usize| state.machine.heap[subject.slot(node as usize, slot)];
    let mut reached = pointed(subject, state);
    reached.push(state.machine.words[shape.head]);
    let mut at = 0;
    while at < reached.len() {
        if reached[at] != NULL && !reached.contains(&value(reached[at], shape.next)) {
            reached.push(value(reached[at], shape.next));
        }
        at += 1;
    }
    (0..state.segments.len() as i32).any(|node| {
        let unmarked = shape.mark.is_none_or(|m| value(node, m) == 0);
        Class::of(value(node, shape.key)).is_open() && unmarked && !reached.contains(&node)
    })
}

fn random_list(random: &mut Random, case: &Case, input: Input) -> Vec<Interval> {
    let mut interval = || {
        let count = random.below(4);
        let marked = |random: &mut Random| input == Input::Marked && random.below(2) == 1;
        Interval::Nodes((0..count).map(|_| marked(random)).collect())
    };
    (0..=case.present.len()).map(|_| interval()).collect()
}

fn random_case(random: &mut Random, composition: &Composition, input: Input) -> Case {
    let mut orders = orders(composition);
    let ranks = orders.swap_remove(random.below(orders.len()));
    let keys = ranks.iter().max().map_or(0, |r| r + 1);
    let options = [Presence::Absent, Presence::Unmarked, Presence::Marked];
    let most = if input == Input::Marked { 3 } else { 2 };
    let present = (0..keys).map(|_| options[random.below(most)]).collect();
    Case { ranks, present }
}

/// All states after a step of a thread.
fn successors(
    subject: &Subject,
    monitor: &mut Monitor,
    state: &ListState,
    thread: usize,
    mode: Option<Mode>,
) -> Vec<(Ended, ListState)> {
    let mut choices = Choices::default();
    let mut found = vec![];
    loop {
        let mut next = state.clone();
        let ended = step(
            subject,
            monitor,
            &mut next,
            Turn { thread, choices: &mut choices },
            &mut Trail::default(),
        );
        if let (Some(mode), Ended::Well) = (mode, ended) {
            normalise(subject, &mut next, mode, &mut Buffers::default());
        }
        found.push((ended, next));
        if !choices.advance() {
            return found;
        }
    }
}

/// Follows one random run; gives the number of steps.
fn follow(subject: &Subject, case: &Case, input: Input, random: &mut Random) -> usize {
    let mut monitor = Monitor::new(subject.operations.clone());
    let mut concrete = case.state(subject, &random_list(random, case, input));
    let mut whole = case.state(subject, &case.any_length(input));
    concrete.configurations = monitor.initial(case.members());
    whole.configurations = concrete.configurations;
    normalise(subject, &mut whole, Mode::Abstract, &mut Buffers::default());
    assert!(covers(subject, &whole, &concrete), "the initial word covers every list");
    for time in 0..120 {
        let thread = random.below(subject.machine.thread_count());
        let mut real = successors(subject, &mut monitor, &concrete, thread, None);
        let (ended, next) = real.swap_remove(random.below(real.len()));
        let all = successors(subject, &mut monitor, &whole, thread, Some(Mode::Abstract));
        if ended == Ended::Nowhere {
            continue;
        }
        let same = all.into_iter().filter(|(e, _)| *e == ended);
        if ended != Ended::Well {
            assert!(same.count() > 0, "an abstract step ends the same way: {ended:?}");
            return time;
        }
        let mut same: Vec<_> = same.filter(|(_, s)| covers(subject, s, &next)).collect();
        assert!(!same.is_empty(), "some abstract step covers the concrete one");
        whole = same.swap_remove(random.below(same.len())).1;
        concrete = next;
    }
    120
}

/// Follows random runs of a composition of a program.
fn follow_runs(source: &str, text: &str, input: Input, random: &mut Random) {
    let program = seriatim_lang::check(source).expect("the algorithm is right");
    let composition = parse_composition(text).expect("a composition");
    let code =
        Arc::new(Code::new(&program, &composition, Reductions::default()).expect("in the class"));
    let mut steps = 0;
    for _ in 0..150 {
        let case = random_case(random, &composition, input);
        let subject = Subject::new(&code, &case.ranks);
        steps += follow(&subject, &case, input, random);
    }
    assert!(steps > 1000, "{}: the runs are long enough to mean something", program.name);
}

fn source(name: &str) -> String {
    let path = format!("{}/../../algorithms/{name}.seri", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

#[test]
fn every_concrete_step_has_an_abstract_step_that_covers_it() {
    let files = [
        ("lock_coupling", "remove || add", Input::Unmarked),
        ("optimistic_list", "remove || (add; contains)", Input::Unmarked),
        ("lazy_list", "remove || add || contains", Input::Unmarked),
        ("lazy_list", "remove || add", Input::Marked),
        ("harris_michael", "remove || add || contains", Input::Marked),
        ("michael_set", "(remove; add) || remove", Input::Marked),
        ("harris_set", "remove || add || remove", Input::Marked),
        ("orvyy_set", "remove || add || contains", Input::Unmarked),
        ("vechev_dcas", "remove || add || remove", Input::Unmarked),
        ("broken/lazy_list_no_validation", "remove || remove || add", Input::Unmarked),
        ("broken/harris_michael_plain_insert", "add || add || remove", Input::Marked),
        ("broken/optimistic_list_no_second_walk", "remove || remove || add", Input::Unmarked),
    ];
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for (name, text, input) in files {
        follow_runs(&source(name), text, input, &mut random);
    }
}

#[test]
fn wild_algorithms_are_covered_too() {
    let wild = [
        // Takes the neighbour along.
        ("lock_coupling", "let s = c.next", "let s = c.next.next", "remove || add"),
        // Leaves locks behind.
        ("lock_coupling", "p.next = s\n  unlock(c); unlock(p)", "p.next = s", "remove || add"),
        // Marks the wrong node.
        ("lazy_list", "c.marked = true", "p.marked = true", "remove || add"),
        // Remembers keys instead of nodes.
        (
            "lazy_list",
            "let c = head\n  while c.key < k { c = c.next }",
            "let c = head\n  let last = c.key\n  while c.key < k { c = c.next; \
             if c.key < last { return false }; last = c.key }",
            "contains || remove || remove",
        ),
    ];
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for (name, from, to, text) in wild {
        let original = source(name);
        let changed = original.replacen(from, to, 1);
        assert_ne!(changed, original, "{from}");
        for input in [Input::Unmarked, Input::Marked] {
            if input == Input::Unmarked || name == "lazy_list" {
                follow_runs(&changed, text, input, &mut random);
            }
        }
    }
}
