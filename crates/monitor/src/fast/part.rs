//! The operations that a monitor is asked about: a whole history or some of it.

use crate::fast::containers::container::{NEVER, Rank, Span};
use crate::fast::{Budget, Declined, Unlimited};
use seriatim_history::{Event, History, OpId, Stretch, Time};
use seriatim_limits::checkpoint;

/// Some operations of a history: all of them, or those of one key or object.
#[derive(Clone, Copy)]
pub struct Part<'h> {
    /// The history.
    pub history: &'h History,
    chosen: Option<&'h [OpId]>,
    budget: &'h dyn Budget,
    /// How many threads a monitor may use.
    pub(super) threads: usize,
}

impl<'h> Part<'h> {
    /// All operations of a history.
    pub fn whole(history: &'h History) -> Self {
        Part::on(history, None, 1)
    }

    /// Some operations of a history, in ascending order.
    pub fn of(history: &'h History, operations: &'h [OpId]) -> Self {
        Part::on(history, Some(operations), 1)
    }

    /// All operations of a history, or some, for a monitor that may use so many threads.
    pub(crate) fn on(history: &'h History, chosen: Option<&'h [OpId]>, threads: usize) -> Self {
        Part { history, chosen, budget: &Unlimited, threads }
    }

    /// The operations, if they are not all.
    pub(super) fn chosen(&self) -> Option<&'h [OpId]> {
        self.chosen
    }

    /// The part for a monitor that has to ask whether it may go on.
    pub fn within(self, budget: &'h dyn Budget) -> Self {
        Part { budget, ..self }
    }

    /// All of another history, for the same monitor.
    pub(super) fn like<'o>(&self, history: &'o History) -> Part<'o>
    where
        'h: 'o,
    {
        Part { history, chosen: None, budget: self.budget, threads: 1 }
    }

    /// Spends some work of a monitor that branches.
    pub(super) fn spend(&self, work: usize) -> Result<(), Declined> {
        self.budget.spend(work).then_some(()).ok_or(Declined::Stopped)
    }

    /// Asks whether a monitor may begin to guess.
    pub(super) fn begin_to_guess(&self) -> Result<(), Declined> {
        self.budget.lets_guess(self.len()).then_some(()).ok_or(Declined::Stopped)
    }

    /// The number of operations.
    pub fn len(&self) -> usize {
        self.chosen.map_or(self.history.len(), <[OpId]>::len)
    }

    /// Whether there is no operation.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The operation at a position in call order.
    #[inline]
    pub(super) fn operation(&self, position: usize) -> OpId {
        self.chosen.map_or(OpId::from(position), |chosen| chosen[position])
    }

    /// The operations in call order.
    pub fn operations(&self) -> impl Iterator<Item = OpId> + Clone + use<'h> {
        let chosen = self.chosen;
        (0..self.len()).map(move |index| {
            checkpoint();
            chosen.map_or(OpId::from(index), |chosen| chosen[index])
        })
    }

    /// The events of the operations, in order.
    pub fn events(&self) -> impl Iterator<Item = Event> + use<'h> {
        self.history.events_of(self.operations())
    }

    /// The operations from a position on.
    #[inline]
    pub(super) fn read_stretch(&self, start: usize, stretch: &mut Stretch) {
        checkpoint();
        let Some(chosen) = self.chosen else {
            return self.history.read_stretch(start, stretch);
        };
        let chosen = &chosen[start..];
        stretch.len = chosen.len().min(Stretch::LONGEST);
        for (offset, &op) in chosen.iter().take(Stretch::LONGEST).enumerate() {
            let call = self.history.call(op);
            stretch.method[offset] = self.history.method(op).0;
            stretch.arg[offset] = self.history.arg(op).0;
            stretch.result[offset] = self.history.result(op).0;
            stretch.call[offset] = call;
            stretch.span[offset] = self.history.ret(op).map_or(0, |ret| ret - call + 1);
        }
    }

    /// The position of an operation of the part.
    pub(super) fn position(&self, op: OpId) -> usize {
        match self.chosen {
            None => op.index(),
            Some(chosen) => chosen.partition_point(|&other| other < op),
        }
    }

    /// The numbers of the events of the operations.
    pub(super) fn ranks(&self) -> Ranks {
        if let Some(moments) = Moments::of(self) {
            return moments.ranks(self);
        }
        let mut ranks =
            Ranks { call: Vec::with_capacity(self.len()), ret: vec![NEVER; self.len()], events: 0 };
        for event in self.events() {
            match event {
                Event::Call(_) => ranks.call.push(ranks.events),
                Event::Return(op) => ranks.ret[self.position(op)] = ranks.events,
            }
            ranks.events += 1;
        }
        ranks
    }
}

