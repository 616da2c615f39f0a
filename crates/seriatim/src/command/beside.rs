//! Several logs at the same time, told in the order in which they were named.
//!
//! Each log is answered as if it were alone, and what is printed does not depend on the number of
//! threads. Only limits are shared: time is the same for all, but memory that one log takes is
//! missing for another. So a log that ran out of it beside others is answered once more, alone.

use super::Failure;
use seriatim::limits::{Reason, Stopped, forget_memory, stop};
use std::collections::HashMap;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// How many answers for each worker may wait to be told.
const AHEAD: usize = 4;
/// The stack of a worker: that of the main thread, so that nothing fits into one and not the other.
const STACK: usize = 8 << 20;

/// What became of a log.
pub type Answer<T> = Result<T, Stopped>;

/// How a log is answered, by its place.
pub struct Work<B, A, W> {
    /// Answers beside others; nothing if there was not enough memory.
    pub beside: B,
    /// Answers alone.
    pub alone: A,
    /// Hears what is waited for.
    pub awaited: W,
}

/// Answers so many logs with some workers, and tells the answers in order.
pub fn answer<T: Send>(
    logs: usize,
    workers: NonZero<usize>,
    work: &Work<
        impl Fn(usize) -> Option<Answer<T>> + Sync,
        impl Fn(usize) -> Answer<T>,
        impl Fn(usize),
    >,
    mut tell: impl FnMut(usize, Answer<T>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let desk =
        Desk { logs, ahead: AHEAD * workers.get(), state: Mutex::default(), news: Condvar::new() };
    let (desk, beside) = (&desk, &work.beside);
    thread::scope(|scope| {
        let hired = (0..workers.get()).map(|_| {
            let worker = thread::Builder::new().name("check".to_owned()).stack_size(STACK);
            worker.spawn_scoped(scope, move || desk.work(beside)).is_ok()
        });
        let hired = hired.filter(|&is_hired| is_hired).count();
        // However this ends, the workers are not left waiting.
        let _closing = Closing(desk);
        for place in 0..logs {
            (work.awaited)(place);
            let answer = match (hired > 0).then(|| desk.take(place)).flatten() {
                Some(answer) => answer,
                None => {
                    let answer = (work.alone)(place);
                    desk.go_on();
                    answer
                }
            };
            if let Err(failure) = tell(place, answer) {
                // Nobody hears any more answers: there is nothing to go on for.
                stop(Reason::Interrupted);
                return Err(failure);
            }
        }
        Ok(())
    })
}

/// Closes the desk in the end.
struct Closing<'d, T>(&'d Desk<T>);

impl<T> Drop for Closing<'_, T> {
    fn drop(&mut self) {
        self.0.state().next = self.0.logs;
        self.0.news.notify_all();
    }
}

/// Where workers take logs and leave answers.
struct Desk<T> {
    logs: usize,
    ahead: usize,
    state: Mutex<State<T>>,
    news: Condvar,
}

struct State<T> {
    /// The first log that nobody has taken.
    next: usize,
    /// How many answers were told.
    told: usize,
    /// How many logs are being answered.
    busy: usize,
    /// What is known, by place; nothing if it has to be answered alone.
    known: HashMap<usize, thread::Result<Option<Answer<T>>>>,
    /// No log is taken meanwhile: one is answered alone.
    is_held: bool,
}

impl<T> Default for State<T> {
    fn default() -> Self {
        State { next: 0, told: 0, busy: 0, known: HashMap::new(), is_held: false }
    }
}

impl<T> Desk<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State<T>>) -> MutexGuard<'s, State<T>> {
        self.news.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// What a worker does.
    fn work(&self, answer: impl Fn(usize) -> Option<Answer<T>>) {
        loop {
            let mut state = self.state();
            while state.next < self.logs && (state.is_held || state.next >= state.told + self.ahead)
            {
                state = self.wait(state);
            }
            if state.next >= self.logs {
                return;
            }
            let place = state.next;
            (state.next, state.busy) = (place + 1, state.busy + 1);
            drop(state);
            let answered = catch_unwind(AssertUnwindSafe(|| answer(place)));
            let mut state = self.state();
            // Whoever runs out of memory holds up the others until there is some again.
            state.is_held |= matches!(answered, Ok(None));
            state.known.insert(place, answered);
            state.busy -= 1;
            self.news.notify_all();
        }
    }

    /// The answer to a log, once it is there; none if it has to be answered alone, and then nobody
    /// is at work.
    fn take(&self, place: usize) -> Option<Answer<T>> {
        let mut state = self.state();
        let answered = loop {
            if let Some(answered) = state.known.remove(&place) {
                break answered;
            }
            if state.is_held && state.busy == 0 && state.next <= place {
                break Ok(None);
            }
            state = self.wait(state);
        };
        state.told = place + 1;
        self.news.notify_all();
        while matches!(answered, Ok(None)) && state.busy > 0 {
            state = self.wait(state);
        }
        drop(state);
        answered.unwrap_or_else(|panic| resume_unwind(panic))
    }

    /// Logs are taken again, with all the memory that there is.
    fn go_on(&self) {
        forget_memory();
        self.state().is_held = false;
        self.news.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    /// What is told of so many logs, of which some do not fit in memory beside others.
    fn told(logs: usize, workers: usize) -> Vec<(usize, usize)> {
        let busy = AtomicUsize::new(0);
        let alone = RefCell::new(Vec::new());
        let work = Work {
            beside: |place: usize| {
                busy.fetch_add(1, Ordering::SeqCst);
                thread::sleep(Duration::from_micros(300 * (place as u64 * 7 % 5)));
                busy.fetch_sub(1, Ordering::SeqCst);
                (place % 7 != 3).then_some(Ok(10 * place))
            },
            alone: |place: usize| {
                assert_eq!(busy.load(Ordering::SeqCst), 0, "{place} is not alone");
                alone.borrow_mut().push(place);
                Ok(10 * place)
            },
            awaited: |_| {},
        };
        let mut told = Vec::new();
        let workers = NonZero::new(workers).unwrap();
        let answered = answer(logs, workers, &work, |place, answer| {
            told.push((place, answer.unwrap()));
            Ok(())
        });
        assert!(answered.is_ok());
        let starved = |place: &usize| place % 7 == 3;
        assert!((0..logs).filter(starved).all(|place| alone.borrow().contains(&place)));
        told
    }

    #[test]
    fn answers_are_told_in_order_and_who_has_no_memory_is_asked_alone() {
        let expected: Vec<_> = (0..50).map(|place| (place, 10 * place)).collect();
        for workers in [1, 2, 3, 8] {
            assert_eq!(told(50, workers), expected, "{workers} workers");
        }
        assert_eq!(told(0, 2), []);
    }

    #[test]
    fn a_panic_of_a_worker_is_one_of_the_caller() {
        let work = Work {
            beside: |place: usize| match place {
                5 => resume_unwind(Box::new("on purpose")),
                place => Some(Ok(place)),
            },
            alone: Ok,
            awaited: |_| {},
        };
        let mut told = 0;
        let panic = catch_unwind(AssertUnwindSafe(|| {
            answer(40, NonZero::new(3).unwrap(), &work, |_, _| {
                told += 1;
                Ok(())
            })
        }));
        assert_eq!(
            panic.err().and_then(|panic| panic.downcast::<&str>().ok()),
            Some(Box::new("on purpose"))
        );
        assert_eq!(told, 5);
    }
}
