//! The steps of a program: small instructions over registers, at most one shared access each.
//!
//! A *step* begins at a shared access (or at the marker of an `atomic` block) and takes along the
//! local instructions after it, up to the next shared access, or to an `assume` over registers,
//! where the thread may have to wait. The code of a method is therefore a control-flow graph whose
//! resting points are the shared accesses and whose edges are atomic steps. Engines see this and no
//! syntax. Composite values (tuples, arrays) are laid out in consecutive scalar slots.

pub(crate) mod lower;
mod ordering;
pub mod show;

pub use ordering::{Ordering, Orders};

use crate::front::program::VarId;
use crate::front::span::Span;
use crate::front::types::{Kind, StructId};

/// A position in the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct Pc(pub u32);

/// A register of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct Reg(pub u32);

/// The scalar that stands for `null` and `empty`.
pub const NULL: i32 = i32::MIN;
/// The scalar that stands for `-inf`.
pub const MINUS_INF: i32 = i32::MIN + 1;
/// The scalar that stands for `+inf`.
pub const PLUS_INF: i32 = i32::MAX;

/// An expression over the registers of one thread: no shared access, one scalar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ex {
    /// A scalar.
    Const(i32),
    /// A register.
    Reg(Reg),
    /// An element of an array that lies in `span` registers from `base`.
    At {
        /// The register of the first element's slot.
        base: Reg,
        /// The first register of the whole array.
        first: Reg,
        /// How many registers the whole array takes.
        span: u32,
        /// The indices.
        dims: Vec<Dim>,
    },
    /// The thread's own number.
    SelfTid,
    /// Logical negation.
    Not(Box<Ex>),
    /// `-e`.
    Neg(Box<Ex>),
    /// Two operands.
    Bin(BinOp, Box<Ex>, Box<Ex>),
    /// Conditional.
    If(Box<Ex>, Box<Ex>, Box<Ex>),
}

/// Operators of [`Ex`]. `And` and `Or` do not look at their right side when the left side decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinOp {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Quotient, rounded down.
    Div,
    /// Remainder, never negative.
    Rem,
    /// Equality.
    Eq,
    /// Order.
    Lt,
    /// Conjunction.
    And,
    /// Disjunction.
    Or,
}

/// One index of a place: adds `index * stride` to its address, with `index < len`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dim {
    /// The index.
    pub index: Ex,
    /// How many slots an element takes.
    pub stride: u32,
    /// How many elements there are.
    pub len: u32,
}

/// Where a shared place lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Root {
    /// Among the shared variables.
    Shared,
    /// In the heap node to which the expression points.
    Node(Ex, StructId),
}

/// A shared place: `width` slots from `offset` of its root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where.
    pub root: Root,
    /// The first slot, before indexing.
    pub offset: u32,
    /// The indices.
    pub dims: Vec<Dim>,
    /// How many slots.
    pub width: u32,
}