/// The moments of the events of a part, as bits, where no two are the same and not many lie between
/// them: then a moment's number is the number of bits in front of it, and nothing has to be sorted.
struct Moments {
    first: Time,
    last: Time,
    bits: Vec<u64>,
    events: Rank,
}

impl Moments {
    /// How many moments there may be for one operation.
    const SPARSEST: u64 = 64;

    fn of(part: &Part<'_>) -> Option<Self> {
        let mut stretch = Stretch::default();
        let (mut first, mut last) = (Time::MAX, 0);
        for start in (0..part.len()).step_by(Stretch::LONGEST) {
            part.read_stretch(start, &mut stretch);
            for (&call, &span) in stretch.call[..stretch.len].iter().zip(&stretch.span) {
                first = first.min(call);
                last = last.max(call + span.max(1) - 1);
            }
        }
        let range = last.checked_sub(first)?;
        if range / Moments::SPARSEST > part.len() as u64 {
            return None;
        }
        let bits = vec![0; (range / 64) as usize + 1];
        let mut moments = Moments { first, last, bits, events: 0 };
        for start in (0..part.len()).step_by(Stretch::LONGEST) {
            part.read_stretch(start, &mut stretch);
            let mut is_new = true;
            for (&call, &span) in stretch.call[..stretch.len].iter().zip(&stretch.span) {
                is_new &= moments.add(call);
                if span != 0 {
                    is_new &= moments.add(call + (span - 1));
                }
            }
            if !is_new {
                return None;
            }
        }
        Some(moments)
    }

    /// Adds a moment; whether it is new.
    #[inline]
    fn add(&mut self, moment: Time) -> bool {
        let at = moment - self.first;
        let (word, bit) = (&mut self.bits[(at / 64) as usize], 1 << (at % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        self.events += 1;
        is_new
    }

    fn ranks(self, part: &Part<'_>) -> Ranks {
        let (call, ret) = (Vec::with_capacity(part.len()), Vec::with_capacity(part.len()));
        let mut ranks = Ranks { call, ret, events: self.events };
        let has_holes = self.last - self.first >= u64::from(self.events);
        let before = if has_holes { self.before() } else { Vec::new() };
        let rank = |moment: Time| -> Rank {
            let at = moment - self.first;
            match has_holes {
                false => at as Rank,
                true => {
                    let (word, bit) = ((at / 64) as usize, 1u64 << (at % 64));
                    before[word] + (self.bits[word] & (bit - 1)).count_ones()
                }
            }
        };
        let mut stretch = Stretch::default();
        for start in (0..part.len()).step_by(Stretch::LONGEST) {
            part.read_stretch(start, &mut stretch);
            for (&call, &span) in stretch.call[..stretch.len].iter().zip(&stretch.span) {
                ranks.call.push(rank(call));
                ranks.ret.push(if span == 0 { NEVER } else { rank(call + (span - 1)) });
            }
        }
        ranks
    }

    /// By word, how many moments are in front of it.
    fn before(&self) -> Vec<Rank> {
        let mut sum = 0;
        let sums = self.bits.iter().map(|word| {
            let before = sum;
            sum += word.count_ones();
            before
        });
        sums.collect()
    }
}

/// The numbers of the events of a part's operations, by position.
pub(super) struct Ranks {
    pub call: Vec<Rank>,
    pub ret: Vec<Rank>,
    /// The number of events.
    pub events: Rank,
}

impl Ranks {
    /// The operation at a position.
    #[inline]
    pub fn span(&self, position: usize, op: OpId) -> Span {
        Span { op, call: self.call[position], ret: self.ret[position] }
    }
}
