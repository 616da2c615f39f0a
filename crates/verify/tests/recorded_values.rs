//! What a specification of a `.seri` file says of a history, it says with the values of the
//! history.

use seriatim_history::read_str;
use seriatim_monitor::{Options, check};
use seriatim_spec::Verdict;
use seriatim_verify::SeriReader;

const SHELF: &str = "enum Place { low, high }
spec shelf {
  var at: map<key, value> = {}
  var last: (value?, Place) = (empty, low)
  method put(k: key, v: value) -> (value?, Place) {
    let old = last
    at[k] = v
    last = (v, high)
    return old
  }
}";

#[test]
fn an_explanation_names_values_keys_and_variants_as_the_log_does() {
    let reader = SeriReader::parse(SHELF, None).expect("a specification");
    let mut history = read_str(
        r#"{"process":0,"op":"put","key":"b","arg":"first","result":[null,"low"],"call":1,"return":2}
           {"process":0,"op":"put","key":"a","arg":70000,"result":[70000,"high"],"call":3,"return":4}"#,
    )
    .expect("a log");
    let checked = check(&mut history, &reader, &Options::default()).expect("it is read");
    let Verdict::Violation(violation) = &checked.verdict else {
        panic!("the second put saw itself")
    };
    let told = format!("{violation:?}");
    for words in [r#"it would return (\"first\", high)"#, r#"cannot return (70000, high)"#] {
        assert!(told.contains(words), "{words} is missing: {told}");
    }
}

#[test]
fn numbers_and_texts_are_not_keys_of_one_history() {
    // The text would count as its place among the texts, which is a number too.
    let source = "spec names { var all: set<key> = {}
      method add(k: key) -> bool { if k in all { return false } all = all + {k} return true } }";
    let reader = SeriReader::parse(source, None).expect("a specification");
    let log = |second: &str| {
        format!(
            "{{\"process\":0,\"op\":\"add\",\"arg\":0,\"result\":true,\"call\":1,\"return\":2}}\n\
             {{\"process\":0,\"op\":\"add\",\"arg\":{second},\"result\":true,\"call\":3,\"return\":4}}"
        )
    };
    let mut of_numbers = read_str(&log("1")).expect("a log");
    let checked = check(&mut of_numbers, &reader, &Options::default()).expect("it is read");
    assert_eq!(checked.verdict.word(), "linearizable");
    let mut mixed = read_str(&log("\"a\"")).expect("a log");
    let refused = check(&mut mixed, &reader, &Options::default()).expect_err("it is refused");
    assert!(refused.to_string().contains("keys that are all numbers or all texts"), "{refused}");
}
