//! A lock-free object written in Rust, as an algorithm in the language of Seriatim.
//!
//! The object keeps the memory orderings of its source, so that `verify` explores the executions of
//! the code itself and `verify --weaken` says which of its orderings are needed.
//!
//! ```
//! use seriatim_import::Options;
//!
//! let rust = r"
//! use std::ptr;
//! use std::sync::atomic::{AtomicPtr, Ordering};
//!
//! struct Node<T> { value: T, next: *mut Node<T> }
//! pub struct Stack<T> { top: AtomicPtr<Node<T>> }
//!
//! impl<T> Stack<T> {
//!     pub fn new() -> Self {
//!         Stack { top: AtomicPtr::new(ptr::null_mut()) }
//!     }
//!
//!     pub fn push(&self, value: T) {
//!         let node = Box::into_raw(Box::new(Node { value, next: ptr::null_mut() }));
//!         loop {
//!             let top = self.top.load(Ordering::Relaxed);
//!             unsafe { (*node).next = top };
//!             if self.top.compare_exchange(top, node, Ordering::Release, Ordering::Relaxed).is_ok() {
//!                 return;
//!             }
//!         }
//!     }
//! }";
//! let seri = seriatim_import::import(rust, "stack.rs", "stack", &Options::default())?;
//! assert!(seri.contains("cas(top, top_, node, release, relaxed)"));
//! # Ok::<(), seriatim_import::Error>(())
//! ```
//!
//! **What it rests on.** Each construct of the subset is translated by one rule of its own, and
//! everything else is refused with its place: nothing is skipped, so that the algorithm makes the
//! accesses of the source, in its order. What would make it unsound is a construct that means
//! something else in Rust than its translation; the rules where that is not plain to see:
//!
//! - A strong compare-exchange whose failure is told (`Err(now)`) is either a `cas` that succeeds or
//!   a load, with the ordering for failure, of a value that differs. A weak one may fail whenever
//!   it likes.
//! - `T` becomes `value`: an object that is generic in `T` can do nothing with it but move it.
//!   With an option, a type of numbers is taken for such data; then arithmetic on it is refused by
//!   the checks of the language.
//! - Numbers are those between −128 and 127, or 0 and 127 if they have no sign; arithmetic that leaves
//!   them is reported as out of range, never wrapped. A difference is taken only where it is known
//!   whether the numbers have a sign, a remainder only where they have none.
//! - What is read twice here is read once there: pointers that are followed, boxes that are read
//!   out and indices are locals, and what an exchange compares and puts is bound first.
//! - A `Result` is whether a method did what it is for (`fallible`): `Err` gives back the argument,
//!   or says that there is nothing to give.
//! - Code in the manner of `crossbeam-epoch` is rewritten to raw pointers first (`epoch`); nodes that
//!   are destroyed later are never given back. Pointers with tags become pairs (`tagged`).
//! - Names are believed, so that a source in which they mean something else is refused (`meaning`).
//! - A box of a node owns it: it is given back where Rust drops the box (`boxes`).
//! - `Box::from_raw` frees the node at once where it is dropped or read out. Nodes that Rust code
//!   forgets stay allocated in both.

#![forbid(unsafe_code)]

mod boxes;
mod client;
mod constructor;
mod declaration;
mod epoch;
mod exchange;
mod expression;
mod fallible;
mod meaning;
mod names;
mod output;
mod shape;
mod statement;
mod tagged;

pub use declaration::{Options, import};

use proc_macro2::Span;
use std::fmt;

/// Why a source cannot be imported, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// What stands there, and what was expected.
    pub message: String,
}

impl Error {
    fn at(span: Span, message: impl Into<String>) -> Self {
        let start = span.start();
        Error { line: start.line, column: start.column + 1, message: message.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for Error {}

type Result<T> = std::result::Result<T, Error>;
