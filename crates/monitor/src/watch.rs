//! The online monitor of a specification, if it has one.

use crate::fast::{Online, counter, log, multiset, mutex, queue, register, set};
use seriatim_history::{Value, ValueId};
use seriatim_spec::SpecChoice;

/// The specifications that can be watched.
pub const WATCHED: &[&str] = &["queue", "set", "multiset", "register", "counter", "mutex", "log"];

/// A monitor that checks events of a specification as they happen; `Err` says why there is none.
///
/// ```
/// use seriatim_spec::SpecChoice;
/// assert!(seriatim_monitor::watch(&SpecChoice::parse("queue").unwrap()).is_ok());
/// assert!(seriatim_monitor::watch(&SpecChoice::parse("snapshot").unwrap()).is_err());
/// ```
pub fn watch(choice: &SpecChoice) -> Result<Box<dyn Online>, String> {
    let (name, parameters) = (choice.name(), choice.parameters());
    if let Some(parameter) = parameters.names().find(|&given| (name, given) != ("register", "init"))
    {
        return Err(format!("{name} cannot be watched with the parameter {parameter}"));
    }
    Ok(match name {
        "queue" => Box::new(queue::online::Watch::default()),
        "set" => Box::new(set::Watch::default()),
        "multiset" => Box::new(multiset::Watch::default()),
        "counter" => Box::new(counter::Watch::default()),
        "mutex" => Box::new(mutex::Watch::default()),
        "log" => Box::new(log::Watch::default()),
        "register" => Box::new(register::Watch::new(initial(parameters.value("init"))?)),
        _ => {
            let known = WATCHED.join(", ");
            return Err(format!("{name} cannot be watched; these can: {known}"));
        }
    })
}

/// The id of an initial value, which must not depend on the values of the stream.
fn initial(value: Option<&Value>) -> Result<ValueId, String> {
    let id = match value {
        None | Some(Value::Nil) => Some(ValueId::NIL),
        Some(Value::Bool(truth)) => Some(ValueId::from(*truth)),
        Some(Value::Int(number)) => ValueId::inline_int(*number),
        Some(_) => None,
    };
    id.ok_or("a register can be watched if its initial value is nil or a small integer".to_owned())
}
