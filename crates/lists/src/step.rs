//! One step of one thread from an abstract state.
//!
//! Before an access reads the reference to the next node and finds a segment, the segment is
//! opened: it is empty (if it may be), or its first node becomes a node of its own, with one of its
//! labels, and the rest of the segment follows it. These cases split the concrete states that the
//! abstract one stands for, so nothing is lost or gained. Everything else is a concrete step of the
//! machine, which sees nodes only.
//!
//! What would make this unsound: an access that follows a reference into an unopened segment. Only
//! instructions that read the slot of the reference can do so; each of them is an access of its own
//! for the machine.

use crate::monitor::Monitor;
use crate::movers::Mover;
use crate::state::{Class, ListState, MARKED, Segment, UNMARKED};
use crate::subject::Subject;
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{Executed, Fault, State, Stop, VACANT};
use seriatim_lang::steps::*;

/// How many accesses a step may make before it is called endless.
const FUEL: u32 = 10_000;
/// How many guarded accesses may be fused, which read or write what others can see. A walk over a
/// segment may go on for ever, so there must be an end; stopping early costs states and changes no
/// verdict.
const MOST_GUARDED: u32 = 4;
/// The same for accesses that nobody else can notice: a loop that only reads keys may go on for
/// ever, which is no error.
const MOST_LOCAL: u32 = 64;

/// What others can see of an access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Where it stands; for calls, where the client calls.
    pub pc: Pc,
    /// Whether it is the call of an operation.
    pub called: bool,
    /// The result of the operation that ended.
    pub returned: Option<bool>,
}

/// What an access executed, instruction by instruction.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The instructions.
    pub executed: Vec<Executed>,
    /// The state after each of them.
    pub film: Vec<State>,
}

/// What a step leaves behind beside the state.
#[derive(Clone, Debug, Default)]
pub struct Trail {
    /// The accesses of the step.
    pub accesses: Vec<Access>,
    /// What each of them executed, and the one that failed, if somebody watches.
    pub observed: Option<Vec<Observed>>,
    /// The state before the last access; kept for its memory.
    before: State,
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// As it should.
    Well,
    /// The thread waits or has ended: there is no such step.
    Nowhere,
    /// With a result that no linearization explains.
    WrongResult,
    /// With a new node whose key is no argument: the program is outside of the class.
    ForeignKey(Pc),
    /// With a number that the machine does not represent, and that no declared bound forbids:
    /// nobody knows what comes after it.
    Cut,
    /// With an error of the algorithm.
    Fault(Fault, Pc),
}

/// Who takes a step, and how.
#[derive(Debug)]
pub struct Turn<'c> {
    /// The thread.
    pub thread: usize,
    /// What it chooses, where it has a choice.
    pub choices: &'c mut Choices,
}

/// Makes a thread take a step.
pub fn step(
    subject: &Subject,
    monitor: &mut Monitor,
    state: &mut ListState,
    Turn { thread, choices }: Turn<'_>,
    trail: &mut Trail,
) -> Ended {
    trail.accesses.clear();
    trail.observed.iter_mut().for_each(Vec::clear);
    let mut noticed = false;
    let (mut guarded, mut local) = (0, 0);
    for _ in 0..FUEL {
        let pc = subject.machine.pc(&state.machine, thread);
        let idle = subject.machine.is_idle(&state.machine, thread);
        let returns = matches!(subject.op(pc), Op::Return(_));
        let atomic = subject.code.atomic[pc.0 as usize];
        let mover = match returns || atomic {
            true => Mover::Local,
            false => subject.code.movers[pc.0 as usize],
        };
        let full = guarded >= MOST_GUARDED && mover == Mover::Guarded || local >= MOST_LOCAL;
        if noticed && (idle || mover == Mover::Not || full && !returns && !atomic) {
            return Ended::Well;
        }
        open_next(subject, state, thread, choices);
        std::mem::swap(&mut trail.before, &mut state.machine);
        let before = &trail.before;
        if let Some(observed) = &mut trail.observed {
            observed.push(observe(subject, before, thread, choices));
        }
        let seen = match subject.machine.run(before, thread, choices, &mut state.machine) {
            Ok(seen) => seen,
            Err(Stop::Fault(fault, at)) => return Ended::Fault(fault, at),
            Err(Stop::Bounded(_)) => return Ended::Cut,
            Err(_) if noticed && !atomic => {
                trail.observed.iter_mut().for_each(|observed| drop(observed.pop()));
                std::mem::swap(&mut trail.before, &mut state.machine);
                return Ended::Well;
            }
            Err(_) => return Ended::Nowhere,
        };
        let cells = state.machine.heap.len() / subject.machine.node_stride();
        state.segments.resize(cells, Segment::NODE);
        if has_foreign_key(subject, &before.heap, &state.machine.heap) {
            return Ended::ForeignKey(pc);
        }
        state.lost |= marks_changed(subject, &before.heap, state);
        let returned = seen.ret.as_ref().map(|value| value.first() == Some(&1));
        trail.accesses.push(Access { pc, called: seen.call.is_some(), returned });
        if seen.call.is_some() {
            state.configurations = monitor.call(state.configurations, pending(subject, state));
        }
        if let Some(result) = returned {
            let op = subject.current(before, thread);
            let left = op.and_then(|op| monitor.give_back(state.configurations, op, result));
            match left {
                Some(left) => state.configurations = left,
                None => return Ended::WrongResult,
            }
            return Ended::Well;
        }
        guarded += u32::from(noticed && mover == Mover::Guarded);
        local += u32::from(mover == Mover::Local && !atomic);
        noticed |= !idle && (mover != Mover::Local || local >= MOST_LOCAL);
    }
    Ended::Fault(Fault::Endless, subject.machine.pc(&state.machine, thread))
}

