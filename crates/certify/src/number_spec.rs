//! A specification whose state is one number, boolean or variant, run on numbers that may not be
//! known.
//!
//! The body of a method is followed as the language says. A condition that the facts do not decide,
//! and everything that is not understood, has no outcome, and then nothing is justified by it. So
//! it is with a number that may leave the bounds which the specification states for a variable, a
//! parameter or a result. It would be unsound to give an outcome that the body has not for all
//! numbers that fulfil the facts.
//!
//! Where numbers stand for values (`crate::reduce`), null is 0. What is no value is never null then,
//! and what must not be null must surely not be 0.

use crate::number::{Fact, equal, less, sum};
use crate::scalar::Scalar;
use seriatim_lang::Program;
use seriatim_lang::ast::{BinaryOp, Block, Expr, ExprKind, Pattern, Stmt, StmtKind, UnaryOp};
use seriatim_lang::machine::Bounds;
use seriatim_lang::program::{FunctionInfo, LocalId, Meaning, SpecInfo};
use seriatim_lang::range::Range;
use seriatim_lang::spec::{Datum, Spec};
use seriatim_lang::steps::BinOp;
use seriatim_lang::types::{Fit, Type};

/// A specification of a number.
#[derive(Clone, Debug)]
pub struct NumberSpec {
    info: SpecInfo,
    /// The methods of the program, by their places in the specification.
    methods: Vec<usize>,
    /// The content at the start.
    pub initial: Scalar,
    /// Whether numbers stand for values.
    values: bool,
}

/// The content after a method, and its result; null if it has none.
pub type Becomes = (Scalar, Scalar);

/// A call of a method of a number.
#[derive(Clone, Copy, Debug)]
pub struct NumberCall<'c> {
    /// The method.
    pub method: usize,
    /// Its arguments.
    pub arguments: &'c [Scalar],
}

impl NumberSpec {
    /// The specification of a program, or why it is not that of a number.
    pub fn of(program: &Program) -> Result<NumberSpec, String> {
        NumberSpec::with(program, false)
    }

    /// The specification of a program in which numbers stand for values, or why it is not that of
    /// one value.
    pub fn of_values(program: &Program) -> Result<NumberSpec, String> {
        NumberSpec::with(program, true)
    }

    fn with(program: &Program, values: bool) -> Result<NumberSpec, String> {
        let info = program.spec.clone().ok_or("it names no specification")?;
        let is_scalar = |ty: &Type| match ty {
            Type::Int(..) | Type::Bool | Type::Enum(_) => true,
            Type::Value => values,
            Type::Opt(inside) => values && **inside == Type::Value,
            _ => false,
        };
        let [var] = &info.vars[..] else {
            return Err("the state of its specification is not one number".to_owned());
        };
        let bounds = Bounds { values: 1, keys: 1, nodes: None, capacity: None };
        let initial = match Spec::new(info.clone(), bounds).initial().as_deref() {
            Ok([number @ Datum::Int(_)]) => {
                Scalar::Int(number.small().ok_or("its specification begins with a large number")?)
            }
            Ok([Datum::Bool(b)]) => truth(*b),
            Ok([Datum::Variant(v)]) => Scalar::Int(*v as i32),
            Ok([Datum::Null]) if values => Scalar::Int(0),
            _ => return Err("its specification has no beginning".to_owned()),
        };
        let mut methods = Vec::new();
        for method in &program.methods {
            let known = info.methods.iter().position(|m| m.name == method.name);
            let known = known.ok_or(format!("`{}` is not specified", method.name))?;
            let result = &info.methods[known].result;
            if !is_scalar(&var.ty) || !(is_scalar(result) || *result == Type::Unit) {
                return Err("the state of its specification is not one number".to_owned());
            }
            methods.push(known);
        }
        Ok(NumberSpec { info, methods, initial, values })
    }

    /// What a method makes of a content; none if it waits, or if that is not known.
    pub fn outcome(
        &self,
        call: NumberCall<'_>,
        content: Scalar,
        facts: &[Fact],
    ) -> Option<Becomes> {
        self.run(call, content, facts).0
    }

    /// Whether a method surely waits or changes something at a content: such a moment justifies no
    /// result.
    pub fn is_busy(&self, call: NumberCall<'_>, content: Scalar, facts: &[Fact]) -> bool {
        match self.run(call, content, facts) {
            (Some((to, _)), _) => equal(to, content, facts) == Some(false),
            (None, waits) => waits,
        }
    }

    /// The outcome, and whether there is none because the method waits.
    fn run(
        &self,
        call: NumberCall<'_>,
        content: Scalar,
        facts: &[Fact],
    ) -> (Option<Becomes>, bool) {
        let Some(place) = self.methods.get(call.method) else { return (None, false) };
        let method = &self.info.methods[*place];
        let (info, values) = (&self.info, self.values);
        let mut run = Run { info, method, facts, content, locals: vec![], waits: false, values };
        let outcome = run.call(call.arguments);
        (outcome.map(|result| (run.content, result)), run.waits)
    }
}

