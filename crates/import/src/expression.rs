//! Expressions: places in memory, accesses with their orderings, numbers and pointers.

use crate::boxes::Owner;
use crate::declaration::Source;
use crate::names::{self, Names};
use crate::shape::Shape;
use crate::{Error, Result};
use proc_macro2::Span;
use quote::ToTokens;
use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;
use syn::spanned::Spanned;
use syn::{BinOp, Expr, ExprMethodCall, Lit, Member, Stmt, Type, UnOp};

/// What is known at a place in a function.
pub(crate) struct Scope<'s> {
    pub source: &'s Source,
    pub names: Names,
    /// The locals whose sign is known: a number without one must not become negative.
    pub signs: HashMap<String, Sign>,
    /// Locals that own a node, with the pointer to it: `Box::from_raw`.
    pub owned: Vec<(String, String)>,
    /// Locals that own nodes as boxes.
    pub boxes: Vec<Owner>,
    /// How deep the present expression is nested.
    pub depth: Rc<Cell<usize>>,
}

/// Deeper nesting is refused.
const DEEPEST: usize = 100;

/// A level of nesting, while it lasts.
pub(crate) struct Level(Rc<Cell<usize>>);

impl Drop for Level {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

/// A compare-exchange.
#[derive(Clone)]
pub(crate) struct Exchange {
    pub place: String,
    pub old: String,
    pub new: String,
    pub success: String,
    pub failure: String,
    pub is_weak: bool,
    /// What the atomic holds.
    pub shape: Shape,
}

impl Exchange {
    /// Whether it succeeds, as an expression, if it does not fail for no reason.
    pub fn text(&self) -> String {
        let Exchange { place, old, new, success, failure, .. } = self;
        format!("cas({place}, {old}, {new}, {success}, {failure})")
    }
}

/// A place in memory.
pub(crate) struct Place {
    pub text: String,
    pub is_atomic: bool,
    pub shape: Shape,
}

/// Whether a number has a sign.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    Signed,
    Unsigned,
    /// It is written as a number, and may be either.
    Either,
    Unknown,
}

impl Sign {
    pub fn of(shape: &Shape) -> Sign {
        match shape {
            Shape::Number { signed: true } => Sign::Signed,
            Shape::Number { signed: false } => Sign::Unsigned,
            Shape::Array(of, _) => Sign::of(of),
            _ => Sign::Unknown,
        }
    }

    /// The sign of what two numbers make.
    fn with(self, other: Sign) -> Sign {
        match (self, other) {
            (Sign::Signed | Sign::Unsigned, _) => self,
            (_, Sign::Signed | Sign::Unsigned) => other,
            (Sign::Unknown, _) | (_, Sign::Unknown) => Sign::Unknown,
            (Sign::Either, Sign::Either) => Sign::Either,
        }
    }
}

/// What stands in parentheses, in a block with nothing else, or in `unsafe`.
pub(crate) fn bare(expr: &Expr) -> &Expr {
    let only = |block: &'_ syn::Block| block.stmts.len() == 1;
    match expr {
        Expr::Paren(inner) => bare(&inner.expr),
        Expr::Group(inner) => bare(&inner.expr),
        Expr::Unsafe(inner) if only(&inner.block) => match &inner.block.stmts[0] {
            Stmt::Expr(inner, None) => bare(inner),
            _ => expr,
        },
        Expr::Block(inner) if inner.label.is_none() && only(&inner.block) => {
            match &inner.block.stmts[0] {
                Stmt::Expr(inner, None) => bare(inner),
                _ => expr,
            }
        }
        _ => expr,
    }
}

/// A function that is called, by the last two segments of its path.
pub(crate) fn called(expr: &Expr) -> Option<(String, Vec<&Expr>)> {
    let Expr::Call(call) = bare(expr) else { return None };
    let Expr::Path(path) = &*call.func else { return None };
    let segments: Vec<String> =
        path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    let from = segments.len().saturating_sub(2);
    Some((segments[from..].join("::"), call.args.iter().collect()))
}

/// The pointer of a `Box::from_raw`.
pub(crate) fn taken_back(expr: &Expr) -> Option<&Expr> {
    match called(expr) {
        Some((name, args)) if name == "Box::from_raw" && args.len() == 1 => Some(args[0]),
        _ => None,
    }
}

