//! Takes the count from a counted pointer, and the recycling from its nodes.
//!
//! *Decided*: one shared variable, the *root*, that is a pair of a reference and a *count*, an integer
//! without bounds, and the only way to the nodes of a struct. Methods read the pair, and exchange it
//! by a `cas` that expects what was read and adds one to the count. They *push* a node of their own
//! whose link is the reference that is expected, or *pop*: the new reference is the link that was read
//! in the node of the expected one. Nodes are written before they are pushed only; a method gives
//! back the node that it popped, or one that it never pushed, once. What is read in a node that
//! others may have is used only if the pair is known to have been the same all the time: after such a
//! `cas`, or when the pair, read again, is equal, the count included ([`Way`]).
//!
//! *Why it is sound*: in `Q` nodes are collected as garbage and the count is gone. No count comes
//! twice, so a `cas` that succeeds, and a second reading that is equal, tell that the pair did not
//! change since it was read. Every node is pushed once from one making to the next, and behind the
//! first node of that moment, so what the root leads to is a stack of different nodes, whose links are
//! never written again. A node is given back by the only thread that popped it, or that made it, so no
//! node of the stack is; a node that was the first while it was read is therefore the same node in
//! `Q`, and what was read is what `Q` reads. What was read in a node that was given back meanwhile is
//! something else than in `Q`, but is not used: the `cas` fails. Whatever fails in `P` may fail in
//! `Q`, for which the references are enough to succeed. Memory that may be read after it was given back
//! (`recycle`) makes no faults.
//!
//! *What would make it unsound*: a count that comes back, by bounds or by a store; a node that is
//! pushed twice, or given back while the root leads to it; a write to a node that others have seen;
//! the use of something that was read in a node, before it is known that it was the first all the
//! time.

use super::ways::{self, Parts, is_alone, perhaps};
use super::{inner, method, nothing, replace};
use seriatim_lang::flow::{definitions, expression_uses, expressions};
use seriatim_lang::steps::{BinOp, Ex, NULL, Op, Pc, Place, Reg, Root, Slot, Steps};
use seriatim_lang::types::{Kind, Scalar, StructId};
use std::collections::BTreeMap;

/// Makes a plain reference of the counted one, if there is one.
pub fn plain(steps: &mut Steps) {
    let root = (1..steps.shared.len() as u32).find_map(|count| Counted::of(steps, count - 1));
    if let Some(root) = root {
        root.make(steps);
        super::slice::slice(steps);
    }
}

/// What an instruction does for the pair.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Part {
    /// Reads the reference into this register, and the count behind it.
    Reads(Reg),
    /// Exchanges the pair.
    Exchanges,
    /// Asks whether two references, and two counts, are equal: where it goes on if so, and if not.
    Same(Reg, Reg, Pc, Pc),
    /// Leaves no trace.
    Gone,
    /// Sets the pair at the start.
    Begin,
}

/// What a register holds. A pair is named by the position at which it was read last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Holds {
    /// The reference of a pair.
    First(Pc),
    /// The count of a pair.
    Count(Pc),
    /// One more than it.
    More(Pc),
    /// What was read in the node of a pair: the link.
    Link(Pc),
    /// The same, anything else.
    Data(Pc),
    /// A node that the method made and nobody else has.
    Own,
    /// The node that the method popped.
    Popped,
    /// Something that is not to be used any more.
    Lost,
}

/// What is known on a way through a method. A register without an entry holds what it holds in `Q`,
/// if it is no reference.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Way {
    regs: BTreeMap<Reg, Holds>,
    /// The pair whose reference the own node has for its link.
    behind: Option<Pc>,
    /// The pair that was read last, if no node was read since.
    last: Option<Pc>,
}

impl Way {
    /// Changes what registers hold; those of which `to` gives nothing hold what they hold in `Q`.
    fn turn(&mut self, to: impl Fn(Holds) -> Option<Holds>) {
        let regs = std::mem::take(&mut self.regs);
        let turned = regs.into_iter().filter_map(|(reg, holds)| Some((reg, to(holds)?)));
        self.regs = turned.collect();
    }

    fn lose(&mut self, which: impl Fn(Holds) -> bool) {
        self.turn(|holds| Some(if which(holds) { Holds::Lost } else { holds }));
    }

