//! The program with locks for queue locks, in which each thread waits for the word of the one before
//! it (Craig 1993; Landin and Hagersten 1994).
//!
//! A shared variable `tail` that refers to a struct of one boolean is such a lock if nothing else in
//! the program can hold a reference to this struct but registers, if the initialisation stores one new
//! node with `false` in `tail` and does nothing else with such nodes, and if on every way through a
//! method these come in this order, any number of times, with nothing begun at a return:
//! 1. *new*: a node with `true`;
//! 2. *enter*: `swap(tail, node)` with this node; its result is the *previous* node;
//! 3. *look*, as often as needed: a read of the boolean of the previous node and at once a branch on
//!    it, or the same as an `await`; found when it is `false`;
//! 4. *leave*: `false` is stored in the own node.
//!
//! References may be copied from register to register; they are followed along every way, so that at
//! every position it is known which registers hold the own node and which the previous one, of this
//! round. Apart from this they are not used, nor compared. Only a look may be in an atomic block,
//! which then is that `await`.
//!
//! *Invariant.* The swaps order the nodes; the boolean of a node is `true` from its making until its
//! thread leaves, which it does at most once and not before it has found. So a thread that finds has
//! all nodes before its own behind it: their threads have left. Let the lock of the stand-in be held
//! from finding to leaving: at most one thread is in between, the one whose node is the first that was
//! not left; when it finds, the lock is free, and when it leaves, the lock is its own. All else that is
//! done for the lock does nothing in the stand-in.
//!
//! It would be unsound to accept a look at the previous node of an earlier round, a node that enters
//! twice or is left unfound, or a reference that gets out of registers.

use super::{
    Asked, Rewriting, asked, at_block, becomes_lock, body_of, each, either, gets_out, is_jumped_to,
    is_only_asked, owner, slot_at, touched,
};
use seriatim_lang::flow;
use seriatim_lang::steps::{Ex, Op, Pc, Place, Reg, Root, Steps};
use seriatim_lang::types::{Kind, Scalar, StructId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const TRUTH: Kind = Kind { scalar: Scalar::Bool, nullable: false };

/// The program with locks, if there are queue locks in it.
pub fn with_locks(steps: &Steps) -> Option<Steps> {
    let tails = 0..steps.shared.len() as u32;
    each(steps, tails, |steps, tail| Some(QueueLock::at(steps, tail)?.stand_in(steps)))
}

/// What an instruction is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Act {
    New,
    Enter,
    /// Where it goes on if it finds, and else.
    Look(Pc, Option<Pc>),
    Leave,
    /// It moves or checks a reference, or goes with a look.
    With,
    /// It is the store of the first node.
    Start,
}

/// How far a round has come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Stage {
    Out,
    New,
    Entered,
    Found,
}

/// Which node of this round a register holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Node {
    Own,
    Previous,
}

type Held = BTreeMap<Reg, Node>;

struct QueueLock {
    tail: u32,
    node: StructId,
    acts: BTreeMap<usize, Act>,
}

impl QueueLock {
    fn at(steps: &Steps, tail: u32) -> Option<QueueLock> {
        let slot = slot_at(steps, (None, tail));
        let Kind { scalar: Scalar::Ref(node), nullable: false } = slot.kind else { return None };
        let layout = &steps.structs[node.0 as usize].slots;
        let simple = layout.len() == 1 && layout[0].kind == TRUTH && !layout[0].plain;
        if !simple || slot.joined || slot.plain || gets_out(steps, node, tail) {
            return None;
        }
        let mut lock = QueueLock { tail, node, acts: BTreeMap::new() };
        lock.starts_left(steps)?;
        for method in 0..steps.methods.len() {
            lock.rounds(steps, method)?;
        }
        // What no way comes to was not looked at: it must have nothing to do with the lock.
        let concerns = |at: usize| {
            let op = &steps.code[at].op;
            matches!(op, Op::New { of, .. } if *of == node) || lock.is_tail(op) || lock.is_word(op)
        };
        let complete = (0..steps.code.len()).all(|at| !concerns(at) || lock.acts.contains_key(&at));
        let used = lock.acts.values().any(|act| matches!(act, Act::Enter));
        (complete && used && lock.is_closed(steps)).then_some(lock)
    }

