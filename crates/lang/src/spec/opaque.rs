//! Whether a specification only compares its version and copies it, read off its text.
//!
//! Then it matters *that* two versions are the same or in which order they are, and not how far
//! apart: if every number that operations tell keeps its place, all others may be replaced by others
//! in the same order, and every method does the same. So of a million numbers that nobody mentions
//! a few will do.
//!
//! What is asked, each a check below, in the order in which the proof needs it:
//! - the version before a change is not seen: a method that counts it up does not mention it before
//!   that, and one that does not only returns it;
//! - no calculation has an operand that comes from a version;
//! - what comes from a version and what is calculated do not meet in one expression, so that
//!   whatever a version is compared with was told, stands in the text, or is a version, too.

use super::access::{mentions_state, root};
use super::code::{bottom, written_parts};
use crate::front::ast::*;
use crate::front::program::{FunctionInfo, LocalId, Meaning, SpecInfo, VarId};
use crate::front::walk;
use std::collections::HashSet;

/// Whether the version of a specification is only compared and copied.
pub fn is_opaque(spec: &SpecInfo, version: VarId) -> bool {
    let is_opaque = |flow: &Flow<'_>, method: &FunctionInfo| {
        flow.is_unseen_before(&method.body) && flow.never_meet(method)
    };
    Flow::of(spec, version)
        .is_some_and(|flow| spec.methods.iter().all(|method| is_opaque(&flow, method)))
}

/// Whether the version of a specification is only compared, copied and counted up: as
/// [`is_opaque`], but methods that change nothing may look at it. Then all versions above every
/// number that is named anywhere are alike to those that do.
pub fn is_compared(spec: &SpecInfo, version: VarId) -> bool {
    Flow::of(spec, version)
        .is_some_and(|flow| spec.methods.iter().all(|method| flow.never_meet(method)))
}

/// All numbers that the text of a specification names.
pub fn literals(spec: &SpecInfo) -> Vec<i64> {
    let mut found: Vec<i64> = spec.facts.consts.values().map(|&number| number.into()).collect();
    let mut look = |expr: &Expr| {
        if let ExprKind::Int(number) = expr.kind {
            found.extend([number, -number]);
        }
    };
    let initial = spec.vars.iter().filter_map(|var| var.init.as_ref());
    initial.for_each(|init| walk::expression(init, &mut look));
    let bodies = spec.methods.iter().chain(&spec.functions).map(|function| &function.body);
    bodies.for_each(|body| walk::expressions(body, &mut look));
    found
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    Var(VarId),
    Local(LocalId),
}

struct Flow<'s> {
    spec: &'s SpecInfo,
    version: VarId,
    /// What may hold a version.
    copied: HashSet<Place>,
    /// What may hold the result of a calculation.
    calculated: HashSet<Place>,
}

impl<'s> Flow<'s> {
    /// Where the version of a specification goes; `None` if it is calculated with, or if functions
    /// might look at it.
    fn of(spec: &'s SpecInfo, version: VarId) -> Option<Self> {
        if spec.functions.iter().any(|function| mentions_state(spec, function)) {
            return None;
        }
        let mut flow = Flow { spec, version, copied: HashSet::new(), calculated: HashSet::new() };
        flow.copied.insert(Place::Var(version));
        flow.spread();
        flow.copied.is_disjoint(&flow.calculated).then_some(flow)
    }

    /// Follows assignments until nothing new comes to light.
    fn spread(&mut self) {
        loop {
            let known = self.copied.len() + self.calculated.len();
            for method in &self.spec.methods {
                walk::statements(&method.body, &mut |statement| self.assignment(statement));
            }
            if self.copied.len() + self.calculated.len() == known {
                return;
            }
        }
    }

    fn assignment(&mut self, statement: &Stmt) {
        if self.counts(statement) {
            return;
        }
        let (places, value): (Vec<Place>, &Expr) = match &statement.kind {
            StmtKind::Let(Pattern::Bind(binding), _, value) => (self.bound(&[binding]), value),
            StmtKind::Let(Pattern::Tuple(parts), _, value) => {
                (self.bound(&parts.iter().flatten().collect::<Vec<_>>()), value)
            }
            StmtKind::For(binding, collection, _) => (self.bound(&[binding]), collection),
            StmtKind::Assign(targets, value) => {
                let places = targets.iter().flatten().filter_map(|target| self.place(target));
                (places.collect(), value)
            }
            _ => return,
        };
        if self.mentions(value, &self.copied) {
            self.copied.extend(&places);
        }
        if self.mentions(value, &self.calculated) || calculates(value) {
            self.calculated.extend(&places);
        }
    }

    fn bound(&self, bindings: &[&Binding]) -> Vec<Place> {
        let local = |binding: &&Binding| match self.spec.facts.meaning(binding.id) {
            Some(Meaning::Local(local)) => Some(Place::Local(local)),
            _ => None,
        };
        bindings.iter().filter_map(local).collect()
    }

    /// What a place belongs to.
    fn place(&self, place: &Expr) -> Option<Place> {
        match self.spec.facts.meaning(bottom(place)?.id)? {
            Meaning::Local(local) => Some(Place::Local(local)),
            Meaning::Shared(var) => Some(Place::Var(var)),
            _ => None,
        }
    }

