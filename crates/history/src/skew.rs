//! Clocks that differ: intervals that are widened by as much as the clocks may be apart.
//!
//! If no clock is off by more than δ from the true time, an operation recorded from `a` to `b`
//! happened within `[a - δ, b + δ]`. Precedence between widened intervals is precedence in truth:
//! what is refuted with it is wrong. Operations of one process that are less than 2δ apart overlap
//! then, although one clock timed both; so the order of a process is not kept, and an acceptance
//! says less than it would with one clock. It would be unsound to keep the names of the processes
//! as an order beside the widened times: engines take the stamps for all there is.

use crate::{Column, History, OpId, Time};

impl History {
    /// Widens every operation by so many units of time on both sides. The times that the source
    /// recorded count: in a log of events the order of the lines is no evidence any more. `false`,
    /// and nothing is done, if it recorded none.
    ///
    /// ```
    /// let mut history = seriatim_history::read_str(
    ///     "# stack\npush 1 10 12\npop 1 14 16\n",
    /// )?;
    /// assert!(history.widen(1));
    /// let second = history.operations().nth(1).unwrap();
    /// assert_eq!((second.call(), second.ret()), (13, Some(17)));
    /// # Ok::<(), seriatim_history::InputError>(())
    /// ```
    pub fn widen(&mut self, by: Time) -> bool {
        if !self.has_times() {
            return false;
        }
        let times = |op: OpId| {
            let call = self.display_time(self.call(op)).saturating_sub(by);
            let ret = self.ret(op).map(|ret| self.display_time(ret).saturating_add(by));
            (call, ret.map(|ret| ret.min(Time::MAX - 1)))
        };
        let mut rows: Vec<(Time, Option<Time>)> =
            (0..self.len()).map(OpId::from).map(times).collect();
        let mut order: Vec<u32> = (0..rows.len() as u32).collect();
        order.sort_by_key(|&op| rows[op as usize].0);
        for annotation in &mut self.annotations {
            let shown = |stamp| match usize::try_from(stamp) {
                Ok(index) if index < self.clock.len() => self.clock.get(index),
                _ => stamp,
            };
            (annotation.start, annotation.end) = (shown(annotation.start), shown(annotation.end));
        }
        self.permute(&order);
        rows = order.iter().map(|&op| rows[op as usize]).collect();
        self.call = rows.iter().map(|&(call, _)| call).collect();
        self.span = rows
            .iter()
            .map(|&(call, ret)| ret.map_or(0, |ret| (ret - call).saturating_add(1)))
            .collect();
        self.clock = Column::default();
        self.is_event_log = false;
        self.open_ties = false;
        self.is_loose = true;
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::read_str;

    #[test]
    fn a_log_of_events_is_widened_by_its_times_and_refused_without_any() {
        let timed = "{\"process\":0,\"type\":\"call\",\"op\":\"w\",\"time\":5}\n\
                     {\"process\":0,\"type\":\"return\",\"time\":7}\n\
                     {\"process\":1,\"type\":\"call\",\"op\":\"r\",\"time\":8}\n\
                     {\"process\":1,\"type\":\"return\",\"time\":9}\n";
        let mut history = read_str(timed).unwrap();
        let ops: Vec<_> = history.operations().collect();
        assert!(ops[0].precedes(&ops[1]));
        assert!(history.widen(1));
        let ops: Vec<_> = history.operations().collect();
        assert!(!ops[0].precedes(&ops[1]) && ops[0].call() == 4 && ops[1].ret() == Some(10));
        let mut untimed = read_str(
            &timed
                .replace(",\"time\":5", "")
                .replace(",\"time\":7", "")
                .replace(",\"time\":8", "")
                .replace(",\"time\":9", ""),
        )
        .unwrap();
        assert!(!untimed.widen(1));
    }

    #[test]
    fn operations_are_sorted_again_when_calls_meet_at_zero() {
        let text = "{\"process\":0,\"op\":\"w\",\"arg\":1,\"call\":3,\"return\":4}\n\
                    {\"process\":1,\"op\":\"w\",\"arg\":2,\"call\":1,\"return\":9}\n";
        let mut history = read_str(text).unwrap();
        assert!(history.widen(2));
        let seen: Vec<_> = history.operations().map(|op| (op.call(), op.ret())).collect();
        assert_eq!(seen, [(0, Some(11)), (1, Some(6))]);
    }
}
