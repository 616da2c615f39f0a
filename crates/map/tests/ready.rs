//! The ready maps read samples of their formats, and no record makes any map panic.

use seriatim_history::{Value, write_value};
use seriatim_map::{Map, Mapped, Unmatched, ready_map, ready_maps};
use seriatim_testing::Random;

fn sample(name: &str) -> String {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("samples");
    let entries = std::fs::read_dir(folder)
        .expect("the samples")
        .map(|entry| entry.expect("an entry").path());
    let mut found = entries.filter(|path| path.file_stem().is_some_and(|stem| stem == name));
    std::fs::read_to_string(found.next().expect("a sample of each")).expect("a sample")
}

fn read(name: &str, text: &str) -> Result<Mapped, String> {
    let ready = ready_map(name).expect("a ready map");
    let map = Map::parse(name, ready.text).map_err(|error| error.to_string())?;
    map.read(text.as_bytes(), "log", Unmatched::Refuse).map_err(|error| error.to_string())
}

fn operations(name: &str) -> Vec<String> {
    let mapped = read(name, &sample(name)).unwrap();
    let history = &mapped.history;
    history.operations().map(|op| format!("{}: {op}", history.process_name(op.process()))).collect()
}

#[test]
fn each_ready_map_reads_its_format() {
    assert_eq!(
        operations("jepsen-json"),
        ["0: write(3) -> 3", "1: read(nil) -> 3", "0: cas(3, 4) -> failed", "1: write(5) -> ?"]
    );
    assert_eq!(operations("elle"), ["0: w(x)=1 r(y)=nil", "1: r(x)=1"]);
    assert_eq!(
        operations("porcupine-json"),
        [
            "0: put(\"x\", \"a\")",
            "1: append(\"x\", \"b\")",
            "2: get(\"x\") -> \"ab\"",
            "3: put(\"x\", \"c\") -> ?"
        ]
    );
    assert_eq!(
        operations("antithesis-csv"),
        [
            "\"1\": put(\"a\", \"Xy12\")",
            "\"2\": get(\"a\") -> \"Xy12\"",
            "\"1\": put(\"b\", \"Qq77\") -> ?",
            "\"3\": get(\"c\") -> nil"
        ]
    );
    assert_eq!(
        operations("s2"),
        [
            "0: append(3) -> 3",
            "1: tail() -> 0",
            "0: append_at(1, 3) -> ?",
            "1: tail() -> 4",
            "2: fence(1, \"t1\") -> 5",
            "2: append_fenced(2, \"t0\") -> failed",
            "3: append_if([1, 5, nil, \"t2\"]) -> 6"
        ]
    );
    assert_eq!(
        operations("etcd-report"),
        [
            "\"past 2 6800\": get(\"k1\") -> [77, 3, 3]",
            "\"watch 3 k1 5400\": get(\"k1\") -> [77, 3, 3]",
            "\"watch 4 k1 5400\": get(\"k1\") -> [nil, 0, 4]",
            "1: txn([[], [[\"Put\", \"k1\", \"7\", nil]], []]) -> [true, true, [[nil, 0]], 2]",
            "2: get(\"k1\") -> [\"7\", 2, 2]",
            "1: txn([[[\"k1\", \"ModRevision\", 2]], [[\"Put\", \"k1\", 77, nil]], [[\"Get\", \"k1\", nil, nil]]]) -> ?",
            "3: range(\"k\", \"l\") -> [[[\"k1\", 77, 3]], 3]",
            "3: txn([[], [[\"Delete\", \"k1\", nil, nil]], []]) -> [true, true, [[nil, 1]], 4]",
            "1: txn([[[\"k2\", \"ModRevision\", 0]], [[\"Put\", \"k2\", \"8\", nil]], []]) -> [true, true, [[nil, 0]], 5]",
            "1: txn([[[\"k2\", \"ModRevision\", 5]], [[\"Delete\", \"k2\", nil, nil]], [[\"Get\", \"k2\", nil, nil]]]) -> [true, true, [[nil, 1]], 6]",
            "2: range(\"k\", \"l\") -> [[], 6]",
            "2: txn([[[\"k3\", \"Version\", 1]], [[\"Put\", \"k3\", \"9\", 7]], [[\"Get\", \"k1\", nil, nil], [\"Put\", \"k3\", \"1\", nil]]]) -> [false, true, [[nil, 0], [nil, 0]], 7]",
            "2: txn([[], [[\"Range\", \"k\", nil, nil, \"l\"], [\"Put\", \"k4\", \"2\", nil]], []]) -> [true, true, [[nil, 0, [[\"k3\", \"1\", 7]]], [nil, 0]], 8]"
        ]
    );
}

#[test]
fn an_unmatched_record_is_shown_or_left_out_and_counted() {
    let text = "{\"process\":0,\"type\":\"invoke\",\"f\":\"read\"}\n{\"process\":0,\"type\":\"OK\",\"value\":1}\n";
    let error = read("jepsen-json", text).unwrap_err();
    for said in
        ["log:2: ", "type == \"ok\"", "`type` is \"OK\", and a rule is for \"ok\"", "\"value\": 1"]
    {
        assert!(error.contains(said), "{error}");
    }
    let map = Map::parse("own.toml", ready_map("jepsen-json").unwrap().text).unwrap();
    let mapped = map.read(text.as_bytes(), "log", Unmatched::Skip).unwrap();
    assert_eq!((mapped.skipped, mapped.history.len()), (1, 1));
    let remarks = mapped.history.remarks().join("\n");
    assert!(remarks.contains("1 of 2 records were left out"), "{remarks}");
    assert!(
        remarks.contains("own.toml: no record is for 4 of its 5 rules, those of lines 14, "),
        "{remarks}"
    );
}

