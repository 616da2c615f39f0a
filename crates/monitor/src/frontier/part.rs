//! Everything that may be true of one part of the object.

use super::configuration::{Answers, Antichain, Configuration};
use super::order::{LONGEST, Order};
use super::path::{Serial, Step};
use super::{MOST, MOST_HELD, MOST_NOTED, MOST_OPEN};
use crate::fast::{Declined, Stop};
use seriatim_history::{OpId, Time, ValueId};
use seriatim_spec::checkpoint;
use seriatim_spec::live::{Live, Named};

/// How many steps are placed in the order at once, unless nothing is open.
const BATCH: usize = 32;

/// An operation that was called and has not returned.
struct Open<O> {
    op: OpId,
    serial: Serial,
    what: O,
    /// Whether it will never return: then nobody asks for its answer.
    is_lost: bool,
}

/// Everything that may be true of one part of the object.
pub struct Part<L: Live> {
    open: Vec<Open<L::Op>>,
    possible: Vec<Configuration<L>>,
    order: Order<L>,
    /// How long a path is when something is placed in the order. It doubles where little could be
    /// placed, so that a path is not gone through at every event.
    placing_at: usize,
    /// The values that the first operation names: it tells which part this is.
    name: Vec<ValueId>,
}

impl<L: Live> Part<L> {
    /// Nothing has happened to the part that this operation acts on.
    pub fn new(live: &L, first: &L::State, op: &L::Op) -> Self {
        let mut name = Vec::new();
        live.mention(Named::Op(op), &mut |value| name.push(value));
        let possible = vec![Configuration::first(first.clone())];
        let order = Order::new(first.clone());
        Part { open: Vec::new(), possible, order, placing_at: BATCH, name }
    }

    /// An operation is called.
    pub fn call(&mut self, live: &L, now: Time, op: OpId, what: L::Op) {
        for configuration in &mut self.possible {
            note(live, configuration, op, &what);
        }
        // No two events have the same time.
        let serial = now;
        self.order.call(now, serial, what.clone());
        self.open.push(Open { op, serial, what, is_lost: false });
    }

    /// An operation will never return. Whether it can be forgotten, since it changes nothing.
    pub fn lose(&mut self, live: &L, op: OpId) -> bool {
        let lost = self.open.iter().find(|open| open.op == op);
        if lost.is_some_and(|lost| live.is_dispensable(&lost.what)) {
            return self.fail(op);
        }
        for open in self.open.iter_mut().filter(|open| open.op == op) {
            open.is_lost = true;
        }
        let mut kept = Antichain::new();
        for mut configuration in self.possible.drain(..) {
            configuration.noted.retain(|noted| noted.0 != op);
            for change in configuration.changes.iter_mut().filter(|change| change.0 == op) {
                change.1 = None;
            }
            kept.add(&configuration);
        }
        self.possible = kept.into_configurations();
        false
    }

    /// An operation has failed and did not happen. Whether anything is possible.
    pub fn fail(&mut self, op: OpId) -> bool {
        if let Some(open) = self.open.iter().find(|open| open.op == op) {
            self.order.forget(open.serial);
        }
        self.open.retain(|open| open.op != op);
        let mut kept = Antichain::new();
        for configuration in self.possible.drain(..).filter(|one| !one.has_changed(op)) {
            kept.add(&configuration.without(op));
        }
        self.possible = kept.into_configurations();
        !self.possible.is_empty()
    }

    /// Why a result is wrong in the first of the states that were possible before it.
    fn objection(&self, live: &L, what: &L::Op, answer: &L::Answer) -> String {
        let first = self.possible.first();
        let why = first.map(|first| live.explain(&first.state, what, answer)).unwrap_or_default();
        let others = self.possible.len().saturating_sub(1);
        match (why.is_empty(), others) {
            (true, _) => "no order of the operations explains this result".to_owned(),
            (false, 0) => why,
            (false, others) => format!("{why} (and {others} other states are as impossible)"),
        }
    }

