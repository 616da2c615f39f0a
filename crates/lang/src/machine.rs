//! The concrete meaning of steps: the one place where it is defined. `explore` runs it; engines
//! with abstract states are tested against it.
//!
//! A state is the shared variables, each thread's position and registers, and the heap.
//! [`Machine::run`] makes one thread take one step and says what happened: a call, effects, a
//! return, or why there is no such step.

mod access;
pub mod choices;
mod evaluate;
mod observe;

pub use evaluate::{check, evaluate, offset};
pub use observe::{Accessed, Executed};

use crate::analysis::lock_order::LockOrder;
use crate::front::types::{Kind, Scalar};
use crate::machine::choices::Choices;
use crate::steps::*;

/// How many instructions a single step may take before it is called endless.
const FUEL: u32 = 20_000;
/// The mark of an empty heap cell.
pub const VACANT: i32 = -1;
/// Added to the struct number of a node that was freed.
pub const FREED: i32 = 1 << 16;

/// The bounds within which a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// How many data values there are.
    pub values: u32,
    /// How many keys there are, not counting `-inf` and `+inf`.
    pub keys: u32,
    /// How many nodes may be alive at once.
    pub nodes: Option<u32>,
    /// How many nodes more than at the start may hang from the shared variables.
    pub capacity: Option<u32>,
}

/// A concrete state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct State {
    /// Shared slots, then for each thread: position, caller's position, registers.
    pub words: Vec<i32>,
    /// Nodes: struct number (or [`VACANT`]), then slots.
    pub heap: Vec<i32>,
}

/// What a step did that others can see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The method and arguments of the operation that began.
    pub call: Option<(u32, Vec<i32>)>,
    /// Whose operations were said to take effect, in this order; `None` is one that has returned.
    /// Empty unless points are followed ([`Steps::owners`]).
    pub effects: Vec<Option<u32>>,
    /// The result of the operation that ended.
    pub ret: Option<Vec<i32>>,
    /// Whether it wrote shared state.
    pub wrote: bool,
    /// Which heap nodes it wrote (locks do not count), as a mask; the last bit stands for all nodes
    /// from there on.
    pub written: u64,
    /// Whether it made a node.
    pub allocated: bool,
}

/// Why a thread took no step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It waits for a lock or a condition.
    Waits,
    /// The step would leave the bounds: the run goes on, but nobody looks at it.
    Bounded(Cut),
    /// Its client has ended.
    Ended,
    /// It would take locks out of order; only where an order was demanded
    /// ([`Machine::nest_locks`]).
    Disordered,
    /// The step is an error.
    Fault(Fault, Pc),
}

/// What a run was cut off for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cut {
    /// It needs more nodes than may be alive.
    Nodes,
    /// It makes more nodes hang from the shared variables than allowed.
    Capacity,
    /// It leads to a number that the machine does not represent, and that no declared bound
    /// forbids.
    Numbers,
    /// It needs a datum, and there is none.
    Data,
}

/// Errors of an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// A field of `null`.
    NullDereference,
    /// `null` or `empty` where it cannot stand.
    UnexpectedNull,
    /// A number outside of its type's range.
    OutOfRange,
    /// An index outside of its array.
    BadIndex,
    /// A division by zero.
    DivisionByZero,
    /// An `assert` that does not hold.
    Assertion,
    /// `unlock` of a free lock.
    UnlockFree,
    /// A node freed twice.
    DoubleFree,
    /// Local code that never reaches a shared access.
    Endless,
    /// Two accesses of a plain place at the same time, one of which writes; only where the memory
    /// model has races.
    DataRace,
    /// An access to a node that was freed.
    UseAfterFree,
}

impl Fault {
    /// The error as words.
    pub fn text(self) -> &'static str {
        match self {
            Fault::NullDereference => "null dereference",
            Fault::UnexpectedNull => "null where a value is needed",
            Fault::OutOfRange => "number outside of its type's range",
            Fault::BadIndex => "index outside of the array",
            Fault::DivisionByZero => "division by zero",
            Fault::Assertion => "assertion failed",
            Fault::UnlockFree => "unlock of a lock that is free",
            Fault::DoubleFree => "node freed twice",
            Fault::Endless => "local code that never ends",
            Fault::DataRace => "data race",
            Fault::UseAfterFree => "use of a freed node",
        }
    }
}

