//! One meaning of the words: the same claims, with the same standing, from every engine that speaks
//! of them, in every form of report.

use crate::run::{file, folder, seriatim};
use crate::schema::Schema;
use serde_json::Value;

/// A program, what to ask, the exit code, and lines that the answer has.
type Row<'r> = (&'r str, &'r [&'r str], i32, &'r [&'r str]);

/// A counter of the prelude; `int` alone is any whole number.
const PLAIN: &str = "object plain : counter\nvar n: int = 0\n\
    method increment() -> int { let c = fetch_add(n, 1); return c }\nmethod read() -> int { return n }\n";

/// The same with bounds that it leaves.
const DECLARED: &str = "object declared : counter\nvar n: int 0..3 = 0\n\
    method increment() -> int { let c = fetch_add(n, 1); return c }\nmethod read() -> int { return n }\n";

const ASSERTED: &str = "object asserted : counter\nvar n: int = 0\n\
    method increment() -> int { let c = fetch_add(n, 1); assert c < 2; return c }\nmethod read() -> int { return n }\n";

const WRONG: &str = "object wrong : counter\nvar n: int = 0\n\
    method increment() -> int { let c = n; n = c + 1; return c }\nmethod read() -> int { return n }\n";

const SEMAPHORE: &str = "object sem : sp\nspec sp { var c: int = 1\n method v() { c = c + 1 }\n \
    method p() { assume c > 0; c = c - 1 } }\nvar n: int = 1\nmethod v() { fetch_add(n, 1) }\n\
    method p() { atomic { assume n > 0; n = n - 1 } }\n";

/// A stack that is linearizable and takes two locks in both orders.
const CROSSED: &str = "object crossed : stack\nstruct Node { val: value, next: Node? }\nvar top: Node? = null\n\
    var a: lock\nvar b: lock\nmethod push(v: value) {\n  let n = new Node { val: v, next: null }\n  lock(a)\n  lock(b)\n  \
    loop { let t = top; n.next = t; if cas(top, t, n) { unlock(b); unlock(a); return } }\n}\n\
    method pop() -> value? {\n  lock(b)\n  lock(a)\n  loop {\n    let t = top\n    \
    if t == null { unlock(a); unlock(b); return empty }\n    let s = t.next\n    \
    if cas(top, t, s) { unlock(a); unlock(b); return t.val }\n  }\n}\n\
    expect explore(threads: 2, capacity: 1, values: 1) deadlocks\n";

#[test]
fn every_engine_gives_each_claim_a_line_of_its_own() {
    let folder = folder("claims");
    let explore: &[&str] = &["--engine", "explore"];
    let prove: &[&str] = &["--engine", "prove"];
    let rows: &[Row<'_>] = &[
        (PLAIN, &[], 0, &["linearizable   proved", "deadlock-free  proved"]),
        (PLAIN, prove, 0, &["linearizable   proved", "in-range       proved"]),
        (PLAIN, explore, 0, &["linearizable   holds", "cut: numbers beyond -128..127"]),
        (DECLARED, &[], 1, &["in-range       VIOLATED", "linearizable   not answered"]),
        (DECLARED, prove, 1, &["in-range       VIOLATED"]),
        (DECLARED, explore, 1, &["in-range       VIOLATED"]),
        (ASSERTED, &[], 1, &["fault-free     VIOLATED: error: assertion failed"]),
        (ASSERTED, explore, 1, &["fault-free     VIOLATED", "in-range       not answered"]),
        (WRONG, &[], 1, &["linearizable   VIOLATED"]),
        (WRONG, prove, 1, &["linearizable   VIOLATED"]),
        (SEMAPHORE, &[], 0, &["linearizable   proved", "deadlock-free  holds for 2 threads"]),
        (SEMAPHORE, explore, 0, &["deadlock-free  holds", "lock-free      not asked"]),
        (CROSSED, &[], 1, &["linearizable   proved", "deadlock-free  VIOLATED"]),
        (CROSSED, prove, 1, &["linearizable   proved", "deadlock-free  VIOLATED"]),
        (CROSSED, explore, 1, &["linearizable   not answered", "deadlock-free  VIOLATED"]),
        (WRONG, &["--progress"], 0, &["lock-free      holds", "linearizable   not asked"]),
        (CROSSED, &["--progress"], 1, &["lock-free      VIOLATED"]),
    ];
    for (number, (source, arguments, code, lines)) in rows.iter().enumerate() {
        let path = file(&folder, &format!("{number}.seri"), source);
        let answer = seriatim(&[&["verify", &path][..], arguments].concat()).exits(*code);
        lines.iter().fold(answer, |answer, line| answer.says(line));
    }
}

#[test]
fn a_proof_says_for_which_constants_it_stands() {
    let folder = folder("constants");
    let source =
        PLAIN.replace("object plain", "const STEP = 1\nobject plain").replace("n, 1", "n, STEP");
    let path = file(&folder, "constant.seri", source);
    seriatim(&["verify", &path, "-q"]).exits(0).says("any data, with STEP = 1");
}

#[test]
fn what_cannot_be_asked_is_bad_input() {
    let folder = folder("no-methods");
    let path = file(&folder, "nothing.seri", "object nothing : register\nvar a: int 0..1 = 0\n");
    for engine in ["explore", "prove", "lists"] {
        seriatim(&["verify", &path, "--engine", engine]).exits(2).complains("no methods");
    }
    seriatim(&["verify", &path]).exits(2).complains("no methods");
}