    fn is_tail(&self, op: &Op) -> bool {
        op.place().is_some_and(|place| touched(place).contains(&(None, self.tail)))
    }

    fn is_word(&self, op: &Op) -> bool {
        op.place().is_some_and(|place| owner(place) == Some(self.node))
    }

    /// The register of the node whose boolean is accessed.
    fn node_of(place: &Place) -> Option<Reg> {
        match &place.root {
            Root::Node(Ex::Reg(reg), _) => Some(*reg),
            _ => None,
        }
    }

    /// Before all methods: one node with `false`, stored in `tail`.
    fn starts_left(&mut self, steps: &Steps) -> Option<()> {
        let mut first: Option<Reg> = None;
        let mut stored = 0;
        for at in (0..steps.code.len()).filter(|at| body_of(steps, *at) == 0) {
            let op = &steps.code[at].op;
            let mentions = first.is_some_and(|first| {
                let mut found = false;
                flow::uses(op, &mut |reg| found |= reg == first);
                found || flow::definitions(op).any(|reg| Reg(reg) == first)
            });
            match op {
                Op::New { dst, of, fields } if *of == self.node => {
                    (first.is_none() && fields[0] == Ex::Const(0)).then_some(())?;
                    first = Some(*dst);
                    self.acts.insert(at, Act::New);
                }
                Op::Check { value: Ex::Reg(reg), .. } if Some(*reg) == first => {
                    self.acts.insert(at, Act::With);
                }
                Op::Store { place, value } if self.is_tail(op) => {
                    stored += 1;
                    let right = first.is_some() && value[0] == Ex::Reg(first?);
                    (right && place.width == 1 && place.dims.is_empty()).then_some(())?;
                    self.acts.insert(at, Act::Start);
                }
                _ if mentions || self.is_tail(op) || self.is_word(op) => return None,
                _ => {}
            }
        }
        (stored == 1).then_some(())
    }

    /// Follows all ways through a method.
    fn rounds(&mut self, steps: &Steps, method: usize) -> Option<()> {
        let code = &steps.methods[method];
        let mut met: BTreeSet<(Pc, Stage, Held)> = BTreeSet::new();
        let mut queue = VecDeque::from([(code.entry, Stage::Out, Held::new())]);
        while let Some((pc, stage, held)) = queue.pop_front() {
            (code.entry <= pc && pc < code.end).then_some(())?;
            if !met.insert((pc, stage, held.clone())) {
                continue;
            }
            // A round has few registers; a program with very many ways is not looked through.
            (met.len() < 100_000).then_some(())?;
            let at = pc.0 as usize;
            match self.act(steps, at, stage, &held)? {
                None => {
                    let ends = matches!(steps.code[at].op, Op::Return(_));
                    (!ends || stage == Stage::Out).then_some(())?;
                    let next = flow::successors(&steps.code[at].op, pc);
                    queue.extend(next.into_iter().map(|next| (next, stage, held.clone())));
                }
                Some((act, stage_after, held_after)) => {
                    if *self.acts.entry(at).or_insert(act) != act {
                        return None;
                    }
                    match act {
                        Act::Look(found, otherwise) => {
                            self.acts.insert(at + 1, Act::With);
                            if steps.code[at].inside_atomic {
                                self.acts.insert(at - 1, Act::With);
                            }
                            queue.extend(otherwise.map(|pc| (pc, stage, held.clone())));
                            queue.push_back((found, Stage::Found, held));
                        }
                        _ => queue.push_back((Pc(pc.0 + 1), stage_after, held_after)),
                    }
                }
            }
        }
        Some(())
    }

