//! Expressions of specifications.

use super::{Datum, Interpreted, Interpreter, broken};
use crate::front::ast::*;
use crate::front::program::*;
use crate::front::types::Type;
use crate::steps::{MINUS_INF, PLUS_INF};

/// What a map has where it has no entry.
const NOTHING: &Datum = &Datum::Null;

impl Interpreter<'_> {
    /// The datum that a name, a part of one, or an entry of a map at one stands for, where it
    /// stands: states are large, and most of what is looked at is only compared.
    fn look(&self, expr: &Expr) -> Option<&Datum> {
        match &expr.kind {
            ExprKind::Name(_) => match self.facts.meaning(expr.id)? {
                Meaning::Local(local) => self.locals.get(local),
                Meaning::Shared(var) => self.vars.get(var.0 as usize),
                _ => None,
            },
            ExprKind::Part(of, part) => match self.look(of)? {
                Datum::Tuple(parts) => parts.get(*part as usize),
                _ => None,
            },
            ExprKind::Index(of, index) => match self.look(of)? {
                Datum::Map(entries) => Some(entries.get(self.look(index)?).unwrap_or(NOTHING)),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn value(&mut self, expr: &Expr) -> Interpreted<Datum> {
        if let Some(seen) = self.look(expr) {
            return Ok(seen.clone());
        }
        Ok(match &expr.kind {
            ExprKind::Int(n) => Datum::Int(*n as i32),
            ExprKind::Bool(b) => Datum::Bool(*b),
            ExprKind::Null => Datum::Null,
            ExprKind::MinusInf => Datum::Key(MINUS_INF),
            ExprKind::PlusInf => Datum::Key(PLUS_INF),
            ExprKind::Any => self.any(expr)?,
            ExprKind::Name(_) => self.name(expr)?,
            ExprKind::Part(of, part) => {
                let parts = self.value(of)?.into_parts();
                parts.into_iter().nth(*part as usize).ok_or_else(|| broken("no such part"))?
            }
            ExprKind::Index(of, index) => self.index(of, index)?,
            ExprKind::Slice(of, low, high) => self.slice(of, low, high)?,
            ExprKind::Call(_, args) => self.call_expression(expr, args)?,
            ExprKind::Unary(UnaryOp::Not, a) => Datum::Bool(!self.truth(a)?),
            ExprKind::Unary(UnaryOp::Neg, a) => {
                Datum::Int(self.value(a)?.number().saturating_neg())
            }
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b)?,
            ExprKind::If(cond, a, b) => {
                let branch = if self.truth(cond)? { a } else { b };
                self.value(branch)?
            }
            ExprKind::Tuple(parts) => Datum::Tuple(self.all(parts)?),
            ExprKind::List(parts) => Datum::List(self.all(parts)?),
            ExprKind::Set(parts) => Datum::set(self.all(parts)?),
            ExprKind::Fill(element, _) => {
                let element = self.value(element)?;
                let Type::Array(_, length) = self.facts.type_of(expr) else {
                    return Err(broken("not an array"));
                };
                Datum::List(vec![element; length.count(1) as usize])
            }
            ExprKind::SelfTid | ExprKind::Field(..) | ExprKind::New(..) => {
                return Err(broken("a specification has no threads and no heap"));
            }
        })
    }

    fn all(&mut self, parts: &[Expr]) -> Interpreted<Vec<Datum>> {
        parts.iter().map(|p| self.value(p)).collect()
    }

    /// Any datum of the type, `null` included where it may stand.
    fn any(&mut self, expr: &Expr) -> Interpreted<Datum> {
        let ty = self.facts.type_of(expr);
        if matches!(ty, Type::Opt(_)) && self.choices.pick(2) == 1 {
            return Ok(Datum::Null);
        }
        let mut pick = |count: u32| match count {
            0 => Err(broken("there is nothing to choose from")),
            _ => Ok(self.choices.pick(count)),
        };
        Ok(match ty.required() {
            Type::Bool => Datum::Bool(pick(2)? == 1),
            Type::Int(range) => Datum::Int(range.low + pick(range.count().min(4097))? as i32),
            Type::Value => Datum::Value(pick(self.bounds.values)? as i32),
            Type::Key => Datum::Key(pick(self.bounds.keys)? as i32),
            Type::Enum(id) => Datum::Variant(pick(self.facts.variants(*id))?),
            _ => return Err(broken("there is nothing to choose from")),
        })
    }

    fn name(&self, expr: &Expr) -> Interpreted<Datum> {
        let found = match self.facts.meaning(expr.id) {
            Some(Meaning::Local(local)) => self.locals.get(local).cloned(),
            Some(Meaning::Shared(var)) => self.vars.get(var.0 as usize).cloned(),
            Some(Meaning::Const(n)) => Some(Datum::Int(n)),
            Some(Meaning::Variant(_, n)) => Some(Datum::Variant(n)),
            _ => None,
        };
        found.ok_or_else(|| broken("a name has no value"))
    }

    fn index(&mut self, of: &Expr, index: &Expr) -> Interpreted<Datum> {
        let whole = self.value(of)?;
        let index = self.value(index)?;
        if let Type::Map(..) = self.facts.type_of(of).required() {
            return Ok(match whole {
                Datum::Map(entries) => entries.get(&index).cloned().unwrap_or(Datum::Null),
                _ => Datum::Null,
            });
        }
        let parts = whole.into_parts();
        let at = usize::try_from(index.number()).ok();
        at.and_then(|at| parts.get(at).cloned()).ok_or_else(|| broken("an index is out of range"))
    }

    fn slice(
        &mut self,
        of: &Expr,
        low: &Option<Box<Expr>>,
        high: &Option<Box<Expr>>,
    ) -> Interpreted<Datum> {
        let whole = self.value(of)?;
        if let Type::Map(..) = self.facts.type_of(of) {
            let low = low.as_ref().map(|e| self.value(e)).transpose()?;
            let high = high.as_ref().map(|e| self.value(e)).transpose()?;
            return Ok(whole.between(low.as_ref(), high.as_ref()));
        }
        let parts = whole.into_parts();
        let bound = |b: Option<Datum>, default: usize| match b {
            Some(b) => usize::try_from(b.number()).map_err(|_| broken("a bound is negative")),
            None => Ok(default),
        };
        let low = low.as_ref().map(|e| self.value(e)).transpose()?;
        let high = high.as_ref().map(|e| self.value(e)).transpose()?;
        let (low, high) = (bound(low, 0)?, bound(high, parts.len())?);
        match parts.get(low..high) {
            Some(part) => Ok(Datum::List(part.to_vec())),
            None => Err(broken("a slice is out of range")),
        }
    }

    fn call_expression(&mut self, expr: &Expr, args: &[Expr]) -> Interpreted<Datum> {
        let values = self.all(args)?;
        match self.facts.meaning(expr.id) {
            Some(Meaning::Function(index)) => {
                let info = &self.spec.functions[index as usize];
                let saved = std::mem::take(&mut self.locals);
                let result = self.call(info, values.into_iter());
                self.locals = saved;
                result
            }
            Some(Meaning::Builtin(builtin)) => collection(builtin, values),
            _ => Err(broken("this cannot be called")),
        }
    }

    fn binary(&mut self, op: BinaryOp, a: &Expr, b: &Expr) -> Interpreted<Datum> {
        match op {
            BinaryOp::And => return Ok(Datum::Bool(self.truth(a)? && self.truth(b)?)),
            BinaryOp::Or => return Ok(Datum::Bool(self.truth(a)? || self.truth(b)?)),
            _ => {}
        }
        if let (Some(left), Some(right)) = (self.look(a), self.look(b))
            && let Some(truth) = compared(op, left, right)
        {
            return Ok(Datum::Bool(truth));
        }
        let (left, right) = (self.value(a)?, self.value(b)?);
        if let Some(truth) = compared(op, &left, &right) {
            return Ok(Datum::Bool(truth));
        }
        Ok(match op {
            BinaryOp::Concat => {
                let mut parts = left.into_parts();
                parts.extend(right.into_parts());
                Datum::List(parts)
            }
            _ => arithmetic(op, left, right)?,
        })
    }
}

/// What a comparison says; `None` of other operators.
fn compared(op: BinaryOp, left: &Datum, right: &Datum) -> Option<bool> {
    Some(match op {
        BinaryOp::Eq => left == right,
        BinaryOp::Ne => left != right,
        BinaryOp::Lt => left.number() < right.number(),
        BinaryOp::Le => left.number() <= right.number(),
        BinaryOp::Gt => left.number() > right.number(),
        BinaryOp::Ge => left.number() >= right.number(),
        BinaryOp::In => match right {
            Datum::Map(entries) => entries.get(left).is_some(),
            Datum::Set(parts) => parts.binary_search(left).is_ok(),
            _ => right.elements().contains(left),
        },
        _ => return None,
    })
}

fn arithmetic(op: BinaryOp, left: Datum, right: Datum) -> Interpreted<Datum> {
    let (left, right) = match (left, right) {
        (Datum::Set(a), Datum::Set(b)) => return Ok(combined(op, a, b)),
        numbers => numbers,
    };
    let (a, b) = (left.number(), right.number());
    let result = match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Sub => a.checked_sub(b),
        BinaryOp::Mul => a.checked_mul(b),
        BinaryOp::Div => a.checked_div_euclid(b),
        _ => a.checked_rem_euclid(b),
    };
    result.map(Datum::Int).ok_or_else(|| broken("a calculation has no result"))
}

