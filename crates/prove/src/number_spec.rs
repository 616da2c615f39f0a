//! Specifications whose state is numbers, booleans and variants: counters, registers of numbers,
//! locks, semaphores, pairs that are read together.
//!
//! Decided: what a method makes of a content of which a view knows as much as [`crate::number`]
//! says. The body of the method is followed on that content; a condition that the view does not
//! decide gives no answer, and then nothing is justified by it. Understood are assignments, local
//! variables, tuples, arrays with a known index, conditions, `assume`, `return` and arithmetic. What
//! is not understood gives no answer either. It would be unsound to answer where the body does
//! something else.
//!
//! A content is the list of its *words*: those of one variable after those of another, and of a tuple
//! or an array those of its parts.
//!
//! Where values are taken for numbers ([`crate::reduce`]), null is the number 0 here as well, and
//! a value that must not be null must surely not be 0.

use crate::content::WORDS;
use crate::difference::{Fact, compare};
use crate::number::combine;
use crate::value::Val;
use seriatim_lang::Program;
use seriatim_lang::ast::{
    BinaryOp, Binding, Block, Expr, ExprKind, Pattern, Stmt, StmtKind, UnaryOp,
};
use seriatim_lang::machine::Bounds;
use seriatim_lang::program::{FunctionInfo, LocalId, Meaning, SpecInfo};
use seriatim_lang::spec::{Datum, Spec};
use seriatim_lang::steps::BinOp;
use seriatim_lang::types::{Fit, Length, Type};

/// What a method makes of a content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Told {
    /// The content after it and its result, which is no words if it has none.
    Becomes(Vec<Val>, Vec<Val>),
    /// It waits.
    Waits,
    /// The view does not decide that.
    Unclear,
}

/// A specification whose state is numbers.
#[derive(Clone, Debug)]
pub struct NumberSpec {
    info: SpecInfo,
    /// The methods of the object, by their places in the specification.
    methods: Vec<usize>,
    /// The content at the start.
    pub initial: Vec<i32>,
    /// Whether values are numbers.
    values: bool,
}

/// The number that stands for null, where values are numbers.
const NO_VALUE: Val = Val::Int(0);

impl NumberSpec {
    /// The specification of a program, or why it is not of this sort.
    pub fn of(program: &Program) -> Result<NumberSpec, String> {
        NumberSpec::over(program, false)
    }

    /// The same, with values as numbers.
    pub fn of_values(program: &Program) -> Result<NumberSpec, String> {
        NumberSpec::over(program, true)
    }

    fn over(program: &Program, values: bool) -> Result<NumberSpec, String> {
        let info = program.spec.clone().ok_or("it names no specification")?;
        let words = info.vars.iter().map(|var| words(&var.ty, values)).sum::<Option<usize>>();
        match words {
            Some(1..=WORDS) => {}
            Some(_) => return Err(format!("its state is nothing, or more than {WORDS} numbers")),
            None => return Err("its state is neither one value nor numbers".to_string()),
        }
        let bounds = Bounds { values: 1, keys: 1, nodes: None, capacity: None };
        let state = Spec::new(info.clone(), bounds).initial();
        let state = state.map_err(|_| "its specification fails".to_string())?;
        let mut initial = Vec::new();
        for datum in &state {
            number_words(datum, &mut initial)?;
        }
        let find = |name: &str| {
            let fits = |m: &FunctionInfo| m.name == name && result(m, values).is_some();
            let found = info.methods.iter().position(fits);
            found.ok_or_else(|| format!("the method `{name}` has no known meaning"))
        };
        let methods = program.methods.iter().map(|m| find(&m.name)).collect::<Result<_, _>>()?;
        Ok(NumberSpec { info, methods, initial, values })
    }

    /// What a method of the object makes of a content.
    pub fn outcome(&self, method: usize, args: &[Val], content: &[Val], facts: &[Fact]) -> Told {
        let Some(info) = self.methods.get(method).map(|m| &self.info.methods[*m]) else {
            return Told::Unclear;
        };
        let (spec, values, content) = (&self.info, self.values, content.to_vec());
        let mut walk = Walk { spec, method: info, facts, content, locals: vec![], values };
        match walk.call(args) {
            Ok(result) => Told::Becomes(walk.content, result),
            Err(Stop::Waits) => Told::Waits,
            Err(Stop::Unclear) => Told::Unclear,
        }
    }
}

