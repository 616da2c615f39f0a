//! The engines together, tested on histories of every kind. One program, so that it is linked once.

mod agreement;
mod cells;
mod corpus;
mod evidence;
mod frontier;
mod laws;
mod meaning;
mod receivers;
mod recorded;
mod rows;
mod stops;
mod testdata;
