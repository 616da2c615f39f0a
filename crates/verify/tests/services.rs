//! The models of services: each is short, reads logs, accepts its own runs, and gets the same
//! verdict whether the engines use what its text says (keys, versions, what changes nothing) or the
//! plain search decides.

use seriatim_history::read_str;
use seriatim_lang::machine::Bounds;
use seriatim_lang::spec::{Datum, Spec, SpecState};
use seriatim_lang::types::Type;
use seriatim_monitor::partition::Partitioning;
use seriatim_monitor::{Checked, DecidedBy, Monitors, Options, StopAt, check, violated_parts};
use seriatim_services::{Service, service, services};
use seriatim_spec::Verdict;
use seriatim_verify::SeriReader;
use std::fmt::Write;

/// Random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }
}

/// How a history of a service is drawn.
#[derive(Clone, Copy)]
struct Size {
    operations: u64,
    /// Operations overlap with about so many others.
    overlap: u64,
    keys: u64,
    values: u64,
    /// One in so many operations never returns.
    unknown: u64,
    /// How many results are spoiled.
    faults: u64,
}

const SMALL: Size = Size { operations: 7, overlap: 3, keys: 2, values: 3, unknown: 4, faults: 1 };

/// A history of a service: its own run, perhaps with a fault.
fn draw(service: Service, seed: u64, size: Size) -> String {
    let program = seriatim_lang::check(service.source).expect("a model");
    let bounds = Bounds { values: 3, keys: 3, nodes: None, capacity: None };
    let spec = Spec::new(program.specs[0].clone(), bounds);
    let mut random = Random(seed);
    let mut state: SpecState = spec.initial().expect("an initial state");
    let mut lines = String::new();
    let spoiled = random.below(size.operations);
    for number in 0..size.operations {
        let method = random.below(spec.info().methods.len() as u64) as usize;
        let function = &spec.info().methods[method];
        let args: Vec<Datum> =
            function.params.iter().map(|p| datum(&mut random, &p.ty, size)).collect();
        let point = (number + 1) * 10;
        let call = point.saturating_sub(random.below(size.overlap * 10));
        let ret = point + 1 + random.below(size.overlap * 10);
        let is_unknown = random.below(size.unknown) == 0;
        write!(lines, "{{\"process\":{number},\"op\":\"{}\"", function.name).unwrap();
        match &args[..] {
            [] => {}
            [only] => write!(lines, ",\"arg\":{}", json(only)).unwrap(),
            all => write!(lines, ",\"arg\":{}", json(&Datum::list(all.to_vec()))).unwrap(),
        }
        write!(lines, ",\"call\":{call}").unwrap();
        if !(is_unknown && random.below(2) == 0) {
            let mut outcomes = spec.outcomes(&state, method, &args).expect("a right model");
            if outcomes.is_empty() {
                lines.push_str("}\n");
                continue;
            }
            let nth = random.below(outcomes.len() as u64) as usize;
            let (after, result) = outcomes.swap_remove(nth);
            state = after;
            if !is_unknown {
                let is_fault = size.faults > 0 && number == spoiled;
                let result = if is_fault { spoil(&mut random, result) } else { result };
                if function.result != Type::Unit {
                    write!(lines, ",\"result\":{}", json(&result)).unwrap();
                }
                write!(lines, ",\"return\":{ret}").unwrap();
            }
        }
        lines.push_str("}\n");
    }
    lines
}

fn datum(random: &mut Random, ty: &Type, size: Size) -> Datum {
    match ty {
        Type::Int(_) => Datum::Int(random.below(4) as i64),
        Type::Key => Datum::Key(random.below(size.keys) as i32),
        Type::Tuple(parts) => {
            Datum::Tuple(parts.iter().map(|part| datum(random, part, size)).collect())
        }
        Type::Record(record) => {
            let parts = record.fields.iter().map(|(_, part)| datum(random, part, size));
            Datum::Tuple(parts.collect())
        }
        Type::Enum(_) => Datum::Variant(random.below(2) as u32),
        Type::Seq(of) => {
            let count = random.below(3);
            Datum::list((0..count).map(|_| datum(random, of, size)).collect())
        }
        _ => Datum::Value(random.below(size.values) as i32),
    }
}

