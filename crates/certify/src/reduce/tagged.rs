//! The program with a collector in the place of a tag: a shared pair `(node, tag)` becomes `node`, and
//! `recycle` does nothing.
//!
//! The pair is the only shared variable that refers to its struct, which has one link to itself; the
//! tag is an `int` without bounds; the pair begins with null. A *reading* is a load of the whole pair.
//! The methods may do this with pair and nodes, outside of atomic blocks:
//! 1. make a node, which is *own*: its link is null or the reference of a reading; data is written, and
//!    the link again, as long as it is own; it may be recycled;
//! 2. read the nodes of a reading, their own, and *taken* ones;
//! 3. `cas(pair, (r, t), (n, t + 1))` where r and t are of one reading: either n is own and r is its
//!    link (then n is not own any more), or n is the link of r, read since (then r is taken);
//! 4. recycle what they have taken, after which it is not used any more;
//! 5. compare references with null, and a reading with an earlier one, both parts, before any node was
//!    read in between.
//!
//! What was read in the node of a reading is *doubtful*: it may be copied; its link may be used as n in 3,
//! its data in any way once 3 succeeded or 5 found both readings equal. Readings are told apart by the
//! position of the load; a load forgets what came from the one before at this position.
//!
//! *Simulation.* Let a node of the stand-in be a node of the program from one making to the next. Tags
//! never come back: every change of the pair adds one. So where a reading is found again, the pair was
//! the same in between. By 1 and 3 the nodes that the pair leads to form a stack, each node is put on it
//! at most once, its contents do not change after that, and the thread that takes it off (4), or that
//! never put it there (1), is the only one to recycle it. So the nodes of the stack are not recycled,
//! and the program reads in the first one what the stand-in reads. All that is not doubtful is the same
//! in both; a `cas` and a comparison (5) that succeed do so in the stand-in, which may let either fail.
//!
//! It would be unsound to use what is doubtful, to follow or write a node that was given away, to let
//! tags stand still or wrap, or to lose track of what a register holds.

use super::{Rewriting, at_block, body_of, either, gets_out, owner, touched};
use seriatim_lang::flow;
use seriatim_lang::steps::{BinOp, Ex, NULL, Op, Pc, Place, Reg, Root, Steps};
use seriatim_lang::types::{Kind, Scalar, StructId};
use std::collections::{BTreeMap, HashSet};

/// The program without tag, if it has one.
pub fn without_tag(steps: &Steps) -> Option<Steps> {
    let found = (0..steps.shared.len() as u32).find_map(|slot| Tagged::at(steps, slot))?;
    Some(found.stand_in(steps))
}

/// What stands in the place of an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Act {
    Load(Reg),
    Cas(Ex, Ex, Pc),
    /// Where it goes on if these are equal, and if not.
    Compare(Reg, Reg, Pc, Pc),
    Nothing,
    Start,
}

/// What a register holds; the number is that of a reading.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Is {
    Reference(u32),
    Tag(u32),
    NextTag(u32),
    DoubtfulLink(u32),
    DoubtfulData(u32),
    Own,
    Taken,
    /// Not to be used.
    Gone,
    /// The same as in the stand-in.
    Plain,
}

impl Is {
    fn reading(self) -> Option<u32> {
        match self {
            Is::Reference(n) | Is::Tag(n) | Is::NextTag(n) => Some(n),
            Is::DoubtfulLink(n) | Is::DoubtfulData(n) => Some(n),
            Is::Own | Is::Taken | Is::Gone | Is::Plain => None,
        }
    }
}

/// What is known at a position. Registers that are not listed are plain, but if they may refer to a
/// node: those are gone.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Facts {
    registers: BTreeMap<Reg, Is>,
    /// The reading whose reference is the link of the own node.
    link: Option<u32>,
    /// The newest reading, as long as no node was read since.
    newest: Option<u32>,
}

impl Facts {
    /// The facts with every register that holds `from` holding `to`.
    fn all(&mut self, from: Is, to: Is) {
        self.registers.values_mut().filter(|is| **is == from).for_each(|is| *is = to);
    }

    fn set(&mut self, reg: Reg, is: Is) {
        self.registers.insert(reg, is);
    }

