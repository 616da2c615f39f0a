//! Specifications whose state is one number, boolean or variant: counters, registers of numbers,
//! locks, semaphores.
//!
//! Decided: what a method makes of a content of which a view knows as much as [`crate::number`]
//! says. The body of the method is followed on that content; a condition that the view does not
//! decide gives no answer, and then nothing is justified by it. Understood are assignments, local
//! variables, conditions, `assume`, `return` and arithmetic. What is not understood gives no answer
//! either. It would be unsound to answer where the body does something else.
//!
//! Where values are taken for numbers ([`crate::reduce`]), null is the number 0 here as well, and
//! a value that must not be null must surely not be 0.

use crate::difference::{Fact, compare};
use crate::number::combine;
use crate::value::Val;
use crate::view::ARGS;
use seriatim_lang::Program;
use seriatim_lang::ast::{BinaryOp, Block, Expr, ExprKind, Pattern, Stmt, StmtKind, UnaryOp};
use seriatim_lang::machine::Bounds;
use seriatim_lang::program::{FunctionInfo, LocalId, Meaning, SpecInfo};
use seriatim_lang::spec::{Datum, Spec};
use seriatim_lang::steps::BinOp;
use seriatim_lang::types::{Fit, Type};

/// What a method makes of a content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Told {
    /// The content after it and its result; [`Val::Null`], if it has none.
    Becomes(Val, Val),
    /// It waits.
    Waits,
    /// The view does not decide that.
    Unclear,
}

/// A specification whose state is one number.
#[derive(Clone, Debug)]
pub struct NumberSpec {
    info: SpecInfo,
    /// The methods of the object, by their places in the specification.
    methods: Vec<usize>,
    /// The content at the start.
    pub initial: i32,
    /// Whether values are numbers.
    values: bool,
}

/// The number that stands for null, where values are numbers.
const NO_VALUE: Val = Val::Int(0);

impl NumberSpec {
    /// The specification of a program, or why it is not of this sort.
    pub fn of(program: &Program) -> Result<NumberSpec, String> {
        let number = |ty: &Type| matches!(ty, Type::Int(..) | Type::Bool | Type::Enum(_));
        NumberSpec::over(program, &number, false)
    }

    /// The same, with values as numbers.
    pub fn of_values(program: &Program) -> Result<NumberSpec, String> {
        let number = |ty: &Type| match ty {
            Type::Opt(inner) => **inner == Type::Value,
            ty => matches!(ty, Type::Int(..) | Type::Bool | Type::Enum(_) | Type::Value),
        };
        NumberSpec::over(program, &number, true)
    }

    /// The specification over types that are taken for numbers.
    fn over(
        program: &Program,
        scalar: &dyn Fn(&Type) -> bool,
        values: bool,
    ) -> Result<NumberSpec, String> {
        let info = program.spec.clone().ok_or("it names no specification")?;
        let [var] = info.vars.as_slice() else {
            return Err("its state is more than one number".to_string());
        };
        if !scalar(&var.ty) {
            return Err("its state is neither one value nor one number".to_string());
        }
        let bounds = Bounds { values: 1, keys: 1, nodes: None, capacity: None };
        let initial = match Spec::new(info.clone(), bounds).initial().as_deref() {
            Ok([number @ Datum::Int(_)]) => {
                number.small().ok_or("its specification begins with a large number")?
            }
            Ok([Datum::Bool(b)]) => i32::from(*b),
            Ok([Datum::Variant(v)]) => *v as i32,
            Ok([Datum::Null]) => 0,
            _ => return Err("its specification fails".to_string()),
        };
        let find = |name: &str| {
            let fits =
                |m: &FunctionInfo| m.name == name && (m.result == Type::Unit || scalar(&m.result));
            let found = info.methods.iter().position(fits);
            found.ok_or_else(|| format!("the method `{name}` has no known meaning"))
        };
        let methods = program.methods.iter().map(|m| find(&m.name)).collect::<Result<_, _>>()?;
        Ok(NumberSpec { info, methods, initial, values })
    }

