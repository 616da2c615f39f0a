//! Specifications, replayer and generator, tested against each other. One program, so that it is
//! linked once.

mod book;
mod generated;
mod laws;
mod replay;
mod trusted_base;
mod universe;
