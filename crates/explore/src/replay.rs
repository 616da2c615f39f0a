//! A saved run, taken step by step once more: does it still go wrong?
//!
//! The moves say who steps and what it chooses; how many accesses are a step is given by the
//! reductions that were on. A run that is replayed is judged anew, not believed: its history by the
//! definition of linearizability (`second_opinion::judge`), which shares nothing with the
//! configuration sets of the search but the interpreter of specifications. Only linearization
//! points, which the definition does not know, go through the configuration sets as in the search.
//!
//! Every violation that the search finds is replayed before anybody hears of it ([`evidenced`]).

use crate::deadlock::Known;
use crate::options::{Guarantee, MemoryModel, Mode, Options, Reductions};
use crate::outcome::{Counterexample, Move, Reason, Verdict, ViolationKind};
use crate::progress::{judge::judge, kept};
use crate::search::Search;
use crate::second_opinion::judge::Explanations;
use crate::second_opinion::plain::{method, throw_away};
use crate::subject::Subject;
use crate::trace::{Found, Rebuilt, note};
use crate::worker::{Halt, Worker};
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{Machine, Seen, State, Stop};
use seriatim_lang::spec::SpecStop;
use seriatim_lang::{Diagnostic, Program};
use seriatim_limits::Cancel;

/// What became of a saved run.
#[derive(Clone, Debug)]
pub enum Replay {
    /// It goes wrong, as shown.
    Fails(Box<Counterexample>),
    /// It is all right.
    Passes,
    /// The move of this number cannot be made: the algorithm or the bounds are different.
    Stuck(usize),
}

/// Replays a run of a program; bounds and reductions must be those with which it was found.
pub fn replay(program: &Program, options: &Options, moves: &[Move]) -> Result<Replay, Diagnostic> {
    Cancel::undisturbed(|| replayed(program, options, moves))
}

fn replayed(program: &Program, options: &Options, moves: &[Move]) -> Result<Replay, Diagnostic> {
    if crate::weak::model(program, options) != MemoryModel::Sc {
        return crate::weak::replay(program, options, moves);
    }
    let reductions = Reductions { pure_iterations: false, ..options.reductions };
    let options = Options { reductions, ..options.clone() };
    let (subject, initial) = prepared(program, &options)?;
    let Ok((search, start)) = Search::new(&subject, &options) else { return Ok(Replay::Stuck(0)) };
    let Ok(mut explanations) = Explanations::start(&subject) else { return Ok(Replay::Stuck(0)) };
    let mut worker = Worker::new(&search.common);
    let mut run = Rebuilt::new(&search, &initial, start);
    for (number, step) in moves.iter().enumerate() {
        let mut to = State::default();
        let result = take(&subject, &run.state, step, &mut to);
        let (machine, found) = (machine(&subject, step), found(step));
        let ended = match result {
            Ok(seen) => {
                let events = worker.events(&run.state, run.set, step.thread, &seen);
                if options.mode == Mode::Refinement {
                    let heard = heard(&subject, &explanations, &run.state, step.thread, &seen);
                    let Ok(after) = heard else { return Ok(Replay::Stuck(number)) };
                    explanations = after;
                }
                match events {
                    Ok(set) => {
                        note(&search, machine, &mut run, found);
                        run.arrive(&search, to, set);
                        continue;
                    }
                    Err(Halt::Violation(kind)) => Some(kind),
                    Err(_) => None,
                }
            }
            Err(Stop::Fault(fault, _)) => Some(ViolationKind::Fault(fault)),
            Err(_) => None,
        };
        // The sets of the search say that nothing explains the history: so must the definition.
        let ended = ended.filter(|kind| {
            *kind != ViolationKind::NotLinearizable
                || options.mode != Mode::Refinement
                || explanations.is_empty()
        });
        let Some(kind) = ended else { return Ok(Replay::Stuck(number)) };
        note(&search, machine, &mut run, found);
        return Ok(Replay::Fails(Box::new(run.finish(&search, kind))));
    }
    let waits = worker.deadlock(&run.state, run.set, Known::EachMayWait).ok().flatten();
    let blocks = explanations.block(&subject).unwrap_or(true);
    if waits.is_some_and(|more| more.is_empty()) && (options.mode != Mode::Refinement || !blocks) {
        return Ok(Replay::Fails(Box::new(run.finish(&search, ViolationKind::Deadlock))));
    }
    Ok(Replay::Passes)
}

