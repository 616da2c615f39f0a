//! A request to stop is heard within a step, too: a specification with hundreds of successors raises
//! it at its n-th answer, for many n, and what is done afterwards is counted, not timed.

use seriatim_history::{History, InputError, read_str};
use seriatim_monitor::{Options, check, check_under};
use seriatim_spec::{Bound, Cancel, Interpretation, Next, Order, Reader, Spec, Strategy, Verdict};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many states a throw leads to.
const WIDE: u32 = 300;

/// A die with very many sides: `throw` shows any of them, `look` tells which.
struct Die {
    cancel: Cancel,
    /// The answer at which it asks to stop.
    last: usize,
    answers: AtomicUsize,
    /// The states that were taken up after that answer.
    taken_up: AtomicUsize,
}

impl Die {
    fn new(last: usize) -> Self {
        let (answers, taken_up) = Default::default();
        Die { cancel: Cancel::never(), last, answers, taken_up }
    }

    /// The answers that were given after the last one.
    fn in_vain(&self) -> usize {
        self.answers.load(Ordering::Relaxed).saturating_sub(self.last)
    }
}

impl Spec for Die {
    type State = u32;
    type Op = bool;
    type Ret = u32;

    fn initial(&self) -> u32 {
        0
    }

    fn step(&self, state: &u32, is_throw: &bool, ret: Option<&u32>) -> Next<u32> {
        if self.answers.fetch_add(1, Ordering::Relaxed) + 1 == self.last {
            self.cancel.raise();
        }
        match is_throw {
            true => Next::Many((1..=WIDE).collect()),
            false => Next::when(ret.is_none_or(|seen| seen == state), || *state),
        }
    }

    fn state_bytes(&self, _: &u32) -> usize {
        if self.answers.load(Ordering::Relaxed) >= self.last {
            self.taken_up.fetch_add(1, Ordering::Relaxed);
        }
        0
    }
}

struct DieReader(Arc<Die>);

impl Reader for DieReader {
    fn name(&self) -> String {
        "die".to_owned()
    }

    fn read(&self, history: &mut History) -> Result<Interpretation, InputError> {
        let mut bound: Bound<Die> = Bound::new(self.0.clone());
        let operations = history.operations().map(|op| (op.method() == "throw", op.id));
        let operations: Vec<_> = operations.collect();
        let result = |op| history.values().get(history.result(op)).as_int();
        let classes = operations.iter().map(|&(is_throw, op)| {
            let seen = result(op).map(|seen| seen as u32);
            Some(bound.class(is_throw, if is_throw { None } else { seen }))
        });
        let classes: Vec<_> = classes.collect();
        Ok(Interpretation::new(Arc::new(bound), classes))
    }
}

/// Throws beside one another, one of them perhaps lost, and a look at a side that there is or is not.
fn thrown(side: u32) -> History {
    // To refute three throws of which one is lost takes as long as all chains of them.
    let lost = if side <= WIDE { "" } else { ",\"return\":3" };
    let log = format!(
        r#"{{"process":0,"op":"throw","call":1,"return":4}}
{{"process":1,"op":"throw","call":2{lost}}}
{{"process":2,"op":"throw","call":3,"return":6}}
{{"process":3,"op":"look","result":{side},"call":5,"return":8}}
{{"process":0,"op":"look","result":7,"call":7,"return":9}}"#
    );
    read_str(&log).expect("it is a log")
}

/// The verdict with a request that is raised at the n-th answer, and whether that came.
fn asked(
    side: u32,
    last: usize,
    ask: &dyn Fn(&mut History, &DieReader, &Options<'_>) -> Verdict,
) -> (Verdict, bool) {
    let die = Arc::new(Die::new(last));
    let options = Options { threads: 1, cancel: Some(&die.cancel), ..Options::default() };
    let verdict = ask(&mut thrown(side), &DieReader(die.clone()), &options);
    let (answers, states) = (die.in_vain(), die.taken_up.load(Ordering::Relaxed));
    // Sixty-four states are taken up between two looks, or eight steps; the next stages of the
    // check may begin before they look.
    assert!(answers <= 32, "{answers} more answers after answer {last}");
    assert!(states <= 256, "{states} more states after answer {last}");
    (verdict, die.cancel.is_raised())
}

fn is_heard_at_every_answer(ask: &dyn Fn(&mut History, &DieReader, &Options<'_>) -> Verdict) {
    for (side, truth) in [(5, "linearizable"), (WIDE + 1, "violation")] {
        let mut words = Vec::new();
        for last in (1..12).chain((4..).map(|power| 3 << (2 * power))) {
            let (verdict, is_raised) = asked(side, last, ask);
            let word = verdict.word();
            assert!(word == truth || word == "unknown" && is_raised, "{side} {last}: {word}");
            words.push(word);
            if !is_raised {
                break;
            }
        }
        assert!(words.len() > 3 && words.contains(&"unknown"), "{words:?}");
    }
}

#[test]
fn a_wide_step_of_either_search_is_left_in_the_middle() {
    for strategy in [Strategy::DepthFirst, Strategy::BreadthFirst] {
        is_heard_at_every_answer(&|history, reader, options| {
            let options = Options { strategies: vec![strategy], ..*options };
            check(history, reader, &options).expect("it can be read").verdict
        });
    }
}

#[test]
fn so_is_one_of_the_search_for_a_weaker_order() {
    is_heard_at_every_answer(&|history, reader, options| {
        let weaker = check_under(history, reader, Order::Process, options);
        weaker.expect("it can be read").verdict
    });
}
