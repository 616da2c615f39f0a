//! Who moves next in a random run. No schedule finds everything; each finds what the others seldom
//! do.
//!
//! - *uniform*: any thread, each time anew;
//! - *few preemptions* (after Musuvathi and Qadeer, PLDI 2007): a thread goes on until its
//!   operation ends or it has to wait, and is seldom interrupted before;
//! - *priorities* (after Burckhardt, Kothari, Musuvathi and Nagarakatte, ASPLOS 2010): the thread
//!   with the highest priority moves; at a few random moments, and sometimes when an operation
//!   ends, the one that moves gets the lowest.

use super::plain::Step;

/// Pseudo-random numbers (xorshift).
pub struct Random(u64);

impl Random {
    /// A different sequence for each number.
    pub fn new(seed: u64) -> Random {
        Random(0x9e37_79b9_7f4a_7c15 ^ (seed + 1).wrapping_mul(0xd134_2543_de82_ef95) | 1)
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// One of `0..bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        ((self.next() >> 11) % bound.max(1) as u64) as usize
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Uniform,
    FewPreemptions,
    Priorities,
}

/// The order in which threads are asked to move.
pub struct Schedule {
    kind: Kind,
    /// The threads, the one that is asked first at the front.
    order: Vec<usize>,
}

impl Schedule {
    /// The schedule of a run: each kind in turn.
    pub fn of(run: u64, threads: usize, random: &mut Random) -> Schedule {
        let kind = match run % 3 {
            0 => Kind::Uniform,
            1 => Kind::FewPreemptions,
            _ => Kind::Priorities,
        };
        let mut schedule = Schedule { kind, order: (0..threads).collect() };
        schedule.shuffle(random);
        schedule
    }

    /// The threads in the order in which they are asked to move.
    pub fn order(&mut self, random: &mut Random) -> &[usize] {
        let again = match self.kind {
            Kind::Uniform => true,
            Kind::FewPreemptions => random.below(10) == 0,
            Kind::Priorities => false,
        };
        if again {
            self.shuffle(random);
        }
        &self.order
    }

    /// A thread moved.
    pub fn moved(&mut self, thread: usize, step: Step, random: &mut Random) {
        let yields = match (self.kind, step) {
            (Kind::Uniform, _) => return,
            (Kind::FewPreemptions, step) => step == Step::Returned,
            (Kind::Priorities, Step::Returned) => random.below(2) == 0,
            (Kind::Priorities, Step::Within) => random.below(16) == 0,
        };
        if yields || matches!(self.kind, Kind::FewPreemptions) {
            self.order.retain(|other| *other != thread);
            let place = if yields { self.order.len() } else { 0 };
            self.order.insert(place, thread);
        }
    }

    fn shuffle(&mut self, random: &mut Random) {
        for at in (1..self.order.len()).rev() {
            self.order.swap(at, random.below(at + 1));
        }
    }
}
