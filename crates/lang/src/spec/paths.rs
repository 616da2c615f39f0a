//! The ways through a method of a specification: what each changes and returns, read off its text.
//!
//! A *version* is a number of the state that counts the changes. It is one if every assignment to
//! it is `rev = rev + 1`, and every way through every method that changes anything makes that
//! assignment exactly once. A method *tells* it if it returns it, alone or as a part of a tuple;
//! whether the method had changed something then follows from the constants beside it:
//! `return (true, rev)` after a change, `return (false, rev)` without one.
//!
//! Ways are followed statement by statement. A loop may change the state or not; one that counts or
//! returns is not followed, nor is a helper function that mentions the state, and then nothing is
//! said of the method.

use super::access::{mentions_state, root};
use crate::front::ast::*;
use crate::front::program::{FunctionInfo, Meaning, SpecInfo, VarId};
use crate::front::types::Type;
use crate::front::walk;
use crate::spec::Datum;

/// One way for a method to end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// For each part of the result (a result that is no tuple has one) its value, if it is a
    /// constant.
    constants: Vec<Option<Datum>>,
    /// The parts of the result that are the number that was asked about.
    told: Option<usize>,
    /// Whether the way assigned to the state.
    pub is_change: bool,
    /// How often it counted the number up.
    counted: u32,
}

impl Ending {
    /// Whether the method may have ended in this way with that result.
    pub fn fits(&self, result: &Datum) -> bool {
        let parts = parts(result);
        // A tuple that was not written out may be any.
        let is_written = parts.len() == self.constants.len();
        let mut pairs = self.constants.iter().zip(parts);
        !is_written || pairs.all(|(constant, part)| constant.as_ref().is_none_or(|c| c == part))
    }
}

/// What a result says of the version of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// The method made this version.
    Update(i32),
    /// It changed nothing, and this was the version.
    Read(i32),
}

/// The parts of a result.
fn parts(result: &Datum) -> &[Datum] {
    match result {
        Datum::Tuple(parts) => parts,
        other => std::slice::from_ref(other),
    }
}

/// All ways for a method to end; `None` if it cannot be followed.
pub fn endings(
    spec: &SpecInfo,
    method: &FunctionInfo,
    number: Option<VarId>,
) -> Option<Vec<Ending>> {
    let mut follow = Follow { spec, number, endings: Vec::new() };
    let open = follow.block(&method.body, vec![Way::default()])?;
    for way in open {
        follow.end(way, None);
    }
    Some(follow.endings)
}

/// The variable of a specification that is a version, with the endings of its methods.
pub fn version(spec: &SpecInfo) -> Option<(VarId, Vec<Vec<Ending>>)> {
    let numbers = spec.vars.iter().zip(0..).filter(|(var, _)| matches!(var.ty, Type::Int(_)));
    numbers.map(|(_, number)| VarId(number)).find_map(|number| {
        let all = spec.methods.iter().map(|method| endings(spec, method, Some(number)));
        let all: Vec<Vec<Ending>> = all.collect::<Option<_>>()?;
        let counts = |ending: &Ending| ending.counted == u32::from(ending.is_change);
        let is_version = all.iter().flatten().all(counts);
        let is_told = all.iter().flatten().any(|e| e.is_change && e.told.is_some());
        (is_version && is_told).then_some((number, all))
    })
}

/// What a result tells, if all ways that may have led to it agree.
pub fn told(endings: &[Ending], result: &Datum) -> Option<Told> {
    let mut fitting = endings.iter().filter(|ending| ending.fits(result));
    let first = fitting.next()?;
    let agrees = |other: &Ending| (other.is_change, other.told) == (first.is_change, first.told);
    if !fitting.all(agrees) {
        return None;
    }
    let Datum::Int(number) = parts(result).get(first.told?)? else { return None };
    Some(if first.is_change { Told::Update(*number) } else { Told::Read(*number) })
}

/// What happened on the way so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Way {
    is_change: bool,
    counted: u32,
}

struct Follow<'s> {
    spec: &'s SpecInfo,
    number: Option<VarId>,
    endings: Vec<Ending>,
}

