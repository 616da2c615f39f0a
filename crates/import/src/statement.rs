//! Statements and functions.

use crate::declaration::{Source, is_public};
use crate::exchange::{Arm, Part};
use crate::expression::{Scope, Sign, bare, called, is_access, is_self, taken_back};
use crate::fallible::Fallible;
use crate::names::{self, Names};
use crate::output::Output;
use crate::{Error, Result};
use proc_macro2::Span;
use std::collections::HashMap;
use std::rc::Rc;
use syn::spanned::Spanned;
use syn::{Block, Expr, FnArg, ImplItemFn, Local, Member, Pat, Stmt};

/// A function while it is written.
pub(crate) struct Body<'s, 'o> {
    pub scope: Scope<'s>,
    pub out: &'o mut Output,
    has_result: bool,
    pub(crate) fallible: Option<Fallible>,
    /// How many of the blocks around are executed like what stands before them.
    pub(crate) plain_blocks: usize,
    /// The loops around, by their labels, with the number of boxes outside of each.
    loops: Vec<(Option<String>, usize)>,
}

impl<'s, 'o> Body<'s, 'o> {
    pub(crate) fn new(source: &'s Source, out: &'o mut Output) -> Self {
        let names = Names::new(source.taken());
        let scope = Scope {
            source,
            names,
            signs: HashMap::new(),
            owned: Vec::new(),
            boxes: Vec::new(),
            depth: Rc::default(),
        };
        Body { scope, out, has_result: false, fallible: None, plain_blocks: 0, loops: Vec::new() }
    }

    /// Writes a method, or a function that only the object calls.
    pub fn write(source: &'s Source, function: &ImplItemFn, out: &'o mut Output) -> Result<()> {
        if let Some(word) = &function.sig.asyncness {
            return Err(Error::at(word.span(), "an `async` function cannot be imported"));
        }
        let mut body = Body::new(source, out);
        let (parameters, result) = source.signature(function, &mut body.scope.names)?;
        body.note_signs(function);
        body.has_result = !result.is_empty();
        body.fallible = Fallible::of(source, function)?.map(|f| f.named(&body.scope.names));
        let kind = if is_public(function) { "method" } else { "fn" };
        let name = function.sig.ident.to_string();
        let name = if is_public(function) { name } else { names::plain(&name) };
        let head = format!("{kind} {name}({}){result} {{", parameters.join(", "));
        body.out.open(&head, function.sig.span());
        body.block(&function.block, true)?;
        body.out.close();
        Ok(())
    }

    fn note_signs(&mut self, function: &ImplItemFn) {
        for input in &function.sig.inputs {
            let FnArg::Typed(typed) = input else { continue };
            let (Pat::Ident(ident), Ok((shape, _))) =
                (&*typed.pat, self.scope.source.shape(&typed.ty))
            else {
                continue;
            };
            if let Some(local) = self.scope.names.get(&ident.ident.to_string()).cloned() {
                self.scope.signs.insert(local, Sign::of(&shape));
            }
        }
    }

    pub(crate) fn block(&mut self, block: &Block, is_tail: bool) -> Result<()> {
        let _level = self.scope.descend(block)?;
        self.scope.names.enter();
        let (owned, boxes) = (self.scope.owned.len(), self.scope.boxes.len());
        for (at, statement) in block.stmts.iter().enumerate() {
            let is_last = at + 1 == block.stmts.len();
            self.statement(statement, is_tail && is_last)?;
        }
        let ends = block.stmts.last().is_some_and(leaves) || is_tail && self.has_result;
        let freed: Vec<(String, String)> = self.scope.owned.drain(owned..).collect();
        // A loop may have been left, unless its returns are the function's.
        let is_loop = matches!(block.stmts.last(), Some(Stmt::Expr(Expr::Loop(_), _)));
        let ended = ends && (!is_loop || self.gives_result(is_tail));
        self.end_owners(boxes, ended, block.brace_token.span.close());
        for (_, pointer) in freed.into_iter().rev().filter(|_| !ends) {
            self.out.line(&format!("free({pointer})"), block.brace_token.span.close());
        }
        self.scope.names.leave();
        Ok(())
    }

