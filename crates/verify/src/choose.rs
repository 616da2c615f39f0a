//! Which engine is asked, and what follows from what they say.
//!
//! *Rules.* A run that goes wrong settles the question, whoever finds it: it was replayed by the
//! machine. A proof is believed only if the checker of certificates accepts it, and only beside an
//! exploration that finds no such run: a proof and a run that contradict each other convict one of
//! the engines, and the claim is *unknown*. A deadlock is no such run: what deadlocks may be
//! linearizable, so the proof counts all the same. What is not proved is *unknown*, however much
//! was explored; the answer says what was.
//!
//! *Order.* The hunt for a wrong run, at the bounds of the file and for a third of the time, goes
//! on beside the proof, never before it: neither has to wait for the other, a run that is found
//! ends the proof, and an accepted proof ends the hunt, unless the hunt has something to say that
//! the proof has not (whether threads can wait for each other, where they take locks in no order
//! that is known): then it goes on for as long again as
//! the proof took, a second at least. The hunt goes in rounds, each from
//! the start and twice as long as the one before: whoever has a proof after a time waits for the
//! hunt for a tenth of a second, or as long again. Between two rounds it leaves the processor to
//! the proof, which uses as many as there are: for as long as the round took, or for three times as
//! long if there is only one. A hunt that is there only to contradict a proof
//! takes a brief second opinion; one whose *holds* is told takes a full one, if need be by
//! exploring once more. If the proof gets stuck, runs follow its trail (`situation`), all pairs of
//! methods are decided on lists of any length, where that applies, and explorations raise the bounds
//! for the rest of the time.
//!
//! It would be unsound to let an exploration stand for claims that were asked for any number of
//! threads, or to give a claim the larger scope of two engines; [`Standing::and`] keeps scope and
//! evidence together.
//!
//! [`Standing::and`]: seriatim_spec::answer::Standing::and

use crate::compositions::{self, Pairs};
use crate::options::{Engine, Error, Options};
use crate::proof::{Attempt, attempt};
use crate::situation::{Lesson, followed};
use crate::verified::Verified;
use seriatim_explore::{
    self as explore, Growth, Outcome, Reason, SecondOpinion, Statistics, Verdict, can_wait, raise,
};
use seriatim_lang::Program;
use seriatim_limits::Instant;
use seriatim_spec::Cancel;
use seriatim_spec::answer::{Answer, Cost, Property, Standing};
use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, available_parallelism};
use std::time::Duration;

/// The time for explorations if none is given.
pub const TIME: Duration = Duration::from_secs(30);

/// How long the first round of a hunt takes.
const FIRST_ROUND: Duration = Duration::from_millis(100);

/// How long a hunt for deadlocks may take at least, once there is a proof of everything else.
const LEAST: Duration = Duration::from_secs(1);

/// The stack of the thread that proves: formulas and heaps are walked recursively, and the program
/// is a stranger's.
const STACK: usize = 16 << 20;

/// Decides whether every run of a program is linearizable, free of faults, in range and free of
/// deadlocks, or whatever the mode of the bounds asks instead.
///
/// ```
/// use seriatim_spec::answer::{Property, Standing};
/// use seriatim_verify::{Engine, Options, verify};
///
/// let source = "object o : stack
/// struct Node { val: value, next: Node? }
/// var top: Node? = null
/// method push(v: value) { atomic { top = new Node { val: v, next: top } } }
/// method pop() -> value? {
///   atomic {
///     let t = top
///     if t == null { return empty }
///     top = t.next
///     return t.val
///   }
/// }
/// expect explore(threads: 2, capacity: 2) holds";
/// let program = seriatim_lang::check(source).unwrap();
///
/// let everything = verify(&program, &Options::of(&program)).unwrap();
/// assert_eq!(everything.answer.standing(Property::Linearizable).word(), "proved");
/// assert!(everything.certificate.is_some());
///
/// let engine = Engine::Explore { budget: None };
/// let two_threads = verify(&program, &Options { engine, ..Options::of(&program) }).unwrap();
/// let standing = two_threads.answer.standing(Property::Linearizable);
/// assert!(matches!(standing, Standing::Holds { scope, .. } if scope.threads == Some(2)));
/// ```
pub fn verify(program: &Program, options: &Options<'_>) -> Result<Verified, Error> {
    match &options.engine {
        // The other engines know no weaker memory.
        Engine::Auto if is_weak(program, &options.bounds) => {
            Ok(Verified::explored(explored(program, options, &options.bounds)?))
        }
        Engine::Auto => all_engines(program, options),
        Engine::Explore { budget: None } => {
            Ok(Verified::explored(explored(program, options, &options.bounds)?))
        }
        Engine::Explore { budget: Some(budget) } => grown(program, options, *budget),
        Engine::Lists(asked) => compositions::decided(program, asked),
        Engine::Prove => proved(program, options),
    }
}

