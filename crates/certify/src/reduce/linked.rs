//! The program with locks for queue locks in which each thread is told by the one before it (Mellor-Crummey
//! and Scott 1991).
//!
//! A shared variable `tail`, null at the start, that refers to a struct of a boolean and a link to the
//! same struct is such a lock if nothing but registers, the link and `tail` can hold a reference to
//! this struct, and if every way through a method, from its begin or from where it was last *out*,
//! goes on like this:
//! 1. *new*: a node without a link;
//! 2. *enter*: `swap(tail, node)` with this node; its result is the *previous* node, if any;
//! 3. *ask* whether there is a previous node. If there is none, the thread is *in*;
//! 4. else *link*: the own node is stored in the link of the previous one. The own boolean was made
//!    `true`, or stored so by this thread, before;
//! 5. *look*, as often as needed: a read of the own boolean and at once a branch on it, or the same as an
//!    `await`; *in* when it is `false`;
//! 6. *in*, the thread may read the link of its own node and ask whether there is a *next* one, or await it;
//! 7. *out* by `cas(tail, node, null)` with the own node, if it succeeds, or by storing `false` in the
//!    boolean of the next node, which is known to be there.
//!
//! A method returns only where nothing was begun since it was last out. References may be copied from
//! register to register; apart from this they are not used, nor compared. Only 5 and 6 may be in
//! atomic blocks, which then are those `await`s.
//!
//! *Invariant.* Let n1, n2, … be the nodes in the order of the swaps. A swap finds n(i-1), or null if the
//! thread of n(i-1) went out by `cas` (a node enters once, so the one that is found in `tail` entered
//! last). The link of n(i-1) is null or n(i), for only the thread of n(i) has n(i-1) as its previous
//! node; when it is n(i), the boolean of n(i) is `true` already, and from then on only the thread of
//! n(i-1) writes it, when it goes out. So the thread of n(i) is in only after that of n(i-1) is out,
//! and threads are in one after the other, in the order of the nodes. In the stand-in the lock is held
//! by whoever is in: it is free when somebody gets in, and its own when it goes out. Questions have
//! both answers there; all else does nothing.
//!
//! It would be unsound to let a thread look before its boolean is `true` or once it is out, to let it
//! tell another node than the next one, or to lose track of a reference.

use super::{
    Asked, Rewriting, asked, at_block, becomes_lock, body_of, each, either, gets_out, is_await,
    is_jumped_to, is_only_asked, owner, slot_at, touched,
};
use seriatim_lang::flow;
use seriatim_lang::steps::{BinOp, Ex, NULL, Op, Pc, Place, Reg, Root, Slot, Steps};
use seriatim_lang::types::{Kind, Scalar, StructId};
use std::collections::{BTreeMap, HashSet, VecDeque};

const TRUTH: Kind = Kind { scalar: Scalar::Bool, nullable: false };

/// The program with locks, if there are such locks in it.
pub fn with_locks(steps: &Steps) -> Option<Steps> {
    let tails = 0..steps.shared.len() as u32;
    each(steps, tails, |steps, tail| Some(LinkedLock::at(steps, tail)?.stand_in(steps)))
}

/// What stands in the place of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Act {
    Nothing,
    /// A step that leaves no trace.
    Idle,
    /// The lock is taken, and it goes on here; or it is not, and it goes on there.
    Enter(Pc, Option<Pc>),
    /// The lock is given back, or it is not, and it goes on there.
    TryLeave(Pc),
    Leave,
    /// It goes on here or there.
    Either(Pc, Pc),
    /// The store at the start.
    Start,
}

/// Where a thread is, of the steps 1 to 7.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Where {
    Out,
    Made,
    Entered,
    HasPrevious,
    HasLinked,
    In,
}

/// What a register refers to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Node {
    Own,
    Previous,
    /// The next node, if there is one.
    MaybeNext,
    Next,
}

