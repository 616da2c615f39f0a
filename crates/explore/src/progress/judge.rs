//! Judges a run that makes no progress: takes its moves once more, from the initial state, and asks
//! of the states and events alone whether the definitions in the header of `progress` are met.
//! Knows nothing of graphs, representatives or strongly connected sets.

use crate::options::Guarantee;
use crate::outcome::{Move, ViolationKind};
use crate::second_opinion::judge::Explanations;
use crate::second_opinion::plain::{method, throw_away};
use crate::subject::Subject;
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{FREED, Machine, State, Stop};
use seriatim_lang::spec::{Datum, SpecStop};
use seriatim_lang::steps::{NULL, Reg};
use seriatim_lang::types::{Kind, Scalar};

/// What others see of a move.
struct Event {
    thread: usize,
    call: Option<(u32, Vec<i32>)>,
    ret: Option<Datum>,
}

/// A run: the states before, between and after its moves.
struct Ran {
    states: Vec<State>,
    events: Vec<Event>,
}

/// How a run contradicts a guarantee, if it does so as it is said to (who starves is found here,
/// not believed); else why not.
pub fn judge(
    subject: &Subject,
    initial: &State,
    moves: &[Move],
    kind: ViolationKind,
) -> Result<ViolationKind, String> {
    let ran = take(subject, initial, moves)?;
    match kind {
        ViolationKind::Waits(_) => {
            let last = moves.last().map_or(0..subject.fine.thread_count(), |m| match m.waits {
                true => m.thread..m.thread + 1,
                false => 0..subject.fine.thread_count(),
            });
            let end = &ran.states[moves.len()];
            let mut waits =
                last.map(|t| !subject.fine.is_idle(end, t) && !can_go_on(&subject.fine, end, t));
            waits.any(|waits| waits).then_some(kind).ok_or_else(|| "nobody waits".to_owned())
        }
        ViolationKind::NoProgress { guarantee, repeats, .. } => {
            let first = moves.len().checked_sub(repeats).ok_or("it is too short")?;
            if !is_same(&subject.machine, &ran.states[first], &ran.states[moves.len()]) {
                return Err("its end does not lead back".to_owned());
            }
            let starved = starved(subject, &ran, first);
            let agreed = match guarantee {
                Guarantee::LockFree => unless(repeats == 0, "nobody moves")
                    .and(unless(returns(&ran, first) != 0, "an operation returns")),
                Guarantee::ObstructionFree => unless(repeats == 0, "nobody moves")
                    .and(unless(returns(&ran, first) != 0, "an operation returns"))
                    .and(unless(!is_alone(&ran, first), "several threads move")),
                Guarantee::LivelockFree => {
                    unless(returns(&ran, first) != 0, "an operation returns")
                        .and(is_unexcused(subject, &ran, first, starved))
                }
                Guarantee::StarvationFree => is_unexcused(subject, &ran, first, starved),
            };
            let starved = match (guarantee, ran.events.get(first)) {
                (Guarantee::ObstructionFree, Some(event)) => 1 << event.thread,
                _ => starved,
            };
            agreed.map(|()| ViolationKind::NoProgress { guarantee, repeats, starved })
        }
        _ => Err("it is about something else".to_owned()),
    }
}

fn unless(wrong: bool, why: &str) -> Result<(), String> {
    if wrong { Err(why.to_owned()) } else { Ok(()) }
}

/// A machine that makes as many nodes as are asked for. Their number is a bound of the search, which
/// forgets those that nobody will look at; a run that keeps them is a run all the same. Where nodes
/// are freed, which one is made again is a choice among those that there is room for, and the bound
/// stays.
pub fn with_room(machine: &Machine) -> Machine {
    let mut machine = machine.clone();
    if !machine.steps.frees {
        machine.bounds.nodes = None;
    }
    machine
}

