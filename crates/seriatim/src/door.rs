//! The door: one line from a history and a specification to a verdict that can be shown.

use seriatim_history::{History, InputError};
use seriatim_monitor::Options;
use seriatim_report::Report;
use seriatim_report::terminal::{self, Style};
use seriatim_spec::{Checked, ChosenReader, Failures, Reader, SpecChoice, SpecError, Verdict};
use std::fmt;

/// Decides whether a history is linearizable under a specification: the name of a built-in one
/// (`"queue"`, `"cas-register(init=0)"`), or anything that reads histories, such as the
/// [`Recorded`](seriatim_monitor::Recorded) operations of your own [`Spec`](seriatim_spec::Spec) or
/// a [`SeriReader`](seriatim_verify::SeriReader).
///
/// ```
/// let history = seriatim::read_str(
///     "# @object queue\n\
///      [1] call enq(1)\n[1] return\n\
///      [1] call enq(2)\n[1] return\n\
///      [2] call deq\n[2] return 2\n",
/// )?;
/// let answer = seriatim::check(&history, "queue")?;
/// assert!(answer.is_violation());
/// assert!(answer.to_string().contains("cannot dequeue 2: the front is 1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It works on a copy of the history, with the default [`Options`] and [`Failures`];
/// [`check_with`](crate::check_with) takes others, and no copy.
pub fn check<'h>(
    history: &'h History,
    spec: impl Specification<'h>,
) -> Result<CheckedHistory<'h>, CheckError> {
    let reader = spec.reader()?;
    let checked = seriatim_monitor::check(&mut history.clone(), &*reader, &Options::default())?;
    let spec = reader.name();
    Ok(CheckedHistory { history, spec, reader, checked })
}

/// What [`check`] takes for a specification.
pub trait Specification<'s> {
    /// What reads histories under it.
    fn reader(self) -> Result<Box<dyn Reader + 's>, SpecError>;
}

impl<'s> Specification<'s> for &str {
    fn reader(self) -> Result<Box<dyn Reader + 's>, SpecError> {
        SpecChoice::parse(self)?.reader()
    }
}

impl<'s> Specification<'s> for SpecChoice {
    fn reader(self) -> Result<Box<dyn Reader + 's>, SpecError> {
        Ok(Box::new(ChosenReader { choice: self, failures: Failures::default() }))
    }
}

impl<'s, R: Reader> Specification<'s> for &'s R {
    fn reader(self) -> Result<Box<dyn Reader + 's>, SpecError> {
        Ok(Box::new(self))
    }
}

/// A history that was checked: the verdict, and all that a report needs. It is displayed as the
/// command's report for a terminal, without colours.
pub struct CheckedHistory<'h> {
    history: &'h History,
    spec: String,
    reader: Box<dyn Reader + 'h>,
    checked: Checked,
}

impl CheckedHistory<'_> {
    /// The verdict, with its evidence.
    pub fn verdict(&self) -> &Verdict {
        &self.checked.verdict
    }

    /// Whether the history is linearizable. If not, it may be violated or unknown.
    pub fn is_linearizable(&self) -> bool {
        matches!(self.checked.verdict, Verdict::Linearizable(_))
    }

    /// Whether the history is not linearizable. If not, it may be linearizable or unknown.
    pub fn is_violation(&self) -> bool {
        matches!(self.checked.verdict, Verdict::Violation(_))
    }

    /// What was found besides the verdict.
    pub fn checked(&self) -> &Checked {
        &self.checked
    }

    /// The report, for a terminal, a page, JSON or JUnit: see [`report`](seriatim_report). Of the
    /// order of a linearizable history it has the states after so many steps.
    pub fn report(&self, steps: usize) -> Report<'_> {
        let report = Report::of(self.history, &self.spec, &self.checked, &*self.reader);
        report.with_states(&*self.reader, steps)
    }
}

impl fmt::Display for CheckedHistory<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&terminal::render(&self.report(0), &Style::plain(100)))
    }
}

impl fmt::Debug for CheckedHistory<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CheckedHistory")
            .field("spec", &self.spec)
            .field("checked", &self.checked)
            .finish_non_exhaustive()
    }
}

/// Why nothing was decided: the question makes no sense.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CheckError {
    /// No specification has that name, or not these parameters.
    Spec(SpecError),
    /// The history is not one of this object.
    Input(InputError),
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckError::Spec(error) => error.fmt(f),
            CheckError::Input(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CheckError {}

impl From<SpecError> for CheckError {
    fn from(error: SpecError) -> Self {
        CheckError::Spec(error)
    }
}

impl From<InputError> for CheckError {
    fn from(error: InputError) -> Self {
        CheckError::Input(error)
    }
}