impl Follow<'_> {
    /// The ways that come out of a block at its end.
    fn block(&mut self, block: &Block, mut ways: Vec<Way>) -> Option<Vec<Way>> {
        for statement in block {
            ways = self.statement(statement, ways)?;
            ways.dedup();
        }
        Some(ways)
    }

    fn statement(&mut self, statement: &Stmt, ways: Vec<Way>) -> Option<Vec<Way>> {
        match &statement.kind {
            StmtKind::Assign(targets, value) => {
                self.is_pure(value).then(|| self.assign(targets, value, ways))?
            }
            StmtKind::Let(_, _, e)
            | StmtKind::Expr(e)
            | StmtKind::Assume(e)
            | StmtKind::Assert(e) => self.is_pure(e).then_some(ways),
            StmtKind::If(cond, then, otherwise) => {
                if !self.is_pure(cond) {
                    return None;
                }
                let mut all = self.block(then, ways.clone())?;
                all.extend(self.block(otherwise, ways)?);
                Some(all)
            }
            StmtKind::Choose(branches) => {
                let mut all = Vec::new();
                for branch in branches {
                    all.extend(self.block(branch, ways.clone())?);
                }
                Some(all)
            }
            StmtKind::Atomic(body) => self.block(body, ways),
            StmtKind::While(_, e, body) | StmtKind::For(_, e, body) => {
                self.is_pure(e).then(|| self.repeat(body, ways))?
            }
            StmtKind::Loop(_, body) => self.repeat(body, ways),
            StmtKind::Return(value) => {
                if !value.as_ref().is_none_or(|value| self.is_pure(value)) {
                    return None;
                }
                ways.into_iter().for_each(|way| self.end(way, value.as_ref()));
                Some(Vec::new())
            }
            StmtKind::Break(_) | StmtKind::Continue(_) | StmtKind::Repeat(..) => None,
        }
    }

    /// An assignment; `None` if it assigns to the number in another way than counting it up.
    fn assign(&self, targets: &[Option<Expr>], value: &Expr, ways: Vec<Way>) -> Option<Vec<Way>> {
        let roots: Vec<VarId> =
            targets.iter().flatten().filter_map(|place| root(self.spec, place)).collect();
        if roots.is_empty() {
            return Some(ways);
        }
        let counts = self.number.is_some_and(|number| roots.contains(&number));
        if counts && !(roots.len() == 1 && targets.len() == 1 && self.is_next(value)) {
            return None;
        }
        let after = |way: Way| Way { is_change: true, counted: way.counted + u32::from(counts) };
        Some(ways.into_iter().map(after).collect())
    }

    /// Whether an expression is the number plus one.
    fn is_next(&self, value: &Expr) -> bool {
        let ExprKind::Binary(BinaryOp::Add, a, b) = &value.kind else { return false };
        let is_number = |e: &Expr| self.is_number(e);
        let is_one = |e: &Expr| matches!(e.kind, ExprKind::Int(1));
        is_number(a) && is_one(b) || is_one(a) && is_number(b)
    }

    fn is_number(&self, expr: &Expr) -> bool {
        let is_name = matches!(expr.kind, ExprKind::Name(_));
        is_name && self.number.is_some() && root(self.spec, expr) == self.number
    }

    /// Whether an expression calls no helper function that mentions the state.
    fn is_pure(&self, expr: &Expr) -> bool {
        let mut is_pure = true;
        walk::expression(expr, &mut |part| {
            if let Some(Meaning::Function(index)) = self.spec.facts.meaning(part.id) {
                is_pure &= !mentions_state(self.spec, &self.spec.functions[index as usize]);
            }
        });
        is_pure
    }

    /// A loop, which changes the state or does not, and does not leave the method or count.
    fn repeat(&self, body: &Block, mut ways: Vec<Way>) -> Option<Vec<Way>> {
        let (mut is_change, mut is_followed) = (false, true);
        walk::statements(body, &mut |statement| match &statement.kind {
            StmtKind::Assign(targets, _) => {
                for var in targets.iter().flatten().filter_map(|place| root(self.spec, place)) {
                    is_change = true;
                    is_followed &= Some(var) != self.number;
                }
            }
            StmtKind::Return(_) => is_followed = false,
            _ => {}
        });
        walk::expressions(body, &mut |expr| is_followed &= self.is_pure(expr));
        if is_change {
            let changed: Vec<Way> =
                ways.iter().map(|way| Way { is_change: true, ..way.clone() }).collect();
            ways.extend(changed);
        }
        is_followed.then_some(ways)
    }

    fn end(&mut self, way: Way, value: Option<&Expr>) {
        let parts: &[Expr] = match value {
            Some(Expr { kind: ExprKind::Tuple(parts), .. }) => parts,
            Some(value) => std::slice::from_ref(value),
            None => &[],
        };
        let constants = parts.iter().map(|part| self.constant(part)).collect();
        let told = parts.iter().position(|part| self.is_number(part));
        let Way { is_change, counted } = way;
        self.endings.push(Ending { constants, told, is_change, counted });
    }

    fn constant(&self, expr: &Expr) -> Option<Datum> {
        match &expr.kind {
            ExprKind::Bool(truth) => Some(Datum::Bool(*truth)),
            ExprKind::Int(number) => i32::try_from(*number).ok().map(Datum::Int),
            ExprKind::Null => Some(Datum::Null),
            ExprKind::Name(_) => match self.spec.facts.meaning(expr.id)? {
                Meaning::Const(number) => Some(Datum::Int(number)),
                Meaning::Variant(_, number) => Some(Datum::Variant(number)),
                _ => None,
            },
            _ => None,
        }
    }
}