fn refused(expr: &impl ToTokens, span: Span, expected: &str) -> Error {
    let mut text = expr.to_token_stream().to_string();
    if text.chars().count() > 60 {
        text = text.chars().take(60).chain(['…']).collect();
    }
    Error::at(span, format!("`{text}` cannot be imported: expected {expected}"))
}

impl Scope<'_> {
    /// Goes one level deeper.
    pub fn descend(&self, expr: &impl Spanned) -> Result<Level> {
        self.depth.set(self.depth.get() + 1);
        let level = Level(self.depth.clone());
        if self.depth.get() > DEEPEST {
            return Err(Error::at(expr.span(), format!("nested more than {DEEPEST} levels deep")));
        }
        Ok(level)
    }

    /// Refuses an expression.
    pub fn refuse<T>(&self, expr: &(impl ToTokens + Spanned), expected: &str) -> Result<T> {
        Err(refused(expr, expr.span(), expected))
    }

    pub fn ordering(&self, expr: &Expr) -> Result<String> {
        let Expr::Path(path) = bare(expr) else { return self.refuse(expr, "an ordering") };
        let mut segments = path.path.segments.iter().rev();
        let last = segments.next().expect("a path has a segment").ident.to_string();
        if segments.next().is_some_and(|owner| owner.ident != "Ordering") {
            return self.refuse(expr, "an ordering");
        }
        match last.as_str() {
            "Relaxed" | "Acquire" | "Release" | "AcqRel" | "SeqCst" => Ok(last.to_lowercase()),
            _ => self.refuse(expr, "an ordering"),
        }
    }

    /// A place in memory, if an expression is one.
    pub fn place(&self, expr: &Expr) -> Result<Option<Place>> {
        match bare(expr) {
            Expr::Field(field) => self.field(field),
            Expr::Index(index) => {
                let Some(array) = self.place(&index.expr)? else { return Ok(None) };
                // When an index is looked at, before or after the rest, must not matter.
                if is_access(&index.index) {
                    return self.refuse(&index.index, "an index that reads nothing shared");
                }
                let text = format!("{}[{}]", array.text, self.expression(&index.index)?);
                let Shape::Array(of, _) = array.shape else {
                    return self.refuse(&index.expr, "an array");
                };
                Ok(Some(Place { text, is_atomic: array.is_atomic, shape: *of }))
            }
            Expr::Unary(deref) if matches!(deref.op, UnOp::Deref(_)) => match bare(&deref.expr) {
                Expr::MethodCall(call) if call.method == "get" && call.args.is_empty() => {
                    self.place(&call.receiver)
                }
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    fn field(&self, field: &syn::ExprField) -> Result<Option<Place>> {
        let Member::Named(member) = &field.member else { return Ok(None) };
        let name = member.to_string();
        if is_self(&field.base) {
            let Some(shared) = self.source.shared.get(&name) else {
                return self.refuse(field, "a field of the object");
            };
            let text = names::plain(&name);
            let (is_atomic, shape) = (shared.is_atomic, shared.shape.clone());
            return Ok(Some(Place { text, is_atomic, shape }));
        }
        // The pointer is a local, so that it does not matter when it is looked at.
        let node = match bare(&field.base) {
            Expr::Unary(deref) if matches!(deref.op, UnOp::Deref(_)) => bare(&deref.expr),
            base => base,
        };
        let Expr::Path(_) = node else {
            return self.refuse(field, "`(*node).field` or `node.field`, where `node` is a local");
        };
        let node = match self.box_named(node) {
            Some(own) => own,
            None => self.expression(node)?,
        };
        let Some(found) = self.source.node_field(&name) else {
            return self.refuse(field, "a field that is alike in all structs that have it");
        };
        let text = format!("{node}.{}", names::plain(&name));
        Ok(Some(Place { text, is_atomic: found.is_atomic, shape: found.shape.clone() }))
    }

    /// An atomic that a method is called on.
    fn atomic(&self, expr: &Expr) -> Result<Option<Place>> {
        Ok(self.place(expr)?.filter(|place| place.is_atomic))
    }

    /// A compare-exchange, if an expression is one.
    pub fn exchange(&self, expr: &Expr) -> Result<Option<Exchange>> {
        let Expr::MethodCall(call) = bare(expr) else { return Ok(None) };
        let is_weak = call.method == "compare_exchange_weak";
        if !is_weak && call.method != "compare_exchange" {
            return Ok(None);
        }
        let (Some(place), 4) = (self.atomic(&call.receiver)?, call.args.len()) else {
            return self.refuse(call, "a compare-exchange of an atomic with two orderings");
        };
        Ok(Some(Exchange {
            place: place.text,
            shape: place.shape,
            old: self.expression(&call.args[0])?,
            new: self.expression(&call.args[1])?,
            success: self.ordering(&call.args[2])?,
            failure: self.ordering(&call.args[3])?,
            is_weak,
        }))
    }

    pub fn expression(&self, expr: &Expr) -> Result<String> {
        let expr = bare(expr);
        let _level = self.descend(expr)?;
        match expr {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Int(number) => match number.base10_parse::<u8>() {
                    Ok(value @ 0..=127) => Ok(value.to_string()),
                    _ => self.refuse(expr, "a number of at most 127"),
                },
                Lit::Bool(truth) => Ok(truth.value.to_string()),
                _ => self.refuse(expr, "a number or a truth value"),
            },
            Expr::Path(path) => self.name(path),
            Expr::Reference(reference) => match bare(&reference.expr) {
                Expr::Unary(deref) if matches!(deref.op, UnOp::Deref(_)) => {
                    self.expression(&deref.expr)
                }
                _ => self.refuse(expr, "`&*pointer`"),
            },
            Expr::Unary(unary) => self.unary(unary),
            Expr::Binary(binary) => self.binary(binary),
            Expr::Cast(cast) => self.cast(cast),
            Expr::MethodCall(call) => self.method_call(call),
            Expr::Call(_) => self.call(expr),
            Expr::Field(_) | Expr::Index(_) => self.read(expr),
            Expr::If(choice) => self.choice(choice),
            Expr::Tuple(pair) if self.source.has_tags && pair.elems.len() == 2 => {
                let (pointer, tag) =
                    (self.expression(&pair.elems[0])?, self.expression(&pair.elems[1])?);
                Ok(format!("({pointer}, {tag})"))
            }
            _ => self.refuse(expr, "an expression of the subset"),
        }
    }

    fn name(&self, path: &syn::ExprPath) -> Result<String> {
        let Some(name) = path.path.get_ident().map(ToString::to_string) else {
            return self.refuse(path, "a local or a constant");
        };
        if name == "None" {
            return Ok("null".to_owned());
        }
        if self.owned.iter().any(|(owner, _)| *owner == name) {
            return self.refuse(path, "the box to be dropped or read out, not moved");
        }
        match self.names.get(&name) {
            Some(local) if self.is_box(local) => {
                self.refuse(path, "the box to be moved, dropped or looked into")
            }
            Some(local) => Ok(local.clone()),
            None if self.source.constants.contains_key(&name) => Ok(name),
            None => self.refuse(path, "a local or a constant"),
        }
    }

    /// Whether a local owns a node as a box.
    fn is_box(&self, own: &str) -> bool {
        self.boxes.iter().any(|owner| owner.own == own)
    }

    /// The local of a box, by which its node is looked into.
    fn box_named(&self, expr: &Expr) -> Option<String> {
        let Expr::Path(path) = bare(expr) else { return None };
        let own = self.names.get(&path.path.get_ident()?.to_string())?;
        self.is_box(own).then(|| own.clone())
    }

    /// A link that owns, or a local that does.
    fn owner_named(&self, expr: &Expr) -> Result<Option<String>> {
        if let Some(own) = self.box_named(expr) {
            return Ok(Some(own));
        }
        if !matches!(bare(expr), Expr::Field(_) | Expr::Unary(_)) {
            return Ok(None);
        }
        Ok(self.place(expr)?.and_then(|place| match place.shape {
            Shape::Owner(_) => Some(place.text),
            _ => None,
        }))
    }

    /// A plain read of a place.
    fn read(&self, expr: &Expr) -> Result<String> {
        match self.place(expr)? {
            Some(Place { shape: Shape::Owner(_), .. }) => {
                self.refuse(expr, "`take`, `as_deref`, `is_some` or `is_none` of a link that owns")
            }
            Some(place) if !place.is_atomic => Ok(place.text),
            Some(_) => self.refuse(expr, "`.load(…)` of an atomic"),
            None => self.refuse(expr, "a place in memory"),
        }
    }

    fn unary(&self, unary: &syn::ExprUnary) -> Result<String> {
        match unary.op {
            UnOp::Not(_) => Ok(format!("!{}", self.operand(&unary.expr)?)),
            UnOp::Neg(_) => Ok(format!("-{}", self.operand(&unary.expr)?)),
            _ => self.read(&Expr::Unary(unary.clone())),
        }
    }

    /// An operand, in parentheses if it is no single word or call.
    fn operand(&self, expr: &Expr) -> Result<String> {
        let text = self.expression(expr)?;
        Ok(if is_one(&text) { text } else { format!("({text})") })
    }

    fn binary(&self, binary: &syn::ExprBinary) -> Result<String> {
        let operator = match binary.op {
            BinOp::Add(_) | BinOp::Sub(_) | BinOp::Mul(_) | BinOp::Rem(_) => {
                return self.arithmetic(&binary.left, &binary.op, &binary.right);
            }
            BinOp::And(_) => "&&",
            BinOp::Or(_) => "||",
            BinOp::Eq(_) => "==",
            BinOp::Ne(_) => "!=",
            BinOp::Lt(_) => "<",
            BinOp::Le(_) => "<=",
            BinOp::Gt(_) => ">",
            BinOp::Ge(_) => ">=",
            _ => return self.refuse(binary, "one of + - * % && || == != < <= > >="),
        };
        Ok(format!("{} {operator} {}", self.operand(&binary.left)?, self.operand(&binary.right)?))
    }

    /// Arithmetic, whose result must be within the bounds of its type.
    pub fn arithmetic(&self, left: &Expr, operator: &BinOp, right: &Expr) -> Result<String> {
        let sign = self.sign(left).with(self.sign(right));
        let symbol = match operator {
            BinOp::Add(_) => "+",
            BinOp::Sub(_) if sign == Sign::Unknown => {
                return self.refuse(left, "a number whose type is written: `let n: usize = …`");
            }
            BinOp::Sub(_) => "-",
            BinOp::Mul(_) => "*",
            // The remainder of a negative number is something else in the language.
            _ if matches!(sign, Sign::Signed | Sign::Unknown) => {
                return self.refuse(left, "a number without a sign before `%`");
            }
            _ => return Ok(format!("{} % {}", self.operand(left)?, self.operand(right)?)),
        };
        let text = format!("{} {symbol} {}", self.operand(left)?, self.operand(right)?);
        let bound = if sign == Sign::Unsigned { "unsigned" } else { "signed" };
        Ok(self.source.helped(bound, &text))
    }

    /// Whether the type of a number has a sign. Looks at declarations only.
    pub fn sign(&self, expr: &Expr) -> Sign {
        match bare(expr) {
            Expr::Lit(_) => Sign::Either,
            Expr::Path(path) => {
                let Some(name) = path.path.get_ident().map(ToString::to_string) else {
                    return Sign::Unknown;
                };
                match self.names.get(&name) {
                    Some(local) => self.signs.get(local).copied().unwrap_or(Sign::Unknown),
                    None => self.source.constants.get(&name).copied().unwrap_or(Sign::Unknown),
                }
            }
            Expr::Cast(cast) => self.sign_of_type(&cast.ty),
            Expr::Binary(binary) => self.sign(&binary.left).with(self.sign(&binary.right)),
            Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) => Sign::Signed,
            Expr::MethodCall(call) if is_self(&call.receiver) => {
                let result = self.source.functions.get(&call.method.to_string());
                let result = result.and_then(Option::as_ref);
                result.map_or(Sign::Unknown, |kind| self.sign_of_type(kind))
            }
            Expr::MethodCall(call) => self.sign(&call.receiver),
            place => self.sign_of_place(place),
        }
    }

    fn sign_of_type(&self, kind: &Type) -> Sign {
        self.source.shape(kind).map_or(Sign::Unknown, |(shape, _)| Sign::of(&shape))
    }

    fn sign_of_place(&self, expr: &Expr) -> Sign {
        match bare(expr) {
            Expr::Index(index) => self.sign_of_place(&index.expr),
            Expr::Unary(deref) => match bare(&deref.expr) {
                Expr::MethodCall(call) => self.sign_of_place(&call.receiver),
                _ => Sign::Unknown,
            },
            Expr::Field(field) => {
                let Member::Named(member) = &field.member else { return Sign::Unknown };
                let name = member.to_string();
                let found = match is_self(&field.base) {
                    true => self.source.shared.get(&name),
                    false => self.source.node_field(&name),
                };
                found.map_or(Sign::Unknown, |field| Sign::of(&field.shape))
            }
            _ => Sign::Unknown,
        }
    }

    fn cast(&self, cast: &syn::ExprCast) -> Result<String> {
        let text = self.expression(&cast.expr)?;
        match self.sign_of_type(&cast.ty) {
            Sign::Signed => Ok(self.source.helped("signed", &text)),
            Sign::Unsigned if self.sign(&cast.expr) == Sign::Unsigned => Ok(text),
            Sign::Unsigned => Ok(self.source.helped("unsigned", &text)),
            Sign::Either | Sign::Unknown => self.refuse(cast, "a cast to a type of numbers"),
        }
    }

    /// What is taken for data, which must be there.
    pub fn present(&self, expr: &Expr) -> Result<String> {
        let text = self.expression(expr)?;
        if text.starts_with("present(") {
            return Ok(text);
        }
        Ok(self.source.helped("present", &text))
    }

    fn method_call(&self, call: &ExprMethodCall) -> Result<String> {
        let method = call.method.to_string();
        let args: Vec<&Expr> = call.args.iter().collect();
        if is_self(&call.receiver) {
            if !self.source.functions.contains_key(&method) {
                return self.refuse(call, "a function of the object that is not `pub`");
            }
            let args: Result<Vec<String>> = args.iter().map(|arg| self.expression(arg)).collect();
            return Ok(format!("{}({})", names::plain(&method), args?.join(", ")));
        }
        match (method.as_str(), &args[..]) {
            ("is_ok" | "is_err", []) => {
                let Some(exchange) = self.exchange(&call.receiver)? else {
                    return self.refuse(call, "a compare-exchange before it");
                };
                if exchange.is_weak {
                    return self.refuse(call, "a weak exchange as the whole of a condition");
                }
                let text = exchange.text();
                Ok(if method == "is_ok" { text } else { format!("!{text}") })
            }
            ("is_none" | "is_some", []) if self.owner_named(&call.receiver)?.is_some() => {
                let owner = self.owner_named(&call.receiver)?.unwrap_or_default();
                let is = if method == "is_none" { "==" } else { "!=" };
                Ok(format!("{owner} {is} null"))
            }
            ("as_deref" | "as_deref_mut", []) => match self.owner_named(&call.receiver)? {
                Some(owner) => Ok(owner),
                None => self.refuse(call, "a link that owns a node"),
            },
            ("is_null", []) | ("is_none", []) => {
                Ok(format!("{} == null", self.operand(&call.receiver)?))
            }
            ("is_some", []) => Ok(format!("{} != null", self.operand(&call.receiver)?)),
            ("clone", []) => self.expression(&call.receiver),
            ("assume_init_read" | "assume_init", []) => self.present(&call.receiver),
            ("wrapping_add", [by]) => {
                self.arithmetic(&call.receiver, &BinOp::Add(Default::default()), by)
            }
            ("wrapping_sub", [by]) => {
                self.arithmetic(&call.receiver, &BinOp::Sub(Default::default()), by)
            }
            _ => self.access(call, &method, &args),
        }
    }

    /// An access to an atomic that gives a value.
    fn access(&self, call: &ExprMethodCall, method: &str, args: &[&Expr]) -> Result<String> {
        let Some(Place { text: place, .. }) = self.atomic(&call.receiver)? else {
            return self.refuse(call, "a method of an atomic, of a pointer or of the object");
        };
        match (method, args) {
            ("load", [order]) => Ok(format!("load({place}, {})", self.ordering(order)?)),
            ("swap", [new, order]) => {
                Ok(format!("swap({place}, {}, {})", self.expression(new)?, self.ordering(order)?))
            }
            ("fetch_add", [by, order]) => {
                Ok(format!("fetch_add({place}, {}, {})", self.expression(by)?, self.ordering(order)?))
            }
            ("fetch_sub", [by, order]) => {
                Ok(format!("fetch_add({place}, -{}, {})", self.operand(by)?, self.ordering(order)?))
            }
            _ => self.refuse(
                call,
                "one of load, store, swap, compare_exchange, compare_exchange_weak, fetch_add, fetch_sub",
            ),
        }
    }

    fn call(&self, expr: &Expr) -> Result<String> {
        let Some((name, args)) = called(expr) else { return self.refuse(expr, "a known function") };
        match (name.as_str(), &args[..]) {
            ("ptr::null_mut" | "null_mut", []) => Ok("null".to_owned()),
            ("Some", [inner]) => self.present(inner),
            ("Box::into_raw", [inner]) => match called(inner) {
                Some((name, args)) if name == "Box::new" && args.len() == 1 => {
                    self.new_node(args[0])
                }
                _ => self.refuse(expr, "`Box::into_raw(Box::new(Node { … }))`"),
            },
            ("ptr::read", [inner]) => match bare(inner) {
                Expr::Reference(reference) => self.read(&reference.expr),
                _ => self.refuse(expr, "`ptr::read(&(*node).field)`"),
            },
            ("ManuallyDrop::into_inner", [inner]) => self.present(inner),
            ("MaybeUninit::uninit", []) => Ok("null".to_owned()),
            ("MaybeUninit::new" | "ManuallyDrop::new" | "UnsafeCell::new", [inner]) => {
                self.expression(inner)
            }
            // Of data: nodes are made by `Box::into_raw`, and a struct is no expression here.
            ("Box::new", [inner]) => self.present(inner),
            (name, [inner]) if name.starts_with("Atomic") && name.ends_with("::new") => {
                self.expression(inner)
            }
            _ => self.refuse(expr, "a function of the subset"),
        }
    }

    fn new_node(&self, expr: &Expr) -> Result<String> {
        let Expr::Struct(literal) = bare(expr) else {
            return self.refuse(expr, "a struct with its fields");
        };
        let Some(name) = literal.path.segments.last().map(|segment| segment.ident.to_string())
        else {
            return self.refuse(expr, "a struct with its fields");
        };
        if !self.source.nodes.contains_key(&name) || literal.rest.is_some() {
            return self.refuse(expr, "a struct of this file with all its fields");
        }
        let field = |field: &syn::FieldValue| {
            let Member::Named(member) = &field.member else {
                return self.refuse(field, "a named field");
            };
            let value = self.expression(&field.expr)?;
            Ok(format!("{}: {value}", names::plain(&member.to_string())))
        };
        let fields: Result<Vec<String>> = literal.fields.iter().map(field).collect();
        Ok(format!("new {name} {{ {} }}", fields?.join(", ")))
    }

    fn choice(&self, choice: &syn::ExprIf) -> Result<String> {
        let only = |block: &syn::Block| match &block.stmts[..] {
            [Stmt::Expr(expr, None)] => Some(expr.clone()),
            _ => None,
        };
        let (Some(then), Some((_, or))) = (only(&choice.then_branch), &choice.else_branch) else {
            return self.refuse(choice, "`if` with one expression in each branch");
        };
        let condition = self.expression(&choice.cond)?;
        Ok(format!(
            "if {condition} {{ {} }} else {{ {} }}",
            self.expression(&then)?,
            self.expression(or)?
        ))
    }
}

