//! Expressions and places.

use super::{Checked, Checker, Part};
use crate::front::ast::*;
use crate::front::diagnostic::Diagnostic;
use crate::front::program::*;
use crate::front::range::Range;
use crate::front::span::Span;
use crate::front::types::{EnumId, Length, StructId, Type};

impl Checker<'_> {
    /// The type of an expression; `wanted` is what its place asks for, where that is known.
    pub(super) fn expr(&mut self, expr: &Expr, wanted: Option<&Type>) -> Checked<Type> {
        let ty = match &expr.kind {
            ExprKind::Int(n) => self.literal(*n, expr.span)?,
            ExprKind::Text(text) => self.text(text, expr, wanted)?,
            ExprKind::Bool(_) => Type::Bool,
            ExprKind::Null => Type::Never.optional(),
            ExprKind::MinusInf | ExprKind::PlusInf => Type::Key,
            ExprKind::SelfTid => self.self_tid(expr)?,
            ExprKind::Any => self.any(expr, wanted)?,
            ExprKind::Name(name) => self.name(name, expr)?,
            ExprKind::Field(of, field) => self.field(of, field)?,
            ExprKind::Part(of, part) => self.part(of, *part, expr.span)?,
            ExprKind::Index(of, index) => self.index(of, index)?,
            ExprKind::Slice(of, low, high) => self.slice(of, low, high)?,
            ExprKind::Call(name, args) => self.call(expr, name, args)?,
            ExprKind::New(name, fields) => self.new_node(expr, name, fields)?,
            ExprKind::Unary(op, operand) => self.unary(*op, operand)?,
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b)?,
            ExprKind::If(cond, then, otherwise) => {
                self.expect(cond, &Type::Bool)?;
                let then_ty = self.expr(then, wanted)?;
                let other_ty = self.expr(otherwise, wanted)?;
                let joined = then_ty.join(&other_ty);
                joined.ok_or_else(|| self.mismatch(otherwise.span, &other_ty, &then_ty))?
            }
            ExprKind::Tuple(parts) => self.tuple(parts, wanted)?,
            ExprKind::List(parts) => self.list(parts, wanted)?,
            ExprKind::Fill(element, count) => self.fill(element, count, wanted)?,
            ExprKind::Set(parts) => self.set(parts, wanted, expr.span)?,
        };
        Ok(self.set_type(expr.id, ty))
    }

    /// A number as written. One that only a specification for logs can represent has no bounds that
    /// anybody could state.
    fn literal(&self, number: i64, span: Span) -> Checked<Type> {
        match (i32::try_from(number), self.part) {
            (Ok(number), _) => Ok(Type::Int(Range::stated(number, number))),
            (Err(_), Part::Spec) => Ok(self.plain_int()),
            (Err(_), _) => {
                Err(Diagnostic::new(span, "this number is too large").label("must be below 2^31"))
            }
        }
    }

    /// A text is opaque data, or ordered data where that is wanted.
    fn text(&mut self, text: &str, expr: &Expr, wanted: Option<&Type>) -> Checked<Type> {
        if self.part != Part::Spec {
            return Err(Diagnostic::new(expr.span, "only specifications have texts")
                .hint("an algorithm has values, which it moves and compares"));
        }
        let known = self.facts.texts.iter().position(|known| known.text == text);
        let place = known.unwrap_or_else(|| {
            self.facts.texts.push(TextInfo { text: text.to_owned(), is_key: false });
            self.facts.texts.len() - 1
        });
        self.set_meaning(expr.id, Meaning::Text(place as u32));
        let is_key = wanted.is_some_and(|ty| *ty.required() == Type::Key);
        self.facts.texts[place].is_key |= is_key;
        Ok(if is_key { Type::Key } else { Type::Value })
    }

    fn self_tid(&self, expr: &Expr) -> Checked<Type> {
        if self.part == Part::Spec {
            return Err(Diagnostic::new(expr.span, "a specification knows no threads"));
        }
        Ok(Type::Tid)
    }

    fn any(&self, expr: &Expr, wanted: Option<&Type>) -> Checked<Type> {
        match wanted {
            Some(
                ty @ (Type::Bool
                | Type::Int(..)
                | Type::Value
                | Type::Key
                | Type::Tid
                | Type::Enum(_)),
            ) => Ok(ty.clone()),
            // `null` is one of its values.
            Some(Type::Opt(inner)) => Ok(self.any(expr, Some(inner))?.optional()),
            _ => Err(Diagnostic::new(expr.span, "the type of `any` is not known here")
                .hint("write `let x: TYPE = any` with a bool, int, value, key, tid or enum")),
        }
    }

    fn name(&mut self, name: &str, expr: &Expr) -> Checked<Type> {
        if let Some(local) = self.scopes.iter().rev().find_map(|s| s.get(name)) {
            let ty = self.facts.locals[local.0 as usize].1.clone();
            self.set_meaning(expr.id, Meaning::Local(*local));
            return Ok(ty);
        }
        let find = |vars: &[VarInfo]| vars.iter().position(|v| v.name == name);
        if let Some(index) = find(&self.shared) {
            if self.part == Part::Client {
                return Err(Diagnostic::new(expr.span, "a client does not see the object's state"));
            }
            self.set_meaning(expr.id, Meaning::Shared(VarId(index as u32)));
            return Ok(self.shared[index].ty.clone());
        }
        if let Some(index) = find(&self.thread_vars) {
            self.set_meaning(expr.id, Meaning::Thread(VarId(index as u32)));
            return Ok(self.thread_vars[index].ty.clone());
        }
        if let Some(value) = self.facts.consts.get(name).copied() {
            self.set_meaning(expr.id, Meaning::Const(value));
            return Ok(Type::Int(Range::stated(value, value)));
        }
        for (index, decl) in self.facts.enums.iter().enumerate() {
            if let Some(variant) = decl.variants.iter().position(|v| v == name) {
                let id = EnumId(index as u32);
                self.set_meaning(expr.id, Meaning::Variant(id, variant as u32));
                return Ok(Type::Enum(id));
            }
        }
        Err(self.unknown_name(name, expr.span))
    }

    fn field(&mut self, of: &Expr, field: &Name) -> Checked<Type> {
        let found = self.expr(of, None)?;
        if let Type::Record(record) = &found {
            let known = record.place(&field.text).map(|place| record.fields[place].1.clone());
            return known.ok_or_else(|| {
                let names: Vec<&str> = record.fields.iter().map(|(name, _)| &**name).collect();
                let message = format!("`{}` has no field `{}`", record.name, field.text);
                Diagnostic::new(field.span, message)
                    .hint(format!("its fields are: {}", names.join(", ")))
            });
        }
        let Type::Ref(id) = found.required() else {
            let shown = self.facts.show(&found);
            let message = format!("`{shown}` has no fields");
            return Err(
                Diagnostic::new(of.span, message).hint("a tuple's parts are written `.0`, `.1`")
            );
        };
        if self.part == Part::Spec {
            return Err(Diagnostic::new(of.span, "a specification has no heap"));
        }
        let info = self.facts.structure(*id);
        match info.fields.iter().find(|f| f.name == field.text) {
            Some(f) => Ok(f.ty.clone()),
            None => {
                let known: Vec<_> = info.fields.iter().map(|f| f.name.as_str()).collect();
                let message = format!("`{}` has no field `{}`", info.name, field.text);
                Err(Diagnostic::new(field.span, message)
                    .hint(format!("its fields are: {}", known.join(", "))))
            }
        }
    }

    fn part(&mut self, of: &Expr, part: u32, span: Span) -> Checked<Type> {
        let found = self.expr(of, None)?;
        match &found {
            Type::Tuple(parts) if (part as usize) < parts.len() => Ok(parts[part as usize].clone()),
            _ => {
                let shown = self.facts.show(&found);
                Err(Diagnostic::new(span, format!("`{shown}` has no part {part}")))
            }
        }
    }

    fn index(&mut self, of: &Expr, index: &Expr) -> Checked<Type> {
        let found = self.expr(of, None)?;
        match &found {
            Type::Array(element, Length::Fixed(_)) | Type::Seq(element) => {
                let wide = self.plain_int();
                self.expect(index, &wide)?;
                Ok((**element).clone())
            }
            Type::Array(element, Length::Threads) => {
                self.expect(index, &Type::Tid)?;
                Ok((**element).clone())
            }
            Type::Map(key, value) => {
                self.expect(index, key)?;
                Ok((**value).clone())
            }
            _ => {
                let shown = self.facts.show(&found);
                Err(Diagnostic::new(of.span, format!("`{shown}` cannot be indexed")))
            }
        }
    }

    fn slice(
        &mut self,
        of: &Expr,
        low: &Option<Box<Expr>>,
        high: &Option<Box<Expr>>,
    ) -> Checked<Type> {
        let found = self.expr(of, None)?;
        let wide = match &found {
            Type::Map(key, _) if matches!(**key, Type::Key | Type::Int(_)) => (**key).clone(),
            _ => self.plain_int(),
        };
        for bound in low.iter().chain(high) {
            self.expect(bound, &wide)?;
        }
        match &found {
            Type::Seq(_) => Ok(found),
            Type::Map(key, _) if matches!(**key, Type::Key | Type::Int(_)) => Ok(found),
            _ => Err(Diagnostic::new(
                of.span,
                "only a sequence, or a map with ordered keys, can be sliced",
            )),
        }
    }

    fn unary(&mut self, op: UnaryOp, operand: &Expr) -> Checked<Type> {
        match op {
            UnaryOp::Not => {
                self.expect(operand, &Type::Bool)?;
                Ok(Type::Bool)
            }
            UnaryOp::Neg => match self.expr(operand, None)? {
                Type::Int(range) => Ok(Type::Int(range.negated())),
                other => Err(self.mismatch(operand.span, &other, &self.plain_int())),
            },
        }
    }

    fn binary(&mut self, op: BinaryOp, a: &Expr, b: &Expr) -> Checked<Type> {
        match op {
            BinaryOp::And | BinaryOp::Or => {
                self.expect(a, &Type::Bool)?;
                self.expect(b, &Type::Bool)?;
                Ok(Type::Bool)
            }
            BinaryOp::Eq | BinaryOp::Ne => {
                let left = self.expr(a, None)?;
                let right = self.expr(b, Some(&left))?;
                if left.join(&right).is_none() || left == Type::Unit {
                    return Err(self.mismatch(b.span, &right, &left));
                }
                Ok(Type::Bool)
            }
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => self.ordering(a, b),
            BinaryOp::In => {
                let (left, right) = (self.expr(a, None)?, self.expr(b, None)?);
                match &right {
                    Type::Set(e) | Type::Seq(e) | Type::Map(e, _) if left.join(e).is_some() => {
                        Ok(Type::Bool)
                    }
                    _ => Err(self.mismatch(b.span, &right, &Type::Set(Box::new(left)))),
                }
            }
            BinaryOp::Concat => {
                let (left, right) = (self.expr(a, None)?, self.expr(b, None)?);
                match (&left, left.join(&right)) {
                    (Type::Seq(_), Some(joined)) => Ok(joined),
                    _ => Err(self.mismatch(b.span, &right, &left)),
                }
            }
            _ => self.arithmetic(op, a, b),
        }
    }

    fn ordering(&mut self, a: &Expr, b: &Expr) -> Checked<Type> {
        let left = self.expr(a, None)?;
        let ordered = match left {
            Type::Int(..) | Type::Key => true,
            Type::Tid => self.part != Part::Spec,
            _ => false,
        };
        if !ordered {
            let shown = self.facts.show(&left);
            return Err(Diagnostic::new(a.span, format!("`{shown}` has no order")).hint(
                "only `int`, `key` and `tid` are ordered; a `value` can be compared with == alone",
            ));
        }
        let right = self.expr(b, Some(&left))?;
        if left.join(&right).is_none() || matches!(right, Type::Opt(_)) {
            return Err(self.mismatch(b.span, &right, &left));
        }
        Ok(Type::Bool)
    }

    fn arithmetic(&mut self, op: BinaryOp, a: &Expr, b: &Expr) -> Checked<Type> {
        let (left, right) = (self.expr(a, None)?, self.expr(b, None)?);
        let set = matches!(op, BinaryOp::Add | BinaryOp::Sub);
        if let (true, Type::Set(_), Some(joined)) = (set, &left, left.join(&right)) {
            return Ok(joined);
        }
        let (Type::Int(left), Type::Int(right)) = (&left, &right) else {
            let wrong = if matches!(left, Type::Int(_)) { (b, &right) } else { (a, &left) };
            return Err(self.mismatch(wrong.0.span, wrong.1, &self.plain_int()));
        };
        let corners = |f: fn(i32, i32) -> i32| Type::Int(left.calculated(*right, f));
        Ok(match op {
            BinaryOp::Add => corners(i32::saturating_add),
            BinaryOp::Sub => corners(i32::saturating_sub),
            BinaryOp::Mul => corners(i32::saturating_mul),
            // The rest is in this range for any whole number, with bounds or without.
            BinaryOp::Rem if right.low == right.high && right.low > 0 => {
                Type::Int(Range::stated(0, right.low - 1))
            }
            BinaryOp::Div if left.low >= 0 && right.low > 0 => {
                Type::Int(Range { low: 0, high: left.high, origin: left.origin_with(*right) })
            }
            _ => self.plain_int(),
        })
    }

    fn tuple(&mut self, parts: &[Expr], wanted: Option<&Type>) -> Checked<Type> {
        let hints: Vec<Option<Type>> = match wanted {
            Some(Type::Tuple(w)) if w.len() == parts.len() => w.iter().cloned().map(Some).collect(),
            _ => vec![None; parts.len()],
        };
        let mut types = Vec::new();
        for (part, hint) in parts.iter().zip(&hints) {
            types.push(self.expr(part, hint.as_ref())?);
        }
        Ok(Type::Tuple(types))
    }

    fn elements(&mut self, parts: &[Expr], wanted: Option<&Type>) -> Checked<Type> {
        let mut joined = Type::Never;
        for part in parts {
            let ty = self.expr(part, wanted)?;
            joined = joined.join(&ty).ok_or_else(|| self.mismatch(part.span, &ty, &joined))?;
        }
        Ok(joined)
    }

    fn list(&mut self, parts: &[Expr], wanted: Option<&Type>) -> Checked<Type> {
        let array = match wanted {
            Some(Type::Array(_, _)) => true,
            Some(Type::Seq(_)) => false,
            _ => self.part != Part::Spec,
        };
        let hint = match wanted {
            Some(Type::Array(element, _) | Type::Seq(element)) => Some((**element).clone()),
            _ => None,
        };
        let element = Box::new(self.elements(parts, hint.as_ref())?);
        if array {
            return Ok(Type::Array(element, Length::Fixed(parts.len() as u32)));
        }
        Ok(Type::Seq(element))
    }

    fn fill(&mut self, element: &Expr, count: &Expr, wanted: Option<&Type>) -> Checked<Type> {
        let hint = match wanted {
            Some(Type::Array(element, _)) => Some((**element).clone()),
            _ => None,
        };
        let ty = self.expr(element, hint.as_ref())?;
        let length = self.length(count)?;
        Ok(Type::Array(Box::new(ty), length))
    }

    fn set(&mut self, parts: &[Expr], wanted: Option<&Type>, span: Span) -> Checked<Type> {
        if self.part != Part::Spec {
            return Err(Diagnostic::new(span, "only specifications have sets"));
        }
        let hint = match wanted {
            Some(Type::Set(element)) => Some((**element).clone()),
            _ => None,
        };
        Ok(Type::Set(Box::new(self.elements(parts, hint.as_ref())?)))
    }

    /// `new` of a specification: a record with a value for each field.
    fn new_record(&mut self, expr: &Expr, name: &Name, given: &[(Name, Expr)]) -> Checked<Type> {
        let Some(record) = self.facts.records.iter().find(|r| r.name == name.text).cloned() else {
            let message = format!("`{}` is not a record of this specification", name.text);
            return Err(Diagnostic::new(name.span, message)
                .hint("declare it inside of the specification: `record Name { field: type }`"));
        };
        for (at, (field, value)) in given.iter().enumerate() {
            let Some(place) = record.place(&field.text) else {
                let message = format!("`{}` has no field `{}`", record.name, field.text);
                return Err(Diagnostic::new(field.span, message));
            };
            if given[..at].iter().any(|(other, _)| other.text == field.text) {
                return Err(Diagnostic::new(field.span, "this field is given twice"));
            }
            self.expect(value, &record.fields[place].1)?;
        }
        let is_given = |field: &str| given.iter().any(|(name, _)| name.text == field);
        match record.fields.iter().find(|(field, _)| !is_given(field)) {
            Some((field, _)) => {
                let message = format!("the field `{field}` has no value");
                Err(Diagnostic::new(expr.span, message).hint(format!("add `{field}: …`")))
            }
            None => Ok(Type::Record(record)),
        }
    }

    fn new_node(&mut self, expr: &Expr, name: &Name, given: &[(Name, Expr)]) -> Checked<Type> {
        if self.part == Part::Spec {
            return self.new_record(expr, name, given);
        }
        if !matches!(self.part, Part::Algorithm | Part::Init) {
            return Err(Diagnostic::new(expr.span, "only an algorithm allocates"));
        }
        let Some(index) = self.facts.structs.iter().position(|s| s.name == name.text) else {
            return Err(Diagnostic::new(name.span, format!("unknown struct `{}`", name.text)));
        };
        let info = self.facts.structs[index].clone();
        for (at, (field, value)) in given.iter().enumerate() {
            let Some(known) = info.fields.iter().find(|f| f.name == field.text) else {
                let message = format!("`{}` has no field `{}`", info.name, field.text);
                return Err(Diagnostic::new(field.span, message));
            };
            if given[..at].iter().any(|(other, _)| other.text == field.text) {
                return Err(Diagnostic::new(field.span, "this field is given twice"));
            }
            self.expect(value, &known.ty)?;
        }
        let missing = info.fields.iter().find(|f| {
            let has_value = f.default.is_some() || f.ty == Type::Lock;
            !has_value && given.iter().all(|(name, _)| name.text != f.name)
        });
        if let Some(field) = missing {
            let message = format!("the field `{}` has no value", field.name);
            return Err(Diagnostic::new(expr.span, message)
                .hint(format!("add `{}: …`, or give the field a default", field.name)));
        }
        Ok(Type::Ref(StructId(index as u32)))
    }

    /// The type of something that can be assigned to.
    pub(super) fn place(&mut self, expr: &Expr) -> Checked<Type> {
        let ty = self.expr(expr, None)?;
        if ty == Type::Lock {
            return Err(Diagnostic::new(expr.span, "a lock is taken, not assigned")
                .hint("use lock(…) and unlock(…)"));
        }
        if self.is_place(expr) {
            return Ok(ty);
        }
        Err(Diagnostic::new(expr.span, "this cannot be assigned to")
            .hint("assign to a variable, a field, an element or a part of one of them"))
    }

    fn is_place(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Name(_) => matches!(
                self.facts.meaning(expr.id),
                Some(Meaning::Local(_) | Meaning::Shared(_) | Meaning::Thread(_))
            ),
            ExprKind::Field(of, _) => self.part != Part::Spec || self.is_place(of),
            ExprKind::Part(of, _) | ExprKind::Index(of, _) => self.is_place(of),
            _ => false,
        }
    }

    /// Whether a place is seen by all threads.
    pub(super) fn is_shared_place(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Name(_) => matches!(self.facts.meaning(expr.id), Some(Meaning::Shared(_))),
            ExprKind::Field(..) => true,
            ExprKind::Part(of, _) | ExprKind::Index(of, _) => self.is_shared_place(of),
            _ => false,
        }
    }

    /// The type of a place that all threads see.
    pub(super) fn shared_place(&mut self, expr: &Expr) -> Checked<Type> {
        let ty = self.place(expr)?;
        if self.is_shared_place(expr) {
            return Ok(ty);
        }
        Err(Diagnostic::new(expr.span, "this is not shared")
            .label("only this thread sees it")
            .hint("name a shared variable or a field of a node"))
    }
}
