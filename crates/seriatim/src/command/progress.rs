//! The line that tells how a long check goes. Only on a terminal, only when it takes long.

use seriatim::monitor::Standing;
use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Writes the progress line.
pub struct ProgressLine {
    start: Instant,
    last: Mutex<Option<Instant>>,
    is_on: bool,
}

/// How long a check may go without a word.
const PATIENCE: Duration = Duration::from_millis(800);
/// The time between two changes of the line.
const PAUSE: Duration = Duration::from_millis(200);

/// Who else works.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Company {
    /// Nobody.
    Nobody,
    /// Others, who would write in the same line.
    Others,
}

impl ProgressLine {
    /// A line on standard error, if that is a terminal and nobody else writes in it.
    pub fn new(company: Company) -> Self {
        let is_on = company == Company::Nobody && std::io::stderr().is_terminal();
        ProgressLine { start: Instant::now(), last: Mutex::new(None), is_on }
    }

    /// Shows how the check stands, if it is time to.
    pub fn show(&self, standing: Standing) {
        if !self.is_on || self.start.elapsed() < PATIENCE {
            return;
        }
        let Ok(mut last) = self.last.lock() else { return };
        if last.is_some_and(|last| last.elapsed() < PAUSE) {
            return;
        }
        *last = Some(Instant::now());
        let line = described(standing, self.start.elapsed());
        put(&line);
    }

    /// Takes the line away.
    pub fn clear(&self) {
        if self.last.lock().is_ok_and(|last| last.is_some()) {
            put("");
        }
    }
}

/// Replaces the line. One that cannot be written is not worth a word.
fn put(line: &str) {
    let mut stderr = std::io::stderr().lock();
    let _ = write!(stderr, "\r\x1b[2K{line}");
    let _ = stderr.flush();
}

fn described(standing: Standing, elapsed: Duration) -> String {
    let Standing { parts_decided, parts, operations_decided, operations, configurations } =
        standing;
    let seconds = elapsed.as_secs_f64();
    let rate = configurations as f64 / seconds / 1000.0;
    let estimate = match (operations_decided, operations - operations_decided) {
        (0, _) | (_, 0) => String::new(),
        (done, left) => format!(", about {:.0} s to go", seconds * left as f64 / done as f64),
    };
    format!(
        "{seconds:.0} s: {operations_decided} of {operations} operations decided in {parts_decided} of \
         {parts} parts, {configurations} configurations ({rate:.0}k/s){estimate}"
    )
}
