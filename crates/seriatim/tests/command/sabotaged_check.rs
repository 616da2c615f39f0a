//! The engines of `check`, broken on purpose in one place after another: whatever they claim,
//! nobody reads a wrong verdict.

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

/// A log that tells its tail; the second record was written by an operation that never returned.
const RIGHT_TAIL: &str = r#"{"process":0,"op":"append","arg":1,"result":1,"call":0,"return":1}
{"process":1,"op":"append","arg":2,"call":2}
{"process":0,"op":"append","arg":3,"result":3,"call":3,"return":4}
{"process":0,"op":"read","arg":1,"result":[2,3],"call":5,"return":6}
"#;

/// The same, but the last read comes from the past.
const WRONG_TAIL: &str = r#"{"process":0,"op":"append","arg":1,"result":1,"call":0,"return":1}
{"process":0,"op":"append","arg":2,"result":2,"call":2,"return":3}
{"process":0,"op":"check_tail","result":1,"call":4,"return":5}
"#;

/// Both transactions saw the register before the other wrote it.
const LOST_UPDATE: &str = r#"{"process":0,"op":"txn","arg":[["r","x",null],["w","x",1]],"result":[["r","x",null],["w","x",1]],"call":0,"return":5}
{"process":1,"op":"txn","arg":[["r","x",null],["w","x",2]],"result":[["r","x",null],["w","x",2]],"call":1,"return":6}
"#;

/// What was read was written by a transaction that never returned.
const UNKNOWN_WRITER: &str = r#"{"process":0,"op":"txn","arg":[["w","x",1]],"call":0}
{"process":1,"op":"txn","arg":[["r","x",null]],"result":[["r","x",1]],"call":1,"return":6}
"#;

/// The second process saw the writes in another order than the first one did them; and in the order
/// of calls.
const SWAPPED_WRITES: [&str; 2] = [
    r#"{"process":0,"op":"enqueue","arg":1,"call":0,"return":1}
{"process":0,"op":"enqueue","arg":2,"call":2,"return":3}
{"process":1,"op":"dequeue","result":2,"call":4,"return":5}
"#,
    r#"{"process":1,"op":"dequeue","result":1,"call":0,"return":1}
{"process":0,"op":"enqueue","arg":1,"call":2,"return":3}
"#,
];

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
        ("NoReaderEdges", "multi-register", &[LOST_UPDATE]),
        ("UnknownNeverCommits", "multi-register", &[UNKNOWN_WRITER]),
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

#[test]
fn a_defect_that_changes_no_verdict_is_told_beside_it() {
    let ways = ["GapInCore", "EarlyEnd"];
    let told = ["internal error: the second checker finds an order", "please report it, with the"];
    for way in ways {
        for spill in ["never", "always"] {
            let right = check(None, "queue", WRONG_QUEUE, &["--spill", spill]).exits(1);
            let broken = check(Some(way), "queue", WRONG_QUEUE, &["--spill", spill]).exits(1);
            let [right, broken] = [right, broken].map(|ran| one_line(&ran));
            for words in told {
                assert!(broken.contains(words), "{way}, --spill {spill}: {broken}");
                assert!(!right.contains(words), "{right}");
            }
            let json =
                check(Some(way), "queue", WRONG_QUEUE, &["--json", "--spill", spill]).exits(1);
            let report: serde_json::Value = serde_json::from_str(&json.out).unwrap();
            assert_eq!(report["verdict"], "violation");
            let warning = report["warnings"][0].as_str().unwrap_or_default();
            assert!(told.iter().all(|words| warning.contains(words)), "{way}: {report}");
        }
    }
    let quiet = check(Some("GapInCore"), "queue", WRONG_QUEUE, &["--quiet"]).exits(1);
    assert!(one_line(&quiet).contains(told[0]), "{quiet:#?}");
}

/// All that the command wrote, as if its lines were never broken.
fn one_line(ran: &Ran) -> String {
    format!("{} {}", ran.out, ran.err).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn an_order_that_is_rejected_is_no_limit_and_asks_for_a_report_from_disk_too() {
    for (way, log) in [("BlindMonitor", WRONG_QUEUE), ("FalseCore", RIGHT_QUEUE)] {
        for spill in ["never", "always"] {
            let broken = check(Some(way), "queue", log, &["--spill", spill]).exits(3);
            let text = one_line(&broken);
            assert!(text.contains("its checker rejects it"), "{text}");
            assert!(text.contains("defect of Seriatim"), "{text}");
            assert!(text.contains("report it"), "{text}");
            assert!(!text.contains("limit was reached") && !text.contains("--memory"), "{text}");
            let quiet = check(Some(way), "queue", log, &["--quiet", "--spill", spill]).exits(3);
            assert!(quiet.out.contains("its checker rejects it"), "{quiet:#?}");
            assert!(!quiet.out.contains("limit was reached"), "{quiet:#?}");
            let json = check(Some(way), "queue", log, &["--json", "--spill", spill]).exits(3);
            let report: serde_json::Value = serde_json::from_str(&json.out).unwrap();
            assert_eq!(report["unknown"]["limit"], "defect", "{report}");
        }
    }
}

#[test]
fn an_engine_of_versions_that_is_broken_leaves_the_verdict_to_the_search() {
    for (way, log, word) in [
        ("BlindVersions", WRONG_TAIL, 1),
        ("UnfilledGaps", RIGHT_TAIL, 0),
        ("BlindVersions", RIGHT_TAIL, 0),
    ] {
        let right = check(None, "fenced-log", log, &[]).exits(word);
        let broken = check(Some(way), "fenced-log", log, &[]).exits(word);
        assert!(right.out.contains("decided by versions"), "{right:#?}");
        assert!(!broken.out.contains("decided by versions"), "{way}: {broken:#?}");
    }
}

#[test]
fn weaker_orders_and_levels_of_broken_engines_are_unknown() {
    let process = ["--order", "process"];
    let serializable = ["--level", "serializable"];
    for (way, spec, log, asked, code) in [
        ("AnyResult", "queue", SWAPPED_WRITES[0], process, 1),
        ("NoOrder", "queue", SWAPPED_WRITES[1], process, 0),
        ("NoReaderEdges", "multi-register", LOST_UPDATE, serializable, 1),
        ("UnknownNeverCommits", "multi-register", UNKNOWN_WRITER, serializable, 0),
    ] {
        check(None, spec, log, &asked).exits(code);
        let broken = check(Some(way), spec, log, &asked).exits(3);
        assert!(one_line(&broken).contains("defect of Seriatim"), "{way}: {broken:#?}");
    }
}
