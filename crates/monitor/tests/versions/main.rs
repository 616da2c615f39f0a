//! Histories whose results tell a version, against brute force on the whole object.

mod draw;
mod large;
mod lies;
mod small;
mod store;
