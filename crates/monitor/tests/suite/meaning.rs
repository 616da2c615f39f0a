//! What records mean, end to end: numbers, repeated arguments, nil, reads of the whole, processes
//! on a coarse clock; and the same in every format.

use crate::rows::{Row, built, generated, rounds, shown};
use seriatim_history::{Format, History, Time, Value, read_str, write};
use seriatim_monitor::{Monitors, Options, check};
use seriatim_spec::{ChosenReader, Failures, SpecChoice, Verdict, catalogue};
use seriatim_testing::Random;

/// The verdict in a word, or `refused`, on which the monitors and the search agree.
fn word(history: &History, spec: &str) -> &'static str {
    let choice = SpecChoice::parse(spec).unwrap_or_else(|error| panic!("{spec}: {error}"));
    let reader = ChosenReader { choice, failures: Failures::Drop };
    let [fast, slow] = [Monitors::Use, Monitors::Skip].map(|monitors| {
        let options = Options { monitors, threads: 1, ..Options::default() };
        check(&mut history.clone(), &reader, &options).map_or("refused", |done| done.verdict.word())
    });
    assert_eq!(fast, slow, "{spec}\n{}", shown(history));
    fast
}

fn word_of(text: &str, spec: &str) -> &'static str {
    word(&read_str(text).unwrap_or_else(|error| panic!("{error}\n{text}")), spec)
}

#[test]
fn priorities_leave_by_what_they_are_worth() {
    // The worth of a spelling is known from how it was made: a number of quarters.
    let spell = |quarters: i64, random: &mut Random| {
        let hundredths = quarters * 25;
        let sign = if hundredths < 0 { "-" } else { "" };
        let size = hundredths.abs();
        match random.index(5) {
            0 if quarters % 4 == 0 => format!("{}", quarters / 4),
            1 => format!("{sign}{}.{:02}", size / 100, size % 100),
            2 => format!("{hundredths}e-2"),
            3 => format!("{{\"#number\":\"{quarters}/4\"}}"),
            _ => format!("{sign}{}.{:03}E1", size / 1000, size % 1000),
        }
    };
    let mut random = Random(0x9E3779B9);
    let mut seen = [0, 0];
    for round in 0..rounds(300) {
        let far = [0, i64::MAX / 100, -(i64::MAX / 100)][random.index(3)];
        let is_max = round % 2 == 1;
        let (mut inside, mut lines, mut is_right) = (Vec::new(), Vec::new(), true);
        for step in 0..8 {
            let (call, ret) = (4 * step, 4 * step + 2);
            if inside.is_empty() || random.index(2) == 0 {
                let quarters = far / 25 + random.index(9) as i64 - 4;
                inside.push(quarters);
                let arg = spell(quarters, &mut random);
                lines.push(format!(
                    "{{\"op\":\"insert\",\"arg\":{arg},\"call\":{call},\"return\":{ret}}}"
                ));
            } else {
                let first = if is_max { inside.iter().max() } else { inside.iter().min() };
                let first = *first.expect("it is not empty");
                let taken = if random.index(4) == 0 { *random.pick(&inside) } else { first };
                is_right &= taken == first;
                let place = inside.iter().position(|known| *known == taken).expect("it is inside");
                inside.remove(place);
                let result = spell(taken, &mut random);
                lines.push(format!(
                    "{{\"op\":\"extract\",\"result\":{result},\"call\":{call},\"return\":{ret}}}"
                ));
            }
        }
        let spec = if is_max { "priority-queue(max)" } else { "priority-queue" };
        let expected = if is_right { "linearizable" } else { "violation" };
        assert_eq!(word_of(&lines.join("\n"), spec), expected, "{lines:#?}");
        seen[usize::from(is_right)] += 1;
    }
    assert!(seen.iter().all(|&count| count > 20), "{seen:?}");
}