    /// A new reading takes the place of the one before at the same position.
    fn begin(&mut self, reading: u32) {
        let old = self.registers.values_mut().filter(|is| is.reading() == Some(reading));
        old.for_each(|is| *is = Is::Gone);
        if self.link == Some(reading) {
            self.link = None;
        }
        self.newest = Some(reading);
    }
}

struct Tagged {
    slot: u32,
    node: StructId,
    link: u32,
    acts: BTreeMap<usize, Act>,
}

impl Tagged {
    fn at(steps: &Steps, slot: u32) -> Option<Tagged> {
        let [reference, tag] = steps.shared.get(slot as usize..slot as usize + 2)? else {
            return None;
        };
        let Kind { scalar: Scalar::Ref(node), nullable: true } = reference.kind else {
            return None;
        };
        let third = steps.shared.get(slot as usize + 2).is_some_and(|slot| slot.joined);
        let joined = tag.joined && !reference.joined && !third;
        let layout = &steps.structs[node.0 as usize].slots;
        let odd = layout.iter().any(|s| s.plain || s.joined) || reference.plain || tag.plain;
        let mut links = (0..).zip(layout).filter(|(_, s)| s.kind.scalar == Scalar::Ref(node));
        let (Some((link, field)), None) = (links.next(), links.next()) else { return None };
        let fits = joined && !odd && is_endless(tag.kind) && field.kind.nullable;
        // What was freed may not be read: only what is recycled may.
        let readable = steps.recycles || !steps.frees;
        if !fits || !readable || gets_out(steps, node, slot) {
            return None;
        }
        let mut tagged = Tagged { slot, node, link, acts: BTreeMap::new() };
        tagged.starts_with_null(steps)?;
        for method in 0..steps.methods.len() {
            tagged.follow(steps, method)?;
        }
        // What no way comes to was not looked at.
        let seen = |at: usize| {
            let op = &steps.code[at].op;
            let writes = matches!(op, Op::Store { .. } | Op::Swap { .. } | Op::FetchAdd { .. });
            let pair = op.place().is_some_and(|place| tagged.touches_pair(place));
            let changes = writes && tagged.concerns(op) && body_of(steps, at) == 0;
            let matters = pair || changes || matches!(op, Op::Free(_));
            !matters || tagged.acts.contains_key(&at)
        };
        let complete = (0..steps.code.len()).all(seen);
        let used = tagged.acts.values().any(|act| matches!(act, Act::Cas(..)));
        (complete && used).then_some(tagged)
    }

    fn touches_pair(&self, place: &Place) -> bool {
        let pair = [(None, self.slot), (None, self.slot + 1)];
        touched(place).iter().any(|at| pair.contains(at))
    }

    /// Whether an access is one to the whole pair.
    fn is_pair(&self, place: &Place) -> bool {
        touched(place) == [(None, self.slot), (None, self.slot + 1)] && place.width == 2
    }

    /// Whether an instruction accesses the pair or a node, makes one or gives one back.
    fn concerns(&self, op: &Op) -> bool {
        let accesses = |place: &Place| owner(place) == Some(self.node) || self.touches_pair(place);
        match op {
            Op::New { of, .. } => *of == self.node,
            Op::Free(_) => true,
            op => op.place().is_some_and(accesses),
        }
    }

    /// Before all methods: null and a number are stored in the pair, and nothing else is done.
    fn starts_with_null(&mut self, steps: &Steps) -> Option<()> {
        for at in (0..steps.code.len()).filter(|at| body_of(steps, *at) == 0) {
            let op = &steps.code[at].op;
            if self.concerns(op) {
                let Op::Store { place, value } = op else { return None };
                let [Ex::Const(NULL), Ex::Const(_)] = value[..] else { return None };
                (self.is_pair(place) && self.acts.is_empty()).then_some(())?;
                self.acts.insert(at, Act::Start);
            }
        }
        (self.acts.len() == 1).then_some(())
    }

    fn follow(&mut self, steps: &Steps, method: usize) -> Option<()> {
        let code = &steps.methods[method];
        let mut met: HashSet<(Pc, Facts)> = HashSet::new();
        let mut open = vec![(code.entry, Facts::default())];
        while let Some((pc, facts)) = open.pop() {
            (code.entry <= pc && pc < code.end).then_some(())?;
            if met.insert((pc, facts.clone())) {
                // A program with very many ways is not looked through.
                (met.len() < 100_000).then_some(())?;
                let at = Position { steps, pc };
                open.extend(self.behind(at, facts)?);
            }
        }
        Some(())
    }

