//! The explorer, tested as its users meet it. One program, so that it is linked once.

mod blocking;
mod broken;
mod chosen;
mod common;
mod fairness;
mod faults;
mod hunting;
mod library;
mod memory;
mod mutants;
mod numbers;
mod points;
mod progress;
mod published;
mod releases;
mod replay;
mod retries;
mod switches;
mod waiting;