struct Run<'s> {
    info: &'s SpecInfo,
    method: &'s FunctionInfo,
    facts: &'s [Fact],
    content: Scalar,
    locals: Vec<(LocalId, Scalar)>,
    waits: bool,
    values: bool,
}

fn truth(holds: bool) -> Scalar {
    Scalar::Int(i32::from(holds))
}

impl Run<'_> {
    /// Runs a method: what it returns.
    fn call(&mut self, arguments: &[Scalar]) -> Option<Scalar> {
        for (param, argument) in self.method.params.iter().zip(arguments) {
            self.locals.push((param.local, self.bounded(*argument, &param.ty)?));
        }
        Some(self.block(&self.method.body)?.unwrap_or(Scalar::Null))
    }

    /// The value of an expression where a type is wanted. What comes from a variable with bounds is
    /// within them, since everything that was put there was.
    fn coerced(&self, value: &Expr, wanted: &Type) -> Option<Scalar> {
        let scalar = self.scalar(value)?;
        let found = self.info.facts.type_of(value);
        // Null is 0, for values only.
        (!matches!(found, Type::Opt(_)) || is_data(wanted)).then_some(())?;
        match (found.fits(wanted), wanted) {
            (Fit::Always, Type::Opt(_)) => is_data(wanted).then_some(scalar),
            (Fit::Always, _) => Some(scalar),
            _ => self.bounded(scalar, wanted),
        }
    }

    /// A scalar that surely lies in the bounds stated for its type, if any are.
    fn bounded(&self, scalar: Scalar, ty: &Type) -> Option<Scalar> {
        let range = match ty {
            Type::Int(range) => range,
            Type::Opt(_) => return is_data(ty).then_some(scalar),
            Type::Value => {
                let present = equal(scalar, Scalar::Int(0), self.facts) == Some(false);
                return present.then_some(scalar);
            }
            _ => return Some(scalar),
        };
        let inside = |range: &Range| {
            less(scalar, Scalar::Int(range.low), self.facts) == Some(false)
                && less(Scalar::Int(range.high), scalar, self.facts) == Some(false)
        };
        (range.is_default() || inside(range)).then_some(scalar)
    }

    fn set_local(&mut self, local: LocalId, value: &Expr) -> Option<()> {
        let scalar = self.coerced(value, &self.info.facts.locals[local.0 as usize].1)?;
        self.locals.push((local, scalar));
        Some(())
    }

    /// Runs a block: what it returns, if it does. None if it waits, or if that is not known.
    fn block(&mut self, block: &Block) -> Option<Option<Scalar>> {
        for statement in block {
            let returned = self.statement(statement)?;
            if returned.is_some() {
                return Some(returned);
            }
        }
        Some(None)
    }

    fn statement(&mut self, statement: &Stmt) -> Option<Option<Scalar>> {
        match &statement.kind {
            StmtKind::Let(Pattern::Bind(binding), _, value) => {
                let Meaning::Local(local) = self.info.facts.meaning(binding.id)? else {
                    return None;
                };
                self.set_local(local, value)?;
            }
            StmtKind::Assign(targets, value) => {
                let [Some(target)] = &targets[..] else { return None };
                match (&target.kind, self.info.facts.meaning(target.id)?) {
                    (ExprKind::Name(_), Meaning::Local(local)) => self.set_local(local, value)?,
                    (ExprKind::Name(_), Meaning::Shared(var)) => {
                        self.content = self.coerced(value, &self.info.vars[var.0 as usize].ty)?;
                    }
                    _ => return None,
                }
            }
            StmtKind::If(condition, then, otherwise) => {
                let taken = if self.holds(condition)? { then } else { otherwise };
                return self.block(taken);
            }
            StmtKind::Atomic(block) => return self.block(block),
            StmtKind::Return(None) => return Some(Some(Scalar::Null)),
            StmtKind::Return(Some(value)) => {
                return Some(Some(self.coerced(value, &self.method.result)?));
            }
            StmtKind::Assume(condition) => {
                if !self.holds(condition)? {
                    self.waits = true;
                    return None;
                }
            }
            _ => return None,
        }
        Some(None)
    }

    fn holds(&self, condition: &Expr) -> Option<bool> {
        match self.scalar(condition)? {
            Scalar::Int(n) => Some(n != 0),
            _ => None,
        }
    }

    fn scalar(&self, expr: &Expr) -> Option<Scalar> {
        Some(match &expr.kind {
            ExprKind::Int(n) => Scalar::Int(i32::try_from(*n).ok()?),
            ExprKind::Bool(b) => truth(*b),
            ExprKind::Null if self.values => Scalar::Int(0),
            ExprKind::Name(_) => match self.info.facts.meaning(expr.id)? {
                Meaning::Local(local) => {
                    self.locals.iter().rev().find(|(known, _)| *known == local)?.1
                }
                Meaning::Shared(_) => self.content,
                Meaning::Const(n) => Scalar::Int(n),
                Meaning::Variant(_, n) => Scalar::Int(n as i32),
                _ => return None,
            },
            ExprKind::Unary(UnaryOp::Not, a) => truth(!self.holds(a)?),
            ExprKind::Unary(UnaryOp::Neg, a) => match self.scalar(a)? {
                Scalar::Int(n) => Scalar::Int(n.checked_neg()?),
                _ => return None,
            },
            ExprKind::Binary(BinaryOp::And, a, b) => truth(self.holds(a)? && self.holds(b)?),
            ExprKind::Binary(BinaryOp::Or, a, b) => truth(self.holds(a)? || self.holds(b)?),
            ExprKind::Binary(op, a, b) => {
                let types = [a, b].map(|side| self.info.facts.type_of(side));
                let null = types.iter().any(|ty| matches!(ty, Type::Opt(_)));
                (!null || types.into_iter().all(is_data)).then_some(())?;
                self.binary(*op, self.scalar(a)?, self.scalar(b)?)?
            }
            ExprKind::If(condition, a, b) => {
                self.scalar(if self.holds(condition)? { a } else { b })?
            }
            _ => return None,
        })
    }

    fn binary(&self, op: BinaryOp, a: Scalar, b: Scalar) -> Option<Scalar> {
        let facts = self.facts;
        let exact = match (a, b) {
            (Scalar::Int(a), Scalar::Int(b)) => Some((a, b)),
            _ => None,
        };
        Some(match op {
            BinaryOp::Add => sum(BinOp::Add, a, b)?,
            BinaryOp::Sub => sum(BinOp::Sub, a, b)?,
            BinaryOp::Mul => Scalar::Int(exact?.0.checked_mul(exact?.1)?),
            BinaryOp::Div => Scalar::Int(exact?.0.checked_div_euclid(exact?.1)?),
            BinaryOp::Rem => Scalar::Int(exact?.0.checked_rem_euclid(exact?.1)?),
            BinaryOp::Eq => truth(equal(a, b, facts)?),
            BinaryOp::Ne => truth(!equal(a, b, facts)?),
            BinaryOp::Lt => truth(less(a, b, facts)?),
            BinaryOp::Le => truth(!less(b, a, facts)?),
            BinaryOp::Gt => truth(less(b, a, facts)?),
            BinaryOp::Ge => truth(!less(a, b, facts)?),
            _ => return None,
        })
    }
}

