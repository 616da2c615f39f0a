//! From the state at which a search failed back to a run with real thread numbers, step by step.
//!
//! The path knows only representatives. The run is rebuilt forwards: from the initial state, each
//! time the step is taken whose representative is the next state. Such a step exists, since equal
//! representatives have equal steps.

use crate::canonical::{Canonical, TooManyNodes};
use crate::configurations::SetId;
use crate::deadlock::{Commitment, Known};
use crate::options::{Guarantee, Reductions};
use crate::outcome::*;
use crate::path::Milestone;
use crate::search::Search;
use crate::second_opinion::plain::keep_only;
use crate::worker::{Halt, Taken, Transition, Worker};
use seriatim_history::Value;
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{Executed, FREED, Machine, Seen, State, Stop};
use seriatim_lang::spec::Datum;
use seriatim_spec::run::{self, Access, Action, Memory, Run, Step};
use seriatim_trace::Words;
use std::collections::BTreeMap;

/// A step that was found: who, and with which choices.
pub struct Found {
    /// Which thread.
    pub thread: usize,
    /// Its choices.
    pub choices: Choices,
}

/// A run as far as it was rebuilt.
pub struct Rebuilt {
    /// The state that it leads to.
    pub state: State,
    /// The set that it leads to.
    pub set: SetId,
    initial: Memory,
    /// Memory as the last access that was noted left it.
    now: Memory,
    steps: Vec<Step>,
    history: Vec<Event>,
    methods: Vec<Option<u32>>,
    /// Who moved, and what it chose.
    pub moves: Vec<Move>,
    /// Where each node was given back last.
    given_back: BTreeMap<i32, Access>,
}

impl Rebuilt {
    /// A run that has not begun.
    pub fn new(search: &Search<'_>, initial: &State, start: SetId) -> Rebuilt {
        let before = search.common.subject.words().memory(initial);
        Rebuilt {
            state: initial.clone(),
            set: start,
            initial: before.clone(),
            now: before,
            steps: vec![],
            history: vec![],
            methods: vec![None; search.common.subject.machine.thread_count()],
            moves: vec![],
            given_back: BTreeMap::new(),
        }
    }

    /// Goes on to a state, which the last access that was noted leads to.
    pub fn arrive(&mut self, search: &Search<'_>, to: State, set: SetId) {
        let after = search.common.subject.words().memory(&to);
        if let Some(last) = self.steps.last_mut().and_then(|step| step.accesses.last_mut())
            && after != self.now
        {
            last.memory = Some(after.clone());
            self.now = after;
        }
        (self.state, self.set) = (settled(search, to), set);
    }

    /// The counterexample that it is.
    pub fn finish(self, search: &Search<'_>, kind: ViolationKind) -> Counterexample {
        Counterexample {
            kind,
            initial: self.initial,
            steps: self.steps,
            history: self.history,
            blame: None,
            moves: self.moves,
            reductions: search.common.options.reductions,
        }
    }
}

/// A state as the search goes on from it. There, nodes that nothing needs are gone: they do not
/// count among those alive, and where nodes keep their numbers, a new node takes their place.
fn settled(search: &Search<'_>, mut state: State) -> State {
    let common = &search.common;
    let keeps_numbers = !common.options.reductions.heap_symmetry;
    if !keeps_numbers && common.options.nodes.is_none() {
        return state;
    }
    let plain =
        Reductions { thread_symmetry: false, value_symmetry: false, ..common.options.reductions };
    let mut canonical = Canonical::new(common.subject, &plain);
    match canonical.run(common.subject, &common.codec, &state, 0) {
        Ok(()) if keeps_numbers => {
            let mut settled = State::default();
            common.codec.decode(common.subject, &canonical.key, &mut settled);
            settled
        }
        Ok(()) => {
            let mut needed = vec![false; state.heap.len() / common.subject.machine.node_stride()];
            canonical.needed().for_each(|node| needed[node] = true);
            keep_only(&common.subject.machine, &mut state, &needed);
            state
        }
        Err(TooManyNodes) => state,
    }
}

