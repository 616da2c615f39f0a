//! Queue: first in, first out.

use super::line::{End, Line, Sort};
use crate::catalogue::Entry;
use crate::parameters::Parameter;
use crate::vocabulary::{Method, interpret};

const METHODS: &[Method; 5] = &[
    Method {
        names: &["enqueue", "enq", "push", "add", "insert", "put", "offer", "send"],
        signature: "(value)",
        meaning: "add at the back",
    },
    Method {
        names: &["dequeue", "deq", "pop", "remove", "poll", "take", "receive", "recv"],
        signature: "() -> value",
        meaning: "take the front; nil when empty",
    },
    Method {
        names: &["front", "peek", "first", "head"],
        signature: "() -> value",
        meaning: "show the front; nil when empty",
    },
    Method::size("how many values there are"),
    Method::IS_EMPTY,
];

/// What makes a line a queue.
pub(crate) const QUEUE: &Sort =
    &Sort { end: End::Oldest, name: "queue", place: "front", methods: METHODS };

/// The queue in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "queue",
    aliases: &["atomic-queue", "fifo", "fifo-queue"],
    meaning: "first in, first out",
    parameters: &[Parameter::items("the values at the start, the front first")],
    methods: METHODS,
    bind: |parameters, history, failures| {
        interpret("queue", Line::build(QUEUE, parameters, history), history, failures)
    },
};
