//! The checker of certificates, tested as those meet it who would deceive it. One program, so that
//! it is linked once.

mod book;
mod common;
mod damage;
mod forging;
mod hostile;
mod library;
mod lock_order;
mod mutants;
mod path_constraints;
mod sabotage;
mod second_checker;
mod trusted_base;