/// Whether the question is about a memory that is weaker than sequential consistency.
fn is_weak(program: &Program, bounds: &explore::Options) -> bool {
    explore::weak::model(program, bounds) != explore::MemoryModel::Sc
}

/// The time of all explorations together.
fn time(options: &Options<'_>) -> Duration {
    options.bounds.limits.time.unwrap_or(TIME)
}

/// Decides with all engines.
fn all_engines(program: &Program, options: &Options<'_>) -> Result<Verified, Error> {
    let cancel = Cancel::of_process();
    let (hunt, attempt) = hunted_and_proved(program, options)?;
    if settles(&hunt) {
        return Ok(Verified::explored(hunt));
    }
    if let Attempt::Proved { .. } = attempt {
        return Ok(attempt.beside(program, hunt));
    }
    let hunt = reviewed(program, options, hunt)?;
    let attempt = match followed(program, options, attempt)? {
        Lesson::Wrong(outcome) => return Ok(Verified::explored(*outcome)),
        Lesson::Open(attempt) => attempt,
    };
    // Pairs that were not decided in time say nothing, neither that they are correct nor that one
    // is wrong.
    let pairs = cancel.during(|| compositions::pairs(program)).unwrap_or(Pairs::Right(None));
    let attempt = match pairs {
        Pairs::Wrong(violated) => return Ok(*violated),
        Pairs::Right(count) => attempt.noting(count),
    };
    let covered = raised(program, options, hunt)?;
    match settles(&covered) {
        true => Ok(Verified::explored(covered)),
        false => Ok(attempt.beside(program, covered)),
    }
}

/// Tries to prove a program, beside a hunt.
fn proved(program: &Program, options: &Options<'_>) -> Result<Verified, Error> {
    let (hunt, attempt) = hunted_and_proved(program, options)?;
    if settles(&hunt) {
        return Ok(Verified::explored(hunt));
    }
    let hunt = match attempt {
        Attempt::Proved { .. } => hunt,
        Attempt::Open { .. } => reviewed(program, options, hunt)?,
    };
    if settles(&hunt) {
        return Ok(Verified::explored(hunt));
    }
    Ok(match followed(program, options, attempt)? {
        Lesson::Wrong(outcome) => Verified::explored(*outcome),
        Lesson::Open(attempt) => attempt.beside(program, hunt),
    })
}

/// A hunt whose *holds* is told: with the second opinion that was asked for.
fn reviewed(program: &Program, options: &Options<'_>, hunt: Outcome) -> Result<Outcome, Error> {
    match hunt.verdict {
        Verdict::Holds if is_brief(program) => {
            explored(program, options, &within(&options.bounds, time(options) / 3))
        }
        _ => Ok(hunt),
    }
}

/// Whether a hunt is there only to contradict a proof: where threads can wait for each other, it
/// answers whether they may do so for ever.
fn is_brief(program: &Program) -> bool {
    !can_wait(program)
}

/// Hunts for a run that goes wrong and tries a proof, at the same time. The proof is given up when
/// such a run is found.
fn hunted_and_proved(
    program: &Program,
    options: &Options<'_>,
) -> Result<(Outcome, Attempt), Error> {
    let deadline = options.bounds.limits.time.map(|time| Instant::now() + time);
    let cancel = Cancel::at(deadline);
    let progress = Progress::default();
    let start = Instant::now();
    let prove = || {
        let attempt = attempt(program, &cancel);
        let is_proved = matches!(attempt, Attempt::Proved { .. });
        let says_all = match &attempt {
            Attempt::Proved { accepted, .. } => accepted.locks_in_order || !can_wait(program),
            Attempt::Open { .. } => false,
        };
        if is_proved {
            let time = Instant::now().saturating_duration_since(start);
            progress.proved_after.get_or_init(|| time);
        }
        progress.says_all.store(says_all, Ordering::Relaxed);
        progress.has_ended.store(true, Ordering::Relaxed);
        attempt
    };
    std::thread::scope(|scope| {
        let proof = Builder::new().stack_size(STACK).spawn_scoped(scope, prove);
        progress.has_ended.fetch_or(proof.is_err(), Ordering::Relaxed);
        let hunt = hunted(program, options, &progress);
        if hunt.as_ref().map_or(true, settles) {
            cancel.raise();
        }
        let attempt = match proof {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            // Without a second thread, one after the other is as good.
            Err(_) => prove(),
        };
        Ok((hunt?, attempt))
    })
}

