//! Boxes of nodes: `Option<Box<Node>>` is a link that owns what it leads to.
//!
//! A box is a pointer to a node that nobody else owns. What the source does not say and Rust does is
//! said here: a node is given back where its owner is dropped. That is at the end of the scope of a
//! local, unless it was moved out of it, and before an owner is assigned anew; what the node owns
//! goes with it, one after another along its one link.
//!
//! *Moved or not* is known from the text where a local is moved in the block that declares it. Where
//! it is moved in a block inside of that, the local becomes null, as the flag does that a compiler
//! keeps; looking at it is no access.
//!
//! *Order*: Rust gives back the last node of a chain first, here it is the first. Nothing that
//! synchronises lies between, so that who meets one of the nodes meets a fault in either order.
//!
//! *What would make it unsound*: an owner that is read without being moved (`ptr::read`), a reference
//! to a link, through which its pointer is read again at each use (only `as_deref` looks at it once),
//! a node with two links that own. All are refused.

use crate::declaration::Source;
use crate::expression::{bare, called, is_access, taken_back};
use crate::names;
use crate::shape::Shape;
use crate::statement::Body;
use crate::{Error, Result};
use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::{Block, Expr, Local, Member, Pat, Stmt};

/// A local that owns a node, or may.
#[derive(Clone)]
pub(crate) struct Owner {
    /// What it is called in the algorithm.
    pub own: String,
    /// The struct of the node.
    node: String,
    /// The depth of its block.
    level: usize,
    /// Whether it may be null.
    is_option: bool,
    held: Held,
}

/// What a local still owns, as far as the text says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    /// All, unless it is null.
    All,
    /// The node, but not what its link led to.
    NodeOnly,
    /// Nothing.
    Nothing,
}

/// An owner that is moved.
struct Moved {
    text: String,
    node: String,
    is_option: bool,
    /// The local that does not own it any more, if the text does not say so.
    from: Option<String>,
}

/// What is asked of something that may be null.
struct Question<'e> {
    /// What is looked at.
    scrutinee: &'e Expr,
    /// The name of what is there.
    name: String,
}

