//! Expressions of specifications.

use super::code::Code;
use super::{Answer, Datum, Interpreted, Interpreter, broken};
use crate::front::ast::BinaryOp;
use crate::front::program::Builtin;
use crate::front::types::Type;
use std::borrow::Cow;
use std::sync::Arc;

/// What a map has where it has no entry.
const NOTHING: &Datum = &Datum::Null;

impl Interpreter<'_> {
    /// The datum that a name, a part of one, or an entry of a map at one stands for, where it
    /// stands: states are large, and most of what is looked at is only compared.
    fn look<'a>(&'a self, code: &'a Code) -> Option<&'a Datum> {
        match code {
            Code::Const(datum) => Some(datum),
            Code::Argument(place) => self.args.get(*place),
            Code::Local(place) => self.frame.get(*place),
            Code::Var(var) => self.vars.get(*var),
            Code::Part(of, part) | Code::Field(of, part) => match self.look(of)? {
                Datum::Tuple(parts) => parts.get(*part),
                _ => None,
            },
            Code::Entry(of, index) => match self.look(of)? {
                Datum::Map(entries) => Some(entries.get(self.look(index)?).unwrap_or(NOTHING)),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn value(&mut self, code: &Code) -> Interpreted<Datum> {
        if let Some(seen) = self.look(code) {
            return Ok(seen.clone());
        }
        Ok(match code {
            Code::Const(datum) => datum.clone(),
            Code::Argument(_) | Code::Local(_) | Code::Var(_) => {
                return Err(broken("a name has no value"));
            }
            Code::Text(number, is_key) => self.text(*number, *is_key)?,
            Code::Any(ty, variants) => self.any(ty, *variants)?,
            Code::Part(of, part) => {
                let whole = self.value(of)?;
                let known = whole.element(*part).cloned();
                // The first part of what is no tuple is that itself.
                known.or((*part == 0).then_some(whole)).ok_or_else(|| broken("no such part"))?
            }
            Code::Field(of, place) => {
                let whole = self.value(of)?;
                let field = whole.element(*place).cloned();
                field.ok_or_else(|| broken("a field of nothing"))?
            }
            Code::Entry(of, index) => {
                let (whole, index) = (self.value(of)?, self.value(index)?);
                match whole {
                    Datum::Map(entries) => entries.get(&index).cloned().unwrap_or(Datum::Null),
                    _ => Datum::Null,
                }
            }
            Code::Element(of, index) => {
                let (whole, index) = (self.value(of)?, self.value(index)?);
                let at = usize::try_from(index.number()).ok();
                let element = at.and_then(|at| whole.element(at).cloned());
                element.ok_or_else(|| broken("an index is out of range"))?
            }
            Code::Slice(of, low, high) => self.slice(of, low, high)?,
            Code::Range(of, low, high) => {
                let whole = self.value(of)?;
                let low = low.as_ref().map(|end| self.value(end)).transpose()?;
                let high = high.as_ref().map(|end| self.value(end)).transpose()?;
                whole.between(low.as_ref(), high.as_ref())
            }
            Code::Call(function, args) => self.call_function(*function, args)?,
            Code::Collection(builtin, args) => collection(*builtin, self.all(args)?)?,
            Code::Not(a) => Datum::Bool(!self.truth(a)?),
            Code::Neg(a) => {
                let negated = self.value(a)?.number().checked_neg();
                self.calculated(negated)?
            }
            Code::Binary(op, a, b) => self.binary(*op, a, b)?,
            Code::If(cond, a, b) => {
                let branch = if self.truth(cond)? { a } else { b };
                self.value(branch)?
            }
            // No list in between where tuples are short.
            Code::Tuple(parts) => Datum::Tuple(match &parts[..] {
                [a, b] => Arc::new([self.value(a)?, self.value(b)?]),
                [a, b, c] => Arc::new([self.value(a)?, self.value(b)?, self.value(c)?]),
                _ => self.all(parts)?.into(),
            }),
            Code::Record(fields) => {
                let mut parts = Vec::with_capacity(fields.len());
                for (field, demand) in fields {
                    let part = self.value(field)?;
                    parts.push(self.fitted(part, demand)?);
                }
                Datum::Tuple(parts.into())
            }
            Code::List(parts) => Datum::list(self.all(parts)?),
            Code::Set(parts) => Datum::set(self.all(parts)?),
            Code::Fill(element, length) => Datum::list(vec![self.value(element)?; *length]),
            Code::Broken(why) => return Err(broken(why)),
        })
    }

    fn all(&mut self, parts: &[Code]) -> Interpreted<Vec<Datum>> {
        parts.iter().map(|part| self.value(part)).collect()
    }

    /// Whether an expression has a value. All of it is evaluated: a mistake in it is told even where
    /// the rest decides.
    pub(super) fn is(&mut self, code: &Code, wanted: &Datum) -> Interpreted<bool> {
        match (code, wanted) {
            (Code::Tuple(parts), Datum::Tuple(all)) if parts.len() == all.len() => {
                let mut is_same = true;
                for (part, wanted) in parts.iter().zip(all.iter()) {
                    is_same &= self.is(part, wanted)?;
                }
                Ok(is_same)
            }
            _ => match self.look(code) {
                Some(seen) => Ok(seen == wanted),
                None => Ok(self.value(code)? == *wanted),
            },
        }
    }

    /// A text of the specification, as the history has it.
    fn text(&self, number: u32, is_key: bool) -> Interpreted<Datum> {
        let known = self.spec.texts.get(number as usize);
        let (value, key) = known.ok_or_else(|| broken("a text stands for nothing here"))?;
        Ok(if is_key { key.clone() } else { value.clone() })
    }

    /// Any datum of the type, `null` included where it may stand.
    fn any(&mut self, ty: &Type, variants: u32) -> Interpreted<Datum> {
        if matches!(ty, Type::Opt(_)) && self.choices.pick(2) == 1 {
            return Ok(Datum::Null);
        }
        let bounds = self.spec.bounds;
        let mut pick = |count: u32| match count {
            0 => Err(broken("there is nothing to choose from")),
            _ => Ok(self.choices.pick(count)),
        };
        Ok(match ty.required() {
            Type::Bool => Datum::Bool(pick(2)? == 1),
            Type::Int(range) => {
                Datum::Int(i64::from(range.low) + i64::from(pick(range.count().min(4097))?))
            }
            Type::Value => Datum::Value(pick(bounds.values)? as i32),
            Type::Key => Datum::Key(pick(bounds.keys)? as i32),
            Type::Enum(_) => Datum::Variant(pick(variants)?),
            _ => return Err(broken("there is nothing to choose from")),
        })
    }

    fn slice(
        &mut self,
        of: &Code,
        low: &Option<Box<Code>>,
        high: &Option<Box<Code>>,
    ) -> Interpreted<Datum> {
        let whole = self.value(of)?;
        let bound = |b: Option<Datum>, default: usize| match b {
            Some(b) => usize::try_from(b.number()).map_err(|_| broken("a bound is negative")),
            None => Ok(default),
        };
        let low = low.as_ref().map(|e| self.value(e)).transpose()?;
        let high = high.as_ref().map(|e| self.value(e)).transpose()?;
        let (low, high) = (bound(low, 0)?, bound(high, whole.count())?);
        whole.slice(low, high).ok_or_else(|| broken("a slice is out of range"))
    }

    fn call_function(&mut self, function: usize, args: &[Code]) -> Interpreted<Datum> {
        let values = self.all(args)?;
        let frame = std::mem::take(&mut self.frame);
        let args = std::mem::replace(&mut self.args, Cow::Owned(values));
        let spec = self.spec;
        let result = self.call(&spec.functions[function], None).and_then(Answer::datum);
        (self.frame, self.args) = (frame, args);
        result
    }

    pub(super) fn truth(&mut self, cond: &Code) -> Interpreted<bool> {
        match cond {
            Code::Not(a) => Ok(!self.truth(a)?),
            Code::Binary(BinaryOp::And, a, b) => Ok(self.truth(a)? && self.truth(b)?),
            Code::Binary(BinaryOp::Or, a, b) => Ok(self.truth(a)? || self.truth(b)?),
            Code::Binary(op, a, b) => {
                if let (Some(left), Some(right)) = (self.look(a), self.look(b))
                    && let Some(truth) = compared(*op, left, right)
                {
                    return Ok(truth);
                }
                Ok(self.binary(*op, a, b)? == Datum::Bool(true))
            }
            _ => Ok(self.value(cond)? == Datum::Bool(true)),
        }
    }

    fn binary(&mut self, op: BinaryOp, a: &Code, b: &Code) -> Interpreted<Datum> {
        match op {
            BinaryOp::And => return Ok(Datum::Bool(self.truth(a)? && self.truth(b)?)),
            BinaryOp::Or => return Ok(Datum::Bool(self.truth(a)? || self.truth(b)?)),
            _ => {}
        }
        if let (Some(left), Some(right)) = (self.look(a), self.look(b)) {
            if let Some(truth) = compared(op, left, right) {
                return Ok(Datum::Bool(truth));
            }
            if let (Datum::Int(left), Datum::Int(right)) = (left, right) {
                return self.calculated(calculate(op, *left, *right));
            }
        }
        let (left, right) = (self.value(a)?, self.value(b)?);
        if let Some(truth) = compared(op, &left, &right) {
            return Ok(Datum::Bool(truth));
        }
        match (op, left, right) {
            (BinaryOp::Concat, left, right) => Ok(left.concat(&right)),
            (
                op,
                left @ (Datum::Set(_) | Datum::LongSet(_)),
                right @ (Datum::Set(_) | Datum::LongSet(_)),
            ) => Ok(match op {
                BinaryOp::Add => left.union(&right),
                _ => left.difference(&right),
            }),
            (_, left, right) => self.calculated(calculate(op, left.number(), right.number())),
        }
    }

    /// The result of a calculation, if there is one that the specification can represent.
    fn calculated(&self, result: Option<i64>) -> Interpreted<Datum> {
        let is_fit = |number: &i64| !self.spec.is_narrow || i32::try_from(*number).is_ok();
        let result = result.filter(is_fit);
        result.map(Datum::Int).ok_or_else(|| broken("a calculation has no result"))
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
        BinaryOp::In => right.has(left),
        _ => return None,
    })
}

fn calculate(op: BinaryOp, a: i64, b: i64) -> Option<i64> {
    match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Sub => a.checked_sub(b),
        BinaryOp::Mul => a.checked_mul(b),
        BinaryOp::Div => a.checked_div_euclid(b),
        BinaryOp::Rem => a.checked_rem_euclid(b),
        _ => None,
    }
}

fn collection(builtin: Builtin, mut args: Vec<Datum>) -> Interpreted<Datum> {
    let element = if args.len() > 1 { args.pop() } else { None };
    let Some(whole) = args.pop() else { return Err(broken("an argument is missing")) };
    match builtin {
        Builtin::Len => Ok(Datum::Int(match &whole {
            Datum::Map(entries) => entries.len() as i64,
            _ => whole.count() as i64,
        })),
        Builtin::Min => whole.least().ok_or_else(|| broken("min of nothing")),
        Builtin::Max => whole.greatest().ok_or_else(|| broken("max of nothing")),
        Builtin::Remove => Ok(match element {
            Some(element) => whole.without(&element),
            None => whole,
        }),
        _ => Err(broken("this belongs to algorithms")),
    }
}
