//! The fast monitors against an obvious oracle, and by name against the defects of others.
//!
//! `SERIATIM_LONG=1` runs a hundred times as many histories (build with `--release`).

mod containers;
mod defects;
mod enumerate;
mod generate;
mod logs;
mod models;
mod oracle;
mod queries;
mod repeated;
mod simple;
