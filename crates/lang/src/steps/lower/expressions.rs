//! Expressions: reads are hoisted into registers from left to right; what remains is an [`Ex`] for
//! each slot.

use super::places::Spot;
use super::{Inline, Label, Lower, Lowered};
use crate::analysis::sequential::ordering_words;
use crate::front::ast::*;
use crate::front::diagnostic::Diagnostic;
use crate::front::program::*;
use crate::front::types::{Kind, Scalar, Type};
use crate::steps::*;

impl Lower<'_> {
    /// The value of an expression, one [`Ex`] for each slot.
    pub(super) fn value(&mut self, expr: &Expr) -> Lowered<Vec<Ex>> {
        let one = |ex| Ok(vec![ex]);
        match &expr.kind {
            ExprKind::Int(n) => one(Ex::Const(*n as i32)),
            ExprKind::Bool(b) => one(Ex::Const(i32::from(*b))),
            ExprKind::Null => one(Ex::Const(NULL)),
            ExprKind::MinusInf => one(Ex::Const(MINUS_INF)),
            ExprKind::PlusInf => one(Ex::Const(PLUS_INF)),
            ExprKind::SelfTid => one(Ex::SelfTid),
            ExprKind::Name(_) => self.name(expr),
            ExprKind::Field(..) => self.read_place(expr),
            ExprKind::Part(of, part) => self.part(expr, of, *part),
            ExprKind::Index(of, _) => self.index(expr, of),
            ExprKind::Unary(UnaryOp::Not, a) => {
                let a = self.scalar(a)?;
                one(Ex::Not(Box::new(a)))
            }
            ExprKind::Unary(UnaryOp::Neg, a) => match self.scalar(a)? {
                Ex::Const(n) => one(Ex::Const(n.saturating_neg())),
                a => one(Ex::Neg(Box::new(a))),
            },
            ExprKind::Binary(op, a, b) => self.binary(*op, a, b),
            ExprKind::If(cond, a, b) => self.conditional(expr, cond, a, b),
            ExprKind::Tuple(parts) | ExprKind::List(parts) => {
                let mut all = Vec::new();
                for (at, part) in parts.iter().enumerate() {
                    let value = self.value(part)?;
                    let later = parts[at + 1..].iter().any(|p| self.calls(p));
                    all.extend(if later {
                        self.snapshot(value, self.facts.type_of(part))?
                    } else {
                        value
                    });
                }
                Ok(all)
            }
            ExprKind::Fill(element, _) => {
                let ty = self.facts.type_of(expr).clone();
                let total = ty.width(self.threads) as usize;
                let mut all = self.value(element)?;
                if self.makes_nodes(element) {
                    while all.len() < total {
                        all.extend(self.value(element)?);
                    }
                }
                Ok(all.into_iter().cycle().take(total).collect())
            }
            ExprKind::Any | ExprKind::New(..) | ExprKind::Call(..) => {
                let ty = self.facts.type_of(expr).clone();
                let dst = self.registers("_", &ty);
                self.value_into(expr, dst)?;
                Ok(self.read(dst, &ty))
            }
            ExprKind::Slice(..) | ExprKind::Set(_) | ExprKind::Text(_) => {
                Err(Diagnostic::new(expr.span, "only specifications have collections and texts"))
            }
        }
    }

    pub(super) fn scalar(&mut self, expr: &Expr) -> Lowered<Ex> {
        Ok(self.value(expr)?.pop().unwrap_or(Ex::Const(0)))
    }

    fn read(&self, from: Reg, ty: &Type) -> Vec<Ex> {
        (0..ty.width(self.threads)).map(|i| Ex::Reg(Reg(from.0 + i))).collect()
    }

    /// Puts the value of an expression into registers, without coercion.
    pub(super) fn value_into(&mut self, expr: &Expr, dst: Reg) -> Lowered<()> {
        match &expr.kind {
            ExprKind::Any => {
                self.span = expr.span;
                let ty = self.facts.type_of(expr).clone();
                for (i, kind) in self.kinds(&ty).into_iter().enumerate() {
                    self.emit(Op::Any { dst: Reg(dst.0 + i as u32), kind })?;
                }
                Ok(())
            }
            ExprKind::New(_, given) => self.allocate(expr, given, dst),
            ExprKind::Call(_, args) => self.call(expr, args, dst),
            ExprKind::Name(_) | ExprKind::Field(..) | ExprKind::Part(..) | ExprKind::Index(..) => {
                match self.spot(expr)? {
                    Some(Spot::Shared(place)) => self.load(expr, dst, place),
                    Some(Spot::Registers(spot)) => {
                        let value = spot.read();
                        self.set(expr, dst, value)
                    }
                    None => {
                        let value = self.value(expr)?;
                        self.set(expr, dst, value)
                    }
                }
            }
            _ => {
                let value = self.value(expr)?;
                self.set(expr, dst, value)
            }
        }
    }

    fn set(&mut self, expr: &Expr, dst: Reg, value: Vec<Ex>) -> Lowered<()> {
        self.span = expr.span;
        self.emit(Op::Set { dst, value })
    }

    fn load(&mut self, expr: &Expr, dst: Reg, place: Place) -> Lowered<()> {
        self.span = expr.span;
        let is_array = matches!(self.facts.type_of(expr), Type::Array(..));
        if is_array && self.atomic == 0 {
            return Err(Diagnostic::new(expr.span, "an array is read element by element")
                .label("this would read all elements in one step")
                .hint("read `name[i]`, or put the read into `atomic { … }`"));
        }
        self.emit(Op::Load { dst, place })
    }

    fn name(&mut self, expr: &Expr) -> Lowered<Vec<Ex>> {
        match self.facts.meaning(expr.id) {
            Some(Meaning::Const(n)) => Ok(vec![Ex::Const(n)]),
            Some(Meaning::Variant(_, n)) => Ok(vec![Ex::Const(n as i32)]),
            _ => self.read_place(expr),
        }
    }

    fn read_place(&mut self, expr: &Expr) -> Lowered<Vec<Ex>> {
        let ty = self.facts.type_of(expr).clone();
        match self.spot(expr)? {
            Some(Spot::Registers(spot)) => Ok(spot.read()),
            Some(Spot::Shared(place)) => {
                let dst = self.registers("_", &ty);
                self.load(expr, dst, place)?;
                Ok(self.read(dst, &ty))
            }
            None => Err(Diagnostic::new(expr.span, "this has no value here")),
        }
    }

    fn part(&mut self, expr: &Expr, of: &Expr, part: u32) -> Lowered<Vec<Ex>> {
        if is_place(of) {
            return self.read_place(expr);
        }
        let Type::Tuple(parts) = self.facts.type_of(of).clone() else { return Ok(vec![]) };
        let skip: u32 = parts[..part as usize].iter().map(|p| p.width(self.threads)).sum();
        let width = parts[part as usize].width(self.threads);
        let value = self.value(of)?;
        Ok(value.into_iter().skip(skip as usize).take(width as usize).collect())
    }

    fn index(&mut self, expr: &Expr, of: &Expr) -> Lowered<Vec<Ex>> {
        if is_place(of) {
            return self.read_place(expr);
        }
        Err(Diagnostic::new(of.span, "bind this to a name before indexing it")
            .hint("let a = …; … a[i]"))
    }

    fn binary(&mut self, op: BinaryOp, a: &Expr, b: &Expr) -> Lowered<Vec<Ex>> {
        if matches!(op, BinaryOp::And | BinaryOp::Or) && self.needs_code(b) {
            return self.short_circuit(op, a, b);
        }
        let mut left = self.value(a)?;
        if self.calls(b) {
            left = self.snapshot(left, self.facts.type_of(a))?;
        }
        let right = self.value(b)?;
        let compares = matches!(op, BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge);
        self.ranks_threads |= compares && *self.facts.type_of(a) == Type::Tid;
        Ok(vec![combine(op, left, right)])
    }

    /// Copies values into registers so that code that follows cannot change them.
    fn snapshot(&mut self, value: Vec<Ex>, ty: &Type) -> Lowered<Vec<Ex>> {
        if value.iter().all(|ex| matches!(ex, Ex::Const(_))) {
            return Ok(value);
        }
        let dst = self.registers("_", ty);
        self.emit(Op::Set { dst, value })?;
        Ok(self.read(dst, ty))
    }

    fn short_circuit(&mut self, op: BinaryOp, a: &Expr, b: &Expr) -> Lowered<Vec<Ex>> {
        let dst = self.registers("_", &Type::Bool);
        let skip = self.label();
        let left = self.scalar(a)?;
        self.emit(Op::Set { dst, value: vec![left] })?;
        let go_on = match op {
            BinaryOp::And => Ex::Reg(dst),
            _ => Ex::Not(Box::new(Ex::Reg(dst))),
        };
        self.emit(Op::Branch { cond: go_on, otherwise: Pc(skip.0) })?;
        let right = self.scalar(b)?;
        self.emit(Op::Set { dst, value: vec![right] })?;
        self.place_label(skip);
        Ok(vec![Ex::Reg(dst)])
    }

    fn conditional(&mut self, expr: &Expr, cond: &Expr, a: &Expr, b: &Expr) -> Lowered<Vec<Ex>> {
        if !self.needs_code(a) && !self.needs_code(b) {
            let cond = self.scalar(cond)?;
            let (a, b) = (self.value(a)?, self.value(b)?);
            let choose = |(a, b)| Ex::If(Box::new(cond.clone()), Box::new(a), Box::new(b));
            return Ok(a.into_iter().zip(b).map(choose).collect());
        }
        let ty = self.facts.type_of(expr).clone();
        let dst = self.registers("_", &ty);
        let (then, otherwise, end) = (self.label(), self.label(), self.label());
        self.condition(cond, then, otherwise)?;
        self.place_label(then);
        self.value_into(a, dst)?;
        self.jump(end)?;
        self.place_label(otherwise);
        self.value_into(b, dst)?;
        self.place_label(end);
        Ok(self.read(dst, &ty))
    }

    /// Whether the value of an expression takes instructions to compute.
    fn needs_code(&self, expr: &Expr) -> bool {
        let mut found = false;
        crate::front::walk::expression(expr, &mut |e| {
            found |= matches!(
                e.kind,
                ExprKind::Call(..) | ExprKind::New(..) | ExprKind::Any | ExprKind::Field(..)
            ) || matches!(self.facts.meaning(e.id), Some(Meaning::Shared(_)));
        });
        found
    }

    /// Whether a `cas` or an `sc` occurs in the expression.
    fn attempts(&self, expr: &Expr) -> bool {
        let mut found = false;
        crate::front::walk::expression(expr, &mut |e| {
            found |= matches!(
                self.facts.meaning(e.id),
                Some(Meaning::Builtin(Builtin::Cas | Builtin::StoreConditional))
            );
        });
        found
    }

    fn calls(&self, expr: &Expr) -> bool {
        let mut found = false;
        crate::front::walk::expression(expr, &mut |e| {
            found |= matches!(self.facts.meaning(e.id), Some(Meaning::Function(_)));
        });
        found
    }

    /// Whether an expression makes nodes, by itself or in a function that it calls: then each
    /// element of an array has its own.
    fn makes_nodes(&self, expr: &Expr) -> bool {
        let (mut found, mut called) = (false, vec![]);
        let mut look = |e: &Expr, called: &mut Vec<u32>| match self.facts.meaning(e.id) {
            Some(Meaning::Function(index)) if !called.contains(&index) => called.push(index),
            _ => found |= matches!(e.kind, ExprKind::New(..)),
        };
        crate::front::walk::expression(expr, &mut |e| look(e, &mut called));
        let mut next = 0;
        while let Some(index) = called.get(next).copied() {
            let body = &self.program.functions[index as usize].body;
            crate::front::walk::expressions(body, &mut |e| look(e, &mut called));
            next += 1;
        }
        found
    }

    /// Continues at one of two labels, as the condition says. A `cas` branches by itself.
    pub(super) fn condition(&mut self, cond: &Expr, yes: Label, no: Label) -> Lowered<()> {
        if !self.lin.is_empty() && !self.attempts(cond) {
            return self.decide(cond, yes, no);
        }
        match &cond.kind {
            ExprKind::Unary(UnaryOp::Not, inner) => return self.condition(inner, no, yes),
            ExprKind::Binary(BinaryOp::And, a, b) if self.needs_code(b) => {
                let middle = self.label();
                self.condition(a, middle, no)?;
                self.place_label(middle);
                return self.condition(b, yes, no);
            }
            ExprKind::Binary(BinaryOp::Or, a, b) if self.needs_code(b) => {
                let middle = self.label();
                self.condition(a, yes, middle)?;
                self.place_label(middle);
                return self.condition(b, yes, no);
            }
            ExprKind::Call(_, args) => {
                if let Some(Meaning::Builtin(b @ (Builtin::Cas | Builtin::StoreConditional))) =
                    self.facts.meaning(cond.id)
                {
                    self.attempt(cond, b, args, no)?;
                    return self.jump(yes);
                }
            }
            _ => {}
        }
        self.decide(cond, yes, no)
    }

    /// Computes the condition, then branches; the annotations come in between.
    fn decide(&mut self, cond: &Expr, yes: Label, no: Label) -> Lowered<()> {
        let value = self.scalar(cond)?;
        self.flush_lin()?;
        self.span = cond.span;
        self.emit(Op::Branch { cond: value, otherwise: Pc(no.0) })?;
        self.jump(yes)
    }

    /// A `cas` or `sc`: falls through on success, with the statement's annotations.
    fn attempt(&mut self, expr: &Expr, op: Builtin, args: &[Expr], fail: Label) -> Lowered<()> {
        let ty = self.facts.type_of(&args[0]).clone();
        let place = self.shared_spot(&args[0])?;
        let fail = Pc(fail.0);
        if op == Builtin::Cas {
            let old = self.value(&args[1])?;
            let new = self.coerced(&args[2], &ty)?;
            self.span = expr.span;
            self.emit_ordered(Op::Cas { place, old, new, fail }, orders(op, args))?;
        } else {
            let value = self.coerced(&args[1], &ty)?;
            let link = self.link_of(&args[0]);
            self.span = expr.span;
            self.emit(Op::StoreConditional { place, value, link, fail })?;
        }
        self.flush_lin()
    }

    fn link_of(&self, var: &Expr) -> Reg {
        match self.facts.meaning(var.id) {
            Some(Meaning::Shared(id)) => {
                self.links.iter().find(|l| l.var == id).map_or(Reg(0), |l| l.reg)
            }
            _ => Reg(0),
        }
    }

    /// Emits the annotations of the current statement, once.
    pub(super) fn flush_lin(&mut self) -> Lowered<()> {
        for lin in std::mem::take(&mut self.lin) {
            let cond = lin.cond.as_ref().map(|c| self.scalar(c)).transpose()?;
            let help = lin.help.as_ref().map(|c| self.scalar(c)).transpose()?;
            self.span = lin.span;
            match (lin.help, help) {
                (Some(descriptor), Some(help)) if self.owners.is_some() => {
                    self.helped(&descriptor, cond, help)?;
                }
                (_, help) => self.emit(Op::Lin { cond, help })?,
            }
        }
        Ok(())
    }

    /// `@lin(help d, cond)` where points are followed: if `d` is not null, the operation of the
    /// thread `d`, or of the thread whose operation made the node `d`, takes effect. The look at
    /// the node is no step.
    fn helped(&mut self, descriptor: &Expr, cond: Option<Ex>, help: Ex) -> Lowered<()> {
        let skip = self.label();
        if let Some(cond) = cond {
            self.emit(Op::Branch { cond, otherwise: Pc(skip.0) })?;
        }
        let null = Ex::Bin(BinOp::Eq, Box::new(help.clone()), Box::new(Ex::Const(NULL)));
        self.emit(Op::Branch { cond: Ex::Not(Box::new(null)), otherwise: Pc(skip.0) })?;
        let who = match self.facts.type_of(descriptor).required() {
            Type::Ref(id) => {
                let dst = self.registers("helped", &Type::Tid.optional());
                let offset = self.owner_slot(*id).unwrap_or(0);
                let root = Root::Node(help, *id);
                self.atomic += 1;
                self.emit(Op::Load { dst, place: Place { root, offset, dims: vec![], width: 1 } })?;
                self.atomic -= 1;
                Ex::Reg(dst)
            }
            _ => help,
        };
        self.emit(Op::Lin { cond: None, help: Some(who) })?;
        self.place_label(skip);
        Ok(())
    }

    fn allocate(&mut self, expr: &Expr, given: &[(Name, Expr)], dst: Reg) -> Lowered<()> {
        let Type::Ref(id) = self.facts.type_of(expr).required().clone() else { return Ok(()) };
        let info = self.facts.structure(id).clone();
        let mut values: Vec<Option<Vec<Ex>>> = vec![None; info.fields.len()];
        for (name, value) in given {
            let Some(index) = info.fields.iter().position(|f| f.name == name.text) else {
                continue;
            };
            values[index] = Some(self.coerced(value, &info.fields[index].ty)?);
        }
        let mut fields = Vec::new();
        for (field, value) in info.fields.iter().zip(values) {
            let value = match (value, &field.default) {
                (Some(value), _) => value,
                (None, Some(default)) => self.coerced(default, &field.ty)?,
                (None, None) => vec![Ex::Const(0); field.ty.width(self.threads) as usize],
            };
            fields.extend(value);
        }
        if self.owner_slot(id).is_some() {
            fields.push(if self.in_method { Ex::SelfTid } else { Ex::Const(NULL) });
        }
        self.span = expr.span;
        self.emit(Op::New { dst, of: id, fields })
    }

    fn call(&mut self, expr: &Expr, args: &[Expr], dst: Reg) -> Lowered<()> {
        match self.facts.meaning(expr.id) {
            Some(Meaning::Builtin(builtin)) => self.builtin(expr, builtin, args, dst),
            Some(Meaning::Function(index)) if self.is_too_deep(index) => {
                self.span = expr.span;
                self.emit(Op::Assert(Ex::Const(0)))
            }
            Some(Meaning::Function(index)) => self.expand(index, args, dst),
            Some(Meaning::Method(index)) => self.invoke(expr, index, args, Some(dst)),
            _ => Err(Diagnostic::new(expr.span, "this cannot be called here")),
        }
    }

    fn builtin(&mut self, expr: &Expr, op: Builtin, args: &[Expr], dst: Reg) -> Lowered<()> {
        let ty = self.facts.type_of(&args[0]).clone();
        match op {
            Builtin::Cas | Builtin::StoreConditional => {
                let (fail, end) = (self.label(), self.label());
                let set = |n| Op::Set { dst, value: vec![Ex::Const(n)] };
                self.attempt(expr, op, args, fail)?;
                self.emit(set(1))?;
                self.jump(end)?;
                self.place_label(fail);
                self.emit(set(0))?;
                self.place_label(end);
                Ok(())
            }
            Builtin::Swap => {
                let place = self.shared_spot(&args[0])?;
                let value = self.coerced(&args[1], &ty)?;
                self.span = expr.span;
                self.emit_ordered(Op::Swap { dst, place, value }, orders(op, args))
            }
            Builtin::FetchAdd => {
                let place = self.shared_spot(&args[0])?;
                let amount = self.scalar(&args[1])?;
                let plain = Kind { scalar: Scalar::Bool, nullable: false };
                let kind = self.kinds(&ty).first().copied().unwrap_or(plain);
                self.span = expr.span;
                self.emit_ordered(Op::FetchAdd { dst, place, amount, kind }, orders(op, args))
            }
            Builtin::Load => {
                let place = self.shared_spot(&args[0])?;
                self.whole(&args[0], "read")?;
                self.span = expr.span;
                self.emit_ordered(Op::Load { dst, place }, orders(op, args))
            }
            Builtin::LoadLinked => {
                let place = self.shared_spot(&args[0])?;
                let link = self.link_of(&args[0]);
                self.load(&args[0], dst, place)?;
                self.emit(Op::Set { dst: link, value: vec![Ex::Const(1)] })
            }
            Builtin::Hash => {
                let key = self.coerced(&args[0], &Type::Key)?.pop().unwrap_or(Ex::Const(NULL));
                let size = self.scalar(&args[1])?;
                let number = Ex::Bin(BinOp::Rem, Box::new(key), Box::new(size));
                self.set(expr, dst, vec![number])
            }
            _ => self.effect(expr, op, args),
        }
    }

    /// Refuses an array where an access must be to one word.
    fn whole(&self, place: &Expr, how: &str) -> Lowered<()> {
        match self.facts.type_of(place) {
            Type::Array(..) => {
                let message = format!("an array is {how} element by element");
                Err(Diagnostic::new(place.span, message).hint("name the element: `name[i]`"))
            }
            _ => Ok(()),
        }
    }

    /// A built-in call that has no result.
    fn effect(&mut self, expr: &Expr, op: Builtin, args: &[Expr]) -> Lowered<()> {
        match op {
            Builtin::Store => {
                let ty = self.facts.type_of(&args[0]).clone();
                let place = self.shared_spot(&args[0])?;
                self.whole(&args[0], "written")?;
                let value = self.coerced(&args[1], &ty)?;
                self.span = expr.span;
                self.emit_ordered(Op::Store { place, value }, orders(op, args))
            }
            Builtin::Fence => {
                self.span = expr.span;
                self.emit_ordered(Op::Fence, orders(op, args))
            }
            Builtin::Lock => {
                let place = self.lock_place(&args[0])?;
                self.span = expr.span;
                self.emit(Op::Lock(place))
            }
            Builtin::Unlock => {
                let place = self.lock_place(&args[0])?;
                self.span = expr.span;
                self.emit(Op::Unlock(place))
            }
            Builtin::Free | Builtin::Recycle => {
                let recycles = op == Builtin::Recycle;
                if self.recycles.replace(recycles).is_some_and(|other| other != recycles) {
                    let message = "nodes are freed or recycled, not both in one file";
                    return Err(Diagnostic::new(expr.span, message)
                        .hint("a freed node must not be read any more, a recycled one may"));
                }
                let node = self.scalar(&args[0])?;
                self.span = expr.span;
                self.emit(Op::Free(node))
            }
            _ => Err(Diagnostic::new(expr.span, "this belongs to specifications")),
        }
    }

    /// Whether a function is under expansion as often as it may be. The call that comes then is an
    /// error of the algorithm: what holds has not been cut off.
    fn is_too_deep(&self, index: u32) -> bool {
        let under_way = self.expanded.iter().filter(|known| **known == index).count();
        let depth = self.program.functions[index as usize].depth;
        depth.is_some_and(|depth| under_way >= depth as usize)
    }

    fn expand(&mut self, index: u32, args: &[Expr], dst: Reg) -> Lowered<()> {
        let info = self.program.functions[index as usize].clone();
        let saved = self.locals.clone();
        let lin = std::mem::take(&mut self.lin);
        let mut params = Vec::new();
        for (arg, param) in args.iter().zip(&info.params) {
            let reg = self.registers(&param.name, &param.ty);
            let value = self.coerced(arg, &param.ty)?;
            self.emit(Op::Set { dst: reg, value })?;
            params.push((param.local, reg));
        }
        self.locals.extend(params);
        let exit = self.label();
        self.inline.push(Inline { dst, ty: info.result.clone(), exit });
        self.expanded.push(index);
        let loops = std::mem::take(&mut self.loops);
        self.block(&info.body)?;
        self.loops = loops;
        self.expanded.pop();
        self.inline.pop();
        self.place_label(exit);
        self.locals = saved;
        self.lin = lin;
        Ok(())
    }
}