/// Whether a type is that of values, or of null alone.
fn is_data(ty: &Type) -> bool {
    matches!(ty.required(), Type::Value | Type::Never)
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// On known numbers, the outcome is that of the interpreter of the language.
    #[test]
    fn outcomes_of_known_numbers_are_those_of_the_specification() {
        let program = seriatim_lang::check(SOURCE).expect("a program");
        let number_spec = NumberSpec::of(&program).expect("one number");
        let bounds = Bounds { values: 1, keys: 1, nodes: None, capacity: None };
        let oracle = Spec::new(program.spec.clone().expect("named"), bounds);
        assert_eq!(number_spec.initial, Scalar::Int(3));
        for (method, arity) in [(0, 0), (1, 1), (2, 0)] {
            for content in -3..8 {
                for argument in -2..4 {
                    let data = vec![Datum::Int(argument.into()); arity];
                    let state = vec![Datum::Int(content.into())];
                    let found = oracle.outcomes(&state, method, &data);
                    let wanted = match &found.expect("it runs")[..] {
                        [(state, result)] => {
                            let [content] = &state[..] else { panic!("one number") };
                            let number = |n: &Datum| Scalar::Int(n.small().expect("a number"));
                            Some((
                                number(content),
                                match result {
                                    Datum::Int(_) => number(result),
                                    Datum::Bool(b) => truth(*b),
                                    _ => Scalar::Null,
                                },
                            ))
                        }
                        _ => None,
                    };
                    let arguments = &[Scalar::Int(argument)][..arity];
                    let call = NumberCall { method, arguments };
                    assert_eq!(number_spec.outcome(call, Scalar::Int(content), &[]), wanted);
                }
            }
        }
        let unknown = Scalar::Number(0, 0);
        let drop = number_spec.outcome(
            NumberCall { method: 1, arguments: &[Scalar::Int(0)] },
            unknown,
            &[],
        );
        assert_eq!(drop, None, "it depends on the content");
        let inc = number_spec.outcome(NumberCall { method: 0, arguments: &[] }, unknown, &[]);
        assert_eq!(inc, Some((Scalar::Number(0, 1), unknown)));
    }
}
