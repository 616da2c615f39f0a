//! The formats that are read, and what is refused with its line.

use seriatim_transactions::{
    Checker, Clock, Demand, Level, Op, Options, Outcome, Standing, check, read_str,
};

/// The strongest of these levels that holds, strongest first.
fn strongest(text: &str, levels: &[Level]) -> Option<Level> {
    let history = read_str("test", text).unwrap_or_else(|error| panic!("{error}"));
    let mut checker = Checker::new(&history, &Options::default());
    let holds = |level: &&Level| {
        matches!(checker.check(**level).expect("no defect").standing, Standing::Satisfied(_))
    };
    levels.iter().find(holds).copied()
}

const WITHOUT_TIMES: [Level; 5] = [
    Level::Serializable,
    Level::SnapshotIsolation,
    Level::Causal,
    Level::ReadAtomic,
    Level::ReadCommitted,
];

#[test]
fn one_history_is_read_the_same_from_every_format() {
    let lost_update = [
        "{:type :invoke, :process 0, :value [[:r x nil] [:w x 1]]}
         {:type :invoke, :process 1, :value [[:r x nil] [:w x 2]]}
         {:type :ok, :process 0, :value [[:r x nil] [:w x 1]]}
         {:type :ok, :process 1, :value [[:r x nil] [:w x 2]]}",
        "[{:type :ok, :f :txn, :value [[:r :x nil] [:w :x 1]]}
          {:type :ok, :f :txn, :value [[:r :x nil] [:w :x 2]]}]",
        r#"{"type":"ok","process":0,"value":[["r","x",null],["w","x",1]]}
           {"type":"ok","process":1,"value":[["r","x",null],["w","x",2]]}"#,
        r#"[{"type":"ok","process":0,"value":[["r","x",null],["w","x",1]]},
            {"type":"ok","process":1,"value":[["r","x",null],["w","x",2]]}]"#,
        "r 7 0\nw 7 1\n====\nr 7 0\nw 7 2\n",
        "r(7,0,0,0)\nw(7,1,0,0)\nr(7,0,1,1)\nw(7,2,1,1)\n",
        "[x==0 x:=1]\n---\n[x==? x:=2]\n",
        r#"[[{"events":[{"Read":{"variable":0,"version":null}},
                        {"Write":{"variable":0,"version":1}}],"committed":true}],
            [{"events":[{"Read":{"variable":0,"version":0}},
                        {"Write":{"variable":0,"version":2}}],"committed":true}]]"#,
    ];
    for text in lost_update {
        assert_eq!(strongest(text, &WITHOUT_TIMES), Some(Level::Causal), "{text}");
    }
}

#[test]
fn our_json_lines_of_transactions_are_read() {
    let text = r#"{"process":0,"call":1,"return":2,"op":"txn","arg":[["w","x",1]],"result":[["w","x",1]]}
{"process":1,"call":3,"return":4,"op":"txn","arg":[["r","x",null]],"result":[["r","x",null]]}
"#;
    let levels = [Level::StrictSerializable, Level::Serializable];
    assert_eq!(strongest(text, &levels), Some(Level::Serializable));
}

#[test]
fn outcomes_and_times_are_kept() {
    let text = "{:type :invoke, :process 0, :value [[:w x 1] [:r y nil]]}
                {:type :info, :process 0, :value [[:w x 1] [:r y nil]]}
                {:type :invoke, :process 1, :value [[:w x 2]]}
                {:type :fail, :process 1, :value [[:w x 2]]}
                {:type :info, :process :nemesis, :value :partition}
                {:type :invoke, :process 2, :value [[:w x 3]]}";
    let history = read_str("test", text).expect("a history");
    let outcomes: Vec<Outcome> = history.list().iter().map(|txn| txn.outcome).collect();
    assert_eq!(outcomes, [Outcome::Unknown, Outcome::Aborted, Outcome::Unknown]);
    assert!(history.list().iter().all(|txn| txn.ret.is_none() && txn.ops.len() == 1));
    assert_eq!(history.clock(), Clock::Recorded);
    let untimed = read_str("test", "[x:=1]\n").expect("a history");
    assert_eq!(untimed.clock(), Clock::Absent);
    assert!(matches!(untimed.list()[0].ops[0], Op::Write(..)));
}