    fn plain_block(&mut self, block: &Block, is_tail: bool) -> Result<()> {
        self.plain_blocks += 1;
        self.block(block, is_tail)?;
        self.plain_blocks -= 1;
        Ok(())
    }

    fn statement(&mut self, statement: &Stmt, is_tail: bool) -> Result<()> {
        match statement {
            Stmt::Local(local) => self.local(local),
            Stmt::Expr(expr, None) if is_tail && self.has_result && !is_control(expr) => {
                self.returns(Some(expr), expr.span())
            }
            Stmt::Expr(expr, _) => self.execute(expr, is_tail),
            Stmt::Macro(call) => self.assertion(&call.mac),
            Stmt::Item(item) => self.scope.refuse(item, "a statement"),
        }
    }

    pub(crate) fn let_parts<'e>(&self, local: &'e Local) -> Result<(String, &'e Expr)> {
        let pattern = match &local.pat {
            Pat::Type(typed) => &*typed.pat,
            pattern => pattern,
        };
        match (pattern, &local.init) {
            (Pat::Ident(ident), Some(init)) if init.diverge.is_none() && ident.subpat.is_none() => {
                Ok((ident.ident.to_string(), &init.expr))
            }
            _ => self.scope.refuse(local, "`let name = value`"),
        }
    }

    /// Whether the end of what stands here is the result of the function.
    pub(crate) fn gives_result(&self, is_tail: bool) -> bool {
        is_tail && self.has_result
    }

    fn local(&mut self, local: &Local) -> Result<()> {
        if self.let_owner(local)? {
            return Ok(());
        }
        if let (Pat::Wild(_), Some(init)) = (&local.pat, &local.init)
            && let Some(exchange) = self.scope.exchange(&init.expr)?
        {
            return self.ignored_exchange(&exchange, local.span());
        }
        if self.let_pair(local)? {
            return Ok(());
        }
        let (name, init) = self.let_parts(local)?;
        if let Some(pointer) = taken_back(init) {
            let text = self.scope.expression(pointer)?;
            let own = self.scope.names.declare(&name);
            self.out.line(&format!("let {own} = {text}"), local.span());
            self.scope.owned.push((name, own));
            return Ok(());
        }
        let taken = self.taken(init)?;
        let text = match &taken {
            Some(place) => place.clone(),
            None => self.scope.expression(init)?,
        };
        let written = match &local.pat {
            Pat::Type(typed) => Some(self.scope.source.shape(&typed.ty)?.0),
            _ => None,
        };
        let sign = written.as_ref().map_or_else(|| self.scope.sign(init), Sign::of);
        let kind = match (&written, text.as_str()) {
            (Some(shape), "null") => format!(": {}", shape.text()),
            (None, "null") => {
                return self.scope.refuse(local, "its type: `let node: *mut Node<T> = …`");
            }
            _ => String::new(),
        };
        let own = self.scope.names.declare(&name);
        self.out.line(&format!("let {own}{kind} = {text}"), local.span());
        if let Some(place) = taken {
            self.out.line(&format!("{place} = null"), local.span());
        }
        if matches!(sign, Sign::Signed | Sign::Unsigned) {
            self.scope.signs.insert(own, sign);
        }
        Ok(())
    }

    /// `let (pointer, tag) = pair`, if it is one.
    fn let_pair(&mut self, local: &Local) -> Result<bool> {
        let (Pat::Tuple(pair), Some(init)) = (&local.pat, &local.init) else { return Ok(false) };
        let names: Vec<&syn::PatIdent> = pair.elems.iter().filter_map(named).collect();
        let ([pointer, tag], true, None) = (&names[..], self.scope.source.has_tags, &init.diverge)
        else {
            return Ok(false);
        };
        let text = self.scope.expression(&init.expr)?;
        if text.starts_with("(null,") {
            return self.scope.refuse(local, "a pointer that is not null at first");
        }
        let pointer = self.scope.names.declare(&pointer.ident.to_string());
        let tag = self.scope.names.declare(&tag.ident.to_string());
        self.out.line(&format!("let ({pointer}, {tag}) = {text}"), local.span());
        self.scope.signs.insert(tag, Sign::Unsigned);
        Ok(true)
    }

    /// The place of `place.take()`.
    fn taken(&self, expr: &Expr) -> Result<Option<String>> {
        let Expr::MethodCall(call) = bare(expr) else { return Ok(None) };
        if call.method != "take" || !call.args.is_empty() {
            return Ok(None);
        }
        match self.scope.place(&call.receiver)? {
            Some(place) if !place.is_atomic => Ok(Some(place.text)),
            _ => self.scope.refuse(call, "`take` of a place that is not atomic"),
        }
    }

    /// An expression that is a statement.
    fn execute(&mut self, expr: &Expr, is_tail: bool) -> Result<()> {
        let span = expr.span();
        match expr {
            Expr::Paren(inner) => self.execute(&inner.expr, is_tail),
            Expr::Unsafe(inner) => self.plain_block(&inner.block, is_tail),
            Expr::Block(inner) if inner.label.is_none() => self.plain_block(&inner.block, is_tail),
            Expr::Loop(inner) => {
                let label = label(inner.label.as_ref());
                self.out.open(&format!("{label}loop {{"), inner.loop_token.span());
                self.inside(span, inner.label.as_ref(), |body| body.block(&inner.body, false))?;
                self.out.close();
                Ok(())
            }
            Expr::While(inner) => self.while_loop(inner),
            Expr::If(inner) => self.choice(inner, is_tail),
            Expr::Match(inner) if self.match_some(inner, is_tail)? => Ok(()),
            Expr::Match(inner) => self.match_exchange(inner, is_tail),
            Expr::Return(inner) => self.returns(inner.expr.as_deref(), span),
            Expr::Break(inner) if inner.expr.is_none() => {
                self.leaves_loop("break", inner.label.as_ref(), span)
            }
            Expr::Continue(inner) => self.leaves_loop("continue", inner.label.as_ref(), span),
            Expr::Assign(inner) => self.assign(inner),
            Expr::Binary(inner) => self.change(inner),
            Expr::Macro(inner) => self.assertion(&inner.mac),
            Expr::Call(_) => self.call(expr),
            Expr::MethodCall(call) => self.method_call(call),
            _ => self.scope.refuse(expr, "a statement of the subset"),
        }
    }

    /// Writes a body of a loop, in which nothing outside of it is owned by a box.
    pub(crate) fn inside(
        &mut self,
        span: Span,
        label: Option<&syn::Label>,
        write: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let outer = std::mem::take(&mut self.scope.owned);
        if let Some((name, _)) = outer.first() {
            let message = format!("a loop while `{name}` owns a box cannot be imported");
            return Err(Error::at(span, message));
        }
        let label = label.map(|label| label.name.to_string());
        self.loops.push((label, self.scope.boxes.len()));
        write(self)?;
        self.loops.pop();
        Ok(())
    }

    fn while_loop(&mut self, inner: &syn::ExprWhile) -> Result<()> {
        let label = label(inner.label.as_ref());
        let span = inner.while_token.span();
        if self.while_some(inner, &label)? {
            return Ok(());
        }
        if let Some((exchange, name, true)) = self.outcome_of(&inner.cond)? {
            self.out.open(&format!("{label}loop {{"), span);
            let failed = Arm { name, part: Part::Block(&inner.body) };
            self.inside(span, inner.label.as_ref(), |body| {
                body.exchange(&exchange, Arm::new(Part::Break), failed, (false, span))
            })?;
            self.out.close();
            return Ok(());
        }
        let condition = self.scope.expression(&inner.cond)?;
        self.out.open(&format!("{label}while {condition} {{"), span);
        self.inside(span, inner.label.as_ref(), |body| body.block(&inner.body, false))?;
        self.out.close();
        Ok(())
    }

    fn choice(&mut self, inner: &syn::ExprIf, is_tail: bool) -> Result<()> {
        let span = inner.if_token.span();
        if self.if_some(inner, is_tail)? {
            return Ok(());
        }
        if let Some((exchange, name, is_failure)) = self.outcome_of(&inner.cond)? {
            let or = inner.else_branch.as_ref().map(|(_, or)| &**or);
            let then = Arm { name, part: Part::Block(&inner.then_branch) };
            let or = Arm::new(or.map_or(Part::Nothing, Part::Expression));
            let (ok, err) = if is_failure { (or, then) } else { (then, or) };
            return self.exchange(&exchange, ok, err, (is_tail, span));
        }
        let condition = self.scope.expression(&inner.cond)?;
        self.out.open(&format!("if {condition} {{"), span);
        self.block(&inner.then_branch, is_tail)?;
        if let Some((_, or)) = &inner.else_branch {
            self.out.turn("} else {");
            // `else if let` stands in no block of its own, and may move what others do not.
            self.scope.names.enter();
            self.tail_or_statement(or, is_tail)?;
            self.scope.names.leave();
        }
        self.out.close();
        Ok(())
    }

    pub(crate) fn tail_or_statement(&mut self, expr: &Expr, is_tail: bool) -> Result<()> {
        if is_tail && self.has_result && !is_control(expr) {
            return self.returns(Some(expr), expr.span());
        }
        self.execute(expr, is_tail)
    }

    fn returns(&mut self, value: Option<&Expr>, span: Span) -> Result<()> {
        let owned = self.scope.owned.clone();
        let boxes = self.scope.boxes.clone();
        let Some(value) = value else {
            self.drop_all(&boxes, span);
            self.free_all(&owned, span);
            self.out.line("return", span);
            return Ok(());
        };
        if let Some(text) = self.said(value)? {
            self.drop_all(&boxes, span);
            self.free_all(&owned, span);
            self.out.line(&format!("return {text}"), span);
            return Ok(());
        }
        // `Some(Box::from_raw(node).value)` reads the value and drops the box.
        let gives = if self.fallible.is_some() { "Ok" } else { "Some" };
        let inner = match called(value) {
            Some((name, args)) if name == gives && args.len() == 1 => args[0],
            _ if self.fallible.is_some() => return self.scope.refuse(value, "`Ok(…)` or `Err(…)`"),
            _ => value,
        };
        let (text, freed) = match self.read_out(inner)? {
            Some((text, pointer)) => (text, vec![(String::new(), pointer)]),
            None => match self.taken(inner)? {
                Some(place) => {
                    let result = self.scope.names.fresh("result");
                    self.out.line(&format!("let {result} = {place}"), span);
                    self.out.line(&format!("{place} = null"), span);
                    (result, Vec::new())
                }
                None if self.fallible.is_some() => (self.with_boxes_present(inner)?, Vec::new()),
                None => (self.with_boxes_read(value)?, Vec::new()),
            },
        };
        let is_bare = owned.is_empty() && freed.is_empty() && boxes.is_empty();
        if is_bare || text == "null" {
            self.drop_all(&boxes, span);
            self.free_all(&owned, span);
            self.out.line(&format!("return {text}"), span);
            return Ok(());
        }
        let result = self.scope.names.fresh("result");
        self.out.line(&format!("let {result} = {text}"), span);
        for (_, pointer) in freed {
            self.out.line(&self.scope.source.dropped(&pointer), span);
        }
        self.drop_all(&boxes, span);
        self.free_all(&owned, span);
        self.out.line(&format!("return {result}"), span);
        Ok(())
    }

    fn free_all(&mut self, owned: &[(String, String)], span: Span) {
        for (_, pointer) in owned.iter().rev() {
            self.out.line(&format!("free({pointer})"), span);
        }
    }

    /// `Box::from_raw(node).field`, with its pointer.
    fn read_out(&self, expr: &Expr) -> Result<Option<(String, String)>> {
        let Expr::Field(field) = bare(expr) else { return Ok(None) };
        let (Some(pointer), Member::Named(member)) = (taken_back(&field.base), &field.member)
        else {
            return Ok(None);
        };
        // It is needed twice, to read and to free.
        if is_access(pointer) {
            return self.scope.refuse(pointer, "a local as the pointer of the box");
        }
        let pointer = self.scope.expression(pointer)?;
        let text = format!("{pointer}.{}", names::plain(&member.to_string()));
        Ok(Some((text, pointer)))
    }

    /// The same of what must be there.
    fn with_boxes_present(&mut self, expr: &Expr) -> Result<String> {
        let owned = std::mem::take(&mut self.scope.owned);
        let text = self.scope.present(expr);
        self.scope.owned = owned;
        text
    }

    /// An expression in which the fields of owned boxes may be read.
    fn with_boxes_read(&mut self, expr: &Expr) -> Result<String> {
        let owned = std::mem::take(&mut self.scope.owned);
        let text = self.scope.expression(expr);
        self.scope.owned = owned;
        text
    }

    fn leaves_loop(&mut self, word: &str, to: Option<&syn::Lifetime>, span: Span) -> Result<()> {
        if let Some((name, _)) = self.scope.owned.first() {
            return Err(Error::at(
                span,
                format!("leaving a loop while `{name}` owns a box cannot be imported"),
            ));
        }
        let name = to.map(ToString::to_string);
        let left = self.loops.iter().rev().find(|(label, _)| name.is_none() || *label == name);
        let inside = left.map_or(0, |(_, boxes)| *boxes);
        let ended = self.scope.boxes[inside..].to_vec();
        self.drop_all(&ended, span);
        let to = to.map(|label| format!(" {label}")).unwrap_or_default();
        self.out.line(&format!("{word}{to}"), span);
        Ok(())
    }

    fn assign(&mut self, inner: &syn::ExprAssign) -> Result<()> {
        if self.assign_owner(inner)? {
            return Ok(());
        }
        let text = self.scope.expression(&inner.right)?;
        let place = match self.scope.place(&inner.left)? {
            Some(place) if !place.is_atomic => place.text,
            Some(_) => return self.scope.refuse(&inner.left, "`.store(…)` to an atomic"),
            None => match bare(&inner.left) {
                Expr::Path(_) | Expr::Tuple(_) => self.scope.expression(&inner.left)?,
                other => return self.scope.refuse(other, "a local or a place that is not atomic"),
            },
        };
        self.out.line(&format!("{place} = {text}"), inner.span());
        Ok(())
    }

    /// `local += number`.
    fn change(&mut self, inner: &syn::ExprBinary) -> Result<()> {
        let operator = match inner.op {
            syn::BinOp::AddAssign(_) => syn::BinOp::Add(Default::default()),
            syn::BinOp::SubAssign(_) => syn::BinOp::Sub(Default::default()),
            _ => return self.scope.refuse(inner, "`+=` or `-=` on a local"),
        };
        let Expr::Path(_) = bare(&inner.left) else {
            return self.scope.refuse(inner, "`+=` or `-=` on a local");
        };
        let local = self.scope.expression(&inner.left)?;
        let text = self.scope.arithmetic(&inner.left, &operator, &inner.right)?;
        self.out.line(&format!("{local} = {text}"), inner.span());
        Ok(())
    }

    fn assertion(&mut self, call: &syn::Macro) -> Result<()> {
        let name = call.path.segments.last().map(|segment| segment.ident.to_string());
        if !matches!(name.as_deref(), Some("assert" | "debug_assert")) {
            return self.scope.refuse(call, "`assert!` or `debug_assert!`");
        }
        let parse = syn::punctuated::Punctuated::<Expr, syn::Token![,]>::parse_terminated;
        let args = call
            .parse_body_with(parse)
            .map_err(|error| Error::at(error.span(), error.to_string()))?;
        let Some(condition) = args.first() else { return self.scope.refuse(call, "a condition") };
        // What only a debug build looks at must not order anything.
        if name.as_deref() == Some("debug_assert") && is_access(condition) {
            return self.scope.refuse(condition, "an assertion that reads nothing shared");
        }
        let text = self.scope.expression(condition)?;
        self.out.line(&format!("assert {text}"), call.span());
        Ok(())
    }

    fn call(&mut self, expr: &Expr) -> Result<()> {
        let Some((name, args)) = called(expr) else {
            return self.scope.refuse(expr, "a function of the subset");
        };
        let text = match (name.as_str(), &args[..]) {
            ("fence" | "atomic::fence", [order]) => {
                format!("fence({})", self.scope.ordering(order)?)
            }
            ("hint::spin_loop" | "spin_loop" | "thread::yield_now" | "yield_now", []) => {
                return Ok(());
            }
            ("drop" | "mem::drop", [inner]) if taken_back(inner).is_some() => {
                let pointer = taken_back(inner).expect("it is one");
                self.scope.source.dropped(&self.scope.expression(pointer)?)
            }
            ("drop" | "mem::drop", [inner]) if self.drop_owner(inner)? => return Ok(()),
            _ => return self.scope.refuse(expr, "a function of the subset"),
        };
        self.out.line(&text, expr.span());
        Ok(())
    }

    fn method_call(&mut self, call: &syn::ExprMethodCall) -> Result<()> {
        if let Some(exchange) = self.scope.exchange(&Expr::MethodCall(call.clone()))? {
            return self.ignored_exchange(&exchange, call.span());
        }
        let args: Vec<&Expr> = call.args.iter().collect();
        let place =
            if is_self(&call.receiver) { None } else { self.scope.place(&call.receiver)? };
        let text = match (call.method.to_string().as_str(), &args[..], place) {
            ("store", [new, order], Some(place)) if place.is_atomic => {
                let (new, order) = (self.scope.expression(new)?, self.scope.ordering(order)?);
                format!("store({}, {new}, {order})", place.text)
            }
            ("write", [new], Some(place)) if !place.is_atomic => {
                format!("{} = {}", place.text, self.scope.expression(new)?)
            }
            _ => {
                let value = self.scope.expression(&Expr::MethodCall(call.clone()))?;
                match is_self(&call.receiver) {
                    true => value,
                    false => format!("let {} = {value}", self.scope.names.fresh("ignored")),
                }
            }
        };
        self.out.line(&text, call.span());
        Ok(())
    }
}

fn label(label: Option<&syn::Label>) -> String {
    label.map(|label| format!("{}: ", label.name)).unwrap_or_default()
}

/// Whether nothing comes after a statement.
fn leaves(statement: &Stmt) -> bool {
    matches!(
        statement,
        Stmt::Expr(Expr::Return(_) | Expr::Break(_) | Expr::Continue(_) | Expr::Loop(_), _)
    )
}

/// Whether an expression at the end of a function has its returns inside.
fn is_control(expr: &Expr) -> bool {
    matches!(
        bare(expr),
        Expr::Loop(_)
            | Expr::While(_)
            | Expr::Match(_)
            | Expr::Return(_)
            | Expr::If(_)
            | Expr::Unsafe(_)
            | Expr::Block(_)
    )
}

fn named(pattern: &Pat) -> Option<&syn::PatIdent> {
    match pattern {
        Pat::Ident(name) if name.subpat.is_none() && name.by_ref.is_none() => Some(name),
        _ => None,
    }
}
