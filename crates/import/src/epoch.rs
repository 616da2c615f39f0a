//! Code in the manner of `crossbeam-epoch`, as code with raw pointers.
//!
//! `Atomic<Node>` is an `AtomicPtr<Node>`, `Owned` and `Shared` are `*mut Node`, a guard is nothing.
//! *Theorem*: while a guard lives, no node that it can reach is given back, so that no address is
//! used again under it; a pointer does not outlive its guard. So nodes that are destroyed later are
//! nodes that are never given back. What pinning orders is left out: a run of the source is a run of
//! what comes out, and not the other way round.
//!
//! *What would make it unsound*: a node that is destroyed although it can still be reached by those
//! who pin later. That is not looked at, and the algorithm says so ([`Rewritten::destroys`]). What
//! is rewritten is only what is named here; everything else is left for others to refuse.

use crate::expression::{bare, called};
use crate::tagged::without_tags;
use proc_macro2::Span;
use std::collections::{HashMap, HashSet};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Expr, FnArg, Item, Pat, Stmt, Type, UseTree, parse_quote_spanned};

/// What was rewritten.
#[derive(Default)]
pub(crate) struct Rewritten {
    /// The locals and parameters that are guards.
    guards: HashSet<String>,
    /// What exchanges that failed are called, with the local that each was to put.
    failures: HashMap<String, Option<String>>,
    /// Where a node is destroyed later.
    pub destroys: Option<Span>,
    /// Whether pointers have tags.
    pub has_tags: bool,
}

/// Whether a source uses epochs: it names `Atomic` of them.
fn uses_epochs(file: &syn::File) -> bool {
    struct Names(bool);
    impl<'a> syn::visit::Visit<'a> for Names {
        fn visit_type(&mut self, kind: &'a Type) {
            self.0 |= name_of(kind).is_some_and(|name| name == "Atomic");
            syn::visit::visit_type(self, kind);
        }
    }
    let mut names = Names(false);
    syn::visit::visit_file(&mut names, file);
    let own = |item: &Item| matches!(item, Item::Struct(own) if own.ident == "Atomic");
    names.0 && !file.items.iter().any(own)
}

/// Rewrites a source that uses epochs; gives what others must know.
pub(crate) fn without_epochs(file: &mut syn::File) -> Rewritten {
    let mut rewritten = Rewritten::default();
    if uses_epochs(file) {
        file.items.retain(|item| !is_import_of_epochs(item));
        rewritten.has_tags = without_tags(file);
        rewritten.visit_file_mut(file);
    }
    rewritten
}

/// Whether an item is `use crossbeam_epoch::…`, under whatever name.
fn is_import_of_epochs(item: &Item) -> bool {
    let Item::Use(import) = item else { return false };
    matches!(&import.tree, UseTree::Path(path) if path.ident == "crossbeam_epoch")
}

pub(crate) fn name_of(kind: &Type) -> Option<String> {
    match kind {
        Type::Path(path) if path.qself.is_none() => {
            path.path.segments.last().map(|segment| segment.ident.to_string())
        }
        _ => None,
    }
}

pub(crate) fn argument(kind: &Type) -> Option<Type> {
    let Type::Path(path) = kind else { return None };
    let syn::PathArguments::AngleBracketed(all) = &path.path.segments.last()?.arguments else {
        return None;
    };
    all.args.iter().find_map(|argument| match argument {
        syn::GenericArgument::Type(kind) => Some(kind.clone()),
        _ => None,
    })
}

pub(crate) fn local(expr: &Expr) -> Option<String> {
    match bare(expr) {
        Expr::Path(path) => path.path.get_ident().map(ToString::to_string),
        _ => None,
    }
}

/// Whether a type is that of a guard, or of a reference to one.
fn is_guard(kind: &Type) -> bool {
    match kind {
        Type::Reference(reference) => is_guard(&reference.elem),
        _ => name_of(kind).is_some_and(|name| name == "Guard"),
    }
}

/// Whether an expression pins the epoch: `epoch::pin()`, or a reference to that.
fn pins(expr: &Expr) -> bool {
    match bare(expr) {
        Expr::Reference(reference) => pins(&reference.expr),
        _ => called(expr).is_some_and(|(name, args)| {
            (name == "epoch::pin" || name == "crossbeam_epoch::pin") && args.is_empty()
        }),
    }
}

