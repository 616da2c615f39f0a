//! Growing bounds until the time is up: small bounds first, where bugs show soonest, then larger ones.
//!
//! Data grow until there is one more of them than threads, then the threads: so the largest bounds that were covered are
//! balanced. The answer is a violation as soon as a round finds one; otherwise it lists what was covered.

use crate::options::{Limits, Options};
use crate::outcome::{Outcome, Statistics, Verdict};
use crate::{configurations::MAX_THREADS, run_with};
use seriatim_lang::types::Type;
use seriatim_lang::{Diagnostic, Program};
use std::time::{Duration, Instant};

/// The most data (capacity or keys) that a round asks for.
const MOST_DATA: u32 = 8;

/// What growing bounds covered.
#[derive(Clone, Debug)]
pub struct Growth {
    /// The rounds that were completed, smallest first.
    pub covered: Vec<Outcome>,
    /// The round that found a violation or could not be finished, if there is one.
    pub last: Option<Outcome>,
}

/// Explores larger and larger bounds for so long, from those given on; `progress` hears how each round goes.
pub fn grow(
    program: &Program,
    base: &Options,
    budget: Duration,
    progress: &mut dyn FnMut(&Statistics),
) -> Result<Growth, Diagnostic> {
    let clock = Instant::now();
    let mut growth = Growth { covered: vec![], last: None };
    let mut options = base.clone();
    loop {
        let left = budget.saturating_sub(clock.elapsed());
        options.limits = Limits { time: Some(left), ..options.limits };
        let outcome = run_with(program, &options, progress)?;
        if !matches!(outcome.verdict, Verdict::Holds) {
            growth.last = Some(outcome);
            return Ok(growth);
        }
        growth.covered.push(outcome);
        if !raise(program, &mut options) {
            return Ok(growth);
        }
    }
}

/// Makes the bounds larger: the data first, then the threads, whose number a client fixes. `false` if there is nothing to raise.
pub fn raise(program: &Program, options: &mut Options) -> bool {
    let threads = options.threads;
    let may_add_threads = options.client.is_none() && threads < MAX_THREADS as u32;
    let enough = |data: u32| data > threads && may_add_threads || data >= MOST_DATA;
    match &mut options.capacity {
        Some(capacity) if !enough(*capacity) => *capacity += 1,
        None if uses_keys(program) && !enough(options.keys) => options.keys += 1,
        _ if may_add_threads => options.threads += 1,
        _ => return false,
    }
    true
}

/// Whether a method takes a key.
fn uses_keys(program: &Program) -> bool {
    let params = program.methods.iter().flat_map(|m| &m.params);
    params.into_iter().any(|p| *p.ty.required() == Type::Key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_and_threads_grow_in_turn() {
        let source = "object o : set\nmethod contains(k: key) -> bool { return false }\n\
            method add(k: key) -> bool { return true }\nmethod remove(k: key) -> bool { return false }";
        let program = seriatim_lang::check(source).expect("the program is right");
        let mut options = Options { keys: 1, ..Options::default() };
        let mut sizes = vec![];
        while raise(&program, &mut options) {
            sizes.push((options.threads, options.keys));
        }
        assert_eq!(sizes[..5], [(2, 2), (2, 3), (3, 3), (3, 4), (4, 4)]);
        assert_eq!(sizes.last(), Some(&(6, 8)));
    }
}
