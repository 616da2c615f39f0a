//! Methods that give a `Result`.
//!
//! `Result<(), T>` of a method that takes a `T`: `Ok(())` says that it took it, and `Err(value)`
//! gives the argument back, so that the caller learns one thing, whether it was taken: a `bool`.
//! `Result<T, E>` of any other method: `Ok(value)` gives data, and `Err(Empty)` a name that is
//! always the same, so that the caller learns the data or that there is none: a `value?`.
//!
//! *It would be unsound* to take for the argument what may be other data: `Err` must have the
//! parameter itself, which nothing assigns to; and to take for nothing what tells more: `Err` of a
//! `Result<T, E>` must have a path that is no local.

use crate::declaration::{Source, is_public};
use crate::expression::{bare, called};
use crate::names::Names;
use crate::shape::{Shape, last_segment};
use crate::statement::Body;
use crate::{Error, Result};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{Expr, FnArg, GenericArgument, ImplItemFn, Pat, PathArguments, ReturnType, Type};

/// What the `Result` of a method says.
#[derive(Clone, Debug)]
pub(crate) enum Fallible {
    /// Whether the parameter of this name was taken.
    Takes(String),
    /// Data, or that there is none, which is always said by the same name: this one, once it is
    /// known.
    Gives(Option<String>),
}

impl Fallible {
    /// What the `Result` of a function says, if it gives one.
    pub fn of(source: &Source, function: &ImplItemFn) -> Result<Option<Fallible>> {
        let ReturnType::Type(_, kind) = &function.sig.output else { return Ok(None) };
        let Some(segment) = last_segment(kind).filter(|last| last.ident == "Result") else {
            return Ok(None);
        };
        let refused = |message: &str| Err(Error::at(kind.span(), message));
        if !is_public(function) {
            return refused("a `Result` of a function that is not `pub` cannot be imported");
        }
        let PathArguments::AngleBracketed(arguments) = &segment.arguments else {
            return refused("expected `Result<(), T>` or `Result<T, E>`");
        };
        let mut arguments = arguments.args.iter().filter_map(|argument| match argument {
            GenericArgument::Type(kind) => Some(kind),
            _ => None,
        });
        let (Some(ok), Some(err)) = (arguments.next(), arguments.next()) else {
            return refused("expected `Result<(), T>` or `Result<T, E>`");
        };
        let is_data = |kind: &Type| matches!(source.shape(kind), Ok((Shape::Value, false)));
        if !matches!(ok, Type::Tuple(unit) if unit.elems.is_empty()) {
            return match is_data(ok) {
                true => Ok(Some(Fallible::Gives(None))),
                false => refused("expected `Result<(), T>` or `Result<T, E>`"),
            };
        }
        let taken = function.sig.inputs.iter().find_map(|input| match input {
            FnArg::Typed(typed) if is_data(&typed.ty) => Some(&*typed.pat),
            _ => None,
        });
        match taken {
            Some(Pat::Ident(name)) if is_data(err) && name.mutability.is_none() => {
                Ok(Some(Fallible::Takes(name.ident.to_string())))
            }
            _ => refused("expected a parameter of the type that `Err` gives back, without `mut`"),
        }
    }

    /// The same with the parameter as it is called in the algorithm.
    pub fn named(self, names: &Names) -> Fallible {
        match self {
            Fallible::Takes(name) => Fallible::Takes(names.get(&name).cloned().unwrap_or(name)),
            gives => gives,
        }
    }

    /// Its type in the language.
    pub fn text(&self) -> &'static str {
        match self {
            Fallible::Takes(_) => "bool",
            Fallible::Gives(_) => "value?",
        }
    }
}

impl Body<'_, '_> {
    /// What is returned where that is no data: `Ok(())` and `Err(…)`.
    pub(crate) fn said(&mut self, value: &Expr) -> Result<Option<&'static str>> {
        let Some(fallible) = &mut self.fallible else { return Ok(None) };
        let called = called(value);
        let parts = called.as_ref().map(|(name, args)| (name.as_str(), &args[..]));
        match (fallible, parts) {
            (Fallible::Takes(_), Some(("Ok", [unit]))) if is_unit(unit) => Ok(Some("true")),
            (Fallible::Takes(own), Some(("Err", [back]))) => {
                match self.scope.expression(back)? == *own {
                    true => Ok(Some("false")),
                    false => self.scope.refuse(*back, "the parameter that was not taken"),
                }
            }
            (Fallible::Takes(_), _) => self.scope.refuse(value, "`Ok(())` or `Err(…)`"),
            (Fallible::Gives(known), Some(("Err", [why]))) => {
                let local = |name: &syn::Ident| self.scope.names.get(&name.to_string()).is_some();
                let text = why.to_token_stream().to_string();
                let is_name = match bare(why) {
                    Expr::Path(path) => !path.path.get_ident().is_some_and(local),
                    _ => false,
                };
                if !is_name || *known.get_or_insert_with(|| text.clone()) != text {
                    return self.scope.refuse(*why, "the same name wherever there is nothing");
                }
                Ok(Some("null"))
            }
            (Fallible::Gives(_), _) => Ok(None),
        }
    }
}

fn is_unit(expr: &Expr) -> bool {
    matches!(bare(expr), Expr::Tuple(tuple) if tuple.elems.is_empty())
        || matches!(bare(expr), Expr::Block(block) if block.block.stmts.is_empty())
}
