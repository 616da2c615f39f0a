//! Types: what a field, a variable or a parameter holds.

use crate::declaration::Source;
use crate::{Error, Result};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{Expr, Type};

/// What a field or a variable holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Value,
    MaybeValue,
    Bool,
    Number {
        signed: bool,
    },
    Node(String),
    /// A pointer to a node with a tag.
    Tagged(String),
    /// A link that owns a node.
    Owner(String),
    Array(Box<Shape>, String),
}

/// A field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub shape: Shape,
    pub is_atomic: bool,
}

impl Shape {
    /// Its type in the language. What is shared may be empty at first.
    pub fn text(&self) -> String {
        match self {
            Shape::Value => "value".to_owned(),
            Shape::MaybeValue => "value?".to_owned(),
            Shape::Bool => "bool".to_owned(),
            Shape::Number { signed: true } => "int -128..127".to_owned(),
            Shape::Number { signed: false } => "int 0..127".to_owned(),
            Shape::Node(name) | Shape::Owner(name) => format!("{name}?"),
            Shape::Tagged(name) => format!("({name}?, int 0..3)"),
            Shape::Array(of, length) => format!("[{}; {length}]", of.text()),
        }
    }
}

impl Source {
    /// What a type holds, and whether it is atomic.
    pub fn shape(&self, kind: &Type) -> Result<(Shape, bool)> {
        match kind {
            Type::Paren(inner) => self.shape(&inner.elem),
            Type::Ptr(pointer) => Ok((self.node(&pointer.elem)?, false)),
            Type::Array(array) => {
                let (of, is_atomic) = self.shape(&array.elem)?;
                let length = self.length(&array.len)?;
                Ok((Shape::Array(Box::new(of), length), is_atomic))
            }
            _ => self.named_shape(kind),
        }
    }

    /// A pointer to a node.
    fn node(&self, kind: &Type) -> Result<Shape> {
        let name = type_name(kind)?;
        if self.nodes.contains_key(&name) {
            return Ok(Shape::Node(name));
        }
        Err(Error::at(kind.span(), "expected a pointer to a struct of this file"))
    }

    fn length(&self, length: &Expr) -> Result<String> {
        let text = length.to_token_stream().to_string();
        let is_number = !text.is_empty() && text.chars().all(|letter| letter.is_ascii_digit());
        if is_number || self.constants.contains_key(&text) {
            return Ok(text);
        }
        Err(Error::at(length.span(), "expected a number or a constant as the length of an array"))
    }

    fn named_shape(&self, kind: &Type) -> Result<(Shape, bool)> {
        let unknown = || {
            Error::at(
                kind.span(),
                format!(
                    "`{}` is none of the types that can be imported: atomics, `*mut Node<T>`, `UnsafeCell<_>`, \
                     `MaybeUninit<T>`, `Option<T>`, `Box<T>`, `Option<Box<Node<T>>>`, `T`, numbers, `bool`, and arrays of them",
                    kind.to_token_stream()
                ),
            )
        };
        let segment = last_segment(kind).ok_or_else(unknown)?;
        let name = segment.ident.to_string();
        if self.data.contains(&name) {
            return Ok((Shape::Value, false));
        }
        let inner = || argument(segment).ok_or_else(unknown);
        match name.as_str() {
            "AtomicPtr" => Ok((self.node(inner()?)?, true)),
            "AtomicTagged" | "Tagged" if self.has_tags => match self.node(inner()?)? {
                Shape::Node(node) => Ok((Shape::Tagged(node), name == "AtomicTagged")),
                _ => Err(unknown()),
            },
            "AtomicBool" => Ok((Shape::Bool, true)),
            "bool" => Ok((Shape::Bool, false)),
            "UnsafeCell" | "CachePadded" => self.shape(inner()?),
            "Box" => {
                let inner = inner()?;
                match type_name(inner).ok().filter(|name| self.nodes.contains_key(name)) {
                    Some(node) => Ok((Shape::Owner(node), false)),
                    // A box of data is moved as the data are; only a pointer to it could tell them apart.
                    None => match self.shape(inner)? {
                        (Shape::Value, false) => Ok((Shape::Value, false)),
                        _ => Err(unknown()),
                    },
                }
            }
            "MaybeUninit" | "ManuallyDrop" | "Option" => match self.shape(inner()?)? {
                (Shape::Value, false) => Ok((Shape::MaybeValue, false)),
                (Shape::Owner(node), false) if name == "Option" => Ok((Shape::Owner(node), false)),
                _ => Err(unknown()),
            },
            _ => self.number(&name).ok_or_else(unknown),
        }
    }

    /// A type of numbers, atomic or not; atomic data may be empty.
    fn number(&self, name: &str) -> Option<(Shape, bool)> {
        let atomic = name.strip_prefix("Atomic").map(str::to_lowercase);
        let is_atomic = atomic.is_some();
        let plain = atomic.unwrap_or_else(|| name.to_owned());
        if is_atomic && self.data.contains(&plain) {
            return Some((Shape::MaybeValue, true));
        }
        Some((Shape::Number { signed: number_type(&plain)? }, is_atomic))
    }

    pub(crate) fn is_number(&self, kind: &Type) -> bool {
        let name = last_segment(kind).map(|segment| segment.ident.to_string());
        name.is_some_and(|name| number_type(&name).is_some())
    }
}

pub(crate) fn type_name(kind: &Type) -> Result<String> {
    match kind {
        Type::Path(path) if path.qself.is_none() => {
            let last = path.path.segments.last().expect("a path has a segment");
            Ok(last.ident.to_string())
        }
        _ => Err(Error::at(kind.span(), "expected the name of a struct")),
    }
}

/// Whether a type of numbers has a sign.
fn number_type(name: &str) -> Option<bool> {
    const SIZES: [&str; 6] = ["size", "8", "16", "32", "64", "128"];
    match name.split_at_checked(1)? {
        ("i", size) if SIZES.contains(&size) => Some(true),
        ("u", size) if SIZES.contains(&size) => Some(false),
        _ => None,
    }
}

pub(crate) fn last_segment(kind: &Type) -> Option<&syn::PathSegment> {
    match kind {
        Type::Path(path) if path.qself.is_none() => path.path.segments.last(),
        _ => None,
    }
}

fn argument(segment: &syn::PathSegment) -> Option<&Type> {
    let syn::PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        syn::GenericArgument::Type(kind) => Some(kind),
        _ => None,
    })
}
