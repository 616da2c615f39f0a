//! Whether threads come into the situation in which a proof got stuck.
//!
//! A proof that gets stuck shows a *trail*: who steps at which line, and what the observed thread
//! knows of memory after each step. A trail is abstract, so that there need not be a run like it.
//! A directed search looks for one: plain runs, one access at a time, those first that follow the
//! trail farthest, and in turn the oldest, so that no run waits for ever. Each run is judged by the
//! definition (`second_opinion::judge`).
//!
//! *What is compared*: the observed thread takes the steps of the trail and no others, each of the
//! others' steps of the trail is taken by somebody, and after each of them the names in it (shared
//! variables, the variables of the observed thread) hold the same node, different ones or none, and
//! lead to each other, as the trail says. Keys, marks, locks and values are not compared: *met* says
//! that the steps happen in this order on memory of this shape, not that every fact of the trail is
//! true. *What follows*: nothing about the algorithm, unless a run goes wrong; such a run is replayed
//! by the machine before anybody hears of it. It would be unsound to take *not met* for a proof.
//! *Cost*: at most [`STATES`] states, and [`AFTER`] behind the trail, for each thread that may be the
//! observed one, within the bounds and with one thread more.

use crate::configurations::MAX_THREADS;
use crate::growth::takes_more_threads;
use crate::options::{Mode, Options};
use crate::outcome::{Move, Outcome, Reason, Statistics, Verdict};
use crate::replay::{Replay, replay};
use crate::second_opinion::judge::Explanations;
use crate::second_opinion::plain::{Next, Position, Step, step};
use crate::second_opinion::{Disagreement, print};
use crate::subject::Subject;
use rustc_hash::FxHashSet;
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::Machine;
use seriatim_lang::steps::{NULL, Reg};
use seriatim_lang::types::Scalar;
use seriatim_lang::{Diagnostic, Program};
use seriatim_limits::checkpoint;
use seriatim_spec::run::{Action, CellKind, Memory, Run};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::rc::Rc;

/// How many states are looked at for each thread that may be the observed one.
const STATES: usize = 20_000;
/// How many states are looked at once a run has followed the whole trail: what follows may go wrong.
const AFTER: usize = 10_000;

/// How many accesses a step of the proof may be.
const ACCESSES: usize = 4;

/// What came of following a trail.
#[derive(Clone, Debug)]
pub enum Situation {
    /// A run goes wrong, with the bounds within which it does; *unknown* if its replay says otherwise.
    Wrong(Box<Outcome>),
    /// A run follows the whole trail, and none that was looked at goes wrong.
    Met {
        /// How many states were looked at.
        states: usize,
    },
    /// No run that was looked at follows the whole trail.
    NotMet {
        /// How many states were looked at.
        states: usize,
        /// How many steps of the trail some run follows.
        followed: usize,
        /// Whether these are all states within the bounds.
        whole: bool,
    },
}

/// Looks for a run that follows a trail, within these bounds and with one thread more; the first
/// thread of the trail is the observed one. None if there is nothing to follow or runs are not judged
/// by their histories.
pub fn follow(
    program: &Program,
    options: &Options,
    trail: &Run,
) -> Result<Option<Situation>, Diagnostic> {
    let steps = waypoints(trail);
    if steps.is_empty() || options.mode != Mode::Refinement {
        return Ok(None);
    }
    let found = follow_within(program, options, &steps)?;
    let threads = options.threads + 1;
    let takes_more = takes_more_threads(program, options) && threads <= MAX_THREADS as u32;
    match found {
        Some(Situation::NotMet { states: before, followed: farthest, .. }) if takes_more => {
            let more = Options { threads, ..options.clone() };
            Ok(follow_within(program, &more, &steps)?.map(|found| found.after(before, farthest)))
        }
        found => Ok(found),
    }
}