    /// What an instruction is for, and how the round goes on behind it; inside: none if it has
    /// nothing to do with the lock; outside: none if it may not be there.
    fn act(
        &self,
        steps: &Steps,
        at: usize,
        stage: Stage,
        held: &Held,
    ) -> Option<Option<(Act, Stage, Held)>> {
        let instr = &steps.code[at];
        let holds = |reg: Reg, node: Node| held.get(&reg) == Some(&node);
        let free = !instr.inside_atomic;
        let act = match &instr.op {
            Op::New { dst, of, fields } if *of == self.node => {
                (free && stage == Stage::Out && fields[0] == Ex::Const(1)).then_some(())?;
                (Act::New, Stage::New, Held::from([(*dst, Node::Own)]))
            }
            Op::Swap { dst, place, value } if self.is_tail(&instr.op) => {
                let [Ex::Reg(node)] = value[..] else { return None };
                let whole = place.width == 1 && place.dims.is_empty();
                (whole && free && stage == Stage::New && holds(node, Node::Own)).then_some(())?;
                let mut held = held.clone();
                held.insert(*dst, Node::Previous);
                (Act::Enter, Stage::Entered, held)
            }
            Op::Load { dst, place } if self.is_word(&instr.op) => {
                let node = QueueLock::node_of(place)?;
                (stage == Stage::Entered && holds(node, Node::Previous)).then_some(())?;
                (self.look(steps, at, *dst)?, Stage::Found, held.clone())
            }
            Op::Store { place, value } if self.is_word(&instr.op) => {
                let node = QueueLock::node_of(place)?;
                let right = free && stage == Stage::Found && value[0] == Ex::Const(0);
                (right && holds(node, Node::Own)).then_some(())?;
                (Act::Leave, Stage::Out, Held::new())
            }
            Op::Check { value: Ex::Reg(reg), .. } if free && held.contains_key(reg) => {
                (Act::With, stage, held.clone())
            }
            Op::Set { dst, value } if value.len() == 1 => match &value[0] {
                Ex::Reg(from) if free && held.contains_key(from) => {
                    let mut after = held.clone();
                    after.insert(*dst, held[from]);
                    (Act::With, stage, after)
                }
                _ => return self.is_idle(steps, at).then_some(None),
            },
            _ => return self.is_idle(steps, at).then_some(None),
        };
        Some(Some(act))
    }

    /// Whether an instruction has nothing to do with nodes: it neither reads nor writes a register
    /// that may hold one.
    fn is_idle(&self, steps: &Steps, at: usize) -> bool {
        let op = &steps.code[at].op;
        let refers = |reg: u32| {
            let slot = steps.register(Pc(at as u32), Reg(reg));
            slot.is_none_or(|slot| slot.kind.scalar == Scalar::Ref(self.node))
        };
        let mut idle = !self.is_tail(op) && !self.is_word(op);
        flow::uses(op, &mut |reg| idle &= !refers(reg.0));
        idle && !flow::definitions(op).any(refers)
    }

    fn look(&self, steps: &Steps, at: usize, read: Reg) -> Option<Act> {
        let Asked { condition, holds, fails } = asked(steps, at)?;
        let alone = is_only_asked(steps, at, read, |op| self.is_word(op));
        (*condition == Ex::Reg(read) && alone).then_some(Act::Look(fails?, holds))
    }

    /// Nothing jumps between a look and what goes with it.
    fn is_closed(&self, steps: &Steps) -> bool {
        let looks = |at: usize| matches!(self.acts.get(&at), Some(Act::Look(..)));
        let mut middle: BTreeSet<usize> = BTreeSet::new();
        for at in (0..steps.code.len()).filter(|at| looks(*at)) {
            middle.insert(at + 1);
            if steps.code[at].inside_atomic {
                middle.insert(at);
            }
        }
        !is_jumped_to(steps, |at| middle.contains(&at))
    }

