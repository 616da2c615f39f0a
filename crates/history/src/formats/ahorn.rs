//! The set logs of ahorn's checker: one event per line.
//!
//! ```text
//! 2 invokes add 23
//! 0 invokes contains 3
//! 2 returns true
//! 0 returns false
//! ```
//!
//! The methods are `add`, `remove` and `contains`; the results are booleans. A call that never
//! returns is pending.

use super::block::{Block, Line};
use super::fields::{Fields, value_of_word};
use crate::{Builder, Call, InputError, Outcome, Return, ValueId};

/// Reads a log.
pub(super) fn read(block: &mut Block<'_>, builder: &mut Builder) -> Result<(), InputError> {
    builder.name_spec("set");
    while let Some(line) = block.next_line()? {
        if !line.is_blank() {
            event(line, builder)?;
        }
    }
    Ok(())
}

fn event(line: Line<'_>, builder: &mut Builder) -> Result<(), InputError> {
    let mut fields = Fields::of(line);
    let process = fields.integer("the process, a whole number")?;
    let process = builder.values().intern_int(process);
    let process = builder.process_of(process);
    match fields.word() {
        b"invokes" => {
            let name = match fields.word() {
                b"add" => "add",
                b"remove" => "remove",
                b"contains" => "contains",
                other => return Err(line.expected("`add`, `remove` or `contains`", other)),
            };
            let word = fields.word();
            if word.is_empty() {
                return Err(line.expected("the operation's value", word));
            }
            let arg = value_of_word(builder.values(), line, word)?;
            fields.end()?;
            let method = builder.method(name);
            builder.call(line.number, process, Call::new(method).arg(arg))?;
        }
        b"returns" => {
            let result = match fields.word() {
                b"true" => ValueId::TRUE,
                b"false" => ValueId::FALSE,
                other => return Err(line.expected("`true` or `false`", other)),
            };
            fields.end()?;
            builder.ret(line.number, process, Return::new(Outcome::Ok, result))?;
        }
        other => return Err(line.expected("`invokes` or `returns`", other)),
    }
    Ok(())
}
