//! Defects of the command itself: a panic is never a verdict. It is told as what it is, and the
//! answer is *unknown*.

use super::Exit;
use super::output::remark;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook};

/// Does something; if it panics, says so, and the exit is that of an unknown answer.
pub fn guarded(work: impl FnOnce() -> Exit) -> Exit {
    set_hook(Box::new(|panic| remark(&format!("internal error: {panic}"))));
    // Nothing that a panic may have left half done is used afterwards: the process ends.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        remark(
            "unknown: this is a defect of Seriatim, not of what it was asked about; please report it \
             with the command and its input",
        );
        Exit::Unknown
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_unknown_answer_and_a_verdict_is_left_alone() {
        assert_eq!(guarded(|| Exit::Violated), Exit::Violated);
        assert_eq!(guarded(|| panic!("on purpose")), Exit::Unknown);
        let in_a_thread = || {
            std::thread::scope(|scope| {
                scope.spawn(|| panic!("on purpose, in a thread"));
            });
            Exit::Holds
        };
        assert_eq!(guarded(in_a_thread), Exit::Unknown);
    }
}
