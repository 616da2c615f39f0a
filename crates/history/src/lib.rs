//! What happened: operations, histories and the file formats that record them.
//!
//! This crate takes bytes (files, streams, events as they happen) and gives a [`History`]: the
//! operations of one run in call order, compact, with their values interned. It knows nothing of
//! specifications and decides nothing; it refuses what cannot be a history with an [`InputError`]
//! that names the file, the line and what was expected.

#![forbid(unsafe_code)]

mod batch;
mod builder;
mod column;
mod conventions;
mod error;
mod events;
mod formats;
mod history;
mod initial;
mod join;
mod live;
mod number;
mod operation;
mod order;
mod outside;
mod rows;
mod skew;
mod successors;
mod ties;
mod timescale;
mod value;

pub use builder::{Builder, Call, Interval, Return};
pub use column::{Column, Taken};
pub use conventions::{Conventions, Echo, Nil};
pub use error::{InputError, Problem, failure_behind};
pub use events::{Event, Events};
pub use formats::{
    Format, Inexpressible, Notation, ReadOptions, Record, UnknownFormatName, WriteError,
    bytes_read, decode, edn_value, expand, is_stdin_kept, json_value, keep_stdin, name_of, open,
    path_in_line, read, read_bytes, read_from, read_on, read_records, read_str, read_with,
    unpacked, write, write_string, write_value,
};
pub use history::{Annotation, History, Horizon, Stretch, Tally};
pub use initial::InitialWrite;
pub use live::{Forgets, Header, Listener, LiveCall, LiveOperation, LiveReturn, Tells, listen};
pub use operation::{MethodId, OpId, Operation, Outcome, ProcessId, Seen, Time};
pub use outside::{Outside, harmless_json, in_line, is_harmful};
pub use ties::Turn;
pub use timescale::{Since, Timescale, Unit};
pub use value::{Mark, Value, ValueId, Values};
