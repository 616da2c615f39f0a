//! The fast monitor of a specification, if it has one.
//!
//! A monitor reads the recorded operations itself, so it is only chosen where it reads them as the
//! specification does: the object starts as the monitor assumes, no operation that failed is taken
//! for an observation, and `nil` means what it says.

use crate::fast::{Object, Priority};
use seriatim_history::{History, Nil, Value, ValueId};
use seriatim_spec::{ChosenReader, Failures};

/// The object whose monitor decides histories of a specification; `Err` says why there is none.
pub fn object(reader: &ChosenReader, history: &mut History) -> Result<Object, String> {
    let (name, parameters) = (reader.choice.name(), reader.choice.parameters());
    if reader.failures == Failures::Observe && history.has_failures() {
        return Err("failed operations are taken as observations".to_owned());
    }
    let mut known: &[&str] = &[];
    let object = match name {
        "queue" => Object::Queue,
        "stack" => Object::Stack,
        "set" => Object::Set,
        "multiset" => Object::Multiset,
        "mutex" => Object::Mutex,
        "counter" => Object::Counter,
        "fetch-and-add" => Object::FetchAndAdd,
        "log" => Object::Log,
        "map" | "kv" => {
            known = &["default"];
            let usual = if name == "kv" { Value::text("") } else { Value::Nil };
            Object::Map(history.intern(parameters.value("default").unwrap_or(&usual)))
        }
        "priority-queue" => {
            known = &["max", "min"];
            let is_max = parameters.flag("max");
            Object::PriorityQueue(if is_max {
                Priority::LargestFirst
            } else {
                Priority::SmallestFirst
            })
        }
        "semaphore" => {
            known = &["init"];
            let permits = u32::try_from(parameters.integer("init", 0));
            Object::Semaphore(permits.map_err(|_| "too many permits".to_owned())?)
        }
        "register" | "cas-register" => {
            known = &["init"];
            let initial = history.intern(parameters.value("init").unwrap_or(&Value::Nil));
            if initial != ValueId::NIL && history.nil() == Nil::Unknown {
                return Err("nil stands for a result that nobody recorded".to_owned());
            }
            Object::Register(initial)
        }
        _ => return Err(format!("there is no monitor for {name}")),
    };
    match parameters.names().find(|given| !known.contains(given)) {
        Some(given) => Err(format!("the monitor does not know the parameter {given}")),
        None => Ok(object),
    }
}

/// The name of an object's monitor.
pub fn name(object: Object) -> &'static str {
    match object {
        Object::Queue => "queue monitor",
        Object::Stack => "stack monitor",
        Object::PriorityQueue(_) => "priority queue monitor",
        Object::Set => "set monitor",
        Object::Multiset => "multiset monitor",
        Object::Mutex => "mutex monitor",
        Object::Register(_) => "register monitor",
        Object::Map(_) => "map monitor",
        Object::Counter => "counter monitor",
        Object::FetchAndAdd => "fetch-and-add monitor",
        Object::Semaphore(_) => "semaphore monitor",
        Object::Log => "log monitor",
    }
}