    /// What a method of the object makes of a content.
    pub fn outcome(&self, method: usize, args: &[Val; ARGS], content: Val, facts: &[Fact]) -> Told {
        let Some(info) = self.methods.get(method).map(|m| &self.info.methods[*m]) else {
            return Told::Unclear;
        };
        let (spec, values) = (&self.info, self.values);
        let mut walk = Walk { spec, method: info, facts, content, locals: vec![], values };
        match walk.call(args) {
            Ok(result) => Told::Becomes(walk.content, result),
            Err(Stop::Waits) => Told::Waits,
            Err(Stop::Unclear) => Told::Unclear,
        }
    }
}

enum Stop {
    Waits,
    Unclear,
}

/// A method at work on a content.
struct Walk<'s> {
    spec: &'s SpecInfo,
    method: &'s FunctionInfo,
    facts: &'s [Fact],
    content: Val,
    locals: Vec<(LocalId, Val)>,
    values: bool,
}

fn truth(holds: bool) -> Val {
    Val::Int(i32::from(holds))
}

impl Walk<'_> {
    fn call(&mut self, args: &[Val]) -> Result<Val, Stop> {
        for (param, arg) in self.method.params.iter().zip(args) {
            self.locals.push((param.local, self.bounded(*arg, &param.ty)?));
        }
        Ok(self.block(&self.method.body)?.unwrap_or(Val::Null))
    }

    /// The value of an expression where a type is wanted. What was read from a variable with bounds
    /// is within them.
    fn coerced(&mut self, value: &Expr, wanted: &Type) -> Result<Val, Stop> {
        let found = self.value(value)?;
        self.where_values_are(value, wanted)?;
        match (self.spec.facts.type_of(value).fits(wanted), wanted) {
            (Fit::Always, Type::Opt(_)) => self.bounded(found, wanted),
            (Fit::Always, _) => Ok(found),
            _ => self.bounded(found, wanted),
        }
    }

    /// What may be null meets values only: null is 0 among them, and a number is not null there.
    fn where_values_are(&self, expr: &Expr, other: &Type) -> Result<(), Stop> {
        let nullable = matches!(self.spec.facts.type_of(expr), Type::Opt(_));
        let values = matches!(other.required(), Type::Value | Type::Never);
        if nullable && !values { Err(Stop::Unclear) } else { Ok(()) }
    }

    /// A value that is surely within the bounds stated for its type. One that may leave them has no
    /// known outcome: the specification itself would be wrong there.
    fn bounded(&self, value: Val, ty: &Type) -> Result<Val, Stop> {
        let range = match ty {
            Type::Int(range) => range,
            // Null is 0 among values only.
            Type::Opt(inner) if **inner != Type::Value => return Err(Stop::Unclear),
            Type::Value if compare(value, NO_VALUE, self.facts).equal != Some(false) => {
                return Err(Stop::Unclear);
            }
            _ => return Ok(value),
        };
        let inside = || {
            compare(value, Val::Int(range.low), self.facts).less == Some(false)
                && compare(Val::Int(range.high), value, self.facts).less == Some(false)
        };
        if range.is_default() || inside() { Ok(value) } else { Err(Stop::Unclear) }
    }

    fn set_local(&mut self, local: LocalId, value: &Expr) -> Result<(), Stop> {
        let wanted = &self.spec.facts.locals[local.0 as usize].1;
        let value = self.coerced(value, wanted)?;
        self.locals.push((local, value));
        Ok(())
    }

    /// The result, if the block returns one.
    fn block(&mut self, block: &Block) -> Result<Option<Val>, Stop> {
        for statement in block {
            if let Some(result) = self.statement(statement)? {
                return Ok(Some(result));
            }
        }
        Ok(None)
    }

    fn statement(&mut self, statement: &Stmt) -> Result<Option<Val>, Stop> {
        match &statement.kind {
            StmtKind::Let(Pattern::Bind(binding), _, value) => {
                match self.spec.facts.meaning(binding.id) {
                    Some(Meaning::Local(local)) => self.set_local(local, value)?,
                    _ => return Err(Stop::Unclear),
                }
            }
            StmtKind::Assign(targets, value) => {
                let [Some(target)] = targets.as_slice() else { return Err(Stop::Unclear) };
                self.assign(target, value)?;
            }
            StmtKind::If(cond, then, otherwise) => {
                let branch = if self.truth(cond)? { then } else { otherwise };
                return self.block(branch);
            }
            StmtKind::Return(None) => return Ok(Some(Val::Null)),
            StmtKind::Return(Some(value)) => {
                return self.coerced(value, &self.method.result).map(Some);
            }
            StmtKind::Assume(cond) if self.truth(cond)? => {}
            StmtKind::Assume(_) => return Err(Stop::Waits),
            StmtKind::Atomic(body) => return self.block(body),
            _ => return Err(Stop::Unclear),
        }
        Ok(None)
    }

    fn assign(&mut self, target: &Expr, value: &Expr) -> Result<(), Stop> {
        match (&target.kind, self.spec.facts.meaning(target.id)) {
            (ExprKind::Name(_), Some(Meaning::Local(local))) => self.set_local(local, value)?,
            (ExprKind::Name(_), Some(Meaning::Shared(var))) => {
                self.content = self.coerced(value, &self.spec.vars[var.0 as usize].ty)?;
            }
            _ => return Err(Stop::Unclear),
        }
        Ok(())
    }

    fn truth(&mut self, cond: &Expr) -> Result<bool, Stop> {
        match self.value(cond)? {
            Val::Int(n) => Ok(n != 0),
            _ => Err(Stop::Unclear),
        }
    }

    fn value(&mut self, expr: &Expr) -> Result<Val, Stop> {
        Ok(match &expr.kind {
            ExprKind::Int(n) => Val::Int(i32::try_from(*n).map_err(|_| Stop::Unclear)?),
            ExprKind::Bool(b) => truth(*b),
            ExprKind::Null if self.values => NO_VALUE,
            ExprKind::Name(_) => match self.spec.facts.meaning(expr.id) {
                Some(Meaning::Local(local)) => {
                    let latest = self.locals.iter().rev().find(|l| l.0 == local);
                    latest.ok_or(Stop::Unclear)?.1
                }
                Some(Meaning::Shared(_)) => self.content,
                Some(Meaning::Const(n)) => Val::Int(n),
                Some(Meaning::Variant(_, n)) => Val::Int(n as i32),
                _ => return Err(Stop::Unclear),
            },
            ExprKind::Unary(UnaryOp::Not, a) => truth(!self.truth(a)?),
            ExprKind::Unary(UnaryOp::Neg, a) => match self.value(a)? {
                Val::Int(n) => Val::Int(n.checked_neg().ok_or(Stop::Unclear)?),
                _ => return Err(Stop::Unclear),
            },
            ExprKind::Binary(BinaryOp::And, a, b) => truth(self.truth(a)? && self.truth(b)?),
            ExprKind::Binary(BinaryOp::Or, a, b) => truth(self.truth(a)? || self.truth(b)?),
            ExprKind::Binary(op, a, b) => {
                self.where_values_are(a, self.spec.facts.type_of(b))?;
                self.where_values_are(b, self.spec.facts.type_of(a))?;
                let (a, b) = (self.value(a)?, self.value(b)?);
                binary(*op, a, b, self.facts).ok_or(Stop::Unclear)?
            }
            ExprKind::If(cond, a, b) => match self.truth(cond)? {
                true => self.value(a)?,
                false => self.value(b)?,
            },
            _ => return Err(Stop::Unclear),
        })
    }
}