/// Runs the steps of a program.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The program.
    pub steps: Steps,
    /// The bounds.
    pub bounds: Bounds,
    boundary: Vec<bool>,
    /// For each position at which a step begins, whether that step may wait.
    may_wait: Vec<bool>,
    fused: bool,
    locks_join: bool,
    order: Option<LockOrder>,
    node_stride: usize,
    thread_stride: usize,
    initial_nodes: u32,
    /// The shared slots that hold references, and for each struct the slots of a node.
    references: (Vec<usize>, Vec<Vec<usize>>),
}

/// Where steps begin.
#[derive(Clone, Debug)]
pub enum Granularity {
    /// At every shared access; calls and returns are steps of their own.
    Fine,
    /// Calls ride along with the first shared access, returns with the last.
    Fused {
        /// For each position, whether its access is fused with the step before it.
        local: Vec<bool>,
        /// Whether taking a lock is one step with the access after it, unless that may wait or a
        /// lock is released in between (Lipton: right movers, one access, left movers).
        locks_join: bool,
    },
}

struct Run<'m> {
    machine: &'m Machine,
    state: &'m mut State,
    choices: &'m mut Choices,
    thread: usize,
    seen: Seen,
    links_shared: bool,
    /// The instructions executed, if someone wants to know.
    log: Option<Vec<Executed>>,
    film: Option<Vec<State>>,
}

type Ran<T> = Result<T, Stop>;

impl Machine {
    /// A machine for a program within bounds.
    pub fn new(steps: Steps, bounds: Bounds, granularity: Granularity) -> Machine {
        let mut boundary: Vec<bool> = steps.code.iter().map(Instr::is_shared_access).collect();
        let (fused, locks_join) = match granularity {
            Granularity::Fine => {
                for (mark, instr) in boundary.iter_mut().zip(&steps.code) {
                    *mark |= matches!(instr.op, Op::Return(_)) && !instr.inside_atomic;
                }
                (false, false)
            }
            Granularity::Fused { local, locks_join } => {
                boundary.iter_mut().zip(local).for_each(|(mark, local)| *mark &= !local);
                (true, locks_join)
            }
        };
        // Where nodes are given back, it matters when a node is made.
        for (mark, instr) in boundary.iter_mut().zip(&steps.code) {
            *mark |= steps.frees && matches!(instr.op, Op::New { .. }) && !instr.inside_atomic;
        }
        let may_wait = may_wait(&steps, &boundary);
        let structs = steps.structs.iter().map(|layout| references(&layout.slots));
        let references = (references(&steps.shared), structs.collect());
        let node_stride = 1 + steps.structs.iter().map(|s| s.slots.len()).max().unwrap_or(0);
        let thread_stride = 2 + steps.register_count();
        Machine {
            steps,
            bounds,
            boundary,
            may_wait,
            fused,
            locks_join,
            order: None,
            node_stride,
            thread_stride,
            initial_nodes: 0,
            references,
        }
    }

    /// From now on locks that are taken in a row are one step, and each must be taken in this
    /// order.
    pub fn nest_locks(&mut self, order: LockOrder) {
        self.order = Some(order);
    }

    /// Whether locks that are taken in a row are one step.
    pub fn nests_locks(&self) -> bool {
        self.order.is_some()
    }

    /// How many words a heap node takes.
    pub fn node_stride(&self) -> usize {
        self.node_stride
    }

    /// How many threads there are.
    pub fn thread_count(&self) -> usize {
        self.steps.threads.len()
    }

    /// Whether a step begins at this position.
    pub fn is_boundary(&self, pc: Pc) -> bool {
        self.boundary[pc.0 as usize]
    }

    /// Whether a new node is made together with the access after it. Where nodes are freed, it may
    /// take the place of any that is free by then. *Exact*: whoever looked at the node between its
    /// making and that access, and was not told of it, would look at a freed one if the node were
    /// made later, and that error shows in another order of the same steps. Where nodes are recycled
    /// such a look is no error, and making one is a step of its own.
    fn is_late(&self, pc: Pc) -> bool {
        let is_new = matches!(self.steps.code[pc.0 as usize].op, Op::New { .. });
        is_new && self.boundary[pc.0 as usize] && !self.steps.recycles
    }

    /// The index of a thread's position in the words of a state; its caller's position and
    /// registers follow.
    pub fn thread_base(&self, thread: usize) -> usize {
        self.steps.shared.len() + thread * self.thread_stride
    }