/// Where every run begins.
#[derive(Clone, Copy)]
pub struct Start<'s> {
    /// The state of the machine.
    pub initial: &'s State,
    /// The configurations that fit it.
    pub set: SetId,
}

/// The run that leads along a path to a state and fails there; none if the path is no run.
pub fn counterexample(
    search: &Search<'_>,
    start: Start<'_>,
    path: &[Milestone],
    kind: ViolationKind,
) -> Option<Counterexample> {
    let mut worker = Worker::new(&search.common);
    let mut run = follow(search, &mut worker, start, path)?;
    if kind == ViolationKind::Deadlock {
        wait(search, &mut worker, &mut run);
    } else if !fail(search, &mut worker, &mut run, kind) {
        return None;
    }
    Some(run.finish(search, kind))
}

/// Takes the steps that lead from state to state of a path; none if one of them cannot be taken.
pub fn follow(
    search: &Search<'_>,
    worker: &mut Worker<'_>,
    start: Start<'_>,
    path: &[Milestone],
) -> Option<Rebuilt> {
    let mut run = Rebuilt::new(search, start.initial, start.set);
    let mut steps = path.iter().skip(1);
    let arrived = steps.all(|next| advance(search, worker, &mut run, next, &|_, _| true));
    arrived.then_some(run)
}

/// Which steps may be taken: of whom, and what is seen of them.
pub type Wanted<'w> = &'w dyn Fn(usize, &Seen) -> bool;

/// Takes a step that is wanted and whose representative is the next state; `false` if there is
/// none.
pub fn advance(
    search: &Search<'_>,
    worker: &mut Worker<'_>,
    run: &mut Rebuilt,
    next: &Milestone,
    is_wanted: Wanted<'_>,
) -> bool {
    let machine = &search.common.subject.machine;
    let mut to = State::default();
    for thread in 0..machine.thread_count() {
        let mut choices = Choices::default();
        loop {
            let result = machine.run(&run.state, thread, &mut choices, &mut to);
            let mut taken = Vec::new();
            if let Ok(seen) = result
                && is_wanted(thread, &seen)
                && let Ok(set) = worker.replay(
                    Transition { thread, seen: &seen, from: &run.state, to: &mut to },
                    run.set,
                    &mut taken,
                )
                && worker.represent(&to, set).is_ok_and(|best| best == next.set)
                && worker.canonical.key == next.key
            {
                note(search, machine, run, Found { thread, choices });
                let from = run.state.clone();
                note_all(search, run, taken);
                run.state = from;
                run.arrive(search, to, set);
                return true;
            }
            if !choices.advance() {
                break;
            }
        }
    }
    false
}

/// Takes the beginnings behind which every thread waits.
fn wait(search: &Search<'_>, worker: &mut Worker<'_>, run: &mut Rebuilt) {
    let fine = &search.common.subject.fine;
    let mut calls = |known| worker.deadlock(&run.state, run.set, known).ok().flatten();
    let calls = calls(Known::EachMayWait).or_else(|| calls(Known::AllWait));
    for Commitment { thread, from, choices, .. } in calls.unwrap_or_default() {
        run.state = from;
        note(search, fine, run, Found { thread, choices });
        if let Some(last) = run.moves.last_mut() {
            last.waits = true;
        }
    }
}