/// How many words a type has; none if it is not made of numbers.
fn words(ty: &Type, values: bool) -> Option<usize> {
    match ty {
        Type::Int(..) | Type::Bool | Type::Enum(_) => Some(1),
        Type::Value => values.then_some(1),
        // Null is 0 among values only.
        Type::Opt(inner) => (values && **inner == Type::Value).then_some(1),
        Type::Tuple(parts) => parts.iter().map(|part| words(part, values)).sum(),
        Type::Array(of, Length::Fixed(length)) => {
            words(of, values)?.checked_mul(*length as usize).filter(|words| *words <= WORDS)
        }
        _ => None,
    }
}

/// How many words the result of a method has.
fn result(method: &FunctionInfo, values: bool) -> Option<usize> {
    if method.result == Type::Unit { Some(0) } else { words(&method.result, values) }
}

/// The types of the words of a type.
fn each_word<'t>(ty: &'t Type, into: &mut Vec<&'t Type>) {
    match ty {
        Type::Tuple(parts) => parts.iter().for_each(|part| each_word(part, into)),
        Type::Array(of, Length::Fixed(length)) => (0..*length).for_each(|_| each_word(of, into)),
        ty => into.push(ty),
    }
}

/// Whether all that may be null in one type meets values in the other: null is 0 among them, and a
/// number is not null there.
fn meets_values(from: &Type, to: &Type) -> bool {
    let (mut words, mut others) = (Vec::new(), Vec::new());
    each_word(from, &mut words);
    each_word(to, &mut others);
    let right = |(word, other): (&&Type, &&Type)| {
        let value = matches!(other.required(), Type::Value | Type::Never);
        value || !matches!(word, Type::Opt(_) | Type::Never)
    };
    words.len() == others.len() && words.iter().zip(&others).all(right)
}

/// The numbers that a datum is.
fn number_words(datum: &Datum, into: &mut Vec<i32>) -> Result<(), String> {
    match datum {
        Datum::Int(_) => {
            into.push(datum.small().ok_or("its specification begins with a large number")?);
        }
        Datum::Null => into.push(0),
        Datum::Tuple(parts) | Datum::List(parts) => {
            parts.iter().try_for_each(|part| number_words(part, into))?;
        }
        datum => datum.scalars(into),
    }
    Ok(())
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
    content: Vec<Val>,
    locals: Vec<(LocalId, Vec<Val>)>,
    values: bool,
}

/// Where words stand that are assigned.
enum Home {
    Content,
    /// The latest of this name among the locals.
    Local(usize),
}

fn truth(holds: bool) -> Val {
    Val::Int(i32::from(holds))
}

impl<'s> Walk<'s> {
    fn call(&mut self, args: &[Val]) -> Result<Vec<Val>, Stop> {
        let mut args = args;
        for param in &self.method.params {
            let count = self.words_of(&param.ty)?;
            let (own, rest) = args.split_at_checked(count).ok_or(Stop::Unclear)?;
            self.locals.push((param.local, self.bounded(own.to_vec(), &param.ty)?));
            args = rest;
        }
        Ok(self.block(&self.method.body)?.unwrap_or_default())
    }

    fn words_of(&self, ty: &Type) -> Result<usize, Stop> {
        words(ty, self.values).ok_or(Stop::Unclear)
    }

    /// Words of one type where another one is wanted. What was read from a variable with bounds is
    /// within them.
    fn fitted(&self, found: Vec<Val>, from: &Type, wanted: &Type) -> Result<Vec<Val>, Stop> {
        match from.fits(wanted) {
            _ if self.words_of(wanted)? != found.len() => Err(Stop::Unclear),
            _ if !meets_values(from, wanted) => Err(Stop::Unclear),
            Fit::Always => Ok(found),
            _ => self.bounded(found, wanted),
        }
    }

    fn coerced(&mut self, value: &Expr, wanted: &Type) -> Result<Vec<Val>, Stop> {
        let found = self.words(value)?;
        self.fitted(found, self.spec.facts.type_of(value), wanted)
    }

