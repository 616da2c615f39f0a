//! A specification whose state is numbers, booleans and variants, run on numbers that may not be
//! known.
//!
//! The body of a method is followed as the language says. A condition that the facts do not decide,
//! and everything that is not understood, has no outcome, and then nothing is justified by it. So
//! it is with a number that may leave the bounds which the specification states for a variable, a
//! parameter or a result. It would be unsound to give an outcome that the body has not for all
//! numbers that fulfil the facts.
//!
//! A tuple or an array is a [`Data`] of parts, as the language has it; only a content, arguments and
//! results are flat lists of scalars, taken apart and put together by their types.
//!
//! Where numbers stand for values (`crate::reduce`), null is 0. What is no value is never null then,
//! and what must not be null must surely not be 0.

use crate::number::{Fact, equal, less, sum};
use crate::scalar::Scalar;
use seriatim_lang::Program;
use seriatim_lang::ast::{
    BinaryOp, Binding, Block, Expr, ExprKind, Pattern, Stmt, StmtKind, UnaryOp,
};
use seriatim_lang::machine::Bounds;
use seriatim_lang::program::{FunctionInfo, LocalId, Meaning, SpecInfo};
use seriatim_lang::spec::{Datum, Spec};
use seriatim_lang::steps::BinOp;
use seriatim_lang::types::{Fit, Length, Type};

/// More scalars than these are no content.
pub const MOST: usize = 4;

/// A specification of numbers.
#[derive(Clone, Debug)]
pub struct NumberSpec {
    info: SpecInfo,
    /// The methods of the program, by their places in the specification.
    methods: Vec<usize>,
    /// The content at the start.
    pub initial: Vec<Scalar>,
    /// Whether numbers stand for values.
    values: bool,
}

/// The content after a method, and its result; the empty list if it has none.
pub type Becomes = (Vec<Scalar>, Vec<Scalar>);

/// A call of a method of numbers.
#[derive(Clone, Copy, Debug)]
pub struct NumberCall<'c> {
    /// The method.
    pub method: usize,
    /// Its arguments.
    pub arguments: &'c [Scalar],
}

/// A scalar, or the parts of a tuple or an array.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Data {
    One(Scalar),
    Parts(Vec<Data>),
}

impl Data {
    /// The next scalars of a list as data of a type; none if the type is not made of numbers.
    fn of_type(
        ty: &Type,
        values: bool,
        scalars: &mut impl Iterator<Item = Scalar>,
    ) -> Option<Data> {
        let mut parts = |types: &mut dyn Iterator<Item = &Type>| {
            types
                .map(|ty| Data::of_type(ty, values, scalars))
                .collect::<Option<_>>()
                .map(Data::Parts)
        };
        match ty {
            Type::Tuple(types) => parts(&mut types.iter()),
            Type::Array(ty, Length::Fixed(length)) if *length as usize <= MOST => {
                parts(&mut std::iter::repeat_n(&**ty, *length as usize))
            }
            Type::Int(..) | Type::Bool | Type::Enum(_) => scalars.next().map(Data::One),
            Type::Value if values => scalars.next().map(Data::One),
            // Null is 0, for values only.
            Type::Opt(inside) if values && **inside == Type::Value => scalars.next().map(Data::One),
            _ => None,
        }
    }

    fn scalars(&self, into: &mut Vec<Scalar>) {
        match self {
            Data::One(scalar) => into.push(*scalar),
            Data::Parts(parts) => parts.iter().for_each(|part| part.scalars(into)),
        }
    }

    /// What a specification begins with.
    fn known(datum: &Datum, values: bool) -> Option<Data> {
        Some(match datum {
            Datum::Int(_) => Data::One(Scalar::Int(datum.small()?)),
            Datum::Bool(b) => Data::One(truth(*b)),
            Datum::Variant(v) => Data::One(Scalar::Int(*v as i32)),
            Datum::Null if values => Data::One(Scalar::Int(0)),
            Datum::Tuple(parts) | Datum::List(parts) => {
                Data::Parts(parts.iter().map(|p| Data::known(p, values)).collect::<Option<_>>()?)
            }
            _ => return None,
        })
    }

    fn one(self) -> Option<Scalar> {
        match self {
            Data::One(scalar) => Some(scalar),
            Data::Parts(_) => None,
        }
    }

    fn parts(self) -> Option<Vec<Data>> {
        match self {
            Data::One(_) => None,
            Data::Parts(parts) => Some(parts),
        }
    }

    /// A part of a part, and so on.
    fn at(&mut self, path: &[usize]) -> Option<&mut Data> {
        match (path, self) {
            ([], data) => Some(data),
            ([first, rest @ ..], Data::Parts(parts)) => parts.get_mut(*first)?.at(rest),
            (_, Data::One(_)) => None,
        }
    }
}