#[test]
fn priorities_without_an_order_are_refused() {
    let values = ["1", "2.5", "\"a\"", "true", "[1,2]", "[1,\"a\"]", "{\"a\":1}"];
    let kinds = [0, 0, 1, 2, 3, 4, 5];
    for (i, a) in values.iter().enumerate() {
        for (j, b) in values.iter().enumerate().filter(|(j, _)| *j != i) {
            let insert = |value: &str, call: usize| {
                let ret = call + 1;
                format!("{{\"op\":\"insert\",\"arg\":{value},\"call\":{call},\"return\":{ret}}}\n")
            };
            let text = insert(a, 0) + &insert(b, 2);
            let expected = if kinds[i] == kinds[j] { "linearizable" } else { "refused" };
            assert_eq!(word_of(&text, "priority-queue"), expected, "{text}");
        }
    }
}

#[test]
fn a_number_is_one_value_and_the_text_of_its_digits_another() {
    for (written, read, expected) in [
        ("1", "1.0", "linearizable"),
        ("1e3", "1000", "linearizable"),
        ("0.10", "1e-1", "linearizable"),
        ("-0.0", "0", "linearizable"),
        ("9007199254740993", "9007199254740992.0", "violation"),
        ("1", "\"1\"", "violation"),
        ("18446744073709551616", "18446744073709551617", "violation"),
    ] {
        let text = format!(
            "{{\"op\":\"write\",\"arg\":{written},\"call\":0,\"return\":1}}\n\
             {{\"op\":\"read\",\"result\":{read},\"call\":2,\"return\":3}}\n"
        );
        assert_eq!(word_of(&text, "register"), expected, "{text}");
    }
}

#[test]
fn a_repeated_argument_is_a_result_unless_the_source_repeats_arguments() {
    // One operation twice, each returning its argument, which only the first could be right about.
    for (spec, method, arg) in [("counter", "add", 5), ("counter", "inc", 2), ("log", "append", 0)]
    {
        let line = |call: u32| {
            let ret = call + 1;
            format!(
                "{{\"process\":0,\"op\":\"{method}\",\"arg\":{arg},\"result\":{arg},\"call\":{call},\"return\":{ret}}}\n"
            )
        };
        let json = line(0) + &line(2);
        assert_eq!(word_of(&json, spec), "violation", "{json}");
        let repeats = format!("{{\"seriatim\":1,\"echo\":\"argument\"}}\n{json}");
        assert_eq!(word_of(&repeats, spec), "linearizable", "{repeats}");
        let event =
            |kind: &str| format!("{{:process 0 :type :{kind} :f :{method} :value {arg}}}\n");
        let edn = [event("invoke"), event("ok"), event("invoke"), event("ok")].concat();
        assert_eq!(word_of(&edn, spec), "linearizable", "{edn}");
        for (text, expected) in [(&json, "violation"), (&edn, "linearizable")] {
            let history = read_str(text).unwrap();
            for (name, back) in converted(&history) {
                assert_eq!(word(&back, spec), expected, "{name} of {text}");
            }
        }
    }
    // Where nothing can be returned, a result is a mistake of the recorder.
    for (spec, method) in [("queue", "enqueue"), ("register", "write"), ("set", "add")] {
        let json =
            format!("{{\"op\":\"{method}\",\"arg\":7,\"result\":7,\"call\":0,\"return\":1}}");
        assert_eq!(word_of(&json, spec), "refused", "{json}");
    }
}