    fn takes(&mut self, pc: Pc, act: Act) -> Option<()> {
        let known = self.acts.entry(pc.0 as usize).or_insert_with(|| act.clone());
        (*known == act).then_some(())
    }

    /// How it goes on behind an instruction; none if it may not be there.
    fn behind(&mut self, at: Position, mut facts: Facts) -> Option<Vec<(Pc, Facts)>> {
        let (instr, next) = (at.instr(), Pc(at.pc.0 + 1));
        let concerned = self.concerns(&instr.op);
        (!concerned || !instr.inside_atomic).then_some(())?;
        match &instr.op {
            Op::Load { dst, place } if self.touches_pair(place) => {
                self.is_pair(place).then_some(())?;
                self.takes(at.pc, Act::Load(*dst))?;
                facts.begin(at.pc.0);
                facts.set(*dst, Is::Reference(at.pc.0));
                facts.set(Reg(dst.0 + 1), Is::Tag(at.pc.0));
            }
            Op::Cas { place, old, new, fail } if self.touches_pair(place) => {
                self.is_pair(place).then_some(())?;
                let done = self.exchanged(at, old, new, &facts)?;
                self.takes(at.pc, Act::Cas(old[0].clone(), new[0].clone(), *fail))?;
                return Some(vec![(next, done), (*fail, facts)]);
            }
            Op::Branch { cond, otherwise } => {
                let Some((two, earlier)) = self.compared(at, cond, &facts) else {
                    self.is_plain(at, cond, &facts).then_some(())?;
                    return Some(vec![(next, facts.clone()), (*otherwise, facts)]);
                };
                let (yes, no) = if two.if_equal { (next, *otherwise) } else { (*otherwise, next) };
                self.takes(at.pc, Act::Compare(two.references.0, two.references.1, yes, no))?;
                let mut equal = facts.clone();
                equal.all(Is::DoubtfulData(earlier), Is::Plain);
                return Some(vec![(yes, equal), (no, facts)]);
            }
            Op::Set { dst, value } => {
                let all: Vec<Is> = value.iter().map(|ex| self.what(at, ex, &facts)).collect();
                for (reg, (is, ex)) in (dst.0..).zip(all.into_iter().zip(value)) {
                    let copied = matches!(ex, Ex::Reg(_) | Ex::Const(NULL));
                    (copied || is != Is::Gone).then_some(())?;
                    facts.set(Reg(reg), is);
                }
            }
            Op::New { dst, fields, .. } if concerned => {
                facts.all(Is::Own, Is::Gone);
                for (slot, value) in (0..).zip(fields) {
                    self.fill(at, slot, value, &mut facts)?;
                }
                facts.set(*dst, Is::Own);
            }
            Op::Store { place, value } if concerned => {
                let (node, slot) = self.access(at, place, &facts)?;
                (node == Is::Own).then_some(())?;
                self.fill(at, slot, value.first()?, &mut facts)?;
            }
            Op::Load { dst, place } if concerned => {
                let (node, slot) = self.access(at, place, &facts)?;
                facts.newest = None;
                let is = match (node, slot == self.link) {
                    (Is::Reference(reading), true) => Is::DoubtfulLink(reading),
                    (Is::Reference(reading), false) => Is::DoubtfulData(reading),
                    (Is::Own | Is::Taken, true) => Is::Gone,
                    (Is::Own | Is::Taken, false) => Is::Plain,
                    _ => return None,
                };
                facts.set(*dst, is);
            }
            Op::Free(node) => {
                let is = self.what(at, node, &facts);
                matches!(is, Is::Own | Is::Taken).then_some(())?;
                facts.all(is, Is::Gone);
                self.takes(at.pc, Act::Nothing)?;
            }
            Op::Check { value, kind } => match self.what(at, value, &facts) {
                Is::Tag(_) | Is::NextTag(_) if is_endless(*kind) => {
                    self.takes(at.pc, Act::Nothing)?;
                }
                Is::Reference(_) | Is::Own | Is::Taken | Is::Plain => {}
                _ => return None,
            },
            Op::Lin { .. } => {}
            op => {
                (!concerned && !matches!(op, Op::SetAt { .. })).then_some(())?;
                let mut plain = true;
                flow::expressions(op, &mut |ex| plain &= self.is_plain(at, ex, &facts));
                plain.then_some(())?;
                for reg in flow::definitions(op) {
                    facts.set(Reg(reg), Is::Plain);
                }
                let onward = flow::successors(op, at.pc).into_iter();
                return Some(onward.map(|pc| (pc, facts.clone())).collect());
            }
        }
        Some(vec![(next, facts)])
    }

