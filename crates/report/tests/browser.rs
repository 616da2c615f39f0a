//! The pages in a real browser: `web/test/run.mjs` opens them in Chromium and uses them.
//!
//! Needs node, playwright-core (`npm install` in `web/test`, or `SERIATIM_PLAYWRIGHT` names a
//! directory that has it) and Chromium. Where one is missing the test says so on standard error and
//! passes, unless `SERIATIM_REQUIRE=browser`. `SERIATIM_UPDATE_IMAGES=1` takes the book's pictures
//! anew.

mod common;
#[path = "common/large.rs"]
mod large;

use serde_json::{Value, json};
use seriatim_history::{History, Horizon, OpId, read_str};
use seriatim_report::{Report, html, run};
use seriatim_spec::{Counterexample, Explanation, Verdict, ViolatedPart};
use std::io;
use std::path::Path;
use std::process::Command;

/// What run.mjs says where there is no browser.
const NO_BROWSER: i32 = 77;

/// What a page must know of a history, by the history's own word.
fn knowledge(history: &History, verdict: &Verdict) -> Value {
    let label = |operation: seriatim_history::Operation<'_>| {
        let text = operation.to_string().replacen("() ->", " ->", 1).replacen(" ->", " →", 1);
        text.strip_suffix("()").map_or(text.clone(), str::to_owned)
    };
    let count = |holds: &dyn Fn(OpId, OpId) -> bool| -> Vec<usize> {
        let all = || (0..history.len()).map(OpId::from);
        all().map(|op| all().filter(|&other| holds(op, other)).count()).collect()
    };
    let precedes = |a: OpId, b: OpId| history.operation(a).precedes(&history.operation(b));
    let first = history.operations().next().map_or(0, |op| op.call());
    let order: Vec<u32> = match verdict {
        Verdict::Linearizable(witness) => witness.order.iter().map(|op| op.0).collect(),
        Verdict::Violation(found) => {
            found.context.iter().flat_map(|context| &context.order).map(|op| op.0).collect()
        }
        Verdict::Unknown(_) => Vec::new(),
    };
    json!({
        "labels": history.operations().map(label).collect::<Vec<_>>(),
        "lines": history.operations().map(|op| op.line()).collect::<Vec<_>>(),
        "before": count(&|op, other| precedes(other, op)),
        "concurrent": count(&|op, other| op != other && !precedes(op, other) && !precedes(other, op)),
        "times": history
            .operations()
            .map(|op| history.display_time(op.call()) - history.display_time(first))
            .collect::<Vec<_>>(),
        "order": order,
    })
}

/// Wall-clock times, and two violated keys of one object.
fn clocks() -> (History, Verdict, Vec<ViolatedPart>) {
    let line = |key: &str, call: u64| {
        let (call, ret) = (1_763_280_000_000 + call, 1_763_280_000_005 + call);
        format!(
            "{{\"process\":0,\"op\":\"get\",\"key\":\"{key}\",\"result\":7,\"call\":{call},\"return\":{ret}}}\n"
        )
    };
    let header = "{\"seriatim\":1,\"unit\":\"ms\",\"since\":\"unix\"}\n";
    let history = read_str(&format!("{header}{}{}", line("a", 0), line("b", 1_300))).unwrap();
    let verdict = Verdict::Violation(Counterexample {
        operations: vec![OpId(0)],
        horizon: Horizon::Whole,
        context: None,
        explanation: Explanation::because("nobody wrote 7"),
    });
    let violated = ["a", "b"].iter().zip(0..).map(|(key, op)| ViolatedPart {
        label: format!("key \"{key}\""),
        operations: vec![OpId(op)],
        why: "nobody wrote 7".to_owned(),
    });
    let violated = violated.collect();
    (history, verdict, violated)
}

fn write_pages(directory: &Path) -> io::Result<()> {
    let page = |name: &str, report: &Report<'_>| {
        let mut file = std::fs::File::create(directory.join(format!("{name}.html")))?;
        html::write(report, &mut file)
    };
    for (name, sample) in common::samples() {
        page(name, &sample.report())?;
        let mut knowledge = knowledge(&sample.history, &sample.verdict);
        if name == "echoes" {
            // Arguments and results that say nothing are left out.
            knowledge["labels"] = json!([
                "write(1)",
                "write(2)",
                "cas(2, 3) → \"2-3\"",
                "read → 2",
                "write(1)",
                "read → 2"
            ]);
        }
        std::fs::write(directory.join(format!("{name}.json")), knowledge.to_string())?;
    }
    for (name, subject) in common::runs::subjects() {
        std::fs::write(directory.join(format!("{name}.html")), subject.show(run::html::render))?;
    }
    let (history, verdict) = large::store(1_000);
    page("thousand", &Report::new(&history, "map", &verdict))?;
    std::fs::write(directory.join("thousand.json"), knowledge(&history, &verdict).to_string())?;
    let (history, verdict, violated) = clocks();
    page("clocks", &Report { violated, ..Report::new(&history, "map", &verdict) })?;
    let (history, _) = large::store(200_000);
    let verdict = Verdict::Violation(Counterexample {
        operations: (0..history.len()).map(OpId::from).collect(),
        horizon: Horizon::Whole,
        context: None,
        explanation: Explanation::because("nobody made it small"),
    });
    page("crowd", &Report::new(&history, "map", &verdict))?;
    let (history, verdict) = large::store(1_000_000);
    page("million", &Report::new(&history, "map", &verdict))
}

#[test]
fn pages_work_in_a_browser() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
    std::fs::create_dir_all(&directory).expect("a directory for the pages");
    write_pages(&directory).expect("the pages can be written");
    let mut command = Command::new("node");
    command.arg(root.join("web/test/run.mjs")).arg(&directory);
    if std::env::var_os("SERIATIM_UPDATE_IMAGES").is_some() {
        command.arg(root.join("../../docs/images"));
    }
    let skipped = match command.output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout);
            let complained = String::from_utf8_lossy(&output.stderr);
            print!("{said}");
            match output.status.code() {
                Some(0) => return,
                Some(NO_BROWSER) => complained.trim().to_owned(),
                _ => panic!("the pages do not work:\n{said}\n{complained}"),
            }
        }
        Err(error) => format!("node cannot be run: {error}"),
    };
    seriatim_testing::skipped("browser", &skipped);
}
