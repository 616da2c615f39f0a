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

const MEMBERS: &str = "enum Role { Leader, Follower }
spec members {
  record Member { role: Role, since: int, zone: value? }
  var all: map<value, Member> = {}
  method join(name: value, member: Member) -> bool {
    if name in all || name == \"nobody\" { return false }
    all[name] = member
    return true
  }
  method promote(name: value) -> Member? {
    if !(name in all) { return empty }
    all[name].role = Leader
    return all[name]
  }
  method everybody() -> map<value, Member> { return all }
}";

fn word_of(source: &str, lines: &[&str]) -> String {
    let reader = SeriReader::parse(source, None).expect("a specification");
    let lines: Vec<String> = lines
        .iter()
        .enumerate()
        .map(|(place, line)| {
            let (call, ret) = (10 * place, 10 * place + 5);
            format!("{{\"process\":0,{line},\"call\":{call},\"return\":{ret}}}")
        })
        .collect();
    let mut history = read_str(&lines.join("\n")).expect("a log");
    match check(&mut history, &reader, &Options::default()) {
        Ok(checked) => checked.verdict.word().to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_record_is_told_as_an_object_or_as_the_list_of_its_fields() {
    let join = r#""op":"join","arg":["ann",{"role":"Follower","since":4294967296}],"result":true"#;
    let as_list = r#""op":"join","arg":["bob",["Leader",7,"north"]],"result":true"#;
    let promoted =
        r#""op":"promote","arg":"ann","result":{"since":4294967296,"role":"Leader","zone":null}"#;
    let all = r#""op":"everybody","result":{"ann":["Leader",4294967296,null],"bob":{"role":"Leader","since":7,"zone":"north"}}"#;
    assert_eq!(word_of(MEMBERS, &[join, as_list, promoted, all]), "linearizable");
    let wrong = all.replace("4294967296", "4294967297");
    assert_eq!(word_of(MEMBERS, &[join, as_list, promoted, &wrong]), "violation");
    let odd = join.replace("\"since\"", "\"sinse\"");
    assert!(word_of(MEMBERS, &[&odd]).contains("expected 2 arguments"), "an unknown field");
}

#[test]
fn what_a_set_or_a_map_lists_twice_no_specification_returns() {
    let source = "spec shelf {
      var names: set<value> = {}
      var ages: map<value, int> = {}
      method add(all: set<value>) { names = names + all }
      method age(name: value, years: int) { ages[name] = years }
      method look() -> (set<value>, map<value, int>) { return (names, ages) } }";
    let add = |names: &str| format!(r#""op":"add","arg":{names}"#);
    let look = |names: &str, ages: &str| format!(r#""op":"look","result":[{names},{ages}]"#);
    let word = |names: &str, ages: &str| {
        let age = r#""op":"age","arg":["ann",7]"#;
        word_of(source, &[&add(r#"["ann","bob"]"#), age, &look(names, ages)])
    };
    assert_eq!(word(r#"["bob","ann"]"#, r#"[["ann",7]]"#), "linearizable");
    assert_eq!(word(r#"["bob","ann","bob"]"#, r#"[["ann",7]]"#), "violation");
    assert_eq!(word(r#"["bob","ann"]"#, r#"[["ann",7],["ann",7]]"#), "violation");
    assert!(word_of(source, &[&add(r#"["ann","ann"]"#)]).contains("expected 1 arguments"));
    let reader = SeriReader::parse(source, None).expect("a specification");
    let twice = look(r#"["bob","bob"]"#, r#"[["ann",7],["ann",8]]"#);
    let mut log =
        read_str(&format!("{{\"process\":0,{twice},\"call\":1,\"return\":2}}")).expect("a log");
    let told =
        format!("{:?}", check(&mut log, &reader, &Options::default()).expect("it is read").verdict);
    assert!(told.contains(r#"([\"bob\", \"bob\"], [(\"ann\", 7), (\"ann\", 8)])"#), "{told}");
}

#[test]
fn a_text_of_a_specification_is_the_text_of_the_log() {
    let join = |name: &str, joined: bool| {
        format!(r#""op":"join","arg":[{name},["Leader",7,null]],"result":{joined}"#)
    };
    assert_eq!(word_of(MEMBERS, &[&join("\"nobody\"", false)]), "linearizable");
    assert_eq!(word_of(MEMBERS, &[&join("\"nobody\"", true)]), "violation");
    assert_eq!(word_of(MEMBERS, &[&join("\"somebody\"", false)]), "violation");
    // As a key it stands among the texts of the log in their order.
    let source = "spec names {
      method is_late(k: key) -> bool { return !(k < \"m\") } }";
    let late = |name: &str, is: bool| format!(r#""op":"is_late","arg":{name},"result":{is}"#);
    let lines = [late("\"a\"", false), late("\"m\"", true), late("\"z\"", true)];
    assert_eq!(word_of(source, &lines.each_ref().map(String::as_str)), "linearizable");
    assert_eq!(word_of(source, &[&late("\"a\"", true)]), "violation");
    assert!(word_of(source, &[&late("3", true)]).contains("all numbers or all texts"));
}

/// The upper half of a zxid is the epoch: between two of them lie four thousand million numbers
/// that nobody used, and an operation that timed out may have one of them.
#[test]
fn versions_that_are_only_compared_may_be_far_apart() {
    let model = include_str!("../../../services/zookeeper_zxid.seri");
    let log = |seen: &str, end: u64| {
        format!(
            r#"{{"process":0,"op":"create","arg":["/a",1],"result":[true,4294967297],"call":1,"return":2}}
               {{"process":1,"op":"set","arg":["/a",2,-1],"call":3}}
               {{"process":0,"op":"get","arg":"/a","result":[{seen},{end}],"call":5,"return":6}}
               {{"process":0,"op":"set","arg":["/b",2,-1],"result":[false,{}],"call":7,"return":8}}"#,
            end + (1 << 33)
        )
    };
    let reader = SeriReader::parse(model, None).expect("a specification");
    for (seen, end, expected) in [
        ("1,0", 4294967297u64, "linearizable"),
        ("2,1", 4294967298, "linearizable"),
        ("2,1", 8589934592, "linearizable"),
        ("2,1", 4294967297, "violation"), // No number is left for it.
        ("3,1", 8589934592, "violation"),
    ] {
        let mut history = read_str(&log(seen, end)).expect("a log");
        let checked = check(&mut history, &reader, &Options::default()).expect("it is read");
        assert_eq!(checked.verdict.word(), expected, "{seen} {end}");
    }
}

/// A sparse version rises by itself, also behind all that a log tells: an operation that returns
/// without it may have seen that. Where the specification calculates with it, nobody can say.
#[test]
fn a_sparse_version_may_have_risen_unseen() {
    let source = "spec s { sparse version var rev: int = 0
      method put() -> int { rev = rev + 1; return rev }
      method newer(n: int) -> bool { return rev > n } }";
    let newer = r#""op":"newer","arg":3,"result":true"#;
    let put = r#""op":"put","result":2"#;
    assert_eq!(word_of(source, &[newer]), "linearizable");
    assert_eq!(word_of(source, &[put, newer]), "linearizable");
    assert_eq!(word_of(source, &[newer, put]), "violation");
    let calculating = source.replace("rev > n", "rev + 1 > n");
    assert!(word_of(&calculating, &[put, newer]).contains("calculates with it"));
}
