//! `seriatim check --level`: isolation levels of transactions.

use crate::run::{file, folder, seriatim, seriatim_reading};

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

#[test]
fn a_level_is_refused_where_it_makes_no_sense() {
    let folder = folder("levels-refused");
    let stale = file(&folder, "stale.edn", STALE);
    let broken = file(&folder, "broken.edn", "{:type :ok, :process 0, :value [[:inc x 1]]}");
    seriatim(&["check", "--level", "all", &broken]).exits(2).complains("broken.edn:1: ");
    seriatim(&["check", "--level", "linear", &stale]).exits(2).complains("expected a level");
    seriatim(&["check", "--spec", "queue", "--level", "all", &stale]).exits(2);
    seriatim(&["check", "--level", "all", "--html", "x.html", &stale]).exits(2);
    let untimed = file(&folder, "untimed.hist", "[x:=1]\n---\n[x==1]\n");
    seriatim(&["check", "--level", "all", &untimed]).exits(0).says("no times are recorded");
    seriatim(&["check", "--level", "strict-serializable", &untimed]).exits(3);
}
