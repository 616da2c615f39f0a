//! A builder that tells a listener of what it reads instead of keeping it.
//!
//! What is kept are the operations that are open, and the values that they name. The values of a log may
//! be many: where the listener does not need them they are forgotten from time to time, so that memory
//! follows what is open and not the length of the log.

use super::Builder;
use crate::batch::Plain;
use crate::live::{Heading, LiveCall, LiveOperation, LiveReturn};
use crate::{Call, InputError, Interval, OpId, Outcome, Problem, ProcessId, Return, ValueId};
use std::ops::ControlFlow;

/// How many interned values a builder that tells a forgetful listener keeps at least.
pub(super) const MOST_VALUES: usize = 100_000;

impl Builder {
    pub(super) fn tell_call(&mut self, op: OpId, line: u64, call: Call) -> Result<(), InputError> {
        let Some(listening) = &mut self.listening else { return Ok(()) };
        let process = self.history.process(op);
        let caller = self.history.process_name(process);
        let method = self.history.method_name(call.method);
        let values = &self.values;
        let told = LiveCall { op, line, process, caller, method, call, values };
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
        if ret.outcome != Outcome::Pending || listening.listener.forgets() {
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
    pub(crate) fn heading(self) -> Heading {
        Heading { spec: self.history.spec, nil: self.history.nil }
    }

    /// Says that the ids of values which the reader has at hand will not be used again. A builder that
    /// tells a forgetful listener then drops the values that nothing names any more, so that its memory
    /// follows what is open and not the length of the log.
    #[inline]
    pub(crate) fn between_records(&mut self) {
        if self.values.interned() > self.most_values {
            self.forget_values();
        }
    }

    #[cold]
    fn forget_values(&mut self) {
        let forgets = self.listening.as_ref().is_some_and(|it| it.listener.forgets());
        if !forgets {
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
        self.most_values = MOST_VALUES.max(2 * self.values.interned());
    }

    fn heard(&self, line: u64, flow: ControlFlow<()>) -> Result<(), InputError> {
        match flow {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(self.error(line, Problem::Halted)),
        }
    }
}