/// The orderings that a call names; without one it is `seqcst`.
fn orders(builtin: Builtin, args: &[Expr]) -> Orders {
    let mut words = ordering_words(builtin, args);
    let orders = Orders::of(words.next().unwrap_or_default());
    Orders { failure: words.next().unwrap_or(orders.failure), ..orders }
}

fn is_place(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Name(_) | ExprKind::Field(..) => true,
        ExprKind::Part(of, _) | ExprKind::Index(of, _) => is_place(of),
        _ => false,
    }
}

fn combine(op: BinaryOp, left: Vec<Ex>, right: Vec<Ex>) -> Ex {
    let bin = |op, a, b| Ex::Bin(op, Box::new(a), Box::new(b));
    let not = |a| Ex::Not(Box::new(a));
    if matches!(op, BinaryOp::Eq | BinaryOp::Ne) {
        let pairs = left.into_iter().zip(right).map(|(a, b)| bin(BinOp::Eq, a, b));
        let equal = pairs.reduce(|a, b| bin(BinOp::And, a, b)).unwrap_or(Ex::Const(1));
        return if op == BinaryOp::Eq { equal } else { not(equal) };
    }
    let zero = || Ex::Const(0);
    let a = left.into_iter().next().unwrap_or_else(zero);
    let b = right.into_iter().next().unwrap_or_else(zero);
    match op {
        BinaryOp::Add => bin(BinOp::Add, a, b),
        BinaryOp::Sub => bin(BinOp::Sub, a, b),
        BinaryOp::Mul => bin(BinOp::Mul, a, b),
        BinaryOp::Div => bin(BinOp::Div, a, b),
        BinaryOp::Rem => bin(BinOp::Rem, a, b),
        BinaryOp::Lt => bin(BinOp::Lt, a, b),
        BinaryOp::Gt => bin(BinOp::Lt, b, a),
        BinaryOp::Le => not(bin(BinOp::Lt, b, a)),
        BinaryOp::Ge => not(bin(BinOp::Lt, a, b)),
        BinaryOp::And => bin(BinOp::And, a, b),
        _ => bin(BinOp::Or, a, b),
    }
}
