//! The prover, tested as its users meet it. One program, so that it is linked once.

mod broken;
mod cells;
mod certificates;
mod common;
mod library;
mod mutants;
mod numbers;
