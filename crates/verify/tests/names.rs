//! What a report says of a specification in the algorithm language is said in the words of the
//! history: a datum is not shown as the number that it has inside.

use seriatim_history::read_str;
use seriatim_monitor::{Options, check};
use seriatim_spec::Verdict;
use seriatim_verify::SeriReader;

const STORE: &str = "enum Kind { Fresh, Used }
spec store {
  var content: map<key, value> = {}
  var kind: Kind = Fresh
  method put(k: key, v: value) { content[k] = v; kind = Used }
  method get(k: key) -> value? { if k in content { return content[k] } return empty }
}";

/// The state in which the order that gets farthest is stuck, and why it is.
fn stuck(log: &str) -> (String, String) {
    let reader = SeriReader::parse(STORE, None).unwrap();
    let checked = check(&mut read_str(log).unwrap(), &reader, &Options::default()).unwrap();
    let Verdict::Violation(core) = checked.verdict else { panic!("{:?}", checked.verdict) };
    let attempt = core.explanation.attempts[0].clone();
    (attempt.state, attempt.stuck[0].1.clone())
}

#[test]
fn values_keys_and_variants_have_the_names_that_the_history_gives_them() {
    let texts = r#"{"process":0,"op":"put","key":"ann","arg":["a",1],"call":0,"return":1}
{"process":0,"op":"put","key":"bob","arg":"late","call":2,"return":3}
{"process":0,"op":"get","key":"ann","result":"early","call":4,"return":5}
"#;
    let (state, why) = stuck(texts);
    assert_eq!(why, r#"get cannot return "early": it would return ["a", 1]"#);
    assert!(state.starts_with(r#"content = {"ann": ["a", 1]"#), "{state}");
    assert!(state.ends_with("kind = Used"), "{state}");

    let numbers = r#"{"process":0,"op":"put","key":7,"arg":0,"call":0,"return":1}
{"process":0,"op":"get","key":7,"result":-3,"call":4,"return":5}
"#;
    let (state, why) = stuck(numbers);
    assert_eq!(why, "get cannot return -3: it would return 0");
    assert_eq!(state, "content = {7: 0}, kind = Used");
}