    fn put(&mut self, reg: Reg, holds: Option<Holds>) {
        match holds {
            Some(holds) => self.regs.insert(reg, holds),
            None => self.regs.remove(&reg),
        };
    }

    /// The pair is read at this position: what was read there before is forgotten.
    fn read(&mut self, pair: Pc) {
        use Holds::{Count, Data, First, Link, More};
        self.lose(|holds| match holds {
            First(of) | Count(of) | More(of) | Link(of) | Data(of) => of == pair,
            _ => false,
        });
        self.behind = self.behind.filter(|of| *of != pair);
        self.last = Some(pair);
    }

    /// The pair was the same all the time: so what was read in its node is what `Q` has read.
    fn sure(&mut self, pair: Pc) {
        self.turn(|holds| Some(holds).filter(|holds| *holds != Holds::Data(pair)));
    }

    /// A node with this link was pushed, or the node of the pair popped.
    fn exchanged(&mut self, pair: Pc, pops: bool) {
        self.sure(pair);
        match pops {
            true => {
                self.lose(|holds| matches!(holds, Holds::Popped) || holds == Holds::Link(pair));
                self.turn(|h| Some(if h == Holds::First(pair) { Holds::Popped } else { h }));
            }
            false => {
                let gone = [Holds::Own, Holds::First(pair), Holds::Link(pair)];
                self.lose(|holds| gone.contains(&holds));
                self.behind = None;
            }
        }
        self.lose(|holds| holds == Holds::Count(pair) || holds == Holds::More(pair));
    }
}

struct Counted {
    root: u32,
    of: StructId,
    link: u32,
    parts: Parts<Part>,
}

impl Counted {
    fn of(steps: &Steps, root: u32) -> Option<Counted> {
        let at = root as usize;
        let (slot, count) = (&steps.shared[at], &steps.shared[at + 1]);
        let Kind { scalar: Scalar::Ref(of), nullable: true } = slot.kind else { return None };
        let pair = !slot.plain && !slot.joined && !count.plain && count.joined;
        let ends = steps.shared.get(at + 2).is_none_or(|slot| !slot.joined);
        let fields = &steps.structs[of.0 as usize].slots;
        let links: Vec<usize> =
            (0..fields.len()).filter(|at| fields[*at].kind.scalar == Scalar::Ref(of)).collect();
        let [link] = links[..] else { return None };
        let simple = fields.iter().all(|slot| !slot.plain && !slot.joined);
        let linked = fields[link].kind.nullable && is_alone(steps, of, root);
        let collected = !steps.frees || steps.recycles;
        if !(pair && ends && has_no_bounds(count.kind) && simple && linked && collected) {
            return None;
        }
        let mut counted = Counted { root, of, link: link as u32, parts: Parts::none() };
        let whole = counted.begins_empty(steps)
            && (0..steps.methods.len()).all(|of| counted.is_followed(steps, of).is_some());
        let exchanged = counted.parts.any(|part| *part == Part::Exchanges);
        (whole && exchanged && counted.parts.cover(steps, |op| counted.changes(op)))
            .then_some(counted)
    }

    fn is_pair(&self, place: &Place) -> bool {
        place.root == Root::Shared
            && (place.slots().contains(&self.root) || place.slots().contains(&(self.root + 1)))
    }

    fn is_whole_pair(&self, place: &Place) -> bool {
        let begins = place.offset == self.root && place.dims.is_empty();
        place.root == Root::Shared && begins && place.width == 2
    }

    fn is_in_node(&self, place: &Place) -> bool {
        matches!(place.root, Root::Node(_, of) if of == self.of)
    }

    fn concerns(&self, op: &Op) -> bool {
        op.place().is_some_and(|place| self.is_pair(place) || self.is_in_node(place))
            || matches!(op, Op::New { of, .. } if *of == self.of)
            || matches!(op, Op::Free(_))
    }

    fn is_reference(&self, slot: &Slot) -> bool {
        slot.kind.scalar == Scalar::Ref(self.of)
    }

