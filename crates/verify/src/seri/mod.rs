//! Specifications of `.seri` files for recorded histories.
//!
//! A `spec { … }` runs in the interpreter of `seriatim-lang`. Around it: what its text says of its
//! methods ([`nature`]), recorded values as its data ([`decode`], [`texts`]) and back ([`words`]),
//! the object itself ([`object`]), the same for one history ([`history`]) or for operations as they
//! happen ([`live`]), and what reads histories with it ([`reader`]).

mod decode;
mod history;
mod live;
mod nature;
mod object;
mod reader;
mod texts;
mod words;

pub use live::SeriLive;
pub use reader::{SeriReader, history_of};
