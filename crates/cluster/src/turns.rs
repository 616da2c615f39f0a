//! Turns that cross from part to part, where no reader sees the whole log.
//!
//! A log may be split if at no instant two processes take crossing turns
//! ([`seriatim_scale::turns`]). Every worker has to know whether that is so, and comes to know it
//! so:
//!
//! 1. Each reader follows the processes of its share ([`Walks`]). It tells everybody the crossing
//!    turns that it sees, and, in the end, the *span* of each process: from its first call to its
//!    last end.
//! 2. A process is *scattered* if two of its spans meet, or if a reader finds its operations out of
//!    order. **Lemma.** Each turn of a process that is not scattered is seen by a reader. *Proof.*
//!    Two operations that touch are not in two spans that do not meet, so they are in one share;
//!    their reader has the operations of the process in the order of calls, and so one behind the
//!    other.
//! 3. The operations of scattered processes travel once more, as [`Step`]s, all of a process to one
//!    worker, which sorts them and follows them ([`Steps`]), and tells everybody the turns that it
//!    sees.
//!
//! Everybody hears the same, whatever the order, and draws the same conclusion ([`Crossings`]).
//! **Side condition**: a log with more than [`MOST_TURNS`] crossing turns is not split. The memory
//! for all of them would otherwise have no limit, and with so many two will meet.

use seriatim_history::{Problem, Time, Value};
use seriatim_scale::ScaleError;
use seriatim_scale::record::{Damaged, put_number, put_value, take_number, take_value};
use seriatim_scale::sort::Sorter;
use seriatim_scale::split::PartHash;
use seriatim_scale::turns::{Step, Touches};
use std::collections::{HashMap, HashSet};

/// How many crossing turns are remembered.
const MOST_TURNS: usize = 1 << 20;

/// The processes of a share, each on its way.
#[derive(Default)]
pub struct Walks(HashMap<Value, Walk>);

/// The way of a process through a share.
struct Walk {
    last: Step,
    since: Time,
    until: Time,
    is_in_order: bool,
}

/// When an operation ends, as far as its process is concerned.
fn end(step: Step) -> Time {
    step.ret.unwrap_or(step.call)
}

impl Walks {
    /// Takes the next operation of a process; tells whether it comes by a crossing turn.
    pub fn take(&mut self, caller: &Value, next: Step) -> Result<bool, Problem> {
        let Some(walk) = self.0.get_mut(caller) else {
            let walk = Walk { last: next, since: next.call, until: end(next), is_in_order: true };
            self.0.insert(caller.clone(), walk);
            return Ok(false);
        };
        walk.is_in_order &= next.call > walk.last.call;
        walk.since = walk.since.min(next.call);
        walk.until = walk.until.max(end(next));
        match walk.is_in_order {
            true => follow(&mut walk.last, caller, next),
            false => Ok(false),
        }
    }

    /// The span of each process, as bytes.
    pub fn spans(self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (caller, walk) in self.0 {
            put_value(&mut bytes, &caller);
            put_number(&mut bytes, walk.since);
            put_number(&mut bytes, walk.until);
            put_number(&mut bytes, u64::from(walk.is_in_order));
        }
        bytes
    }
}

fn follow(last: &mut Step, caller: &Value, next: Step) -> Result<bool, Problem> {
    let touches = last.follow(next).map_err(|busy| busy.of(caller))?;
    Ok(touches == Touches::OfTwoParts)
}

/// Appends a crossing turn.
pub fn put_turn(out: &mut Vec<u8>, time: Time, caller: &Value) {
    put_number(out, time);
    put_value(out, caller);
}

/// What a worker has heard of the processes of the whole log.
#[derive(Default)]
pub struct Crossings {
    spans: HashMap<Value, Vec<(Time, Time)>>,
    scattered: HashSet<Value>,
    /// Who takes a crossing turn at an instant.
    turns: HashMap<Time, Value>,
    /// Whether two do.
    met: bool,
}

impl Crossings {
    /// Hears of spans.
    pub fn spans(&mut self, mut bytes: &[u8]) -> Result<(), Damaged> {
        while !bytes.is_empty() {
            let caller = take_value(&mut bytes)?;
            let span = (take_number(&mut bytes)?, take_number(&mut bytes)?);
            let is_in_order = take_number(&mut bytes)? == 1;
            let others = self.spans.entry(caller.clone()).or_default();
            let meets = |other: &(Time, Time)| other.0 <= span.1 && span.0 <= other.1;
            if !is_in_order || others.iter().any(meets) {
                self.scattered.insert(caller);
            }
            others.push(span);
        }
        Ok(())
    }

    /// Hears of crossing turns.
    pub fn turns(&mut self, mut bytes: &[u8]) -> Result<(), Damaged> {
        while !bytes.is_empty() && !self.forbid_to_split() {
            let time = take_number(&mut bytes)?;
            let caller = take_value(&mut bytes)?;
            let first = self.turns.entry(time).or_insert_with(|| caller.clone());
            self.met |= *first != caller;
        }
        Ok(())
    }

    /// The processes whose turns nobody can have seen all of. Their spans are not needed any more.
    pub fn scattered(&mut self) -> HashSet<Value> {
        self.spans = HashMap::new();
        std::mem::take(&mut self.scattered)
    }

    /// Whether the log must not be split.
    pub fn forbid_to_split(&self) -> bool {
        self.met || self.turns.len() > MOST_TURNS
    }
}

/// An operation of a scattered process, on its way to who follows the process.
pub fn put_step(out: &mut Vec<u8>, caller: &Value, file: u32, step: Step) {
    put_number(out, step.call);
    put_number(out, step.ret.map_or(0, |ret| ret - step.call + 1));
    put_number(out, u64::from(file));
    put_number(out, step.line);
    put_number(out, u64::from(step.part.is_some()));
    put_number(out, step.part.map_or(0, |part| part.0));
    put_value(out, caller);
}

