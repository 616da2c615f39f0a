//! Concurrent objects, each in a correct and a broken version that differ in a few characters: what
//! a linearizability test is for. They are written in safe Rust: nodes live in an arena and point
//! to each other by index, which is also how memory reuse becomes a bug (ABA) without becoming
//! undefined behaviour. All of them take their primitives from `seriatim-sync`, so that one source
//! runs on real threads, under Shuttle and under Loom. `tests/` has a test for each.

#![forbid(unsafe_code)]

pub mod arena;
pub mod async_queue;
pub mod bounded;
pub mod channel;
pub mod lazy_set;
pub mod mailbox;
pub mod michael_scott;
pub mod seqlock;
pub mod sharded;
pub mod treiber;
