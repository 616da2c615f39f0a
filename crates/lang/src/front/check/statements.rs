//! Statements: bindings, assignments, control flow, annotations, missing returns.

use super::{Checked, Checker, Part};
use crate::front::ast::*;
use crate::front::diagnostic::Diagnostic;
use crate::front::program::*;
use crate::front::types::{Fit, Type};
use std::collections::{HashMap, HashSet};

/// Where the type of a variable comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Declared,
    Inferred,
}

/// Whether a variable is assigned to after its declaration.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Fixed,
    Changes,
}

impl Checker<'_> {
    /// Checks the body of a function whose signature is known.
    pub(super) fn function(&mut self, info: &FunctionInfo, declared: &Function) -> Checked<()> {
        self.scopes = vec![HashMap::new()];
        for param in &info.params {
            self.scopes[0].insert(param.name.clone(), param.local);
        }
        self.result = info.result.clone();
        self.assigned = assigned_names(&info.body);
        self.loops.clear();
        self.block(&info.body)?;
        if info.result != Type::Unit && !always_exits(&info.body) {
            let message = format!("`{}` can end without `return`", info.name);
            let wanted = self.facts.show(&info.result);
            return Err(Diagnostic::new(declared.name.span, message)
                .label(format!("must return `{wanted}` on every path"))
                .hint("add a `return` at the end"));
        }
        Ok(())
    }

    pub(super) fn block(&mut self, block: &Block) -> Checked<()> {
        self.scopes.push(HashMap::new());
        for statement in block {
            self.statement(statement)?;
        }
        self.scopes.pop();
        Ok(())
    }

    fn statement(&mut self, statement: &Stmt) -> Checked<()> {
        match &statement.kind {
            StmtKind::If(cond, then, otherwise) => {
                self.expect(cond, &Type::Bool)?;
                self.annotations(statement)?;
                self.block(then)?;
                return self.block(otherwise);
            }
            StmtKind::While(label, cond, body) => {
                self.expect(cond, &Type::Bool)?;
                self.loop_body(label, body)?;
            }
            StmtKind::Loop(label, body) => self.loop_body(label, body)?,
            StmtKind::For(binding, collection, body) => {
                self.for_each((binding, collection), body, statement)?;
            }
            StmtKind::Repeat(count, body) => self.repeat(count, body, statement)?,
            StmtKind::Atomic(body) => {
                self.only_in(Part::Algorithm, statement, "`atomic`")?;
                self.block(body)?;
            }
            StmtKind::Choose(branches) => {
                for branch in branches {
                    self.block(branch)?;
                }
            }
            _ => self.simple_statement(statement)?,
        }
        self.annotations(statement)
    }

    fn simple_statement(&mut self, statement: &Stmt) -> Checked<()> {
        match &statement.kind {
            StmtKind::Let(pattern, ty, value) => self.let_statement(pattern, ty.as_ref(), value),
            StmtKind::Assign(targets, value) => self.assignment(targets, value),
            StmtKind::Expr(call) => self.expr(call, None).map(drop),
            StmtKind::Break(label) | StmtKind::Continue(label) => self.jump(label, statement),
            StmtKind::Return(value) => self.return_statement(value.as_ref(), statement),
            StmtKind::Assume(cond) | StmtKind::Assert(cond) => self.expect(cond, &Type::Bool),
            _ => Ok(()),
        }
    }

    fn for_each(
        &mut self,
        (binding, collection): (&Binding, &Expr),
        body: &Block,
        statement: &Stmt,
    ) -> Checked<()> {
        let element = match self.part {
            Part::Spec => self.element(collection)?,
            _ => self.each_thread(binding, collection, body, statement)?,
        };
        self.scopes.push(HashMap::new());
        self.local(&binding.name, binding.id, element);
        self.loop_body(&None, body)?;
        self.scopes.pop();
        Ok(())
    }

    /// The type of what a collection contains.
    fn element(&mut self, collection: &Expr) -> Checked<Type> {
        let found = self.expr(collection, None)?;
        match &found {
            Type::Seq(of) | Type::Set(of) | Type::Map(of, _) => Ok((**of).clone()),
            _ => {
                let shown = self.facts.show(&found);
                Err(Diagnostic::new(collection.span, format!("`{shown}` has no elements"))
                    .hint("`for` goes through a sequence, a set, or the keys of a map"))
            }
        }
    }

    /// `for t in tid`: outside of specifications there are no collections but the threads.
    fn each_thread(
        &self,
        binding: &Binding,
        collection: &Expr,
        body: &Block,
        statement: &Stmt,
    ) -> Checked<Type> {
        self.only_in(Part::Algorithm, statement, "`for`")?;
        if !is_all_threads(collection) {
            let message = "an algorithm has no collection to go through";
            return Err(Diagnostic::new(collection.span, message)
                .hint("`for t in tid { … }` goes through the threads; else write a `while` loop"));
        }
        if assigned_names(body).contains(&binding.name.text) {
            let message = format!("`{}` is set by `for` alone", binding.name.text);
            return Err(Diagnostic::new(binding.name.span, message)
                .hint("the body assigns to it: use another variable there"));
        }
        Ok(Type::Tid)
    }

    fn repeat(&mut self, count: &Expr, body: &Block, statement: &Stmt) -> Checked<()> {
        self.only_in(Part::Client, statement, "`repeat`")?;
        let times = self.constant(count)?;
        if !(0..=64).contains(&times) {
            return Err(Diagnostic::new(count.span, "`repeat` takes 0 to 64 rounds"));
        }
        self.loop_body(&None, body)
    }

    fn only_in(&self, part: Part, statement: &Stmt, what: &str) -> Checked<()> {
        if self.part == part {
            return Ok(());
        }
        let place = match part {
            Part::Client => "a client",
            Part::Spec => "a specification",
            _ => "an algorithm",
        };
        Err(Diagnostic::new(statement.span, format!("{what} belongs into {place}")))
    }

    fn loop_body(&mut self, label: &Option<Name>, body: &Block) -> Checked<()> {
        self.loops.push(label.as_ref().map(|l| l.text.clone()));
        self.block(body)?;
        self.loops.pop();
        Ok(())
    }

    fn jump(&self, label: &Option<Name>, statement: &Stmt) -> Checked<()> {
        match label {
            Some(label) if !self.loops.iter().flatten().any(|l| *l == label.text) => {
                let message = format!("no enclosing loop is called `{}`", label.text);
                Err(Diagnostic::new(label.span, message))
            }
            None if self.loops.is_empty() => {
                Err(Diagnostic::new(statement.span, "this is outside of every loop"))
            }
            _ => Ok(()),
        }
    }

    fn return_statement(&mut self, value: Option<&Expr>, statement: &Stmt) -> Checked<()> {
        if self.part == Part::Client {
            return Err(Diagnostic::new(statement.span, "a client does not return")
                .hint("use `break`, or let the block end"));
        }
        let wanted = self.result.clone();
        match value {
            Some(value) if wanted == Type::Unit => {
                Err(Diagnostic::new(value.span, "this function returns nothing")
                    .hint("declare the result with `-> TYPE`, or write `return` alone"))
            }
            Some(value) => self.expect(value, &wanted),
            None if wanted == Type::Unit => Ok(()),
            None => {
                let wanted = self.facts.show(&wanted);
                Err(Diagnostic::new(statement.span, format!("expected a `{wanted}` to return")))
            }
        }
    }

    fn let_statement(
        &mut self,
        pattern: &Pattern,
        ty: Option<&TypeExpr>,
        value: &Expr,
    ) -> Checked<()> {
        let declared = ty.map(|ty| self.type_expr(ty)).transpose()?;
        let found = match &declared {
            Some(ty) => {
                self.expect(value, ty)?;
                ty.clone()
            }
            None => self.expr(value, None)?,
        };
        let origin = if declared.is_some() { Origin::Declared } else { Origin::Inferred };
        if found == Type::Unit {
            return Err(Diagnostic::new(value.span, "this has no value"));
        }
        match pattern {
            Pattern::Bind(binding) => self.bind(binding, found, origin, value),
            Pattern::Tuple(parts) => {
                let Type::Tuple(types) = &found else {
                    let shown = self.facts.show(&found);
                    return Err(Diagnostic::new(value.span, format!("`{shown}` is not a tuple")));
                };
                if types.len() != parts.len() {
                    let message =
                        format!("the tuple has {} parts, the pattern {}", types.len(), parts.len());
                    return Err(Diagnostic::new(value.span, message));
                }
                for (part, ty) in parts.iter().zip(types.clone()) {
                    if let Some(binding) = part {
                        self.bind(binding, ty, origin, value)?;
                    }
                }
                Ok(())
            }
        }
    }

    fn bind(
        &mut self,
        binding: &Binding,
        found: Type,
        origin: Origin,
        value: &Expr,
    ) -> Checked<()> {
        let ty = match found {
            ty if origin == Origin::Declared => ty,
            ty if self.assigned.contains(&binding.name.text) => self.widened(ty, Use::Changes),
            ty => self.widened(ty, Use::Fixed),
        };
        if ty == Type::Never.optional() || ty == Type::Never {
            return Err(Diagnostic::new(value.span, "the type of this variable is not known")
                .hint(format!("write `let {}: TYPE = …`", binding.name.text)));
        }
        self.local(&binding.name, binding.id, ty);
        Ok(())
    }

    /// The type that a variable gets from its first value: references may become null later.
    fn widened(&self, ty: Type, used: Use) -> Type {
        match ty {
            Type::Ref(_) => ty.optional(),
            Type::Int(..) if used == Use::Changes => self.plain_int(),
            Type::Tuple(parts) => {
                Type::Tuple(parts.into_iter().map(|p| self.widened(p, used)).collect())
            }
            Type::Array(element, n) => Type::Array(Box::new(self.widened(*element, used)), n),
            other => other,
        }
    }

    fn assignment(&mut self, targets: &[Option<Expr>], value: &Expr) -> Checked<()> {
        if let [Some(target)] = targets {
            let wanted = self.place(target)?;
            return self.expect(value, &wanted);
        }
        let found = self.expr(value, None)?;
        if let [None] = targets {
            return Ok(());
        }
        let Type::Tuple(types) = &found else {
            let shown = self.facts.show(&found);
            return Err(Diagnostic::new(value.span, format!("`{shown}` is not a tuple")));
        };
        if types.len() != targets.len() {
            let message =
                format!("the tuple has {} parts, the left side {}", types.len(), targets.len());
            return Err(Diagnostic::new(value.span, message));
        }
        for (target, ty) in targets.iter().zip(types.clone()) {
            let Some(target) = target else { continue };
            let wanted = self.place(target)?;
            if ty.fits(&wanted) == Fit::Never {
                return Err(self.mismatch(target.span, &ty, &wanted));
            }
        }
        Ok(())
    }

    fn annotations(&mut self, statement: &Stmt) -> Checked<()> {
        for lin in &statement.lin {
            if self.part != Part::Algorithm {
                return Err(Diagnostic::new(lin.span, "`@lin` belongs to an algorithm's steps"));
            }
            let block = matches!(
                statement.kind,
                StmtKind::While(..)
                    | StmtKind::Loop(..)
                    | StmtKind::Choose(_)
                    | StmtKind::Atomic(_)
            );
            if block {
                return Err(Diagnostic::new(lin.span, "`@lin` marks a step, not a block")
                    .hint("put it before the statement whose step takes effect"));
            }
            if let Some(cond) = &lin.cond {
                self.expect(cond, &Type::Bool)?;
                self.only_locals(cond)?;
            }
            if let Some(help) = &lin.help {
                let ty = self.expr(help, None)?;
                self.only_locals(help)?;
                if !matches!(ty.required(), Type::Tid | Type::Ref(_)) {
                    let message = "only a thread or a node describes an operation";
                    return Err(Diagnostic::new(help.span, message)
                        .hint("name the thread, or the node that its operation made"));
                }
            }
        }
        Ok(())
    }

    fn only_locals(&self, expr: &Expr) -> Checked<()> {
        let mut wrong = None;
        crate::front::walk::expression(expr, &mut |e| {
            let shared = matches!(e.kind, ExprKind::Call(..) | ExprKind::New(..))
                || matches!(self.facts.meaning(e.id), Some(Meaning::Shared(_)))
                || matches!(&e.kind, ExprKind::Field(of, _)
                    if matches!(self.facts.type_of(of).required(), Type::Ref(_)));
            if shared {
                wrong = wrong.or(Some(e.span));
            }
        });
        match wrong {
            Some(span) => {
                Err(Diagnostic::new(span, "a condition of `@lin` sees local variables only")
                    .hint("read it into a local variable in the annotated step"))
            }
            None => Ok(()),
        }
    }
}

