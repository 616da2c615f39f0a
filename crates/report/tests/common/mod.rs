//! Histories that the reports' tests share, with verdicts written by hand: a report must not change
//! when an engine finds another counterexample.

pub mod runs;

use seriatim_history::{
    Annotation, Builder, Call, History, Horizon, Interval, OpId, Outcome, Return, Time, Value,
    ValueId,
};
use seriatim_report::{Report, States, Statistics};
use seriatim_spec::{
    Attempt, ChosenReader, Context, Counterexample, DecidedBy, Explanation, Failures, Limit,
    PartStanding, PartVerdict, Replayed, SpecChoice, Strategy, Unknown, Verdict, Witness, replay,
};
use std::time::Duration;

/// A history with its verdict: all that a report needs.
pub struct Sample {
    pub history: History,
    pub spec: &'static str,
    pub verdict: Verdict,
    pub parts: Vec<PartVerdict>,
    pub states: States,
}

impl Sample {
    pub fn new(history: History, spec: &'static str, verdict: Verdict) -> Sample {
        let states = States::replay(&history, &reader(spec), &verdict, 10_000);
        let standing = match verdict {
            Verdict::Linearizable(_) => PartStanding::Linearizable,
            Verdict::Violation(_) => PartStanding::Violation,
            Verdict::Unknown(_) => PartStanding::Open,
        };
        let part = PartVerdict {
            label: String::new(),
            operations: history.len(),
            standing,
            decided_by: DecidedBy::Search(Strategy::DepthFirst),
            fell_back: None,
        };
        Sample { history, spec, verdict, parts: vec![part], states }
    }

    /// The report on the sample, as if it had cost nothing in particular.
    pub fn report(&self) -> Report<'_> {
        let mut report = Report::new(&self.history, self.spec, &self.verdict);
        report.parts = self.parts.clone();
        report.states = self.states.clone();
        report.statistics = Statistics {
            elapsed: Some(Duration::from_millis(12)),
            configurations: 345,
            memory: 1 << 20,
        };
        report
    }
}

fn ids(ids: impl IntoIterator<Item = u32>) -> Vec<OpId> {
    ids.into_iter().map(OpId).collect()
}

fn attempt(order: impl IntoIterator<Item = u32>, state: &str, stuck: &[(u32, &str)]) -> Attempt {
    let stuck = stuck.iter().map(|&(op, reason)| (OpId(op), reason.to_owned())).collect();
    Attempt { order: ids(order), state: state.to_owned(), stuck }
}

fn explained(sentence: &str, attempts: Vec<Attempt>) -> Explanation {
    Explanation { sentence: sentence.to_owned(), attempts }
}

pub fn reader(spec: &str) -> ChosenReader {
    let choice = SpecChoice::parse(spec).expect("a known specification");
    ChosenReader { choice, failures: Failures::default() }
}

/// A history from lines such as `0 enq 7 -> ok 10 20`: process, method, arguments, the result
/// (`ok`, `failed`, `?` for pending, or a value), call and return.
pub fn history(source: &str, text: &str) -> History {
    let mut builder = Builder::new(source);
    for (index, line) in text.lines().map(str::trim).filter(|line| !line.is_empty()).enumerate() {
        add_line(&mut builder, index as u64 + 1, line);
    }
    builder.finish().expect("a right history")
}

fn add_line(builder: &mut Builder, line: u64, text: &str) {
    let (call, rest) = text.split_once("->").expect("a result");
    let mut words = call.split_whitespace();
    let process = words.next().expect("a process").parse().expect("a number");
    let process = builder.process(&Value::Int(process));
    let method = builder.method(words.next().expect("a method"));
    let args: Vec<Value> = words.map(value).collect();
    let arg = match &args[..] {
        [] => ValueId::ABSENT,
        [one] => builder.values().intern(one),
        several => builder.values().intern(&Value::list(several.iter().cloned())),
    };
    let rest: Vec<&str> = rest.split_whitespace().collect();
    let times: Vec<Time> = rest[1..].iter().map(|time| time.parse().expect("a time")).collect();
    let interval = Interval { call: times[0], ret: times.get(1).copied() };
    let ret = match rest[0] {
        "ok" => Return::ok(),
        "?" => Return::new(Outcome::Pending, ValueId::ABSENT),
        "failed" => Return::new(Outcome::Failed, ValueId::ABSENT),
        text => {
            let result = builder.values().intern(&value(text));
            Return::new(Outcome::Ok, result)
        }
    };
    builder
        .operation(line, Some(process), Call::new(method).arg(arg), interval, ret)
        .expect("a right operation");
}

fn value(text: &str) -> Value {
    match text {
        "nil" => Value::Nil,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => text.parse().map_or_else(|_| Value::text(text), Value::Int),
    }
}