/// What is done with something that may be null.
enum Branch<'e> {
    Nothing,
    Block(&'e Block),
    Expression(&'e Expr),
}

/// What gives a node back with all that it owns.
pub(crate) const DROP: &str = "drop_node";

impl Source {
    /// The link of nodes that owns, if there is one. A file with such a link has one struct of nodes.
    pub fn owning_link(&self) -> Option<&str> {
        let mut fields = self.nodes.values().flatten();
        let owns =
            |(_, field): &&(String, crate::shape::Field)| matches!(field.shape, Shape::Owner(_));
        fields.find(owns).map(|(name, _)| name.as_str())
    }

    /// Refuses links that own where it is not plain what goes with a node.
    pub fn must_own_in_rows(&self, span: Span) -> Result<()> {
        let owns = |shape: &Shape| matches!(shape, Shape::Owner(_));
        let links = self.nodes.values().flatten().filter(|(_, field)| owns(&field.shape)).count();
        let is_owned = links > 0 || self.shared.values().any(|field| owns(&field.shape));
        match (links, self.nodes.len()) {
            _ if !is_owned => Ok(()),
            (0 | 1, 1) => Ok(()),
            (0 | 1, _) => {
                Err(Error::at(span, "expected one struct of nodes where a box owns a node"))
            }
            _ => Err(Error::at(span, "expected one link of a node that owns the next")),
        }
    }

    /// Gives back the node of a box, with what it owns.
    pub fn dropped(&self, pointer: &str) -> String {
        match self.owning_link() {
            Some(_) => self.helped(DROP, pointer),
            None => format!("free({pointer})"),
        }
    }

    /// Gives back what an owner has, if it has anything.
    fn dropped_if_there(&self, owner: &str) -> String {
        self.helped(DROP, owner)
    }

    /// The function that gives back a node and what it owns.
    pub fn drop_function(&self) -> String {
        let node = self.nodes.keys().next().map_or("", String::as_str);
        match self.owning_link() {
            Some(link) => format!(
                "fn {DROP}(first: {node}?) {{\n  let node = first\n  while node != null {{\n    \
                 let after = node.{}\n    free(node)\n    node = after\n  }}\n}}",
                names::plain(link)
            ),
            None => format!("fn {DROP}(node: {node}?) {{\n  if node != null {{ free(node) }}\n}}"),
        }
    }
}

impl Body<'_, '_> {
    /// How many blocks around may be passed by. What stands in `unsafe` or in a block of its own is
    /// executed like what stands before it.
    fn level(&self) -> usize {
        self.scope.names.depth() - self.plain_blocks
    }

    /// The local that an expression names, if it owns a node.
    fn boxed(&self, expr: &Expr) -> Option<usize> {
        let Expr::Path(path) = bare(expr) else { return None };
        let own = self.scope.names.get(&path.path.get_ident()?.to_string())?;
        self.scope.boxes.iter().rposition(|owner| owner.own == *own)
    }

    /// The place of a link that owns, with the struct of the node.
    fn link(&self, expr: &Expr) -> Result<Option<(String, String)>> {
        let expr = match bare(expr) {
            Expr::Reference(reference) if reference.mutability.is_some() => &reference.expr,
            other => other,
        };
        if self.boxed(expr).is_some() || !matches!(bare(expr), Expr::Field(_) | Expr::Unary(_)) {
            return Ok(None);
        }
        Ok(self.scope.place(expr)?.and_then(|place| match place.shape {
            Shape::Owner(node) => Some((place.text, node)),
            _ => None,
        }))
    }

    /// What an expression moves, if that is an owner. What it reads and empties is written before.
    fn moved(&mut self, expr: &Expr) -> Result<Option<Moved>> {
        if let Some(at) = self.boxed(expr) {
            return self.moved_local(at, expr).map(Some);
        }
        if let Expr::MethodCall(call) = bare(expr) {
            let args: Vec<&Expr> = call.args.iter().collect();
            return match (call.method.to_string().as_str(), &args[..]) {
                ("take", []) => self.emptied(&call.receiver, None, expr.span()),
                ("replace", [by]) => self.emptied(&call.receiver, Some(by), expr.span()),
                _ => Ok(None),
            };
        }
        if let Expr::Field(field) = bare(expr) {
            return self.moved_link(field);
        }
        let Some((name, args)) = called(expr) else { return Ok(None) };
        match (name.as_str(), &args[..]) {
            ("Some", [inner]) => match self.moved(inner)? {
                Some(moved) if !moved.is_option => Ok(Some(Moved { is_option: true, ..moved })),
                Some(_) => self.scope.refuse(expr, "`Some` of a box"),
                None => Ok(None),
            },
            ("Box::new", [inner]) => match bare(inner) {
                Expr::Struct(literal) => self.new_owner(literal).map(Some),
                _ => Ok(None),
            },
            ("mem::take", [place]) => self.emptied(place, None, expr.span()),
            ("mem::replace", [place, by]) => self.emptied(place, Some(by), expr.span()),
            _ => Ok(None),
        }
    }

    /// The same where an owner is expected.
    fn must_move(&mut self, expr: &Expr, node: &str) -> Result<Moved> {
        if matches!(bare(expr), Expr::Path(path) if path.path.is_ident("None")) {
            let (text, node) = ("null".to_owned(), node.to_owned());
            return Ok(Moved { text, node, is_option: true, from: None });
        }
        match self.moved(expr)? {
            Some(moved) => Ok(moved),
            None => {
                self.scope.refuse(expr, "`None`, `Some(Box::new(Node { … }))`, a box or `take`")
            }
        }
    }

    fn moved_local(&mut self, at: usize, expr: &Expr) -> Result<Moved> {
        let level = self.level();
        let owner = &mut self.scope.boxes[at];
        if owner.held != Held::All {
            return self.scope.refuse(expr, "a box that still owns what its link leads to");
        }
        let is_plain = owner.level == level;
        if is_plain {
            owner.held = Held::Nothing;
        }
        let Owner { own, node, is_option, .. } = owner.clone();
        Ok(Moved { text: own.clone(), node, is_option, from: (!is_plain).then_some(own) })
    }

    /// `place.take()`, `place.replace(by)`: what the place held.
    fn emptied(&mut self, place: &Expr, by: Option<&Expr>, span: Span) -> Result<Option<Moved>> {
        let (place, node) = match self.boxed(place) {
            Some(at) if self.scope.boxes[at].is_option => {
                let Owner { own, node, .. } = self.scope.boxes[at].clone();
                (own, node)
            }
            Some(_) => return self.scope.refuse(place, "an `Option` of a box"),
            None => match self.link(place)? {
                Some(found) => found,
                None => return Ok(None),
            },
        };
        let by = match by {
            Some(by) => self.must_move(by, &node)?,
            None => {
                Moved { text: "null".to_owned(), node: node.clone(), is_option: true, from: None }
            }
        };
        let text = self.scope.names.fresh("taken");
        self.out.line(&format!("let {text} = {place}"), span);
        self.out.line(&format!("{place} = {}", by.text), span);
        self.is_moved(&by, span);
        Ok(Some(Moved { text, node, is_option: true, from: None }))
    }

    /// `local.link` of a box: the node stays with the local.
    fn moved_link(&mut self, field: &syn::ExprField) -> Result<Option<Moved>> {
        let Some(at) = self.boxed(&field.base) else { return Ok(None) };
        let Some((place, node)) = self.field_of_box(at, field)? else { return Ok(None) };
        self.gives_link_away(at, field.span())?;
        let text = self.scope.names.fresh("moved");
        self.out.line(&format!("let {text} = {place}"), field.span());
        Ok(Some(Moved { text, node, is_option: true, from: None }))
    }

    fn field_of_box(&self, at: usize, field: &syn::ExprField) -> Result<Option<(String, String)>> {
        let Member::Named(member) = &field.member else { return Ok(None) };
        let owner = &self.scope.boxes[at];
        let name = member.to_string();
        Ok(match self.scope.source.node_field(&name).map(|field| &field.shape) {
            Some(Shape::Owner(node)) => {
                Some((format!("{}.{}", owner.own, names::plain(&name)), node.clone()))
            }
            _ => None,
        })
    }

    /// From here on a local owns its node alone.
    fn gives_link_away(&mut self, at: usize, span: Span) -> Result<()> {
        let level = self.level();
        let owner = &mut self.scope.boxes[at];
        if owner.is_option || owner.level != level || owner.held != Held::All {
            let message = "a link can be moved out of a box only in the block that declares it";
            return Err(Error::at(span, message));
        }
        owner.held = Held::NodeOnly;
        Ok(())
    }

    /// `Box::new(Node { … })`: links move what they are given.
    fn new_owner(&mut self, literal: &syn::ExprStruct) -> Result<Moved> {
        let name = literal.path.segments.last().map(|segment| segment.ident.to_string());
        let Some(fields) = name.as_ref().and_then(|name| self.scope.source.nodes.get(name)) else {
            return self.scope.refuse(literal, "a struct of this file with all its fields");
        };
        if literal.rest.is_some() {
            return self.scope.refuse(literal, "a struct of this file with all its fields");
        }
        let fields = fields.clone();
        let (mut texts, mut all) = (vec![], vec![]);
        let mut first_access = None;
        for field in &literal.fields {
            let Member::Named(member) = &field.member else {
                return self.scope.refuse(field, "a named field");
            };
            let member = member.to_string();
            let shape = fields.iter().find(|(name, _)| *name == member).map(|(_, f)| &f.shape);
            let text = match shape {
                Some(Shape::Owner(node)) => {
                    // What it reads is written before the others are.
                    if let Some(other) = first_access {
                        let other: &Expr = other;
                        return self.scope.refuse(other, "nothing shared before a link that owns");
                    }
                    let moved = self.must_move(&field.expr, node)?;
                    let text = moved.text.clone();
                    all.push(moved);
                    text
                }
                _ => {
                    if is_access(&field.expr) {
                        first_access = Some(&field.expr);
                    }
                    self.scope.expression(&field.expr)?
                }
            };
            texts.push(format!("{}: {text}", names::plain(&member)));
        }
        let node = name.unwrap_or_default();
        let made = format!("new {node} {{ {} }}", texts.join(", "));
        let text = self.scope.names.fresh("made");
        self.out.line(&format!("let {text}: {node}? = {made}"), literal.span());
        all.iter().for_each(|moved| self.is_moved(moved, literal.span()));
        Ok(Moved { text, node, is_option: false, from: None })
    }

    /// After the move: the local that owned it does not any more.
    fn is_moved(&mut self, moved: &Moved, span: Span) {
        if let Some(local) = &moved.from {
            self.out.line(&format!("{local} = null"), span);
        }
    }

    /// A new local that owns what is moved to it.
    fn owns(&mut self, name: &str, moved: &Moved, is_option: bool, span: Span) -> String {
        let Moved { text, node, .. } = moved;
        let own = self.scope.names.declare(name);
        self.out.line(&format!("let {own}: {node}? = {text}"), span);
        self.is_moved(moved, span);
        self.owns_now(&own, node, is_option);
        own
    }

    fn owns_now(&mut self, own: &str, node: &str, is_option: bool) {
        let (own, node, level) = (own.to_owned(), node.to_owned(), self.level());
        self.scope.boxes.push(Owner { own, node, level, is_option, held: Held::All });
    }

    /// `let name = owner`, if it is one; also `let Node { … } = *owner`, `let Some(name) = … else`,
    /// and `let pointer = Box::into_raw(owner)`.
    pub(crate) fn let_owner(&mut self, local: &Local) -> Result<bool> {
        let Some(init) = &local.init else { return Ok(false) };
        let (pattern, written) = match &local.pat {
            Pat::Type(typed) => (&*typed.pat, Some(self.scope.source.shape(&typed.ty)?.0)),
            pattern => (pattern, None),
        };
        let span = local.span();
        if let Pat::Struct(fields) = pattern {
            return self.taken_apart(fields, &init.expr, span);
        }
        if let (Some(question), Some((_, or))) = (question_of(pattern, &init.expr), &init.diverge) {
            self.let_else(&question, or, span)?;
            return Ok(true);
        }
        let Pat::Ident(ident) = pattern else { return Ok(false) };
        let name = ident.ident.to_string();
        if let (Some((function, args)), None) = (called(&init.expr), &init.diverge)
            && function == "Box::into_raw"
            && args.len() == 1
            && !matches!(called(args[0]), Some((name, _)) if name == "Box::new")
        {
            let Some(moved) = self.moved(args[0])?.filter(|moved| !moved.is_option) else {
                return self.scope.refuse(args[0], "a box of a node");
            };
            let own = self.scope.names.declare(&name);
            self.out.line(&format!("let {own}: {}? = {}", moved.node, moved.text), span);
            self.is_moved(&moved, span);
            return Ok(true);
        }
        if let Some(pointer) = taken_back(&init.expr).filter(|_| self.owns_more()) {
            let text = self.scope.expression(pointer)?;
            let node = self.scope.source.nodes.keys().next().cloned().unwrap_or_default();
            let moved = Moved { text, node, is_option: false, from: None };
            self.owns(&name, &moved, false, span);
            return Ok(true);
        }
        let moved = match &written {
            Some(Shape::Owner(node)) => Some(self.must_move(&init.expr, &node.clone())?),
            _ => self.moved(&init.expr)?,
        };
        let Some(moved) = moved else { return Ok(false) };
        self.owns(&name, &moved, moved.is_option, span);
        Ok(true)
    }

    /// Whether a node owns others.
    fn owns_more(&self) -> bool {
        self.scope.source.owning_link().is_some()
    }

    /// `let Node { value, next } = *owner`.
    fn taken_apart(&mut self, fields: &syn::PatStruct, init: &Expr, span: Span) -> Result<bool> {
        let boxed = match bare(init) {
            Expr::Unary(deref) if matches!(deref.op, syn::UnOp::Deref(_)) => {
                self.boxed(&deref.expr)
            }
            _ => None,
        };
        let Some(at) = boxed.filter(|at| !self.scope.boxes[*at].is_option) else {
            return self.scope.refuse(init, "`*owner` of a box");
        };
        let Owner { own, node, .. } = self.scope.boxes[at].clone();
        for field in &fields.fields {
            let (Member::Named(member), Pat::Ident(name)) = (&field.member, &*field.pat) else {
                return self.scope.refuse(field, "a named field");
            };
            let (member, name) = (member.to_string(), name.ident.to_string());
            let Some(found) = self.scope.source.node_field(&member).filter(|f| !f.is_atomic) else {
                return self.scope.refuse(field, "a field that is not atomic");
            };
            let owns = matches!(found.shape, Shape::Owner(_));
            let place = format!("{own}.{}", names::plain(&member));
            let local = self.scope.names.declare(&name);
            if owns {
                self.gives_link_away(at, span)?;
                self.out.line(&format!("let {local}: {node}? = {place}"), span);
                self.owns_now(&local, &node, true);
            } else {
                self.out.line(&format!("let {local} = {place}"), span);
            }
        }
        Ok(true)
    }

    fn let_else(&mut self, question: &Question<'_>, or: &Expr, span: Span) -> Result<()> {
        let (own, owner) = self.looked_at(question, span)?;
        self.out.open(&format!("if {own} == null {{"), span);
        let Expr::Block(or) = or else { return self.scope.refuse(or, "a block") };
        self.block(&or.block, false)?;
        self.out.close();
        self.is_there(question, &own, owner, false);
        Ok(())
    }

    /// Binds what is looked at; with the struct of the node if that is moved and owned from here on.
    fn looked_at(
        &mut self,
        question: &Question<'_>,
        span: Span,
    ) -> Result<(String, Option<String>)> {
        let own = self.scope.names.fresh(&question.name);
        if let Some(moved) = self.moved(question.scrutinee)? {
            if !moved.is_option {
                return self.scope.refuse(question.scrutinee, "an `Option` of a box");
            }
            self.out.line(&format!("let {own}: {}? = {}", moved.node, moved.text), span);
            self.is_moved(&moved, span);
            return Ok((own, Some(moved.node)));
        }
        let is_local = matches!(bare(question.scrutinee), Expr::Path(_));
        let is_look = matches!(bare(question.scrutinee), Expr::MethodCall(call)
            if call.method == "as_deref" || call.method == "as_deref_mut");
        if !is_local && !is_look {
            let expected = "`take()` or `as_deref()` of a link, or a local";
            return self.scope.refuse(question.scrutinee, expected);
        }
        let text = self.scope.expression(question.scrutinee)?;
        self.out.line(&format!("let {own} = {text}"), span);
        Ok((own, None))
    }

    /// From here on what was looked at is known to be there, under its name.
    fn is_there(
        &mut self,
        question: &Question<'_>,
        own: &str,
        owner: Option<String>,
        deeper: bool,
    ) {
        self.scope.names.call(&question.name, own);
        if let Some(node) = owner {
            self.owns_now(own, &node, false);
            // The block that follows is as good as the one that declares it.
            let owner = self.scope.boxes.last_mut();
            owner.into_iter().for_each(|owner| owner.level += usize::from(deeper));
        }
    }

    /// `if let Some(name) = … { … } else { … }`, if it is one of nodes.
    pub(crate) fn if_some(&mut self, inner: &syn::ExprIf, is_tail: bool) -> Result<bool> {
        let Expr::Let(pattern) = bare(&inner.cond) else { return Ok(false) };
        let Some(question) = question_of(&pattern.pat, &pattern.expr) else { return Ok(false) };
        let or = inner.else_branch.as_ref().map(|(_, or)| &**or);
        let or = or.map_or(Branch::Nothing, Branch::Expression);
        let some = Branch::Block(&inner.then_branch);
        self.ask(&question, some, or, (is_tail, inner.if_token.span()))?;
        Ok(true)
    }

    /// `match … { Some(name) => …, None => … }`, if it is one of nodes.
    pub(crate) fn match_some(&mut self, inner: &syn::ExprMatch, is_tail: bool) -> Result<bool> {
        let [one, other] = &inner.arms[..] else { return Ok(false) };
        let (some, none) = match question_of(&one.pat, &inner.expr) {
            Some(_) => (one, other),
            None => (other, one),
        };
        let Some(question) = question_of(&some.pat, &inner.expr) else { return Ok(false) };
        let is_none = matches!(&none.pat, Pat::Wild(_))
            || matches!(&none.pat, Pat::Ident(ident) if ident.ident == "None");
        if !is_none || one.guard.is_some() || other.guard.is_some() {
            return self.scope.refuse(inner, "one arm `Some(name)` and one `None`");
        }
        let (some, none) = (Branch::Expression(&some.body), Branch::Expression(&none.body));
        self.ask(&question, some, none, (is_tail, inner.match_token.span()))?;
        Ok(true)
    }

    fn ask(
        &mut self,
        question: &Question<'_>,
        some: Branch<'_>,
        none: Branch<'_>,
        (is_tail, span): (bool, Span),
    ) -> Result<()> {
        let (own, owner) = self.looked_at(question, span)?;
        self.out.open(&format!("if {own} != null {{"), span);
        self.scope.names.enter();
        let boxes = self.scope.boxes.len();
        let deeper = match &some {
            Branch::Block(_) => true,
            Branch::Expression(expr) => matches!(bare(expr), Expr::Block(_)),
            Branch::Nothing => false,
        };
        self.is_there(question, &own, owner, deeper);
        let leaves = self.branch(some, is_tail)?;
        self.end_owners(boxes, leaves, span);
        self.scope.names.leave();
        if !matches!(none, Branch::Nothing) {
            self.out.turn("} else {");
            // An expression without a block is not on every way either.
            self.scope.names.enter();
            self.branch(none, is_tail)?;
            self.scope.names.leave();
        }
        self.out.close();
        Ok(())
    }

    /// Writes a branch; says whether nothing comes after it.
    fn branch(&mut self, branch: Branch<'_>, is_tail: bool) -> Result<bool> {
        match branch {
            Branch::Nothing => Ok(false),
            Branch::Block(block) => {
                self.block(block, is_tail)?;
                Ok(self.ends(block, is_tail))
            }
            Branch::Expression(expr) => match bare(expr) {
                Expr::Tuple(unit) if unit.elems.is_empty() => Ok(false),
                Expr::Block(inner) => {
                    self.block(&inner.block, is_tail)?;
                    Ok(self.ends(&inner.block, is_tail))
                }
                body => {
                    self.tail_or_statement(expr, is_tail)?;
                    Ok(self.gives_result(is_tail) || leaves(body))
                }
            },
        }
    }

    /// Whether nothing comes after a block.
    fn ends(&self, block: &Block, is_tail: bool) -> bool {
        self.gives_result(is_tail)
            || matches!(block.stmts.last(), Some(Stmt::Expr(last, _)) if leaves(last))
    }

    /// `while let Some(name) = … { … }`, if it is one of nodes.
    pub(crate) fn while_some(&mut self, inner: &syn::ExprWhile, label: &str) -> Result<bool> {
        let Expr::Let(pattern) = bare(&inner.cond) else { return Ok(false) };
        let Some(question) = question_of(&pattern.pat, &pattern.expr) else { return Ok(false) };
        let span = inner.while_token.span();
        self.out.open(&format!("{label}loop {{"), span);
        self.scope.names.enter();
        let boxes = self.scope.boxes.len();
        self.inside(span, inner.label.as_ref(), |body| {
            let (own, owner) = body.looked_at(&question, span)?;
            body.out.line(&format!("if {own} == null {{ break }}"), span);
            body.is_there(&question, &own, owner, true);
            body.block(&inner.body, false)?;
            let leaves = body.ends(&inner.body, false);
            body.end_owners(boxes, leaves, span);
            Ok(())
        })?;
        self.scope.names.leave();
        self.out.close();
        Ok(true)
    }

    /// `place = owner`, if the place is one of an owner: what it owned before is dropped.
    pub(crate) fn assign_owner(&mut self, inner: &syn::ExprAssign) -> Result<bool> {
        let span = inner.span();
        if let Some(at) = self.boxed(&inner.left) {
            let Owner { own, node, level, held, is_option } = self.scope.boxes[at].clone();
            let moved = self.must_move(&inner.right, &node)?;
            if held != Held::All || level != self.level() && !is_option {
                return self.scope.refuse(&inner.left, "a local that was not moved");
            }
            // It may have been moved in the meantime, to become what it was.
            let is_whole = self.scope.boxes[at].held == Held::All && moved.text != own;
            if is_whole {
                self.out.line(&self.scope.source.dropped_if_there(&own), span);
            }
            if moved.text != own {
                self.out.line(&format!("{own} = {}", moved.text), span);
            }
            self.is_moved(&moved, span);
            self.scope.boxes[at].held = Held::All;
            return Ok(true);
        }
        let found = match bare(&inner.left) {
            Expr::Field(field) if self.boxed(&field.base).is_some() => {
                let at = self.boxed(&field.base).unwrap_or_default();
                self.field_of_box(at, field)?
            }
            left => self.link(left)?,
        };
        let Some((place, node)) = found else { return Ok(false) };
        if let Expr::Field(field) = bare(&inner.left)
            && let Some(at) = self.boxed(&field.base)
            && self.scope.boxes[at].held != Held::All
        {
            return self.scope.refuse(&inner.left, "a box whose link was not moved");
        }
        let moved = self.must_move(&inner.right, &node)?;
        self.out.line(&self.scope.source.dropped_if_there(&place), span);
        self.out.line(&format!("{place} = {}", moved.text), span);
        self.is_moved(&moved, span);
        Ok(true)
    }

    /// `drop(owner)`, if it is one.
    pub(crate) fn drop_owner(&mut self, expr: &Expr) -> Result<bool> {
        let Some(moved) = self.moved(expr)? else { return Ok(false) };
        self.out.line(&self.scope.source.dropped_if_there(&moved.text), expr.span());
        self.is_moved(&moved, expr.span());
        Ok(true)
    }

    /// The scope of some locals ends: what they own is dropped, the last first.
    pub(crate) fn end_owners(&mut self, from: usize, leaves: bool, span: Span) {
        let ended = self.scope.boxes.split_off(from);
        if !leaves {
            self.drop_all(&ended, span);
        }
    }

    /// Drops what locals own, the last first.
    pub(crate) fn drop_all(&mut self, owners: &[Owner], span: Span) {
        for Owner { own, held, .. } in owners.iter().rev() {
            match held {
                Held::All => self.out.line(&self.scope.source.dropped_if_there(own), span),
                Held::NodeOnly => self.out.line(&format!("free({own})"), span),
                Held::Nothing => {}
            }
        }
    }
}

/// `Some(name)` of something.
fn question_of<'e>(pattern: &Pat, scrutinee: &'e Expr) -> Option<Question<'e>> {
    let Pat::TupleStruct(tuple) = pattern else { return None };
    let (true, Some(Pat::Ident(name)), 1) =
        (tuple.path.is_ident("Some"), tuple.elems.first(), tuple.elems.len())
    else {
        return None;
    };
    (name.by_ref.is_none() && name.subpat.is_none())
        .then(|| Question { scrutinee, name: name.ident.to_string() })
}

/// Whether nothing comes after an expression.
fn leaves(expr: &Expr) -> bool {
    matches!(bare(expr), Expr::Return(_) | Expr::Break(_) | Expr::Continue(_))
}