impl Situation {
    /// What is known if runs within other bounds were followed before, in vain.
    fn after(self, before: usize, farthest: usize) -> Situation {
        match self {
            Situation::Wrong(outcome) => Situation::Wrong(outcome),
            Situation::Met { states } => Situation::Met { states: states + before },
            Situation::NotMet { states, followed, whole } => {
                let followed = followed.max(farthest);
                Situation::NotMet { states: states + before, followed, whole }
            }
        }
    }
}

fn follow_within(
    program: &Program,
    options: &Options,
    steps: &[Waypoint],
) -> Result<Option<Situation>, Diagnostic> {
    let mut subject = Subject::new(program, options)?;
    let (Ok(state), Ok(start)) = (subject.machine.initial(), Explanations::start(&subject)) else {
        return Ok(None);
    };
    let start = Position { state, explanations: Rc::new(start) };
    let is_any_thread = options.client.is_none() && subject.threads_are_alike();
    let observed = if is_any_thread { 1 } else { subject.fine.thread_count() };
    let mut found = Followed { whole: true, ..Followed::default() };
    for own in 0..observed {
        let mut search = Directed::new(&subject, steps, own);
        if let Some(moves) = search.run(start.clone()) {
            return Ok(Some(Situation::Wrong(wrong(program, options, &subject, &moves)?)));
        }
        found.add(&search.followed);
    }
    let Followed { states, most, whole } = found;
    Ok(Some(match most == steps.len() {
        true => Situation::Met { states },
        false => Situation::NotMet { states, followed: most, whole },
    }))
}

/// A run that goes wrong, as the machine replays it; if it does not, one of the two is a defect, and
/// there is no verdict.
fn wrong(
    program: &Program,
    options: &Options,
    subject: &Subject,
    moves: &[Move],
) -> Result<Box<Outcome>, Diagnostic> {
    let verdict = match replay(program, options, moves)? {
        Replay::Fails(run) => Verdict::Violation(run),
        Replay::Passes | Replay::Stuck(_) => {
            let why = "a run goes wrong that is all right when it is replayed";
            Verdict::Unknown(Reason::Disagreement(why.to_owned()))
        }
    };
    let took = Statistics::default();
    Ok(Box::new(Outcome::new(program, options, subject, verdict, took)))
}

/// A step of a trail.
struct Waypoint {
    /// Whether the observed thread takes it.
    own: bool,
    /// Where it stands; none for a call.
    line: Option<usize>,
    /// The method that it calls.
    call: Option<String>,
    /// What memory looks like afterwards.
    shape: Shape,
}

fn waypoints(trail: &Run) -> Vec<Waypoint> {
    let taken = trail.steps.iter().flat_map(|step| step.accesses.iter().map(|a| (step.thread, a)));
    let waypoints = taken.map(|(thread, access)| Waypoint {
        own: thread == 0,
        line: access.line,
        call: match &access.action {
            Action::Call { call } => Some(call.clone()),
            _ => None,
        },
        shape: access.memory.as_ref().map(Shape::of).unwrap_or_default(),
    });
    waypoints.filter(|waypoint| waypoint.line.is_some() || waypoint.call.is_some()).collect()
}

/// Which names hold the same node, and from which a node of another can be reached.
#[derive(Default)]
struct Shape {
    /// The names that hold a node, or `null`: whether it is a variable of the observed thread, what it
    /// is called, and the node.
    names: Vec<(bool, String, Option<u32>)>,
    /// For each pair of names whose nodes are known with their links: whether the first leads to the
    /// second.
    leads: Vec<(usize, usize, bool)>,
}

impl Shape {
    fn of(memory: &Memory) -> Shape {
        let shared = memory.variables.iter().map(|cell| (false, cell));
        let own = memory.locals.iter().filter(|local| local.thread == 0);
        let cells = shared.chain(own.map(|local| (true, &local.cell)));
        let references = cells.filter(|(_, cell)| cell.kind == CellKind::Reference);
        let names: Vec<_> =
            references.map(|(own, cell)| (own, cell.name.clone(), cell.node)).collect();
        let mut leads = Vec::new();
        for (first, (_, _, from)) in names.iter().enumerate() {
            for (second, (_, _, to)) in names.iter().enumerate() {
                if let (Some(from), Some(to)) = (from, to)
                    && from != to
                    && is_linked(memory, *from)
                    && is_linked(memory, *to)
                {
                    leads.push((first, second, is_reached(memory, *from, *to)));
                }
            }
        }
        Shape { names, leads }
    }

