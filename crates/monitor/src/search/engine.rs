//! One search of one part, whatever its direction and the width of its sets.

use super::breadth_first::BreadthFirst;
use super::depth_first::DepthFirst;
use super::mask::Mask;
use super::part::{Part, Rank};
use super::space::{Space, Step};
use super::used::{UseId, Uses};
use super::{Effort, Progress};
use seriatim_history::OpId;
use seriatim_spec::{Cancel, Stopped, Strategy, checkpoint_now};

/// A search that can be paused and resumed, on any thread.
///
/// A request to stop is heard in the middle of a step, too: one step of a wide model may take long.
/// Such a step is left half done, so **it would be unsound to go on**: what it did not generate would
/// count as impossible. A search that was left is over for good.
pub struct Engine<'a> {
    search: Option<Box<dyn Search + Send + 'a>>,
    part: &'a Part<'a>,
    reported: usize,
    /// A step was left in the middle.
    is_left: bool,
}

impl<'a> Engine<'a> {
    /// A search of a part, before its first step.
    pub fn new(part: &'a Part<'a>, strategy: Strategy, cancel: &Cancel) -> Self {
        Self::of(part, strategy, cancel, |space| space)
    }

    /// A search that does not look ahead: it gives up where the part goes wrong, not before.
    pub fn blind(part: &'a Part<'a>, strategy: Strategy, cancel: &Cancel) -> Self {
        Self::of(part, strategy, cancel, Space::without_outlook)
    }

    fn of(
        part: &'a Part<'a>,
        strategy: Strategy,
        cancel: &Cancel,
        change: impl FnOnce(Space<'a>) -> Space<'a>,
    ) -> Self {
        let search = cancel.during(|| {
            checkpoint_now();
            let space = change(Space::new(part, cancel));
            match part.slot_count() {
                0..=64 => searching::<[u64; 1]>(space, strategy),
                65..=256 => searching::<[u64; 4]>(space, strategy),
                _ => searching::<Box<[u64]>>(space, strategy),
            }
        });
        let is_left = search.is_err();
        Engine { search: search.ok(), part, reported: 0, is_left }
    }

    /// Goes on for some expansions at most.
    pub fn run(&mut self, expansions: u64, cancel: &Cancel, memory: &super::Memory) -> Progress {
        let search = match &mut self.search {
            Some(search) if !self.is_left => search,
            _ => return Progress::Cancelled,
        };
        let mut effort = Effort::new(expansions, cancel, memory, &mut self.reported);
        match cancel.during(|| search.run(&mut effort)) {
            Ok(progress) => progress,
            Err(Stopped(_)) => {
                self.is_left = true;
                Progress::Cancelled
            }
        }
    }

    /// The number of events of the part that are known to be linearizable.
    pub fn linearizable_events(&self) -> usize {
        self.search.as_ref().map_or(0, |search| self.part.events_before(search.farthest()))
    }

    /// The number of configurations met.
    pub fn configurations(&self) -> usize {
        self.search.as_ref().map_or(0, |search| search.configurations())
    }

    /// Operations that can be taken first without loss, in this order, as far as the search knows.
    pub fn settled(&self) -> Vec<OpId> {
        self.search
            .as_ref()
            .map_or_else(Vec::new, |search| operations_of(self.part, search.settled()))
    }

    /// Gives the memory of the search back to the others.
    pub fn retire(mut self, memory: &super::Memory) {
        memory.report(&mut self.reported, 0);
    }
}

/// The operations that steps name, in order: pending ones of a class go in call order.
pub fn operations_of(part: &Part<'_>, steps: &[Step]) -> Vec<OpId> {
    let mut uses = Uses::default();
    let mut used = UseId::NOTHING;
    let name = |step: &Step| match *step {
        Step::Completed(rank) => part.operation(rank),
        Step::Pending(pending) => {
            let nth = uses.count(used, pending);
            used = uses.with(used, pending);
            part.pending_operation(pending, nth)
        }
    };
    steps.iter().map(name).collect()
}

fn searching<'a, M: Mask + 'a>(
    space: Space<'a>,
    strategy: Strategy,
) -> Box<dyn Search + Send + 'a> {
    match strategy {
        Strategy::DepthFirst => Box::new(DepthFirst::<M>::new(space)),
        Strategy::BreadthFirst => Box::new(BreadthFirst::<M>::new(space)),
    }
}

/// What both directions offer.
pub trait Search {
    /// Goes on until there is an answer or the effort is spent.
    fn run(&mut self, effort: &mut Effort<'_>) -> Progress;

    /// The frontier that a configuration has reached: what lies before it is linearizable.
    fn farthest(&self) -> Rank;

    /// The number of configurations met.
    fn configurations(&self) -> usize;

    /// Steps that can be taken first without loss: the part is linearizable iff it is in an order
    /// that begins with them.
    fn settled(&self) -> &[Step];
}
