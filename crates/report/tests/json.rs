//! Every JSON report obeys the schema in `docs/`, and JUnit's XML is well formed.

mod common;
mod schema;

use schema::Schema;
use serde_json::{Value, json};
use seriatim_report::junit::{self, Case};
use seriatim_report::{json, run};

fn documents() -> Vec<(&'static str, Value)> {
    let samples = common::samples().into_iter();
    samples
        .map(|(name, sample)| {
            let text = json::render(&sample.report());
            assert_eq!(text.lines().count(), 1, "{name} takes one line");
            (name, serde_json::from_str(&text).expect("right JSON"))
        })
        .collect()
}

#[test]
fn every_report_obeys_the_schema() {
    let schema = Schema::load();
    for (name, document) in documents() {
        if let Err(problem) = schema.validate(&document) {
            panic!("{name}: {problem}\n{document:#}");
        }
    }
}

#[test]
fn every_report_about_an_algorithm_obeys_the_schema() {
    let schema = Schema::load();
    for (name, subject) in common::runs::subjects() {
        let text = subject.show(run::json::render);
        let document: Value = serde_json::from_str(&text).expect("right JSON");
        if let Err(problem) = schema.validate_as("algorithm", &document) {
            panic!("{name}: {problem}");
        }
    }
}

/// Every way to spoil a document by one field: remove it, or give it another type.
fn spoiled(value: &Value) -> Vec<Value> {
    let mut results = Vec::new();
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                // Optional or free-form fields of an operation may be anything.
                if ["object", "key", "arg", "result", "note", "process"].contains(&&key[..]) {
                    continue;
                }
                let mut without = fields.clone();
                without.remove(key);
                results.push(Value::Object(without));
                for inner in spoiled(field) {
                    let mut with = fields.clone();
                    with.insert(key.clone(), inner);
                    results.push(Value::Object(with));
                }
            }
            let mut with = fields.clone();
            with.insert("surplus".into(), Value::Null);
            results.push(Value::Object(with));
        }
        Value::Array(items) => {
            for inner in items.first().map(spoiled).unwrap_or_default() {
                let mut with = items.clone();
                with[0] = inner;
                results.push(Value::Array(with));
            }
        }
        _ => {}
    }
    results.push(json!({ "neither": ["this", "nor", "that"] }));
    results
}

#[test]
fn a_report_with_one_field_spoiled_breaks_the_schema() {
    let schema = Schema::load();
    let mut tried = 0;
    for (name, document) in documents() {
        for wrong in spoiled(&document) {
            tried += 1;
            assert!(schema.validate(&wrong).is_err(), "{name} passes as\n{wrong:#}");
        }
    }
    assert!(tried > 300, "only {tried} documents were tried");
}

#[test]
fn a_counterexample_tells_operations_as_far_as_it_knows_them() {
    let document: Value =
        serde_json::from_str(&json::render(&common::stack().report())).expect("right JSON");
    let operations = &document["counterexample"]["operations"];
    let pushed = json!({
        "id": 1, "process": 1, "method": "push", "arg": 2, "outcome": "ok", "call": 12,
        "return": 25, "returns_later": false, "call_time": 12, "return_time": 25, "line": 2,
        "text": "push(2)",
    });
    assert_eq!(operations[1], pushed);
    let popping = json!({
        "id": 4, "process": 1, "method": "pop", "outcome": "pending", "call": 45, "return": null,
        "returns_later": true, "call_time": 45, "return_time": null, "line": 5,
        "text": "pop() -> ?",
    });
    assert_eq!(operations[4], popping);
}

/// Checks that tags are balanced and nothing unescaped is left; gives the names of the elements.
fn elements(xml: &str) -> Vec<String> {
    let mut open: Vec<String> = Vec::new();
    let mut seen = Vec::new();
    let mut rest = xml.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>").expect("a head");
    while let Some(start) = rest.find('<') {
        assert!(!rest[..start].contains('>'), "{}", &rest[..start]);
        let end = start + rest[start..].find('>').expect("a closed tag");
        let tag = &rest[start + 1..end];
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop().as_deref(), Some(name)),
            None => {
                let name = tag.split_whitespace().next().expect("a name").to_owned();
                assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
                seen.push(name.clone());
                open.push(name);
            }
        }
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty(), "{open:?}");
    seen
}

#[test]
fn junit_counts_violations_as_failures_and_unknown_or_unreadable_as_errors() {
    let samples = common::samples();
    let mut cases: Vec<Case<'_>> =
        samples.iter().map(|(_, sample)| Case::Checked(Box::new(sample.report()))).collect();
    cases.push(Case::Unreadable { source: "a.jsonl", problem: "a.jsonl:1: expected `{`" });
    let xml = junit::render(&cases);
    let elements = elements(&xml);
    let count = |name: &str| elements.iter().filter(|element| *element == name).count();
    assert_eq!(count("testcase"), cases.len());
    assert_eq!((count("failure"), count("error"), count("system-err")), (6, 2, 1));
    assert!(xml.contains("tests=\"10\" failures=\"6\" errors=\"2\""));
    assert!(xml.chars().all(|c| c == '\n' || !c.is_control()), "XML takes no control characters");
}
