//! Verdicts to people: a drawn timeline on the terminal, JSON for programs, JUnit for pipelines,
//! and one self-contained page.
//!
//! This crate takes a [`Report`] (a history, the verdict on it, and what the check says about
//! itself) and gives text: [`terminal::render`], [`json::render`], [`junit::render`] and
//! [`html::write`]. It decides nothing: what it says about a history is what the verdict says, and
//! the only thing that it computes are the [`States`] along an order that an engine found.

#![forbid(unsafe_code)]

pub mod evidence;
mod hints;
pub mod html;
pub mod json;
pub mod junit;
mod labels;
pub mod markup;
mod page;
mod report;
mod rising;
pub mod run;
mod states;
pub mod terminal;
mod text;

pub use evidence::{Evidence, EvidenceKind, Without, doubt};
pub use report::{Report, Statistics};
pub use states::States;
pub use text::{NAME, SCREEN, middle, with_article};