/// Data one after another as scalars.
fn flat<'d>(all: impl IntoIterator<Item = &'d Data>) -> Vec<Scalar> {
    let mut scalars = Vec::new();
    all.into_iter().for_each(|data| data.scalars(&mut scalars));
    scalars
}

impl NumberSpec {
    /// The specification of a program, or why it is not that of numbers.
    pub fn of(program: &Program) -> Result<NumberSpec, String> {
        NumberSpec::with(program, false)
    }

    /// The specification of a program in which numbers stand for values, or why it is not that of
    /// values and numbers.
    pub fn of_values(program: &Program) -> Result<NumberSpec, String> {
        NumberSpec::with(program, true)
    }

    fn with(program: &Program, values: bool) -> Result<NumberSpec, String> {
        let info = program.spec.clone().ok_or("it names no specification")?;
        let no_numbers = || "the state of its specification is not made of numbers".to_owned();
        let is_made =
            |ty: &Type| Data::of_type(ty, values, &mut std::iter::repeat(Scalar::Int(0))).is_some();
        let bounds = Bounds { values: 1, keys: 1, nodes: None, capacity: None };
        let initial = Spec::new(info.clone(), bounds).initial();
        let initial = initial.map_err(|_| "its specification has no beginning".to_owned())?;
        let initial = initial.iter().map(|datum| Data::known(datum, values));
        let initial = flat(&initial.collect::<Option<Vec<Data>>>().ok_or_else(no_numbers)?);
        if !info.vars.iter().all(|var| is_made(&var.ty)) || !(1..=MOST).contains(&initial.len()) {
            return Err(no_numbers());
        }
        let mut methods = Vec::new();
        for method in &program.methods {
            let known = info.methods.iter().position(|m| m.name == method.name);
            let known = known.ok_or(format!("`{}` is not specified", method.name))?;
            let result = &info.methods[known].result;
            if *result != Type::Unit && !is_made(result) {
                return Err(no_numbers());
            }
            methods.push(known);
        }
        Ok(NumberSpec { info, methods, initial, values })
    }

    /// What a method makes of a content; none if it waits, or if that is not known.
    pub fn outcome(
        &self,
        call: NumberCall<'_>,
        content: &[Scalar],
        facts: &[Fact],
    ) -> Option<Becomes> {
        self.run(call, content, facts).0
    }

    /// Whether a method surely waits or changes something at a content: such a moment justifies no
    /// result.
    pub fn is_busy(&self, call: NumberCall<'_>, content: &[Scalar], facts: &[Fact]) -> bool {
        match self.run(call, content, facts) {
            (Some((to, _)), _) => {
                to.iter().zip(content).any(|(to, was)| equal(*to, *was, facts) == Some(false))
            }
            (None, waits) => waits,
        }
    }

    /// The outcome, and whether there is none because the method waits.
    fn run(
        &self,
        call: NumberCall<'_>,
        content: &[Scalar],
        facts: &[Fact],
    ) -> (Option<Becomes>, bool) {
        let Some(place) = self.methods.get(call.method) else { return (None, false) };
        let (info, method, values) = (&self.info, &self.info.methods[*place], self.values);
        let mut scalars = content.iter().copied();
        let variables = info.vars.iter().map(|var| Data::of_type(&var.ty, values, &mut scalars));
        let Some(variables) = variables.collect::<Option<Vec<Data>>>() else {
            return (None, false);
        };
        let mut run = Run { info, method, facts, variables, locals: vec![], waits: false, values };
        let outcome = run.call(call.arguments);
        (outcome.map(|result| (flat(&run.variables), flat(&result))), run.waits)
    }
}

struct Run<'s> {
    info: &'s SpecInfo,
    method: &'s FunctionInfo,
    facts: &'s [Fact],
    variables: Vec<Data>,
    locals: Vec<(LocalId, Data)>,
    waits: bool,
    values: bool,
}

/// A variable of the specification or of the method, and the way to a part of it.
struct Spot {
    base: Meaning,
    path: Vec<usize>,
}

fn truth(holds: bool) -> Scalar {
    Scalar::Int(i32::from(holds))
}

impl<'s> Run<'s> {
    /// Runs a method: what it returns, if anything.
    fn call(&mut self, arguments: &[Scalar]) -> Option<Option<Data>> {
        let mut scalars = arguments.iter().copied();
        for param in &self.method.params {
            let argument = Data::of_type(&param.ty, self.values, &mut scalars)?;
            self.within(&argument, &param.ty).then_some(())?;
            self.locals.push((param.local, argument));
        }
        self.block(&self.method.body).map(|returned| returned.flatten())
    }