impl Rewritten {
    /// Whether an expression is a guard, or a reference to one.
    fn is_guard(&self, expr: &Expr) -> bool {
        match bare(expr) {
            Expr::Reference(reference) => self.is_guard(&reference.expr),
            _ => pins(expr) || local(expr).is_some_and(|name| self.guards.contains(&name)),
        }
    }

    /// Whether a statement is only about guards: it is left out.
    fn is_about_guards(&mut self, statement: &Stmt) -> bool {
        match statement {
            Stmt::Local(own) => {
                let (Pat::Ident(name), Some(init)) = (&own.pat, &own.init) else { return false };
                let (name, is_guard) = (name.ident.to_string(), self.is_guard(&init.expr));
                match is_guard {
                    true => self.guards.insert(name),
                    false => self.guards.remove(&name),
                };
                is_guard
            }
            Stmt::Expr(expr, _) => self.is_done_later(expr),
            _ => false,
        }
    }

    /// Whether an expression gives something back later, or lets go of a guard.
    fn is_done_later(&mut self, expr: &Expr) -> bool {
        match bare(expr) {
            Expr::MethodCall(call) if self.is_guard(&call.receiver) => {
                let destroys = call.method == "defer_destroy" && call.args.len() == 1;
                if destroys {
                    self.destroys.get_or_insert(call.span());
                }
                destroys || call.method == "flush" && call.args.is_empty()
            }
            Expr::Unsafe(inner) if inner.block.stmts.len() == 1 => match &inner.block.stmts[0] {
                Stmt::Expr(inner, _) => self.is_done_later(&inner.clone()),
                _ => false,
            },
            Expr::Call(_) => called(expr).is_some_and(|(name, args)| {
                name == "drop" && args.len() == 1 && self.is_guard(args[0])
            }),
            // What an exchange that failed gives back is what it was given: the same node.
            Expr::Assign(assign) => match bare(&assign.right) {
                Expr::Field(field) => self.is_given_back(field, local(&assign.left)),
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether a field is `error.new` of an exchange that was to put this local.
    fn is_given_back(&self, field: &syn::ExprField, put: Option<String>) -> bool {
        let syn::Member::Named(member) = &field.member else { return false };
        let known = local(&field.base).and_then(|name| self.failures.get(&name));
        member == "new" && put.is_some() && known == Some(&put)
    }

    /// What an expression is without epochs, if it is another one.
    fn replaced(&self, expr: &Expr) -> Option<Expr> {
        let span = expr.span();
        match expr {
            Expr::Call(_) => {
                let (name, args) = called(expr)?;
                match (name.as_str(), &args[..]) {
                    ("Atomic::null", []) => {
                        Some(parse_quote_spanned!(span=> AtomicPtr::new(ptr::null_mut())))
                    }
                    ("Shared::null", []) => Some(parse_quote_spanned!(span=> ptr::null_mut())),
                    ("Atomic::from", [inner]) => {
                        Some(parse_quote_spanned!(span=> AtomicPtr::new(#inner)))
                    }
                    ("Owned::new", [inner]) => {
                        Some(parse_quote_spanned!(span=> Box::into_raw(Box::new(#inner))))
                    }
                    _ => None,
                }
            }
            Expr::MethodCall(call) => {
                let receiver = &call.receiver;
                match (call.method.to_string().as_str(), call.args.len()) {
                    ("into_shared", 1) if self.is_guard(&call.args[0]) => {
                        Some((**receiver).clone())
                    }
                    ("as_raw", 0) => Some((**receiver).clone()),
                    ("deref", 0) => Some(parse_quote_spanned!(span=> &*#receiver)),
                    _ => None,
                }
            }
            Expr::Field(field) => {
                let syn::Member::Named(member) = &field.member else { return None };
                let failed =
                    local(&field.base).is_some_and(|name| self.failures.contains_key(&name));
                (failed && member == "current").then(|| (*field.base).clone())
            }
            _ => None,
        }
    }

    /// What an exchange with a guard puts, if an expression is one.
    fn put<'e>(&self, exchange: &'e Expr) -> Option<&'e Expr> {
        let Expr::MethodCall(call) = bare(exchange) else { return None };
        let is_exchange = call.method.to_string().starts_with("compare_exchange");
        let has_guard = call.args.last().is_some_and(|last| self.is_guard(last));
        call.args.get(1).filter(|_| is_exchange && has_guard)
    }

    /// `Ok(name)` of an exchange with a guard: the name is that of what was written, where an atomic
    /// of the standard library gives what was there before. Binds it at the beginning of what the
    /// exchange leads to; what is no local cannot be named twice, and the pattern is made one that
    /// is refused.
    fn name_written(&self, exchange: &Expr, pattern: &mut Pat) -> Option<Stmt> {
        let put = self.put(exchange)?;
        let Pat::TupleStruct(tuple) = pattern else { return None };
        let Some(Pat::Ident(name)) = tuple.elems.first().filter(|_| tuple.path.is_ident("Ok"))
        else {
            return None;
        };
        let (name, span) = (name.ident.clone(), pattern.span());
        if local(put).is_none() {
            *pattern = parse_quote_spanned!(span=> Ok(#name @ _));
            return None;
        }
        *pattern = parse_quote_spanned!(span=> Ok(_));
        Some(parse_quote_spanned!(span=> let #name = #put;))
    }

    /// Names what exchanges of a `match` wrote.
    fn name_written_in_match(&self, inner: &mut syn::ExprMatch) {
        for arm in &mut inner.arms {
            if let Some(named) = self.name_written(&inner.expr, &mut arm.pat) {
                let (span, body) = (arm.body.span(), statements(&arm.body));
                *arm.body = parse_quote_spanned!(span=> { #named #(#body)* });
            }
        }
    }

    /// Names what the exchange of an `if let` wrote.
    fn name_written_in_if(&self, inner: &mut syn::ExprIf) {
        if let Expr::Let(question) = &mut *inner.cond
            && let Some(named) = self.name_written(&question.expr, &mut question.pat)
        {
            inner.then_branch.stmts.insert(0, named);
        }
    }

    /// Names what the exchange of a `while let` wrote.
    fn name_written_in_while(&self, inner: &mut syn::ExprWhile) {
        if let Expr::Let(question) = &mut *inner.cond
            && let Some(named) = self.name_written(&question.expr, &mut question.pat)
        {
            inner.body.stmts.insert(0, named);
        }
    }

    /// Notes what an exchange that failed is called.
    fn note_failure(&mut self, exchange: &Expr, pattern: &Pat) {
        let Expr::MethodCall(call) = bare(exchange) else { return };
        let (true, Pat::TupleStruct(tuple)) =
            (call.method.to_string().starts_with("compare_exchange"), pattern)
        else {
            return;
        };
        if tuple.path.is_ident("Err")
            && let Some(Pat::Ident(name)) = tuple.elems.first()
        {
            let put = call.args.get(1).map(untagged).and_then(local);
            self.failures.insert(name.ident.to_string(), put);
        }
    }
}

/// What is put by an exchange: an `Owned` may have been given its tag, 0.
fn untagged(put: &Expr) -> &Expr {
    match put {
        Expr::Tuple(pair) if pair.elems.len() == 2 && matches!(pair.elems[1], Expr::Lit(_)) => {
            &pair.elems[0]
        }
        _ => put,
    }
}

/// `match pointer.as_ref() { Some(node) => …, None => … }` as a condition.
fn looked_at(inner: &syn::ExprMatch) -> Option<Expr> {
    let Expr::MethodCall(call) = bare(&inner.expr) else { return None };
    // It is looked at twice here.
    local(&call.receiver)?;
    if call.method != "as_ref" || !call.args.is_empty() || inner.arms.len() != 2 {
        return None;
    }
    let (mut some, mut none) = (None, None);
    for arm in inner.arms.iter().filter(|arm| arm.guard.is_none()) {
        match &arm.pat {
            Pat::TupleStruct(tuple) if tuple.path.is_ident("Some") && tuple.elems.len() == 1 => {
                let Pat::Ident(name) = &tuple.elems[0] else { return None };
                some = Some((name.ident.clone(), &arm.body));
            }
            Pat::Ident(name) if name.ident == "None" => none = Some(&arm.body),
            Pat::Wild(_) => none = Some(&arm.body),
            _ => return None,
        }
    }
    let ((name, some), none, pointer) = (some?, none?, &call.receiver);
    let (span, some) = (inner.match_token.span(), statements(some));
    let none = statements(none);
    Some(parse_quote_spanned!(span=>
        if #pointer.is_null() { #(#none)* } else { let #name = &*#pointer; #(#some)* }
    ))
}

/// What an arm does.
fn statements(arm: &Expr) -> Vec<Stmt> {
    match arm {
        Expr::Block(inner) if inner.label.is_none() => inner.block.stmts.clone(),
        _ => vec![Stmt::Expr(arm.clone(), None)],
    }
}

/// `if let Some(node) = pointer.as_ref() { … } else { … }` as a condition.
fn looked_at_once(inner: &syn::ExprIf) -> Option<Expr> {
    let Expr::Let(pattern) = bare(&inner.cond) else { return None };
    let Expr::MethodCall(call) = bare(&pattern.expr) else { return None };
    let Pat::TupleStruct(tuple) = &*pattern.pat else { return None };
    local(&call.receiver)?;
    if call.method != "as_ref" || !call.args.is_empty() || !tuple.path.is_ident("Some") {
        return None;
    }
    let Some(Pat::Ident(name)) = tuple.elems.first() else { return None };
    let (name, pointer, then) = (&name.ident, &call.receiver, &inner.then_branch.stmts);
    let span = inner.if_token.span();
    Some(match &inner.else_branch {
        Some((_, or)) => {
            let or = statements(or);
            parse_quote_spanned!(span=>
                if #pointer.is_null() { #(#or)* } else { let #name = &*#pointer; #(#then)* }
            )
        }
        None => parse_quote_spanned!(span=>
            if !#pointer.is_null() { let #name = &*#pointer; #(#then)* }
        ),
    })
}

impl VisitMut for Rewritten {
    fn visit_signature_mut(&mut self, signature: &mut syn::Signature) {
        let mut kept = syn::punctuated::Punctuated::new();
        for input in std::mem::take(&mut signature.inputs) {
            match &input {
                FnArg::Typed(typed) if is_guard(&typed.ty) => {
                    if let Pat::Ident(name) = &*typed.pat {
                        self.guards.insert(name.ident.to_string());
                    }
                }
                _ => kept.push(input),
            }
        }
        signature.inputs = kept;
        visit_mut::visit_signature_mut(self, signature);
    }

    fn visit_impl_item_fn_mut(&mut self, function: &mut syn::ImplItemFn) {
        (self.guards, self.failures) = Default::default();
        visit_mut::visit_impl_item_fn_mut(self, function);
    }

    fn visit_block_mut(&mut self, block: &mut Block) {
        let mut kept = vec![];
        for mut statement in std::mem::take(&mut block.stmts) {
            if !self.is_about_guards(&statement) {
                self.visit_stmt_mut(&mut statement);
                kept.push(statement);
            }
        }
        block.stmts = kept;
    }

    fn visit_arm_mut(&mut self, arm: &mut syn::Arm) {
        if self.is_done_later(&arm.body.clone()) {
            *arm.body = parse_quote_spanned!(arm.body.span()=> {});
        }
        visit_mut::visit_arm_mut(self, arm);
    }

    fn visit_expr_let_mut(&mut self, pattern: &mut syn::ExprLet) {
        self.note_failure(&pattern.expr, &pattern.pat);
        visit_mut::visit_expr_let_mut(self, pattern);
    }

    fn visit_type_mut(&mut self, kind: &mut Type) {
        let inner = argument(kind);
        match (name_of(kind).as_deref(), inner) {
            (Some("Atomic"), Some(inner)) => {
                *kind = parse_quote_spanned!(kind.span()=> AtomicPtr<#inner>)
            }
            (Some("Owned" | "Shared"), Some(inner)) => {
                *kind = parse_quote_spanned!(kind.span()=> *mut #inner)
            }
            _ => {}
        }
        visit_mut::visit_type_mut(self, kind);
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if let Expr::MethodCall(call) = expr {
            let kept = call.args.iter().filter(|argument| !self.is_guard(argument));
            let kept: Vec<Expr> = kept.cloned().collect();
            // A guard is only looked at: where it is the receiver, the call is about it.
            if call.method != "into_shared" {
                call.args = kept.into_iter().collect();
            }
        }
        match expr {
            Expr::Match(inner) => self.name_written_in_match(inner),
            Expr::If(inner) => self.name_written_in_if(inner),
            Expr::While(inner) => self.name_written_in_while(inner),
            _ => {}
        }
        if let Expr::Match(inner) = expr {
            inner.arms.iter().for_each(|arm| self.note_failure(&inner.expr, &arm.pat));
        }
        let other = match expr {
            Expr::Match(inner) => looked_at(inner),
            Expr::If(inner) => looked_at_once(inner),
            _ => self.replaced(expr),
        };
        if let Some(other) = other {
            *expr = other;
            return self.visit_expr_mut(expr);
        }
        visit_mut::visit_expr_mut(self, expr);
    }
}