    /// An operation returns; the reason if nothing is possible any more.
    pub fn ret(
        &mut self,
        live: &L,
        now: Time,
        due: OpId,
        (returned, answer): (L::Op, L::Answer),
    ) -> Result<Option<String>, Stop> {
        let unheard = |why: &str| Err(Declined::Unheard { why: why.to_owned() }.into());
        let Some(called) = self.open.iter().find(|open| open.op == due) else {
            return unheard("a return without a call");
        };
        if !live.is_same(&called.what, &returned) {
            return unheard("the return of an operation tells another one than its call");
        }
        if self.open.len() > MOST_OPEN {
            return Err(Declined::TooManyOpen { open: self.open.len() }.into());
        }
        let concerned = concerned(live, &self.open, called);
        let settling = Settling { live, part: self, due, called, concerned };
        let settled = settling.run(&returned, &answer)?;
        let serial = called.serial;
        if settled.count == 0 {
            return Ok(Some(self.objection(live, &returned, &answer)));
        }
        self.possible = settled.into_configurations();
        self.open.retain(|open| open.op != due);
        self.order.ret(now, serial, returned, answer);
        self.place(live);
        Ok(None)
    }

    /// Places what is sure in the order.
    fn place(&mut self, live: &L) {
        let longest = self.possible.iter().map(|one| one.path.len()).max().unwrap_or(0);
        match &mut self.possible[..] {
            [only] if longest >= self.placing_at || self.open.is_empty() => {
                let open = &self.open;
                let is_lost =
                    |serial| open.iter().any(|open| open.serial == serial && open.is_lost);
                only.path = self.order.advance(live, &only.path, only.first_noted(), is_lost);
                self.placing_at = (2 * only.path.len()).clamp(BATCH, LONGEST);
            }
            _ => {}
        }
        if self.possible.iter().any(|one| one.path.len() > LONGEST) {
            self.order.fail("it stays open for too long what happened");
        }
        if !self.order.is_made() {
            self.possible.iter_mut().for_each(|one| one.path = Default::default());
        }
    }

    /// Places the rest in the order; an error says why there is no order of everything.
    pub fn finish(&mut self, live: &L) -> Result<(), &'static str> {
        let Some(one) = self.possible.first() else { return Err("nothing is possible") };
        self.order.finish(live, &one.path)
    }

    /// Whether the part is as at first, so that it can be forgotten.
    pub fn is_as_at_first(&self, first: &L::State) -> bool {
        let is_first = |one: &Configuration<L>| one.state == *first;
        self.open.is_empty()
            && self.possible.len() == 1
            && self.possible.iter().all(is_first)
            && self.order.is_as_at_first(first)
    }

    /// How many configurations there are.
    pub fn remembered(&self) -> usize {
        self.possible.len()
    }

    /// Tells the values that are named here.
    pub fn mention(&self, live: &L, tell: &mut dyn FnMut(ValueId)) {
        self.name.iter().copied().for_each(&mut *tell);
        self.open.iter().for_each(|open| live.mention(Named::Op(&open.what), tell));
        self.possible.iter().for_each(|one| one.mention(live, tell));
        self.order.mention(live, tell);
    }
}

/// Notes what an open operation would answer in a configuration's state without changing it.
fn note<L: Live>(live: &L, configuration: &mut Configuration<L>, op: OpId, what: &L::Op) {
    for (answer, after) in live.effects(&configuration.state, what) {
        if after.is_none() {
            let weight = live.weight(&answer);
            configuration.note(op, answer, weight);
        }
    }
}

/// The open operations whose place matters for the one that is due: those that do not commute with
/// it, those that do not commute with one of these, and so on.
fn concerned<'f, L: Live>(
    live: &L,
    open: &'f [Open<L::Op>],
    due: &'f Open<L::Op>,
) -> Vec<&'f Open<L::Op>> {
    let mut others: Vec<&Open<L::Op>> = open.iter().filter(|open| open.op != due.op).collect();
    let mut concerned = vec![due];
    let mut reached = 0;
    while let Some(&Open { what, .. }) = concerned.get(reached) {
        let (apart, near) = others.into_iter().partition(|other| live.commute(what, &other.what));
        others = apart;
        concerned.extend::<Vec<_>>(near);
        reached += 1;
    }
    concerned.swap_remove(0);
    concerned
}