fn binary(op: BinaryOp, a: Val, b: Val, facts: &[Fact]) -> Option<Val> {
    let equal = || compare(a, b, facts).equal;
    let less = |a: Val, b: Val| compare(a, b, facts).less;
    Some(match (op, a, b) {
        (BinaryOp::Add, ..) => combine(BinOp::Add, a, b)?,
        (BinaryOp::Sub, ..) => combine(BinOp::Sub, a, b)?,
        (BinaryOp::Mul, Val::Int(a), Val::Int(b)) => Val::Int(a.checked_mul(b)?),
        (BinaryOp::Div, Val::Int(a), Val::Int(b)) => Val::Int(a.checked_div_euclid(b)?),
        (BinaryOp::Rem, Val::Int(a), Val::Int(b)) => Val::Int(a.checked_rem_euclid(b)?),
        (BinaryOp::Eq, ..) => truth(equal()?),
        (BinaryOp::Ne, ..) => truth(!equal()?),
        (BinaryOp::Lt, ..) => truth(less(a, b)?),
        (BinaryOp::Le, ..) => truth(!less(b, a)?),
        (BinaryOp::Gt, ..) => truth(less(b, a)?),
        (BinaryOp::Ge, ..) => truth(!less(a, b)?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use seriatim_lang::check;

    const SOURCE: &str = "object o : odd
spec odd {
  var n: int = 3
  method inc() -> int { n = n + 1; return n - 1 }
  method drop(k: int) -> bool {
    let old = n
    if n >= 2 && k != 1 { n = if k < 0 { 0 } else { old - 2 } return true }
    assume n != 1 || k == 1
    return !(n > 4)
  }
  method clear() { n = 0 }
}
var n: int = 3
method inc() -> int { return 0 }
method drop(k: int) -> bool { return true }
method clear() { n = 0 }
";

    /// On contents and arguments that are known, the answer is that of the interpreter of
    /// specifications.
    #[test]
    fn answers_about_known_contents_are_those_of_the_specification() {
        let program = check(SOURCE).expect("right");
        let spec = NumberSpec::of(&program).expect("one number");
        let bounds = Bounds { values: 1, keys: 1, nodes: None, capacity: None };
        let oracle = Spec::new(program.spec.clone().expect("named"), bounds);
        assert_eq!(spec.initial, 3);
        for (method, arity) in [(0, 0), (1, 1), (2, 0)] {
            for content in -3..8 {
                for arg in -2..4 {
                    let data = vec![Datum::Int(arg.into()); arity];
                    let state = vec![Datum::Int(content.into())];
                    let known = oracle.outcomes(&state, method, &data);
                    let args = [Val::Int(arg), Val::Dead, Val::Dead];
                    let told = spec.outcome(method, &args, Val::Int(content), &[]);
                    let wanted = match known.expect("it runs").as_slice() {
                        [] => Told::Waits,
                        [(state, result)] => {
                            let [content] = state.as_slice() else { panic!("one number") };
                            let number = |n: &Datum| Val::Int(n.small().expect("a number"));
                            let result = match result {
                                Datum::Int(_) => number(result),
                                Datum::Bool(b) => truth(*b),
                                _ => Val::Null,
                            };
                            Told::Becomes(number(content), result)
                        }
                        _ => panic!("several outcomes"),
                    };
                    assert_eq!(told, wanted, "method {method} of {content} with {arg}");
                }
            }
        }
    }

    #[test]
    fn answers_about_unknown_contents_hold_for_all_of_them() {
        let spec = NumberSpec::of(&check(SOURCE).expect("right")).expect("one number");
        let args = [Val::Int(0), Val::Dead, Val::Dead];
        let n = Val::Num(0, 0);
        assert_eq!(spec.outcome(0, &args, n, &[]), Told::Becomes(Val::Num(0, 1), n));
        assert_eq!(spec.outcome(1, &args, n, &[]), Told::Unclear, "it depends on n");
        let mut facts = Vec::new();
        crate::difference::learn_order(n, Val::Int(2), false, &mut facts);
        let told = Told::Becomes(Val::Num(0, -2), truth(true));
        assert_eq!(spec.outcome(1, &args, n, &facts), told, "it is at least 2");
        assert_eq!(spec.outcome(2, &args, n, &[]), Told::Becomes(Val::Int(0), Val::Null));
    }
}
