//! Every run of some threads on a weak memory.
//!
//! *Definition.* No run has a data race or another fault, and the operations of every run have an
//! order that the specification allows and that extends `return(a) happens-before call(b)`
//! (`judge`). Memory models are behind one trait (`memory`): `sc`, `tso`, `rc20`. A search
//! (`search`) goes breadth first through the states of threads and memory, each stored under a key
//! that is the same for states with the same future (`canonical`); a step takes along what nobody
//! else notices (`step`, with `access`, `local`, `allocation` and `client` for the kinds of
//! instructions).
//!
//! *Bounds.* With `operations`, every thread calls so many operations at most, and on RC20 the
//! client synchronises nothing: happens-before is exact. Without, calls and returns are any number,
//! the client synchronises each return with every later call, and `lag` bounds how many values of a
//! word can still be seen. It is a bound like `capacity`, printed with every *holds*, and no
//! reduction: without it a thread that is stopped in the middle makes the states infinite.
//!
//! *Evidence.* The run of a violation is taken once more and judged by the axioms of the model on
//! its execution graph (`evidence`, `reexecution`, `execution`, `graph`), which share nothing with
//! the search but the meaning of expressions. A run that is not accepted is no violation: the
//! answer is *unknown*, and a defect of Seriatim. *It would be unsound* to judge by real time what
//! clients cannot know, to join a call or a return of a synchronised client with accesses that move
//! past it, and to take a program whose accesses are not words of the model (`code` refuses those
//! by name).
//!
//! Whether threads wait for each other is not asked here.

mod access;
mod allocation;
mod canonical;
mod client;
mod code;
mod event;
mod evidence;
mod execution;
pub mod graph;
mod judge;
mod local;
mod memory;
mod minima;
mod private;
mod rc20;
mod reexecution;
mod row;
mod sc;
mod search;
mod side_by_side;
mod step;
mod told;
mod tso;
mod weaken;

pub use minima::Minima;
pub use weaken::{Alone, OnX86, Site, SiteKind, Wanted, Weakened, Weakening, weaken};

use crate::options::{MOST_KEYS, MOST_VALUES, MemoryModel, Mode, Options, Reductions, Synchronise};
use crate::outcome::{Counterexample, Move, Outcome, Reason, Statistics, Verdict, ViolationKind};
use crate::refinement::{bad_start, unknown};
use crate::replay::Replay;
use crate::second_opinion::Reviewed;
use crate::subject::Subject;
use code::Layout;
use event::Event;
use evidence::Witness;
use judge::{Judge, countable};
use memory::Memory;
use search::{Ending, Task};
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{State as Concrete, Stop};
use seriatim_lang::{Diagnostic, Program, sequential};
use std::collections::BTreeSet;
use std::time::Duration;

/// The memory model that is meant.
pub fn model(program: &Program, options: &Options) -> MemoryModel {
    options.memory.unwrap_or_else(|| match sequential::weaker(program) {
        None => MemoryModel::Sc,
        Some(_) => MemoryModel::Rc20,
    })
}

/// Explores a program on a weak memory model.
pub(crate) fn explore(
    program: &Program,
    options: &Options,
    progress: &mut dyn FnMut(&Statistics),
) -> Result<Outcome, Diagnostic> {
    explore_with(program, options, &vec![], progress)
}

/// Explores a program with other orderings than its own.
fn explore_with(
    program: &Program,
    options: &Options,
    edits: &weaken::Edits,
    progress: &mut dyn FnMut(&Statistics),
) -> Result<Outcome, Diagnostic> {
    let model = model(program, options);
    let options = Options { memory: Some(model), ..options.clone() };
    if let Some(why) = refusal(model, &options) {
        return Ok(unknown(program, &options, Reason::Unsupported(why)));
    }
    let (mut subject, layout, initial) = prepared(program, &options)?;
    for instr in &mut subject.machine.steps.code {
        if let Some((_, orders)) = edits.iter().find(|(span, _)| *span == instr.span) {
            instr.orders = *orders;
        }
    }
    let task = Task::new(&subject, &layout, &options, model);
    let searched = match model {
        MemoryModel::Sc => task.search::<sc::Sc>(&initial, progress),
        MemoryModel::Tso => task.search::<tso::Tso>(&initial, progress),
        MemoryModel::Rc20 => task.search::<rc20::Rc20>(&initial, progress),
    };
    let mut statistics = searched.statistics;
    let verdict = match searched.ending {
        Ending::Complete => reviewed(&task, model, &initial, &mut statistics),
        Ending::Unknown(reason) => Verdict::Unknown(reason),
        Ending::Violation(moves, kind) => {
            match witnessed(&task, model, &initial, &moves, Some(kind)) {
                Ok(Some(found)) => Verdict::Violation(Box::new(found)),
                Ok(None) => Verdict::Unknown(Reason::Internal),
                Err(why) => Verdict::Unknown(Reason::Disagreement(why)),
            }
        }
    };
    statistics.cuts.numbers |= crate::refinement::chooses_numbers(&subject);
    Ok(Outcome::new(program, &options, &subject, verdict, statistics))
}

