//! Single values as JSON and as EDN write them, for those who take values in other places than
//! files.

use super::block::{Block, Line};
use super::edn::{Edn, Start};
use super::json::Json;
use crate::{InputError, Value};

/// The value of a JSON text that holds one value and nothing else.
///
/// ```
/// use seriatim_history::{Value, json_value};
/// assert_eq!(json_value("[1, null]").unwrap(), Value::list([Value::Int(1), Value::Nil]));
/// assert!(json_value("[1 nil]").is_err());
/// ```
pub fn json_value(text: &str) -> Result<Value, InputError> {
    let mut json = Json::of(Line { source: "<text>", number: 1, bytes: text.as_bytes() });
    let value = json.value(0)?;
    json.end()?;
    Ok(value)
}

/// The value of an EDN text that holds one form and nothing else.
///
/// ```
/// use seriatim_history::{Value, edn_value};
/// assert_eq!(edn_value("[1 nil]").unwrap(), Value::list([Value::Int(1), Value::Nil]));
/// assert!(edn_value("1 2").is_err());
/// ```
pub fn edn_value(text: &str) -> Result<Value, InputError> {
    let mut nothing = std::io::empty();
    let mut block = Block::of_text(text.as_bytes(), &mut nothing, "<text>");
    let mut edn = Edn::of(&mut block);
    let value = edn.value(0)?;
    match edn.start()? {
        Start::End => Ok(value),
        _ => Err(edn.block.expected("one form")),
    }
}
