//! The algorithm language of Seriatim: from text to a checked program to atomic steps.
//!
//! A `.seri` file describes one concurrent object (shared variables, heap structs, methods) and
//! names the sequential specification that it must refine. The way is one-directional: text,
//! tokens, syntax tree ([`parse`]), checked program ([`check`]), steps ([`lower`]). The meaning of
//! steps is defined once, executable, in [`machine`]; that of specifications in [`spec`]. [`fmt`]
//! formats a file, [`show`] prints its steps.
//!
//! ```
//! let source = "object flag : register\nvar x: value? = null\n\
//!     method write(v: value) { x = v }\nmethod read() -> value? { return x }\n";
//! let program = seriatim_lang::check(source).expect("it is right");
//! let steps = seriatim_lang::lower(&program, 2, None).expect("it has steps");
//! assert!(seriatim_lang::show::listing(&steps).contains("x := v"));
//! assert_eq!(seriatim_lang::fmt(source), source);
//! ```

#![forbid(unsafe_code)]

mod analysis;
mod front;
pub mod machine;
pub mod spec;
pub mod steps;

pub use analysis::{flow, guarded, held, liveness, locality, lock_order, scalarset, sequential};
pub use front::check::{PRELUDE, builtin_spec, builtin_specs, check, check_with};
pub use front::diagnostic::Diagnostic;
pub use front::format::format as fmt;
pub use front::parse::parse;
pub use front::program::Program;
pub use front::span::Span;
pub use front::{ast, diagnostic, program, range, span, types};
pub use machine::choices;
pub use steps::lower::{MAX_THREADS, lower, lower_points};
pub use steps::show;