/// What is known at a position.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Known {
    is: Where,
    /// The own boolean is `true`.
    waiting: bool,
    /// There is a next node: links are stored once.
    has_next: bool,
    nodes: BTreeMap<Reg, Node>,
}

impl Known {
    fn nothing() -> Known {
        Known { is: Where::Out, waiting: false, has_next: false, nodes: BTreeMap::new() }
    }

    /// What is known once the thread is in: the own node.
    fn inside(mut self) -> Known {
        self.nodes.retain(|_, node| *node == Node::Own);
        Known { is: Where::In, ..self }
    }

    fn with(mut self, reg: Reg, node: Node) -> Known {
        self.nodes.insert(reg, node);
        self
    }

    fn without(mut self, reg: Reg) -> Known {
        self.nodes.remove(&reg);
        self
    }

    fn has(&self, reg: Reg, node: Node) -> bool {
        self.nodes.get(&reg) == Some(&node)
    }
}

/// How it goes on: positions, with what is known there.
type Onward = Vec<(Pc, Known)>;

struct LinkedLock {
    tail: u32,
    node: StructId,
    boolean: u32,
    link: u32,
    acts: BTreeMap<usize, Act>,
    /// Positions that are come to from the one before only.
    inner: HashSet<usize>,
}

impl LinkedLock {
    fn at(steps: &Steps, tail: u32) -> Option<LinkedLock> {
        let slot = slot_at(steps, (None, tail));
        let Kind { scalar: Scalar::Ref(node), nullable: true } = slot.kind else { return None };
        let [first, second] = &steps.structs[node.0 as usize].slots[..] else { return None };
        let simple = |slot: &Slot| !slot.plain && !slot.joined;
        if ![slot, first, second].into_iter().all(simple) || gets_out(steps, node, tail) {
            return None;
        }
        let (boolean, link) = match (first.kind, second.kind) {
            (TRUTH, kind) if kind == slot.kind => (0, 1),
            (kind, TRUTH) if kind == slot.kind => (1, 0),
            _ => return None,
        };
        let (acts, inner) = (BTreeMap::new(), HashSet::new());
        let mut lock = LinkedLock { tail, node, boolean, link, acts, inner };
        lock.starts_empty(steps)?;
        for method in 0..steps.methods.len() {
            lock.follow(steps, method)?;
        }
        // What no way comes to was not looked at: it must have nothing to do with the lock.
        let known = |at: usize| lock.acts.contains_key(&at) || !lock.concerns(&steps.code[at].op);
        let complete = (0..steps.code.len()).all(known);
        let used = lock.acts.values().any(|act| matches!(act, Act::Enter(..)));
        (complete && used && !is_jumped_to(steps, |at| lock.inner.contains(&at))).then_some(lock)
    }

    /// Whether an instruction accesses the tail or a node, or makes one.
    fn concerns(&self, op: &Op) -> bool {
        let touches = |place: &Place| {
            owner(place) == Some(self.node) || touched(place).contains(&(None, self.tail))
        };
        op.place().is_some_and(touches) || matches!(op, Op::New { of, .. } if *of == self.node)
    }

    /// Before all methods: null is stored in `tail`, once.
    fn starts_empty(&mut self, steps: &Steps) -> Option<()> {
        for at in (0..steps.code.len()).filter(|at| body_of(steps, *at) == 0) {
            if !self.concerns(&steps.code[at].op) {
                continue;
            }
            match &steps.code[at].op {
                Op::Store { place, value } if touched(place) == [(None, self.tail)] => {
                    (value[0] == Ex::Const(NULL) && self.acts.is_empty()).then_some(())?;
                    self.acts.insert(at, Act::Start);
                }
                _ => return None,
            }
        }
        (self.acts.len() == 1).then_some(())
    }