    /// The initialisation sets the pair once, to null and some number, and makes no nodes.
    fn begins_empty(&mut self, steps: &Steps) -> bool {
        let mut set = 0;
        for (at, instr) in steps.code.iter().enumerate() {
            if method(steps, at).is_some() || !self.concerns(&instr.op) {
                continue;
            }
            let Op::Store { place, value } = &instr.op else { return false };
            let right = matches!(value[..], [Ex::Const(NULL), Ex::Const(_)]);
            if !right || !self.is_whole_pair(place) {
                return false;
            }
            self.parts.play(at, Part::Begin);
            set += 1;
        }
        set == 1
    }

    fn is_followed(&mut self, steps: &Steps, of: usize) -> Option<()> {
        ways::follow(steps, of, Way::default(), |pc, way| self.follow(steps, pc, way))
    }

    /// Where a way goes on behind an instruction; none if it does what is not understood.
    fn follow(&mut self, steps: &Steps, pc: Pc, mut way: Way) -> Option<Vec<(Pc, Way)>> {
        let at = pc.0 as usize;
        let instr = &steps.code[at];
        if self.concerns(&instr.op) && instr.inside_atomic {
            return None;
        }
        let part = match &instr.op {
            Op::Load { dst, place } if self.is_pair(place) => {
                self.is_whole_pair(place).then_some(())?;
                way.read(pc);
                way.put(*dst, Some(Holds::First(pc)));
                way.put(Reg(dst.0 + 1), Some(Holds::Count(pc)));
                Some(Part::Reads(*dst))
            }
            Op::Cas { place, old, new, fail } if self.is_pair(place) => {
                self.is_whole_pair(place).then_some(())?;
                let (pair, pops) = self.exchange(old, new, &way)?;
                self.parts.play(at, Part::Exchanges)?;
                let mut done = way.clone();
                done.exchanged(pair, pops);
                return Some(vec![(Pc(pc.0 + 1), done), (*fail, way)]);
            }
            Op::Branch { cond, otherwise } if same(cond).is_some() => {
                let (references, counts, holds) = same(cond)?;
                let Some(pair) = self.compared(references, counts, &way) else {
                    self.uses_only_what_is_sure(steps, at, &way)?;
                    return Some(ways::go_on(&instr.op, pc, &way));
                };
                let (yes, no) = match holds {
                    true => (Pc(pc.0 + 1), *otherwise),
                    false => (*otherwise, Pc(pc.0 + 1)),
                };
                self.parts.play(at, Part::Same(references.0, references.1, yes, no))?;
                let mut sure = way.clone();
                sure.sure(pair);
                return Some(vec![(yes, sure), (no, way)]);
            }
            Op::Set { dst, value } => {
                let held: Vec<Option<Holds>> =
                    value.iter().map(|ex| self.held(steps, at, ex, &way)).collect::<Option<_>>()?;
                held.into_iter().zip(dst.0..).for_each(|(holds, reg)| way.put(Reg(reg), holds));
                None
            }
            Op::New { dst, of, fields } if *of == self.of => {
                way.lose(|holds| holds == Holds::Own);
                way.behind = None;
                for (slot, value) in (0..).zip(fields) {
                    self.written(steps, at, slot, value, &mut way)?;
                }
                way.put(*dst, Some(Holds::Own));
                None
            }
            Op::Store { place, value } if self.is_in_node(place) => {
                let (holds, slot) = self.node(place, &way)?;
                (holds == Holds::Own).then_some(())?;
                self.written(steps, at, slot, value.first()?, &mut way)?;
                None
            }
            Op::Load { dst, place } if self.is_in_node(place) => {
                let (holds, slot) = self.node(place, &way)?;
                way.last = None;
                let is_link = slot == self.link;
                let found = match holds {
                    Holds::First(pair) if is_link => Some(Holds::Link(pair)),
                    Holds::First(pair) => Some(Holds::Data(pair)),
                    Holds::Own | Holds::Popped if is_link => Some(Holds::Lost),
                    Holds::Own | Holds::Popped => None,
                    _ => return None,
                };
                way.put(*dst, found);
                None
            }
            Op::Free(Ex::Reg(node)) => {
                let holds = *way.regs.get(node)?;
                matches!(holds, Holds::Own | Holds::Popped).then_some(())?;
                way.lose(|other| other == holds);
                if holds == Holds::Own {
                    way.behind = None;
                }
                Some(Part::Gone)
            }
            Op::Check { value, kind } => match self.held(steps, at, value, &way)? {
                Some(Holds::Count(_) | Holds::More(_)) => {
                    has_no_bounds(*kind).then_some(Some(Part::Gone))?
                }
                Some(Holds::First(_) | Holds::Own | Holds::Popped) | None => None,
                Some(Holds::Link(_) | Holds::Data(_) | Holds::Lost) => return None,
            },
            op => {
                let points = matches!(op, Op::Lin { .. });
                if self.concerns(op) || matches!(op, Op::SetAt { .. }) {
                    return None;
                }
                if !points {
                    self.uses_only_what_is_sure(steps, at, &way)?;
                }
                definitions(op).for_each(|reg| way.put(Reg(reg), None));
                None
            }
        };
        if let Some(part) = part {
            self.parts.play(at, part)?;
        }
        Some(ways::go_on(&instr.op, pc, &way))
    }

