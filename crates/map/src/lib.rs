//! Logs in any format as histories: what a record means is said in a small file.
//!
//! A [`Map`] has rules. Each rule says which records it is for, what such a record is (a call, a
//! return, a failure, an unknown outcome, a whole operation, an annotation, nothing), and by small
//! expressions where its parts stand. `docs/map.md` is the manual.
//!
//! **Nothing is guessed.** Every record is matched by exactly one rule: one that no rule matches,
//! and one that two rules match, is an error that shows the record. A field that a record lacks is
//! an error unless the map says that it may. What would make a map unsound is a map that is wrong:
//! `seriatim map --try` shows what it understood, and rules that never matched are told in every
//! report.
//!
//! ```
//! use seriatim_map::{Map, Unmatched};
//! let map = Map::parse("my.toml", r#"
//!     unit = "ms"
//!     [[rule]]
//!     is = "operation"
//!     process = 'client'
//!     op = 'verb'
//!     arg = 'body?'
//!     result = 'answer?'
//!     call = 'from'
//!     return = 'to'
//! "#)?;
//! let log = r#"{"client": 1, "verb": "read", "answer": 7, "from": 1.5, "to": 2}"#;
//! let mapped = map.read(log.as_bytes(), "log", Unmatched::Refuse)?;
//! assert_eq!(mapped.history.operations().next().unwrap().to_string(), "read() -> 7");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod error;
mod evaluate;
mod expression;
mod moment;
mod parse;
mod reader;
mod ready;
mod rule;
mod toml_map;

pub use error::MapError;
pub use reader::{ByMap, Mapped, RuleUse, Unmatched};
pub use ready::{ReadyMap, ready_map, ready_maps};
pub use toml_map::Map;