/// What `verify --json` prints, validated.
fn json(arguments: &[&str], code: i32) -> Value {
    let out = seriatim(&[&["verify", "--json"][..], arguments].concat()).exits(code).out;
    let report: Value = serde_json::from_str(&out).expect("one object");
    Schema::load().validate(&report).expect("the schema fits");
    assert_eq!(report["exit_code"], code);
    report
}

fn standing<'v>(report: &'v Value, property: &str) -> &'v Value {
    let claims = report["claims"].as_array().expect("a list");
    claims.iter().find(|claim| claim["property"] == property).expect("every property has a claim")
}

#[test]
fn the_json_report_has_every_claim_and_the_run() {
    let folder = folder("json-claims");
    let crossed = file(&folder, "crossed.seri", CROSSED);
    let report = json(&[&crossed], 1);
    assert_eq!(report["verdict"], "violation");
    assert_eq!(standing(&report, "linearizable")["evidence"]["kind"], "certificate");
    let deadlock = standing(&report, "deadlock-free");
    assert_eq!(deadlock["standing"], "violated");
    let steps = deadlock["run"]["steps"].as_array().expect("steps");
    assert!(
        steps
            .iter()
            .flat_map(|s| s["accesses"].as_array())
            .flatten()
            .any(|a| a["action"] == "lock")
    );
    let wrong = file(&folder, "wrong.seri", WRONG);
    let report = json(&[&wrong, "--engine", "explore"], 1);
    let run = &standing(&report, "linearizable")["run"];
    let accesses =
        run["steps"].as_array().into_iter().flatten().filter_map(|s| s["accesses"].as_array());
    let accesses: Vec<&Value> = accesses.flatten().collect();
    assert!(accesses.iter().any(|a| a["action"] == "read" && a["place"] == "n" && a["line"] == 3));
    assert!(run["history"].as_array().is_some_and(|h| h.len() >= 4));
    let semaphore = file(&folder, "semaphore.seri", SEMAPHORE);
    assert_eq!(json(&[&semaphore], 0)["verdict"], "proved");
    assert_eq!(json(&[&semaphore, "--engine", "explore"], 0)["verdict"], "holds");
    let unknown = json(&["ticket_lock", "--time", "3s"], 3);
    assert_eq!(standing(&unknown, "linearizable")["standing"], "unknown");
}

#[test]
fn the_page_and_the_test_suite_show_the_run_and_its_lines() {
    let folder = folder("run-files");
    let wrong = file(&folder, "wrong & co.seri", WRONG);
    let (page, suite) = (folder.join("run.html"), folder.join("run.xml"));
    let (html, junit) = (page.display().to_string(), suite.display().to_string());
    seriatim(&["verify", &wrong, "--html", &html, "--junit", &junit, "-q"]).exits(1);
    let page = std::fs::read_to_string(page).expect("it was written");
    let row = "\"line\":3,\"action\":\"read\",\"text\":\"c = n\",\"outcome\":\"→ 0\"";
    for part in ["wrong &amp; co", "Content-Security-Policy", "id=\"report\"", "3: c = n → 0", row]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    let is_linked = ["http:", "https:", "src=", "url("].iter().any(|link| page.contains(link));
    assert!(!is_linked, "no link to the network");
    let suite = std::fs::read_to_string(suite).expect("it was written");
    for part in
        ["tests=\"5\" failures=\"1\" errors=\"0\"", "<failure type=\"violation\"", "<skipped"]
    {
        assert!(suite.contains(part), "{part}: {suite}");
    }
}

#[test]
fn the_table_of_orderings_is_the_same_as_text_as_json_and_as_a_page() {
    let folder = folder("orderings");
    let page = folder.join("orderings.html").display().to_string();
    let weaken = ["verify", "weak/treiber", "--weaken", "--all-minimal"];
    seriatim(&weaken)
        .exits(0)
        .says("line 18: load(top, acquire): acquire\n    needed: with relaxed")
        .says("one minimal choice, and no other:\n  1.\n    as in the source");
    let json = seriatim(&[&weaken[..], &["--json", "--html", &page]].concat()).exits(0);
    let document: Value = serde_json::from_str(&json.out).expect("JSON");
    Schema::load().validate(&document).expect("it fits the schema");
    let needed = |ordering: &&Value| ordering["alone"] == "needed";
    let lines = document["orderings"].as_array().expect("a list").iter().filter(needed);
    assert_eq!(lines.map(|ordering| &ordering["line"]).collect::<Vec<_>>(), [12, 18]);
    assert_eq!(document["minima"]["complete"], true);
    let page = std::fs::read_to_string(&page).expect("the page");
    assert!(page.contains("<code>load(top, acquire)</code></td><td>acquire"));
    let wrong = ["verify", "weak/treiber_relaxed_push", "--weaken", "--json"];
    let json = seriatim(&wrong).exits(1);
    let document: Value = serde_json::from_str(&json.out).expect("JSON");
    Schema::load().validate(&document).expect("it fits the schema");
    assert!(document["nothing"].is_string(), "{document}");
}