    /// Which pair a `cas` expects, and whether it pops.
    fn exchange(&self, old: &[Ex], new: &[Ex], way: &Way) -> Option<(Pc, bool)> {
        let ([Ex::Reg(first), Ex::Reg(count)], [Ex::Reg(to), more]) = (old, new) else {
            return None;
        };
        let Holds::First(pair) = *way.regs.get(first)? else { return None };
        let counts = way.regs.get(count) == Some(&Holds::Count(pair));
        let adds = held_count(more, way) == Some(Holds::More(pair));
        (counts && adds).then_some(())?;
        match way.regs.get(to)? {
            Holds::Own if way.behind == Some(pair) => Some((pair, false)),
            Holds::Link(of) if *of == pair => Some((pair, true)),
            _ => None,
        }
    }

    /// The pair that is compared with the one that was read last, before any node was read.
    fn compared(&self, references: (Reg, Reg), counts: (Reg, Reg), way: &Way) -> Option<Pc> {
        let pair = |first: Reg, count: Reg| match (way.regs.get(&first)?, way.regs.get(&count)?) {
            (Holds::First(a), Holds::Count(b)) if a == b => Some(*a),
            _ => None,
        };
        let (a, b) = (pair(references.0, counts.0)?, pair(references.1, counts.1)?);
        match way.last? {
            last if last == a && a != b => Some(b),
            last if last == b && a != b => Some(a),
            _ => None,
        }
    }

    /// What a register gets that is set to this: nothing that is to be followed, if it is sure.
    fn held(&self, steps: &Steps, at: usize, ex: &Ex, way: &Way) -> Option<Option<Holds>> {
        if let Ex::Reg(reg) = ex
            && let Some(holds) = way.regs.get(reg)
        {
            return Some(Some(*holds));
        }
        match held_count(ex, way) {
            Some(count) => Some(Some(count)),
            None => self.is_sure(steps, at, ex, way).then_some(None),
        }
    }

    /// A slot of the own node is written.
    fn written(
        &self,
        steps: &Steps,
        at: usize,
        slot: u32,
        value: &Ex,
        way: &mut Way,
    ) -> Option<()> {
        if slot != self.link {
            return self.is_sure(steps, at, value, way).then_some(());
        }
        way.behind = match value {
            Ex::Const(NULL) => None,
            Ex::Reg(reg) => match way.regs.get(reg)? {
                Holds::First(pair) => Some(*pair),
                _ => return None,
            },
            _ => return None,
        };
        Some(())
    }

    /// What the register of a node holds, and which of its slots is accessed.
    fn node(&self, place: &Place, way: &Way) -> Option<(Holds, u32)> {
        let Root::Node(Ex::Reg(reg), _) = &place.root else { return None };
        let single = place.width == 1 && place.dims.is_empty();
        single.then_some((*way.regs.get(reg)?, place.offset))
    }

    fn uses_only_what_is_sure(&self, steps: &Steps, at: usize, way: &Way) -> Option<()> {
        let mut sure = true;
        expressions(&steps.code[at].op, &mut |ex| sure &= self.is_sure(steps, at, ex, way));
        sure.then_some(())
    }