    /// Follows all ways through a method.
    fn follow(&mut self, steps: &Steps, method: usize) -> Option<()> {
        let code = &steps.methods[method];
        let mut met: HashSet<(Pc, Known)> = HashSet::new();
        let mut queue = VecDeque::from([(code.entry, Known::nothing())]);
        while let Some((pc, known)) = queue.pop_front() {
            (code.entry <= pc && pc < code.end).then_some(())?;
            if met.insert((pc, known.clone())) {
                // A round has few registers; a program with very many ways is not looked through.
                (met.len() < 100_000).then_some(())?;
                queue.extend(self.behind(steps, pc, known)?);
            }
        }
        Some(())
    }

    fn takes(&mut self, at: usize, act: Act) -> Option<()> {
        (*self.acts.entry(at).or_insert(act) == act).then_some(())
    }

    /// How it goes on behind an instruction; none if it may not be there.
    fn behind(&mut self, steps: &Steps, pc: Pc, known: Known) -> Option<Onward> {
        let (at, next) = (pc.0 as usize, Pc(pc.0 + 1));
        let instr = &steps.code[at];
        if self.is_foreign(steps, at) {
            let returns = matches!(instr.op, Op::Return(_));
            (!returns || known.is == Where::Out).then_some(())?;
            let all = flow::successors(&instr.op, pc).into_iter();
            return Some(all.map(|pc| (pc, known.clone())).collect());
        }
        if instr.inside_atomic {
            return self.awaited(steps, at, known);
        }
        if let Op::Load { dst, place } = &instr.op
            && self.slot_of(place)? == self.boolean
        {
            return self.look(steps, at, *dst, known);
        }
        if let Op::Branch { cond, otherwise } = &instr.op {
            let (reg, null_if) = null_test(cond)?;
            let (null, other) = if null_if { (next, *otherwise) } else { (*otherwise, next) };
            let (act, without, with) = Self::tested(reg, (null, other), known)?;
            self.takes(at, act)?;
            return Some(vec![(null, without), (other, with)]);
        }
        if let Op::Cas { place, old, new, fail } = &instr.op {
            (touched(place) == [(None, self.tail)]).then_some(())?;
            let ([Ex::Reg(own)], [Ex::Const(NULL)]) = (&old[..], &new[..]) else { return None };
            (known.is == Where::In && known.has(*own, Node::Own)).then_some(())?;
            self.takes(at, Act::TryLeave(*fail))?;
            return Some(vec![(next, Known::nothing()), (*fail, known)]);
        }
        let (act, known) = self.moved(&instr.op, known)?;
        self.takes(at, act)?;
        Some(vec![(next, known)])
    }

    /// What is known behind an instruction that goes on with the next one.
    fn moved(&self, op: &Op, mut known: Known) -> Option<(Act, Known)> {
        match op {
            Op::New { dst, of, fields } if *of == self.node => {
                let unlinked = fields[self.link as usize] == Ex::Const(NULL);
                (known.is == Where::Out && unlinked).then_some(())?;
                let waiting = match fields[self.boolean as usize] {
                    Ex::Const(0) => false,
                    Ex::Const(1) => true,
                    _ => return None,
                };
                let nodes = BTreeMap::from([(*dst, Node::Own)]);
                Some((Act::Nothing, Known { is: Where::Made, waiting, has_next: false, nodes }))
            }
            Op::Swap { dst, place, value } => {
                let [Ex::Reg(own)] = &value[..] else { return None };
                (touched(place) == [(None, self.tail)]).then_some(())?;
                (known.is == Where::Made && known.has(*own, Node::Own)).then_some(())?;
                known.is = Where::Entered;
                Some((Act::Nothing, known.with(*dst, Node::Previous)))
            }
            Op::Store { place, value } => self.stored(place, &value[0], known),
            // Of the boolean: [`Self::look`].
            Op::Load { dst, place } => {
                (known.is == Where::In && known.has(node_of(place)?, Node::Own)).then_some(())?;
                let next = if known.has_next { Node::Next } else { Node::MaybeNext };
                Some((Act::Idle, known.with(*dst, next)))
            }
            Op::Set { dst, value } => {
                let [Ex::Reg(from)] = value[..] else { return None };
                let node = *known.nodes.get(&from)?;
                Some((Act::Nothing, known.with(*dst, node)))
            }
            Op::Check { value: Ex::Reg(reg), kind } => {
                let node = known.nodes.get(reg)?;
                let there = match node {
                    Node::Own | Node::Next => true,
                    Node::Previous => known.is != Where::Entered,
                    Node::MaybeNext => false,
                };
                (there || kind.nullable).then_some((Act::Nothing, known))
            }
            _ => None,
        }
    }

