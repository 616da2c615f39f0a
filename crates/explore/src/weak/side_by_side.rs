//! The same question about many things, several at once.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The answers to `ask` about all things, in their order; at most `jobs` are asked at once.
pub fn side_by_side<T: Sync, A: Send>(
    jobs: usize,
    things: &[T],
    ask: impl Fn(&T) -> A + Sync,
) -> Vec<A> {
    let next = AtomicUsize::new(0);
    let answers: Mutex<Vec<(usize, A)>> = Mutex::new(vec![]);
    let work = || {
        while let at = next.fetch_add(1, Ordering::Relaxed)
            && let Some(thing) = things.get(at)
        {
            let answer = ask(thing);
            answers.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((at, answer));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..jobs.min(things.len()) {
            scope.spawn(work);
        }
        work();
    });
    let mut answers = answers.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    answers.sort_by_key(|(at, _)| *at);
    answers.into_iter().map(|(_, answer)| answer).collect()
}
