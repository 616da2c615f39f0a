//! Runs of algorithms that the reports' tests share, written by hand: a report must not change when
//! an engine finds another run.

use super::Sample;
use seriatim_history::{Horizon, OpId, Value};
use seriatim_report::run::Examined;
use seriatim_spec::answer::{Answer, Cost, Evidence, Property, Scope, Standing, StuckProof};
use seriatim_spec::run::{Access, Action, Cell, CellKind, Event, Local, Memory, Node, Run, Step};
use seriatim_spec::{Attempt, Counterexample, Explanation, Verdict};
use std::time::Duration;

/// An algorithm with what is known of it: all that a report needs.
pub struct Subject {
    pub name: &'static str,
    pub spec: &'static str,
    pub source: &'static str,
    pub answer: Answer,
    pub judged: Option<Sample>,
    pub stuck: Option<StuckProof>,
}

impl Subject {
    /// Hands the report to a function.
    pub fn show<T>(&self, shown: impl FnOnce(&Examined<'_>) -> T) -> T {
        let judged = self.judged.as_ref().map(Sample::report);
        let mut examined = Examined::new(self.name, self.spec, self.source, &self.answer);
        examined.judged = judged.as_ref();
        examined.stuck = self.stuck.as_ref();
        examined.replay = examined.run().map(|_| "seriatim verify stack.seri --threads 3");
        shown(&examined)
    }
}

const STACK: &str = "\
// Broken: pop writes the top, whatever it holds by then.
object stack : stack

struct Node { val: value, next: Node? }
var top: Node? = null

method push(v: value) {
  let n = new Node { val: v, next: null }
  loop {
    let t = top
    n.next = t
    if cas(top, t, n) { return }
  }
}

method pop() -> value? {
  let t = top
  if t == null { return empty }
  let s = t.next
  let v = t.val
  top = s
  return v
}
";

fn scope(threads: Option<u32>, words: &str) -> Scope {
    Scope { threads, words: words.to_owned(), cut: Vec::new() }
}

fn cost() -> Cost {
    Cost { time: Duration::from_millis(24), states: 2_583, steps: 5_711, bytes: 30_996 }
}

/// An answer that one claim is violated by a run.
fn violated(property: Property, how: &str, run: Run) -> Answer {
    let run = Box::new(run);
    Answer::new(cost(), |asked| match asked {
        _ if asked == property => Standing::Violated {
            scope: scope(Some(3), "3 threads, 2 values, any number of operations"),
            how: how.to_owned(),
            run: Some(run.clone()),
        },
        progress if progress.is_progress() => Standing::NotAsked,
        _ => Standing::NotAnswered("the search ended at the run that is shown".to_owned()),
    })
}

/// Memory of the stack: what `top` refers to, the nodes with value and successor, the threads'
/// variables.
fn memory(
    top: Option<u32>,
    nodes: &[(u32, i64, Option<u32>)],
    locals: &[(usize, &str, u32)],
) -> Memory {
    let value = |node: Option<u32>| node.map_or("null".to_owned(), |node| format!("#{node}"));
    let kind = CellKind::Reference;
    let cell = |name: &str, node| Cell { name: name.to_owned(), value: value(node), node, kind };
    let node = |&(id, val, next): &(u32, i64, Option<u32>)| {
        let (name, kind) = ("val".to_owned(), CellKind::Plain);
        let val = Cell { name, value: val.to_string(), node: None, kind };
        Node { id, kind: "Node".to_owned(), fields: vec![val, cell("next", next)], freed: false }
    };
    let local =
        |&(thread, name, node): &(usize, &str, u32)| Local { thread, cell: cell(name, Some(node)) };
    Memory {
        variables: vec![cell("top", top)],
        nodes: nodes.iter().map(node).collect(),
        locals: locals.iter().map(local).collect(),
    }
}

fn call(call: &str) -> Access {
    Access::spoken(Action::Call { call: call.to_owned() })
}

fn at(line: usize, source: &str, action: Action) -> Access {
    Access { line: Some(line), source: source.to_owned(), action, memory: None }
}

fn read(line: usize, into: &str, place: &str, value: &str) -> Access {
    let (into, place, value) = (Some(into.to_owned()), place.to_owned(), value.to_owned());
    at(line, "", Action::Read { place, into, value })
}

fn write(line: usize, source: &str, (place, before, after): (&str, &str, &str)) -> Access {
    let (place, before, after) = (place.to_owned(), before.to_owned(), after.to_owned());
    at(line, source, Action::Write { place, before, after })
}

fn cas(found: &str, after: Option<&str>) -> Access {
    let (place, found, after) = ("top".to_owned(), found.to_owned(), after.map(str::to_owned));
    at(12, "cas(top, t, n)", Action::CompareAndSwap { place, found, after })
}

fn returns(line: usize, result: Option<&str>) -> Access {
    at(line, "", Action::Return { result: result.map(str::to_owned) })
}

fn new(node: &str) -> Access {
    at(8, "new Node { val: v, next: null }", Action::Allocate { node: node.to_owned() })
}

/// An access with memory after it.
fn leaves(access: Access, memory: Memory) -> Access {
    Access { memory: Some(memory), ..access }
}

fn step(thread: usize, accesses: Vec<Access>) -> Step {
    Step { thread, accesses }
}

fn called(thread: usize, method: &str, args: &[i64]) -> Event {
    let args = args.iter().map(|arg| Value::Int(*arg)).collect();
    Event::Call { thread, method: method.to_owned(), args }
}

fn returned(thread: usize, method: &str, result: Option<i64>) -> Event {
    Event::Return { thread, method: method.to_owned(), result: result.map(Value::Int) }
}

/// Two pops take the same element; a third thread's push fails once and never returns.
fn lost_pop() -> Run {
    let both = [(0, 1, None), (1, 2, None)];
    let (own, other) = ((0, "n", 0), (1, "n", 1));
    let (first, second) = ((0, "t", 0), (2, "t", 0));
    let steps = vec![
        step(0, vec![call("push(1)"), leaves(new("#0"), memory(None, &both[..1], &[own]))]),
        step(
            1,
            vec![
                call("push(2)"),
                leaves(new("#1"), memory(None, &both, &[own, other])),
                read(10, "t", "top", "null"),
            ],
        ),
        step(0, vec![read(10, "t", "top", "null")]),
        step(0, vec![write(11, "n.next = t", ("#0.next", "null", "null"))]),
        step(
            0,
            vec![
                leaves(cas("null", Some("#0")), memory(Some(0), &both, &[own, other])),
                leaves(returns(12, None), memory(Some(0), &both, &[other])),
            ],
        ),
        step(1, vec![write(11, "n.next = t", ("#1.next", "null", "null"))]),
        step(1, vec![cas("#0", None)]),
        step(
            2,
            vec![
                call("pop()"),
                leaves(read(17, "t", "top", "#0"), memory(Some(0), &both, &[other, second])),
            ],
        ),
        step(
            0,
            vec![
                call("pop()"),
                leaves(read(17, "t", "top", "#0"), memory(Some(0), &both, &[first, other, second])),
                read(19, "s", "#0.next", "null"),
                read(20, "v", "#0.val", "1"),
            ],
        ),
        step(
            0,
            vec![
                leaves(
                    write(21, "top = s", ("top", "#0", "null")),
                    memory(None, &both, &[first, other, second]),
                ),
                leaves(returns(22, Some("1")), memory(None, &both, &[other, second])),
            ],
        ),
        step(2, vec![read(19, "s", "#0.next", "null"), read(20, "v", "#0.val", "1")]),
        step(2, vec![write(21, "top = s", ("top", "null", "null")), returns(22, Some("1"))]),
    ];
    let history = vec![
        called(0, "push", &[1]),
        called(1, "push", &[2]),
        returned(0, "push", None),
        called(2, "pop", &[]),
        called(0, "pop", &[]),
        returned(0, "pop", Some(1)),
        returned(2, "pop", Some(1)),
    ];
    Run { threads: 3, initial: memory(None, &[], &[]), steps, history, ..Run::default() }
}

/// A run with the orders that were tried.
pub fn stack() -> Subject {
    let run = lost_pop();
    let history = run.history_of_threads("the run").expect("a right history");
    let tried = Attempt {
        order: vec![OpId(0), OpId(3)],
        state: "[]".to_owned(),
        stuck: vec![(OpId(2), "cannot pop 1: the stack is empty".to_owned())],
    };
    let verdict = Verdict::Violation(Counterexample {
        operations: vec![OpId(0), OpId(2), OpId(3)],
        horizon: Horizon::Whole,
        context: None,
        explanation: Explanation {
            sentence: "1 was popped twice, but pushed once".to_owned(),
            attempts: vec![tried],
        },
    });
    let how = "no order of the operations explains the last return";
    Subject {
        name: "stack.seri",
        spec: "stack",
        source: STACK,
        answer: violated(Property::Linearizable, how, run),
        judged: Some(Sample::new(history, "stack", verdict)),
        stuck: None,
    }
}

fn locks(first: &str, second: &str) -> Memory {
    let cell = |name: &str, value: &str| Cell {
        name: name.to_owned(),
        value: value.to_owned(),
        node: None,
        kind: CellKind::Lock,
    };
    Memory { variables: vec![cell("a", first), cell("b", second)], ..Memory::default() }
}

/// Two threads take two locks in different orders; nobody judged the history.
pub fn deadlock() -> Subject {
    let lock = |line, place: &str| at(line, "", Action::Lock { place: place.to_owned() });
    let waits = |line, source| at(line, source, Action::Stop { why: "waits".to_owned() });
    let steps = vec![
        step(0, vec![call("left()"), leaves(lock(3, "a"), locks("held", "free"))]),
        step(1, vec![call("right()"), leaves(lock(4, "b"), locks("held", "held"))]),
        step(0, vec![waits(3, "lock(b)")]),
        step(1, vec![waits(4, "lock(a)")]),
    ];
    let history = vec![called(0, "left", &[]), called(1, "right", &[])];
    let run = Run { threads: 2, initial: locks("free", "free"), steps, history, ..Run::default() };
    let how = "deadlock: no thread can go on, though the specification could";
    Subject {
        name: "crossed.seri",
        spec: "pair",
        source: "object crossed : pair\nvar a: lock\nmethod left() { lock(a); lock(b) }\nmethod right() { lock(b); lock(a) }\n",
        answer: violated(Property::DeadlockFree, how, run),
        judged: None,
        stuck: None,
    }
}

/// A thread that tries again and again.
pub fn circle() -> Subject {
    let steps = vec![
        step(0, vec![call("push(1)"), new("#0"), read(10, "t", "top", "null")]),
        step(0, vec![cas("#1", None)]),
        step(0, vec![read(10, "t", "top", "#1")]),
    ];
    let history = vec![called(0, "push", &[1])];
    let run = Run { threads: 1, steps, history, repeats: Some(2), ..Run::default() };
    let how = "not lock-free: the last 2 steps can be repeated for ever, no operation returns";
    let answer = violated(Property::LockFree, how, run);
    Subject { answer, judged: None, ..stack() }
}

/// A proof that got stuck.
pub fn stuck() -> Subject {
    let why = "not proved: the proof got stuck: the result may have been right at no moment since the call";
    let answer = Answer::new(cost(), |property| match property {
        Property::DeadlockFree => Standing::Holds {
            scope: scope(None, "any number of threads, any heap and any data"),
            evidence: Evidence::NeverWaits,
        },
        progress if progress.is_progress() => Standing::NotAsked,
        _ => Standing::Unknown(why.to_owned()),
    });
    let mut known = memory(Some(0), &[(0, 1, None)], &[]);
    known.nodes[0].fields[1].value = "{any number of: node} → null".to_owned();
    let stops = Action::Stop { why: "the proof stops here".to_owned() };
    let steps = vec![
        step(0, vec![call("pop")]),
        step(1, vec![leaves(at(12, "if cas(top, t, n) { return }", Action::Local), known)]),
        step(0, vec![at(18, "if t == null { return empty }", stops)]),
    ];
    let names = vec!["this thread".to_owned(), "any other thread".to_owned()];
    let run = Run { threads: 2, names, steps, ..Run::default() };
    let proof = StuckProof {
        obstacle: "the result may have been right at no moment since the call".to_owned(),
        needs: "in every run that fits what is known here the result was right at some moment since the call"
            .to_owned(),
        content: "the values of the nodes from `top`".to_owned(),
        known: vec!["this thread runs pop(), in line 18".to_owned()],
        run,
        situation: Some("nobody was seen to come here (17 states)".to_owned()),
        others: vec![],
    };
    Subject { answer, judged: None, stuck: Some(proof), ..stack() }
}

/// Every property is proved or holds.
pub fn proved() -> Subject {
    let answer = Answer::new(cost(), |property| match property {
        progress if progress.is_progress() => Standing::NotAsked,
        Property::DeadlockFree => Standing::Holds {
            scope: scope(Some(2), "2 threads, 2 values"),
            evidence: Evidence::Exploration { states: 12, steps: 30 },
        },
        _ => Standing::Holds {
            scope: scope(None, "any number of threads, any heap and any data"),
            evidence: Evidence::Certificate { views: 18, effects: 3, root: "top".to_owned() },
        },
    });
    Subject { answer, judged: None, ..stack() }
}

/// Names and values of somebody who wants to break out, and one that is longer than any screen.
pub fn hostile() -> Subject {
    let evil = "</script><img src=x onerror=alert(1)>\u{1b}[31m\"'&";
    let cell = |name: &str, value: String| Cell {
        name: name.to_owned(),
        value,
        node: None,
        kind: CellKind::Plain,
    };
    let after = Memory {
        variables: vec![cell(evil, "x".repeat(100_000)), cell("<b>", evil.to_owned())],
        nodes: vec![Node {
            id: 7,
            kind: evil.to_owned(),
            fields: vec![cell(evil, evil.to_owned())],
            freed: true,
        }],
        locals: vec![Local {
            thread: 0,
            cell: Cell { node: Some(7), kind: CellKind::Reference, ..cell(evil, "#7".to_owned()) },
        }],
    };
    let accesses = vec![
        call(evil),
        leaves(write(1, evil, (evil, evil, &"y".repeat(100_000))), after),
        returns(1, Some(evil)),
    ];
    let history = vec![
        Event::Call { thread: 0, method: evil.to_owned(), args: vec![Value::text(evil)] },
        Event::Return {
            thread: 0,
            method: evil.to_owned(),
            result: Some(Value::text(&"z".repeat(100_000))),
        },
    ];
    let names = vec![evil.to_owned()];
    let run = Run { threads: 1, names, steps: vec![step(0, accesses)], history, ..Run::default() };
    let answer = violated(Property::Linearizable, evil, run);
    Subject {
        name: "<script>alert(1)</script>.seri",
        spec: "<i>stack",
        source: "// </pre><script>alert(1)</script>\n",
        answer,
        judged: None,
        stuck: Some(StuckProof {
            obstacle: "</pre><script>alert(2)</script>".to_owned(),
            needs: evil.to_owned(),
            content: evil.to_owned(),
            known: vec![evil.to_owned()],
            run: Run::default(),
            situation: Some(evil.to_owned()),
            others: vec![evil.to_owned()],
        }),
    }
}

pub fn subjects() -> Vec<(&'static str, Subject)> {
    vec![
        ("run-stack", stack()),
        ("run-deadlock", deadlock()),
        ("run-circle", circle()),
        ("run-stuck", stuck()),
        ("run-proved", proved()),
        ("run-hostile", hostile()),
    ]
}
