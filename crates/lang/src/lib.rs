//! The algorithm language of Seriatim: from text to a checked program to atomic steps.
//!
//! A `.seri` file describes one concurrent object (shared variables, heap structs, methods) and names the sequential
//! specification that it must refine. The way is one-directional: text, tokens, syntax tree ([`parse`]), checked
//! program ([`check`]), steps ([`lower`]). The meaning of steps is defined once, executable, in [`machine`]; that of
//! specifications in [`spec`]. [`fmt`] formats a file, [`show`] prints its steps.
//!
//! ```
//! let source = "object flag : register\nvar x: value? = null\n\
//!     method write(v: value) { x = v }\nmethod read() -> value? { return x }\n";
//! let program = seriatim_lang::check(source).expect("it is right");
//! let steps = seriatim_lang::lower(&program, 2, None).expect("it has steps");
//! assert!(seriatim_lang::show::listing(&steps).contains("x := v"));
//! assert_eq!(seriatim_lang::fmt(source), source);
//! ```

pub mod ast;
mod check;
pub mod choices;
pub mod diagnostic;
pub mod flow;
mod format;
pub mod guarded;
pub mod held;
mod lexer;
pub mod liveness;
pub mod locality;
pub mod lock_order;
mod lower;
pub mod machine;
mod parse;
mod pauses;
pub mod program;
pub mod range;
mod riding;
pub mod scalarset;
pub mod show;
pub mod span;
pub mod spec;
pub mod steps;
pub mod types;
mod walk;

pub use check::{PRELUDE, builtin_spec, builtin_specs, check, check_with};
pub use diagnostic::Diagnostic;
pub use format::format as fmt;
pub use lower::{MAX_THREADS, lower, lower_points};
pub use parse::parse;
pub use program::Program;
pub use span::Span;
