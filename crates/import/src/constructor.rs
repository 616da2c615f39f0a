//! The constructor: what the object holds at first.

use crate::Result;
use crate::declaration::Source;
use crate::expression::{bare, called};
use crate::output::Output;
use crate::shape::Shape;
use crate::statement::Body;
use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::{Expr, ImplItemFn, Member, Pat, Stmt};

type Placed = (String, Span);

impl<'s> Body<'s, '_> {
    /// What a constructor makes before the object, and the first values of its fields.
    #[allow(clippy::type_complexity)]
    pub fn constructor(
        source: &'s Source,
        function: &ImplItemFn,
    ) -> Result<(Vec<Placed>, Vec<(String, Placed)>)> {
        let mut ignored = Output::default();
        let mut body = Body::new(source, &mut ignored);
        let mut setup = Vec::new();
        let Some((Stmt::Expr(object, None), before)) = function.block.stmts.split_last() else {
            return body.scope.refuse(&function.block, "a constructor that ends with the object");
        };
        for statement in before {
            let Stmt::Local(local) = statement else {
                return body.scope.refuse(statement, "`let` before the object");
            };
            let (name, init) = body.let_parts(local)?;
            let value = body.scope.expression(init)?;
            let name = body.scope.names.declare(&name);
            setup.push((format!("let {name} = {value}"), local.span()));
        }
        let Expr::Struct(literal) = bare(object) else {
            return body.scope.refuse(object, "the object with its fields");
        };
        if literal.rest.is_some() {
            return body.scope.refuse(object, "all fields of the object");
        }
        let mut fields = Vec::new();
        for field in &literal.fields {
            let Member::Named(member) = &field.member else {
                return body.scope.refuse(field, "a named field");
            };
            let name = member.to_string();
            if let Some(declared) = source.shared.get(&name) {
                let value = body.first_value(&field.expr, &declared.shape)?;
                fields.push((name, (value, field.span())));
            }
        }
        Ok((setup, fields))
    }

    fn first_value(&self, expr: &Expr, shape: &Shape) -> Result<String> {
        let Shape::Array(of, length) = shape else {
            let value = self.scope.expression(unwrapped(expr))?;
            // Data that is a number is empty at first.
            let is_empty = matches!(shape, Shape::MaybeValue) && value == "0";
            return Ok(if is_empty { "null".to_owned() } else { value });
        };
        let element = match bare(expr) {
            Expr::Repeat(repeat) => match bare(&repeat.expr) {
                Expr::Const(constant) => match &constant.block.stmts[..] {
                    [Stmt::Expr(inner, None)] => inner.clone(),
                    _ => return self.scope.refuse(expr, "one expression in `const { … }`"),
                },
                inner => inner.clone(),
            },
            _ => match called(expr) {
                Some((name, args)) if name == "array::from_fn" && args.len() == 1 => {
                    match args[0] {
                        Expr::Closure(closure) if is_constant(closure) => (*closure.body).clone(),
                        other => return self.scope.refuse(other, "`|_| …`"),
                    }
                }
                _ => return self.scope.refuse(expr, "`[x; N]` or `std::array::from_fn(|_| x)`"),
            },
        };
        Ok(format!("[{}; {length}]", self.first_value(&element, of)?))
    }
}

/// Whether a closure gives the same for every element.
fn is_constant(closure: &syn::ExprClosure) -> bool {
    closure.inputs.iter().all(|input| matches!(input, Pat::Wild(_)))
}

/// What a wrapper such as `UnsafeCell::new` or `CachePadded::new` is given.
fn unwrapped(expr: &Expr) -> &Expr {
    match called(expr) {
        Some((name, args)) if name == "CachePadded::new" && args.len() == 1 => unwrapped(args[0]),
        _ => expr,
    }
}
