//! `seriatim check --level`: isolation levels of transactions.

use crate::run::{file, folder, seriatim, seriatim_reading};
use crate::schema::Schema;

const STALE: &str = "{:type :invoke, :process 0, :value [[:w x 1]]}
{:type :ok, :process 0, :value [[:w x 1]]}
{:type :invoke, :process 1, :value [[:r x nil]]}
{:type :ok, :process 1, :value [[:r x nil]]}
";

#[test]
fn a_level_is_answered_with_a_drawn_cycle_and_the_exit_code_of_a_check() {
    let folder = folder("levels");
    let stale = file(&folder, "stale.edn", STALE);
    let asked =
        |level: &str| seriatim(&["check", "--spec", "transactions", "--level", level, &stale]);
    asked("serializable").exits(0).says("satisfied");
    asked("strict-serializable")
        .exits(1)
        .says("G-single-realtime")
        .says("T2 ── rw x ─▶ T1")
        .says("T1 returned at 2, before T2 was called at 3");
    asked("all")
        .exits(1)
        .says("strongest that hold: strong-session-serializable")
        .says("weakest that fail:   strong-snapshot-isolation");
    seriatim(&["check", "--level", "sser", "--ascii", &stale]).exits(1).says("T2 -- rw x -> T1");
}

#[test]
fn the_json_of_a_level_holds_the_evidence() {
    let run =
        seriatim_reading(STALE.as_bytes(), &["check", "--level", "all", "--json", "-"]).exits(1);
    let report: serde_json::Value = serde_json::from_str(&run.out).expect("one line of JSON");
    let strict = &report["levels"][0];
    assert_eq!(strict["verdict"], "violated");
    assert_eq!(strict["violation"]["confirmed"], true);
    assert_eq!(strict["violation"]["proof"]["cycle"][0]["why"], "rw");
    assert_eq!(report["levels"][2]["witness"]["order"], serde_json::json!([1, 0]));
}

/// Histories that satisfy and violate levels in every way there is: cycles, cases, flaws, counters,
/// sets, repeated values, unknown outcomes, no times, nothing at all.
const KINDS: [(&str, &str); 9] = [
    ("stale.edn", STALE),
    (
        "lost-update.edn",
        "{:type :ok, :process 0, :value [[:r x nil] [:w x 1]]}
{:type :ok, :process 1, :value [[:r x nil] [:w x 2]]}
",
    ),
    (
        "aborted.edn",
        "{:type :fail, :process 0, :value [[:w x 1]]}\n{:type :ok, :process 1, :value [[:r x 1]]}\n",
    ),
    (
        "lists.edn",
        "{:type :ok, :process 0, :value [[:append x 1]]}
{:type :ok, :process 0, :value [[:append x 2]]}
{:type :ok, :process 1, :value [[:r x [2 1]]]}
",
    ),
    (
        "counter.edn",
        "{:type :ok, :process 0, :value [[:inc x 2] [:inc y 1]]}
{:type :ok, :process 1, :value [[:r x 2] [:r y 0]]}
",
    ),
    (
        "repeated.edn",
        "{:type :ok, :process 0, :value [[:w x 1]]}
{:type :ok, :process 1, :value [[:w x 1] [:w y 1]]}
{:type :ok, :process 2, :value [[:r x 1] [:r y nil]]}
",
    ),
    ("untimed.hist", "[x:=1 y:=1]\n---\n[x==1 y==0]\n"),
    (
        "cases.edn",
        "{:type :ok, :process 0, :value [[:w x 1] [:w y 1]]}
{:type :ok, :process 1, :value [[:w x 2] [:w y 2]]}
{:type :ok, :process 2, :value [[:r x 1] [:r y 2]]}
{:type :ok, :process 3, :value [[:r x 2] [:r y 1]]}
",
    ),
    ("nothing.edn", ""),
];