/// Takes the moves.
fn take(subject: &Subject, initial: &State, moves: &[Move]) -> Result<Ran, String> {
    let (coarse, fine) = (with_room(&subject.machine), with_room(&subject.fine));
    let mut ran = Ran { states: vec![initial.clone()], events: Vec::new() };
    for (number, Move { thread, choices, waits }) in moves.iter().enumerate() {
        let machine = if *waits { &fine } else { &coarse };
        let from = &ran.states[number];
        let mut to = State::default();
        if *thread >= machine.thread_count() {
            return Err(format!("there is no thread {thread}"));
        }
        let taken = machine.run(from, *thread, &mut Choices::following(choices), &mut to);
        let seen = taken.map_err(|_| format!("move {} cannot be made", number + 1))?;
        let result = |words: &Vec<i32>| {
            let method = method(machine, from, *thread, &seen.call);
            subject.result(method, words)
        };
        let ret = seen.ret.as_ref().map(result);
        ran.events.push(Event { thread: *thread, call: seen.call.clone(), ret });
        throw_away(machine, &mut to);
        ran.states.push(to);
    }
    Ok(ran)
}

/// The threads that return in the circle, as a mask.
fn returns(ran: &Ran, first: usize) -> u32 {
    let returned = ran.events[first..].iter().filter(|event| event.ret.is_some());
    returned.fold(0, |mask, event| mask | 1 << event.thread)
}

/// Whether one thread takes all steps of the circle.
fn is_alone(ran: &Ran, first: usize) -> bool {
    ran.events[first..].iter().all(|event| event.thread == ran.events[first].thread)
}

/// The threads that are inside throughout the circle, as a mask.
pub(super) fn is_inside(subject: &Subject, state: &State) -> u32 {
    let machine = &subject.machine;
    let inside = (0..machine.thread_count()).filter(|thread| !machine.is_idle(state, *thread));
    inside.fold(0, |mask, thread| mask | 1 << thread)
}

/// The threads whose operations never return.
fn starved(subject: &Subject, ran: &Ran, first: usize) -> u32 {
    let always = ran.states[first..].iter().fold(u32::MAX, |m, s| m & is_inside(subject, s));
    always & !returns(ran, first)
}

/// Whether the circle is fair, somebody starves in it, and the specification does not excuse it.
fn is_unexcused(subject: &Subject, ran: &Ran, first: usize, starved: u32) -> Result<(), String> {
    unless(starved == 0, "every operation returns")?;
    for thread in 0..subject.machine.thread_count() {
        let moves = ran.events[first..].iter().any(|event| event.thread == thread);
        let rests = ran.states[first..].iter().any(|state| {
            subject.machine.is_idle(state, thread) || !can_go_on(&subject.machine, state, thread)
        });
        unless(!moves && !rests, &format!("thread {thread} does not get its turn"))?;
    }
    let excused = is_excused(subject, ran, first, starved);
    unless(excused.map_err(|stop| format!("{stop:?}"))?, "the specification blocks as well")
}

/// Whether some explanation keeps these threads blocked for ever: goes round the circle with all
/// explanations that have kept them blocked since there was none left, until all is as before.
fn is_excused(subject: &Subject, ran: &Ran, first: usize, who: u32) -> Result<bool, SpecStop> {
    let mut all = Explanations::start(subject)?;
    for event in &ran.events[..first] {
        all = after(subject, &all, event)?;
    }
    let mut blocked = all.blocking(subject, who)?;
    let mut rounds: Vec<(Explanations, Explanations, bool)> = Vec::new();
    loop {
        let again = rounds.iter().position(|(a, b, _)| (a, b) == (&all, &blocked));
        if let Some(again) = again {
            return Ok(!rounds[again..].iter().any(|(.., ran_out)| *ran_out));
        }
        let before = (all.clone(), blocked.clone());
        let mut ran_out = blocked.is_empty();
        for event in &ran.events[first..] {
            all = after(subject, &all, event)?;
            blocked = blocked_after(subject, &blocked, event, who)?;
            if blocked.is_empty() {
                ran_out = true;
                blocked = all.blocking(subject, who)?;
            }
        }
        rounds.push((before.0, before.1, ran_out));
    }
}