#[test]
fn what_is_no_history_of_transactions_is_refused_with_its_line() {
    let cases = [
        (
            "{:type :ok, :process 0, :value [[:r x nil]]}\n{:type :ok, :process 0, :value [[:cas x 1]]}",
            2,
        ),
        ("{:type :ok, :process 0, :value [[:inc x 1]]}\n{:type :ok, :value [[:inc x y]]}", 2),
        ("{:type :ok, :process 0, :value [[:inc x 1]]}\n{:type :ok, :value [[:w x 2]]}", 2),
        ("{:type :ok, :process 0, :value [[:inc x 1]]}\n{:type :ok, :value [[:r x [1]]]}", 2),
        ("{:type :ok, :process 0, :value [[:inc x 1]]}\n{:type :ok, :value [[:r x y]]}", 2),
        ("{:type :ok, :process 0, :value [[:inc x 1]]}\n{:type :ok, :value [[:add x 2]]}", 1),
        ("{:type :ok, :process 0, :value [[:w x 1]]}\n\n{:type :ok, :process 0, :value 7}", 3),
        ("{:type :ok, :process 0, :value [[:w x 1]]}\n{:type :maybe, :process 0, :value []}", 2),
        ("{:type :ok, :process 0, :value [[:append x 1]]}\n{:type :ok, :value [[:w x 2]]}", 2),
        ("{:type :ok, :process 0, :value [[:append x 1]]}\n{:type :ok, :value [[:r x 1]]}", 2),
        (
            "{:type :invoke, :process 0, :value [[:w x 1]]}\n{:type :invoke, :process 0, :value []}",
            2,
        ),
        ("{:type :ok, :process 0, :value [[:w x 1]]", 1),
        ("r 1 0\nw 1 x\n", 2),
        ("r(1,2,3,4)\nr(1,2,3)\n", 2),
        ("[x:=1]\n[x=1]\n", 2),
        ("w(1,1,0,5)\nr(1,1,1,5)\n", 2),
        (r#"[[{"events":[],"committed":"no"}]]"#, 0),
        (r#"[[{"events":[]}]]"#, 0),
    ];
    for (text, line) in cases {
        let error = read_str("test", text).expect_err(text);
        assert_eq!(error.line, line, "{text}: {error}");
    }
}

#[test]
fn a_completion_that_tells_of_something_else_than_its_call_is_refused_with_its_line() {
    // Lists of JSON are lists of EDN.
    let written = |&(called, kind, told): &(&str, &str, &str)| {
        let edn = format!(
            "{{:type :invoke, :process 0, :value {called}}}
{{:type :{kind}, :process 0, :value {told}}}"
        );
        let json = format!(
            r#"{{"type":"invoke","process":0,"value":{called}}}
{{"type":"{kind}","process":0,"value":{told}}}"#
        );
        let ours = format!(
            r#"{{"process":0,"op":"txn","arg":{called},"result":{told},"call":1,"return":2}}"#
        );
        let lines = [(edn, 2), (json, 2), (ours, 1)];
        lines.into_iter().take(if kind == "ok" { 3 } else { 2 }).collect::<Vec<_>>()
    };
    let refused = [
        (r#"[["w","x",1]]"#, "ok", r#"[["w","x",2]]"#),
        (r#"[["w","x",1]]"#, "ok", r#"[["w","y",1]]"#),
        (r#"[["w","x",1]]"#, "ok", r#"[["r","x",1]]"#),
        (r#"[["r","x",null]]"#, "ok", r#"[["r","y",1]]"#),
        (r#"[["r","x",null]]"#, "ok", r#"[["w","x",1]]"#),
        (r#"[["w","x",1],["r","x",null]]"#, "ok", r#"[["w","x",1]]"#),
        (r#"[["w","x",1]]"#, "ok", r#"[["w","x",1],["r","y",null]]"#),
        (r#"[["append","x",1]]"#, "ok", r#"[["append","x",2]]"#),
        (r#"[["inc","x",1]]"#, "ok", r#"[["inc","x",2]]"#),
        (r#"[["w","x",1]]"#, "fail", r#"[["w","x",2]]"#),
        (r#"[["w","x",1]]"#, "info", r#"[["w","x",1],["w","y",1]]"#),
    ];
    for (text, line) in refused.iter().flat_map(written) {
        let error = read_str("test", &text).expect_err(&text);
        assert_eq!(error.line, line, "{text}: {error}");
    }
    // Reads are told by the completion; who did not commit may not have come to the end.
    let taken = [
        (r#"[["w","x",1],["r","y",null]]"#, "ok", r#"[["w","x",1],["r","y",2]]"#),
        (r#"[["w","x",1],["r","y",null]]"#, "info", r#"[["w","x",1]]"#),
        (r#"[["w","x",1],["r","y",null]]"#, "fail", "null"),
    ];
    for (text, _) in taken.iter().flat_map(written) {
        read_str("test", &text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}

#[test]
fn without_processes_a_completion_belongs_to_the_one_open_call_that_it_repeats() {
    let calls = "{:type :invoke, :value [[:w x 1]]}\n{:type :invoke, :value [[:r x nil]]}\n";
    let done = "{:type :ok, :value [[:w x 1]]}\n{:type :ok, :value [[:r x nil]]}\n";
    let history = read_str("test", &format!("{calls}{done}")).expect("a history");
    assert_eq!(history.list().iter().map(|txn| txn.call).collect::<Vec<_>>(), [1, 2]);
    // Which of two equal calls is over nobody knows, nor to which one this belongs.
    for text in
        [format!("{calls}{calls}{done}"), format!("{calls}{{:type :ok, :value [[:w x 2]]}}")]
    {
        let line = text.matches(":invoke").count() as u64 + 1;
        assert_eq!(read_str("test", &text).expect_err(&text).line, line, "{text}");
    }
}

#[test]
fn a_process_may_have_a_name_and_only_infos_out_of_a_call_are_left_out() {
    let text = r#"{"type":"invoke","process":"ann","value":[["w","x",1]]}
{"type":"ok","process":"ann","value":[["w","x",1]]}
{"type":"info","process":"nemesis","value":"partition"}
{"type":"invoke","process":"bob","value":[["r","x",null]]}
{"type":"ok","process":"bob","value":[["r","x",null]]}
"#;
    let levels = [Level::StrictSerializable, Level::Serializable];
    assert_eq!(strongest(text, &levels), Some(Level::Serializable));
    // A write of a register may be told to be over without its value.
    let text = "{:type :invoke, :process 0, :f :write, :value 3}
{:type :ok, :process 0, :f :write, :value nil}
{:type :invoke, :process 1, :f :read}
{:type :ok, :process 1, :f :read, :value 3}
";
    assert_eq!(strongest(text, &levels), Some(Level::StrictSerializable));
}

#[test]
fn a_register_may_hold_a_list() {
    let text = "[{:type :ok, :process 0, :value [[:w x [1 2]]]}
                 {:type :ok, :process 1, :value [[:r x [1 2]]]}]";
    assert_eq!(strongest(text, &[Level::Serializable]), Some(Level::Serializable));
}

#[test]
fn a_set_is_a_register_for_each_of_its_elements() {
    let text = "{:type :ok, :process 0, :value [[:add s 1]]}
{:type :ok, :process 1, :value [[:add s 2] [:r s #{2}]]}
{:type :ok, :process 2, :value [[:r s #{1}]]}
{:type :ok, :process 3, :value [[:r s [2]]]}
";
    let answer = |text: &str| {
        let history = read_str("sets", text).expect("a history");
        let standing = check(&history, Level::Serializable, &Options::default()).unwrap().standing;
        matches!(standing, Standing::Satisfied(_))
    };
    // One reader saw 1 without 2, the other 2 without 1.
    assert!(!answer(text));
    assert!(answer(&text.replace("[2]", "[1 2]").replace("#{2}", "#{1 2}")));
    assert!(!answer(
        "{:type :ok, :process 0, :value [[:add s 1]]}\n{:type :ok, :process 1, :value [[:r s #{3}]]}"
    ));
    // A read of a set sees all elements at once: that it misses one of a transaction's additions is
    // fractured, but no later read that goes back behind an earlier one, whichever element comes
    // first.
    for [seen, missed] in [[1, 2], [2, 1]] {
        let text = format!(
            "{{:type :ok, :process 0, :value [[:r s #{{{seen}}}]]}}
{{:type :ok, :process 1, :value [[:add s {missed}] [:add s {seen}]]}}"
        );
        let history = read_str("sets", &text).expect("a history");
        let holds = |level| {
            let standing = check(&history, level, &Options::default()).unwrap().standing;
            matches!(standing, Standing::Satisfied(_))
        };
        let levels = [Level::ReadCommitted, Level::MonotonicReads, Level::ReadAtomic];
        assert_eq!(levels.map(holds), [true, true, false]);
    }
    let both = "{:type :ok, :process 0, :value [[:add s 1] [:append s 2]]}";
    let error = read_str("sets", both).unwrap_err().to_string();
    assert!(error.contains("additions or appends") && error.contains(":1:"), "{error}");
}

#[test]
fn an_element_is_in_a_set_once_and_in_no_other() {
    let holds = |text: &str| {
        let history = read_str("sets", text).expect("a history");
        let holds = |&level: &Level| {
            let standing = check(&history, level, &Options::default()).unwrap().standing;
            matches!(standing, Standing::Satisfied(_))
        };
        Level::ALL
            .iter()
            .filter(|level| level.demand() != Demand::RealTime)
            .map(holds)
            .collect::<Vec<_>>()
    };
    let read = |listed: &str| {
        holds(&format!(
            "{{:type :ok, :process 0, :value [[:add s 1]]}}
{{:type :ok, :process 1, :value [[:r s {listed}]]}}"
        ))
    };
    assert!(read("[1]").iter().all(|&holds| holds));
    // Added twice, it would still be there once.
    assert!(read("[1 1]").iter().all(|&holds| !holds));
    // The element c of the set a∋b and the element b∋c of the set a are shown alike.
    let alike = holds(
        "{:type :ok, :process 0, :value [[:add :a∋b :c]]}
{:type :ok, :process 1, :value [[:add :a :d]]}
{:type :ok, :process 1, :value [[:r :a [:d :b∋c]]]}",
    );
    assert!(alike.iter().all(|&holds| !holds));
}

#[test]
fn increments_of_a_counter_add_up() {
    let answer = |text: &str, level: Level| {
        let history = read_str("counters", text).expect("a history");
        check(&history, level, &Options::default()).expect("no defect").standing
    };
    let text = "{:type :ok, :process 0, :value [[:inc x 1] [:r x 3]]}
{:type :ok, :process 1, :value [[:inc x 2] [:inc y 5]]}
{:type :ok, :process 2, :value [[:r x 2] [:r y 5]]}
{:type :ok, :process 2, :value [[:dec y 1] [:r y 4] [:r x 3]]}
";
    assert!(matches!(answer(text, Level::Serializable), Standing::Satisfied(_)));
    // Whoever saw 2 of x saw all of what its incrementer did.
    let fractured = text.replace("[:r y 5]", "[:r y 0]");
    let Standing::Violated(violation) = answer(&fractured, Level::Serializable) else {
        panic!("no order adds up");
    };
    assert_eq!(violation.explanation.anomaly.name, "counter");
    // A smaller past than a prefix might explain it: nobody knows.
    assert!(matches!(answer(&fractured, Level::ReadCommitted), Standing::Unknown(_)));
    // Whether an unknown transaction incremented is told by the sum.
    let unknown = |sum: &str| {
        let read = format!("{{:type :ok, :process 1, :value [[:r x {sum}]]}}");
        let text = format!("{{:type :info, :process 0, :value [[:inc x 3]]}}\n{read}");
        matches!(answer(&text, Level::StrictSerializable), Standing::Satisfied(_))
    };
    assert!(unknown("3") && unknown("0") && !unknown("1"));
    // Beside other counters, a key that is always read as 0 is one that nobody has incremented yet.
    let fresh = format!("{text}{{:type :ok, :process 3, :value [[:r z 0]]}}\n");
    assert!(matches!(answer(&fresh, Level::Serializable), Standing::Satisfied(_)));
    let unwritten = fresh.replace("[:r z 0]", "[:r z 1]");
    assert!(matches!(answer(&unwritten, Level::Serializable), Standing::Violated(_)));
}

#[test]
fn words_of_json_are_shown_as_those_of_edn_and_other_texts_in_quotes() {
    let shown = |text: &str| {
        let history = read_str("test", text).expect("a history");
        let ops = history.list().iter().flat_map(|txn| &txn.ops);
        ops.map(|op| history.op_text(op)).collect::<Vec<String>>().join(" ")
    };
    let json = r#"{"type":"ok","value":[["w","x",1],["w","a b",1],["w","7",1],["w","nil",1]]}"#;
    assert_eq!(shown(json), r#"w(x,1) w("a b",1) w("7",1) w("nil",1)"#);
    // A name and a text may be two keys: then one can tell them apart.
    let edn = r#"{:type :ok, :value [[:w :x 1] [:w "x" 1] [:w "y" 1]]}"#;
    assert_eq!(shown(edn), r#"w(x,1) w("x",1) w(y,1)"#);
}

#[test]
fn forms_that_are_left_out_nest_as_deep_as_others_and_no_deeper() {
    let event = "{:type :ok, :process 0, :value [[:w x 1]]}";
    let many =
        |count: usize| format!("{}1 {} {event}", "#_ ".repeat(count), "2 ".repeat(count - 1));
    assert!(read_str("test", &many(100)).is_ok());
    let error = read_str("test", &many(200_000)).expect_err("too deep").to_string();
    assert!(error.contains("forms that nest at most 128 deep"), "{error}");
}

#[test]
fn every_escape_of_json_is_read() {
    let event = |key: &str| format!(r#"{{"type":"ok","process":0,"value":[["w",{key},1]]}}"#);
    let plain = format!("{:?}", "\u{8}\u{c}\n\r\t\"\\/é\u{1f600}");
    let escaped = r#""\b\f\n\r\t\"\\\/\u00e9\ud83d\ude00""#;
    let read = |key: &str| read_str("test", &event(key)).map(|history| format!("{history:?}"));
    assert!(read(escaped).expect("JSON").contains(&plain));
    for broken in [r#""\ud83d""#, r#""\ude00\ud83d""#, r#""\ud83d\u0041""#, r#""\u+123""#] {
        assert!(read(broken).is_err(), "{broken}");
    }
}
