//! An object that waits where its specification blocks is right to wait; one that waits where it
//! could go on deadlocks. A family of bounded buffers with all guards and all small clients,
//! against an oracle that plays them by hand.

use crate::common::program;
use seriatim_explore::{Options, Reductions, Verdict, ViolationKind, run};

/// The specification's room; `put` needs `n < ROOM`, `take` needs `n > 0`.
const ROOM: i32 = 2;

/// What an implementation waits for: `put` for `n < room`, `take` for `n > rest`. With less room or
/// more rest than the specification it waits too often, never too seldom.
#[derive(Clone, Copy, Debug)]
struct Guards {
    room: i32,
    rest: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Put,
    Take,
}

impl Call {
    fn text(self) -> &'static str {
        match self {
            Call::Put => "put()",
            Call::Take => "take()",
        }
    }

    fn is_enabled(self, n: i32, guards: Guards) -> bool {
        match self {
            Call::Put => n < guards.room,
            Call::Take => n > guards.rest,
        }
    }

    fn change(self) -> i32 {
        if self == Call::Put { 1 } else { -1 }
    }
}

/// Whether some order of the calls of two threads ends with threads that wait though the
/// specification could go on. A thread that waits has called: what it would call later is not
/// pending.
fn deadlocks(threads: [&[Call]; 2], n: i32, guards: Guards) -> bool {
    let next: Vec<(usize, Call)> =
        (0..2).filter_map(|t| threads[t].first().map(|call| (t, *call))).collect();
    let able: Vec<&(usize, Call)> =
        next.iter().filter(|(_, call)| call.is_enabled(n, guards)).collect();
    if able.is_empty() {
        let spec = Guards { room: ROOM, rest: 0 };
        return next.iter().any(|(_, call)| call.is_enabled(n, spec));
    }
    able.into_iter().any(|(thread, call)| {
        let mut rest = threads;
        rest[*thread] = &rest[*thread][1..];
        deadlocks(rest, n + call.change(), guards)
    })
}

/// The object, as one atomic block or as a loop that awaits and compares.
fn object(guards: Guards, is_loop: bool, threads: [&[Call]; 2]) -> String {
    let Guards { room, rest } = guards;
    let method = |name: &str, guard: String, change: &str| match is_loop {
        false => format!("method {name}() {{ atomic {{ assume {guard}; n = n {change} }} }}\n"),
        true => format!(
            "method {name}() {{ loop {{ await {guard}; let t = n; if {} {{ if cas(n, t, t {change}) {{ return }} }} }} }}\n",
            guard.replace('n', "t")
        ),
    };
    let calls = |calls: &[Call]| calls.iter().map(|c| c.text()).collect::<Vec<_>>().join("; ");
    format!(
        "object o : buffer\nspec buffer {{ var n: int = 0\n method put() {{ assume n < {ROOM}; n = n + 1 }}\n \
         method take() {{ assume n > 0; n = n - 1 }} }}\nvar n: int 0..{ROOM} = 0\n{}{}\
         client c {{ thread a {{ {} }} thread b {{ {} }} }}\n",
        method("put", format!("n < {room}"), "+ 1"),
        method("take", format!("n > {rest}"), "- 1"),
        calls(threads[0]),
        calls(threads[1]),
    )
}

/// All sequences of one to three calls.
fn sequences() -> Vec<Vec<Call>> {
    let mut all: Vec<Vec<Call>> = vec![vec![]];
    let mut from = 0;
    for _ in 0..3 {
        let until = all.len();
        for at in from..until {
            for call in [Call::Put, Call::Take] {
                let longer = all[at].iter().copied().chain([call]).collect();
                all.push(longer);
            }
        }
        from = until;
    }
    all.split_off(1)
}

fn found(source: &str, reductions: Reductions) -> Option<ViolationKind> {
    let threads = source.matches("thread ").count() as u32;
    let client = Some("c".to_owned());
    let options = Options { threads, client, reductions, ..Options::default() };
    match run(&program(source), &options).expect("it can be explored").verdict {
        Verdict::Holds => None,
        Verdict::Violation(found) => Some(found.kind),
        Verdict::Unknown(reason) => panic!("{reason:?}\n{source}"),
    }
}

