//! What is wrong with an input is said with its place and what was expected; exit code 2.

use super::run::{example, file, folder, seriatim, text};

/// Checks a text as a file and wants the line and the complaint.
#[track_caller]
fn refused(name: &str, content: &str, spec: &str, line: u32, complaint: &str) {
    let folder = folder(&format!("refused-{name}"));
    let path = file(&folder, name, content);
    let ran = seriatim(&["check", &path, "--spec", spec]).exits(2);
    let place = match line {
        0 => format!("error: {path}: "),
        line => format!("error: {path}:{line}: "),
    };
    ran.complains(&place).complains(complaint);
}

#[test]
fn every_defect_of_a_history_is_told_with_its_line_and_what_was_expected() {
    let call = r#"{"process":0,"type":"call","op":"enqueue","arg":1}"#;
    let ret = r#"{"process":0,"type":"return"}"#;
    let operation = r#"{"process":0,"op":"enqueue","arg":1,"call":1,"return":2,"id":"a"}"#;
    let cases = [
        ("return-without-call", format!("{call}\n{ret}\n{ret}\n"), 3, "expected its call before"),
        ("two-open-calls", format!("{call}\n{call}\n"), 2, "its call of line 1 is open; expected"),
        (
            "return-before-call",
            r#"{"process":0,"op":"enqueue","arg":1,"call":5,"return":3}"#.into(),
            1,
            "expected call <= return",
        ),
        (
            "unknown-operation",
            r#"{"process":0,"op":"frobnicate","call":1,"return":2}"#.into(),
            1,
            "queue has no operation `frobnicate`; expected one of: enqueue",
        ),
        (
            "wrong-arity",
            format!("{operation}\n{}", r#"{"process":0,"op":"enqueue","call":4,"return":5}"#),
            2,
            "expected",
        ),
        (
            "time-runs-backwards",
            format!(
                "{}\n{}\n",
                r#"{"process":0,"type":"call","op":"dequeue","time":7}"#,
                r#"{"process":0,"type":"return","result":null,"time":6}"#
            ),
            2,
            "time runs backwards from 7 to 6; expected",
        ),
        (
            "duplicate-id",
            format!(
                "{operation}\n{}",
                operation.replace("\"call\":1,\"return\":2", "\"call\":3,\"return\":4")
            ),
            2,
            "was used before, in line 1; expected",
        ),
        (
            "surplus-field",
            r#"{"process":0,"op":"dequeue","call":1,"retrun":2}"#.into(),
            1,
            "retrun",
        ),
        ("broken-json", format!("{operation}\n{{\"process\":\n"), 2, "expected"),
        ("no-history", "lorem ipsum dolor\n".into(), 1, "no known history format starts with"),
        (
            "bad-result",
            r#"{"process":0,"op":"size","result":"many","call":1,"return":2}"#.into(),
            1,
            "expected",
        ),
    ];
    for (name, content, line, complaint) in &cases {
        refused(name, content, "queue", *line, complaint);
    }
}

#[test]
fn what_cannot_be_read_is_said_with_its_name() {
    let folder = folder("unreadable");
    let missing = text(&folder.join("missing.jsonl"));
    seriatim(&["check", &missing]).exits(2).complains(&format!("{missing}: cannot read"));
    let pattern = text(&folder.join("*.edn"));
    seriatim(&["check", &pattern]).exits(2).complains("no file fits this pattern");
    seriatim(&["check", &text(&folder)]).exits(2).complains("cannot read");
    let half = file(&folder, "half.gz", [0x1f, 0x8b, 8, 0, 0, 0]);
    seriatim(&["check", &half]).exits(2).complains("half.gz");
    let binary = file(&folder, "binary", [0xff, 0xfe, 0, 1, 2, 3, 0x80]);
    seriatim(&["check", &binary]).exits(2).complains("binary:1: ");
}

#[test]
fn wrong_usage_is_refused_with_what_was_expected() {
    let queue = example("queue.jsonl");
    let cases: [(&[&str], &str); 9] = [
        (&["check"], "<FILE>..."),
        (&["check", &queue, "--spec", "cue"], "cue"),
        (&["check", &queue, "--spec", "queue(init=7)"], "init of queue takes a list"),
        (&["check", &queue, "--threads", "0"], "expected a whole number from 1 on"),
        (&["check", &queue, "--time", "soon"], "expected a duration such as"),
        (&["check", &queue, "--memory", "lots"], "expected an amount of memory such as"),
        (&["check", &queue, "--format", "xml"], "expected one of: jsonl"),
        (&["check", &queue, "--failures", "maybe"], "expected drop or observe"),
        (&["check", &queue, "--json", "--quiet"], "cannot be used with"),
    ];
    for (arguments, complaint) in cases {
        seriatim(arguments).exits(2).complains(complaint);
    }
    seriatim(&["specs", "cue"]).exits(2).complains("cue");
    seriatim(&["gen", "queue", "--threads", "0"]).exits(2).complains("must be");
    seriatim(&["gen", "queue", "--shares", "fly=1"]).exits(2).complains("fly");
}

#[test]
fn several_files_give_the_worst_exit_code_and_every_verdict() {
    let (good, bad) = (example("queue.jsonl"), example("queue-overtaken.jsonl"));
    let pattern = example("queue*.jsonl");
    let both = seriatim(&["check", "-q", &pattern]).exits(1);
    both.says("queue.jsonl: linearizable (5 operations)")
        .says("queue-overtaken.jsonl: violation (5 operations)");
    let folder = folder("several");
    let broken = file(&folder, "broken.jsonl", "{\n");
    let unreadable = seriatim(&["check", "-q", &broken, &good]).exits(2);
    unreadable.complains("broken.jsonl:1: ").says("queue.jsonl: linearizable");
    let all = seriatim(&["check", "-q", &broken, &good, &bad]).exits(1);
    all.complains("broken.jsonl:1: ").says("queue-overtaken.jsonl: violation");
}

#[test]
fn a_history_that_shows_nothing_is_warned_about_even_when_quiet() {
    let folder = folder("vacuous");
    let failed = r#"{"process":0,"op":"cas","arg":[1,2],"call":1,"return":2,"failed":true}"#;
    let pending = r#"{"process":0,"op":"write","arg":1,"call":1}"#;
    let cases = [
        ("empty", String::new(), "the history is empty"),
        ("failed", failed.to_owned(), "every operation failed"),
        ("pending", pending.to_owned(), "every operation is pending"),
        (
            "mixed",
            format!("{failed}\n{}", pending.replace(":0", ":1")),
            "every operation failed or is pending",
        ),
    ];
    for (name, content, warning) in &cases {
        let path = file(&folder, name, content);
        let against = ["check", &path, "--spec", "cas-register(init=0)"];
        seriatim(&against).exits(0).says(&format!("warning: {warning}"));
        seriatim(&[&against[..], &["-q"]].concat()).exits(0).complains(warning);
        seriatim(&[&against[..], &["--json"]].concat()).exits(0).says(warning);
    }
}

#[test]
fn failures_are_observations_only_if_the_user_says_so() {
    let folder = folder("failures");
    let path = file(
        &folder,
        "cas",
        r#"{"process":0,"op":"cas","arg":[0,2],"call":1,"return":2,"failed":true}"#,
    );
    let against = ["check", &path, "--spec", "cas-register(init=0)"];
    seriatim(&against).exits(0).says("warning: every operation failed");
    let observed = seriatim(&[&against[..], &["--failures", "observe"]].concat()).exits(1);
    assert!(!observed.out.contains("warning"), "something was checked: {observed:?}");
}

#[test]
fn a_key_that_the_object_has_no_use_for_is_refused_not_ignored() {
    let folder = folder("keyed-register");
    let log = "{\"process\":0,\"op\":\"write\",\"key\":1,\"arg\":2,\"call\":1,\"return\":2}\n\
               {\"process\":0,\"op\":\"read\",\"key\":2,\"result\":null,\"call\":3,\"return\":4}\n";
    let log = file(&folder, "keyed.jsonl", log);
    for engine in ["auto", "search"] {
        let checked = seriatim(&["check", "--spec", "register", "--engine", engine, &log]);
        checked.exits(2).complains("keyed.jsonl:1:");
    }
    seriatim(&["check", "--spec", "map", &log]).exits(0);
}

#[test]
fn no_guess_convicts_or_acquits_where_another_specification_disagrees() {
    let folder = folder("guess");
    let line = |op: &str, field: &str, value: u32, call: u32| {
        let ret = call + 1;
        format!(
            "{{\"process\":0,\"op\":\"{op}\",\"{field}\":{value},\"call\":{call},\"return\":{ret}}}\n"
        )
    };
    let last_first =
        [line("add", "arg", 1, 0), line("add", "arg", 2, 2), line("remove", "result", 2, 4)];
    let bag = file(&folder, "bag.jsonl", last_first.concat());
    let ran = seriatim(&["check", &bag]).exits(2);
    ran.complains("queue: violation").complains("stack: linearizable").complains("--spec multiset");
    // Where all agree, the first line says that it was guessed.
    let one = file(
        &folder,
        "one.jsonl",
        [line("push", "arg", 1, 0), line("pop", "result", 1, 2)].concat(),
    );
    let ran = seriatim(&["check", &one]).exits(0);
    assert!(
        ran.out.lines().next().is_some_and(|first| first.ends_with("as a stack (guessed)")),
        "{ran:?}"
    );
    seriatim(&["check", "-q", &one])
        .exits(0)
        .says("linearizable as stack (guessed) (2 operations)");
    let none = file(
        &folder,
        "none.jsonl",
        [line("push", "arg", 1, 0), line("pop", "result", 2, 2)].concat(),
    );
    seriatim(&["check", "-q", &none]).exits(1).says("violation as stack (guessed)");
    seriatim(&["check", "-q", "--spec", "stack", &none]).exits(1).says("none.jsonl: violation (");
    // What a map reads of a key is no register.
    let read = r#"{"process":0,"op":"read","arg":"x","result":5,"call":0,"return":1}"#;
    let map = file(&folder, "map.jsonl", read);
    assert_ne!(seriatim(&["check", "-q", &map]).code, Some(0));
}

#[test]
fn a_violation_that_may_be_a_mistake_of_the_recorder_is_told_as_one() {
    let folder = folder("hints");
    let history = |written: &str, read: &str| {
        format!(
            "{{\"process\":0,\"op\":\"write\",\"arg\":{written},\"call\":0,\"return\":1}}\n\
             {{\"process\":0,\"op\":\"read\",\"result\":{read},\"call\":2,\"return\":3}}\n"
        )
    };
    for (name, written, read, hint) in [
        ("text", "5", "\"5\"", "\"5\" is a text and 5 is a number"),
        ("number", "\"2.5\"", "2.5", "2.5 is a number and \"2.5\" is a text"),
        ("old", "5", "7", "no operation wrote 7; if it was there before the first operation"),
    ] {
        let path = file(&folder, name, history(written, read));
        seriatim(&["check", "--spec", "register", &path]).exits(1).says(hint);
    }
    let plain = file(&folder, "plain", history("5", "null"));
    let ran = seriatim(&["check", "--spec", "register", &plain]).exits(1);
    assert!(!ran.out.contains("is a number"), "{ran:?}");
    assert!(!ran.out.contains("no operation wrote"), "{ran:?}");
    // Who says what was there at the start need not be asked.
    let said = file(&folder, "said", history("5", "7"));
    let ran = seriatim(&["check", "--spec", "register(init=7)", &said]).exits(1);
    assert!(!ran.out.contains("no operation wrote"), "{ran:?}");
    // The log says what it is of, and the command line says something else.
    let header = "{\"seriatim\":1,\"spec\":\"register(init=7)\"}\n";
    let started = file(&folder, "started", format!("{header}{}", history("5", "9")));
    seriatim(&["check", "--spec", "register", &started])
        .exits(1)
        .says("the log says that it is of register(init=7), not of register");
    let ran = seriatim(&["check", &started]).exits(1);
    assert!(!ran.out.contains("the log says"), "{ran:?}");
}

/// A read that misses the write just before it: clocks that differ may be to blame if two clocks
/// timed them.
#[test]
fn a_process_keeps_its_order_however_far_its_clock_is_off() {
    let folder = folder("skew");
    let log = |reader: u32| {
        format!(
            "{{\"seriatim\":1,\"spec\":\"register\",\"unit\":\"ms\"}}\n\
             {{\"process\":0,\"op\":\"write\",\"arg\":1,\"call\":10,\"return\":11}}\n\
             {{\"process\":{reader},\"op\":\"read\",\"result\":null,\"call\":12,\"return\":13}}\n"
        )
    };
    let (one, two) = (file(&folder, "one.jsonl", log(0)), file(&folder, "two.jsonl", log(1)));
    seriatim(&["check", "--skew", "5ms", &one]).exits(1).says("keeps the order of each process");
    seriatim(&["check", "--skew", "5ms", &two]).exits(0).says("keep their order");
    seriatim(&["check", &two]).exits(1);
}