fn after(subject: &Subject, all: &Explanations, event: &Event) -> Result<Explanations, SpecStop> {
    let mut all = all.clone();
    if let Some(call) = &event.call {
        all = all.call(event.thread, call);
    }
    match &event.ret {
        Some(result) => all.give_back(subject, event.thread, result),
        None => Ok(all),
    }
}

fn blocked_after(
    subject: &Subject,
    blocked: &Explanations,
    event: &Event,
    who: u32,
) -> Result<Explanations, SpecStop> {
    let mut blocked = blocked.clone();
    if let Some(call) = &event.call {
        blocked = blocked.call(event.thread, call).still_blocking(subject, who)?;
    }
    if let Some(result) = &event.ret {
        blocked = blocked.returned(event.thread, result).still_blocking(subject, who)?;
    }
    Ok(blocked)
}

/// Whether some choice lets a thread take a step; one that leaves the bounds counts.
fn can_go_on(machine: &Machine, state: &State, thread: usize) -> bool {
    let mut choices = Choices::default();
    let mut to = State::default();
    loop {
        let taken = machine.run(state, thread, &mut choices, &mut to);
        if !matches!(taken, Err(Stop::Waits | Stop::Ended)) {
            return true;
        }
        if !choices.advance() {
            return false;
        }
    }
}

/// Whether two states are the same up to the names of nodes.
pub fn is_same(machine: &Machine, a: &State, b: &State) -> bool {
    let mut names = Names { there: vec![None; a.heap.len()], back: vec![None; b.heap.len()] };
    let mut todo = Vec::new();
    let mut alike = a.words.len() == b.words.len();
    for (slot, (x, y)) in machine.steps.shared.iter().zip(a.words.iter().zip(&b.words)) {
        alike &= names.agree(slot.kind, *x, *y, &mut todo);
    }
    for thread in 0..machine.thread_count() {
        let (first, end) = (machine.register_base(thread), machine.thread_base(thread + 1));
        let base = machine.thread_base(thread);
        alike = alike && a.words[base..first] == b.words[base..first];
        let pc = machine.pc(a, thread);
        for register in 0..end - first {
            if let Some(slot) = machine.steps.register(pc, Reg(register as u32)) {
                let (x, y) = (a.words[first + register], b.words[first + register]);
                alike = alike && names.agree(slot.kind, x, y, &mut todo);
            }
        }
    }
    let stride = machine.node_stride();
    while let Some((x, y)) = todo.pop().filter(|_| alike) {
        let (x, y) = (&a.heap[x * stride..(x + 1) * stride], &b.heap[y * stride..(y + 1) * stride]);
        alike &= x[0] == y[0];
        let layout = &machine.steps.structs[(x[0] & (FREED - 1)) as usize];
        for (slot, (x, y)) in layout.slots.iter().zip(x[1..].iter().zip(&y[1..])) {
            alike = alike && names.agree(slot.kind, *x, *y, &mut todo);
        }
    }
    alike
}

/// Which nodes of two states stand for each other.
struct Names {
    there: Vec<Option<usize>>,
    back: Vec<Option<usize>>,
}

impl Names {
    /// Whether two words can be the same; nodes that are met for the first time become partners.
    fn agree(&mut self, kind: Kind, x: i32, y: i32, todo: &mut Vec<(usize, usize)>) -> bool {
        if !matches!(kind.scalar, Scalar::Ref(_)) || x == NULL || y == NULL {
            return x == y;
        }
        let (x, y) = (x as usize, y as usize);
        if self.there[x].is_none() && self.back[y].is_none() {
            (self.there[x], self.back[y]) = (Some(y), Some(x));
            todo.push((x, y));
        }
        self.there[x] == Some(y) && self.back[y] == Some(x)
    }
}