/// How far a proof has come, for the hunt beside it.
#[derive(Default)]
struct Progress {
    /// Whether it has ended, with a proof or without.
    has_ended: AtomicBool,
    /// Whether there is a proof that leaves nothing open.
    says_all: AtomicBool,
    /// The time that a proof took, once there is one.
    proved_after: OnceLock<Duration>,
}

impl Progress {
    /// How long a hunt may take at most, which has so much time: beside a proof, what it can still
    /// say of deadlocks is worth as long again as the proof took.
    fn most(&self, time: Duration) -> Duration {
        let beside = self.proved_after.get().map(|proof| (*proof * 2).max(LEAST));
        beside.map_or(time, |beside| beside.min(time))
    }

    /// Leaves the processor to a proof that still goes on, after a round of a hunt.
    fn make_way(&self, round: Duration) {
        let share = match available_parallelism().map_or(1, usize::from) {
            1 => 3,
            _ => 1,
        };
        let end = Instant::now() + round * share;
        while !self.has_ended.load(Ordering::Relaxed) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Hunts for a run that goes wrong, for a third of the time or until nothing depends on it any
/// more.
fn hunted(program: &Program, options: &Options<'_>, proof: &Progress) -> Result<Outcome, Error> {
    let start = Instant::now();
    let mut asked = options.bounds.clone();
    if is_brief(program) {
        asked.second_opinion = SecondOpinion::BRIEF;
    }
    let mut round = FIRST_ROUND;
    loop {
        let end = start + proof.most(time(options) / 3);
        let left = end.saturating_duration_since(Instant::now());
        let is_last = left <= round * 2;
        let bounds = within(&asked, if is_last { left } else { round });
        let hunt = explored(program, options, &bounds)?;
        let is_cut = matches!(hunt.verdict, Verdict::Unknown(Reason::Time));
        if is_last || !is_cut || proof.says_all.load(Ordering::Relaxed) {
            return Ok(hunt);
        }
        proof.make_way(round);
        if proof.says_all.load(Ordering::Relaxed) {
            return Ok(hunt);
        }
        round *= 2;
    }
}

/// Whether an exploration found a run that no proof can stand beside. A deadlock is no such run:
/// what deadlocks may be linearizable.
fn settles(explored: &Outcome) -> bool {
    match &explored.verdict {
        Verdict::Violation(run) => run.kind.property() != Property::DeadlockFree,
        Verdict::Holds | Verdict::Unknown(_) => false,
    }
}

/// Explores within bounds.
fn explored(
    program: &Program,
    options: &Options<'_>,
    bounds: &explore::Options,
) -> Result<Outcome, Error> {
    Ok(explore::run_with(program, bounds, &mut told(options))?)
}

/// Tells the observer how an exploration goes.
fn told<'o>(options: &'o Options<'_>) -> impl FnMut(&Statistics) + 'o {
    |statistics| options.observer.into_iter().for_each(|observer| observer(statistics))
}

fn within(bounds: &explore::Options, time: Duration) -> explore::Options {
    let mut options = bounds.clone();
    options.limits.time = Some(time);
    options
}

/// Raises the bounds after a hunt, for the rest of the time: the largest exploration that saw
/// everything, or one that found a run.
fn raised(program: &Program, options: &Options<'_>, hunt: Outcome) -> Result<Outcome, Error> {
    let end = Instant::now() + time(options) - time(options) / 3;
    let mut covered = hunt;
    let mut larger = options.bounds.clone();
    // `covered` saw everything within its bounds; it is replaced only by one that did so within
    // larger ones, or that found a run.
    while matches!(covered.verdict, Verdict::Holds)
        && Instant::now() < end
        && raise(program, &mut larger)
    {
        let bounds = within(&larger, end.saturating_duration_since(Instant::now()));
        let next = explored(program, options, &bounds)?;
        match next.verdict {
            Verdict::Unknown(_) => break,
            Verdict::Holds | Verdict::Violation(_) => covered = next,
        }
    }
    Ok(covered)
}

/// Raises the bounds in turn until the time is over, a run goes wrong, or memory runs out.
fn grown(program: &Program, options: &Options<'_>, budget: Duration) -> Result<Verified, Error> {
    let growth = explore::grow(program, &options.bounds, budget, &mut told(options))?;
    let verified = match answering(&growth) {
        Some(outcome) => Verified::explored(outcome.clone()),
        None => Verified::new(Answer::new(Cost::default(), |_| {
            Standing::Unknown("nothing was explored".to_owned())
        })),
    };
    Ok(Verified { growth: Some(growth), ..verified })
}

/// The round that the answer rests on: one that found a run; else the largest that was completed.
fn answering(growth: &Growth) -> Option<&Outcome> {
    match &growth.last {
        Some(last) if matches!(last.verdict, Verdict::Violation(_)) => Some(last),
        last => growth.covered.last().or(last.as_ref()),
    }
}
