//! What is written is read back as it was: random histories through every format that can write,
//! restricted to what the format can express; what it cannot express is refused.

use seriatim_history::{
    Annotation, Builder, Call, Conventions, Event, Format, History, Interval, Outcome,
};
use seriatim_history::{Return, Value, ValueId, WriteError, read_str, write};
use seriatim_testing::Random;

const ROUNDS: u64 = 3_000;

fn text_of(history: &History, format: Format) -> Result<String, WriteError> {
    let mut bytes = Vec::new();
    write(history, format, &mut bytes)?;
    Ok(String::from_utf8(bytes).unwrap())
}

/// Writes and reads.
fn again(history: &History, format: Format) -> (String, History) {
    let text = text_of(history, format).unwrap_or_else(|error| panic!("{error}"));
    let read = read_str(&text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
    (text, read)
}

/// Whether the recorded processes are part of a format.
#[derive(Clone, Copy, PartialEq)]
enum Processes {
    Kept,
    Lost,
}

/// Everything that the operations say, and the order of their events.
fn content(history: &History, processes: Processes) -> (Vec<String>, Vec<Event>) {
    let values = history.values();
    let shown = |id: ValueId| match id.is_present() {
        true => format!("{:?}", values.get(id)),
        false => "-".into(),
    };
    let line = |operation: seriatim_history::Operation<'_>| {
        let process = match processes {
            Processes::Kept => Some(history.process_name(operation.process())),
            Processes::Lost => None,
        };
        let parts = [operation.object(), operation.key(), operation.arg(), operation.result()];
        let (name, outcome) = (operation.method(), operation.outcome());
        let note = history.note(operation.id);
        format!("{process:?} {name} {:?} {outcome:?} {note:?}", parts.map(shown))
    };
    (history.operations().map(line).collect(), history.events().collect())
}

/// The recorded times of all events.
fn times(history: &History) -> Vec<u64> {
    let stamp = |event| match event {
        Event::Call(op) => history.call(op),
        Event::Return(op) => history.ret(op).unwrap(),
    };
    history.events().map(|event| history.display_time(stamp(event))).collect()
}

/// The annotations, with the number of events before their beginning and before their end.
fn annotations(history: &History) -> Vec<(usize, usize, String, String, Option<String>)> {
    let before = |moment: u64| {
        let earlier = |event: &Event| match *event {
            Event::Call(op) => history.call(op) < moment,
            Event::Return(op) => history.ret(op).unwrap() < moment,
        };
        history.events().filter(earlier).count()
    };
    let told = |a: &Annotation| {
        (before(a.start), before(a.end), a.group.clone(), a.text.clone(), a.colour.clone())
    };
    let mut all: Vec<_> = history.annotations().iter().map(told).collect();
    all.sort();
    all
}

const TEXTS: [&str; 10] =
    ["", "a", "x y", "\"q\"\\", "ü\u{1F600}\n", "#name", ":k", "5", "nil", "\u{1}\t\r/"];
const NAMES: [&str; 14] = [
    "a",
    "timed-out",
    "a/b",
    "a b",
    "?<0,1>",
    "\\a",
    "\\newline",
    "\\(",
    "nil",
    "",
    ":x",
    "#inst",
    "1",
    "seriatim/name",
];
const NUMBERS: [&str; 12] = [
    "1.5",
    "1/3",
    "##NaN",
    "1E5",
    "-0.0",
    "99999999999999999999",
    "odd",
    "-",
    "12",
    "1.5M",
    "",
    "017",
];

fn value(random: &mut Random, depth: usize) -> Value {
    let kinds = if depth < 3 { 9 } else { 6 };
    match random.index(kinds) {
        0 => Value::Nil,
        1 => Value::Bool(random.one_in(2)),
        2 => Value::Int(*random.pick(&[0, 7, -1, 1 << 30, i64::MAX, i64::MIN])),
        3 => Value::number(random.pick::<&str>(&NUMBERS)),
        4 => Value::text(random.pick::<&str>(&TEXTS)),
        5 => Value::Name((*random.pick(&NAMES)).into()),
        6 => {
            Value::list((0..random.index(4)).map(|_| value(random, depth + 1)).collect::<Vec<_>>())
        }
        7 => {
            let tag = *random.pick(&["#inst", "#seriatim/name", "#a b", "#", "#regex"]);
            Value::list([Value::Name(tag.into()), value(random, depth + 1)])
        }
        _ => {
            let mut entries: Vec<(Value, Value)> = Vec::new();
            for _ in 0..random.index(4) {
                let (key, value) = (value(random, depth + 1), value(random, depth + 1));
                if entries.iter().all(|(known, _)| *known != key) {
                    entries.push((key, value));
                }
            }
            Value::map(entries)
        }
    }
}

