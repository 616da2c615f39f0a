//! The operations that a monitor is asked about: a whole history or some of it.

use super::container::{NEVER, Rank, Span};
use seriatim_history::{Event, History, OpId, Stretch};

/// Some operations of a history: all of them, or those of one key or object.
#[derive(Clone, Copy)]
pub struct Part<'h> {
    /// The history.
    pub history: &'h History,
    chosen: Option<&'h [OpId]>,
}

impl<'h> Part<'h> {
    /// All operations of a history.
    pub fn whole(history: &'h History) -> Self {
        Part { history, chosen: None }
    }

    /// Some operations of a history, in ascending order.
    pub fn of(history: &'h History, operations: &'h [OpId]) -> Self {
        Part { history, chosen: Some(operations) }
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
    pub fn operations(&self) -> impl Iterator<Item = OpId> + use<'h> {
        let chosen = self.chosen;
        (0..self.len()).map(move |index| chosen.map_or(OpId::from(index), |chosen| chosen[index]))
    }

    /// The events of the operations, in order.
    pub fn events(&self) -> impl Iterator<Item = Event> + use<'h> {
        self.history.events_of(self.operations())
    }

    /// The operations from a position on.
    #[inline]
    pub(super) fn read_stretch(&self, start: usize, stretch: &mut Stretch) {
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