    /// Whether memory looks like this. Names that the machine does not know by one variable say
    /// nothing.
    fn fits(&self, machine: &Machine, position: &Position, own: usize) -> bool {
        let held: Vec<Option<i32>> = self
            .names
            .iter()
            .map(|(is_own, name, _)| held(machine, position, own, *is_own, name))
            .collect();
        let same = |first: usize, second: usize| match (held[first], held[second]) {
            (Some(one), Some(other)) => {
                (one == other) == (self.names[first].2 == self.names[second].2)
            }
            _ => true,
        };
        let is_null = |place: usize| {
            held[place].is_none_or(|word| (word == NULL) == self.names[place].2.is_none())
        };
        let leads =
            |(first, second, leads): &(usize, usize, bool)| match (held[*first], held[*second]) {
                (Some(from), Some(to)) => reaches(machine, position, from, to) == *leads,
                _ => true,
            };
        let count = self.names.len();
        (0..count).all(|first| is_null(first) && (0..first).all(|second| same(first, second)))
            && self.leads.iter().all(leads)
    }
}

/// Whether the links of a node are part of what is known.
fn is_linked(memory: &Memory, id: u32) -> bool {
    memory.nodes.iter().any(|node| node.id == id && node.kind.ends_with("node"))
}

/// Whether links lead from one node to another.
fn is_reached(memory: &Memory, from: u32, to: u32) -> bool {
    let next = |id: u32| {
        let node = memory.nodes.iter().filter(move |node| node.id == id);
        node.flat_map(|node| node.fields.iter().filter_map(|field| field.node))
    };
    let (mut todo, mut seen) = (vec![from], BTreeSet::from([from]));
    while let Some(id) = todo.pop() {
        todo.extend(next(id).filter(|next| seen.insert(*next)));
    }
    seen.contains(&to)
}

/// What a name holds: a node or `null`; none if it is not the name of one variable that can hold one.
fn held(machine: &Machine, at: &Position, own: usize, is_own: bool, name: &str) -> Option<i32> {
    let steps = &machine.steps;
    let holds = |slot: &seriatim_lang::steps::Slot| {
        slot.name == name && matches!(slot.kind.scalar, Scalar::Ref(_))
    };
    let words: Vec<i32> = if is_own {
        let (pc, base) = (machine.pc(&at.state, own), machine.register_base(own));
        let registers = (0..machine.thread_base(own + 1) - base)
            .filter(|register| steps.register(pc, Reg(*register as u32)).is_some_and(holds));
        registers.map(|register| at.state.words[base + register]).collect()
    } else {
        let slots = steps.shared.iter().zip(&at.state.words);
        slots.filter(|(slot, _)| holds(slot)).map(|(_, word)| *word).collect()
    };
    match words[..] {
        [word] => Some(word),
        _ => None,
    }
}

/// Whether links lead from one node to another.
fn reaches(machine: &Machine, at: &Position, from: i32, to: i32) -> bool {
    if from == NULL || to == NULL {
        return false;
    }
    let stride = machine.node_stride();
    let (mut todo, mut seen) = (vec![from], BTreeSet::from([from]));
    while let Some(node) = todo.pop() {
        let Some(cells) = at.state.heap.get(node as usize * stride..(node as usize + 1) * stride)
        else {
            continue;
        };
        let Some(layout) = machine.steps.structs.get(cells[0] as usize) else { continue };
        for (slot, word) in layout.slots.iter().zip(&cells[1..]) {
            let is_node = matches!(slot.kind.scalar, Scalar::Ref(_)) && *word != NULL;
            if is_node && seen.insert(*word) {
                todo.push(*word);
            }
        }
    }
    seen.contains(&to)
}