/// *Holds*, if a search without reductions does not contradict it: of the whole space if that is
/// small enough, else of its beginning.
fn reviewed(
    task: &Task<'_>,
    model: MemoryModel,
    initial: &Concrete,
    statistics: &mut Statistics,
) -> Verdict {
    let opinion = task.options.second_opinion;
    if opinion.states == 0 {
        return Verdict::Holds;
    }
    let share = statistics.time * opinion.percent / 100;
    let mut limits = task.options.limits;
    limits.states = Some(opinion.states);
    let left = limits.time.map(|time| time.saturating_sub(statistics.time));
    limits.time = Some(left.unwrap_or(Duration::MAX).min(share.max(opinion.least)));
    let options = Options { reductions: Reductions::NONE, limits, ..task.options.clone() };
    let plain = Task::new(task.subject, task.layout, &options, model);
    let searched = match model {
        MemoryModel::Sc => plain.search::<sc::Sc>(initial, &mut |_| {}),
        MemoryModel::Tso => plain.search::<tso::Tso>(initial, &mut |_| {}),
        MemoryModel::Rc20 => plain.search::<rc20::Rc20>(initial, &mut |_| {}),
    };
    let Statistics { kept, transitions: steps, time, .. } = searched.statistics;
    let whole = matches!(searched.ending, Ending::Complete).then_some(kept);
    statistics.reviewed = Reviewed { steps, whole, time, ..Reviewed::default() };
    match searched.ending {
        Ending::Violation(_, kind) => {
            let why = format!("without reductions a run goes wrong: {kind:?}");
            Verdict::Unknown(Reason::Disagreement(why))
        }
        Ending::Complete | Ending::Unknown(_) => Verdict::Holds,
    }
}

/// Takes the moves of a saved run once more; the graph of the run is judged anew.
pub(crate) fn replay(
    program: &Program,
    options: &Options,
    moves: &[Move],
) -> Result<Replay, Diagnostic> {
    let model = model(program, options);
    let options = Options { memory: Some(model), ..options.clone() };
    if let Some(why) = refusal(model, &options) {
        return Err(Diagnostic::new(Default::default(), why));
    }
    let (subject, layout, initial) = prepared(program, &options)?;
    let task = Task::new(&subject, &layout, &options, model);
    match witnessed(&task, model, &initial, moves, None) {
        Ok(Some(found)) => Ok(Replay::Fails(Box::new(found))),
        Ok(None) => Ok(Replay::Passes),
        Err(_) => Ok(Replay::Stuck(moves.len().saturating_sub(1))),
    }
}

fn prepared(
    program: &Program,
    options: &Options,
) -> Result<(Subject, Layout, Concrete), Diagnostic> {
    let mut subject = Subject::new(program, options)?;
    let layout = Layout::of(&subject.machine.steps)?;
    match subject.machine.initial() {
        Ok(initial) => Ok((subject, layout, initial)),
        Err(stop) => Err(bad_start(&subject, stop)),
    }
}

/// Why the question cannot be asked.
fn refusal(model: MemoryModel, options: &Options) -> Option<String> {
    if options.mode != Mode::Refinement {
        let why = "only linearizability and faults are asked of weak memory, not linearization \
                   points nor progress; --model sc leaves the orderings aside";
        return Some(why.to_owned());
    }
    if !MOST_VALUES.contains(&options.values) || !MOST_KEYS.contains(&options.keys) {
        return Some("1 to 8 data values and at most 64 keys can be explored".to_owned());
    }
    let exact = model != MemoryModel::Sc && options.clients() != Synchronise::Everything;
    if exact && options.operations.is_none() {
        let why = "clients that do not synchronise every call have a bound on their operations";
        return Some(why.to_owned());
    }
    let most = if exact { 8 } else { 6 };
    if !(1..=most).contains(&options.threads) {
        return Some(format!("1 to {most} threads can be explored on this memory"));
    }
    let operations = options.operations.unwrap_or(1);
    if operations == 0 || !countable(options.threads, operations) {
        return Some("1 to 8 operations of a thread can be explored".to_owned());
    }
    (options.lag == Some(0)).then(|| "a word has at least one value".to_owned())
}