    /// The index of a thread's first register in the words of a state.
    pub fn register_base(&self, thread: usize) -> usize {
        self.thread_base(thread) + 2
    }

    /// Where a thread stands.
    pub fn pc(&self, state: &State, thread: usize) -> Pc {
        Pc(state.words[self.thread_base(thread)] as u32)
    }

    /// The call that a thread executes, as the position of the client's call; meaningless for idle
    /// threads.
    pub fn caller(&self, state: &State, thread: usize) -> Pc {
        Pc(state.words[self.thread_base(thread) + 1] as u32)
    }

    /// Whether a thread is outside of every operation.
    pub fn is_idle(&self, state: &State, thread: usize) -> bool {
        self.steps.method_at(self.pc(state, thread)).is_none()
    }

    /// The state in which the threads begin.
    pub fn initial(&mut self) -> Result<State, Stop> {
        let words = self.steps.shared.len() + self.thread_count() * self.thread_stride;
        let mut state = State { words: vec![NULL; words], heap: vec![] };
        let bounds = self.bounds;
        self.bounds = Bounds { nodes: None, capacity: None, ..bounds };
        let mut result = self.initialise(&mut state, 0, self.steps.init);
        for thread in 0..self.thread_count() {
            let base = self.thread_base(thread);
            let registers = self.register_base(thread);
            let own = registers + self.steps.persistent.len()..base + self.thread_stride;
            state.words[own].fill(NULL);
            self.steps.links.iter().for_each(|l| state.words[registers + l.reg.0 as usize] = 0);
            result = result.and(self.initialise(&mut state, thread, self.steps.thread_init));
            state.words[base] = self.rest(self.steps.threads[thread].entry).0 as i32;
            state.words[base + 1] = 0;
        }
        self.bounds = bounds;
        result?;
        self.initial_nodes = self.reachable_nodes(&state);
        Ok(state)
    }

    fn initialise(&self, state: &mut State, thread: usize, entry: Pc) -> Ran<()> {
        let mut choices = Choices::default();
        let mut run = Run::new(self, state, &mut choices, thread);
        let mut pc = entry;
        for _ in 0..FUEL {
            if matches!(self.steps.code[pc.0 as usize].op, Op::Return(_)) {
                return Ok(());
            }
            pc = run.execute(pc)?;
        }
        Err(Stop::Fault(Fault::Endless, entry))
    }

    /// Makes `thread` take a step from `from`; the state after it is left in `to`.
    pub fn run(
        &self,
        from: &State,
        thread: usize,
        choices: &mut Choices,
        to: &mut State,
    ) -> Result<Seen, Stop> {
        to.words.clone_from(&from.words);
        to.heap.clone_from(&from.heap);
        let pc = self.pc(from, thread);
        let mut run = Run::new(self, to, choices, thread);
        run.step(pc)?;
        let (seen, links_shared) = (run.seen, run.links_shared);
        if links_shared
            && let Some(capacity) = self.bounds.capacity
            && self.reachable_nodes(to) > self.initial_nodes.saturating_add(capacity)
        {
            return Err(Stop::Bounded(Cut::Capacity));
        }
        Ok(seen)
    }

    /// The instructions that a step executes and what is seen of it, up to the point where it ends
    /// or fails.
    pub fn trace(
        &self,
        from: &State,
        thread: usize,
        choices: &mut Choices,
    ) -> (Vec<Executed>, Seen) {
        let mut to = from.clone();
        let mut run = Run::new(self, &mut to, choices, thread);
        run.log = Some(Vec::new());
        let _ = run.step(self.pc(from, thread));
        (run.log.unwrap_or_default(), run.seen)
    }

    /// The state after each instruction that [`Machine::trace`] tells of; the thread stands at the
    /// instruction.
    pub fn film(&self, from: &State, thread: usize, choices: &mut Choices) -> Vec<State> {
        let mut to = from.clone();
        let mut run = Run::new(self, &mut to, choices, thread);
        run.log = Some(Vec::new());
        run.film = Some(Vec::new());
        let _ = run.step(self.pc(from, thread));
        run.film.unwrap_or_default()
    }

    /// The resting point of idle code: jumps are followed.
    fn rest(&self, mut pc: Pc) -> Pc {
        for _ in 0..self.steps.code.len() {
            match self.steps.code[pc.0 as usize].op {
                Op::Jump(to) => pc = to,
                _ => return pc,
            }
        }
        pc
    }