fn maybe_value(random: &mut Random, builder: &mut Builder) -> ValueId {
    match random.one_in(3) {
        true => ValueId::ABSENT,
        false => {
            let value = value(random, 0);
            builder.values().intern(&value)
        }
    }
}

fn random_call(random: &mut Random, builder: &mut Builder) -> Call {
    let name = *random.pick(&["read", "write", "a b", "x/y", "\"", "ü"]);
    let mut call = Call::new(builder.method(name));
    call.arg = maybe_value(random, builder);
    if random.one_in(4) {
        call.key = maybe_value(random, builder);
        call.object = maybe_value(random, builder);
    }
    call
}

fn random_return(random: &mut Random, builder: &mut Builder) -> Return {
    let outcome = *random.pick(&[Outcome::Ok, Outcome::Ok, Outcome::Failed]);
    Return::new(outcome, maybe_value(random, builder))
}

const PROCESSES: usize = 4;

fn process_name(random: &mut Random, index: usize) -> Value {
    match random.index(3) {
        0 => Value::text(&format!("client {index}")),
        1 => Value::Name(format!("c{index}").into()),
        _ => Value::Int(index as i64),
    }
}

fn random_annotation(random: &mut Random, start: u64, end: u64) -> Annotation {
    Annotation {
        start,
        end,
        group: (*random.pick(&["nemesis", "", "two words", "5"])).into(),
        text: (*random.pick(&["cut", "", "a \"b\"", "7", "nil"])).into(),
        colour: random.one_in(2).then(|| "red".into()),
    }
}

/// A history of events: calls, returns, operations given up, times, notes, annotations.
fn history_of_events(random: &mut Random) -> History {
    let mut builder = Builder::new("random");
    builder.name_spec(random.pick::<&str>(&TEXTS));
    let names: Vec<Value> = (0..PROCESSES).map(|index| process_name(random, index)).collect();
    let processes: Vec<_> = names.iter().map(|name| builder.process(name)).collect();
    let timed = random.one_in(2);
    let mut now = 0;
    for line in 1..=random.index(30) as u64 {
        now += 1 + random.index(5) as u64;
        let time = timed.then_some(now);
        let process = *random.pick(&processes);
        if random.one_in(8) {
            let (start, length) = (line - 1, random.index(2) as u64 * random.index(9) as u64);
            let annotation = random_annotation(random, start, start + length);
            builder.annotate(annotation);
        }
        let op = if builder.open_operation(process).is_none() {
            let call = random_call(random, &mut builder);
            builder.call(line, process, Call { time, ..call }).unwrap()
        } else {
            let mut ret = random_return(random, &mut builder);
            if random.one_in(5) {
                ret.outcome = Outcome::Pending;
            }
            builder.ret(line, process, Return { time, ..ret }).unwrap()
        };
        if random.one_in(4) {
            builder.note(op, value(random, 0));
        }
    }
    builder.finish().unwrap()
}

/// A history of operations with times, in any order.
fn history_of_operations(random: &mut Random) -> History {
    let mut builder = Builder::new("random");
    let mut clocks = [0u64; PROCESSES];
    let mut operations = Vec::new();
    for _ in 0..random.index(20) {
        let process = random.index(PROCESSES);
        let call = clocks[process] + 1 + random.index(4) as u64;
        let ret = call + random.index(6) as u64;
        clocks[process] = ret;
        operations.push((process, call, (!random.one_in(5)).then_some(ret)));
    }
    for index in (1..operations.len()).rev() {
        operations.swap(index, random.index(index + 1));
    }
    for (line, (process, call, ret)) in operations.into_iter().enumerate() {
        let process = builder.process(&Value::Int(process as i64));
        let what = random_call(random, &mut builder);
        let result = random_return(random, &mut builder);
        let interval = Interval { call, ret };
        let op = builder.operation(line as u64 + 1, Some(process), what, interval, result).unwrap();
        if random.one_in(4) {
            builder.note(op, value(random, 0));
        }
    }
    for _ in 0..random.index(3) {
        let start = random.index(20) as u64;
        let end = start + random.index(5) as u64;
        let annotation = random_annotation(random, start, end);
        builder.annotate(annotation);
    }
    builder.finish().unwrap()
}