#[test]
fn an_object_deadlocks_exactly_where_its_specification_could_go_on() {
    let mut counts = (0, 0);
    let sequences = sequences();
    for guards in [(2, 0), (1, 0), (2, 1), (0, 0), (1, 1)] {
        let guards = Guards { room: guards.0, rest: guards.1 };
        for (number, first) in sequences.iter().enumerate() {
            for (other, second) in sequences.iter().enumerate() {
                let wrong = deadlocks([first, second], 0, guards);
                let expected = wrong.then_some(ViolationKind::Deadlock);
                let is_loop = (number + other) % 2 == 0;
                let source = object(guards, is_loop, [first, second]);
                assert_eq!(found(&source, Reductions::ALL), expected, "{source}");
                if (number * 14 + other) % 3 == 0 {
                    let some = Reductions::numbered((number * 149 + other * 31) as u32 % 2048);
                    assert_eq!(found(&source, Reductions::NONE), expected, "{source}");
                    assert_eq!(found(&source, some), expected, "{some:?}\n{source}");
                }
                counts = (counts.0 + usize::from(wrong), counts.1 + 1);
            }
        }
    }
    assert_eq!(counts.1, 5 * 14 * 14);
    assert!(counts.0 > 300 && counts.1 - counts.0 > 300, "{counts:?}");
}

/// The most general client: a correct object waits only where it must, and each that waits too
/// often deadlocks.
#[test]
fn blocking_objects_of_several_sorts_are_right_and_their_hesitant_twins_deadlock() {
    let semaphore = "object o : s\nspec s { var c: int = 1\n method v() { assume c < 3; c = c + 1 }\n \
        method p() { assume c > 0; c = c - 1 } }\nvar n: int 0..3 = 1\n\
        method v() { atomic { assume n < 3; n = n + 1 } }\nmethod p() { atomic { assume n > 0; n = n - 1 } }\n";
    let mutex = "object o : m\nspec m { var held: bool = false\n method acquire() { assume !held; held = true }\n \
        method release() { assume held; held = false } }\nvar held: bool = false\n\
        method acquire() { loop { await !held; if cas(held, false, true) { return } } }\n\
        method release() { atomic { assume held; held = false } }\n";
    let cell = "object o : b\nspec b { var x: value? = null\n method put(v: value) { assume x == null; x = v }\n \
        method take() -> value { assume x != null; let v = x; x = null; return v } }\nvar x: value? = null\n\
        method put(v: value) { loop { await x == null; if cas(x, null, v) { return } } }\n\
        method take() -> value { atomic { assume x != null; let v: value = x; x = null; return v } }\n";
    let lossy = "object o : l\nspec l { var n: int = 0\n method put() { choose { assume n < 2; n = n + 1 or n = n } }\n \
        method take() { assume n > 0; n = n - 1 } }\nvar n: int 0..2 = 0\n\
        method put() { let t = n; if t < 2 { if cas(n, t, t + 1) { return } } }\n\
        method take() { atomic { assume n > 0; n = n - 1 } }\n";
    let deadlock = Some(ViolationKind::Deadlock);
    let rows = [
        (semaphore, "assume n > 0", "assume n > 1", deadlock),
        (semaphore, "assume n < 3", "assume n < 2", deadlock),
        (mutex, "atomic { assume held; held = false }", "assume false", deadlock),
        (cell, "atomic { assume x != null;", "atomic { assume x != null && false;", deadlock),
        // All that was put may have been lost, so the specification may always block.
        (lossy, "assume n > 0;", "assume n > 2;", None),
    ];
    for (source, right, hesitant, expected) in rows {
        let general = |source: &str, reductions| {
            let options = Options { values: 2, reductions, ..Options::default() };
            match run(&program(source), &options).expect("it can be explored").verdict {
                Verdict::Holds => None,
                Verdict::Violation(found) => Some(found.kind),
                Verdict::Unknown(reason) => panic!("{reason:?}\n{source}"),
            }
        };
        let (head, body) = source.split_at(source.find("\nvar ").expect("it has a variable"));
        assert!(body.contains(right), "{body}");
        let hesitant = format!("{head}{}", body.replacen(right, hesitant, 1));
        for reductions in [Reductions::ALL, Reductions::NONE] {
            assert_eq!(general(source, reductions), None, "{source}");
            assert_eq!(general(&hesitant, reductions), expected, "{hesitant}");
        }
    }
}

#[test]
fn a_client_that_waits_outside_of_every_operation_is_no_deadlock_of_the_object() {
    let source = "object o : r\nspec r { method f() -> bool { return false } }\nvar x: bool = false\n\
        method f() -> bool { return x }\nclient c { thread a { let r = f(); assume r; let s = f() } }\n";
    for reductions in [Reductions::ALL, Reductions::NONE] {
        assert_eq!(found(source, reductions), None);
    }
}