    fn stored(&self, place: &Place, value: &Ex, mut known: Known) -> Option<(Act, Known)> {
        let (to, slot) = (*known.nodes.get(&node_of(place)?)?, self.slot_of(place)?);
        match (to, value) {
            (Node::Previous, Ex::Reg(own)) if slot == self.link => {
                let right = known.is == Where::HasPrevious && known.waiting;
                (right && known.has(*own, Node::Own)).then_some(())?;
                known.is = Where::HasLinked;
                Some((Act::Nothing, known))
            }
            (Node::Own, Ex::Const(1)) if slot == self.boolean => {
                let early = matches!(known.is, Where::Made | Where::Entered | Where::HasPrevious);
                early.then_some((Act::Nothing, Known { waiting: true, ..known }))
            }
            (Node::Next, Ex::Const(0)) if slot == self.boolean => {
                (known.is == Where::In).then_some((Act::Leave, Known::nothing()))
            }
            _ => None,
        }
    }

    /// A reference is compared with null: what is known if it is, and if it is not.
    fn tested(reg: Reg, (null, other): (Pc, Pc), known: Known) -> Option<(Act, Known, Known)> {
        let node = *known.nodes.get(&reg)?;
        match (node, known.is) {
            (Node::Previous, Where::Entered) => {
                let more = Known { is: Where::HasPrevious, ..known.clone() };
                Some((Act::Enter(null, Some(other)), known.inside(), more))
            }
            (Node::MaybeNext, Where::In) => {
                let more = Known { has_next: true, ..known.clone().with(reg, Node::Next) };
                Some((Act::Either(null, other), known.without(reg), more))
            }
            _ => None,
        }
    }

    fn look(&mut self, steps: &Steps, at: usize, read: Reg, known: Known) -> Option<Onward> {
        let Asked { condition, holds, fails } = asked(steps, at)?;
        let (found, waits) = (fails?, holds?);
        (*condition == Ex::Reg(read)).then_some(())?;
        self.looks(steps, at, read, &known)?;
        self.takes(at, Act::Enter(found, Some(waits)))?;
        self.takes(at + 1, Act::Nothing)?;
        Some(vec![(found, known.clone().inside()), (waits, known)])
    }

    /// The own boolean is read for the next instruction only.
    fn looks(&mut self, steps: &Steps, at: usize, read: Reg, known: &Known) -> Option<()> {
        let own = known.has(node_of(steps.code[at].op.place()?)?, Node::Own);
        (own && known.is == Where::HasLinked).then_some(())?;
        let is_look =
            |op: &Op| op.place().and_then(|place| self.slot_of(place)) == Some(self.boolean);
        is_only_asked(steps, at, read, is_look).then_some(())?;
        self.inner.insert(at + 1);
        Some(())
    }

    /// An atomic block that reads the own node and waits for what it has read, and does nothing else.
    fn awaited(&mut self, steps: &Steps, at: usize, known: Known) -> Option<Onward> {
        is_await(steps, at).then_some(())?;
        let (Op::Load { dst, place }, Op::Assume(cond)) =
            (&steps.code[at].op, &steps.code[at + 1].op)
        else {
            return None;
        };
        let behind = Pc(at as u32 + 2);
        self.inner.extend([at, at + 1]);
        self.takes(at - 1, Act::Nothing)?;
        self.takes(at + 1, Act::Nothing)?;
        if self.slot_of(place)? == self.link {
            let own = known.is == Where::In && known.has(node_of(place)?, Node::Own);
            (own && null_test(cond) == Some((*dst, false))).then_some(())?;
            self.takes(at, Act::Nothing)?;
            let known = Known { has_next: true, ..known.with(*dst, Node::Next) };
            return Some(vec![(behind, known)]);
        }
        matches!(cond, Ex::Not(inside) if **inside == Ex::Reg(*dst)).then_some(())?;
        self.looks(steps, at, *dst, &known)?;
        self.takes(at, Act::Enter(behind, None))?;
        Some(vec![(behind, known.inside())])
    }