/// The return of an operation that must have taken effect.
struct Settling<'f, L: Live> {
    live: &'f L,
    part: &'f Part<L>,
    due: OpId,
    called: &'f Open<L::Op>,
    /// What may have to take effect before.
    concerned: Vec<&'f Open<L::Op>>,
}

impl<L: Live> Settling<'_, L> {
    fn run(&self, returned: &L::Op, answer: &L::Answer) -> Result<Antichain<L>, Stop> {
        let Settling { live, part, due, called, .. } = *self;
        let never_changes = live.leaves_unchanged(returned, answer);
        let told = (returned, answer);
        let fits = |given: &L::Answer| live.is_borne_out((&called.what, given), told);
        let mut settled = Antichain::new();
        let mut met = Antichain::new();
        let mut waiting: Vec<Configuration<L>> = part.possible.to_vec();
        // What waits has been met, and nothing that it reaches without the due operation is left
        // out.
        while let Some(one) = waiting.pop() {
            checkpoint();
            let noted = one.weight();
            if noted > MOST_NOTED {
                return Err(Declined::TooManyAnswers { noted }.into());
            }
            if let Some((_, given)) = one.changes.iter().find(|change| change.0 == due) {
                if given.as_ref().is_none_or(&fits) {
                    settled.add(&one.without(due));
                }
                continue;
            }
            let noted = one.noted(due).into_iter().flat_map(Answers::iter);
            if let Some(after) = noted.filter(|noted| fits(noted.0)).map(|noted| *noted.1).min() {
                settled
                    .add(&self.stepped(one.clone().without(due), Step::Look(called.serial, after)));
                // Whatever could happen now can also happen later.
                if never_changes {
                    continue;
                }
            }
            for (given, after) in live.effects(&one.state, returned) {
                if live.is_borne_out((returned, &given), told) {
                    settled.add(&self.settled(&one, after));
                }
            }
            self.steps(&one, |next| {
                if met.add(&next) {
                    waiting.push(next);
                }
            });
            let tried = met.count + settled.count;
            if tried > MOST || met.held + settled.held > MOST_HELD {
                return Err(Declined::TooManyChoices { tried }.into());
            }
        }
        Ok(settled)
    }

    /// A configuration after the operation that is due has taken effect in it.
    fn settled(&self, one: &Configuration<L>, after: Option<L::State>) -> Configuration<L> {
        let (next, serial) = (one.clone().without(self.due), self.called.serial);
        match after {
            None => {
                let changes = next.path.changes();
                self.stepped(next, Step::Look(serial, changes))
            }
            Some(state) => {
                let next = self.stepped(next, Step::Change(serial));
                self.noting(Configuration { state, ..next }).without(self.due)
            }
        }
    }

    /// A configuration whose path is longer by a step, if an order is made.
    fn stepped(&self, mut one: Configuration<L>, step: Step) -> Configuration<L> {
        if self.part.order.is_made() {
            one.path = one.path.with(step);
        }
        one
    }

    /// The configurations after one more operation, not the one that is due, has changed the state.
    fn steps(&self, from: &Configuration<L>, mut take: impl FnMut(Configuration<L>)) {
        for Open { op, serial, what, is_lost } in self.concerned.iter().copied() {
            if from.has_changed(*op) {
                continue;
            }
            for (answer, after) in self.live.effects(&from.state, what) {
                let Some(state) = after else { continue };
                let mut next = self.stepped(from.after(*op, answer, state), Step::Change(*serial));
                if *is_lost {
                    next.changes.iter_mut().filter(|c| c.0 == *op).for_each(|c| c.1 = None);
                }
                take(self.noting(next));
            }
        }
    }

    /// Notes the answers of what is still open in a configuration's new state.
    fn noting(&self, mut next: Configuration<L>) -> Configuration<L> {
        for Open { op, what, is_lost, .. } in &self.part.open {
            if !is_lost && !next.has_changed(*op) {
                note(self.live, &mut next, *op, what);
            }
        }
        next
    }
}
