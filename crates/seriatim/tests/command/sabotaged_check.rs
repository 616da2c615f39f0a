//! The engines of `check`, broken on purpose in one place after another: whatever they claim, nobody reads a wrong verdict.

use crate::run::{Ran, command, file, folder, sabotaged};
use std::sync::atomic::{AtomicUsize, Ordering};

const RIGHT_QUEUE: &str = r#"{"process":0,"op":"enqueue","arg":1,"call":0,"return":1}
{"process":0,"op":"enqueue","arg":2,"call":2,"return":3}
{"process":0,"op":"dequeue","result":1,"call":4,"return":5}
{"process":0,"op":"dequeue","result":2,"call":6,"return":7}
"#;

const WRONG_QUEUE: &str = r#"{"process":0,"op":"enqueue","arg":1,"call":0,"return":1}
{"process":0,"op":"enqueue","arg":2,"call":2,"return":3}
{"process":0,"op":"dequeue","result":2,"call":4,"return":5}
{"process":0,"op":"dequeue","result":1,"call":6,"return":7}
"#;

/// The value was pushed by an operation that never returned.
const PENDING_DEQUE: &str = r#"{"process":0,"op":"push_back","arg":1,"call":0}
{"process":1,"op":"pop_front","result":1,"call":1,"return":2}
"#;

/// The order of two pushes that overlap shows later.
const OVERLAPPING_DEQUE: [&str; 2] = [
    r#"{"process":0,"op":"push_back","arg":1,"call":0,"return":5}
{"process":1,"op":"push_back","arg":2,"call":0,"return":5}
{"process":0,"op":"pop_front","result":1,"call":6,"return":7}
"#,
    r#"{"process":0,"op":"push_back","arg":1,"call":0,"return":5}
{"process":1,"op":"push_back","arg":2,"call":0,"return":5}
{"process":0,"op":"pop_front","result":2,"call":6,"return":7}
"#,
];

const WRONG_DEQUE: &str = r#"{"process":0,"op":"push_back","arg":1,"call":0,"return":1}
{"process":0,"op":"pop_front","result":null,"call":2,"return":3}
"#;

/// What happens to one register happens between the operations on the other.
const TWO_REGISTERS: &str = r#"{"process":0,"object":"a","op":"write","arg":1,"call":0,"return":1}
{"process":1,"object":"b","op":"write","arg":1,"call":4,"return":5}
{"process":0,"object":"a","op":"read","result":1,"call":8,"return":9}
"#;

/// What `check` says of a log with an engine broken in this way, if in any.
fn check(way: Option<&str>, spec: &str, log: &str, detail: &[&str]) -> Ran {
    // Tests run at the same time: a folder of its own for each run.
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let name = format!("sabotaged-check-{}", RUNS.fetch_add(1, Ordering::Relaxed));
    let path = file(&folder(&name), "log.jsonl", log);
    let mut command = command(&["check", "--spec", spec, &path]);
    command.args(detail);
    sabotaged(command, way)
}

#[test]
fn a_check_that_is_broken_in_any_of_these_ways_gives_no_wrong_verdict() {
    let [first, second] = OVERLAPPING_DEQUE;
    for (way, spec, logs) in [
        ("DroppedPending", "deque", &[PENDING_DEQUE][..]),
        ("WrongKey", "deque", &[first, second]),
        ("ForgottenEffect", "deque", &[WRONG_DEQUE]),
        ("SwappedComparison", "queue", &[WRONG_QUEUE]),
        ("BlindMonitor", "queue", &[WRONG_QUEUE]),
        ("FalseCore", "queue", &[RIGHT_QUEUE]),
        ("WrongJoin", "register", &[TWO_REGISTERS]),
        ("LostOperation", "queue", &[RIGHT_QUEUE]),
    ] {
        for detail in [&[][..], &["--quiet"]] {
            let mut noticed = 0;
            for log in logs {
                let truth = check(None, spec, log, detail).code;
                let broken = check(Some(way), spec, log, detail);
                assert!(broken.code == Some(3) || broken.code == truth, "{way}: {broken:#?}");
                noticed += usize::from(broken.code == Some(3));
            }
            // Else it is not broken.
            assert!(noticed > 0, "{way}");
        }
    }
}

#[test]
fn a_counterexample_that_shows_nothing_is_replaced_by_all_that_was_recorded() {
    for way in ["GapInCore", "EarlyEnd"] {
        let right = check(None, "queue", WRONG_QUEUE, &[]).exits(1);
        let broken = check(Some(way), "queue", WRONG_QUEUE, &[]).exits(1);
        for shown in ["enqueue(1)", "enqueue(2)", "dequeue → 2"] {
            println!("{way}: {shown}");
            assert!(right.out.contains(shown), "{right:#?}");
            assert!(broken.out.contains(shown), "{broken:#?}");
        }
        check(Some(way), "queue", WRONG_QUEUE, &["--quiet"]).exits(1);
    }
}