    /// The slot of a node of the queue that is accessed.
    fn slot_of(&self, place: &Place) -> Option<u32> {
        match &touched(place)[..] {
            [(Some(of), slot)] if *of == self.node => Some(*slot),
            _ => None,
        }
    }

    /// Whether an instruction has nothing to do with nodes: neither with the tail or a node, nor with a
    /// register that may refer to one.
    fn is_foreign(&self, steps: &Steps, at: usize) -> bool {
        let op = &steps.code[at].op;
        let refers = |reg: u32| {
            let slot = steps.register(Pc(at as u32), Reg(reg));
            slot.is_none_or(|slot| slot.kind.scalar == Scalar::Ref(self.node))
        };
        let mut foreign = !self.concerns(op);
        flow::uses(op, &mut |reg| foreign &= !refers(reg.0));
        foreign && !flow::definitions(op).any(refers)
    }

    fn stand_in(&self, steps: &Steps) -> Steps {
        let mut result = steps.clone();
        becomes_lock(&mut result, (None, self.tail));
        for at in self.acts.keys() {
            result.code[*at].inside_atomic = false;
        }
        let place = Place { root: Root::Shared, offset: self.tail, dims: vec![], width: 1 };
        let mut code = Rewriting::of(&result);
        let start = |pc: Pc| at_block(pc.0 as usize, 0);
        for (at, act) in &self.acts {
            let next = Pc(*at as u32 + 1);
            let ops = match *act {
                Act::Nothing => vec![Op::Jump(start(next))],
                Act::Idle => vec![Op::Atomic, Op::Jump(start(next))],
                Act::Enter(found, Some(waits)) => {
                    either(*at, Op::Lock(place.clone()), found, waits)
                }
                Act::Enter(_, None) => vec![Op::Lock(place.clone())],
                Act::TryLeave(fail) => either(*at, Op::Unlock(place.clone()), next, fail),
                Act::Leave => vec![Op::Unlock(place.clone())],
                Act::Either(null, other) => vec![Op::Choose(vec![start(null), start(other)])],
                Act::Start => continue,
            };
            code.put(*at, ops);
        }
        code.finish(&mut result);
        let registers = result.methods.iter_mut().flat_map(|m| &mut m.regs);
        let slots = &mut result.structs[self.node.0 as usize].slots;
        for slot in registers.chain(&mut result.init_regs).chain(slots) {
            if slot.kind.scalar == Scalar::Ref(self.node) {
                slot.kind = TRUTH;
            }
        }
        if result.structs.len() == 1 {
            result.structs.clear();
        }
        result
    }
}

/// The register of the node that is accessed.
fn node_of(place: &Place) -> Option<Reg> {
    match &place.root {
        Root::Node(Ex::Reg(reg), _) => Some(*reg),
        _ => None,
    }
}