    /// What is known after a `cas` of the pair that succeeded.
    fn exchanged(&self, at: Position, old: &[Ex], new: &[Ex], facts: &Facts) -> Option<Facts> {
        let what = |ex: &Ex| self.what(at, ex, facts);
        let [r, t, n, next] = [what(&old[0]), what(&old[1]), what(&new[0]), what(&new[1])];
        let Is::Reference(reading) = r else { return None };
        let tags = t == Is::Tag(reading) && next == Is::NextTag(reading);
        let registers = matches!((&old[0], &new[0]), (Ex::Reg(_), Ex::Reg(_)));
        (tags && registers).then_some(())?;
        let mut done = facts.clone();
        if n == Is::Own && facts.link == Some(reading) {
            done.all(Is::Own, Is::Gone);
            done.all(r, Is::Gone);
            done.link = None;
        } else if n == Is::DoubtfulLink(reading) {
            // A node that was taken before stays with nobody.
            done.all(Is::Taken, Is::Gone);
            done.all(r, Is::Taken);
        } else {
            return None;
        }
        done.all(Is::DoubtfulData(reading), Is::Plain);
        for is in [t, next, Is::DoubtfulLink(reading)] {
            done.all(is, Is::Gone);
        }
        Some(done)
    }

    /// A slot of the own node is written.
    fn fill(&self, at: Position, slot: u32, value: &Ex, facts: &mut Facts) -> Option<()> {
        if slot != self.link {
            return self.is_plain(at, value, facts).then_some(());
        }
        facts.link = match (value, self.what(at, value, facts)) {
            (Ex::Const(NULL), _) => None,
            (Ex::Reg(_), Is::Reference(reading)) => Some(reading),
            _ => return None,
        };
        Some(())
    }

    /// What the node of an access is, and its slot.
    fn access(&self, at: Position, place: &Place, facts: &Facts) -> Option<(Is, u32)> {
        let Root::Node(node @ Ex::Reg(_), _) = &place.root else { return None };
        let [(_, slot)] = touched(place)[..] else { return None };
        Some((self.what(at, node, facts), slot))
    }

    /// What an expression gives.
    fn what(&self, at: Position, ex: &Ex, facts: &Facts) -> Is {
        match ex {
            Ex::Reg(reg) => match (facts.registers.get(reg), at.kind(*reg)) {
                (Some(Is::Plain) | None, Some(kind)) if kind.scalar != Scalar::Ref(self.node) => {
                    Is::Plain
                }
                (Some(Is::Plain) | None, _) => Is::Gone,
                (Some(is), _) => *is,
            },
            Ex::Bin(BinOp::Add, tag, one) if **one == Ex::Const(1) => {
                match self.what(at, tag, facts) {
                    Is::Tag(reading) => Is::NextTag(reading),
                    Is::Plain => Is::Plain,
                    _ => Is::Gone,
                }
            }
            ex if self.is_plain(at, ex, facts) => Is::Plain,
            _ => Is::Gone,
        }
    }

