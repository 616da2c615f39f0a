//! The language, tested as its users meet it. One program, so that it is linked once.

mod algorithms;
mod book;
mod errors;
mod never_panics;
mod rewritten;
