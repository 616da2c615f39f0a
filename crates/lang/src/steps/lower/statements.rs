//! Statements.

use super::places::Spot;
use super::{Label, LoopLabels, Lower, Lowered};
use crate::front::ast::*;
use crate::front::diagnostic::Diagnostic;
use crate::front::program::*;
use crate::front::types::{Fit, Type};
use crate::steps::*;

impl Lower<'_> {
    pub(super) fn block(&mut self, block: &Block) -> Lowered<()> {
        for statement in block {
            self.statement(statement)?;
        }
        Ok(())
    }

    fn statement(&mut self, statement: &Stmt) -> Lowered<()> {
        self.span = statement.span;
        self.lin = statement.lin.clone();
        match &statement.kind {
            StmtKind::Let(pattern, _, value) => self.let_statement(pattern, value)?,
            StmtKind::Assign(targets, value) => self.assignment(targets, value)?,
            StmtKind::Expr(call) => self.call_statement(call)?,
            StmtKind::If(cond, then, otherwise) => return self.branch(cond, then, otherwise),
            StmtKind::While(label, cond, body) => return self.while_loop(label, cond, body),
            StmtKind::Loop(label, body) => return self.endless(label, body),
            StmtKind::For(binding, _, body) => return self.each_thread(binding, body),
            StmtKind::Repeat(count, body) => return self.repeat(count, body),
            StmtKind::Break(label) => {
                let target = self.enclosing(label, statement)?.exit;
                self.jump(target)?;
            }
            StmtKind::Continue(label) => {
                let target = self.enclosing(label, statement)?.again;
                self.jump(target)?;
            }
            StmtKind::Return(value) => return self.return_statement(value.as_ref()),
            StmtKind::Atomic(body) => return self.atomic_block(|l| l.block(body)),
            StmtKind::Choose(branches) => return self.choose(branches),
            StmtKind::Assume(cond) => self.assume(cond)?,
            StmtKind::Assert(cond) => {
                let cond = self.scalar(cond)?;
                self.span = statement.span;
                self.emit(Op::Assert(cond))?;
            }
        }
        self.flush_lin()
    }

    fn let_statement(&mut self, pattern: &Pattern, value: &Expr) -> Lowered<()> {
        let found = self.facts.type_of(value).clone();
        if let Pattern::Bind(binding) = pattern {
            let Some(Meaning::Local(local)) = self.facts.meaning(binding.id) else { return Ok(()) };
            let (name, ty) = self.facts.locals[local.0 as usize].clone();
            let dst = self.registers(&name, &ty);
            if found.fits(&ty) == Fit::Always {
                self.value_into(value, dst)?;
            } else {
                let value = self.coerced(value, &ty)?;
                self.emit(Op::Set { dst, value })?;
            }
            self.locals.insert(local, dst);
            return Ok(());
        }
        let Pattern::Tuple(parts) = pattern else { return Ok(()) };
        let Type::Tuple(types) = &found else { return Ok(()) };
        let mut slots = self.value(value)?.into_iter();
        for (part, ty) in parts.iter().zip(types) {
            let width = ty.width(self.threads) as usize;
            let value: Vec<Ex> = slots.by_ref().take(width).collect();
            let Some(binding) = part else { continue };
            let Some(Meaning::Local(local)) = self.facts.meaning(binding.id) else { continue };
            let (name, wanted) = self.facts.locals[local.0 as usize].clone();
            let value = self.coerce(value, ty, &wanted)?;
            let dst = self.registers(&name, &wanted);
            self.emit(Op::Set { dst, value })?;
            self.locals.insert(local, dst);
        }
        Ok(())
    }

    fn assignment(&mut self, targets: &[Option<Expr>], value: &Expr) -> Lowered<()> {
        let found = self.facts.type_of(value).clone();
        if let [Some(target)] = targets {
            return self.assign_one(target, value, &found);
        }
        let slots = self.value(value)?;
        let Type::Tuple(types) = &found else { return Ok(()) };
        let dst = self.registers("_", &found);
        self.emit(Op::Set { dst, value: slots })?;
        let mut at = dst.0;
        for (target, ty) in targets.iter().zip(types) {
            let width = ty.width(self.threads);
            let value: Vec<Ex> = (at..at + width).map(|r| Ex::Reg(Reg(r))).collect();
            at += width;
            let Some(target) = target else { continue };
            let wanted = self.facts.type_of(target).clone();
            let value = self.coerce(value, ty, &wanted)?;
            let spot = self.spot(target)?;
            self.span = target.span;
            self.write(target, spot, value)?;
        }
        Ok(())
    }

    fn assign_one(&mut self, target: &Expr, value: &Expr, found: &Type) -> Lowered<()> {
        let wanted = self.facts.type_of(target).clone();
        let spot = self.spot(target)?;
        let span = target.span.to(value.span);
        if let Some(Spot::Registers(registers)) = &spot
            && registers.dims.is_empty()
            && found.fits(&wanted) == Fit::Always
        {
            let base = registers.base;
            return self.value_into(value, base);
        }
        let value = self.coerced(value, &wanted)?;
        self.span = span;
        self.write(target, spot, value)
    }

    fn write(&mut self, target: &Expr, spot: Option<Spot>, value: Vec<Ex>) -> Lowered<()> {
        match spot {
            Some(Spot::Shared(place)) => {
                let array = matches!(self.facts.type_of(target), Type::Array(..));
                if array && self.atomic == 0 {
                    return Err(Diagnostic::new(
                        target.span,
                        "an array is written element by element",
                    )
                    .hint("write `name[i] = …`, or put the write into `atomic { … }`"));
                }
                self.emit(Op::Store { place, value })
            }
            Some(Spot::Registers(r)) if r.dims.is_empty() => {
                self.emit(Op::Set { dst: r.base, value })
            }
            Some(Spot::Registers(r)) => {
                let (base, first, span, dims) = (r.base, r.first, r.span, r.dims);
                self.emit(Op::SetAt { base, first, span, dims, value })
            }
            None => Err(Diagnostic::new(target.span, "this cannot be assigned to")),
        }
    }

    fn call_statement(&mut self, call: &Expr) -> Lowered<()> {
        let ty = self.facts.type_of(call).clone();
        if let (Some(Meaning::Method(index)), ExprKind::Call(_, args)) =
            (self.facts.meaning(call.id), &call.kind)
        {
            return self.invoke(call, index, args, None);
        }
        if let Some(Meaning::Builtin(Builtin::Cas | Builtin::StoreConditional)) =
            self.facts.meaning(call.id)
        {
            let end = self.label();
            self.condition(call, end, end)?;
            self.place_label(end);
            return Ok(());
        }
        let dst = self.registers("_", &ty);
        self.value_into(call, dst)
    }

    fn branch(&mut self, cond: &Expr, then: &Block, otherwise: &Block) -> Lowered<()> {
        let (yes, no, end) = (self.label(), self.label(), self.label());
        self.condition(cond, yes, no)?;
        self.lin.clear();
        self.place_label(yes);
        self.block(then)?;
        if otherwise.is_empty() {
            self.place_label(no);
            self.place_label(end);
            return Ok(());
        }
        self.jump(end)?;
        self.place_label(no);
        self.block(otherwise)?;
        self.place_label(end);
        Ok(())
    }

    fn while_loop(&mut self, label: &Option<Name>, cond: &Expr, body: &Block) -> Lowered<()> {
        let (again, go, exit) = (self.label(), self.label(), self.label());
        self.place_label(again);
        self.condition(cond, go, exit)?;
        self.place_label(go);
        self.in_loop(label, (again, exit), body)?;
        self.jump(again)?;
        self.place_label(exit);
        Ok(())
    }

    fn endless(&mut self, label: &Option<Name>, body: &Block) -> Lowered<()> {
        let (again, exit) = (self.label(), self.label());
        self.place_label(again);
        self.in_loop(label, (again, exit), body)?;
        self.jump(again)?;
        self.place_label(exit);
        Ok(())
    }

    /// `for t in tid`: the threads one after another, in the order of their numbers.
    fn each_thread(&mut self, binding: &Binding, body: &Block) -> Lowered<()> {
        let Some(Meaning::Local(local)) = self.facts.meaning(binding.id) else { return Ok(()) };
        self.ranks_threads = true;
        let thread = self.registers(&binding.name.text, &Type::Tid);
        self.locals.insert(local, thread);
        self.emit(Op::Set { dst: thread, value: vec![Ex::Const(0)] })?;
        let (first, again, exit) = (self.label(), self.label(), self.label());
        self.place_label(first);
        self.in_loop(&None, (again, exit), body)?;
        self.place_label(again);
        let calculate = |op, number: u32| {
            Ex::Bin(op, Box::new(Ex::Reg(thread)), Box::new(Ex::Const(number as i32)))
        };
        let cond = calculate(BinOp::Lt, self.threads - 1);
        self.emit(Op::Branch { cond, otherwise: Pc(exit.0) })?;
        self.emit(Op::Set { dst: thread, value: vec![calculate(BinOp::Add, 1)] })?;
        self.jump(first)?;
        self.place_label(exit);
        Ok(())
    }

    fn repeat(&mut self, count: &Expr, body: &Block) -> Lowered<()> {
        let times = match &count.kind {
            ExprKind::Int(n) => *n as i32,
            ExprKind::Name(name) => self.facts.consts.get(name).copied().unwrap_or(0),
            _ => return Err(Diagnostic::new(count.span, "`repeat` takes a number or a constant")),
        };
        let exit = self.label();
        for _ in 0..times {
            let again = self.label();
            self.in_loop(&None, (again, exit), body)?;
            self.place_label(again);
        }
        self.place_label(exit);
        Ok(())
    }

    fn in_loop(
        &mut self,
        label: &Option<Name>,
        (again, exit): (Label, Label),
        body: &Block,
    ) -> Lowered<()> {
        let name = label.as_ref().map(|l| l.text.clone());
        self.loops.push(LoopLabels { name, again, exit });
        self.block(body)?;
        self.loops.pop();
        Ok(())
    }

    fn enclosing(&self, label: &Option<Name>, statement: &Stmt) -> Lowered<&LoopLabels> {
        let wanted = |l: &&LoopLabels| match label {
            Some(label) => l.name.as_deref() == Some(label.text.as_str()),
            None => true,
        };
        (self.loops.iter().rev().find(wanted))
            .ok_or_else(|| Diagnostic::new(statement.span, "this is outside of every loop"))
    }

    fn return_statement(&mut self, value: Option<&Expr>) -> Lowered<()> {
        let ty = match self.inline.last() {
            Some(inline) => inline.ty.clone(),
            None => self.result.clone(),
        };
        let values = match value {
            Some(value) => self.coerced(value, &ty)?,
            None => vec![],
        };
        self.flush_lin()?;
        self.return_from(values)
    }

    /// Returns from the method, or leaves the helper function under expansion.
    pub(super) fn return_from(&mut self, value: Vec<Ex>) -> Lowered<()> {
        if let Some(inline) = self.inline.last() {
            let (dst, exit) = (inline.dst, inline.exit);
            if !value.is_empty() {
                self.emit(Op::Set { dst, value })?;
            }
            return self.jump(exit);
        }
        for link in self.links.clone() {
            self.emit(Op::Set { dst: link.reg, value: vec![Ex::Const(0)] })?;
        }
        self.emit(Op::Return(value))
    }

    pub(super) fn atomic_block(
        &mut self,
        body: impl FnOnce(&mut Self) -> Lowered<()>,
    ) -> Lowered<()> {
        if self.atomic == 0 {
            self.emit(Op::Atomic)?;
        }
        self.atomic += 1;
        let result = body(self);
        self.atomic -= 1;
        result
    }

    fn assume(&mut self, cond: &Expr) -> Lowered<()> {
        let lin = std::mem::take(&mut self.lin);
        let shared = {
            let mut found = false;
            crate::front::walk::expression(cond, &mut |e| {
                found |= matches!(e.kind, ExprKind::Field(..) | ExprKind::Call(..))
                    || matches!(self.facts.meaning(e.id), Some(Meaning::Shared(_)));
            });
            found
        };
        let body = |l: &mut Self| {
            let cond = l.scalar(cond)?;
            l.emit(Op::Assume(cond))
        };
        if shared {
            self.atomic_block(body)?
        } else {
            body(self)?
        }
        self.lin = lin;
        Ok(())
    }

    fn choose(&mut self, branches: &[Block]) -> Lowered<()> {
        let starts: Vec<Label> = branches.iter().map(|_| self.label()).collect();
        let end = self.label();
        self.emit(Op::Choose(starts.iter().map(|l| Pc(l.0)).collect()))?;
        for (branch, start) in branches.iter().zip(starts) {
            self.place_label(start);
            self.block(branch)?;
            self.jump(end)?;
        }
        self.place_label(end);
        Ok(())
    }
}