/// The register that is compared with null, and whether the condition holds if it is null.
fn null_test(cond: &Ex) -> Option<(Reg, bool)> {
    let (cond, holds) = match cond {
        Ex::Not(inside) => (&**inside, false),
        cond => (cond, true),
    };
    let Ex::Bin(BinOp::Eq, a, b) = cond else { return None };
    match [&**a, &**b] {
        [Ex::Reg(reg), Ex::Const(NULL)] | [Ex::Const(NULL), Ex::Reg(reg)] => Some((*reg, holds)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{library, lowered};
    use super::*;

    /// Whether the stand-in of a program has other locks than the program.
    fn is_one(source: &str) -> bool {
        with_locks(&lowered(source)).is_some()
    }

    /// Each change takes away one condition.
    #[test]
    fn what_only_looks_like_such_a_lock_has_no_stand_in() {
        for name in ["mcs_counter", "mcs_queue", "mcs_set"] {
            assert!(is_one(&library(name)), "{name}");
        }
        let source = library("mcs_stack");
        assert!(is_one(&source));
        for (old, new) in [
            ("Waiter? = null\n", "Waiter? = new Waiter { next: null, waiting: false }\n"),
            ("var tail: Waiter?", "var spare: Waiter? = null\nvar tail: Waiter?"),
            ("waiting: bool }", "waiting: bool, more: bool = true }"),
            ("next: null, waiting: false", "next: tail, waiting: false"),
            ("  mine.waiting = true\n", ""),
            ("mine.waiting = true", "before.waiting = true"),
            ("  before.next = mine\n", ""),
            ("before.next = mine", "mine.next = before"),
            (
                "mine.waiting = true\n  before.next = mine",
                "before.next = mine\n  mine.waiting = true",
            ),
            ("  await !mine.waiting\n", ""),
            ("await !mine.waiting", "await mine.waiting"),
            ("await !mine.waiting", "await !before.waiting"),
            ("await !mine.waiting", "await !mine.waiting; await !mine.waiting"),
            ("await !mine.waiting", "await !mine.waiting; assert before != mine"),
            ("before == null", "before != null"),
            ("let before = swap(tail, mine)", "let before = tail; tail = mine"),
            ("swap(tail, mine)", "swap(mine.next, mine)"),
            ("swap(tail, mine)", "swap(tail, mine); before = swap(tail, mine)"),
            ("after == null", "after != null"),
            ("cas(tail, mine, null)", "cas(tail, after, null)"),
            ("cas(tail, mine, null)", "cas(mine.next, mine, null)"),
            ("if cas(tail, mine, null) { return }", "tail = null; return"),
            ("    await mine.next != null\n", ""),
            ("await mine.next != null", "await mine.next == null"),
            ("after.waiting = false", "mine.waiting = false"),
            ("after.waiting = false", "after.waiting = true"),
            ("after.waiting = false", "after.waiting = false; after.waiting = false"),
            ("after.waiting = false", "after.next = null"),
            ("  top = t.next\n  release(mine)", "  top = t.next"),
            ("  let t = top", "  acquire(mine)\n  let t = top"),
        ] {
            let changed = source.replacen(old, new, 1);
            assert_ne!(changed, source, "{old}");
            assert!(!is_one(&changed), "{new}");
        }
    }

    /// A thread may go through the queue several times, with another node each time.
    #[test]
    fn a_round_does_not_begin_with_nodes_of_an_earlier_one() {
        let twice = |again: &str| {
            format!(
                "object o : counter
struct W {{ waiting: bool, next: W? }}
var tail: W? = null
var count: int = 0
fn acquire(mine: W) {{
  let before = swap(tail, mine)
  if before != null {{ before.next = mine; while mine.waiting {{}} }}
}}
fn release(mine: W) {{
  if mine.next == null {{
    if cas(tail, mine, null) {{ return }}
    while mine.next == null {{}}
  }}
  let after = mine.next
  after.waiting = false
}}
method read() -> int {{
  let mine = new W {{ waiting: true, next: null }}
  acquire(mine)
  release(mine)
  {again}
  return 0
}}
"
            )
        };
        let second = "let own = new W { waiting: true, next: null }; acquire(own)";
        assert!(is_one(&twice(&format!("{second}; release(own)"))));
        assert!(!is_one(&twice(&format!("{second}; release(mine)"))));
        assert!(!is_one(&twice("acquire(mine); release(mine)")));
        assert!(!is_one(&twice("while mine.waiting {}")));
        assert!(!is_one(&twice(second)));
    }
}