/// A violation, if the run that was found goes wrong in the same way when it is replayed. One that
/// does not is a defect of the explorer, and no verdict.
pub(crate) fn evidenced(
    program: &Program,
    options: &Options,
    found: Option<Counterexample>,
) -> Verdict {
    let is_same = |again: &Counterexample, found: &Counterexample| {
        again.kind == found.kind && again.history == found.history
    };
    let why = match found {
        None => "the way to the state that goes wrong is no run".to_owned(),
        Some(found) => match replay(program, options, &found.moves) {
            Ok(Replay::Fails(again)) if is_same(&again, &found) => {
                return Verdict::Violation(Box::new(found));
            }
            Ok(Replay::Fails(_)) => "the run that was found goes wrong in another way".to_owned(),
            Ok(Replay::Passes) => "the run that was found is all right".to_owned(),
            Ok(Replay::Stuck(at)) => format!("move {} of the run cannot be made", at + 1),
            Err(diagnostic) => format!("the run cannot be replayed: {}", diagnostic.message),
        },
    };
    Verdict::Unknown(Reason::Disagreement(why))
}

/// What explains the history after a step.
fn heard(
    subject: &Subject,
    before: &Explanations,
    from: &State,
    thread: usize,
    seen: &Seen,
) -> Result<Explanations, SpecStop> {
    let called = seen.call.as_ref().map(|call| before.call(thread, call));
    let called = called.unwrap_or_else(|| before.clone());
    let Some(words) = &seen.ret else { return Ok(called) };
    let method = method(&subject.machine, from, thread, &seen.call);
    called.give_back(subject, thread, &subject.result(method, words))
}

/// Replays a run that is said to contradict a guarantee of progress, because its last moves can be
/// repeated for ever or because a thread waits at its end.
pub fn replay_progress(
    program: &Program,
    options: &Options,
    moves: &[Move],
    (guarantee, circle): (Guarantee, Option<usize>),
) -> Result<Replay, Diagnostic> {
    let reductions = kept(options.reductions, guarantee);
    let options = Options { reductions, ..options.clone() };
    let (subject, initial) = prepared(program, &options)?;
    let Ok((search, start)) = Search::new(&subject, &options) else { return Ok(Replay::Stuck(0)) };
    let mut run = Rebuilt::new(&search, &initial, start);
    for (number, step) in moves.iter().enumerate() {
        let mut to = State::default();
        if take(&subject, &run.state, step, &mut to).is_err() {
            return Ok(Replay::Stuck(number));
        }
        let machine = machine(&subject, step);
        note(&search, machine, &mut run, found(step));
        run.arrive(&search, to, start);
        throw_away(machine, &mut run.state);
    }
    let kind = match circle {
        None => ViolationKind::Waits(guarantee),
        Some(repeats) => ViolationKind::NoProgress { guarantee, repeats, starved: 0 },
    };
    Ok(match judge(&subject, &initial, moves, kind) {
        Ok(kind) => Replay::Fails(Box::new(run.finish(&search, kind))),
        Err(_) => Replay::Passes,
    })
}

/// What is explored and where it begins, if the question can be asked.
fn prepared(program: &Program, options: &Options) -> Result<(Subject, State), Diagnostic> {
    if let Some(why) = crate::refinement::refusal(options) {
        return Err(Diagnostic::new(Default::default(), why));
    }
    let mut subject = Subject::new(program, options)?;
    match subject.machine.initial() {
        Ok(initial) => Ok((subject, initial)),
        Err(stop) => Err(crate::refinement::bad_start(&subject, stop)),
    }
}

/// The machine that takes a move: access by access where a thread comes to wait.
fn machine<'s>(subject: &'s Subject, step: &Move) -> &'s Machine {
    if step.waits { &subject.fine } else { &subject.machine }
}

fn found(step: &Move) -> Found {
    Found { thread: step.thread, choices: Choices::following(&step.choices) }
}

/// Takes a move; one of a thread that there is not cannot be made.
fn take(subject: &Subject, from: &State, step: &Move, to: &mut State) -> Result<Seen, Stop> {
    if step.thread >= subject.machine.thread_count() {
        return Err(Stop::Ended);
    }
    machine(subject, step).run(from, step.thread, &mut Choices::following(&step.choices), to)
}
