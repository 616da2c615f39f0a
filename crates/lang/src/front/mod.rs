//! Text to checked program: tokens, syntax tree, names and types, errors, formatting.

pub mod ast;
pub(crate) mod check;
pub mod diagnostic;
pub(crate) mod format;
pub(crate) mod lexer;
pub(crate) mod parse;
pub mod program;
pub mod range;
mod records;
pub mod span;
pub mod types;
pub(crate) mod walk;