    /// Whether an expression is the same in `Q`: references are compared with null only.
    fn is_sure(&self, steps: &Steps, at: usize, ex: &Ex, way: &Way) -> bool {
        let there = |ex: &Ex| match ex {
            Ex::Reg(reg) => {
                let holds = way.regs.get(reg);
                matches!(holds, Some(Holds::First(_) | Holds::Own | Holds::Popped))
            }
            _ => false,
        };
        let null = |ex: &Ex| *ex == Ex::Const(NULL);
        match ex {
            Ex::Bin(BinOp::Eq, a, b) if there(a) && null(b) || null(a) && there(b) => true,
            Ex::Not(a) | Ex::Neg(a) => self.is_sure(steps, at, a, way),
            Ex::Bin(_, a, b) => self.is_sure(steps, at, a, way) && self.is_sure(steps, at, b, way),
            _ => {
                let mut sure = true;
                expression_uses(ex, &mut |reg| {
                    let slot = steps.register(Pc(at as u32), reg);
                    sure &= !way.regs.contains_key(&reg);
                    sure &= slot.is_some_and(|slot| !self.is_reference(slot));
                });
                sure
            }
        }
    }

    /// Whether an instruction cannot stay as it is.
    fn changes(&self, op: &Op) -> bool {
        match op {
            Op::Load { place, .. } | Op::Cas { place, .. } => self.is_pair(place),
            op => matches!(op, Op::Free(_)),
        }
    }

    fn make(&self, steps: &mut Steps) {
        let place = Place { root: Root::Shared, offset: self.root, dims: vec![], width: 1 };
        replace(steps, |pc, instr| {
            Some(match (self.parts.at(pc.0 as usize)?, &instr.op) {
                (Part::Reads(dst), _) => vec![
                    Op::Load { dst: *dst, place: place.clone() },
                    Op::Set { dst: Reg(dst.0 + 1), value: vec![Ex::Const(0)] },
                ],
                (Part::Exchanges, Op::Cas { old, new, fail, .. }) => {
                    let (old, new) = (old[..1].to_vec(), new[..1].to_vec());
                    let cas = Op::Cas { place: place.clone(), old, new, fail: *fail };
                    perhaps(cas, Pc(pc.0 + 1), *fail)
                }
                (Part::Same(a, b, yes, no), _) => {
                    let equal = Ex::Bin(BinOp::Eq, Box::new(Ex::Reg(*a)), Box::new(Ex::Reg(*b)));
                    vec![
                        Op::Choose(vec![inner(1), *no]),
                        Op::Branch { cond: equal, otherwise: *no },
                        Op::Jump(*yes),
                    ]
                }
                (Part::Begin, _) => {
                    vec![Op::Store { place: place.clone(), value: vec![Ex::Const(NULL)] }]
                }
                (Part::Gone | Part::Exchanges, _) => vec![nothing(pc)],
            })
        });
        // Nobody asks for the count any more: it is a variable of its own.
        steps.shared[self.root as usize + 1].joined = false;
        (steps.frees, steps.recycles) = (false, false);
    }
}

/// A count, or one more than a count.
fn held_count(ex: &Ex, way: &Way) -> Option<Holds> {
    match ex {
        Ex::Reg(reg) => match way.regs.get(reg)? {
            holds @ (Holds::Count(_) | Holds::More(_)) => Some(*holds),
            _ => None,
        },
        Ex::Bin(BinOp::Add, a, b) => match (&**a, &**b) {
            (Ex::Reg(reg), Ex::Const(1)) => match way.regs.get(reg)? {
                Holds::Count(pair) => Some(Holds::More(*pair)),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// Two registers that are compared.
type Compared = (Reg, Reg);

/// A condition that two pairs of registers are equal: the first ones, the second ones, and whether
/// it holds if they are.
fn same(cond: &Ex) -> Option<(Compared, Compared, bool)> {
    let equal = |ex: &Ex| match ex {
        Ex::Bin(BinOp::Eq, a, b) => match (&**a, &**b) {
            (Ex::Reg(a), Ex::Reg(b)) => Some((*a, *b)),
            _ => None,
        },
        _ => None,
    };
    match cond {
        Ex::Not(inside) => same(inside).map(|(a, b, holds)| (a, b, !holds)),
        Ex::Bin(BinOp::And, a, b) => Some((equal(a)?, equal(b)?, true)),
        _ => None,
    }
}

fn has_no_bounds(kind: Kind) -> bool {
    matches!(kind.scalar, Scalar::Int(range) if range.is_default()) && !kind.nullable
}
