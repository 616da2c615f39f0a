//! The command as a user runs it: the real binary, real files, real pipes.

mod algorithms;
mod answers;
mod bill_of_materials;
mod book;
mod catalogue;
#[cfg(feature = "cluster")]
mod cluster;
#[cfg(feature = "cluster")]
mod cluster_faults;
mod convert;
mod crate_graph;
mod examples;
mod faults;
mod first_test;
mod garbage;
mod import;
mod input;
mod limit_table;
mod limits;
mod manual;
mod packages;
#[cfg(feature = "parquet")]
mod parquet;
mod pipes;
mod prelude;
mod reports;
mod run;
mod sabotaged_check;
mod sabotaged_explorer;
mod scale;
#[allow(dead_code, reason = "the tests of reports use more of it")]
#[path = "../../../report/tests/schema/mod.rs"]
mod schema;
mod supply_chain;
mod testdata;
mod threads;
mod transactions;
#[path = "../transcript/mod.rs"]
mod transcript;
mod transcripts;
mod watch;