/// Whether an expression may read or write something shared.
pub(crate) fn is_access(expr: &Expr) -> bool {
    match bare(expr) {
        Expr::Lit(_) => false,
        Expr::Path(_) => is_self(expr),
        Expr::Cast(cast) => is_access(&cast.expr),
        Expr::Binary(binary) => is_access(&binary.left) || is_access(&binary.right),
        Expr::Unary(unary) => matches!(unary.op, UnOp::Deref(_)) || is_access(&unary.expr),
        Expr::MethodCall(call) => {
            let is_local = ["is_null", "wrapping_add", "wrapping_sub"];
            !is_local.iter().any(|name| call.method == name)
                || is_access(&call.receiver)
                || call.args.iter().any(is_access)
        }
        _ => true,
    }
}

/// Whether a text is one word, one call, or stands in parentheses.
fn is_one(text: &str) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric() || "_.".contains(letter);
    let Some(open) = text.find(|letter| !is_word(letter)) else { return true };
    if !text[open..].starts_with('(') {
        return false;
    }
    let mut depth = 0;
    let end = text[open..].char_indices().find_map(|(at, letter)| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        (depth == 0).then_some(open + at)
    });
    end == Some(text.len() - 1)
}

pub(crate) fn is_self(expr: &Expr) -> bool {
    matches!(bare(expr), Expr::Path(path) if path.path.is_ident("self"))
}