    fn mentions(&self, expr: &Expr, places: &HashSet<Place>) -> bool {
        let mut found = false;
        walk::expression(expr, &mut |part| {
            let is_name = matches!(part.kind, ExprKind::Name(_));
            found |= is_name && self.place(part).is_some_and(|place| places.contains(&place));
        });
        found
    }

    fn mentions_version(&self, expr: &Expr) -> bool {
        self.mentions(expr, &HashSet::from([Place::Var(self.version)]))
    }

    /// Whether a statement counts the version up. (That it does no more is known: it is a version.)
    fn counts(&self, statement: &Stmt) -> bool {
        let StmtKind::Assign(targets, _) = &statement.kind else { return false };
        targets.iter().flatten().any(|target| root(self.spec, target) == Some(self.version))
    }

    /// Whether a block does not look at the version before it counts it up, but to return it.
    fn is_unseen_before(&self, block: &Block) -> bool {
        for statement in block {
            if self.counts(statement) {
                return true;
            }
            let is_unseen = match &statement.kind {
                StmtKind::Return(Some(value)) => {
                    let parts = written_parts(self.spec, value).unwrap_or_else(|| vec![value]);
                    let is_told = |part: &&Expr| matches!(part.kind, ExprKind::Name(_));
                    parts.iter().all(|part| is_told(part) || !self.mentions_version(part))
                }
                _ => {
                    let mut is_unseen = true;
                    walk::own_expressions(statement, &mut |expr| {
                        is_unseen &= !self.mentions_version(expr);
                    });
                    is_unseen && blocks(statement).all(|block| self.is_unseen_before(block))
                }
            };
            if !is_unseen {
                return false;
            }
        }
        true
    }

    /// Whether what comes from a version and what is calculated stay apart in a method.
    fn never_meet(&self, method: &FunctionInfo) -> bool {
        let mut are_apart = true;
        walk::statements(&method.body, &mut |statement| {
            if self.counts(statement) {
                return;
            }
            walk::own_expressions(statement, &mut |expr| {
                let parts = match statement.kind {
                    StmtKind::Return(_) => written_parts(self.spec, expr),
                    _ => None,
                };
                for part in parts.unwrap_or_else(|| vec![expr]) {
                    are_apart &= !self.mentions(part, &self.copied)
                        || !calculates(part) && !self.mentions(part, &self.calculated);
                }
            });
        });
        are_apart
    }
}

/// The blocks of a statement.
fn blocks(statement: &Stmt) -> Box<dyn Iterator<Item = &Block> + '_> {
    match &statement.kind {
        StmtKind::If(_, then, otherwise) => Box::new([then, otherwise].into_iter()),
        StmtKind::While(_, _, body)
        | StmtKind::Loop(_, body)
        | StmtKind::For(_, _, body)
        | StmtKind::Repeat(_, body)
        | StmtKind::Atomic(body) => Box::new(std::iter::once(body)),
        StmtKind::Choose(branches) => Box::new(branches.iter()),
        _ => Box::new(std::iter::empty()),
    }
}

/// Whether an expression calculates, or takes a number for a place in a list.
fn calculates(expr: &Expr) -> bool {
    let mut found = false;
    walk::expression(expr, &mut |part| {
        found |= match &part.kind {
            ExprKind::Binary(op, ..) => matches!(
                op,
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem
            ),
            ExprKind::Unary(UnaryOp::Neg, of) => !matches!(of.kind, ExprKind::Int(_)),
            ExprKind::Call(..) | ExprKind::Slice(..) | ExprKind::Any => true,
            _ => false,
        };
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORE: &str = "spec store {
  sparse version var rev: int = 0
  var kv: map<value, (value, int)> = {}
  var count: map<value, int> = {}
  method put(k: value, v: value) -> int {
    rev = rev + 1
    kv[k] = (v, rev)
    count[k] = (if k in count { count[k] } else { 0 }) + 1
    return rev
  }
  method get(k: value, least: int) -> (value?, int, int) {
    if k in kv && kv[k].1 >= least { return (kv[k].0, kv[k].1, rev) }
    return (empty, count[k], rev)
  }
}";

    fn opaque(old: &str, new: &str) -> bool {
        assert!(STORE.contains(old), "{old}");
        let program = crate::check(&STORE.replacen(old, new, 1)).expect("a specification");
        is_opaque(&program.specs[0], VarId(0))
    }

    #[test]
    fn a_version_that_is_calculated_with_or_seen_before_it_is_made_is_not_opaque() {
        assert!(opaque("", ""));
        for (old, new) in [
            ("kv[k] = (v, rev)", "kv[k] = (v, rev + 1)"),
            ("kv[k] = (v, rev)", "kv[k] = (v, if k in count { count[k] } else { rev })"),
            ("kv[k].1 >= least", "kv[k].1 >= least + 1"),
            ("kv[k].1 >= least", "kv[k].1 % 2 == least"),
            ("kv[k].1 >= least", "kv[k].1 == count[k]"),
            ("kv[k].1 >= least", "rev >= least"),
            ("    rev = rev + 1\n", "    let old = rev\n    rev = rev + 1\n"),
        ] {
            assert!(!opaque(old, new), "{new}");
        }
    }
}
