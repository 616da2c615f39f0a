//! A builder that tells a listener of what it reads instead of keeping it.
//!
//! What is kept are the operations that are open, the values that they name, and their processes.
//! The values and the processes of a log may be many: those that the listener does not need are
//! forgotten from time to time, so that memory follows what is open and what the listener keeps,
//! and not the length of the log. A process that does nothing can be forgotten because events come
//! in their order: whatever it does next comes after all that it did.

use super::Builder;
use crate::batch::Plain;
use crate::live::{Forgets, Header, LiveCall, LiveOperation, LiveReturn};
use crate::{
    Call, History, InputError, Interval, OpId, Outcome, Problem, ProcessId, Return, ValueId,
};
use std::ops::ControlFlow;

/// How many interned values a builder that tells a forgetful listener keeps at least.
pub(super) const MOST_VALUES: usize = 100_000;
/// How many processes it keeps at least.
pub(super) const MOST_PROCESSES: usize = 10_000;

impl Builder {
    pub(super) fn tell_call(&mut self, op: OpId, line: u64, call: Call) -> Result<(), InputError> {
        let Some(listening) = &mut self.listening else { return Ok(()) };
        let process = self.history.process(op);
        let caller = self.history.process_name(process);
        let method = self.history.method_name(call.method);
        let (values, conventions) = (&self.values, self.history.conventions);
        let told = LiveCall { op, line, process, caller, method, call, values, conventions };
        let flow = listening.listener.call(told);
        self.heard(line, flow)
    }

    pub(super) fn tell_return(
        &mut self,
        op: OpId,
        line: u64,
        ret: Return,
    ) -> Result<(), InputError> {
        if self.listening.is_none() {
            return Ok(());
        }
        let call = self.call_of(op);
        let Some(listening) = &mut self.listening else { return Ok(()) };
        let forgets = listening.listener.forgets();
        if ret.outcome != Outcome::Pending || forgets == Forgets::ValuesAndOperations {
            listening.free.push(op);
            self.ids.remove(&ret.id);
        }
        let (method, values) = (self.history.method_name(call.method), &self.values);
        let flow = listening.listener.ret(LiveReturn { op, line, method, call, ret, values });
        self.heard(line, flow)
    }

    /// Tells a listener of a whole operation. Nothing of it is kept.
    pub(super) fn tell_operation(
        &mut self,
        line: u64,
        process: Option<ProcessId>,
        call: Call,
        interval: Interval,
        ret: Return,
    ) -> Result<OpId, InputError> {
        let Some(listening) = &mut self.listening else { return Ok(OpId(0)) };
        let caller = process.map(|process| self.history.process_name(process));
        let (method, values) = (self.history.method_name(call.method), &self.values);
        let told = LiveOperation { line, caller, method, call, interval, ret, values };
        match listening.listener.operation(told) {
            None => Err(self.error(line, Problem::NotAnEvent)),
            Some(flow) => self.heard(line, flow).map(|()| OpId(0)),
        }
    }

    /// Tells a listener of a plain operation.
    #[cold]
    pub(super) fn tell_plain(&mut self, plain: Plain) -> Result<(), InputError> {
        let call = Call::new(plain.method).arg(plain.arg);
        let interval = Interval { call: plain.call, ret: Some(plain.ret) };
        let ret = Return::new(Outcome::Ok, plain.result);
        self.tell_operation(plain.line, None, call, interval, ret).map(|_| ())
    }

    /// What the source said of itself so far.
    pub fn header(self) -> Header {
        let History { spec, conventions, timescale, remarks, .. } = self.history;
        Header { spec, conventions, timescale, remarks }
    }

    /// Says that the ids of values which the reader has at hand will not be used again. A builder
    /// that tells a forgetful listener then drops the values that nothing names any more, so that
    /// its memory follows what is open and not the length of the log.
    #[inline]
    pub fn between_records(&mut self) {
        // Processes first: a forgotten one no longer keeps its name among the values.
        if self.processes.len() > self.most_processes {
            self.forget_processes();
        }
        if self.values.interned() > self.most_values {
            self.forget_values();
        }
    }

    /// Forgets the processes of which nothing is open or pending.
    #[cold]
    fn forget_processes(&mut self) {
        let Some(listening) = self.listening.as_mut() else {
            self.most_processes = usize::MAX;
            return;
        };
        if listening.listener.forgets() == Forgets::Nothing {
            self.most_processes = usize::MAX;
            return;
        }
        let mut is_busy = vec![false; self.open.len()];
        let mut is_over = vec![false; self.history.len()];
        listening.free.iter().for_each(|op| is_over[op.index()] = true);
        for op in (0..self.history.len()).filter(|&op| !is_over[op]) {
            is_busy[self.history.process(OpId::from(op)).index()] = true;
        }
        self.processes.retain(|_, process| {
            let stays = is_busy[process.index()];
            if !stays {
                listening.free_processes.push(*process);
            }
            stays
        });
        self.small_processes.clear();
        self.most_processes = MOST_PROCESSES.max(2 * self.processes.len());
    }