    fn type_of(&self, expr: &Expr) -> &'s Type {
        self.info.facts.type_of(expr)
    }

    /// Data of one type where another one is wanted. What comes from a variable with bounds is
    /// within them, since everything that was put there was.
    fn fitting(&self, data: Data, from: &Type, wanted: &Type) -> Option<Data> {
        // The wanted type must be one of numbers, and the data of its form.
        let again = Data::of_type(wanted, self.values, &mut flat([&data]).into_iter())?;
        let right = again == data
            && is_null_data(from, wanted)
            && (from.fits(wanted) == Fit::Always || self.within(&data, wanted));
        right.then_some(data)
    }

    fn evaluated(&self, value: &Expr, wanted: &Type) -> Option<Data> {
        self.fitting(self.data(value)?, self.type_of(value), wanted)
    }

    /// Whether data surely lies in the bounds stated for its type, if any are.
    fn within(&self, data: &Data, ty: &Type) -> bool {
        match (data, ty) {
            (Data::Parts(parts), Type::Tuple(types)) => {
                parts.len() == types.len()
                    && parts.iter().zip(types).all(|(part, ty)| self.within(part, ty))
            }
            (Data::Parts(parts), Type::Array(ty, _)) => parts.iter().all(|p| self.within(p, ty)),
            (Data::Parts(_), _) => false,
            (Data::One(scalar), Type::Int(range)) => {
                range.is_default()
                    || less(*scalar, Scalar::Int(range.low), self.facts) == Some(false)
                        && less(Scalar::Int(range.high), *scalar, self.facts) == Some(false)
            }
            (Data::One(scalar), Type::Value) => {
                equal(*scalar, Scalar::Int(0), self.facts) == Some(false)
            }
            (Data::One(_), Type::Opt(inside)) => **inside == Type::Value,
            (Data::One(_), ty) => matches!(ty, Type::Bool | Type::Enum(_)),
        }
    }

    /// Runs a block: what it returns, if it does. None if it waits, or if that is not known.
    fn block(&mut self, block: &Block) -> Option<Option<Option<Data>>> {
        for statement in block {
            let returned = self.statement(statement)?;
            if returned.is_some() {
                return Some(returned);
            }
        }
        Some(None)
    }

    fn statement(&mut self, statement: &Stmt) -> Option<Option<Option<Data>>> {
        match &statement.kind {
            StmtKind::Let(Pattern::Bind(binding), _, value) => {
                let (local, ty) = self.bound(binding)?;
                let data = self.evaluated(value, ty)?;
                self.locals.push((local, data));
            }
            StmtKind::Let(Pattern::Tuple(bindings), _, value) => {
                let (parts, types) = self.taken_apart(value)?;
                for ((binding, part), from) in bindings.iter().zip(parts).zip(types) {
                    let Some(binding) = binding else { continue };
                    let (local, ty) = self.bound(binding)?;
                    let data = self.fitting(part, from, ty)?;
                    self.locals.push((local, data));
                }
            }
            StmtKind::Assign(targets, value) => match &targets[..] {
                [Some(target)] => {
                    let data = self.evaluated(value, self.type_of(target))?;
                    self.assign(target, data)?;
                }
                targets => {
                    let (parts, types) = self.taken_apart(value)?;
                    for ((target, part), from) in targets.iter().zip(parts).zip(types) {
                        let Some(target) = target else { continue };
                        let data = self.fitting(part, from, self.type_of(target))?;
                        self.assign(target, data)?;
                    }
                }
            },
            StmtKind::If(condition, then, otherwise) => {
                let taken = if self.holds(condition)? { then } else { otherwise };
                return self.block(taken);
            }
            StmtKind::Atomic(block) => return self.block(block),
            StmtKind::Return(None) => return Some(Some(None)),
            StmtKind::Return(Some(value)) => {
                return Some(Some(Some(self.evaluated(value, &self.method.result)?)));
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

    fn bound(&self, binding: &Binding) -> Option<(LocalId, &'s Type)> {
        let Meaning::Local(local) = self.info.facts.meaning(binding.id)? else { return None };
        Some((local, &self.info.facts.locals[local.0 as usize].1))
    }

    fn taken_apart(&self, value: &Expr) -> Option<(Vec<Data>, &'s [Type])> {
        let Type::Tuple(types) = self.type_of(value) else { return None };
        Some((self.data(value)?.parts()?, types))
    }

    fn assign(&mut self, target: &Expr, data: Data) -> Option<()> {
        let spot = self.spot(target)?;
        let variable = match spot.base {
            Meaning::Local(local) => {
                &mut self.locals.iter_mut().rev().find(|(known, _)| *known == local)?.1
            }
            Meaning::Shared(var) => self.variables.get_mut(var.0 as usize)?,
            _ => return None,
        };
        *variable.at(&spot.path)? = data;
        Some(())
    }

    fn spot(&self, place: &Expr) -> Option<Spot> {
        match &place.kind {
            ExprKind::Name(_) => {
                Some(Spot { base: self.info.facts.meaning(place.id)?, path: vec![] })
            }
            ExprKind::Part(whole, part) => self.spot(whole)?.inside(*part as usize),
            ExprKind::Index(array, index) => match self.data(index)?.one()? {
                Scalar::Int(index) => self.spot(array)?.inside(usize::try_from(index).ok()?),
                _ => None,
            },
            _ => None,
        }
    }

    fn holds(&self, condition: &Expr) -> Option<bool> {
        match self.data(condition)?.one()? {
            Scalar::Int(n) => Some(n != 0),
            _ => None,
        }
    }

    /// What an expression is.
    fn data(&self, expr: &Expr) -> Option<Data> {
        match &expr.kind {
            ExprKind::Tuple(parts) | ExprKind::List(parts) => {
                parts.iter().map(|part| self.data(part)).collect::<Option<_>>().map(Data::Parts)
            }
            ExprKind::If(condition, a, b) => self.data(if self.holds(condition)? { a } else { b }),
            ExprKind::Name(_) | ExprKind::Part(..) | ExprKind::Index(..) => {
                let spot = self.spot(expr)?;
                let mut whole = match spot.base {
                    Meaning::Local(local) => {
                        self.locals.iter().rev().find(|(known, _)| *known == local)?.1.clone()
                    }
                    Meaning::Shared(var) => self.variables.get(var.0 as usize)?.clone(),
                    Meaning::Const(n) => Data::One(Scalar::Int(n)),
                    Meaning::Variant(_, n) => Data::One(Scalar::Int(n as i32)),
                    _ => return None,
                };
                whole.at(&spot.path).cloned()
            }
            _ => self.scalar(expr).map(Data::One),
        }
    }

    fn scalar(&self, expr: &Expr) -> Option<Scalar> {
        Some(match &expr.kind {
            ExprKind::Int(n) => Scalar::Int(i32::try_from(*n).ok()?),
            ExprKind::Bool(b) => truth(*b),
            ExprKind::Null if self.values => Scalar::Int(0),
            ExprKind::Unary(UnaryOp::Not, a) => truth(!self.holds(a)?),
            ExprKind::Unary(UnaryOp::Neg, a) => match self.data(a)?.one()? {
                Scalar::Int(n) => Scalar::Int(n.checked_neg()?),
                _ => return None,
            },
            ExprKind::Binary(BinaryOp::And, a, b) => truth(self.holds(a)? && self.holds(b)?),
            ExprKind::Binary(BinaryOp::Or, a, b) => truth(self.holds(a)? || self.holds(b)?),
            ExprKind::Binary(op, a, b) => {
                let (left, right) = (self.type_of(a), self.type_of(b));
                let data = is_null_data(left, right) && is_null_data(right, left);
                data.then_some(())?;
                self.binary(*op, self.data(a)?.one()?, self.data(b)?.one()?)?
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

/// Whether data of one type is null only where the other type is that of values, or of null alone.
fn is_null_data(from: &Type, to: &Type) -> bool {
    match (from, to) {
        (Type::Tuple(from), Type::Tuple(to)) => {
            from.len() == to.len() && from.iter().zip(to).all(|(a, b)| is_null_data(a, b))
        }
        (Type::Array(from, _), Type::Array(to, _)) => is_null_data(from, to),
        (Type::Opt(_) | Type::Never, to) => matches!(to.required(), Type::Value | Type::Never),
        _ => true,
    }
}

impl Spot {
    fn inside(mut self, part: usize) -> Option<Spot> {
        self.path.push(part);
        Some(self)
    }
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
        assert_eq!(number_spec.initial, [Scalar::Int(3)]);
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
                                vec![number(content)],
                                match result {
                                    Datum::Int(_) => vec![number(result)],
                                    Datum::Bool(b) => vec![truth(*b)],
                                    _ => vec![],
                                },
                            ))
                        }
                        _ => None,
                    };
                    let arguments = &[Scalar::Int(argument)][..arity];
                    let call = NumberCall { method, arguments };
                    assert_eq!(number_spec.outcome(call, &[Scalar::Int(content)], &[]), wanted);
                }
            }
        }
        let unknown = Scalar::Number(0, 0);
        let drop = number_spec.outcome(
            NumberCall { method: 1, arguments: &[Scalar::Int(0)] },
            &[unknown],
            &[],
        );
        assert_eq!(drop, None, "it depends on the content");
        let inc = number_spec.outcome(NumberCall { method: 0, arguments: &[] }, &[unknown], &[]);
        assert_eq!(inc, Some((vec![Scalar::Number(0, 1)], vec![unknown])));
    }
}