#[test]
fn histories_of_operations_survive_as_json_lines() {
    for seed in 0..ROUNDS {
        let history = history_of_operations(&mut Random(seed));
        let (text, read) = again(&history, Format::JsonLines);
        assert_eq!(content(&read, Processes::Kept), content(&history, Processes::Kept), "{text}");
        assert_eq!(times(&read), times(&history), "{text}");
        assert_eq!(read.annotations(), history.annotations(), "{text}");
        assert_eq!(read.spec(), history.spec());
    }
}

#[test]
fn histories_of_events_survive_as_json_lines() {
    for seed in 0..ROUNDS {
        let mut random = Random(seed);
        let history = match random.one_in(4) {
            true => history_of_operations(&mut random),
            false => history_of_events(&mut random),
        };
        for format in [Format::JsonEvents, Format::JsonLines] {
            let (text, read) = again(&history, format);
            assert_eq!(
                content(&read, Processes::Kept),
                content(&history, Processes::Kept),
                "{text}"
            );
            assert_eq!(annotations(&read), annotations(&history), "{text}");
            if format == Format::JsonEvents {
                assert_eq!(times(&read), times(&history), "{text}");
            }
            assert_eq!(read.spec(), history.spec());
        }
    }
}

#[test]
fn histories_survive_as_edn() {
    let mut refused = 0;
    for seed in 0..ROUNDS {
        let mut random = Random(seed);
        let history = match random.one_in(4) {
            true => history_of_operations(&mut random),
            false => history_of_events(&mut random),
        };
        match text_of(&history, Format::Edn) {
            Err(WriteError::Inexpressible(_)) => refused += 1,
            Err(error) => panic!("{error}"),
            Ok(text) => {
                let (text, read) = (text.clone(), read_edn(&text));
                let expected = content(&history, Processes::Kept);
                assert_eq!(content(&read, Processes::Kept), expected, "{text}");
                assert_eq!(times(&read), times(&history), "{text}");
            }
        }
    }
    assert!(refused < ROUNDS / 5, "{refused} refused");
}

/// Reads EDN; a history without any line cannot be detected.
fn read_edn(text: &str) -> History {
    read_str(text).unwrap_or_else(|error| panic!("{error} in\n{text}"))
}

/// Completed operations on a container, for the formats that know some objects only.
fn container(random: &mut Random, spec: &str, methods: &[(&str, char)], ids: usize) -> History {
    let mut builder = Builder::new("random");
    builder.name_spec(spec);
    for line in 1..=random.index(20) as u64 {
        let (name, shape) = *random.pick(methods);
        let value = builder.values().intern_int(random.index(9) as i64);
        let (arg, result) = match shape {
            'a' => (value, ValueId::ABSENT),
            't' if random.one_in(4) => (ValueId::ABSENT, ValueId::NIL),
            't' => (ValueId::ABSENT, value),
            _ => (value, ValueId::from(random.one_in(2))),
        };
        let call = Call::new(builder.method(name)).arg(arg);
        let start = line * ids as u64;
        let interval = Interval { call: start, ret: Some(start + random.index(2 * ids) as u64) };
        let ret = Return::new(Outcome::Ok, result);
        builder.operation(line, None, call, interval, ret).unwrap();
    }
    builder.finish().unwrap()
}

const STACK: [(&str, char); 2] = [("push", 'a'), ("pop", 't')];
const QUEUE: [(&str, char); 2] = [("enq", 'a'), ("deq", 't')];

#[test]
fn containers_survive_as_polylin_and_limo() {
    let set = [("insert", '?'), ("remove", '?'), ("contains", '?')];
    let priority = [("insert", 'a'), ("poll", 't'), ("peek", 't')];
    let deque = [("push_front", 'a'), ("push_back", 'a'), ("pop_front", 't'), ("peek_back", 't')];
    for seed in 0..ROUNDS {
        let random = &mut Random(seed);
        let histories = [
            (container(random, "stack", &STACK, 3), true),
            (container(random, "queue", &QUEUE, 3), true),
            (container(random, "set", &set, 3), false),
            (container(random, "priority-queue(max)", &priority, 3), false),
            (container(random, "deque", &deque, 3), false),
        ];
        for (history, limo) in histories {
            if history.is_empty() {
                continue;
            }
            let (text, read) = again(&history, Format::PolyLin);
            assert_eq!(
                content(&read, Processes::Lost),
                content(&history, Processes::Lost),
                "{text}"
            );
            assert_eq!(times(&read), times(&history), "{text}");
            assert_eq!(read.spec(), history.spec());
            if limo {
                let (text, read) = again(&history, Format::LiMo);
                let expected = content(&history, Processes::Kept);
                assert_eq!(content(&read, Processes::Kept), expected, "{text}");
                assert_eq!(read.spec(), history.spec());
            }
        }
    }
}

