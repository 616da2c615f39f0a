//! How a history was recorded: clocks that differ, processes that went on.

use super::Failure;
use super::amounts::duration;
use clap::Args;
use seriatim::History;
use seriatim::question::name_successors;
use std::time::Duration;

/// What is known of the recording besides the log.
#[derive(Args, Default)]
#[cfg_attr(test, derive(Debug))]
pub struct Recorded {
    /// How far the clocks that timed the operations may be off: every operation is widened by
    /// that much on both sides. Operations of one process keep their order: it has one clock
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub skew: Option<Duration>,
}

impl Recorded {
    /// Allows for it in a history; gives what the report has to say.
    pub fn allow_for(&self, history: &mut History) -> Result<Vec<String>, Failure> {
        // Before widening: afterwards nobody could say who came after whom.
        let mut notes: Vec<String> = name_successors(history).into_iter().collect();
        let Some(skew) = self.skew else { return Ok(notes) };
        let source = history.source().to_owned();
        let failed = |reason: &str| Failure(format!("{source}: --skew: {reason}"));
        let Some(by) = history.timescale().units_in(skew) else {
            return Err(failed(
                "the log does not say what its times count; expected a `unit` in its header or its map",
            ));
        };
        let shown = history.timescale().duration(by);
        match history.widen(by) {
            true => {
                let own = match history.keeps_turns() {
                    true => "; those of one process, which one clock timed, keep their order",
                    false => {
                        ", also those of one process: the log does not say in which order each process did them"
                    }
                };
                notes.push(format!(
                    "every operation was widened by {shown} on both sides: operations less than twice that apart count as \
                     concurrent{own}"
                ));
            }
            false => return Err(failed("the log has no times")),
        }
        Ok(notes)
    }
}
