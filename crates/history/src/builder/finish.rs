//! The end of building: operations sorted by call, and those of each process one after another.

use super::Builder;
use crate::{History, InputError, OpId, Problem, ties};
use seriatim_limits::InOrder;
use std::cmp::Ordering;
use std::sync::{Arc, OnceLock};

/// Whether an operation is called at the instant at which the one before it in its process
/// returned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Touching {
    Yes,
    No,
}

impl Builder {
    /// The history, sorted by call.
    pub fn finish(mut self) -> Result<History, InputError> {
        self.batch.flush(&mut self.history);
        if !self.in_call_order {
            self.sort_by_call();
        }
        if self.anonymous {
            self.history.seats = Some(OnceLock::new());
        } else if self.events == 0 {
            self.order_processes()?;
        }
        self.history.is_event_log = self.events > 0;
        self.history.values = Arc::new(self.values);
        Ok(self.history)
    }

    fn sort_by_call(&mut self) {
        let history = &mut self.history;
        let mut order: Vec<u32> = (0..history.len() as u32).collect();
        order.put_in_order_by_key(|&op| history.call.get(op as usize));
        history.permute(&order);
    }

    /// In a log of operations, those of one process come one after another, also within an instant.
    fn order_processes(&mut self) -> Result<(), InputError> {
        let mut touching = self.check_one_at_a_time();
        if touching.is_err() {
            // Lines come in any order: of operations that are called together, one that takes no
            // time is first.
            ties::sort(&mut self.history);
            touching = self.check_one_at_a_time();
        }
        if touching? == Touching::Yes {
            ties::order(&mut self.history);
        }
        Ok(())
    }

    /// In a log of operations, those of one process must not overlap. Whether two touch: one is
    /// called at the instant at which the one before it returned.
    fn check_one_at_a_time(&self) -> Result<Touching, InputError> {
        let history = &self.history;
        let mut last: Vec<Option<OpId>> = vec![None; history.process_count()];
        let mut touching = Touching::No;
        for operation in history.operations() {
            let process = operation.process();
            let before = last[process.index()].replace(operation.id);
            let Some(before) = before.map(|op| history.operation(op)) else {
                continue;
            };
            match before.ret().map(|ret| ret.cmp(&operation.call())) {
                Some(Ordering::Greater) => {
                    let process = history.process_name(process).to_string();
                    let open_since = before.line();
                    let problem = Problem::ProcessBusy { process, open_since };
                    return Err(self.error(operation.line(), problem));
                }
                Some(Ordering::Equal) => touching = Touching::Yes,
                Some(Ordering::Less) | None => {}
            }
        }
        Ok(touching)
    }
}
