//! Processes that go on after an operation whose outcome nobody knows.
//!
//! Such an operation may still take effect while its process does other things, so those are not
//! its successors: whoever goes on is a new process. Jepsen gives it a new number; most recorders
//! do not, and then a history looks as if its process did two things at once. Where it matters who
//! somebody is (the owner of a mutex, a receiver), the two are one: [`History::caller`].

use crate::{History, OpId, Outcome, ProcessId, Value};

impl History {
    /// Gives every process that goes on after a pending operation a new name: `3`, then `3 (2)`, `3
    /// (3)`. Returns how many new names there are.
    ///
    /// ```
    /// let mut history = seriatim_history::read_str(
    ///     "{\"process\":3,\"op\":\"write\",\"arg\":1,\"call\":1}\n\
    ///      {\"process\":3,\"op\":\"read\",\"result\":1,\"call\":5,\"return\":6}\n",
    /// )?;
    /// assert_eq!(history.name_successors(), 1);
    /// let names: Vec<String> =
    ///     history.operations().map(|op| history.process_name(op.process()).to_string()).collect();
    /// assert_eq!(names, ["3", "3 (2)"]);
    /// # Ok::<(), seriatim_history::InputError>(())
    /// ```
    pub fn name_successors(&mut self) -> usize {
        if !self.names_processes() || self.span.zeros() == 0 {
            return 0;
        }
        let known = self.process_names.len();
        // Of each process: who it is now, how often it went on, and whether its last operation is
        // pending.
        let mut now: Vec<(ProcessId, usize, bool)> =
            (0..known).map(|process| (ProcessId::from(process), 1, false)).collect();
        for op in (0..self.len()).map(OpId::from) {
            let process = self.process(op).index();
            let (current, times, is_open) = &mut now[process];
            if *is_open {
                *times += 1;
                *current = ProcessId::from(self.process_names.len());
                let name = match &self.process_names[process] {
                    Value::Text(name) => format!("{name} ({times})"),
                    name => format!("{name} ({times})"),
                };
                self.process_names.push(Value::Name(name.into()));
                let process = ProcessId::from(process);
                let caller = self.went_on.get(&process).copied().unwrap_or(process);
                self.went_on.insert(*current, caller);
            }
            *is_open = self.outcome(op) == Outcome::Pending;
            let current = *current;
            self.process.set(op.index(), u64::from(current.0));
        }
        self.process_names.len() - known
    }
}
