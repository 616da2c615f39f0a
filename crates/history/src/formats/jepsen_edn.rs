//! Jepsen's histories in EDN: a map an event, one after another or in one vector or list.
//!
//! ```text
//! {:process 0, :type :invoke, :f :write, :value 3, :time 12, :index 0}
//! {:process 0, :type :ok, :f :write, :value 3, :time 15, :index 1}
//! ```
//!
//! A map may carry a tag (`#jepsen.history.Op{…}`). `:key` is a key apart from the value, as in
//! Porcupine's key-value logs; `:object` names one of several objects. What the events mean is in
//! `jepsen.rs`.

use super::block::{Block, expected_found};
use super::edn::{Edn, Start};
use super::jepsen::{Event, Function, Jepsen, Keys, Kind};
use super::plain_edn;
use crate::{Builder, InputError, Time, Value};

/// Reads a history.
pub(super) fn read(
    block: &mut Block<'_>,
    builder: &mut Builder,
    keys: Keys,
) -> Result<(), InputError> {
    let mut jepsen = Jepsen::new(builder, block.source(), keys);
    let mut edn = Edn::of(block);
    loop {
        match edn.start()? {
            Start::End => break,
            Start::List(close) => events_until(&mut edn, &mut jepsen, close)?,
            Start::Map if plain_event(edn.block, &mut jepsen)? => {}
            _ => event(&mut edn, &mut jepsen)?,
        }
    }
    jepsen.finish();
    Ok(())
}

/// Takes the event that comes next, with the end of its line, if it is plain.
fn plain_event(block: &mut Block<'_>, jepsen: &mut Jepsen<'_>) -> Result<bool, InputError> {
    jepsen.builder.between_records();
    let (line, values) = (block.line_number(), jepsen.builder.values());
    let Some((event, length)) = plain_edn::event(block.at_hand(), line, values) else {
        return Ok(false);
    };
    jepsen.event(event)?;
    block.take_line(length);
    Ok(true)
}

fn events_until(
    edn: &mut Edn<'_, '_>,
    jepsen: &mut Jepsen<'_>,
    close: u8,
) -> Result<(), InputError> {
    edn.take_bracket();
    loop {
        match edn.start()? {
            Start::Close(byte) if byte == close => {
                edn.take_bracket();
                return Ok(());
            }
            Start::End => {
                let expected = format!("an event or `{}`", char::from(close));
                return Err(edn.block.expected(&expected));
            }
            _ => event(edn, jepsen)?,
        }
    }
}

fn event(edn: &mut Edn<'_, '_>, jepsen: &mut Jepsen<'_>) -> Result<(), InputError> {
    if !edn.record()? {
        return Err(edn.block.expected("an event, a map such as {:process 0, :type :invoke, …}"));
    }
    let line = edn.block.line_number();
    jepsen.builder.between_records();
    edn.take_bracket();
    let mut event = Event::at(line);
    let mut seen = [false; KEYS.len()];
    while let Some(name) = edn.key()? {
        let known = KEYS.iter().position(|&(known, _)| known == name);
        let twice = match known {
            Some(index) => std::mem::replace(&mut seen[index], true),
            None => event.extras.iter().any(|(key, _)| key.as_str() == Some(name)),
        };
        let key = match known {
            Some(index) => Ok(KEYS[index].1),
            None => Err(name.into()),
        };
        if twice {
            return Err(expected_found(edn.block.source(), line, "each key once", b"a key twice"));
        }
        field(edn, jepsen, &mut event, key)?;
    }
    if let Some(missing) = seen[..3].iter().position(|&seen| !seen) {
        let expected = format!("the key :{} in the event's map", KEYS[missing].0);
        return Err(expected_found(edn.block.source(), line, &expected, b"a map without it"));
    }
    jepsen.event(event)
}

/// A key of an event's map that has a meaning.
#[derive(Clone, Copy)]
enum Field {
    Process,
    Type,
    F,
    Value,
    Key,
    Object,
    Time,
    Index,
}

/// The keys by name; an event must have the first three.
const KEYS: [(&str, Field); 8] = [
    ("process", Field::Process),
    ("type", Field::Type),
    ("f", Field::F),
    ("value", Field::Value),
    ("key", Field::Key),
    ("object", Field::Object),
    ("time", Field::Time),
    ("index", Field::Index),
];

fn field(
    edn: &mut Edn<'_, '_>,
    jepsen: &mut Jepsen<'_>,
    event: &mut Event<'_>,
    key: Result<Field, Box<str>>,
) -> Result<(), InputError> {
    let line = edn.block.line_number();
    let key = match key {
        Ok(key) => key,
        Err(name) => {
            let value = edn.value(1)?;
            event.extras.push((Value::Name(name), value));
            return Ok(());
        }
    };
    match key {
        Field::Process => event.process = edn.value_id(jepsen.builder.values())?,
        Field::Value => event.value = edn.value_id(jepsen.builder.values())?,
        Field::Key => event.key = edn.value_id(jepsen.builder.values())?,
        Field::Object => event.object = edn.value_id(jepsen.builder.values())?,
        Field::Type => {
            let value = edn.value(1)?;
            let kind = value.as_str().and_then(|name| Kind::named(name.as_bytes()));
            event.kind = kind.ok_or_else(|| {
                let found = value.to_string();
                let expected = ":invoke, :ok, :fail or :info as :type";
                expected_found(edn.block.source(), line, expected, found.as_bytes())
            })?;
        }
        Field::F => event.f = Function::Form(edn.value(1)?),
        Field::Time => match edn.value(1)? {
            Value::Int(time) if time >= 0 => event.time = Some(time as Time),
            odd => event.extras.push((Value::Name("time".into()), odd)),
        },
        Field::Index => {
            edn.value(1)?;
        }
    }
    Ok(())
}