/// Takes the step that fails; `false` if there is none.
fn fail(
    search: &Search<'_>,
    worker: &mut Worker<'_>,
    run: &mut Rebuilt,
    kind: ViolationKind,
) -> bool {
    let mut to = State::default();
    for thread in 0..search.common.subject.machine.thread_count() {
        let mut choices = Choices::default();
        loop {
            let result =
                search.common.subject.machine.run(&run.state, thread, &mut choices, &mut to);
            let mut taken = Vec::new();
            let failed = match &result {
                Ok(seen) => {
                    let step = Transition { thread, seen, from: &run.state, to: &mut to };
                    let outcome = worker.replay(step, run.set, &mut taken);
                    matches!(outcome, Err(Halt::Violation(how)) if how == kind)
                }
                Err(Stop::Fault(fault, _)) => kind == ViolationKind::Fault(*fault),
                Err(_) => false,
            };
            if failed {
                note(search, &search.common.subject.machine, run, Found { thread, choices });
                note_all(search, run, taken);
                return true;
            }
            if !choices.advance() {
                break;
            }
        }
    }
    false
}

/// Notes the steps that were taken together with another one.
fn note_all(search: &Search<'_>, run: &mut Rebuilt, taken: Vec<Taken>) {
    for Taken { thread, from } in taken {
        run.state = from;
        note(
            search,
            &search.common.subject.machine,
            run,
            Found { thread, choices: Choices::default() },
        );
    }
}

/// Adds a step to a run: its accesses, its events, its move.
pub fn note(search: &Search<'_>, machine: &Machine, run: &mut Rebuilt, mut found: Found) {
    let subject = search.common.subject;
    let steps = &machine.steps;
    let thread = found.thread;
    found.choices.rewind();
    let film = machine.film(&run.state, thread, &mut found.choices);
    found.choices.rewind();
    let (executed, seen) = machine.trace(&run.state, thread, &mut found.choices);
    let mut accesses = Vec::new();
    if let Some((method, words)) = &seen.call {
        let info = &steps.methods[*method as usize];
        let args = subject.arguments(*method, words);
        let call = format!("{}({})", info.name, list(&args));
        accesses.push(Access::spoken(Action::Call { call }));
        run.history.push(Event::Call { thread, method: info.name.clone(), args });
        run.methods[thread] = Some(*method);
    }
    let told = Words::of(machine, &subject.source);
    accesses.extend(told.filmed(&film, told.accesses(&executed), &mut run.now));
    accesses.extend(freed_before(machine, run, &executed));
    for done in &executed {
        if let Some(node) = done.gave {
            let why = format!("thread {thread} freed it here");
            let instr = &steps.code[done.pc.0 as usize];
            let source = instr.span.text(&subject.source).trim().to_owned();
            let line = Some(instr.span.line(&subject.source));
            let access = Access { line, source, action: Action::Stop { why }, memory: None };
            run.given_back.insert(node, access);
        }
    }
    if let (Some(words), Some(method)) = (&seen.ret, run.methods[thread]) {
        let info = &steps.methods[method as usize];
        let result = subject.result(method, words);
        let returns = Access::spoken(Action::Return { result: spelled(&result) });
        accesses.push(Access { line: told.returning_line(&executed), ..returns });
        run.history.push(Event::Return { thread, method: info.name.clone(), result });
        run.methods[thread] = None;
    }
    run.steps.push(Step { thread, accesses });
    run.moves.push(Move { thread, choices: found.choices.picks(), waits: false });
}

/// Where the node was freed that the last instruction fails to access.
fn freed_before(machine: &Machine, run: &Rebuilt, executed: &[Executed]) -> Option<Access> {
    let last = executed.last().filter(|last| last.next.is_none())?;
    let node = last.access.as_ref()?.node?;
    let tag = run.state.heap.get(node as usize * machine.node_stride())?;
    (tag & FREED != 0).then(|| run.given_back.get(&node).cloned()).flatten()
}

impl Counterexample {
    /// The run, in the form in which all engines give theirs.
    pub fn run(&self) -> Run {
        let repeats = match self.kind {
            ViolationKind::NoProgress { repeats, .. } => Some(repeats).filter(|n| *n > 0),
            _ => None,
        };
        let threads = self.steps.iter().map(|step| step.thread + 1).max().unwrap_or(0);
        Run {
            threads,
            names: Vec::new(),
            initial: self.initial.clone(),
            steps: self.steps.clone(),
            history: self.history.iter().map(event).collect(),
            repeats,
        }
    }
}