#[test]
fn the_json_of_every_level_and_order_obeys_the_schema() {
    let (schema, folder) = (Schema::load(), folder("levels-schema"));
    let obeys = |arguments: &[&str]| {
        let said = seriatim(arguments).out;
        let report: serde_json::Value = serde_json::from_str(&said).expect("one line of JSON");
        schema.validate(&report).unwrap_or_else(|problem| panic!("{problem}: {said}"));
        report
    };
    let mut verdicts = std::collections::BTreeSet::new();
    for (name, text) in KINDS {
        let file = file(&folder, name, text);
        let report = obeys(&["check", "--level", "all", "--json", &file]);
        let levels = report["levels"].as_array().expect("a list");
        assert_eq!(levels.len(), 15, "{name}");
        for answer in levels {
            verdicts.insert((answer["level"].to_string(), answer["verdict"].to_string()));
        }
    }
    // Each level was satisfied here and violated there.
    let decided = verdicts.iter().filter(|(_, verdict)| verdict != "\"unknown\"");
    assert_eq!(decided.count(), 30, "{verdicts:?}");
    assert!(verdicts.len() > 30, "none was unknown");
    let dekker = file(&folder, "dekker.jsonl", DEKKER);
    for order in ["real-time", "process", "none"] {
        obeys(&["check", "--spec", "map", "--order", order, "--json", &dekker]);
    }
    let bank = "{:type :invoke, :process 0, :f :read}
{:type :ok, :process 0, :f :read, :value {0 90, 1 5}}
";
    let bank = file(&folder, "bank.edn", bank);
    obeys(&["check", "--spec", "bank(total=100)", "--json", &bank]);
}

#[test]
fn a_level_is_refused_where_it_makes_no_sense() {
    let folder = folder("levels-refused");
    let stale = file(&folder, "stale.edn", STALE);
    let broken = file(&folder, "broken.edn", "{:type :ok, :process 0, :value [[:cas x 1]]}");
    seriatim(&["check", "--level", "all", &broken]).exits(2).complains("broken.edn:1: ");
    seriatim(&["check", "--level", "linear", &stale]).exits(2).complains("expected a level");
    seriatim(&["check", "--spec", "queue", "--level", "all", &stale]).exits(2);
    seriatim(&["check", "--level", "all", "--verdicts", "x", &stale]).exits(2);
    let changed =
        STALE.replace(":ok, :process 0, :value [[:w x 1]]", ":ok, :process 0, :value [[:w x 2]]");
    let changed = file(&folder, "changed.edn", &changed);
    seriatim(&["check", "--level", "all", &changed]).exits(2).complains(
        "changed.edn:2: expected [w, x, 1], as the call of line 1 says, found `[w, x, 2]`",
    );
    let nothing = file(&folder, "nothing.edn", "");
    seriatim(&["check", "--level", "all", &nothing]).exits(0).says("nothing was checked");
    seriatim(&["check", "--spec", "register", "--order", "process", &nothing])
        .exits(0)
        .says("nothing was checked");
    let untimed = file(&folder, "untimed.hist", "[x:=1]\n---\n[x==1]\n");
    seriatim(&["check", "--level", "all", &untimed]).exits(0).says("no times are recorded");
    seriatim(&["check", "--level", "strict-serializable", &untimed]).exits(3);
}

/// Each process writes a key and then misses what the other one wrote, all in their own time.
const DEKKER: &str = r#"{"process":0,"op":"put","arg":["x",1],"call":1,"return":2}
{"process":1,"op":"put","arg":["y",1],"call":1,"return":2}
{"process":0,"op":"get","arg":"y","result":null,"call":3,"return":4}
{"process":1,"op":"get","arg":"x","result":null,"call":3,"return":4}
"#;

#[test]
fn one_run_says_which_levels_hold_and_which_keys_are_linearizable() {
    let folder = folder("levels-keys");
    // Both keys are linearizable, yet no order of the transactions explains both reads.
    let skew = "{:type :invoke, :process 0, :value [[:w x 1] [:w y 1]]}
{:type :invoke, :process 1, :value [[:r x nil] [:r y nil]]}
{:type :ok, :process 1, :value [[:r x 1] [:r y nil]]}
{:type :ok, :process 0, :value [[:w x 1] [:w y 1]]}
";
    let skew = file(&folder, "skew.edn", skew);
    seriatim(&["check", "--level", "serializable,linearizable-per-key", &skew])
        .exits(1)
        .says("serializable          violated")
        .says("linearizable-per-key  satisfied");
    let stale = file(&folder, "stale.edn", STALE);
    seriatim(&["check", "--level", "serializable,per-key", &stale])
        .exits(1)
        .says("serializable          satisfied")
        .says("violated   keys x (1 of 1)")
        .says("Why key x is not linearizable");
}