    /// Whether an expression gives the same in the stand-in: nothing but plain registers, and
    /// questions whether a reference is null.
    fn is_plain(&self, at: Position, ex: &Ex, facts: &Facts) -> bool {
        let plain = |ex: &Ex| self.is_plain(at, ex, facts);
        let held = |ex: &Ex| match ex {
            Ex::Reg(_) => {
                let is = self.what(at, ex, facts);
                matches!(is, Is::Reference(_) | Is::Own | Is::Taken)
            }
            _ => false,
        };
        match ex {
            Ex::Const(_) | Ex::SelfTid => true,
            Ex::Reg(_) => self.what(at, ex, facts) == Is::Plain,
            Ex::Bin(BinOp::Eq, a, b) if **b == Ex::Const(NULL) => held(a) || plain(a),
            Ex::Bin(BinOp::Eq, a, b) if **a == Ex::Const(NULL) => held(b) || plain(b),
            Ex::Bin(_, a, b) => plain(a) && plain(b),
            Ex::Not(a) | Ex::Neg(a) => plain(a),
            Ex::If(a, b, c) => plain(a) && plain(b) && plain(c),
            Ex::At { first, span, dims, .. } => {
                let all = (first.0..first.0 + span).map(|reg| Ex::Reg(Reg(reg)));
                all.into_iter().all(|ex| plain(&ex)) && dims.iter().all(|dim| plain(&dim.index))
            }
        }
    }

    /// Whether a condition compares the newest reading with an earlier one, and which that is.
    fn compared(&self, at: Position, cond: &Ex, facts: &Facts) -> Option<(Two, u32)> {
        let two = Two::of(cond)?;
        let reading = |reference: Reg, tag: Reg| {
            let is = |reg: Reg| self.what(at, &Ex::Reg(reg), facts);
            match (is(reference), is(tag)) {
                (Is::Reference(a), Is::Tag(b)) => (a == b).then_some(a),
                _ => None,
            }
        };
        let left = reading(two.references.0, two.tags.0)?;
        let right = reading(two.references.1, two.tags.1)?;
        let newest = facts.newest?;
        let earlier = [left, right].into_iter().find(|reading| *reading != newest)?;
        (left == newest || right == newest).then_some((two, earlier))
    }

    fn stand_in(&self, steps: &Steps) -> Steps {
        let mut result = steps.clone();
        let place = Place { root: Root::Shared, offset: self.slot, dims: vec![], width: 1 };
        let mut code = Rewriting::of(steps);
        for (at, act) in &self.acts {
            let start = |pc: Pc| at_block(pc.0 as usize, 0);
            let next = Pc(*at as u32 + 1);
            let place = place.clone();
            let ops = match act {
                Act::Load(dst) => {
                    let tag = Op::Set { dst: Reg(dst.0 + 1), value: vec![Ex::Const(0)] };
                    vec![Op::Load { dst: *dst, place }, tag]
                }
                Act::Cas(old, new, fail) => {
                    let (old, new) = (vec![old.clone()], vec![new.clone()]);
                    let cas = Op::Cas { place, old, new, fail: start(*fail) };
                    either(*at, cas, next, *fail)
                }
                Act::Compare(a, b, yes, no) => {
                    let (a, b) = (Box::new(Ex::Reg(*a)), Box::new(Ex::Reg(*b)));
                    let cond = Ex::Bin(BinOp::Eq, a, b);
                    vec![
                        Op::Choose(vec![at_block(*at, 1), start(*no)]),
                        Op::Branch { cond, otherwise: start(*no) },
                        Op::Jump(start(*yes)),
                    ]
                }
                Act::Nothing => vec![Op::Jump(start(next))],
                Act::Start => vec![Op::Store { place, value: vec![Ex::Const(NULL)] }],
            };
            code.put(*at, ops);
        }
        code.finish(&mut result);
        result.shared[self.slot as usize + 1].joined = false;
        (result.frees, result.recycles) = (false, false);
        result
    }
}

/// A position of a program.
#[derive(Clone, Copy)]
struct Position<'a> {
    steps: &'a Steps,
    pc: Pc,
}

impl<'a> Position<'a> {
    fn instr(self) -> &'a seriatim_lang::steps::Instr {
        &self.steps.code[self.pc.0 as usize]
    }

    /// What a register may hold.
    fn kind(self, reg: Reg) -> Option<Kind> {
        self.steps.register(self.pc, reg).map(|slot| slot.kind)
    }
}

/// Two equations of registers, as of two pairs.
struct Two {
    references: (Reg, Reg),
    tags: (Reg, Reg),
    /// Whether the condition holds if both do, or if one does not.
    if_equal: bool,
}