impl Place {
    /// All slots that an access may touch, whatever its indices are.
    pub fn slots(&self) -> std::ops::Range<u32> {
        let reach: u32 = self.dims.iter().map(|d| d.stride * (d.len - 1)).sum();
        self.offset..self.offset + reach + self.width
    }
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Registers from `dst` on get these values, evaluated before any is written.
    Set {
        /// The first register.
        dst: Reg,
        /// The values.
        value: Vec<Ex>,
    },
    /// The same for an element of an array in registers.
    SetAt {
        /// The register of the first element's slot.
        base: Reg,
        /// The first register of the whole array.
        first: Reg,
        /// How many registers the whole array takes.
        span: u32,
        /// The indices.
        dims: Vec<Dim>,
        /// The values.
        value: Vec<Ex>,
    },
    /// Reads a shared place.
    Load {
        /// The first register.
        dst: Reg,
        /// The place.
        place: Place,
    },
    /// Writes a shared place.
    Store {
        /// The place.
        place: Place,
        /// The values.
        value: Vec<Ex>,
    },
    /// Compare-and-swap: continues with the next instruction on success.
    Cas {
        /// The place.
        place: Place,
        /// What it must hold.
        old: Vec<Ex>,
        /// What it gets.
        new: Vec<Ex>,
        /// Where to continue otherwise.
        fail: Pc,
    },
    /// Writes a place and reads what it held.
    Swap {
        /// The first register of what it held.
        dst: Reg,
        /// The place.
        place: Place,
        /// What it gets.
        value: Vec<Ex>,
    },
    /// Adds to a place and reads what it held.
    FetchAdd {
        /// The register of what it held.
        dst: Reg,
        /// The place.
        place: Place,
        /// What is added.
        amount: Ex,
        /// What the place can hold.
        kind: Kind,
    },
    /// Store-conditional: succeeds if nothing wrote the variable since the load-linked.
    StoreConditional {
        /// The place.
        place: Place,
        /// What it gets.
        value: Vec<Ex>,
        /// The register that says whether the reservation stands.
        link: Reg,
        /// Where to continue otherwise.
        fail: Pc,
    },
    /// Takes a lock; waits while it is held.
    Lock(Place),
    /// Releases a lock.
    Unlock(Place),
    /// Orders the accesses before it with those after it, as [`Instr::orders`] says.
    Fence,
    /// The begin of an atomic block.
    Atomic,
    /// Allocates a node.
    New {
        /// The register of the reference.
        dst: Reg,
        /// Its struct.
        of: StructId,
        /// Its slots.
        fields: Vec<Ex>,
    },
    /// Gives a node back to the allocator.
    Free(Ex),
    /// Continues with the next instruction if the condition holds.
    Branch {
        /// The condition.
        cond: Ex,
        /// Where to continue otherwise.
        otherwise: Pc,
    },
    /// Continues elsewhere.
    Jump(Pc),
    /// Continues at any of these.
    Choose(Vec<Pc>),
    /// A register gets any value of its kind.
    Any {
        /// The register.
        dst: Reg,
        /// What it can hold.
        kind: Kind,
    },
    /// The run goes on only if this holds.
    Assume(Ex),
    /// It is an error if this does not hold.
    Assert(Ex),
    /// It is an error if the value does not fit.
    Check {
        /// The value.
        value: Ex,
        /// What it must fit.
        kind: Kind,
    },
    /// The operation takes effect here, if the condition holds.
    Lin {
        /// The condition.
        cond: Option<Ex>,
        /// Whose operation takes effect, if not the thread's own: its descriptor, or where points
        /// are followed ([`Steps::owners`]) its thread; null if it has returned.
        help: Option<Ex>,
    },
    /// The method returns.
    Return(Vec<Ex>),
    /// The client calls a method.
    Invoke {
        /// Its place in the list of methods.
        method: u32,
        /// The arguments.
        args: Vec<Ex>,
        /// The first register of the result.
        dst: Option<Reg>,
    },
    /// The client's thread ends.
    End,
}

/// An instruction and where it comes from.
#[derive(Clone, Debug)]
pub struct Instr {
    /// What it does.
    pub op: Op,
    /// Where it stands in the source.
    pub span: Span,
    /// How its access is ordered with others.
    pub orders: Orders,
    /// Whether it lies inside an atomic block.
    pub inside_atomic: bool,
    /// Whether its access may ride along with the step before it, in proofs.
    pub fused: bool,
    /// Whether a thread rests before it although it accesses nothing: an `assume` over registers,
    /// or a choice before one.
    pub pauses: bool,
}

/// The place in an instruction, shared or mutable as the instruction is.
macro_rules! place_in {
    ($op:expr) => {
        match $op {
            Op::Load { place, .. }
            | Op::Store { place, .. }
            | Op::Cas { place, .. }
            | Op::Swap { place, .. }
            | Op::FetchAdd { place, .. }
            | Op::StoreConditional { place, .. }
            | Op::Lock(place)
            | Op::Unlock(place) => Some(place),
            _ => None,
        }
    };
}

impl Op {
    /// The shared place that an instruction accesses.
    pub fn place(&self) -> Option<&Place> {
        place_in!(self)
    }

    /// The shared place that an instruction accesses, to be changed.
    pub fn place_mut(&mut self) -> Option<&mut Place> {
        place_in!(self)
    }
}

impl Instr {
    /// Whether a thread rests before it in proofs: it is a step of its own, and does not ride
    /// along.
    pub fn is_step(&self) -> bool {
        self.is_shared_access() && !self.fused
    }

    /// Whether a step begins here: it accesses shared state, or a thread may have to wait here.
    pub fn is_shared_access(&self) -> bool {
        self.accesses() || self.pauses
    }

    /// Whether it accesses shared state as a step of its own.
    pub fn accesses(&self) -> bool {
        let accesses = matches!(
            self.op,
            Op::Load { .. }
                | Op::Store { .. }
                | Op::Cas { .. }
                | Op::Swap { .. }
                | Op::FetchAdd { .. }
                | Op::StoreConditional { .. }
                | Op::Lock(_)
                | Op::Unlock(_)
                | Op::Atomic
        );
        accesses && !self.inside_atomic
    }
}