/// The union of two sorted lists, or what the first has and the second has not.
fn combined(op: BinaryOp, mut a: Vec<Datum>, b: Vec<Datum>) -> Datum {
    match op {
        BinaryOp::Add => {
            a.extend(b);
            Datum::set(a)
        }
        _ => {
            a.retain(|x| b.binary_search(x).is_err());
            Datum::Set(a)
        }
    }
}

fn collection(builtin: Builtin, mut args: Vec<Datum>) -> Interpreted<Datum> {
    let element = if args.len() > 1 { args.pop() } else { None };
    let Some(whole) = args.pop() else { return Err(broken("an argument is missing")) };
    if let (Builtin::Len, Datum::Map(entries)) = (builtin, &whole) {
        return Ok(Datum::Int(entries.len() as i32));
    }
    let is_set = matches!(whole, Datum::Set(_));
    let mut parts = whole.into_parts();
    let by_number = |a: &&Datum, b: &&Datum| a.number().cmp(&b.number());
    match builtin {
        Builtin::Len => Ok(Datum::Int(parts.len() as i32)),
        Builtin::Min => {
            parts.iter().min_by(by_number).cloned().ok_or_else(|| broken("min of nothing"))
        }
        Builtin::Max => {
            parts.iter().max_by(by_number).cloned().ok_or_else(|| broken("max of nothing"))
        }
        Builtin::Remove => {
            if let Some(at) = element.and_then(|e| parts.iter().position(|p| *p == e)) {
                parts.remove(at);
            }
            Ok(if is_set { Datum::Set(parts) } else { Datum::List(parts) })
        }
        _ => Err(broken("this belongs to algorithms")),
    }
}