    /// How many nodes hang from the shared variables.
    fn reachable_nodes(&self, state: &State) -> u32 {
        let nodes = state.heap.len() / self.node_stride;
        if nodes > u128::BITS as usize {
            return self.reachable_of_many(state);
        }
        let held = |slots: &[usize], words: &[i32]| {
            let words = slots.iter().map(|slot| words[*slot]).filter(|word| *word != NULL);
            words.fold(0, |all, word| all | 1u128 << word)
        };
        let (shared, structs) = &self.references;
        let mut found = held(shared, &state.words);
        let mut todo = found;
        while todo != 0 {
            let at = todo.trailing_zeros() as usize * self.node_stride;
            todo &= todo - 1;
            let slots = &structs[(state.heap[at] & (FREED - 1)) as usize];
            let next = held(slots, &state.heap[at + 1..]);
            todo |= next & !found;
            found |= next;
        }
        found.count_ones()
    }

    /// The same where nodes are too many for the bits of a number.
    fn reachable_of_many(&self, state: &State) -> u32 {
        let mut found = vec![false; state.heap.len() / self.node_stride];
        let mut todo = Vec::new();
        let mut count = 0;
        let mut visit = |kind: Kind, word: i32, todo: &mut Vec<usize>| {
            let node = word as usize;
            if matches!(kind.scalar, Scalar::Ref(_)) && word != NULL && !found[node] {
                found[node] = true;
                count += 1;
                todo.push(node);
            }
        };
        for (slot, word) in self.steps.shared.iter().zip(&state.words) {
            visit(slot.kind, *word, &mut todo);
        }
        while let Some(node) = todo.pop() {
            let cells = &state.heap[node * self.node_stride..(node + 1) * self.node_stride];
            let layout = &self.steps.structs[(cells[0] & (FREED - 1)) as usize];
            for (slot, word) in layout.slots.iter().zip(&cells[1..]) {
                visit(slot.kind, *word, &mut todo);
            }
        }
        count
    }

    /// How many values a kind has, `null` included.
    pub fn domain(&self, kind: Kind) -> u32 {
        let plain = match kind.scalar {
            Scalar::Bool | Scalar::Lock => 2,
            Scalar::Int(range) => range.count(),
            Scalar::Value => self.bounds.values,
            Scalar::Key => self.bounds.keys,
            Scalar::Tid => self.thread_count() as u32,
            Scalar::Enum(count) => count,
            Scalar::Ref(_) => 0,
        };
        plain + u32::from(kind.nullable)
    }

    /// The `index`-th value of a kind; the last one is `null` if it may be.
    pub fn element(&self, kind: Kind, index: u32) -> i32 {
        if kind.nullable && index + 1 == self.domain(kind) {
            return NULL;
        }
        match kind.scalar {
            Scalar::Int(range) => range.low + index as i32,
            _ => index as i32,
        }
    }
}

/// The slots that hold references.
fn references(slots: &[Slot]) -> Vec<usize> {
    let slots = slots.iter().enumerate();
    let held = slots.filter(|(_, slot)| matches!(slot.kind.scalar, Scalar::Ref(_)));
    held.map(|(at, _)| at).collect()
}

/// For each step boundary, whether an `assume` or a lock stands between it and the next one.
fn may_wait(steps: &Steps, boundary: &[bool]) -> Vec<bool> {
    let waits = |at: usize| {
        let mut todo = vec![Pc(at as u32)];
        let mut seen = std::collections::BTreeSet::new();
        while let Some(pc) = todo.pop() {
            let op = &steps.code[pc.0 as usize].op;
            if matches!(op, Op::Lock(_) | Op::Assume(_)) {
                return true;
            }
            let next = crate::analysis::flow::successors(op, pc).into_iter();
            todo.extend(next.filter(|n| !boundary[n.0 as usize] && seen.insert(*n)));
        }
        false
    };
    (0..boundary.len()).map(|at| boundary[at] && waits(at)).collect()
}

impl<'m> Run<'m> {
    fn new(
        machine: &'m Machine,
        state: &'m mut State,
        choices: &'m mut Choices,
        thread: usize,
    ) -> Self {
        let seen = Seen::default();
        Run { machine, state, choices, thread, seen, links_shared: false, log: None, film: None }
    }

