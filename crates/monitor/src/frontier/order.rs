//! An order of everything that happened, placed and replayed while events go on.
//!
//! The frontier says that some order exists. Where only one configuration is left, its path *is*
//! the beginning of such an order, whatever comes: it is placed here, operation by operation, and
//! forgotten.
//!
//! **Theorem.** A sequence of operations is a witness iff it holds every completed operation once
//! and of the others some; no operation stands behind one that was called after its return; and the
//! specification allows it from the initial state, with the answers that the log tells. All three
//! are checked here ([`Order::place`], [`Order::finish`]) by the times and answers that came with
//! the events and by the steps of the specification; nothing is taken from the frontier but the
//! sequence itself. So whatever the frontier may do wrong, the sequence is a witness, or there is
//! no answer.
//!
//! Several states are possible after an operation of a specification that leaves a choice; the
//! sequence is allowed if any of them remains.

use super::path::{Path, Serial, Step};
use hashbrown::HashMap;
use seriatim_history::{Time, ValueId};
use seriatim_spec::live::{Live, Named};

/// How many steps of a path may wait until one configuration is left.
pub const LONGEST: usize = 1 << 12;

/// How many states are followed where the specification leaves a choice.
const MOST_STATES: usize = 1 << 8;

/// The operations of a part, those that are placed already being forgotten.
pub struct Order<L: Live> {
    /// The states in which the object may be after all that is placed; none if there is no order.
    states: Vec<L::State>,
    /// The latest call of all that are placed.
    latest_call: Time,
    /// What is called and not placed.
    waiting: HashMap<Serial, Waiting<L>>,
    /// Why there is no order, if there is none.
    failed: Option<&'static str>,
}

/// An operation that is not placed.
struct Waiting<L: Live> {
    call: Time,
    op: L::Op,
    /// When it returned, and what.
    returned: Option<(Time, L::Answer)>,
}

impl<L: Live> Order<L> {
    /// Nothing is placed.
    pub fn new(first: L::State) -> Self {
        Order { states: vec![first], latest_call: 0, waiting: HashMap::new(), failed: None }
    }

    /// Whether there can still be an order.
    pub fn is_made(&self) -> bool {
        self.failed.is_none()
    }

    /// There is no order, and nothing has to be remembered for it.
    pub fn fail(&mut self, why: &'static str) {
        self.failed.get_or_insert(why);
        self.waiting = HashMap::new();
    }

    /// An operation is called.
    pub fn call(&mut self, now: Time, serial: Serial, op: L::Op) {
        if self.is_made() {
            self.waiting.insert(serial, Waiting { call: now, op, returned: None });
        }
    }

    /// An operation returns, with the argument that is told then.
    pub fn ret(&mut self, now: Time, serial: Serial, op: L::Op, answer: L::Answer) {
        if let Some(waiting) = self.waiting.get_mut(&serial) {
            (waiting.op, waiting.returned) = (op, Some((now, answer)));
        } else if self.is_made() {
            self.fail("an operation returns that was placed as one that never does");
        }
    }

    /// An operation did not happen.
    pub fn forget(&mut self, serial: Serial) {
        if self.waiting.remove(&serial).is_none() && self.is_made() {
            self.fail("an operation failed that was placed");
        }
    }

    /// Places the beginning of the only path: the changes up to the last before which nobody may
    /// still have to be put (`until`), as far as operations have returned or are lost, and what saw
    /// the states before them. Returns what is left of the path.
    pub fn advance(
        &mut self,
        live: &L,
        path: &Path,
        until: u64,
        is_lost: impl Fn(Serial) -> bool,
    ) -> Path {
        let steps = path.steps();
        let is_over = |serial: &Serial| {
            let waiting = self.waiting.get(serial);
            waiting.is_none_or(|waiting| waiting.returned.is_some()) || is_lost(*serial)
        };
        let changes = steps.iter().filter_map(|step| match step {
            Step::Change(serial) => Some(*serial),
            Step::Look(..) => None,
        });
        let due = until.saturating_sub(path.placed()) as usize;
        let changes: Vec<Serial> = changes.take(due).take_while(is_over).collect();
        let reached = path.placed() + changes.len() as u64;
        self.place_all(live, path.placed(), &changes, &steps);
        let mut passed = 0;
        let left = steps.into_iter().filter(|step| match step {
            Step::Change(_) => {
                passed += 1;
                passed > changes.len()
            }
            Step::Look(_, after) => *after > reached,
        });
        Path::of(reached, left)
    }

    /// Places changes and what saw the states before and after each.
    fn place_all(&mut self, live: &L, placed: u64, changes: &[Serial], steps: &[Step]) {
        let mut looks: Vec<Vec<Serial>> = vec![Vec::new(); changes.len() + 1];
        for step in steps {
            if let Step::Look(serial, after) = *step
                && let Some(looks) = looks.get_mut(after.saturating_sub(placed) as usize)
            {
                looks.push(serial);
            }
        }
        let mut changes = changes.iter();
        for look in looks {
            for serial in look.into_iter().chain(changes.next().copied()) {
                self.place(live, serial);
            }
        }
    }

    /// The next operation of the order.
    fn place(&mut self, live: &L, serial: Serial) {
        if !self.is_made() {
            return;
        }
        let Some(Waiting { call, op, returned }) = self.waiting.remove(&serial) else {
            return self.fail("an order names an operation twice");
        };
        if returned.as_ref().is_some_and(|(ret, _)| *ret < self.latest_call) {
            return self.fail("an order puts an operation behind one that was called later");
        }
        self.latest_call = self.latest_call.max(call);
        let answer = returned.as_ref().map(|(_, answer)| answer);
        let mut after: Vec<L::State> = Vec::new();
        for state in self.states.iter().flat_map(|state| live.steps(state, &op, answer)) {
            if !after.contains(&state) {
                after.push(state);
            }
        }
        self.states = after;
        match self.states.len() {
            0 => self.fail("the order that was found is wrong"),
            1..=MOST_STATES => {}
            _ => self.fail("the specification leaves too many choices"),
        }
    }

    /// Places the rest of a path; an error says why there is no order of everything.
    pub fn finish(&mut self, live: &L, path: &Path) -> Result<(), &'static str> {
        _ = self.advance(live, path, u64::MAX, |_| true);
        match (self.failed, self.waiting.values().any(|waiting| waiting.returned.is_some())) {
            (Some(why), _) => Err(why),
            (None, true) => Err("an order leaves out a completed operation"),
            (None, false) => Ok(()),
        }
    }

    /// Whether nothing is remembered but the state at the beginning.
    pub fn is_as_at_first(&self, first: &L::State) -> bool {
        self.is_made() && self.waiting.is_empty() && self.states == std::slice::from_ref(first)
    }

    /// Tells the values that are named here.
    pub fn mention(&self, live: &L, tell: &mut dyn FnMut(ValueId)) {
        self.states.iter().for_each(|state| live.mention(Named::State(state), tell));
        for waiting in self.waiting.values() {
            live.mention(Named::Op(&waiting.op), tell);
            if let Some((_, answer)) = &waiting.returned {
                live.mention(Named::Answer(answer), tell);
            }
        }
    }
}