/// A result with one number or boolean changed.
fn spoil(random: &mut Random, result: Datum) -> Datum {
    match result {
        Datum::Bool(truth) => Datum::Bool(!truth),
        Datum::Int(number) => Datum::Int(number + 1),
        Datum::Value(value) => Datum::Value(value + 1),
        Datum::Tuple(parts) if !parts.is_empty() => {
            let mut parts = parts.to_vec();
            let place = random.below(parts.len() as u64) as usize;
            parts[place] = spoil(random, parts[place].clone());
            Datum::Tuple(parts.into())
        }
        Datum::Set(parts) => Datum::Set(parts[..parts.len().saturating_sub(1)].into()),
        Datum::List(parts) => Datum::List(parts[..parts.len().saturating_sub(1)].into()),
        other => other,
    }
}

fn json(datum: &Datum) -> String {
    match datum {
        Datum::Null => "null".to_owned(),
        Datum::Tuple(parts) | Datum::List(parts) | Datum::Set(parts) => {
            let parts: Vec<String> = parts.iter().map(json).collect();
            format!("[{}]", parts.join(","))
        }
        Datum::Variant(number) => number.to_string(),
        other => other.to_string(),
    }
}

fn verdict(service: Service, text: &str, options: &Options<'_>) -> Checked {
    let reader = SeriReader::parse(service.source, None).expect("a model");
    let mut history = read_str(text).expect("a history");
    check(&mut history, &reader, options).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn every_model_is_short_and_says_what_it_is() {
    for service in services() {
        assert!(service.source.lines().count() <= 60, "{}", service.name);
        assert!(service.summary().len() > 20, "{}", service.name);
        let formatted = seriatim_lang::fmt(service.source);
        for (wanted, found) in formatted.lines().zip(service.source.lines()) {
            assert_eq!(wanted, found, "{} is not formatted", service.name);
        }
    }
}

#[test]
fn what_the_text_says_of_a_model_changes_no_verdict() {
    let plain = Options {
        monitors: Monitors::Skip,
        partitioning: Partitioning::ByObject,
        threads: 1,
        ..Options::default()
    };
    let usual = Options { threads: 1, ..Options::default() };
    for service in services() {
        let mut violations = 0;
        for seed in 0..120 {
            let text = draw(service, seed, SMALL);
            let found = verdict(service, &text, &usual);
            let expected = verdict(service, &text, &plain);
            let words = (found.verdict.word(), expected.verdict.word());
            assert_eq!(words.0, words.1, "{} {seed}:\n{text}", service.name);
            assert_eq!(found.defect, None, "{} {seed}:\n{text}", service.name);
            violations += usize::from(words.0 == "violation");
            let right = draw(service, seed, Size { faults: 0, ..SMALL });
            let word = verdict(service, &right, &usual).verdict.word();
            assert_eq!(word, "linearizable", "{} {seed}:\n{right}", service.name);
        }
        assert!(violations > 10, "{}: {violations} violations", service.name);
    }
}

#[test]
fn keys_and_versions_are_found_where_they_are() {
    let keyed = ["dynamo", "object-store", "redis", "zookeeper"];
    let versioned = ["etcd", "etcd-history", "etcd-txn", "fenced-log", "zookeeper-zxid"];
    let size = Size { faults: 0, unknown: u64::MAX, operations: 30, ..SMALL };
    for service in services() {
        let checked = verdict(service, &draw(service, 1, size), &Options::default());
        let is_split = checked.parts.len() > 1;
        assert_eq!(is_split, keyed.contains(&service.name), "{} is split", service.name);
        let by_versions = checked.parts[0].decided_by == DecidedBy::Monitor("versions");
        let why = &checked.parts[0].fell_back;
        assert_eq!(by_versions, versioned.contains(&service.name), "{} {why:?}", service.name);
    }
}

#[test]
fn texts_are_keys_in_their_order() {
    let text = r#"
{"process":0,"op":"put","arg":["b",1],"result":2,"call":1,"return":2}
{"process":0,"op":"put","arg":["a",2],"result":3,"call":3,"return":4}
{"process":0,"op":"put","arg":["c",3],"result":4,"call":5,"return":6}
{"process":0,"op":"range","arg":["a","c"],"result":[[["a",2],["b",1]],4],"call":7,"return":8}
"#;
    let etcd = service("etcd").expect("a service");
    assert!(matches!(verdict(etcd, text, &Options::default()).verdict, Verdict::Linearizable(_)));
    let wrong = text.replace(r#"[["a",2],["b",1]]"#, r#"[["b",1],["a",2]]"#);
    assert!(matches!(verdict(etcd, &wrong, &Options::default()).verdict, Verdict::Violation(_)));
}

#[test]
fn the_first_argument_may_stand_apart_as_the_key() {
    let text = r#"
{"process":0,"op":"put","key":"a","arg":1,"result":2,"call":1,"return":2}
{"process":0,"op":"txn","key":"a","arg":[2,7],"result":[true,3],"call":3,"return":4}
{"process":0,"op":"get","key":"a","result":[7,3,3],"call":5,"return":6}
"#;
    let etcd = service("etcd").expect("a service");
    assert!(matches!(verdict(etcd, text, &Options::default()).verdict, Verdict::Linearizable(_)));
}

/// A method, its arguments and its result.
type Told = (&'static str, &'static str, &'static str);

/// What servers did, one operation after another, and whether the model lets them.
#[test]
fn what_a_server_may_do_is_in_its_model_and_nothing_else() {
    let cases: [(&str, &[Told], bool); 11] = [
        ("etcd-history", &[("compact", "0", "true"), ("compact", "0", "false")], true),
        ("etcd-history", &[("compact", "1", "true"), ("compact", "0", "true")], false),
        // A lease may have expired unseen, whoever asks next.
        ("lease-lock", &[("acquire", r#""B""#, "1"), ("release", r#"["B",1]"#, "false")], true),
        ("lease-lock", &[("acquire", r#""B""#, "1"), ("release", r#"["A",1]"#, "true")], false),
        (
            "redis",
            &[("incr", r#""n""#, "1"), ("del", r#""n""#, "true"), ("incr", r#""n""#, "1")],
            true,
        ),
        (
            "redis",
            &[("incr", r#""n""#, "1"), ("del", r#""n""#, "true"), ("incr", r#""n""#, "2")],
            false,
        ),
        // A node that is made again numbers its children from the beginning.
        (
            "zookeeper",
            &[
                ("create", r#"["/a",1]"#, "true"),
                ("create_sequential", r#""/a""#, "0"),
                ("delete", r#"["/a",-1]"#, "true"),
                ("create_sequential", r#""/a""#, "0"),
            ],
            true,
        ),
        (
            "zookeeper",
            &[("create_sequential", r#""/a""#, "0"), ("create_sequential", r#""/a""#, "0")],
            false,
        ),
        // Two messages of one content are acknowledged twice.
        (
            "ack-queue",
            &[
                ("send", "7", "true"),
                ("send", "7", "true"),
                ("receive", "[]", "7"),
                ("receive", "[]", "7"),
                ("ack", "7", "true"),
                ("ack", "7", "true"),
                ("receive", "[]", "null"),
            ],
            true,
        ),
        (
            "ack-queue",
            &[
                ("send", "7", "true"),
                ("receive", "[]", "7"),
                ("receive", "[]", "7"),
                ("ack", "7", "true"),
            ],
            true,
        ),
        (
            "ack-queue",
            &[
                ("send", "7", "true"),
                ("receive", "[]", "7"),
                ("ack", "7", "true"),
                ("ack", "7", "true"),
            ],
            false,
        ),
    ];
    for (name, operations, is_allowed) in cases {
        let line = |(place, (op, arg, result)): (usize, &Told)| {
            let (call, ret) = (2 * place, 2 * place + 1);
            format!(
                "{{\"process\":0,\"op\":\"{op}\",\"arg\":{arg},\"result\":{result},\
                 \"call\":{call},\"return\":{ret}}}\n"
            )
        };
        let text: String = operations.iter().enumerate().map(line).collect();
        let found = verdict(service(name).expect("a service"), &text, &Options::default()).verdict;
        assert_eq!(matches!(found, Verdict::Linearizable(_)), is_allowed, "{name}:\n{text}");
        assert_eq!(matches!(found, Verdict::Violation(_)), !is_allowed, "{name}:\n{text}");
    }
}

#[test]
fn a_part_is_named_by_its_key() {
    let text = r#"
{"process":0,"op":"set","arg":["a",1],"result":true,"call":1,"return":2}
{"process":1,"op":"get","arg":"b","result":null,"call":3,"return":4}
"#;
    let redis = service("redis").expect("a service");
    let checked = verdict(redis, text, &Options::default());
    let labels: Vec<&str> = checked.parts.iter().map(|part| &*part.label).collect();
    assert_eq!(labels, [r#"key "a""#, r#"key "b""#]);
}

/// A store with a revision, with one piece of its text replaced.
fn store_with(old: &str, new: &str) -> Service {
    let text = "spec store {
  var rev: int = 1
  var kv: map<value, int> = {}
  method put(k: value, v: int) -> int {
    kv[k] = v
    rev = rev + 1
    return rev
  }
  method delete(k: value) -> (bool, int) {
    if !(k in kv) { return (false, rev) }
    kv[k] = empty
    rev = rev + 1
    return (true, rev)
  }
  method get(k: value) -> (int?, int) {
    if k in kv { return (kv[k], rev) }
    return (empty, rev)
  }
}";
    assert!(text.contains(old), "{old}");
    Service { name: "store", source: text.replacen(old, new, 1).leak() }
}

#[test]
fn a_number_that_is_not_quite_a_version_is_not_taken_for_one() {
    // Whether histories are decided along it; `None`: some are, where the method in question does
    // not occur.
    let variants = [
        ("", "", Some(true)),
        ("rev = rev + 1\n    return (true", "return (true", Some(false)), // A change without a count.
        ("rev = rev + 1\n    return rev", "rev = rev + 2\n    return rev", Some(false)),
        ("kv[k] = v\n", "kv[k] = v\n    rev = rev + 1\n", Some(false)), // Twice on one way.
        ("return (false, rev)", "return (true, rev)", None), // Nobody can tell whether it changed.
        ("return (kv[k], rev)", "return (kv[k], rev + 0)", None), // Does not tell it.
    ];
    let usual = Options { threads: 1, ..Options::default() };
    let plain = Options { monitors: Monitors::Skip, threads: 1, ..Options::default() };
    for (old, new, is_version) in variants {
        let store = store_with(old, new);
        for seed in 0..60 {
            let text = draw(store, seed, Size { operations: 8, unknown: 5, ..SMALL });
            let found = verdict(store, &text, &usual);
            let expected = verdict(store, &text, &plain);
            assert_eq!(found.verdict.word(), expected.verdict.word(), "{new} {seed}:\n{text}");
            let by_versions = found.parts[0].decided_by == DecidedBy::Monitor("versions");
            assert!(is_version.is_none_or(|expected| expected == by_versions), "{new} {seed}");
        }
    }
}

#[test]
fn what_is_declared_to_be_a_version_is_one() {
    let declared = store_with("var rev", "version var rev");
    assert!(SeriReader::parse(declared.source, None).is_ok());
    let lies = [
        ("rev = rev + 1\n    return (true", "return (true", "does not count it up"),
        ("rev = rev + 1\n    return rev", "rev = rev + 2\n    return rev", "in another way"),
        ("kv[k] = v\n", "kv[k] = v\n    rev = rev + 1\n", "more than once"),
    ];
    for (old, new, complaint) in lies {
        for declaration in ["version var rev", "sparse version var rev"] {
            let source = store_with(old, new).source.replace("var rev", declaration);
            let refused = SeriReader::parse(&source, None).err().unwrap_or_default();
            assert!(refused.contains(complaint), "{declaration} {new}: {refused}");
        }
    }
}

/// An object that tells its version is not split, and its violated keys are listed all the same.
#[test]
fn each_violated_key_is_listed_with_its_core() {
    let etcd = SeriReader::parse(service("etcd").expect("a service").source, None).unwrap();
    let mut text = String::new();
    for n in 0..40 {
        let call = 10 * n;
        let (rev, ret) = (n + 2, call + 1);
        writeln!(text, "{{\"process\":0,\"op\":\"put\",\"arg\":[\"k{n}\",{n}],\"result\":{rev},\"call\":{call},\"return\":{ret}}}").unwrap();
    }
    for n in 0..40 {
        let call = 1_000 + 10 * n;
        let (value, rev, ret) = (if n % 16 == 3 { 99 } else { n }, n + 2, call + 1);
        writeln!(text, "{{\"process\":1,\"op\":\"get\",\"arg\":\"k{n}\",\"result\":[{value},{rev},41],\"call\":{call},\"return\":{ret}}}").unwrap();
    }
    let options = Options { stop_at: StopAt::End, ..Options::default() };
    let mut history = read_str(&text).expect("a history");
    let checked = check(&mut history, &etcd, &options).unwrap();
    let parts = violated_parts(&mut history, &etcd, &checked, &options).unwrap();
    let found: Vec<_> = parts
        .iter()
        .map(|part| {
            let of_part = part.operations.iter().map(|op| op.index()).collect::<Vec<_>>();
            (part.label.as_str(), of_part)
        })
        .collect();
    let expected =
        [("key \"k3\"", vec![3, 43]), ("key \"k19\"", vec![19, 59]), ("key \"k35\"", vec![35, 75])];
    assert_eq!(found, expected);
}

/// A range of keys is one read for each key: the store stays one object for each key.
#[test]
fn a_range_does_not_tie_keys_together() {
    let etcd = service("etcd-txn").expect("a service");
    let mut lines = String::new();
    for n in 0..200 {
        let (k, call) = (n % 20, 10 * n);
        writeln!(
            lines,
            "{{\"process\":0,\"op\":\"txn\",\"arg\":[[],[[\"Put\",{k},{n},null]],[]],\"result\":[true,true,[[null,0]],{}],\"call\":{call},\"return\":{}}}",
            n + 2,
            call + 1
        )
        .unwrap();
    }
    let listed: Vec<String> = (5..8).map(|k| format!("[{k},{},{}]", 180 + k, 182 + k)).collect();
    let range = |listed: &str| {
        format!(
            "{{\"process\":1,\"op\":\"range\",\"arg\":[5,8],\"result\":[[{listed}],201],\"call\":3000,\"return\":3001}}\n"
        )
    };
    let right = format!("{lines}{}", range(&listed.join(",")));
    let checked = verdict(etcd, &right, &Options::default());
    assert!(matches!(checked.verdict, Verdict::Linearizable(_)));
    let wrong = format!("{lines}{}", range(&listed[..2].join(",")));
    let checked = verdict(etcd, &wrong, &Options::default());
    let Verdict::Violation(core) = &checked.verdict else { panic!("{}", checked.verdict.word()) };
    assert_eq!(core.operations.len(), 2, "the last put of key 7 and the range");
}

/// A range inside of a transaction touches those of its keys that others name, and is decided along
/// the versions, with a put among them that never returned.
#[test]
fn a_range_in_a_transaction_is_decided_along_versions() {
    let etcd = service("etcd-txn").expect("a service");
    let put = |k: &str, v: u32, rest: &str| {
        format!(
            "{{\"process\":{v},\"op\":\"txn\",\"arg\":[[],[[\"Put\",\"{k}\",{v},null]],[]],\"call\":{}{rest}}}\n",
            10 * v
        )
    };
    let told = |v: u32, rev: u32| {
        format!(",\"return\":{},\"result\":[true,true,[[null,0]],{rev}]", 10 * v + 5)
    };
    let lines = [
        put("a", 1, &told(1, 2)),
        put("b", 2, ""),
        put("x", 3, &told(3, 4)),
        put("a", 4, &told(4, 5)),
    ];
    let both = |found: &str| {
        format!(
            "{}{{\"process\":9,\"op\":\"txn\",\"arg\":[[],[{{\"kind\":\"Range\",\"key\":\"a\",\"end\":\"c\"}},\
             [\"Put\",\"c\",5]],[]],\"result\":[true,true,[[null,0,[{found}]],[null,0]],6],\"call\":90,\"return\":91}}\n",
            lines.concat()
        )
    };
    for (found, word) in [
        ("[\"a\",4,5],[\"b\",2,3]", "linearizable"),
        ("[\"a\",4,5]", "violation"),
        ("[\"a\",1,2],[\"b\",2,3]", "violation"),
        ("[\"a\",4,5],[\"b\",2,3],[\"x\",3,4]", "violation"),
    ] {
        let checked = verdict(etcd, &both(found), &Options::default());
        assert_eq!(checked.verdict.word(), word, "{found}");
        assert_eq!(checked.parts[0].decided_by, DecidedBy::Monitor("versions"), "{found}");
    }
}

/// Verdicts of the histories of a model with one piece of its text replaced, with and without what
/// the text says of its methods; how many were decided along versions.
fn agrees(source: &str, (old, new): (&str, &str), seeds: u64) -> u64 {
    assert!(source.contains(old), "{old}");
    let model = Service { name: "variant", source: source.replace(old, new).leak() };
    let usual = Options { threads: 1, ..Options::default() };
    let plain = Options { monitors: Monitors::Skip, threads: 1, ..Options::default() };
    let mut by_versions = 0;
    for seed in 0..seeds {
        let text = draw(model, seed, Size { operations: 8, unknown: 5, keys: 3, ..SMALL });
        let found = verdict(model, &text, &usual);
        let expected = verdict(model, &text, &plain);
        assert_eq!(found.verdict.word(), expected.verdict.word(), "{new} {seed}:\n{text}");
        assert_eq!(found.defect, None, "{new} {seed}:\n{text}");
        let is_decided = found.parts[0].decided_by == DecidedBy::Monitor("versions");
        by_versions += u64::from(is_decided);
    }
    by_versions
}

/// Methods that almost list the entries of a range, or almost act on those of a list of ranges.
#[test]
fn what_is_not_quite_a_range_changes_no_verdict() {
    let shelf = "spec shelf {
  var rev: int = 1
  var kv: map<key, int> = {}
  method put(k: key, v: int) -> int {
    kv[k] = v
    rev = rev + 1
    return rev
  }
  method range(low: key, high: key) -> (seq<(key, int)>, int) {
    let found: seq<(key, int)> = []
    for k in kv[low..high] { found = found ++ [(k, kv[k])] }
    return (found, rev)
  }
  method clear(spans: seq<(key, key)>) -> (bool, int) {
    let held = false
    for s in spans { for k in kv[s.0..s.1] { held = true } }
    if !held { return (false, rev) }
    for s in spans { for k in kv[s.0..s.1] { kv[k] = empty } }
    rev = rev + 1
    return (true, rev)
  }
}";
    assert_eq!(agrees(shelf, ("", ""), 60), 60);
    for (old, new) in [
        ("[(k, kv[k])]", "[(low, kv[k])]"),
        ("found ++ [(k, kv[k])]", "[(k, kv[k])]"),
        ("found ++ [(k, kv[k])]", "[(k, kv[k])] ++ found"),
        ("[(k, kv[k])]", "[(k, rev)]"),
        ("for k in kv[low..high] {", "for k in kv[high..low] {"),
        ("for k in kv[low..high] {", "for k in kv {"),
        ("kv[s.0..s.1] { kv[k] = empty }", "kv[s.1..s.0] { kv[k] = empty }"),
        ("{ kv[k] = empty }", "{ kv[s.0] = 7 }"),
        ("{ held = true }", "{ held = kv[k] > 1 }"),
    ] {
        agrees(shelf, (old, new), 60);
    }
}

/// Methods that change something at no version, and some that almost do no more.
#[test]
fn what_changes_at_no_version_changes_no_verdict() {
    let store = "spec store {
  var rev: int = 1
  var compacted: int = 0
  var kv: map<key, int> = {}
  method put(k: key, v: int) -> int {
    kv[k] = v
    rev = rev + 1
    return rev
  }
  method compact(at: int) -> (bool, int) {
    if at <= compacted || at > rev { return (false, rev) }
    compacted = at
    return (true, rev)
  }
  method get(k: key, at: int) -> (bool, int?, int) {
    if at < compacted { return (false, empty, rev) }
    return (true, content(k), rev)
  }
  fn content(k: key) -> int? {
    if k in kv { return kv[k] }
    return empty
  }
}";
    assert_eq!(agrees(store, ("", ""), 200), 200);
    let silent =
        agrees(store, ("return (true, content(k), rev)", "return (true, content(k), 0)"), 100);
    assert!(silent > 50, "{silent}");
    for (old, new) in [
        ("at <= compacted", "compacted > 0"),
        ("    kv[k] = v\n", "    kv[k] = v + compacted\n"),
        ("    kv[k] = v\n", "    kv[k] = v\n    compacted = 0\n"),
        (
            "return (true, rev)\n  }\n  method get",
            "rev = rev + 1\n    return (true, rev)\n  }\n  method get",
        ),
    ] {
        agrees(store, (old, new), 60);
    }
}