/// A scalar slot: what it may hold and how it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slot {
    /// What it may hold.
    pub kind: Kind,
    /// Its name, for people.
    pub name: String,
    /// Whether it is accessed without synchronisation.
    pub plain: bool,
    /// Whether it lies in one memory word with the slot before it.
    pub joined: bool,
}

/// The layout of a struct.
#[derive(Clone, Debug)]
pub struct StructLayout {
    /// Its name.
    pub name: String,
    /// Its slots.
    pub slots: Vec<Slot>,
}

/// The code of a method.
#[derive(Clone, Debug)]
pub struct MethodCode {
    /// Its name.
    pub name: String,
    /// Where it begins.
    pub entry: Pc,
    /// One past its last instruction.
    pub end: Pc,
    /// The first register of its parameters.
    pub first_param: Reg,
    /// What the parameters may hold.
    pub params: Vec<Kind>,
    /// What the result may hold.
    pub result: Vec<Kind>,
    /// Its own registers, which follow the thread's persistent ones.
    pub regs: Vec<Slot>,
}

/// What one thread of the client runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadCode {
    /// Where it begins.
    pub entry: Pc,
    /// Which role it plays: threads of one role are interchangeable.
    pub role: u32,
}

/// A variable that `ll` and `sc` work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The variable.
    pub var: VarId,
    /// Its first slot.
    pub first: u32,
    /// Its slots.
    pub width: u32,
    /// The register that says whether a thread's reservation stands.
    pub reg: Reg,
}

/// An array among the shared variables with one element for each thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadArray {
    /// The slot of the first thread's element.
    pub first: u32,
    /// How many slots an element takes.
    pub stride: u32,
}

/// A program as steps, for a fixed number of threads.
#[derive(Clone, Debug)]
pub struct Steps {
    /// The object's name.
    pub name: String,
    /// The code: initialisation, clients, methods.
    pub code: Vec<Instr>,
    /// The shared variables.
    pub shared: Vec<Slot>,
    /// The structs.
    pub structs: Vec<StructLayout>,
    /// The registers that outlive an operation: thread variables, reservations, client variables.
    pub persistent: Vec<Slot>,
    /// How many of the persistent registers belong to the object (the rest is the client's).
    pub object_registers: u32,
    /// The methods.
    pub methods: Vec<MethodCode>,
    /// What each thread runs.
    pub threads: Vec<ThreadCode>,
    /// Where the initialisation of the shared variables begins.
    pub init: Pc,
    /// Where the initialisation of a thread's variables begins.
    pub thread_init: Pc,
    /// Registers of the initialisation code, which follow the persistent ones.
    pub init_regs: Vec<Slot>,
    /// The variables that `ll` and `sc` work on.
    pub links: Vec<Link>,
    /// Whether the program frees nodes, so that references can dangle.
    pub frees: bool,
    /// Whether nodes that are given back stay what they are until they are made again, and may be
    /// read: `recycle`.
    pub recycles: bool,
    /// Whether thread numbers are stored or index arrays.
    pub uses_tids: bool,
    /// Whether threads are compared by their order or visited in it, so that they differ from each
    /// other: `t < self`, `for t in tid`.
    pub ranks_threads: bool,
    /// The arrays with one element for each thread that lie among the shared variables.
    pub thread_arrays: Vec<ThreadArray>,
    /// Whether such arrays also lie elsewhere: in nodes, in registers, in one another.
    pub scattered_arrays: bool,
    /// If linearization points are followed: for each struct the hidden slot that names the thread
    /// whose operation made the node, until that operation returns. Only descriptors of
    /// `@lin(help d)` have one.
    pub owners: Option<Vec<Option<u32>>>,
}

impl Steps {
    /// How many registers a thread needs.
    pub fn register_count(&self) -> usize {
        let own = self.methods.iter().map(|m| m.regs.len()).max().unwrap_or(0);
        self.persistent.len() + own.max(self.init_regs.len())
    }

    /// The method whose code contains this position.
    pub fn method_at(&self, pc: Pc) -> Option<&MethodCode> {
        self.methods.iter().find(|m| m.entry <= pc && pc < m.end)
    }

    /// The kind of a register at this position.
    pub fn register(&self, pc: Pc, reg: Reg) -> Option<&Slot> {
        let index = reg.0 as usize;
        match index.checked_sub(self.persistent.len()) {
            None => self.persistent.get(index),
            Some(own) => self.method_at(pc).and_then(|m| m.regs.get(own)),
        }
    }
}