/// A queue gives back the younger of two values first, though the older one was there before: the
/// critical pair of a queue, late in a longer run.
pub fn queue() -> Sample {
    let mut text = String::new();
    for round in 0..60 {
        let now = round * 20;
        text.push_str(&format!("0 enq {} -> ok {} {}\n", 100 + round, now, now + 6));
        text.push_str(&format!("1 deq -> {} {} {}\n", 100 + round, now + 3, now + 12));
    }
    text.push_str(
        "0 enq 7 -> ok 1200 1210
         1 enq 8 -> ok 1215 1230
         2 deq -> 8 1220 1240
         0 enq 9 -> ok 1222 1236
         3 deq -> 7 1245 1260",
    );
    let verdict = Verdict::Violation(Counterexample {
        operations: ids([120, 121, 122, 124]),
        horizon: Horizon::Whole,
        context: Some(Context { order: ids(0..120), state: "[]".into() }),
        explanation: explained(
            "7 was enqueued before 8, and yet 8 was dequeued before 7",
            vec![attempt([120, 121], "[7, 8]", &[(122, "cannot dequeue 8: the front is 7")])],
        ),
    });
    Sample::new(history("logs/queue.jsonl", &text), "queue", verdict)
}

/// A compare-and-set register under partitions, with calls that timed out.
pub fn register() -> Sample {
    let text = "
        0 write 3 -> ok 0 18
        1 read -> 3 22 30
        2 cas 3 5 -> ? 26
        3 read -> 3 34 52
        0 write 1 -> ? 40
        1 read -> 5 50 61
        4 cas 5 2 -> ok 58 77
        3 read -> 2 80 92
        1 write 4 -> ? 84
        4 read -> 4 96 110
        3 read -> 2 114 126
    ";
    let mut builder = Builder::new("jepsen/etcd.log");
    builder.name_spec("cas-register");
    for (index, line) in text.lines().map(str::trim).filter(|line| !line.is_empty()).enumerate() {
        add_line(&mut builder, index as u64 + 1, line);
    }
    builder.annotate(Annotation {
        start: 24,
        end: 70,
        group: "nemesis".into(),
        text: "partition n1 | n2 n3".into(),
        colour: Some("#b4637a".into()),
    });
    builder.annotate(Annotation {
        start: 83,
        end: 83,
        group: "leader".into(),
        text: "n3 elected".into(),
        colour: None,
    });
    let verdict = Verdict::Violation(Counterexample {
        operations: ids([0, 2, 6, 8, 9, 10]),
        horizon: Horizon::Until(126),
        context: None,
        explanation: explained(
            "every order of these operations fails; the longest gets stuck at read() -> 2: \
             cannot read 2: the register holds 4",
            vec![attempt([0, 2, 6, 8, 9], "4", &[(10, "cannot read 2: the register holds 4")])],
        ),
    });
    Sample::new(builder.finish().expect("a right history"), "cas-register", verdict)
}

/// A stack gives a value back from below another one.
pub fn stack() -> Sample {
    let text = "
        0 push 1 -> ok 0 10
        1 push 2 -> ok 12 25
        2 push 3 -> ok 20 34
        0 pop -> 1 36 50
        1 pop -> 3 45 60
        2 pop -> 2 55 70
    ";
    let verdict = Verdict::Violation(Counterexample {
        operations: ids(0..5),
        horizon: Horizon::Until(50),
        context: None,
        explanation: explained(
            "1 was popped from below 2 and 3, which were pushed after it and still there",
            vec![
                attempt([0, 1, 2], "[1, 2, 3]", &[(3, "cannot pop 1: the top is 3")]),
                attempt([0, 2, 1], "[1, 3, 2]", &[(3, "cannot pop 1: the top is 2")]),
            ],
        ),
    });
    Sample::new(history("stack.jsonl", text), "stack", verdict)
}

/// A register as Jepsen's recorders write it: reads of nil, writes that return their argument.
pub fn echoes() -> Sample {
    let text = "
        10 write 1 -> 1 0 5
        9 write 2 -> 2 7 12
        2 cas 2 3 -> 2-3 14 19
        2 read nil -> 2 20 31
        10 write 1 -> 1 22 29
        9 read nil -> 2 33 40
    ";
    let verdict = Verdict::Violation(Counterexample {
        operations: ids([1, 2, 3, 4, 5]),
        horizon: Horizon::Whole,
        context: None,
        explanation: Explanation::because("2 is read after it was replaced"),
    });
    Sample::new(history("echoes.edn", text), "cas-register", verdict)
}