/// A call or a return, with its data as values of histories.
pub fn event(event: &Event) -> run::Event {
    match event {
        Event::Call { thread, method, args } => run::Event::Call {
            thread: *thread,
            method: method.clone(),
            args: args.iter().map(value).collect(),
        },
        Event::Return { thread, method, result } => run::Event::Return {
            thread: *thread,
            method: method.clone(),
            result: spelled(result).map(|_| value(result)),
        },
    }
}

/// The value that stands for a datum.
fn value(datum: &Datum) -> Value {
    match datum {
        Datum::Null => Value::Nil,
        Datum::Bool(truth) => Value::Bool(*truth),
        Datum::Int(number) => Value::Int(*number),
        Datum::Value(number) | Datum::Key(number) => Value::Int(i64::from(*number)),
        Datum::Variant(number) | Datum::Tid(number) => Value::Int(i64::from(*number)),
        Datum::Tuple(_)
        | Datum::List(_)
        | Datum::LongList(_)
        | Datum::Set(_)
        | Datum::LongSet(_) => Value::list(datum.elements().map(value)),
        Datum::Map(entries) => Value::map(entries.iter().map(|(k, v)| (value(k), value(v)))),
    }
}

fn list(data: &[Datum]) -> String {
    data.iter().map(Datum::to_string).collect::<Vec<_>>().join(", ")
}

/// A result as text; nothing if the method has none.
fn spelled(result: &Datum) -> Option<String> {
    match result {
        Datum::Tuple(parts) if parts.is_empty() => None,
        result => Some(result.to_string()),
    }
}

/// How a run goes wrong, as words.
pub fn headline(counterexample: &Counterexample) -> String {
    match (counterexample.kind, counterexample.blame) {
        (ViolationKind::NotLinearizable, _) => "no order of the operations explains the last return",
        (ViolationKind::WrongPoint, Some(Blame::Annotation)) => {
            "the linearization points are wrong: the algorithm itself is linearizable within these bounds"
        }
        (ViolationKind::WrongPoint, Some(Blame::Algorithm)) => {
            "the algorithm is not linearizable, whatever its linearization points"
        }
        (ViolationKind::WrongPoint, None) => "the results contradict the linearization points",
        (ViolationKind::Deadlock, _) => "deadlock: no thread can go on, though the specification could",
        (ViolationKind::Waits(guarantee), _) => {
            return format!("not {}: a thread waits for another one", guarantee.property());
        }
        (ViolationKind::NoProgress { guarantee, repeats, starved }, _) => {
            return stands_still(guarantee, repeats, starved);
        }
        (ViolationKind::Fault(fault), _) => return format!("error: {}", fault.text()),
    }
    .to_string()
}

/// How a run makes no progress, as words.
fn stands_still(guarantee: Guarantee, repeats: usize, starved: u32) -> String {
    let property = guarantee.property();
    let steps = match repeats {
        1 => "the last step".to_owned(),
        _ => format!("the last {repeats} steps"),
    };
    let threads: Vec<String> =
        (0..u32::BITS).filter(|t| starved >> t & 1 == 1).map(|t| t.to_string()).collect();
    let who = match &threads[..] {
        [one] => format!("thread {one}"),
        more => format!("threads {}", more.join(", ")),
    };
    let rest = match guarantee {
        Guarantee::LockFree => "no operation returns".to_owned(),
        Guarantee::ObstructionFree => format!("{who} goes on alone and does not return"),
        Guarantee::LivelockFree => {
            "every thread gets its turn, no operation returns, though the specification lets one"
                .to_owned()
        }
        Guarantee::StarvationFree => format!(
            "every thread gets its turn, the operation of {who} never returns, though the \
             specification lets it"
        ),
    };
    match repeats {
        0 => format!("not {property}: {who} can not go on, though the specification lets one"),
        _ => format!("not {property}: {steps} can be repeated for ever: {rest}"),
    }
}