/// A step that was read back, with its file.
fn take_step(bytes: &mut &[u8]) -> Result<(Value, u32, Step), Damaged> {
    let call = take_number(bytes)?;
    let ret = take_number(bytes)?.checked_sub(1);
    let ret = ret.map(|span| call.checked_add(span).ok_or(Damaged)).transpose()?;
    let file = u32::try_from(take_number(bytes)?).map_err(|_| Damaged)?;
    let line = take_number(bytes)?;
    let (has_part, part) = (take_number(bytes)? == 1, take_number(bytes)?);
    let part = has_part.then_some(PartHash(part));
    Ok((take_value(bytes)?, file, Step { call, ret, line, part }))
}

/// The scattered processes that one worker follows.
pub struct Steps {
    sorter: Sorter,
    last: HashMap<Value, Step>,
    /// The crossing turns that were seen, as bytes.
    pub turns: Vec<u8>,
    /// What is wrong with operations of a file and a line.
    pub problems: Vec<(u32, u64, Problem)>,
}

impl Steps {
    /// Nobody is followed yet; steps wait in this.
    pub fn new(sorter: Sorter) -> Self {
        Steps { sorter, last: HashMap::new(), turns: Vec::new(), problems: Vec::new() }
    }

    /// Takes steps as they arrive.
    pub fn take(&mut self, mut bytes: &[u8]) -> Result<Result<(), ScaleError>, Damaged> {
        while !bytes.is_empty() {
            let start = bytes;
            let (_, _, step) = take_step(&mut bytes)?;
            let taken = &start[..start.len() - bytes.len()];
            if let Err(error) = self.sorter.push(step.call, taken) {
                return Ok(Err(error));
            }
        }
        Ok(Ok(()))
    }

    /// Follows all processes, when all steps have arrived.
    pub fn follow(&mut self, empty: Sorter) -> Result<(), ScaleError> {
        let sorter = std::mem::replace(&mut self.sorter, empty);
        let mut together: Vec<(Value, u32, Step)> = Vec::new();
        sorter.each(|call, mut bytes| {
            let step = take_step(&mut bytes).expect("the bytes are what was put there");
            if together.first().is_some_and(|(.., first)| first.call != call) {
                self.follow_instant(&mut together);
            }
            together.push(step);
            Ok(())
        })?;
        self.follow_instant(&mut together);
        Ok(())
    }

    /// Follows what is called at one instant: what takes no time first, then as lines come.
    fn follow_instant(&mut self, together: &mut Vec<(Value, u32, Step)>) {
        together.sort_by_key(|&(_, file, step)| (end(step), file, step.line));
        for (caller, file, next) in together.drain(..) {
            let Some(last) = self.last.get_mut(&caller) else {
                self.last.insert(caller, next);
                continue;
            };
            match follow(last, &caller, next) {
                Ok(true) => put_turn(&mut self.turns, next.call, &caller),
                Ok(false) => {}
                Err(problem) => self.problems.push((file, next.line, problem)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seriatim_scale::spill::Scratch;

    fn step(call: Time, ret: Time, part: u64) -> Step {
        Step { call, ret: Some(ret), line: call, part: (part > 0).then_some(PartHash(part)) }
    }

    fn sorter() -> Sorter {
        Sorter::new(&Scratch::new(std::env::temp_dir()), 0)
    }

    /// Whether shares of operations `(process, call, return, part)` forbid to split, by all three
    /// steps.
    fn forbid(shares: &[&[(i64, Time, Time, u64)]]) -> bool {
        let mut crossings = Crossings::default();
        for share in shares {
            let (mut walks, mut turns) = (Walks::default(), Vec::new());
            for &(process, call, ret, part) in *share {
                let caller = Value::Int(process);
                if walks.take(&caller, step(call, ret, part)).unwrap() {
                    put_turn(&mut turns, call, &caller);
                }
            }
            crossings.turns(&turns).unwrap();
            crossings.spans(&walks.spans()).unwrap();
        }
        let scattered = crossings.scattered();
        let mut steps = Steps::new(sorter());
        for &(process, call, ret, part) in shares.iter().flat_map(|share| share.iter()) {
            let caller = Value::Int(process);
            if scattered.contains(&caller) {
                let mut bytes = Vec::new();
                put_step(&mut bytes, &caller, 0, step(call, ret, part));
                steps.take(&bytes).unwrap().unwrap();
            }
        }
        steps.follow(sorter()).unwrap();
        assert_eq!(steps.problems, []);
        crossings.turns(&steps.turns).unwrap();
        crossings.forbid_to_split()
    }

    #[test]
    fn turns_are_seen_however_operations_are_shared_out() {
        // At instant 2 both processes cross; the fifth operation crosses alone, and later.
        let all = [(0, 1, 2, 7), (0, 2, 3, 8), (1, 1, 2, 8), (1, 2, 3, 7), (1, 3, 4, 9)];
        for choice in 0..3u32.pow(5) {
            let mut shares = [const { Vec::new() }; 3];
            for (place, operation) in all.into_iter().enumerate() {
                shares[(choice / 3u32.pow(place as u32) % 3) as usize].push(operation);
            }
            let without: Vec<Vec<_>> = shares
                .iter()
                .map(|share| share.iter().copied().filter(|op| *op != all[1]).collect())
                .collect();
            assert!(forbid(&shares.each_ref().map(|share| &share[..])), "{shares:?}");
            let without: Vec<&[_]> = without.iter().map(|share| &share[..]).collect();
            assert!(!forbid(&without), "{without:?}");
        }
    }
}
