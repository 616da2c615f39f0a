//! Verdicts that say nothing: nothing was observed.

use seriatim_history::{History, InputError};
use seriatim_spec::Reader;

/// Why any verdict on the history says nothing, if so. Where failed operations are observations,
/// something was checked after all.
///
/// ```
/// use seriatim_history::read_str;
/// use seriatim_monitor::vacuous;
/// use seriatim_spec::{ChosenReader, Failures, SpecChoice};
/// let reader = ChosenReader { choice: SpecChoice::parse("register")?, failures: Failures::Drop };
/// let mut empty = read_str("# @object register\n")?;
/// assert!(vacuous(&mut empty, &reader)?.is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn vacuous(history: &mut History, reader: &dyn Reader) -> Result<Option<String>, InputError> {
    let Some(warning) = history.tally().vacuous().map(str::to_owned) else { return Ok(None) };
    let reading = reader.read(history)?;
    let is_observed = reading.operations().any(|op| history.ret(op).is_some());
    Ok((!is_observed).then_some(warning))
}
