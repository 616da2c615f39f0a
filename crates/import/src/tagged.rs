//! Tags on the pointers of `crossbeam-epoch`, as pairs of a pointer and a number.
//!
//! A `Shared` is a pointer with a tag in its lowest bits: both are read, written and compared
//! together. In the algorithm it is a pair, and a local of that type is two, `p` and `p_mark`. A
//! source that never says `tag` or `with_tag` keeps plain pointers: then every tag is 0.
//!
//! *It would be unsound* to look at the pointer alone where Rust looks at both. So every mention of
//! such a local becomes the pair, but for `is_null`, `as_ref` and `deref`, which do not look at the
//! tag; what is forgotten here is a pointer where the language wants a pair, and refused by its
//! types. Tags are those from 0 to 3, written as numbers or taken from another pointer: a node with a
//! link is aligned to four bytes at least, so that none of them is cut off. An `Owned` has the tag 0,
//! since it gets another one only by calls that nobody here knows. A name that hides such a local
//! in a pattern is refused.

use crate::epoch::{argument, local, name_of};
use crate::expression::{bare, called};
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::{HashMap, HashSet};
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::visit_mut::{self, VisitMut};
use syn::{Expr, ExprMethodCall, Lit, Pat, Type, parse_quote_spanned};

/// The highest tag.
const HIGHEST: u8 = 3;

/// Rewrites a source in which pointers have tags; says whether it is one.
pub(crate) fn without_tags(file: &mut syn::File) -> bool {
    let mut words = Words::default();
    words.visit_file(file);
    if !words.has_tags {
        return false;
    }
    let text = file.to_token_stream().to_string();
    let mut suffix = "_mark".to_owned();
    while text.contains(&suffix) {
        suffix.push('_');
    }
    Tags { suffix, links: words.links, scopes: vec![] }.visit_file_mut(file);
    true
}

/// What a source speaks of: tags, and fields that are links.
#[derive(Default)]
struct Words {
    has_tags: bool,
    links: HashSet<String>,
}

impl<'a> Visit<'a> for Words {
    fn visit_expr_method_call(&mut self, call: &'a ExprMethodCall) {
        self.has_tags |= call.method == "tag" || call.method == "with_tag";
        syn::visit::visit_expr_method_call(self, call);
    }

    fn visit_field(&mut self, field: &'a syn::Field) {
        if let (Some(name), Some("Atomic")) = (&field.ident, name_of(&field.ty).as_deref()) {
            self.links.insert(name.to_string());
        }
    }
}

/// A source while it is rewritten.
struct Tags {
    suffix: String,
    links: HashSet<String>,
    /// The locals of the blocks around, and whether each is a pointer with a tag.
    scopes: Vec<HashMap<String, bool>>,
}

