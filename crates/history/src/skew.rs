//! Clocks that differ: intervals that are widened by as much as the clocks may be apart.
//!
//! If no clock is off by more than δ from the true time, an operation recorded from `a` to `b`
//! happened within `[a - δ, b + δ]`. Precedence between widened intervals is precedence in truth:
//! what is refuted with it is wrong. Operations of one process that are less than 2δ apart overlap
//! then, although one clock timed both: the stamps say less than is known. They cannot say more. Two
//! processes with two operations each, all within 2δ, are two chains of which nothing else is known,
//! and no four intervals have that order. So the order of each process is asked for beside the
//! stamps, by those who can (`seriatim-monitor`, `weaker`); the engines take the stamps for all there
//! is, and what they accept is asked again.

use crate::{Column, History, OpId, Time};
use seriatim_limits::InOrder;

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
        self.keeps_turns = self.takes_turns();
        let times = |op: OpId| {
            let call = self.display_time(self.call(op)).saturating_sub(by);
            let ret = self.ret(op).map(|ret| self.display_time(ret).saturating_add(by));
            (call, ret.map(|ret| ret.min(Time::MAX - 1)))
        };
        let mut rows: Vec<(Time, Option<Time>)> =
            (0..self.len()).map(OpId::from).map(times).collect();
        let mut order: Vec<u32> = (0..rows.len() as u32).collect();
        order.put_in_order_by_key(|&op| rows[op as usize].0);
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

    /// Whether a widened history's processes did one thing after another on their own clocks: then
    /// the completed operations of each happened in the order of their numbers, although their
    /// intervals overlap.
    pub fn keeps_turns(&self) -> bool {
        self.keeps_turns
    }

    /// Whether every process of the source did one thing after another.
    fn takes_turns(&self) -> bool {
        if !self.names_processes() || self.open_ties {
            return false;
        }
        let mut free: Vec<Time> = vec![0; self.process_count()];
        let mut last = 0;
        (0..self.len()).map(OpId::from).all(|op| {
            let (call, free) =
                (self.display_time(self.call(op)), &mut free[self.process(op).index()]);
            let is_in_turn = *free <= call && last <= call;
            last = call;
            *free = self.ret(op).map_or(*free, |ret| self.display_time(ret));
            is_in_turn
        })
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
    fn processes_keep_their_turns_unless_one_did_two_things_at_once() {
        let line = |process: u32, call: u32, ret: u32| {
            format!("{{\"process\":{process},\"op\":\"w\",\"call\":{call},\"return\":{ret}}}\n")
        };
        for (second, keeps) in [((0, 6, 9), true), ((0, 5, 9), true), ((1, 4, 9), true)] {
            let mut history =
                read_str(&[line(0, 1, 5), line(second.0, second.1, second.2)].concat()).unwrap();
            assert!(!history.keeps_turns());
            assert!(history.widen(2));
            assert_eq!(history.keeps_turns(), keeps, "{second:?}");
        }
        let two_at_once = "# stack\npush 1 1 5\npush 2 4 9\n";
        let mut anonymous = read_str(two_at_once).unwrap();
        assert!(anonymous.widen(2) && !anonymous.keeps_turns(), "nobody knows the processes");
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