/// How far a trail was followed.
#[derive(Default)]
struct Followed {
    states: usize,
    most: usize,
    whole: bool,
}

impl Followed {
    fn add(&mut self, other: &Followed) {
        self.states += other.states;
        self.most = self.most.max(other.most);
        self.whole &= other.whole;
    }
}

/// How far a run follows a trail.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Progress {
    /// How many steps of it.
    followed: usize,
    /// How many accesses of the next one the observed thread has made.
    begun: usize,
}

/// A state that was come to, and how.
struct Reached {
    position: Position,
    progress: Progress,
    from: usize,
    step: Move,
}

/// A search for a run that follows a trail.
struct Directed<'s> {
    subject: &'s Subject,
    trail: &'s [Waypoint],
    /// The thread that is observed.
    own: usize,
    /// The line of each position in the code.
    lines: Vec<usize>,
    reached: Vec<Reached>,
    seen: FxHashSet<((u64, u64), Progress)>,
    /// What is to be looked at, the farthest first.
    farthest: BinaryHeap<(usize, Reverse<usize>)>,
    /// What is to be looked at, the oldest first.
    oldest: VecDeque<usize>,
    /// What is to be looked at behind the whole trail, the newest last: operations come to their end
    /// soon.
    beyond: Vec<usize>,
    /// For each state whether its steps were taken.
    is_done: Vec<bool>,
    turn: usize,
    followed: Followed,
}

impl<'s> Directed<'s> {
    fn new(subject: &'s Subject, trail: &'s [Waypoint], own: usize) -> Self {
        let code = subject.fine.steps.code.iter();
        Directed {
            subject,
            trail,
            own,
            lines: code.map(|instr| instr.span.line(&subject.source)).collect(),
            reached: Vec::new(),
            seen: FxHashSet::default(),
            farthest: BinaryHeap::new(),
            oldest: VecDeque::new(),
            beyond: Vec::new(),
            is_done: Vec::new(),
            turn: 0,
            followed: Followed { whole: true, ..Followed::default() },
        }
    }

    /// The moves of a run that goes wrong, if one was met.
    fn run(&mut self, start: Position) -> Option<Vec<Move>> {
        let step = Move { thread: 0, choices: Vec::new(), waits: true };
        let progress = Progress::default();
        self.arrive(Reached { position: start, progress, from: 0, step });
        let (mut most, mut is_met) = (STATES, false);
        while let Some(next) = self.next() {
            checkpoint();
            if self.reached.len() > most {
                self.followed.whole = false;
                break;
            }
            if let Some(moves) = self.expand(next) {
                return Some(moves);
            }
            if !is_met && self.followed.most == self.trail.len() {
                (most, is_met) = (self.reached.len() + AFTER, true);
            }
        }
        self.followed.states = self.reached.len();
        None
    }

    /// The next state to look at: of those that are farthest, the oldest and behind the trail the
    /// newest, and now and then the oldest of all. None comes twice.
    fn next(&mut self) -> Option<usize> {
        loop {
            self.turn += 1;
            let next = match self.turn % 4 {
                0 => self.oldest.pop_front(),
                1 | 2 => self.beyond.pop(),
                _ => None,
            };
            let next = next.or_else(|| self.farthest.pop().map(|(_, Reverse(place))| place))?;
            if !std::mem::replace(&mut self.is_done[next], true) {
                return Some(next);
            }
        }
    }

    fn arrive(&mut self, reached: Reached) {
        if self.seen.insert((print(&reached.position), reached.progress)) {
            let followed = reached.progress.followed;
            self.followed.most = self.followed.most.max(followed);
            self.farthest.push((followed, Reverse(self.reached.len())));
            self.oldest.push_back(self.reached.len());
            if followed == self.trail.len() {
                self.beyond.push(self.reached.len());
            }
            self.reached.push(reached);
            self.is_done.push(false);
        }
    }

