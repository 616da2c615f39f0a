//! Growing bounds until the time is up: small bounds first, where bugs show soonest, then larger
//! ones.
//!
//! Data grow until there is one more of them than threads, then the threads: so the largest bounds
//! that were covered are balanced. The answer is a violation as soon as a round finds one;
//! otherwise it lists what was covered.

use crate::expectation::expectations;
use crate::options::{Limits, Options};
use crate::outcome::{Outcome, Statistics, Verdict};
use crate::{configurations::MAX_THREADS, run_with};
use seriatim_lang::types::Type;
use seriatim_lang::{Diagnostic, Program};
use seriatim_limits::Instant;
use std::time::Duration;

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

/// Explores larger and larger bounds for so long, from those given on; `progress` hears how each
/// round goes.
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

/// Makes the bounds larger: the data first, then the threads, unless a client fixes their number.
/// `false` if there is nothing to raise.
pub fn raise(program: &Program, options: &mut Options) -> bool {
    let threads = options.threads;
    let may_add_threads = takes_more_threads(program, options) && threads < MAX_THREADS as u32;
    let enough = |data: u32| data > threads && may_add_threads || data >= MOST_DATA;
    match &mut options.capacity {
        Some(capacity) if !enough(*capacity) => *capacity += 1,
        None if uses_keys(program) && !enough(options.keys) => options.keys += 1,
        _ if may_add_threads => options.threads += 1,
        _ => return false,
    }
    true
}

/// Whether there can be any number of threads: there is no client, or it has a role for all that
/// remain and the file does not say itself with how many threads that client is meant (Peterson's
/// lock is for two).
pub(crate) fn takes_more_threads(program: &Program, options: &Options) -> bool {
    let Some(name) = &options.client else { return true };
    let is_this = |client: &Option<String>| client.as_ref() == Some(name);
    if expectations(program).iter().any(|expected| is_this(&expected.options.client)) {
        return false;
    }
    let client = program.clients.iter().find(|client| client.name == *name);
    client.is_some_and(|client| client.roles.iter().any(|role| role.count.is_none()))
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

    #[test]
    fn a_client_with_a_role_for_all_others_takes_more_threads() {
        let source = "object o : counter\nvar n: int = 0\nmethod read() -> int { return n }\n\
            client fixed { thread a { read() } }\nclient open { thread a * rest { read() } }";
        let program = seriatim_lang::check(source).expect("the program is right");
        let expecting = format!("{source}\nexpect explore(threads: 2, client: open) holds");
        let expecting = seriatim_lang::check(&expecting).expect("the program is right");
        let open = Some("open".to_owned());
        assert!(!raise(&expecting, &mut Options { client: open, ..Options::default() }));
        for (client, grown) in [("fixed", None), ("open", Some(3))] {
            let mut options = Options { client: Some(client.to_owned()), ..Options::default() };
            assert_eq!(raise(&program, &mut options).then_some(options.threads), grown);
        }
    }
}