    fn stand_in(&self, steps: &Steps) -> Steps {
        let mut result = steps.clone();
        becomes_lock(&mut result, (None, self.tail));
        for at in self.acts.keys() {
            result.code[*at].inside_atomic = false;
        }
        let place = || Place { root: Root::Shared, offset: self.tail, dims: vec![], width: 1 };
        let mut code = Rewriting::of(&result);
        let to = |pc: Pc| Op::Jump(at_block(pc.0 as usize, 0));
        for (at, act) in &self.acts {
            let ops = match act {
                Act::New | Act::Enter | Act::With => vec![to(Pc(*at as u32 + 1))],
                Act::Look(found, Some(otherwise)) => {
                    either(*at, Op::Lock(place()), *found, *otherwise)
                }
                Act::Look(_, None) => vec![Op::Lock(place())],
                Act::Leave => vec![Op::Unlock(place())],
                Act::Start => continue,
            };
            code.put(*at, ops);
        }
        code.finish(&mut result);
        let registers = result.methods.iter_mut().flat_map(|m| &mut m.regs);
        for slot in registers.chain(&mut result.init_regs) {
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
    fn what_only_looks_like_a_queue_lock_has_no_stand_in() {
        let source = library("clh_stack");
        assert!(is_one(&source));
        for (old, new) in [
            ("{ held: true }", "{ held: false }"),
            ("Waiter { held: false }\n", "Waiter { held: true }\n"),
            ("struct Waiter { held: bool }", "struct Waiter { held: bool, more: bool = true }"),
            ("var tail: Waiter =", "var spare: Waiter? = null\nvar tail: Waiter ="),
            ("mine.held = false", "before.held = false"),
            ("mine.held = false", "mine.held = true"),
            ("mine.held = false", "mine.held = false; mine.held = false"),
            ("mine.held = false", "tail.held = false"),
            ("  await !before.held\n", ""),
            ("await !before.held", "await before.held"),
            ("await !before.held", "await !mine.held"),
            ("await !before.held", "await !before.held; await !before.held"),
            ("await !before.held", "let old = before; await !before.held; await !old.held"),
            ("await !before.held", "await !before.held; assert before != mine"),
            ("swap(tail, mine)", "swap(tail, mine); before = swap(tail, mine)"),
            ("swap(tail, mine)", "tail"),
            ("let before = swap(tail, mine)", "let before = tail; tail = mine"),
            ("  mine.held = false\n  return t.val", "  return t.val"),
            ("  n.next = top", "  mine = before\n  n.next = top"),
        ] {
            let changed = source.replacen(old, new, 1);
            assert_ne!(changed, source, "{old}");
            assert!(!is_one(&changed), "{new}");
        }
    }

    /// A thread may go through the queue several times, but never with what is left of an earlier
    /// time.
    #[test]
    fn a_round_does_not_begin_with_nodes_of_an_earlier_one() {
        let twice = |again: &str| {
            format!(
                "object o : counter
struct W {{ held: bool }}
var tail: W = new W {{ held: false }}
var count: int = 0
method read() -> int {{
  let mine = new W {{ held: true }}
  let before = swap(tail, mine)
  while before.held {{}}
  mine.held = false
  {again}
  return 0
}}
"
            )
        };
        let second = "let own = new W { held: true }; let other = swap(tail, own)";
        assert!(is_one(&twice(&format!("{second}; while other.held {{}}; own.held = false"))));
        assert!(!is_one(&twice(&format!("{second}; while before.held {{}}; own.held = false"))));
        assert!(!is_one(&twice(&format!("{second}; while other.held {{}}; mine.held = false"))));
        assert!(!is_one(&twice("while before.held {}")));
        assert!(!is_one(&twice("let other = swap(tail, mine); while other.held {}")));
    }
}