    /// Takes every step from a state; the moves of a run that goes wrong, if one of them shows it.
    fn expand(&mut self, from: usize) -> Option<Vec<Move>> {
        for thread in 0..self.subject.fine.thread_count() {
            let mut choices = Choices::default();
            loop {
                let at = &self.reached[from];
                let taken = step(self.subject, &at.position, thread, &mut choices, true);
                let step = Move { thread, choices: choices.picks(), waits: true };
                match taken {
                    Ok(Next::To(position, ends)) => {
                        let progress = self.progress(at, &position, thread, ends);
                        self.arrive(Reached { position, progress, from, step });
                    }
                    Ok(Next::Cut) => self.followed.whole = false,
                    Ok(Next::Waits) | Err(Disagreement::Specification(_)) => {}
                    Err(_) => return Some(self.moves(from, step)),
                }
                if !choices.advance() {
                    break;
                }
            }
        }
        None
    }

    /// How far a run follows the trail after one more step.
    fn progress(&self, at: &Reached, to: &Position, thread: usize, ends: Step) -> Progress {
        let Progress { followed, begun } = at.progress;
        let at_step = |followed| Progress { followed, begun: 0 };
        let Some(next) = self.trail.get(followed) else { return at.progress };
        let is_own = thread == self.own;
        let is_next = self.is_step(next, at, to, thread) || is_own && begun > 0;
        if is_next && next.shape.fits(&self.subject.fine, to, self.own) {
            return at_step(followed + 1);
        }
        let is_over = is_own && ends == Step::Returned && next.call.is_none();
        if is_over || !self.goes_on(at, to, thread, is_next) {
            let first = &self.trail[0];
            let begins_anew = self.is_step(first, at, to, thread)
                && first.shape.fits(&self.subject.fine, to, self.own);
            return at_step(usize::from(begins_anew));
        }
        let begun = if is_own && is_next { begun + 1 } else { begun };
        Progress { followed, begun }
    }

    /// Whether a run that has not taken the next step of the trail may still do so. A step of the
    /// proof may be several accesses, since it takes along reads of what never changes.
    fn goes_on(&self, at: &Reached, to: &Position, thread: usize, is_next: bool) -> bool {
        let Progress { followed, begun } = at.progress;
        let Some(before) = followed.checked_sub(1).map(|before| &self.trail[before]) else {
            return true;
        };
        match thread == self.own {
            // The last step may be the end of one that began somewhere else, and so may the end of
            // an operation before the next call.
            true if followed + 1 == self.trail.len() => true,
            true if self.trail[followed].call.is_some() => {
                !self.subject.fine.is_idle(&at.position.state, thread)
            }
            true if is_next => begun < ACCESSES,
            _ => before.shape.fits(&self.subject.fine, to, self.own),
        }
    }

    /// Whether a step is that of the trail, by who takes it and where.
    fn is_step(&self, waypoint: &Waypoint, at: &Reached, to: &Position, thread: usize) -> bool {
        let machine = &self.subject.fine;
        let is_called = |name: &String| {
            let pc = machine.pc(&to.state, thread);
            machine.is_idle(&at.position.state, thread)
                && machine.steps.method_at(pc).is_some_and(|method| method.name == *name)
        };
        waypoint.own == (thread == self.own)
            && match (&waypoint.call, waypoint.line) {
                (Some(name), _) => is_called(name),
                (None, line) => line == Some(self.line(at, thread)),
            }
    }

    /// The line at which a thread takes its next step.
    fn line(&self, at: &Reached, thread: usize) -> usize {
        self.lines[self.subject.fine.pc(&at.position.state, thread).0 as usize]
    }

    /// The moves that lead to a state, and one more.
    fn moves(&self, mut from: usize, last: Move) -> Vec<Move> {
        let mut moves = vec![last];
        while from > 0 {
            moves.push(self.reached[from].step.clone());
            from = self.reached[from].from;
        }
        moves.reverse();
        moves
    }
}