#[test]
fn a_missing_field_names_its_path_and_an_ambiguous_record_both_rules() {
    let error = read(
        "porcupine-json",
        "{\"ClientId\":0,\"Input\":{\"op\":0},\"Output\":{\"value\":1},\"Call\":1,\"Return\":2}",
    );
    assert!(error.unwrap_err().contains("log:1: expected key: the field `Input.Key`"));
    let map =
        Map::parse("m", "[[rule]]\nis='skip'\nwhen='a == 1'\n[[rule]]\nis='skip'\nwhen='b == 1'\n")
            .unwrap();
    let error =
        map.read(&b"{\"a\":1,\"b\":1}"[..], "log", Unmatched::Skip).unwrap_err().to_string();
    assert!(
        error.contains("`a == 1` (skip, line 1)") && error.contains("`b == 1` (skip, line 4)"),
        "{error}"
    );
}

#[test]
fn events_are_ordered_by_their_times_where_a_map_says_so() {
    let text = "order = 'time'\nunit = 's'\nid = 'id'\ntime = 'at'\n\
                [[rule]]\nis = 'call'\nwhen = 'e == \"+\"'\nop = '\"w\"'\n[[rule]]\nis = 'return'\nwhen = 'e == \"-\"'\n";
    let map = Map::parse("m", text).unwrap();
    let log = "{\"e\":\"+\",\"id\":1,\"at\":0.5}\n{\"e\":\"-\",\"id\":1,\"at\":\"0.75\"}\n{\"e\":\"+\",\"id\":2,\"at\":0.25}\n";
    let history = map.read(log.as_bytes(), "log", Unmatched::Refuse).unwrap().history;
    let seen: Vec<_> = history.operations().map(|op| (op.call(), op.ret())).collect();
    assert_eq!(seen, [(250_000_000, None), (500_000_000, Some(750_000_000))]);
    assert_eq!(history.moment(500_000_000).unwrap(), "500 ms");
}

#[test]
fn a_process_that_calls_again_is_an_error_with_a_hint_or_has_timed_out() {
    let rules = "process = 'p'\n[[rule]]\nis = 'call'\nwhen = 't == \"c\"'\nop = '\"read\"'\n\
                 [[rule]]\nis = 'return'\nwhen = 't == \"r\"'\nresult = 'v'\n";
    let log = "{\"p\":1,\"t\":\"c\"}\n{\"p\":1,\"t\":\"c\"}\n{\"p\":1,\"t\":\"r\",\"v\":2}\n";
    for order in ["", "order = 'time'\ntime = '0'\n"] {
        let strict = Map::parse("m", &format!("{order}{rules}")).unwrap();
        let error = strict.read(log.as_bytes(), "log", Unmatched::Refuse).unwrap_err().to_string();
        assert!(error.starts_with("log:2: ") && error.contains("busy = \"timed-out\""), "{error}");
        let lenient = Map::parse("m", &format!("busy = 'timed-out'\n{order}{rules}")).unwrap();
        let history = lenient.read(log.as_bytes(), "log", Unmatched::Refuse).unwrap().history;
        assert_eq!((history.len(), history.tally().pending), (2, 1));
        assert!(
            history.remarks()[0].contains("1 calls were still open"),
            "{:?}",
            history.remarks()
        );
    }
}

/// A record with the names of the formats, and anything as their values.
fn random_value(random: &mut Random, depth: usize) -> Value {
    let names = [
        "type",
        "process",
        "f",
        "value",
        "event",
        "Start",
        "Finish",
        "Append",
        "client_id",
        "op_id",
        "Input",
        "Output",
        "Txn",
        "Range",
        "KVs",
        "Type",
        "ClientId",
        "Call",
        "Return",
        "op",
        "key",
        "OperationsOnSuccess",
        "Conditions",
    ];
    let texts = [
        "invoke",
        "ok",
        "info",
        "txn",
        "range",
        "put-operation",
        "Read",
        "CheckTail",
        "nemesis",
        "é\u{0}",
        "",
    ];
    match random.below(if depth == 0 { 5 } else { 8 }) {
        0 => Value::Nil,
        1 => Value::Bool(random.one_in(2)),
        2 => Value::Int(random.next() as i64 >> random.below(64)),
        3 => Value::text(random.pick::<&str>(&texts)),
        4 => Value::number("1.5"),
        5 => Value::list(
            (0..random.below(3)).map(|_| random_value(random, depth - 1)).collect::<Vec<_>>(),
        ),
        _ => {
            let mut entries: Vec<(Value, Value)> = (0..random.below(8))
                .map(|_| {
                    (Value::text(random.pick::<&str>(&names)), random_value(random, depth - 1))
                })
                .collect();
            entries.sort();
            entries.dedup_by(|a, b| a.0 == b.0);
            Value::map(entries)
        }
    }
}

#[test]
fn random_records_never_panic() {
    let maps: Vec<Map> =
        ready_maps().map(|ready| Map::parse(ready.name, ready.text).unwrap()).collect();
    let mut random = Random(4);
    let mut read = 0;
    for _ in 0..4_000 {
        let mut text = Vec::new();
        for _ in 0..=random.below(3) {
            write_value(&mut text, &random_value(&mut random, 4)).unwrap();
            text.push(b'\n');
        }
        if random.one_in(4) {
            let place = random.index(text.len());
            text[place] = random.next() as u8;
        }
        for map in &maps {
            for unmatched in [Unmatched::Refuse, Unmatched::Skip] {
                read += usize::from(map.read(&text[..], "log", unmatched).is_ok());
            }
        }
    }
    assert!(
        read > 100,
        "only {read} logs were read: the others say nothing of what comes after the rules"
    );
}