    fn step(&mut self, mut pc: Pc) -> Ran<()> {
        let machine = self.machine;
        let mut budget = 1;
        let mut joins = false;
        if machine.steps.method_at(pc).is_none() {
            pc = self.call(pc)?;
            budget = u32::from(machine.fused);
        }
        for _ in 0..FUEL {
            let op = &machine.steps.code[pc.0 as usize].op;
            let is_boundary = machine.boundary[pc.0 as usize];
            if is_boundary && machine.is_late(pc) {
                if budget == 0 {
                    self.set_position(pc);
                    return Ok(());
                }
            } else if is_boundary {
                let nests = machine.order.is_some() && matches!(op, Op::Lock(_));
                budget += u32::from(joins && (nests || !machine.may_wait[pc.0 as usize]));
                if budget == 0 {
                    self.set_position(pc);
                    return Ok(());
                }
                // Nobody notices a look at one's own registers: the access after it belongs to the
                // same step.
                if machine.steps.code[pc.0 as usize].pauses {
                    pc = self.proceed(pc)?;
                    continue;
                }
                budget -= 1;
                joins = machine.locks_join && matches!(op, Op::Lock(_));
            }
            if let Op::Return(value) = op {
                self.note(Executed { pc, next: Some(pc), access: None, made: None, gave: None });
                return self.give_back(pc, value);
            }
            // A release moves to the left only: nothing that comes after it belongs to this step. Nor
            // does what comes after a node was given back, for others may make it anew in between.
            if machine.fused && matches!(op, Op::Unlock(_)) || matches!(op, Op::Free(_)) {
                (budget, joins) = (0, false);
            }
            pc = self.proceed(pc)?;
        }
        Err(Stop::Fault(Fault::Endless, pc))
    }

    fn set_position(&mut self, pc: Pc) {
        let base = self.machine.thread_base(self.thread);
        self.state.words[base] = pc.0 as i32;
    }

    /// Runs the client's code up to its next call and enters the method.
    fn call(&mut self, mut pc: Pc) -> Ran<Pc> {
        let machine = self.machine;
        for _ in 0..FUEL {
            match &machine.steps.code[pc.0 as usize].op {
                Op::End => return Err(Stop::Ended),
                Op::Invoke { method, args, .. } => {
                    let info = &machine.steps.methods[*method as usize];
                    let args = self.evaluate_all(args, pc)?;
                    let base = machine.thread_base(self.thread);
                    let registers = machine.register_base(self.thread);
                    self.state.words[base + 1] = pc.0 as i32;
                    let own = registers + info.first_param.0 as usize;
                    self.state.words[own..base + machine.thread_stride].fill(NULL);
                    self.state.words[own..own + args.len()].copy_from_slice(&args);
                    self.seen.call = Some((*method, args));
                    return Ok(info.entry);
                }
                _ => pc = self.execute(pc)?,
            }
        }
        Err(Stop::Fault(Fault::Endless, pc))
    }

    fn give_back(&mut self, pc: Pc, value: &[Ex]) -> Ran<()> {
        let machine = self.machine;
        let value = self.evaluate_all(value, pc)?;
        let base = machine.thread_base(self.thread);
        let registers = machine.register_base(self.thread);
        let caller = Pc(self.state.words[base + 1] as u32);
        if let Op::Invoke { dst: Some(dst), .. } = &machine.steps.code[caller.0 as usize].op {
            let at = registers + dst.0 as usize;
            self.state.words[at..at + value.len()].copy_from_slice(&value);
        }
        self.state.words[base] = machine.rest(Pc(caller.0 + 1)).0 as i32;
        self.state.words[base + 1] = 0;
        let own = registers + machine.steps.persistent.len();
        self.state.words[own..base + machine.thread_stride].fill(NULL);
        self.disown();
        self.seen.ret = Some(value);
        Ok(())
    }

    /// The operation ends: its descriptors belong to nobody any more.
    fn disown(&mut self) {
        let Some(owners) = &self.machine.steps.owners else { return };
        for cells in self.state.heap.chunks_mut(self.machine.node_stride) {
            if cells[0] == VACANT {
                continue;
            }
            if let Some(slot) = owners[(cells[0] & (FREED - 1)) as usize]
                && cells[slot as usize + 1] == self.thread as i32
            {
                cells[slot as usize + 1] = NULL;
            }
        }
    }
}