/// The verdict that a history is right in an order.
pub fn replayed(history: &mut History, spec: &str, order: Vec<OpId>) -> Verdict {
    let choice = SpecChoice::parse(spec).expect("a specification");
    let reader = ChosenReader { choice, failures: Failures::default() };
    let replayed = replay(history, &reader, Witness { order }).expect("a readable history");
    Verdict::Linearizable(replayed.expect("a right order"))
}

/// A queue that is right.
pub fn right() -> Sample {
    let text = "
        0 enq 1 -> ok 0 10
        1 enq 2 -> ok 5 15
        0 deq -> 2 20 30
        1 deq -> 1 22 40
        2 deq -> nil 18 60
        0 enq 3 -> ? 35
    ";
    let mut history = history("right.jsonl", text);
    let verdict = replayed(&mut history, "queue", ids([1, 0, 3, 4, 2]));
    Sample::new(history, "queue", verdict)
}

/// A counterexample that nobody could make small.
pub fn long() -> Sample {
    let mut text = String::new();
    for step in 0..60u64 {
        let (process, now) = (step % 5, step * 4);
        text.push_str(&format!("{process} write {step} -> ok {now} {}\n", now + 9));
    }
    text.push_str("5 read -> 3 235 260\n6 read -> 58 300 320\n6 read -> 59 330 340\n");
    let attempts = vec![attempt(0..40, "39", &[(59, "cannot read 3: the register holds 39")])];
    let verdict = Verdict::Violation(Counterexample {
        operations: ids(0..63),
        horizon: Horizon::Whole,
        context: None,
        explanation: explained("every order fails", attempts),
    });
    Sample::new(history("long.jsonl", &text), "register", verdict)
}

/// A check that ran out of time.
pub fn unknown() -> Sample {
    let mut sample = register();
    sample.verdict = Verdict::Unknown(Unknown {
        limit: Limit::Time,
        linearizable_events: 14,
        decided: (0..12).map(|key| format!("key {key}")).collect(),
        open: vec!["key \"x\"".into()],
        defect: None,
    });
    sample.parts = vec![
        PartVerdict {
            label: "key 0".into(),
            operations: 5,
            standing: PartStanding::Linearizable,
            decided_by: DecidedBy::Search(Strategy::BreadthFirst),
            fell_back: None,
        },
        PartVerdict {
            label: "key \"x\"".into(),
            operations: 6,
            standing: PartStanding::Open,
            decided_by: DecidedBy::Nobody,
            fell_back: None,
        },
    ];
    sample
}

/// Names and values that try to break out of every format, and wide characters.
pub fn hostile() -> Sample {
    let mut builder = Builder::new("<script>alert(1)</script>.jsonl");
    for (index, name) in ["</script><b>", "\u{1b}[31mred\u{7}", "進程"].iter().enumerate() {
        let process = builder.process(&Value::text(name));
        let method = builder.method("write");
        let arg = builder.values().intern(&Value::text("]]>&<!-- \"'\u{202e}\u{0} 字字字"));
        let interval = Interval { call: index as u64 * 2, ret: Some(5) };
        let call = Call::new(method).arg(arg);
        builder.operation(0, Some(process), call, interval, Return::ok()).expect("right");
    }
    let reads = builder.process(&Value::text("reader"));
    let method = builder.method("read");
    let seen = builder.values().intern(&Value::text("nobody wrote `this` <i>"));
    let interval = Interval { call: 7, ret: Some(9) };
    let ret = Return::new(Outcome::Ok, seen);
    builder.operation(4, Some(reads), Call::new(method), interval, ret).expect("right");
    builder.annotate(Annotation {
        start: 1,
        end: 8,
        group: "<u>group".into(),
        text: "</style><script>".into(),
        colour: Some("red;background:url(http://example.org)".into()),
    });
    let verdict = Verdict::Violation(Counterexample {
        operations: ids(0..4),
        horizon: Horizon::Whole,
        context: None,
        explanation: explained(
            "nobody wrote </script><img src=x onerror=alert(1)>\u{1b}[5m",
            vec![attempt([2, 0, 1], "<b>&", &[(3, "cannot <read> that")])],
        ),
    });
    Sample::new(builder.finish().expect("a right history"), "register", verdict)
}

/// A run in which nothing happened.
pub fn empty() -> Sample {
    let verdict = Verdict::Linearizable(Replayed::on_record());
    Sample::new(history("empty.jsonl", ""), "queue", verdict)
}

/// All samples with their names.
pub fn samples() -> Vec<(&'static str, Sample)> {
    vec![
        ("queue", queue()),
        ("register", register()),
        ("stack", stack()),
        ("echoes", echoes()),
        ("right", right()),
        ("long", long()),
        ("unknown", unknown()),
        ("hostile", hostile()),
        ("empty", empty()),
    ]
}
