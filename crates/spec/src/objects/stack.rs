//! Stack: last in, first out.

use super::line::{End, Line, Sort};
use crate::catalogue::Entry;
use crate::parameters::Parameter;
use crate::vocabulary::{Method, interpret};

const METHODS: &[Method; 5] = &[
    Method {
        names: &["push", "add", "insert", "put"],
        signature: "(value)",
        meaning: "add on top",
    },
    Method {
        names: &["pop", "remove", "take", "poll"],
        signature: "() -> value",
        meaning: "take the top; nil when empty",
    },
    Method {
        names: &["top", "peek"],
        signature: "() -> value",
        meaning: "show the top; nil when empty",
    },
    Method::size("how many values there are"),
    Method::IS_EMPTY,
];

/// What makes a line a stack.
pub(crate) const STACK: &Sort =
    &Sort { end: End::Newest, name: "stack", place: "top", methods: METHODS };

/// The stack in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "stack",
    aliases: &["atomic-stack", "lifo"],
    meaning: "last in, first out",
    parameters: &[Parameter::items("the values at the start, the top last")],
    methods: METHODS,
    bind: |parameters, history, failures| {
        interpret("stack", Line::build(STACK, parameters, history), history, failures)
    },
};