#[test]
fn a_map_has_the_session_guarantees_or_not_and_may_be_sequentially_consistent() {
    let folder = folder("levels-map");
    let dekker = file(&folder, "dekker.jsonl", DEKKER);
    seriatim(&["check", "--spec", "map", "--level", "all", &dekker])
        .exits(1)
        .says("read-your-writes                   satisfied")
        .says("strong-session-serializable        violated")
        .says("serializable                       satisfied");
    seriatim(&["check", "--spec", "map", "--order", "process", &dekker])
        .exits(1)
        .says("is not sequentially consistent as a map")
        .says("Confirmed by brute force");
    let (page, junit) = (folder.join("order.html"), folder.join("order.xml"));
    let (page_name, junit_name) = (page.display().to_string(), junit.display().to_string());
    let files = ["--html", &page_name, "--junit", &junit_name, &dekker];
    seriatim(&[&["check", "--spec", "map", "--order", "process"][..], &files].concat()).exits(1);
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.contains("The order that gets farthest") && page.contains("title=\"line 1\""));
    let junit = std::fs::read_to_string(junit).expect("a document");
    assert!(junit.contains("<testcase name=\"sequentially consistent\"><failure"));
    seriatim(&["check", "--spec", "map", "--order", "none", &dekker]).exits(0);
    let stale = r#"{"process":0,"op":"write","arg":1,"call":1,"return":2}
{"process":1,"op":"read","result":null,"call":3,"return":4}
"#;
    let stale = file(&folder, "stale.jsonl", stale);
    seriatim(&["check", "--spec", "register", &stale]).exits(1);
    seriatim(&["check", "--spec", "register", "--order", "process", &stale]).exits(0);
    let run = seriatim(&["check", "--spec", "register", "--order", "process", "--json", &stale]);
    let report: serde_json::Value = serde_json::from_str(&run.exits(0).out).expect("JSON");
    assert_eq!(report["witness"], serde_json::json!([1, 0]));
    assert_eq!(report["linearizable"], false);
    let own = r#"{"process":0,"op":"write","arg":1,"call":1,"return":2}
{"process":0,"op":"read","result":null,"call":3,"return":4}
"#;
    let own = file(&folder, "own.jsonl", own);
    seriatim(&["check", "--spec", "register", "--level", "read-your-writes", &own])
        .exits(1)
        .says("a client does not see its own write");
    seriatim(&["check", "--spec", "register", "--level", "monotonic-reads", &own]).exits(0);
    let own = "{:type :invoke, :process 0, :f :put, :value [x 1]}
{:type :ok, :process 0, :f :put, :value [x 1]}
{:type :invoke, :process 0, :f :get, :value x}
{:type :ok, :process 0, :f :get, :value nil}
";
    let own = file(&folder, "own.edn", own);
    seriatim(&["check", "--spec", "map", "--level", "ryw,mr,per-key", &own])
        .exits(1)
        .says("read-your-writes      violated")
        .says("monotonic-reads       satisfied")
        .says("keys x (1 of 1)");
}

#[test]
fn levels_are_told_to_a_browser_and_to_a_pipeline() {
    let folder = folder("levels-pages");
    let stale = file(&folder, "stale.edn", STALE);
    let (page, junit) = (folder.join("page.html"), folder.join("junit.xml"));
    let (page_name, junit_name) = (page.display().to_string(), junit.display().to_string());
    let options = ["check", "--level", "all", "--html", &page_name, "--junit", &junit_name, &stale];
    seriatim(&options).exits(1);
    let page = std::fs::read_to_string(page).expect("a page");
    assert!(page.contains("<svg") && page.contains("rw x") && page.contains("T1 returned at 2"));
    let junit = std::fs::read_to_string(junit).expect("a document");
    assert!(junit.contains("<testcase name=\"strict-serializable\"><failure"));
    assert!(junit.contains("<testcase name=\"serializable\"></testcase>"));
}