/// What the next access of a thread executes, and the state after each instruction.
fn observe(subject: &Subject, before: &State, thread: usize, choices: &Choices) -> Observed {
    let (executed, _) = subject.machine.trace(before, thread, &mut choices.clone());
    Observed { executed, film: subject.machine.film(before, thread, &mut choices.clone()) }
}

/// Whether an access made a node whose key is no argument.
fn has_foreign_key(subject: &Subject, before: &[i32], after: &[i32]) -> bool {
    let stride = subject.machine.node_stride();
    let is_new = |node: usize| before.get(node * stride).is_none_or(|tag| *tag == VACANT);
    let made = |node: &usize| after[node * stride] != VACANT && is_new(*node);
    let key = |node: usize| after[subject.slot(node, subject.code.shape.key)];
    (0..after.len() / stride).filter(made).any(|node| Class::of(key(node)).rank().is_none())
}

fn pending(subject: &Subject, state: &ListState) -> u32 {
    let current = |t| subject.current(&state.machine, t);
    let pending = (0..subject.machine.thread_count()).filter_map(current);
    pending.fold(0, |mask, op| mask | 1 << op)
}

/// Whether an access marked or unmarked a node of an open class: nobody was asked to remove or to
/// add its key.
fn marks_changed(subject: &Subject, before: &[i32], state: &ListState) -> bool {
    let shape = &subject.code.shape;
    let Some(mark) = shape.mark else { return false };
    let nodes = before.len() / subject.machine.node_stride();
    (0..nodes).any(|node| {
        let at = subject.slot(node, mark);
        let heap = &state.machine.heap;
        state.segments[node].is_node()
            && before[at] != heap[at]
            && Class::of(heap[subject.slot(node, shape.key)]).is_open()
    })
}

/// Opens the segment that the thread's next access would read a reference to.
fn open_next(subject: &Subject, state: &mut ListState, thread: usize, choices: &mut Choices) {
    let pc = subject.machine.pc(&state.machine, thread);
    let op = subject.op(pc);
    let next = subject.code.shape.next as u32;
    let reads = matches!(op, Op::Load { .. } | Op::Cas { .. } | Op::Swap { .. });
    let Some(Place { root: Root::Node(Ex::Reg(reg), _), offset, width, .. }) = op.place() else {
        return;
    };
    if !reads || !(*offset..offset + width).contains(&next) {
        return;
    }
    let registers = subject.machine.register_base(thread);
    let node = state.machine.words[registers + reg.0 as usize];
    if node == NULL {
        return;
    }
    let link = subject.slot(node as usize, next as usize);
    for _ in 0..state.segments.len() {
        let target = state.machine.heap[link];
        if target == NULL || state.segments[target as usize].is_node() {
            return;
        }
        open(subject, state, target as usize, choices);
    }
}

/// Decides whether a segment is empty or how its first node is marked.
fn open(subject: &Subject, state: &mut ListState, target: usize, choices: &mut Choices) {
    let segment = state.segments[target];
    let labels = [UNMARKED, MARKED].into_iter().filter(|l| segment.labels() & l != 0);
    let labels: Vec<u8> = labels.collect();
    let count = labels.len() + usize::from(segment.least() == 0);
    let pick = if count > 1 { choices.pick(count as u32) as usize } else { 0 };
    match labels.get(pick) {
        Some(label) => take_first(subject, state, target, *label),
        None => drop_empty(subject, state, target),
    }
}

fn take_first(subject: &Subject, state: &mut ListState, target: usize, label: u8) {
    let shape = &subject.code.shape;
    let stride = subject.machine.node_stride();
    let rest = state.machine.heap.len() / stride;
    let cells = state.machine.heap[target * stride..(target + 1) * stride].to_vec();
    state.machine.heap.extend(cells);
    state.machine.heap[subject.slot(rest, shape.key)] += 1;
    state.segments.push(Segment::new(state.segments[target].labels(), 0));
    state.segments[target] = Segment::NODE;
    state.machine.heap[subject.slot(target, shape.next)] = rest as i32;
    if let Some(mark) = shape.mark {
        state.machine.heap[subject.slot(target, mark)] = i32::from(label == MARKED);
    }
}

fn drop_empty(subject: &Subject, state: &mut ListState, target: usize) {
    let stride = subject.machine.node_stride();
    let next = subject.code.shape.next;
    let after = state.machine.heap[subject.slot(target, next)];
    for node in 0..state.segments.len() {
        let link = subject.slot(node, next);
        if state.machine.heap[link] == target as i32 {
            state.machine.heap[link] = after;
        }
    }
    state.machine.heap[target * stride] = VACANT;
    state.segments[target] = Segment::NODE;
}