impl Two {
    fn of(cond: &Ex) -> Option<Two> {
        let (both, if_equal) = match cond {
            Ex::Not(both) => (&**both, false),
            both => (both, true),
        };
        let Ex::Bin(BinOp::And, first, second) = both else { return None };
        let registers = |ex: &Ex| {
            let Ex::Bin(BinOp::Eq, a, b) = ex else { return None };
            let (Ex::Reg(a), Ex::Reg(b)) = (&**a, &**b) else { return None };
            Some((*a, *b))
        };
        Some(Two { references: registers(first)?, tags: registers(second)?, if_equal })
    }
}

fn is_endless(kind: Kind) -> bool {
    match kind.scalar {
        Scalar::Int(range) => range.is_default() && !kind.nullable,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{library, lowered};
    use super::*;

    /// Whether a program has a tag that may be left out.
    fn is_one(source: &str) -> bool {
        without_tag(&lowered(source)).is_some()
    }

    /// Each change takes away one condition.
    #[test]
    fn what_only_looks_like_a_tag_stays() {
        for name in ["treiber_versioned", "treiber_versioned_anew", "pool_versioned"] {
            assert!(is_one(&library(name)), "{name}");
        }
        let source = library("treiber_versioned_peek");
        assert!(is_one(&source));
        for (old, new) in [
            ("(Node?, int)", "(Node?, int 0..100)"),
            ("var top:", "var spare: Node? = null\nvar top:"),
            ("next: Node? }", "next: Node?, back: Node? = null }"),
            ("(n, t.1 + 1)", "(n, t.1)"),
            ("(n, t.1 + 1)", "(n, t.1 + 2)"),
            ("(n, t.1 + 1)", "(t.0, t.1 + 1)"),
            ("(s, t.1 + 1)", "(null, t.1 + 1)"),
            ("(s, t.1 + 1)", "(t.0, t.1 + 1)"),
            ("if cas(top, t, (n, t.1 + 1)) { return }", "top = (n, t.1 + 1); return"),
            ("    n.next = t.0\n", ""),
            ("n.next = t.0", "n.next = n"),
            ("n.next = t.0", "n.next = t.0; let u = top; t = u"),
            ("{ return }\n", "{ n.next = null; return }\n"),
            ("{ return }\n", "{ recycle(n); return }\n"),
            ("recycle(t.0)", "recycle(t.0); recycle(t.0)"),
            ("recycle(t.0)", "recycle(s)"),
            ("recycle(t.0)", "free(t.0)"),
            ("let v = t.0.val\n      recycle(t.0)", "recycle(t.0); let v = t.0.val"),
            ("let s = t.0.next", "let s = t.0.next; recycle(t.0)"),
            ("let s = t.0.next", "let s = t.0.next; t = top"),
            ("let s = t.0.next", "let s = t.0.next; if s == null { continue }"),
            ("let s = t.0.next", "let s = t.0.next; s = s.next"),
            ("let s = t.0.next", "let s = t.0.next; t.0.next = null"),
            ("if top == t { return v }", "return v"),
            ("if top == t { return v }", "let u = top; if u.0 == t.0 { return v }"),
            ("if top == t { return v }", "let u = top; if u.1 == t.1 { return v }"),
            ("if top == t { return v }", "let u = top; v = t.0.val; if u == t { return v }"),
            ("if top == t { return v }", "if top == t {} return v"),
            ("if top == t { return v }", "if top != t { return v }"),
        ] {
            let changed = source.replacen(old, new, 1);
            assert_ne!(changed, source, "{old}");
            assert!(!is_one(&changed), "{new}");
        }
    }

    /// What was read once may be used as often as the pair is found again.
    #[test]
    fn another_way_to_write_it_is_one_as_well() {
        let source = library("treiber_versioned_peek");
        for (old, new) in [
            ("if top == t { return v }", "let u = top; if u == t { return v }"),
            ("if top == t { return v }", "if top != t { continue } return v"),
            ("let v = t.0.val\n      recycle(t.0)\n", "let v = t.0.val\n"),
            ("let s = t.0.next", "let v = t.0.val; let s = t.0.next"),
        ] {
            let changed = source.replacen(old, new, 1);
            assert_ne!(changed, source, "{old}");
            assert!(is_one(&changed), "{new}");
        }
    }
}