#[test]
fn nil_does_not_go_where_it_means_that_there_is_none() {
    let containers = [
        ("queue", "enqueue"),
        ("stack", "push"),
        ("deque", "push_front"),
        ("deque", "push_back"),
        ("priority-queue", "insert"),
        ("multiset", "add"),
        ("log", "append"),
    ];
    for (spec, method) in containers {
        let json =
            format!("{{\"process\":0,\"op\":\"{method}\",\"arg\":null,\"call\":0,\"return\":1}}");
        assert_eq!(word_of(&json, spec), "refused", "{json}");
        let pending = json.replace(",\"return\":1", "");
        assert_eq!(word_of(&pending, spec), "refused", "{pending}");
        let edn = format!(
            "{{:process 0 :type :invoke :f :{method} :value nil}}\n{{:process 0 :type :ok :f :{method} :value nil}}"
        );
        assert_eq!(word_of(&edn, spec), "refused", "{edn}");
        assert!(SpecChoice::parse(&format!("{spec}(init=[1, nil])")).is_err());
    }
    let holds =
        |spec: &str, lines: &[&str]| assert_eq!(word_of(&lines.join("\n"), spec), "linearizable");
    holds("register", &[r#"{"op":"write","arg":null,"call":0,"return":1}"#]);
    holds("set", &[r#"{"op":"add","arg":null,"result":true,"call":0,"return":1}"#]);
    holds(
        "map",
        &[
            r#"{"op":"put","key":1,"arg":null,"call":0,"return":1}"#,
            r#"{"op":"contains","key":1,"result":true,"call":2,"return":3}"#,
            r#"{"op":"get","key":1,"result":null,"call":4,"return":5}"#,
        ],
    );
}

/// The fast monitors look at the values of all operations, not only at one of each kind.
#[test]
fn a_start_in_another_kind_than_the_log_is_refused_by_every_engine() {
    let log = |values: [&str; 3]| {
        let line = |(at, value): (usize, &str)| {
            let (op, said) = if at % 2 == 0 { ("write", "arg") } else { ("read", "result") };
            format!("{{\"op\":\"{op}\",\"{said}\":{value},\"call\":1{at}1,\"return\":1{at}2}}\n")
        };
        values.into_iter().flat_map(|value| [value; 2]).enumerate().map(line).collect::<String>()
    };
    let texts = log(["\"b\"", "\"c\"", "\"a\""]);
    assert_eq!(word_of(&texts, "register(init=:a)"), "refused");
    assert_eq!(word_of(&texts, "register(init=\"a\")"), "linearizable");
    assert_eq!(word_of(&texts, "register(init=:d)"), "linearizable");
    let both = log(["\"b\"", "\"a\"", "{\"#name\":\"a\"}"]);
    assert_eq!(word_of(&both, "register(init=:a)"), "linearizable");
}

/// The command gives a process a new name that goes on after an operation whose outcome nobody
/// knows. It is the owner and the receiver that it was.
#[test]
fn who_goes_on_after_an_unknown_outcome_is_still_who_it_was() {
    let event = |process: u32, what: &str| format!("{{\"process\":{process},{what}}}\n");
    let alone = |process: u32, call: &str, result: &str| {
        event(process, &format!("\"type\":\"call\",\"op\":{call}"))
            + &event(process, &format!("\"type\":\"return\"{result}"))
    };
    let lost = |call: &str| {
        event(0, &format!("\"type\":\"call\",\"op\":{call}")) + &event(0, "\"type\":\"info\"")
    };
    let send = alone(1, "\"send\",\"arg\":1", ",\"result\":true");
    for (spec, before, lost_call, call, result) in [
        ("mutex(owner)", String::new(), "\"acquire\"", "\"release\"", ""),
        ("watch", send.clone(), "\"update\"", "\"has_changed\"", ",\"result\":false"),
        ("broadcast", send, "\"recv\"", "\"try_recv\"", ",\"result\":null"),
    ] {
        for (process, expected) in [(0, "linearizable"), (2, "violation")] {
            let text = before.clone() + &lost(lost_call) + &alone(process, call, result);
            let mut history = read_str(&text).expect("it is readable");
            assert_eq!(word(&history, spec), expected, "{text}");
            history.name_successors();
            assert_eq!(word(&history, spec), expected, "{text}");
        }
    }
}

/// What did not happen says nothing, whatever the log has for its result.
#[test]
fn a_failure_may_have_any_result() {
    for (spec, question) in [
        ("snapshot(init=[1])", "\"scan\""),
        ("broadcast", "\"recv\",\"arg\":1"),
        ("set", "\"read\""),
        ("sorted-map", "\"get_or_insert\",\"key\":1,\"arg\":1"),
        ("counter", "\"read\""),
    ] {
        for result in ["null", "\"timeout\"", "[1,2,3]"] {
            let told = format!("\"result\":{result},\"failed\":true");
            let text = format!("{{\"op\":{question},\"call\":1,\"return\":2,{told}}}");
            assert_eq!(word_of(&text, spec), "linearizable", "{spec}: {question} {result}");
        }
    }
}

/// Who asks how many there are is answered with a number: `nil` says nothing only in logs that
/// write it for results that nobody recorded.
#[test]
fn nil_is_no_number_no_list_and_no_truth_value() {
    for (spec, question) in [
        ("set", "\"contains\",\"arg\":1"),
        ("set", "\"read\""),
        ("multiset", "\"count\""),
        ("map", "\"contains\",\"arg\":1"),
        ("map", "\"size\""),
        ("sorted-map", "\"contains\",\"arg\":1"),
        ("cache", "\"contains\",\"arg\":1"),
        ("queue", "\"is_empty\""),
        ("stack", "\"size\""),
        ("deque", "\"size\""),
        ("bounded-deque(capacity=2)", "\"is_full\""),
        ("priority-queue", "\"is_empty\""),
        ("counter", "\"read\""),
        ("fetch-and-add", "\"read\""),
        ("log", "\"read\""),
        ("snapshot(init=[1])", "\"scan\""),
        ("mutex", "\"is_locked\""),
        ("semaphore", "\"available\""),
    ] {
        let asked = |header: &str, result: &str| {
            let header = format!("{{\"seriatim\":1{header}}}\n");
            word_of(&format!("{header}{{\"op\":{question},\"call\":1,\"return\":2{result}}}"), spec)
        };
        assert_eq!(asked("", ",\"result\":null"), "refused", "{spec}: {question}");
        assert_eq!(asked("", ""), "linearizable", "{spec}: {question}");
        let unknown = asked(",\"nil\":\"unknown\"", ",\"result\":null");
        assert_eq!(unknown, "linearizable", "{spec}: {question}");
    }
}

#[test]
fn an_owner_is_a_process_of_the_log_and_never_an_invented_one() {
    // The second operation begins before the first one ends: processes that are made up would
    // differ.
    let nameless = "{\"op\":\"acquire\",\"call\":0,\"return\":2}\n{\"op\":\"release\",\"call\":1,\"return\":3}\n";
    assert_eq!(word_of(nameless, "mutex"), "linearizable");
    assert_eq!(word_of(nameless, "mutex(owner)"), "refused");
    // Two processes go on at one instant, and the turns are open; they are named all the same.
    let tied = "{\"process\":0,\"op\":\"acquire\",\"call\":0,\"return\":1}\n\
                {\"process\":0,\"op\":\"release\",\"call\":1,\"return\":2}\n\
                {\"process\":1,\"op\":\"is_locked\",\"result\":true,\"call\":0,\"return\":1}\n\
                {\"process\":1,\"op\":\"is_locked\",\"result\":false,\"call\":1,\"return\":2}\n";
    assert!(read_str(tied).expect("it is readable").has_open_ties());
    assert_eq!(word_of(tied, "mutex(owner)"), "linearizable");
    let other = tied.replace("0,\"op\":\"release", "1,\"op\":\"release").replace(
        "1,\"op\":\"is_locked\",\"result\":false",
        "0,\"op\":\"is_locked\",\"result\":false",
    );
    assert_eq!(word_of(&other, "mutex(owner)"), "violation");
}

#[test]
fn a_read_of_the_whole_shows_each_element_as_often_as_it_is_there() {
    // A set and a multiset after some additions, read as every list of up to three elements.
    for (spec, adds) in
        [("set", &[1, 2][..]), ("set", &[1]), ("multiset", &[1, 2]), ("multiset", &[1, 1])]
    {
        let mut rows: Vec<Row> = Vec::new();
        for &element in adds {
            let call = 2 * rows.len() as Time;
            rows.push(Row::new("add", Some(Value::Int(element)), call, Some(call + 1)));
        }
        for code in 0..27usize {
            let digits = [code % 3, code / 3 % 3, code / 9];
            let seen: Vec<i64> = digits.iter().filter(|d| **d > 0).map(|d| *d as i64).collect();
            let mut sorted = seen.clone();
            sorted.sort_unstable();
            let mut read = Row::new("read", None, 90, Some(91));
            read.result = Some(Value::list(seen.iter().copied().map(Value::Int)));
            let all: Vec<Row> = rows.iter().cloned().chain([read]).collect();
            let expected = if sorted == adds { "linearizable" } else { "violation" };
            assert_eq!(word(&built(&all), spec), expected, "{spec} {adds:?} read as {seen:?}");
        }
    }
}

/// Whether some order of reads and writes is right that respects real time and every process; by
/// trying all of them on the numbers alone.
fn register_oracle(rows: &[Row]) -> bool {
    fn place(rows: &[Row], left: &[usize], held: &Option<Value>) -> bool {
        let before = |a: usize, b: usize| {
            let (x, y) = (&rows[a], &rows[b]);
            let ret = x.ret.expect("all return");
            let later = (x.call, ret, a) < (y.call, y.ret.expect("all return"), b);
            ret < y.call || (x.process == y.process && ret == y.call && later)
        };
        left.is_empty()
            || left.iter().any(|&next| {
                let others: Vec<usize> = left.iter().copied().filter(|&op| op != next).collect();
                let is_first = others.iter().all(|&other| !before(other, next));
                let row = &rows[next];
                match row.method.as_str() {
                    "write" => is_first && place(rows, &others, &row.arg),
                    _ => is_first && row.result == *held && place(rows, &others, held),
                }
            })
    }
    let all: Vec<usize> = (0..rows.len()).collect();
    place(rows, &all, &Some(Value::Nil))
}

#[test]
fn one_process_does_one_thing_after_another_on_a_coarse_clock() {
    let mut random = Random(0xC10C4);
    let (mut seen, mut open) = ([0, 0], 0);
    for _ in 0..rounds(3000) {
        let mut rows: Vec<Row> = Vec::new();
        for process in 0..2 + random.index(2) as i64 {
            let mut now = random.index(2) as Time;
            for _ in 0..1 + random.index(2) {
                let ret = now + random.index(2) as Time;
                let value = Value::Int(1 + random.index(2) as i64);
                let mut row = match random.index(2) {
                    0 => Row::new("write", Some(value), now, Some(ret)),
                    _ => Row::new("read", None, now, Some(ret)),
                };
                if row.method == "read" {
                    row.result =
                        Some(if random.index(3) == 0 { Value::Nil } else { value_of(&mut random) });
                }
                row.process = Some(process);
                rows.push(row);
                now = ret + Time::from(random.index(4) == 0);
            }
        }
        let history = built(&rows);
        open += usize::from(history.has_open_ties());
        let expected = register_oracle(&rows);
        let word = word(&history, "register");
        assert_eq!(word == "linearizable", expected, "{word}: {rows:#?}");
        seen[usize::from(expected)] += 1;
    }
    assert!(seen.iter().all(|&count| count > 200) && open > 100, "{seen:?}, {open} open");
}

#[test]
fn a_violation_in_every_order_of_the_turns_says_how_many_were_tried() {
    let mut random = Random(0x71E5);
    let (mut told, mut silent) = (0, 0);
    for _ in 0..rounds(1500) {
        let mut rows: Vec<Row> = Vec::new();
        for process in 0..2 {
            // Everybody calls again at the instant 1.
            for (call, ret) in [(0, 1), (1, 2)] {
                let mut row = Row::new("write", Some(value_of(&mut random)), call, Some(ret));
                if random.index(2) == 0 {
                    row = Row::new("read", None, call, Some(ret));
                    row.result = Some(value_of(&mut random));
                }
                row.process = Some(process);
                rows.push(row);
            }
        }
        let mut history = built(&rows);
        assert!(history.has_open_ties());
        let reader = ChosenReader {
            choice: SpecChoice::parse("register").expect("it is in the catalogue"),
            failures: Failures::Drop,
        };
        let options = Options { threads: 1, ..Options::default() };
        let overlapping = check(&mut history.overlapping(), &reader, &options).expect("readable");
        let checked = check(&mut history, &reader, &options).expect("readable");
        let Verdict::Violation(core) = checked.verdict else { continue };
        // Two processes, each with one turn: two orders.
        let count = "all 2 orders were tried, none is right, and this is the last of them";
        let is_needed = matches!(overlapping.verdict, Verdict::Linearizable(_));
        let sentence = &core.explanation.sentence;
        assert_eq!(sentence.contains(count), is_needed, "{sentence}\n{rows:#?}");
        assert!(!history.has_open_ties(), "the counterexample is of one order");
        *if is_needed { &mut told } else { &mut silent } += 1;
    }
    assert!(told > 10 && silent > 10, "{told} told, {silent} not");
}

fn value_of(random: &mut Random) -> Value {
    Value::Int(1 + random.index(2) as i64)
}

/// A history after it went through each of the formats that can express it.
fn converted(history: &History) -> Vec<(Format, History)> {
    let mut all = Vec::new();
    for (format, _) in Format::ALL {
        let mut text = Vec::new();
        if write(history, format, &mut text).is_ok() {
            let text = String::from_utf8(text).expect("all formats are text");
            let back = read_str(&text).unwrap_or_else(|error| panic!("{format}: {error}\n{text}"));
            all.push((format, back));
        }
    }
    all
}

#[test]
fn every_format_that_can_express_a_history_keeps_its_verdict() {
    let mut random = Random(0xF0F0);
    let mut through = std::collections::BTreeMap::new();
    for entry in catalogue() {
        for round in 0..rounds(24) {
            let Some((mut rows, spec)) = generated(entry.name, 8, round % 3 == 0, &mut random)
            else {
                continue;
            };
            let coarse = 1 + random.index(3) as Time;
            for (index, row) in rows.iter_mut().enumerate() {
                (row.call, row.ret) = (row.call / coarse, row.ret.map(|ret| ret / coarse));
                row.failed = row.ret.is_some() && random.index(12) == 0;
                row.process = (round % 2 == 0).then_some(index as i64);
            }
            let mut history = built(&rows);
            history.name_spec(&spec);
            let expected = word(&history, &spec);
            for (format, back) in converted(&history) {
                let got = word(&back, &spec);
                assert_eq!(got, expected, "{} through {format}\n{}", entry.name, shown(&history));
                *through.entry(format.to_string()).or_insert(0) += 1;
                for (second, again) in converted(&back) {
                    let got = word(&again, &spec);
                    assert_eq!(got, expected, "{} through {format} and {second}", entry.name);
                }
            }
        }
    }
    for format in ["jsonl", "jsonl-events", "edn", "limo", "polylin"] {
        assert!(through.get(format).is_some_and(|&times| times > 3), "{through:?}");
    }
}

#[test]
fn a_queue_backwards_is_a_queue() {
    let mut random = Random(0xBACC);
    let mut seen = [0, 0];
    for _ in 0..rounds(200) {
        let count = 3 + random.index(6);
        let mut rows = Vec::new();
        for value in 0..count as i64 {
            let call = 4 * value as Time + random.index(6) as Time;
            let ret = call + random.index(7) as Time;
            rows.push(Row::new("enqueue", Some(Value::Int(value)), call, Some(ret)));
            let call = ret + random.index(14) as Time;
            let ret = call + random.index(7) as Time;
            let mut dequeue = Row::new("dequeue", None, call, Some(ret));
            dequeue.result = Some(Value::Int(value));
            rows.push(dequeue);
        }
        let end = rows.iter().filter_map(|row| row.ret).max().unwrap_or(0);
        let backwards = |row: &Row| {
            let is_enqueue = row.method == "enqueue";
            let method = if is_enqueue { "dequeue" } else { "enqueue" };
            let ret = row.ret.expect("all return");
            let mut back = Row::new(method, row.result.clone(), end - ret, Some(end - row.call));
            back.result = row.arg.clone();
            back
        };
        let reversed: Vec<Row> = rows.iter().map(backwards).collect();
        let word_now = word(&built(&rows), "queue");
        assert_eq!(word(&built(&reversed), "queue"), word_now, "{rows:#?}");
        seen[usize::from(word_now == "linearizable")] += 1;
    }
    assert!(seen.iter().all(|&count| count > 20), "{seen:?}");
}