#[test]
fn key_value_histories_survive_as_porcupine_logs() {
    for seed in 0..ROUNDS {
        let random = &mut Random(seed);
        let mut builder = Builder::new("random");
        builder.follow(Conventions::JEPSEN);
        let processes: Vec<_> = (0..4).map(|index| builder.process(&Value::Int(index))).collect();
        let mut last_line = 0;
        let mut step = |builder: &mut Builder, random: &mut Random, process| {
            last_line += 1;
            let text =
                builder.values().intern_text(random.pick::<&str>(&["", "x 1 2 y", "ü", "{:a"]));
            let Some(op) = builder.open_operation(process) else {
                let method = builder.method(random.pick::<&str>(&["get", "put", "append"]));
                let is_get = builder.method_name(method) == "get";
                let arg = if is_get { ValueId::NIL } else { text };
                let call = Call::new(method).key(text).arg(arg);
                builder.call(last_line, process, call).unwrap();
                return;
            };
            let call = builder.call_of(op);
            let is_get = builder.method_name(call.method) == "get";
            let result = if is_get { text } else { call.arg };
            builder.ret(last_line, process, Return::new(Outcome::Ok, result)).unwrap();
        };
        for _ in 0..random.index(30) {
            let process = *random.pick(&processes);
            step(&mut builder, random, process);
        }
        for &process in &processes {
            if builder.open_operation(process).is_some() {
                step(&mut builder, random, process);
            }
        }
        let history = builder.finish().unwrap();
        let (text, read) = again(&history, Format::Porcupine);
        assert_eq!(content(&read, Processes::Kept), content(&history, Processes::Kept), "{text}");
    }
}

#[test]
fn what_a_format_cannot_express_is_refused() {
    let cases = [
        ("# @object stack\n[1] call push(1)", Format::PolyLin, "only operations that returned"),
        ("1 invokes add 1\n1 returns true", Format::LiMo, "only stack and queue"),
        ("{\"op\":\"push\",\"call\":1}", Format::PolyLin, "which specification"),
        ("# stack\npush 1 1 2", Format::Porcupine, "have a key"),
        ("# @object stack\n[1] call push(a)\n[1] return", Format::PolyLin, "32-bit argument"),
        (
            "{\"seriatim\":1,\"spec\":\"stack\"}\n{\"process\":\"a\",\"op\":\"push\",\"arg\":1,\"call\":1,\"return\":2}",
            Format::LiMo,
            "threads are whole numbers",
        ),
        (
            "{\"seriatim\":1,\"spec\":\"stack\"}\n{\"process\":1,\"op\":\"push\",\"arg\":1,\"call\":1}\n{\"process\":1,\"op\":\"pop\",\"result\":1,\"call\":2,\"return\":3}",
            Format::LiMo,
            "stops at a pending operation",
        ),
        (
            "{\"process\":1,\"op\":\"a\",\"call\":1,\"return\":2}\n{\"process\":1,\"op\":\"a\",\"call\":2,\"return\":3}\n\
             {\"process\":2,\"op\":\"a\",\"call\":1,\"return\":2}\n{\"process\":2,\"op\":\"a\",\"call\":2,\"return\":3}",
            Format::JsonEvents,
            "at the instant at which it returns",
        ),
        ("# stack\npush 1 1 2", Format::Ahorn, "no writer for ahorn"),
        (
            "{\"seriatim\":1,\"spec\":\"priority-queue\"}\n{\"op\":\"insert\",\"arg\":1,\"call\":1,\"return\":2}",
            Format::PolyLin,
            "not priority-queue",
        ),
    ];
    for (text, format, said) in cases {
        let error = text_of(&read_str(text).unwrap(), format).unwrap_err().to_string();
        assert!(error.contains(said), "{error}\nlacks {said:?}");
    }
}