#[test]
fn independent_keys_are_histories_of_their_own() {
    let folder = folder("levels-independent");
    let text = "{:type :invoke, :process 0, :f :txn, :value [1 [[:w x 1]]]}
{:type :ok, :process 0, :f :txn, :value [1 [[:w x 1]]]}
{:type :invoke, :process 0, :f :txn, :value [2 [[:r x nil]]]}
{:type :ok, :process 0, :f :txn, :value [2 [[:r x nil]]]}
";
    let text = file(&folder, "independent.edn", text);
    let options = ["check", "--independent", "--level", "strict-serializable", "--quiet", &text];
    seriatim(&options).exits(0).says("(key 1)").says("(key 2)");
}

#[test]
fn a_long_multi_register_goes_to_the_engine_for_transactions() {
    let log = seriatim(&["gen", "multi-register", "-n", "5000", "--threads", "20"]).exits(0);
    let by_search = ["check", "--spec", "multi-register", "--engine", "search", "-"];
    seriatim_reading(log.out.as_bytes(), &by_search).exits(0);
    seriatim_reading(log.out.as_bytes(), &["check", "--spec", "multi-register", "-"])
        .exits(0)
        .says("decided by transaction engine")
        .says("Replayed by a plain multi-register");
}

#[test]
fn a_violation_of_a_multi_register_is_shown_by_a_few_operations_and_whoever_wrote_what_they_read() {
    for seed in ["1", "2", "3"] {
        let make = ["gen", "multi-register", "-n", "400", "--threads", "6", "--violation"];
        let log = seriatim(&[&make[..], &["--seed", seed]].concat()).exits(0);
        seriatim_reading(log.out.as_bytes(), &["check", "--spec", "multi-register", "-"])
            .exits(1)
            .says("No order explains these 3 operations of register")
            .says("Confirmed by brute force");
    }
    // The engine needs no more than that 1 is read after 2 was written. But to leave out whoever wrote
    // 5 would make the read of 5 the violation.
    let txn = |ops: &str, time: u32| {
        format!(
            r#"{{"process":0,"op":"txn","arg":[{ops}],"result":[{ops}],"call":{time},"return":{}}}"#,
            time + 1
        )
    };
    let write =
        |register: &str, value: u32| format!(r##"[{{"#name":"write"}},"{register}",{value}]"##);
    let read =
        |register: &str, value: u32| format!(r##"[{{"#name":"read"}},"{register}",{value}]"##);
    let log = [
        txn(&write("y", 5), 0),
        txn(&write("x", 1), 2),
        txn(&write("x", 2), 4),
        txn(&[read("x", 1), read("y", 5)].join(","), 6),
    ];
    seriatim_reading(log.join("\n").as_bytes(), &["check", "--spec", "multi-register", "-"])
        .exits(1)
        .says("No order explains these 4 operations of register")
        .says("leaves the multi-register in state {\"x\": 2, \"y\": 5}");
}

#[test]
fn a_bank_keeps_its_total_or_the_read_that_shows_otherwise_is_named() {
    let folder = folder("levels-bank");
    let bank = "{:type :invoke, :process 0, :f :read, :value nil}
{:type :ok, :process 0, :f :read, :value {0 50, 1 50}}
{:type :invoke, :process 0, :f :transfer, :value {:from 0, :to 1, :amount 5}}
{:type :ok, :process 0, :f :transfer, :value {:from 0, :to 1, :amount 5}}
{:type :invoke, :process 0, :f :read, :value nil}
{:type :ok, :process 0, :f :read, :value {0 45, 1 50}}
";
    let broken = file(&folder, "broken.edn", bank);
    seriatim(&["check", "--spec", "bank", &broken]).exits(1).says("the total is 95, not 100");
    let kept = file(&folder, "kept.edn", bank.replace("{0 45, 1 50}", "{0 45, 1 55}"));
    seriatim(&["check", "--spec", "bank(total=100)", &kept]).exits(0);
    seriatim(&["check", "--spec", "bank(total=90)", &kept]).exits(1).says("2 of 2 reads");
    seriatim(&["check", "--spec", "bank(sum=1)", &kept]).exits(2).complains("expected bank(");
}

/// Elle's events in a form of somebody's own, read by a map.
#[test]
fn levels_are_asked_of_logs_that_a_map_reads() {
    let folder = folder("levels-map");
    let map = "unit = \"ms\"
process = 'who'
time = 'at'
[[rule]]
when = 'what == \"begin\"'
is = \"call\"
op = '\"txn\"'
arg = 'steps'
[[rule]]
when = 'what == \"commit\"'
is = \"return\"
result = 'steps'
";
    let event = |who: u32, what: &str, steps: &str, at: u32| {
        format!("{{\"who\":{who},\"what\":\"{what}\",\"steps\":{steps},\"at\":{at}}}\n")
    };
    let log = |write: &str, asked: &str, read: &str| {
        let all = [
            event(0, "begin", write, 1),
            event(0, "commit", write, 2),
            event(1, "begin", asked, 3),
            event(1, "commit", read, 4),
        ];
        all.concat()
    };
    let rules = file(&folder, "map.toml", map);
    let stale = log(r#"[["w","x",1]]"#, r#"[["r","x",null]]"#, r#"[["r","x",null]]"#);
    let stale = file(&folder, "stale.jsonl", &stale);
    let level = |name: &str| seriatim(&["check", "--map", &rules, "--level", name, "-q", &stale]);
    level("serializable").exits(0).says("satisfied");
    level("strict-serializable").exits(1).says("violated");
    let keyed =
        log(r#"["a",[["w","x",1]]]"#, r#"["b",[["r","x",null]]]"#, r#"["b",[["r","x",null]]]"#);
    let keyed = file(&folder, "keyed.jsonl", &keyed);
    let asked = ["--map", &rules, "--level", "strict-serializable", "-q", &keyed];
    seriatim(&[&["check", "--independent"][..], &asked].concat())
        .exits(0)
        .says("(key \"a\"): strict-serializable satisfied")
        .says("(key \"b\"): strict-serializable satisfied");
    seriatim(&[&["check"][..], &asked].concat()).exits(2).complains("a micro-operation");
    let wrong =
        log(r#"["a",[["w","x",1]]]"#, r#"["b",[["r","x",null]]]"#, r#"["c",[["r","x",null]]]"#);
    let wrong = file(&folder, "wrong.jsonl", &wrong);
    seriatim(&["check", "--independent", "--map", &rules, &wrong])
        .exits(2)
        .complains("as the call says");
}

#[test]
fn transactions_of_several_objects_are_not_taken_for_one_database() {
    let line = |object: &str, step: &str, at: u32| {
        format!(
            "{{\"process\":{at},\"object\":\"{object}\",\"op\":\"txn\",\"arg\":[{step}],\"result\":[{step}],\"call\":{at},\"return\":{at}}}\n"
        )
    };
    let folder = folder("levels-objects");
    let read = r#"["r","x",null]"#;
    let two = [line("a", r#"["w","x",1]"#, 1), line("b", read, 2)].concat();
    let two = file(&folder, "two.jsonl", &two);
    seriatim(&["check", "--level", "all", "-q", &two])
        .exits(2)
        .complains("operations of one object");
    let one = [line("a", r#"["w","x",1]"#, 1), line("a", read, 2)].concat();
    let one = file(&folder, "one.jsonl", &one);
    seriatim(&["check", "--level", "strict-serializable", "-q", &one]).exits(1).says("violated");
}

/// What is missing may explain what nothing else does: nobody convicts a history of which a log was
/// not handed in.
#[test]
fn a_history_with_a_missing_log_is_convicted_in_no_way() {
    let folder = folder("missing-log");
    let text = "{\"seriatim\":1,\"spec\":\"register\",\"missing\":1}
{\"process\":0,\"op\":\"read\",\"result\":7,\"call\":1,\"return\":2}
";
    let log = file(&folder, "log.jsonl", text);
    seriatim(&["check", &log]).exits(3).says("are missing");
    seriatim(&["check", "--order", "process", &log]).exits(3);
    seriatim(&["check", "--spec", "register", "--spill", "always", &log])
        .exits(2)
        .complains("missing");
    seriatim(&["check", "--spec", "register", "--level", "serializable", &log])
        .exits(2)
        .complains("1 missing");
    seriatim_reading(text.as_bytes(), &["watch", "register"]).exits(2).complains("missing");
}