impl Tags {
    fn declare(&mut self, name: &Ident, is_tagged: bool) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_string(), is_tagged);
        }
    }

    /// The local that an expression names, if it has a tag.
    fn tagged_local(&self, expr: &Expr) -> Option<Ident> {
        let name = local(expr)?;
        self.is_tagged(&name).then(|| Ident::new(&name, expr.span()))
    }

    fn is_tagged(&self, name: &str) -> bool {
        self.scopes.iter().rev().find_map(|scope| scope.get(name)) == Some(&true)
    }

    fn mark(&self, name: &Ident) -> Ident {
        Ident::new(&format!("{name}{}", self.suffix), name.span())
    }

    fn pair(&self, name: &Ident) -> Expr {
        let mark = self.mark(name);
        parse_quote_spanned!(name.span()=> (#name, #mark))
    }

    /// Whether an expression is a `Shared`.
    fn is_shared(&self, expr: &Expr) -> bool {
        match bare(expr) {
            Expr::Path(_) => self.tagged_local(expr).is_some(),
            Expr::MethodCall(call) => match (call.method.to_string().as_str(), call.args.len()) {
                ("load", 2) | ("swap", 3) | ("with_tag" | "into_shared", 1) => true,
                ("clone", 0) => self.is_shared(&call.receiver),
                _ => false,
            },
            // Of an exchange that failed.
            Expr::Field(field) => {
                matches!(&field.member, syn::Member::Named(name) if name == "current")
                    && local(&field.base).is_some_and(|name| name != "self")
            }
            Expr::Call(_) => called(expr).is_some_and(|(name, _)| name == "Shared::null"),
            _ => false,
        }
    }

    /// What is put into a link: an `Owned` gets the tag 0.
    fn put(&mut self, expr: &mut Expr) {
        let is_shared = self.is_shared(expr);
        self.visit_expr_mut(expr);
        if !is_shared {
            *expr = parse_quote_spanned!(expr.span()=> (#expr, 0));
        }
    }

    /// A tag that is known to fit: a number, or that of another pointer.
    fn is_tag(&self, expr: &Expr) -> bool {
        match bare(expr) {
            Expr::Lit(literal) => matches!(&literal.lit, Lit::Int(number)
                if number.base10_parse::<u8>().is_ok_and(|number| number <= HIGHEST)),
            Expr::MethodCall(call) => {
                call.method == "tag"
                    && call.args.is_empty()
                    && self.tagged_local(&call.receiver).is_some()
            }
            _ => false,
        }
    }

    fn method_call(&mut self, call: &mut ExprMethodCall) -> Option<Expr> {
        let (method, span) = (call.method.to_string(), call.span());
        let named = self.tagged_local(&call.receiver);
        let is_link = matches!(bare(&call.receiver), Expr::Field(field)
            if matches!(&field.member, syn::Member::Named(name) if self.links.contains(&name.to_string())));
        match (method.as_str(), call.args.len(), named) {
            // They do not look at the tag.
            ("is_null" | "as_ref" | "deref", 0, Some(_)) => {}
            ("tag", 0, Some(name)) => {
                let mark = self.mark(&name);
                return Some(parse_quote_spanned!(span=> #mark));
            }
            ("with_tag", 1, Some(name)) if self.is_tag(&call.args[0]) => {
                let mut tag = call.args[0].clone();
                self.visit_expr_mut(&mut tag);
                return Some(parse_quote_spanned!(span=> (#name, #tag)));
            }
            ("tag" | "with_tag", ..) => return Some(refused(span)),
            ("into_shared", 1, None) => {
                self.visit_expr_mut(&mut call.receiver);
                let receiver = &call.receiver;
                return Some(parse_quote_spanned!(span=> (#receiver, 0)));
            }
            ("compare_exchange" | "compare_exchange_weak", 5, _) => {
                self.visit_expr_mut(&mut call.receiver);
                self.visit_expr_mut(&mut call.args[0]);
                self.put(&mut call.args[1]);
            }
            ("store", 2, _) | ("swap", 3, _) if is_link => {
                self.visit_expr_mut(&mut call.receiver);
                self.put(&mut call.args[0]);
            }
            _ => visit_mut::visit_expr_method_call_mut(self, call),
        }
        None
    }

    fn call(&mut self, expr: &mut Expr) -> Option<Expr> {
        let span = expr.span();
        let (name, args) = called(expr)?;
        match (name.as_str(), &args[..]) {
            ("Shared::null", []) => Some(parse_quote_spanned!(span=> (ptr::null_mut(), 0))),
            ("Atomic::null", []) => {
                Some(parse_quote_spanned!(span=> AtomicPtr::new((ptr::null_mut(), 0))))
            }
            ("Atomic::from", [inner]) => {
                let mut inner = (*inner).clone();
                self.put(&mut inner);
                Some(parse_quote_spanned!(span=> AtomicPtr::new(#inner)))
            }
            _ => None,
        }
    }

    fn assign(&mut self, assign: &mut syn::ExprAssign) -> Option<Expr> {
        let is_shared = self.is_shared(&assign.right);
        let named = self.tagged_local(&assign.left);
        if local(&assign.left).is_some() && is_shared != named.is_some() {
            return Some(refused(assign.span()));
        }
        visit_mut::visit_expr_assign_mut(self, assign);
        None
    }

    /// Whether a pattern gives a name to something that hides a pointer with a tag.
    fn hides(&self, pattern: &Pat) -> bool {
        names_in(pattern).iter().any(|name| self.is_tagged(&name.to_string()))
    }
}

/// Whether tokens name one of these.
fn names_any(tokens: &TokenStream, is_one: &dyn Fn(&str) -> bool) -> bool {
    tokens.clone().into_iter().any(|token| match token {
        TokenTree::Ident(name) => is_one(&name.to_string()),
        TokenTree::Group(group) => names_any(&group.stream(), is_one),
        _ => false,
    })
}

/// Something that nobody accepts.
fn refused(span: Span) -> Expr {
    let mac = refused_macro(span);
    Expr::Macro(syn::ExprMacro { attrs: vec![], mac })
}

fn refused_macro(span: Span) -> syn::Macro {
    parse_quote_spanned!(span=> tagged!("a local with a tag from 0 to 3, under its own name"))
}

fn names_in(pattern: &Pat) -> Vec<Ident> {
    struct Names(Vec<Ident>);
    impl<'a> Visit<'a> for Names {
        fn visit_pat_ident(&mut self, name: &'a syn::PatIdent) {
            self.0.push(name.ident.clone());
            syn::visit::visit_pat_ident(self, name);
        }
    }
    let mut names = Names(vec![]);
    names.visit_pat(pattern);
    names.0
}

impl VisitMut for Tags {
    fn visit_impl_item_fn_mut(&mut self, function: &mut syn::ImplItemFn) {
        self.scopes = vec![HashMap::new()];
        visit_mut::visit_impl_item_fn_mut(self, function);
        self.scopes.clear();
    }

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        self.scopes.push(HashMap::new());
        visit_mut::visit_block_mut(self, block);
        self.scopes.pop();
    }

    fn visit_local_mut(&mut self, own: &mut syn::Local) {
        let is_shared = own.init.as_ref().is_some_and(|init| self.is_shared(&init.expr));
        if let Some(init) = &mut own.init {
            self.visit_expr_mut(&mut init.expr);
            init.diverge.iter_mut().for_each(|(_, or)| self.visit_expr_mut(or));
        }
        let inner = match &own.pat {
            Pat::Type(typed) => &*typed.pat,
            pattern => pattern,
        };
        match inner {
            Pat::Ident(name) if is_shared && name.subpat.is_none() && name.by_ref.is_none() => {
                let (name, mark) = (name.ident.clone(), self.mark(&name.ident));
                self.declare(&name, true);
                own.pat = parse_quote_spanned!(name.span()=> (#name, #mark));
            }
            pattern => {
                names_in(pattern).iter().for_each(|name| self.declare(name, false));
                if let Pat::Type(typed) = &mut own.pat {
                    self.visit_type_mut(&mut typed.ty);
                }
            }
        }
    }

    fn visit_arm_mut(&mut self, arm: &mut syn::Arm) {
        if self.hides(&arm.pat) {
            *arm.body = refused(arm.pat.span());
        }
        visit_mut::visit_arm_mut(self, arm);
    }

    /// What stands in a macro is not looked at here.
    fn visit_macro_mut(&mut self, call: &mut syn::Macro) {
        let is_tagged = |name: &str| self.is_tagged(name);
        if names_any(&call.tokens, &is_tagged) {
            *call = refused_macro(call.span());
        }
    }

    fn visit_type_mut(&mut self, kind: &mut Type) {
        match (name_of(kind).as_deref(), argument(kind)) {
            (Some("Atomic"), Some(inner)) => {
                *kind = parse_quote_spanned!(kind.span()=> AtomicTagged<#inner>)
            }
            (Some("Shared"), Some(inner)) => {
                *kind = parse_quote_spanned!(kind.span()=> Tagged<#inner>)
            }
            _ => visit_mut::visit_type_mut(self, kind),
        }
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        let other = match expr {
            Expr::Path(_) => self.tagged_local(expr).map(|name| self.pair(&name)),
            Expr::MethodCall(call) => self.method_call(call),
            Expr::Assign(assign) => self.assign(assign),
            Expr::Let(question) if self.hides(&question.pat) => Some(refused(question.span())),
            Expr::Closure(closure) => Some(refused(closure.span())),
            Expr::Call(_) => match self.call(expr) {
                None => {
                    visit_mut::visit_expr_mut(self, expr);
                    None
                }
                other => other,
            },
            _ => {
                visit_mut::visit_expr_mut(self, expr);
                None
            }
        };
        if let Some(other) = other {
            *expr = other;
        }
    }
}
