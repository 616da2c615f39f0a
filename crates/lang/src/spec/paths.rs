//! The ways through a method of a specification: what each changes and returns, read off its text.
//!
//! A *version* is a number of the state that counts the changes. It is one if every assignment to
//! it is `rev = rev + 1`, and every way through every method that changes anything makes that
//! assignment exactly once; but for what stands [aside](super::aside). A method *tells* it if it returns it, alone or as a part of a tuple;
//! whether the method had changed something then follows from the constants beside it:
//! `return (true, rev)` after a change, `return (false, rev)` without one.
//!
//! Ways are followed statement by statement, through a loop until nothing new comes out of it. A
//! helper function that changes the state is not followed, nor is a jump to a label, and then
//! nothing is said of the method.

use super::access::root;
use super::aside::{Asides, asides, assigns_state};
use crate::front::ast::*;
use crate::front::program::{FunctionInfo, Meaning, SpecInfo, VarId, VarInfo};
use crate::front::types::Type;
use crate::front::walk;
use crate::spec::Datum;
use crate::spec::code::written_parts;

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
    pub(super) counted: u32,
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
    Update(i64),
    /// It changed nothing, and this was the version.
    Read(i64),
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
    let mut follow = Follow { spec, number, endings: Vec::new(), jumps: Vec::new() };
    let open = follow.block(&method.body, vec![Way::default()])?;
    for way in open {
        follow.end(way, None);
    }
    Some(follow.endings)
}

/// Why a number does not count the changes, if it does not: the method that shows it, and how.
pub fn uncounted(spec: &SpecInfo, number: VarId) -> Option<(usize, &'static str)> {
    let mut all = Vec::with_capacity(spec.methods.len());
    for (place, method) in spec.methods.iter().enumerate() {
        let Some(endings) = endings(spec, method, Some(number)) else {
            let why = "it is assigned in another way, or the ways here cannot be followed";
            return Some((place, why));
        };
        all.push(endings);
    }
    asides(spec, number, &all).err()
}

/// The variable of a specification that is a version, with the endings of its methods and with what
/// stands aside: the one that is declared to be, or else one that is told.
pub fn version(spec: &SpecInfo) -> Option<(VarId, Vec<Vec<Ending>>, Asides)> {
    let is_declared = spec.vars.iter().any(|var| var.version.is_some());
    let may_be = |var: &VarInfo| match is_declared {
        true => var.version.is_some(),
        false => matches!(var.ty, Type::Int(_)),
    };
    let numbers = spec.vars.iter().zip(0..).filter(|(var, _)| may_be(var));
    numbers.map(|(_, number)| VarId(number)).find_map(|number| {
        let all = spec.methods.iter().map(|method| endings(spec, method, Some(number)));
        let all: Vec<Vec<Ending>> = all.collect::<Option<_>>()?;
        let asides = asides(spec, number, &all).ok()?;
        let is_told = all.iter().flatten().any(|e| e.counted > 0 && e.told.is_some());
        is_told.then_some((number, all, asides))
    })
}

/// The version that a result tells of a method that makes none, whatever else it changed; `None` if
/// it tells none, or if ways differ in where they tell it.
pub fn seen(endings: &[Ending], result: &Datum) -> Option<i64> {
    let mut fitting = endings.iter().filter(|ending| ending.fits(result));
    let told = fitting.next()?.told;
    let Datum::Int(number) = parts(result).get(told?)? else { return None };
    fitting.all(|other| other.told == told).then_some(*number)
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
    /// The ways that left the body of the loop at hand by `break` or `continue`.
    jumps: Vec<Way>,
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
                let mut all = targets.iter().flatten().chain([value]);
                all.all(|e| self.is_pure(e)).then(|| self.assign(targets, value, ways))?
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
            StmtKind::Break(None) | StmtKind::Continue(None) => {
                self.jumps.extend(ways);
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
        // More than once is as good as twice: a loop ends.
        let counted = |way: &Way| (way.counted + u32::from(counts)).min(2);
        let after = |way: Way| Way { is_change: true, counted: counted(&way) };
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

    /// Whether an expression calls no helper function that changes the state.
    fn is_pure(&self, expr: &Expr) -> bool {
        let mut is_pure = true;
        walk::expression(expr, &mut |part| {
            if let Some(Meaning::Function(index)) = self.spec.facts.meaning(part.id) {
                is_pure &= !assigns_state(self.spec, &self.spec.functions[index as usize]);
            }
        });
        is_pure
    }

    /// A loop, whose body is followed until no new way comes out of it. (A `break` counts as one
    /// more round or none, which says more ways than there are, and none fewer.)
    fn repeat(&mut self, body: &Block, mut ways: Vec<Way>) -> Option<Vec<Way>> {
        let outer = std::mem::take(&mut self.jumps);
        loop {
            let mut round = self.block(body, ways.clone())?;
            round.append(&mut self.jumps);
            let known = ways.len();
            for way in round {
                if !ways.contains(&way) {
                    ways.push(way);
                }
            }
            if ways.len() == known {
                self.jumps = outer;
                return Some(ways);
            }
        }
    }

    fn end(&mut self, way: Way, value: Option<&Expr>) {
        let parts = match value {
            Some(value) => written_parts(self.spec, value).unwrap_or_else(|| vec![value]),
            None => Vec::new(),
        };
        let constants = parts.iter().map(|part| self.constant(part)).collect();
        let told = parts.iter().position(|part| self.is_number(part));
        let Way { is_change, counted } = way;
        let ending = Ending { constants, told, is_change, counted };
        if !self.endings.contains(&ending) {
            self.endings.push(ending);
        }
    }

    fn constant(&self, expr: &Expr) -> Option<Datum> {
        match &expr.kind {
            ExprKind::Bool(truth) => Some(Datum::Bool(*truth)),
            ExprKind::Int(number) => Some(Datum::Int(*number)),
            ExprKind::Null => Some(Datum::Null),
            ExprKind::Name(_) => match self.spec.facts.meaning(expr.id)? {
                Meaning::Const(number) => Some(Datum::Int(number.into())),
                Meaning::Variant(_, number) => Some(Datum::Variant(number)),
                _ => None,
            },
            _ => None,
        }
    }
}
