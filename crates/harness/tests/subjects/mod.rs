//! Objects of which it is known whether they are right: an alarm on a right one and a pass of a
//! broken one are defects of the harness alike.

use seriatim_harness::{Failed, Passed};

pub type Ran = Result<Passed, Box<Failed>>;
pub type Subject = (&'static str, fn() -> Ran);

/// Runs each once; none may fail.
pub fn none_fails(right: &[Subject]) {
    let failed = right.iter().filter_map(|(name, run)| {
        let failed = run().err()?;
        Some(format!("{name}: {}", failed.report))
    });
    let failed: Vec<String> = failed.collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Runs each until it fails, so many times at the most: a machine may be too busy for enough
/// executions at once.
pub fn each_fails(broken: &[Subject], tries: usize) {
    let passed = broken.iter().filter_map(|(name, run)| {
        let ran = (1..tries).map(|_| run()).find(Result::is_err).unwrap_or_else(run);
        Some(format!("{name}: {}", ran.ok()?))
    });
    let passed: Vec<String> = passed.collect();
    assert!(passed.is_empty(), "{}", passed.join("\n"));
}
