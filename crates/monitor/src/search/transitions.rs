//! The steps of the specification, remembered.
//!
//! The search asks for the same step again and again. A small direct-mapped table remembers recent
//! answers: forgetting one costs time, never exactness, and the table's size is fixed whatever the
//! number of states.

use seriatim_limits::checkpoint_after;
use seriatim_spec::{Automaton, ClassId, StateId};

/// An automaton with a memory of its recent steps.
pub struct Transitions<'a> {
    automaton: Box<dyn Automaton + 'a>,
    recent: Vec<Entry>,
    /// The successor lists of nondeterministic steps in `recent`.
    many: Vec<Box<[StateId]>>,
    /// How many successors those lists hold.
    listed: usize,
    scratch: Vec<StateId>,
}

#[derive(Clone, Copy)]
struct Entry {
    state: u32,
    class: u32,
    answer: Answer,
}

/// The successors of a state under a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The step is impossible.
    None,
    /// There is one successor.
    One(StateId),
    /// There are several; [`Transitions::many`] lists them.
    Many(u32),
}

const VACANT: Entry = Entry { state: u32::MAX, class: u32::MAX, answer: Answer::None };

/// Beyond this many remembered successors in lists all is forgotten.
const MANY_LIMIT: usize = 1 << 20;

/// So many successors in a list are compared in the time between two checkpoints.
const LOOKED_AT_ONCE: u32 = 64;

impl<'a> Transitions<'a> {
    /// Remembers the steps of an automaton for a part of `operations` operations.
    pub fn new(automaton: Box<dyn Automaton + 'a>, operations: usize) -> Self {
        let size = (operations * 4).next_power_of_two().clamp(16, 1 << 16);
        let recent = vec![VACANT; size];
        Transitions { automaton, recent, many: Vec::new(), listed: 0, scratch: Vec::new() }
    }

    /// The initial state.
    pub fn initial(&mut self) -> StateId {
        self.automaton.initial()
    }

    /// The successors of a state under a class.
    #[inline]
    pub fn step(&mut self, state: StateId, class: ClassId) -> Answer {
        let mixed =
            (u64::from(state.0) << 32 | u64::from(class.0)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let place = (mixed >> 40) as usize & (self.recent.len() - 1);
        let entry = self.recent[place];
        if entry.state == state.0 && entry.class == class.0 {
            return entry.answer;
        }
        let answer = self.ask(state, class);
        self.recent[place] = Entry { state: state.0, class: class.0, answer };
        answer
    }

    /// Whether a step is possible.
    #[inline]
    pub fn is_possible(&mut self, state: StateId, class: ClassId) -> bool {
        self.step(state, class) != Answer::None
    }

    /// Whether a successor is among the successors of a state under a class.
    pub fn leads_to(&mut self, state: StateId, class: ClassId, successor: StateId) -> bool {
        match self.step(state, class) {
            Answer::None => false,
            Answer::One(only) => only == successor,
            Answer::Many(list) => {
                let list = &self.many[list as usize];
                checkpoint_after(list.len() as u32 / LOOKED_AT_ONCE);
                list.contains(&successor)
            }
        }
    }

    /// The number of successors in an answer.
    #[inline]
    pub fn count(&self, answer: Answer) -> usize {
        match answer {
            Answer::None => 0,
            Answer::One(_) => 1,
            Answer::Many(list) => self.many[list as usize].len(),
        }
    }

    /// The `nth` successor in an answer.
    #[inline]
    pub fn nth(&self, answer: Answer, nth: usize) -> StateId {
        match answer {
            Answer::None => unreachable!("no successor to choose"),
            Answer::One(only) => only,
            Answer::Many(list) => self.many[list as usize][nth],
        }
    }

    /// Starts an expansion: answers given from now on stay valid until the next call.
    pub fn begin(&mut self) {
        if self.listed > MANY_LIMIT {
            (self.many, self.listed) = (Vec::new(), 0);
            self.recent.fill(VACANT);
        }
    }

    /// The automaton itself, to explain and to show.
    pub fn automaton(&self) -> &dyn Automaton {
        &*self.automaton
    }

    /// An estimate of the memory in use, in bytes.
    pub fn bytes(&self) -> usize {
        self.automaton.bytes()
            + self.recent.len() * size_of::<Entry>()
            + self.many.len() * 16
            + self.listed * 4
    }

    #[cold]
    fn ask(&mut self, state: StateId, class: ClassId) -> Answer {
        self.scratch.clear();
        self.automaton.step(state, class, &mut self.scratch);
        match self.scratch[..] {
            [] => Answer::None,
            [only] => Answer::One(only),
            _ => {
                self.listed += self.scratch.len();
                self.many.push(self.scratch.as_slice().into());
                Answer::Many(self.many.len() as u32 - 1)
            }
        }
    }
}
