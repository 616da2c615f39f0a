//! When each transaction is taken to have happened.
//!
//! Where real time is demanded: between its call and its return. Where it is only wished for, a
//! wish that cannot come true is not made: a transaction that read w's version of a key, although
//! another writer x was called after w had returned and had itself returned before the reader's
//! call, happened before x if w's version is the earlier one, so its interval reaches back to the
//! return of x. (One stale reader in ten would else cost a conflict each.) A reader that returned
//! before its writer was called reaches forward to that call.
//!
//! No verdict rests on the wider intervals: the edges that come of them are guards.

use crate::level::Demand;
use crate::prepare::Prepared;
use seriatim_history::Time;
use seriatim_limits::InOrder;

/// The interval of every transaction, the initial one included.
pub struct Intervals {
    pub call: Vec<Time>,
    /// `Time::MAX` if it never returned.
    pub ret: Vec<Time>,
}

impl Intervals {
    pub fn new(prepared: &Prepared, demand: Demand) -> Intervals {
        let mut intervals = Intervals {
            call: prepared.txns.iter().map(|txn| txn.call).collect(),
            ret: prepared.txns.iter().map(|txn| txn.ret).collect(),
        };
        if demand != Demand::RealTime {
            intervals.widen(prepared);
        }
        intervals
    }

    fn widen(&mut self, prepared: &Prepared) {
        let known = Known::new(prepared);
        let later = LaterVersions::new(prepared, &known);
        for (reader, info) in prepared.txns.iter().enumerate().skip(1) {
            for &(key, version) in &info.reads {
                let writer = prepared.writer(version) as usize;
                let over = later.first_after(key.index(), known.latest[writer]);
                self.call[reader] = self.call[reader].min(over);
                self.ret[reader] = self.ret[reader].max(prepared.txns[writer].call);
            }
        }
    }

    /// The transactions that returned, in that order.
    pub fn returned(&self) -> Vec<u32> {
        let has_returned = |&txn: &u32| self.ret[txn as usize] < Time::MAX;
        let mut by_return: Vec<u32> = (1..self.ret.len() as u32).filter(has_returned).collect();
        by_return.put_in_order_by_key(|&txn| self.ret[txn as usize]);
        by_return
    }
}

/// Bounds on the moment of each transaction: its own interval, and those of whom it read from and
/// who read from it, and so on.
struct Known {
    earliest: Vec<Time>,
    latest: Vec<Time>,
}

impl Known {
    fn new(prepared: &Prepared) -> Known {
        let mut known = Known {
            earliest: prepared.txns.iter().map(|txn| txn.call).collect(),
            latest: prepared.txns.iter().map(|txn| txn.ret).collect(),
        };
        known.latest[0] = 0;
        let sources = |txn: usize| {
            let reads = prepared.txns[txn].reads.iter();
            reads.map(|&(_, version)| prepared.writer(version) as usize)
        };
        // Most writers stand before their readers: one pass each way finds nearly all.
        for txn in 1..prepared.txns.len() {
            let earliest = sources(txn).map(|writer| known.earliest[writer]).max();
            known.earliest[txn] = known.earliest[txn].max(earliest.unwrap_or(0));
        }
        for txn in (1..prepared.txns.len()).rev() {
            for writer in sources(txn) {
                known.latest[writer] = known.latest[writer].min(known.latest[txn]);
            }
        }
        known
    }
}

/// For each key, when its writers happened at the earliest, in order, each with when that one and
/// all later ones happened at the latest.
struct LaterVersions(Vec<Vec<(Time, Time)>>);

impl LaterVersions {
    fn new(prepared: &Prepared, known: &Known) -> LaterVersions {
        let mut keys = vec![Vec::new(); prepared.key_count()];
        for (txn, info) in prepared.txns.iter().enumerate().skip(1) {
            for &(key, _) in &info.writes {
                keys[key.index()].push((known.earliest[txn], known.latest[txn]));
            }
        }
        for writers in &mut keys {
            writers.put_in_order();
            let mut first = Time::MAX;
            for (_, latest) in writers.iter_mut().rev() {
                first = first.min(*latest);
                *latest = first;
            }
        }
        LaterVersions(keys)
    }

    /// By when one of those writers of a key had happened that happened after a moment.
    fn first_after(&self, key: usize, moment: Time) -> Time {
        let writers = &self.0[key];
        let next = writers.partition_point(|&(earliest, _)| earliest <= moment);
        writers.get(next).map_or(Time::MAX, |&(_, latest)| latest)
    }
}