    /// Words that are surely within the bounds stated for their types. One that may leave them has
    /// no known outcome: the specification itself would be wrong there.
    fn bounded(&self, found: Vec<Val>, ty: &Type) -> Result<Vec<Val>, Stop> {
        let mut types = Vec::new();
        each_word(ty, &mut types);
        let inside = |value: Val, ty: &Type| match ty {
            Type::Int(range) => {
                range.is_default()
                    || compare(value, Val::Int(range.low), self.facts).less == Some(false)
                        && compare(Val::Int(range.high), value, self.facts).less == Some(false)
            }
            Type::Value => compare(value, NO_VALUE, self.facts).equal == Some(false),
            _ => true,
        };
        let right =
            types.len() == found.len() && found.iter().zip(types).all(|(v, t)| inside(*v, t));
        if right { Ok(found) } else { Err(Stop::Unclear) }
    }

    /// The result, if the block returns one.
    fn block(&mut self, block: &Block) -> Result<Option<Vec<Val>>, Stop> {
        for statement in block {
            if let Some(result) = self.statement(statement)? {
                return Ok(Some(result));
            }
        }
        Ok(None)
    }

    fn statement(&mut self, statement: &Stmt) -> Result<Option<Vec<Val>>, Stop> {
        match &statement.kind {
            StmtKind::Let(Pattern::Bind(binding), _, value) => {
                let (local, ty) = self.bound(binding)?;
                let found = self.coerced(value, ty)?;
                self.locals.push((local, found));
            }
            StmtKind::Let(Pattern::Tuple(bindings), _, value) => {
                let parts = self.parts(value)?;
                for (binding, (found, from)) in bindings.iter().zip(parts) {
                    if let Some(binding) = binding {
                        let (local, ty) = self.bound(binding)?;
                        self.locals.push((local, self.fitted(found, from, ty)?));
                    }
                }
            }
            StmtKind::Assign(targets, value) => match targets.as_slice() {
                [Some(target)] => {
                    let found = self.coerced(value, self.spec.facts.type_of(target))?;
                    self.assign(target, &found)?;
                }
                targets => {
                    let parts = self.parts(value)?;
                    for (target, (found, from)) in targets.iter().zip(parts) {
                        if let Some(target) = target {
                            let wanted = self.spec.facts.type_of(target);
                            let found = self.fitted(found, from, wanted)?;
                            self.assign(target, &found)?;
                        }
                    }
                }
            },
            StmtKind::If(cond, then, otherwise) => {
                let branch = if self.truth(cond)? { then } else { otherwise };
                return self.block(branch);
            }
            StmtKind::Return(None) => return Ok(Some(vec![])),
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

    /// The local variable that a name binds, and its type.
    fn bound(&self, binding: &Binding) -> Result<(LocalId, &'s Type), Stop> {
        match self.spec.facts.meaning(binding.id) {
            Some(Meaning::Local(local)) => Ok((local, &self.spec.facts.locals[local.0 as usize].1)),
            _ => Err(Stop::Unclear),
        }
    }

    /// The parts of a tuple, with their types.
    fn parts(&mut self, value: &Expr) -> Result<Vec<(Vec<Val>, &'s Type)>, Stop> {
        let mut found = self.words(value)?;
        let Type::Tuple(types) = self.spec.facts.type_of(value) else { return Err(Stop::Unclear) };
        let mut parts = Vec::new();
        for ty in types {
            let rest = found.split_off(self.words_of(ty)?.min(found.len()));
            parts.push((std::mem::replace(&mut found, rest), ty));
        }
        Ok(parts)
    }

    fn assign(&mut self, target: &Expr, found: &[Val]) -> Result<(), Stop> {
        let (home, first) = self.place(target)?;
        let all = match home {
            Home::Content => &mut self.content,
            Home::Local(at) => &mut self.locals[at].1,
        };
        let words = all.get_mut(first..first + found.len()).ok_or(Stop::Unclear)?;
        words.copy_from_slice(found);
        Ok(())
    }

    /// Where the words of a place begin.
    fn place(&mut self, place: &Expr) -> Result<(Home, usize), Stop> {
        match &place.kind {
            ExprKind::Name(_) => match self.spec.facts.meaning(place.id) {
                Some(Meaning::Local(local)) => {
                    let latest = self.locals.iter().rposition(|l| l.0 == local);
                    Ok((Home::Local(latest.ok_or(Stop::Unclear)?), 0))
                }
                Some(Meaning::Shared(var)) => {
                    let before = &self.spec.vars[..var.0 as usize];
                    let first = before.iter().map(|v| self.words_of(&v.ty)).sum::<Result<_, _>>();
                    Ok((Home::Content, first?))
                }
                _ => Err(Stop::Unclear),
            },
            ExprKind::Part(whole, part) => {
                let (home, first) = self.place(whole)?;
                Ok((home, first + self.part(whole, *part as usize)?))
            }
            ExprKind::Index(array, index) => {
                let skipped = self.index(array, index)?;
                let (home, first) = self.place(array)?;
                Ok((home, first + skipped))
            }
            _ => Err(Stop::Unclear),
        }
    }

    /// How many words of a tuple are before one of its parts.
    fn part(&self, whole: &Expr, part: usize) -> Result<usize, Stop> {
        match self.spec.facts.type_of(whole) {
            Type::Tuple(parts) => parts[..part].iter().map(|ty| self.words_of(ty)).sum(),
            _ => Err(Stop::Unclear),
        }
    }

    /// How many words of an array are before an element, which must be known.
    fn index(&mut self, array: &Expr, index: &Expr) -> Result<usize, Stop> {
        match (self.value(index)?, self.spec.facts.type_of(array)) {
            (Val::Int(n), Type::Array(of, Length::Fixed(length))) if n >= 0 => {
                let inside = (n as u32) < *length;
                if inside { Ok(n as usize * self.words_of(of)?) } else { Err(Stop::Unclear) }
            }
            _ => Err(Stop::Unclear),
        }
    }

    fn truth(&mut self, cond: &Expr) -> Result<bool, Stop> {
        match self.value(cond)? {
            Val::Int(n) => Ok(n != 0),
            _ => Err(Stop::Unclear),
        }
    }

    /// The words of an expression.
    fn words(&mut self, expr: &Expr) -> Result<Vec<Val>, Stop> {
        match &expr.kind {
            ExprKind::Tuple(parts) | ExprKind::List(parts) => {
                let mut all = Vec::new();
                for part in parts {
                    all.extend(self.words(part)?);
                }
                Ok(all)
            }
            ExprKind::If(cond, a, b) => match self.truth(cond)? {
                true => self.words(a),
                false => self.words(b),
            },
            ExprKind::Name(_) => match self.spec.facts.meaning(expr.id) {
                Some(Meaning::Local(_) | Meaning::Shared(_)) => self.read(expr),
                Some(Meaning::Const(n)) => Ok(vec![Val::Int(n)]),
                Some(Meaning::Variant(_, n)) => Ok(vec![Val::Int(n as i32)]),
                _ => Err(Stop::Unclear),
            },
            ExprKind::Part(..) | ExprKind::Index(..) => self.read(expr),
            _ => self.scalar(expr).map(|word| vec![word]),
        }
    }

    /// What is in a place.
    fn read(&mut self, expr: &Expr) -> Result<Vec<Val>, Stop> {
        let count = self.words_of(self.spec.facts.type_of(expr))?;
        let (home, first) = self.place(expr)?;
        let all = match home {
            Home::Content => &self.content,
            Home::Local(at) => &self.locals[at].1,
        };
        all.get(first..first + count).map(<[Val]>::to_vec).ok_or(Stop::Unclear)
    }

    /// The value of an expression that has one word.
    fn value(&mut self, expr: &Expr) -> Result<Val, Stop> {
        match self.words(expr)?[..] {
            [word] => Ok(word),
            _ => Err(Stop::Unclear),
        }
    }

    fn scalar(&mut self, expr: &Expr) -> Result<Val, Stop> {
        Ok(match &expr.kind {
            ExprKind::Int(n) => Val::Int(i32::try_from(*n).map_err(|_| Stop::Unclear)?),
            ExprKind::Bool(b) => truth(*b),
            ExprKind::Null if self.values => NO_VALUE,
            ExprKind::Unary(UnaryOp::Not, a) => truth(!self.truth(a)?),
            ExprKind::Unary(UnaryOp::Neg, a) => match self.value(a)? {
                Val::Int(n) => Val::Int(n.checked_neg().ok_or(Stop::Unclear)?),
                _ => return Err(Stop::Unclear),
            },
            ExprKind::Binary(BinaryOp::And, a, b) => truth(self.truth(a)? && self.truth(b)?),
            ExprKind::Binary(BinaryOp::Or, a, b) => truth(self.truth(a)? || self.truth(b)?),
            ExprKind::Binary(op, a, b) => {
                let types = [a, b].map(|side| self.spec.facts.type_of(side));
                if !meets_values(types[0], types[1]) || !meets_values(types[1], types[0]) {
                    return Err(Stop::Unclear);
                }
                let (a, b) = (self.value(a)?, self.value(b)?);
                binary(*op, a, b, self.facts).ok_or(Stop::Unclear)?
            }
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
        assert_eq!(spec.initial, [3]);
        for (method, arity) in [(0, 0), (1, 1), (2, 0)] {
            for content in -3..8 {
                for arg in -2..4 {
                    let data = vec![Datum::Int(arg.into()); arity];
                    let state = vec![Datum::Int(content.into())];
                    let known = oracle.outcomes(&state, method, &data);
                    let args = [Val::Int(arg), Val::Dead, Val::Dead];
                    let told = spec.outcome(method, &args, &[Val::Int(content)], &[]);
                    let wanted = match known.expect("it runs").as_slice() {
                        [] => Told::Waits,
                        [(state, result)] => {
                            let [content] = state.as_slice() else { panic!("one number") };
                            let number = |n: &Datum| Val::Int(n.small().expect("a number"));
                            let result = match result {
                                Datum::Int(_) => vec![number(result)],
                                Datum::Bool(b) => vec![truth(*b)],
                                _ => vec![],
                            };
                            Told::Becomes(vec![number(content)], result)
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
        let told = Told::Becomes(vec![Val::Num(0, 1)], vec![n]);
        assert_eq!(spec.outcome(0, &args, &[n], &[]), told);
        assert_eq!(spec.outcome(1, &args, &[n], &[]), Told::Unclear, "it depends on n");
        let mut facts = Vec::new();
        crate::difference::learn_order(n, Val::Int(2), false, &mut facts);
        let told = Told::Becomes(vec![Val::Num(0, -2)], vec![truth(true)]);
        assert_eq!(spec.outcome(1, &args, &[n], &facts), told, "it is at least 2");
        let told = Told::Becomes(vec![Val::Int(0)], vec![]);
        assert_eq!(spec.outcome(2, &args, &[n], &[]), told);
    }

    const SEVERAL: &str = "object o : several
spec several {
  var pair: (int, bool) = (3, false)
  var more: [int; 2] = [4, 5]
  method read() -> (int, bool) { return pair }
  method turn(n: int 0..1) -> int {
    (pair.0, more[n]) = (more[n] - pair.0, pair.0)
    let (x, y) = pair
    pair.1 = !y
    pair = (x + 1, pair.1 == (x > more[1 - n]))
    return more[0] + more[1]
  }
  method more() -> (int, int) { return (more[1], more[0]) }
}
method read() -> (int, bool) { return (0, true) }
method turn(n: int 0..1) -> int { return 0 }
method more() -> (int, int) { return (0, 0) }
";

    #[test]
    fn answers_about_several_variables_are_those_of_the_specification() {
        let program = check(SEVERAL).unwrap_or_else(|e| panic!("{}", e.render(SEVERAL, "")));
        let spec = NumberSpec::of(&program).expect("numbers");
        let bounds = Bounds { values: 1, keys: 1, nodes: None, capacity: None };
        let oracle = Spec::new(program.spec.clone().expect("named"), bounds);
        let mut state = oracle.initial().expect("it begins");
        let mut content: Vec<Val> = spec.initial.iter().map(|n| Val::Int(*n)).collect();
        assert_eq!(spec.initial, [3, 0, 4, 5]);
        for step in 0..12 {
            let (method, args) = [(0, None), (1, Some(step % 2)), (2, None)][step as usize % 3];
            let data: Vec<Datum> = args.iter().map(|n| Datum::Int(i64::from(*n))).collect();
            let outcomes = oracle.outcomes(&state, method, &data).expect("it runs");
            let [(after, result)] = outcomes.as_slice() else { panic!("one outcome") };
            let numbers = |data: &[Datum]| {
                let mut all = Vec::new();
                data.iter().for_each(|d| number_words(d, &mut all).expect("small"));
                all.into_iter().map(Val::Int).collect::<Vec<Val>>()
            };
            let args: Vec<Val> = args.into_iter().map(Val::Int).collect();
            let told = spec.outcome(method, &args, &content, &[]);
            let wanted = Told::Becomes(numbers(after), numbers(std::slice::from_ref(result)));
            assert_eq!(told, wanted, "step {step}");
            (state, content) = (after.clone(), numbers(after));
        }
    }
}
