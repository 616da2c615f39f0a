//! What splitting by key saves: the histories with which `docs/check.md` shows that nothing else can.

use seriatim_history::read_str;
use seriatim_monitor::partition::Partitioning;
use seriatim_monitor::{Monitors, Options, check};
use seriatim_spec::{ChosenReader, Failures, SpecChoice, Verdict};

/// On each of some keys two puts overlap; then another key returns a value that was replaced.
fn history(keys: u64) -> String {
    let mut lines = "{\"seriatim\":1,\"spec\":\"map\"}\n".to_owned();
    let mut put = |process: u64, key: u64, value: u64, call: u64, ret: u64| {
        lines += &format!(
            "{{\"process\":{process},\"op\":\"put\",\"key\":{key},\"arg\":{value},\"call\":{call},\"return\":{ret}}}\n"
        );
    };
    for key in 1..=keys {
        put(0, key, 1, 10 * key, 10 * key + 8);
        put(1, key, 2, 10 * key + 1, 10 * key + 9);
    }
    let end = 10 * (keys + 1);
    put(0, 0, 1, end, end + 1);
    put(0, 0, 2, end + 2, end + 3);
    let (call, ret) = (end + 4, end + 5);
    lines
        + &format!(
            "{{\"process\":0,\"op\":\"get\",\"key\":0,\"result\":1,\"call\":{call},\"return\":{ret}}}\n"
        )
}

#[test]
fn each_key_doubles_the_configurations_of_an_object_that_is_not_split() {
    let choice = SpecChoice::parse("map").expect("a known specification");
    let reader = ChosenReader { choice, failures: Failures::default() };
    let met = |keys, partitioning| {
        let mut history = read_str(&history(keys)).expect("it reads");
        let options =
            Options { partitioning, monitors: Monitors::Skip, threads: 1, ..Options::default() };
        let checked = check(&mut history, &reader, &options).expect("a map");
        assert!(matches!(checked.verdict, Verdict::Violation(_)), "{keys} keys");
        checked.configurations
    };
    for keys in 2..=9 {
        assert!(met(keys, Partitioning::ByObject) >= 1 << keys, "{keys} keys");
        assert!(met(keys, Partitioning::ByKey) <= 8 * keys as usize + 8, "{keys} keys");
    }
}