/// Whether an expression names the threads: the `tid` of `for t in tid`.
fn is_all_threads(collection: &Expr) -> bool {
    matches!(&collection.kind, ExprKind::Name(name) if name == "tid")
}

/// The names that a block assigns to.
pub(super) fn assigned_names(block: &Block) -> HashSet<String> {
    let mut found = HashSet::new();
    crate::front::walk::statements(block, &mut |statement| {
        if let StmtKind::Assign(targets, _) = &statement.kind {
            found.extend(targets.iter().flatten().filter_map(root_name));
        }
    });
    found
}

fn root_name(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Name(name) => Some(name.clone()),
        ExprKind::Part(of, _) | ExprKind::Index(of, _) => root_name(of),
        _ => None,
    }
}

/// Whether no run falls off the end of the block.
fn always_exits(block: &Block) -> bool {
    block.last().is_some_and(|last| match &last.kind {
        StmtKind::Return(_) | StmtKind::Break(_) | StmtKind::Continue(_) => true,
        StmtKind::If(_, a, b) => always_exits(a) && always_exits(b),
        StmtKind::Loop(label, body) => !breaks(body, label.as_ref(), 0),
        StmtKind::Atomic(body) => always_exits(body),
        StmtKind::Choose(branches) => branches.iter().all(always_exits),
        _ => false,
    })
}

/// Whether a block leaves the loop around it; `depth` counts the loops in between.
fn breaks(block: &Block, label: Option<&Name>, depth: u32) -> bool {
    block.iter().any(|statement| match &statement.kind {
        StmtKind::Break(None) => depth == 0,
        StmtKind::Break(Some(l)) => label.is_some_and(|label| label.text == l.text),
        StmtKind::If(_, a, b) => breaks(a, label, depth) || breaks(b, label, depth),
        StmtKind::While(_, _, b)
        | StmtKind::Loop(_, b)
        | StmtKind::For(_, _, b)
        | StmtKind::Repeat(_, b) => breaks(b, label, depth + 1),
        StmtKind::Atomic(b) => breaks(b, label, depth),
        StmtKind::Choose(branches) => branches.iter().any(|b| breaks(b, label, depth)),
        _ => false,
    })
}