    #[cold]
    fn forget_values(&mut self) {
        let Some(listening) = self.listening.as_mut() else {
            self.most_values = usize::MAX;
            return;
        };
        if listening.listener.forgets() == Forgets::Nothing {
            self.most_values = usize::MAX;
            return;
        }
        let old = std::mem::take(&mut self.values);
        let values = &mut self.values;
        let mut keep = |id: ValueId| match id {
            ValueId::ABSENT => id,
            id => values.intern(&old.get(id)),
        };
        for op in self.open.iter().filter_map(|open| open.checked_sub(1)) {
            let columns = [&mut self.history.object, &mut self.history.key, &mut self.history.arg];
            for column in columns {
                let id = keep(ValueId(column.get(op as usize) as u32));
                column.set(op as usize, u64::from(id.0));
            }
        }
        self.processes = self.processes.drain().map(|(name, id)| (keep(name), id)).collect();
        self.ids = self.ids.drain().map(|(id, op)| (keep(id), op)).collect();
        listening.listener.rename(&mut keep);
        self.most_values = MOST_VALUES.max(2 * self.values.interned());
    }

    fn heard(&self, line: u64, flow: ControlFlow<()>) -> Result<(), InputError> {
        match flow {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(self.error(line, Problem::Halted)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::{Listener, listen};
    use crate::{ReadOptions, Value, Values};
    use std::cell::RefCell;
    use std::rc::Rc;

    /// Keeps the last values that were told, by id and as they are.
    #[derive(Default)]
    struct Last {
        ids: Vec<(ValueId, Value)>,
        renamed: usize,
        most: usize,
    }

    impl Last {
        fn check(&self, values: &Values) {
            assert!(self.ids.iter().all(|(id, value)| values.get(*id) == *value));
        }
    }

    struct LastHeard(Rc<RefCell<Last>>);

    impl Listener for LastHeard {
        fn call(&mut self, call: LiveCall<'_>) -> ControlFlow<()> {
            let last = &mut *self.0.borrow_mut();
            last.most = last.most.max(call.values.interned());
            let value = call.values.get(call.call.arg);
            last.ids.push((call.call.arg, value));
            let kept = last.ids.len().min(10);
            last.ids.rotate_right(kept);
            last.ids.truncate(10);
            last.check(call.values);
            ControlFlow::Continue(())
        }

        fn ret(&mut self, ret: LiveReturn<'_>) -> ControlFlow<()> {
            self.0.borrow().check(ret.values);
            ControlFlow::Continue(())
        }

        fn forgets(&self) -> Forgets {
            Forgets::Values
        }

        fn rename(&mut self, new_id: &mut dyn FnMut(ValueId) -> ValueId) {
            let last = &mut *self.0.borrow_mut();
            last.renamed += 1;
            last.ids.iter_mut().for_each(|(id, _)| *id = new_id(*id));
        }
    }

    #[test]
    fn values_that_nobody_knows_are_forgotten_and_the_others_stay() {
        let line = |number: usize| {
            format!(
                "{{\"process\":0,\"type\":\"call\",\"op\":\"enq\",\"arg\":\"text {number}\"}}\n{{\"process\":0,\"type\":\"return\"}}\n"
            )
        };
        let log: String = (0..3 * MOST_VALUES).map(line).collect();
        let last = Rc::new(RefCell::new(Last::default()));
        let listener = Box::new(LastHeard(Rc::clone(&last)));
        listen(log.as_bytes(), "test", ReadOptions::default(), listener).unwrap();
        let last = last.borrow();
        assert!(last.renamed > 1);
        assert!(last.most <= MOST_VALUES + 1);
    }

    /// Remembers how many processes were known at most, and who called first.
    struct Callers(Rc<RefCell<(usize, Option<ProcessId>)>>);

    impl Listener for Callers {
        fn call(&mut self, told: LiveCall<'_>) -> ControlFlow<()> {
            let (most, patient) = &mut *self.0.borrow_mut();
            let patient = *patient.get_or_insert(told.process);
            *most = told.process.index().max(*most);
            // The argument is the name of the caller: nobody is taken for somebody else.
            assert_eq!(told.caller, &told.values.get(told.call.arg));
            assert!(told.process != patient || told.caller == &Value::text("patient"));
            ControlFlow::Continue(())
        }

        fn ret(&mut self, _: LiveReturn<'_>) -> ControlFlow<()> {
            ControlFlow::Continue(())
        }

        fn forgets(&self) -> Forgets {
            Forgets::Values
        }
    }

    #[test]
    fn processes_that_come_and_go_are_forgotten_and_one_that_waits_is_not() {
        let call = |name: &str| {
            format!(
                "{{\"process\":\"{name}\",\"type\":\"call\",\"op\":\"enq\",\"arg\":\"{name}\"}}\n"
            )
        };
        let ret = |name: &str| format!("{{\"process\":\"{name}\",\"type\":\"return\"}}\n");
        let passing = (0..5 * MOST_PROCESSES).map(|number| format!("p{number}"));
        let passing: String = passing.map(|name| call(&name) + &ret(&name)).collect();
        let log = call("patient") + &passing + &ret("patient");
        let heard = Rc::new(RefCell::new((0, None)));
        let listener = Box::new(Callers(Rc::clone(&heard)));
        listen(log.as_bytes(), "test", ReadOptions::default(), listener).unwrap();
        assert!(heard.borrow().0 <= MOST_PROCESSES + 1);
        let again = call("patient") + &passing + &call("patient");
        let listener = Box::new(Callers(Rc::default()));
        let busy = listen(again.as_bytes(), "test", ReadOptions::default(), listener);
        assert!(busy.unwrap_err().to_string().contains("patient"));
    }
}
