//! The algorithm language of Seriatim: from text to a checked program to atomic steps.
//!
//! A `.seri` file describes one concurrent object (shared variables, heap structs, methods) and names the
//! sequential specification that it must refine.

pub mod ast;
mod check;
pub mod choices;
pub mod diagnostic;
pub mod flow;
mod format;
pub mod guarded;
mod lexer;
pub mod liveness;
pub mod locality;
mod lower;
pub mod machine;
mod parse;
pub mod program;
pub mod show;
pub mod span;
pub mod spec;
pub mod steps;
pub mod types;
mod walk;

pub use check::{PRELUDE, builtin_spec, builtin_specs, check, check_with};
pub use diagnostic::Diagnostic;
pub use format::format;
pub use lower::{MAX_THREADS, lower};
pub use parse::parse;
pub use program::Program;
pub use span::Span;