/// Takes moves from the start; the run that goes wrong with the last of them, or with an earlier
/// one, if the axioms accept it; nothing if all is well.
fn witnessed(
    task: &Task<'_>,
    model: MemoryModel,
    initial: &Concrete,
    moves: &[Move],
    wanted: Option<ViolationKind>,
) -> Result<Option<Counterexample>, String> {
    let run = match model {
        MemoryModel::Sc => retraced::<sc::Sc>(task, initial, moves)?,
        MemoryModel::Tso => retraced::<tso::Tso>(task, initial, moves)?,
        MemoryModel::Rc20 => retraced::<rc20::Rc20>(task, initial, moves)?,
    };
    let Some(kind) = run.kind else {
        let lost = wanted.map(|_| "the run does not go wrong when it is repeated".to_owned());
        return lost.map_or(Ok(None), Err);
    };
    if wanted.is_some_and(|wanted| wanted != kind) {
        return Err("the run goes wrong in another way when it is repeated".to_owned());
    }
    let (subject, layout, clients) = (task.subject, task.layout, task.manner.clients);
    let witness = Witness { subject, layout, model, clients, events: &run.events };
    let race = witness.accept(kind)?;
    let found = told::counterexample(task, &run, kind, race, moves);
    Ok(Some(found))
}

/// A run that was made once more.
struct Retraced {
    /// All accesses.
    events: Vec<Event>,
    /// For each move, where its accesses end.
    marks: Vec<usize>,
    /// How it goes wrong, if it does.
    kind: Option<ViolationKind>,
}

fn retraced<M: Memory>(
    task: &Task<'_>,
    initial: &Concrete,
    moves: &[Move],
) -> Result<Retraced, String> {
    let canonical = canonical::Canonical::new(
        task.subject,
        task.layout,
        task.options.reductions,
        task.manner.operations,
    );
    let stopped = |stop| search::defect(stop).text();
    let (mut judge, mut standing) =
        Judge::new(task.subject, task.manner.is_stamped()).map_err(stopped)?;
    let mut state = task.start::<M>(initial);
    canonical.tidy(&mut state);
    let (mut events, mut marks) = (vec![], vec![]);
    for Move { thread, choices, .. } in moves {
        if *thread >= state.threads.len() {
            return Err("there is no such thread".to_owned());
        }
        let method = task.method(&state, *thread);
        let mut choices = Choices::following(choices);
        let result = task.step(&mut state, *thread, &mut choices, Some(&mut events));
        marks.push(events.len());
        match result {
            Ok(seen) => {
                let after = judge.after(&standing, *thread, method, &seen).map_err(stopped)?;
                let Some(after) = after else {
                    let kind = Some(ViolationKind::NotLinearizable);
                    return Ok(Retraced { events, marks, kind });
                };
                standing = after;
                canonical.tidy(&mut state);
            }
            Err(Stop::Fault(fault, _)) => {
                let kind = Some(ViolationKind::Fault(fault));
                return Ok(Retraced { events, marks, kind });
            }
            Err(stop) => return Err(format!("a move cannot be made: {stop:?}")),
        }
    }
    Ok(Retraced { events, marks, kind: None })
}

/// All outcomes of a program whose clients end: for each run to its end the results of the
/// operations, thread by thread, and then the last values of the shared variables. The
/// specification is not asked. For comparing memory models with their definitions.
pub fn outcomes(program: &Program, options: &Options) -> Result<BTreeSet<Vec<i32>>, Diagnostic> {
    let model = model(program, options);
    let (subject, layout, initial) = prepared(program, options)?;
    let task = Task::new(&subject, &layout, options, model);
    Ok(match model {
        MemoryModel::Sc => search::outcomes::<sc::Sc>(&task, &initial),
        MemoryModel::Tso => search::outcomes::<tso::Tso>(&task, &initial),
        MemoryModel::Rc20 => search::outcomes::<rc20::Rc20>(&task, &initial),
    })
}
