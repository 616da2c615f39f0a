//! Reading and writing histories, tested as users meet it. One program, so that it is linked once.

mod corpus;
mod documentation;
mod errors;
mod fuzz;
mod json;
mod meaning;
mod round_trip;
mod threads;
