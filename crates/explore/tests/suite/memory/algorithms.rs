//! Algorithms with orderings: figures, and the bugs that weaker orderings bring.

use seriatim_explore::weak::{Alone, Wanted, weaken};
use seriatim_explore::{
    Counterexample, MemoryModel, Options, Outcome, Reductions, Replay, Saved, Verdict,
    ViolationKind, replay, run,
};
use seriatim_lang::machine::Fault;
use seriatim_spec::run::Access;

fn explored(source: &str, options: &Options) -> Outcome {
    let program = seriatim_lang::check(source)
        .unwrap_or_else(|error| panic!("{}", error.render(source, "x.seri")));
    run(&program, options).unwrap_or_else(|error| panic!("{}", error.render(source, "x.seri")))
}

const TREIBER: &str = "object t : stack
struct Node { plain val: value, plain next: Node? }
var top: Node? = null
method push(v: value) {
  let n = new Node { val: v, next: null }
  loop {
    let t = load(top, relaxed)
    n.next = t
    if cas(top, t, n, release, relaxed) { return }
  }
}
method pop() -> value? {
  loop {
    let t = load(top, acquire)
    if t == null { return empty }
    let s = t.next
    if cas(top, t, s, relaxed, relaxed) { return t.val }
  }
}
";

const QUEUE: &str = "object q : queue
struct Node { plain val: value?, next: Node? }
var head: Node = new Node { val: null, next: null }
var tail: Node = head
method enqueue(v: value) {
  let n = new Node { val: v, next: null }
  loop {
    let t = load(tail, acquire)
    let s = load(t.next, acquire)
    if s == null {
      if cas(t.next, null, n, release, relaxed) {
        cas(tail, t, n, release, relaxed)
        return
      }
    } else {
      cas(tail, t, s, release, relaxed)
    }
  }
}
method dequeue() -> value? {
  loop {
    let h = load(head, acquire)
    let t = load(tail, acquire)
    let s = load(h.next, acquire)
    if h == load(head, relaxed) {
      if h == t {
        if s == null { return empty }
        cas(tail, t, s, release, relaxed)
      } else {
        let v = s.val
        if cas(head, h, s, release, relaxed) { return v }
      }
    }
  }
}
";

/// What the threads of a bounded client do on RC20.
fn bounded(threads: u32, operations: u32) -> Options {
    let (memory, operations) = (Some(MemoryModel::Rc20), Some(operations));
    Options { threads, values: 1, memory, operations, ..Options::default() }
}

/// A lock acquires and releases by itself: what it guards needs no ordering, not even one `seqcst`
/// in the whole program.
#[test]
fn a_lock_orders_what_has_no_order_of_its_own() {
    let locked = "object c : counter
var n: int 0..9 = 0
var guard: lock
method increment() -> int 0..9 {
  lock(guard)
  let v = load(n, relaxed)
  store(n, v + 1, relaxed)
  unlock(guard)
  return v
}
";
    let outcome = explored(locked, &bounded(3, 2));
    assert!(matches!(outcome.verdict, Verdict::Holds), "{:?}", outcome.verdict);
    let unlocked = locked.replace("  lock(guard)\n", "").replace("  unlock(guard)\n", "");
    let outcome = explored(&unlocked, &bounded(2, 2));
    assert!(matches!(outcome.verdict, Verdict::Violation(_)), "{:?}", outcome.verdict);
}

/// Any number of operations, with this many values of a word in sight.
fn unbounded(lag: u32, nodes: u32) -> Options {
    let (lag, nodes) = (Some(lag), Some(nodes));
    Options { operations: None, lag, nodes, ..bounded(2, 1) }
}

#[track_caller]
fn holds(source: &str, options: &Options, most: u64) {
    let outcome = explored(source, options);
    assert!(matches!(outcome.verdict, Verdict::Holds), "{:?}", outcome.verdict);
    let states = outcome.statistics.kept;
    assert!(states <= most, "{states} states, more than {most}");
}

#[track_caller]
fn fails(source: &str, options: &Options) -> Box<Counterexample> {
    match explored(source, options).verdict {
        Verdict::Violation(found) => found,
        other => panic!("{other:?}"),
    }
}

#[test]
fn algorithms_with_the_orderings_that_they_need_hold_in_few_states() {
    holds(TREIBER, &bounded(2, 3), 2_500);
    holds(TREIBER, &bounded(3, 2), 30_000);
    holds(TREIBER, &Options { values: 2, ..unbounded(3, 3) }, 3_000);
    holds(QUEUE, &bounded(2, 2), 500);
    holds(QUEUE, &unbounded(3, 4), 5_000);
    for source in [TREIBER, QUEUE] {
        holds(source, &Options { memory: Some(MemoryModel::Tso), ..bounded(2, 2) }, 10_000);
    }
}

#[test]
fn without_reductions_the_verdicts_are_the_same() {
    let weaker = [
        TREIBER.replace("n, release", "n, relaxed"),
        TREIBER.replace("load(top, acquire)", "load(top, relaxed)"),
        QUEUE.replace("null, n, release", "null, n, relaxed"),
    ];
    let strong = [TREIBER, QUEUE].map(str::to_owned);
    for source in weaker.iter().chain(&strong) {
        for options in [bounded(2, 2), unbounded(2, 3)] {
            let verdict = |reductions| {
                let outcome = explored(source, &Options { reductions, ..options.clone() });
                matches!(outcome.verdict, Verdict::Holds)
            };
            let all = Reductions::ALL;
            let expected = verdict(all);
            assert_eq!(expected, strong.contains(source));
            for without in [
                Reductions { fusion: false, ..all },
                Reductions { dead_registers: false, ..all },
                Reductions { thread_symmetry: false, ..all },
                Reductions { value_symmetry: false, ..all },
            ] {
                assert_eq!(verdict(without), expected, "{without:?}");
            }
        }
    }
}

#[test]
fn a_race_shows_both_accesses_and_its_run_can_be_saved_and_repeated() {
    let source = TREIBER.replace("n, release", "n, relaxed");
    let options = bounded(2, 2);
    let found = fails(&source, &options);
    assert_eq!(found.kind, ViolationKind::Fault(Fault::DataRace));
    let last = found.steps.last().expect("it has steps").accesses.iter();
    let words: Vec<String> = last.map(Access::text).collect();
    assert!(words.iter().any(|w| w.contains("data race")), "{words:?}");
    assert!(words.iter().any(|w| w.contains("races with this access of thread")), "{words:?}");
    let program = seriatim_lang::check(&source).expect("right");
    let saved = Saved::of(&program, &options, &Default::default(), &found);
    let parsed = Saved::parse(&saved.text()).expect("it was written by itself");
    let again = replay(&program, &parsed.options, &parsed.moves).expect("it can be repeated");
    assert!(matches!(again, Replay::Fails(again) if again.kind == found.kind));
    let fixed = seriatim_lang::check(TREIBER).expect("right");
    let again = replay(&fixed, &parsed.options, &parsed.moves).expect("it can be repeated");
    assert!(!matches!(again, Replay::Fails(_)));
}

/// Store buffering: with less than `seqcst`, both threads may enter.
const FLAGS: &str = "object f : silent
spec silent { method write(v: value) { } method read() -> value? { return empty } }
var a: bool = false
var b: bool = false
var last: value? = null
method write(v: value) { store(a, true, seqcst); if !load(b, seqcst) { last = v } }
method read() -> value? {
  store(b, true, seqcst)
  if !load(a, seqcst) { assert last == null }
  return empty
}
client once { thread w { let v: value = any; write(v) } thread r { read() } }
";

#[test]
fn orderings_that_x86_gives_for_nothing_are_told_apart_from_those_it_does_not() {
    let options =
        |model| Options { client: Some("once".to_owned()), memory: Some(model), ..bounded(2, 1) };
    let weak = |source: &str, model| {
        matches!(explored(source, &options(model)).verdict, Verdict::Violation(_))
    };
    let released = FLAGS.replace("true, seqcst", "true, release");
    let acquired = FLAGS.replace("load(b, seqcst)", "load(b, acquire)");
    assert!(!weak(FLAGS, MemoryModel::Rc20) && !weak(FLAGS, MemoryModel::Tso));
    assert!(weak(&released, MemoryModel::Rc20) && weak(&released, MemoryModel::Tso));
    assert!(weak(&acquired, MemoryModel::Rc20) && !weak(&acquired, MemoryModel::Tso));
}

#[test]
fn what_has_no_meaning_on_weak_memory_is_refused_by_name() {
    for (method, condition) in [
        ("atomic { let t = x; x = t }", "one-access-atomics"),
        ("let t = ll(x)", "no-load-linked"),
        ("pair.0 = true", "whole-words"),
    ] {
        let source = format!(
            "object o : s\nspec s {{ method m() {{ }} }}\nvar x: bool = false\n\
             var pair: (bool, bool) = (false, false)\nmethod m() {{ {method} }}\n"
        );
        let program = seriatim_lang::check(&source).expect("right");
        let refused = run(&program, &bounded(2, 1)).expect_err("it has no meaning");
        let text = refused.render(&source, "x.seri");
        assert!(text.contains(condition), "{text}");
    }
}

#[test]
fn each_ordering_is_needed_or_not_and_a_minimum_has_no_more_than_it_needs() {
    let strong = TREIBER
        .replace("load(top, relaxed)", "load(top, acquire)")
        .replace("t, n, release, relaxed", "t, n, acqrel, acquire");
    let program = seriatim_lang::check(&strong).expect("right");
    let found = weaken(&program, &bounded(2, 2), Wanted::All).expect("it can be explored");
    let alone: Vec<String> = found
        .sites
        .iter()
        .map(|weakened| match &weakened.alone {
            Alone::Weakest => "weakest".to_owned(),
            Alone::MayBe(order) => format!("may be {}", order.text()),
            Alone::Needed { with, on_x86, .. } => format!("needed, {} {on_x86:?}", with.text()),
            Alone::Unknown(why) => why.text(),
        })
        .collect();
    let expected = [
        "may be relaxed",        // push: load
        "may be release",        // push: cas
        "may be relaxed",        // push: cas that fails
        "needed, relaxed Holds", // pop: load
        "weakest",               // pop: cas
        "weakest",
    ];
    assert_eq!(alone, expected);
    let minimum: Vec<&str> = found.sites.iter().map(|w| w.minimum.text()).collect();
    assert_eq!(minimum, ["relaxed", "release", "relaxed", "acquire", "relaxed", "relaxed"]);
    let minima = found.minima.expect("all were asked for");
    let only: Vec<Vec<&str>> =
        minima.choices.iter().map(|c| c.iter().map(|order| order.text()).collect()).collect();
    assert_eq!((only, minima.complete), (vec![minimum], true));
}

#[test]
fn a_fence_or_an_ordering_is_needed_and_all_minima_say_so() {
    let source = "object message : register\nplain var content: value? = null\n\
        var ready: bool = false\n\
        method write(v: value) { content = v; fence(release); store(ready, true, release) }\n\
        method read() -> value? { if !load(ready, acquire) { return empty }\n\
          fence(acquire); return content }\n\
        client c { thread writer { write(any) } thread reader { read() } }\n";
    let program = seriatim_lang::check(source).expect("right");
    let options = Options { client: Some("c".to_string()), ..bounded(2, 1) };
    let found = weaken(&program, &options, Wanted::All).expect("it can be explored");
    let minima = found.minima.expect("all were asked for");
    let mut choices: Vec<String> = minima
        .choices
        .iter()
        .map(|c| c.iter().map(|order| order.text()).collect::<Vec<_>>().join(" "))
        .collect();
    choices.sort();
    let expected = [
        "relaxed release acquire relaxed",
        "relaxed release relaxed acquire",
        "release relaxed acquire relaxed",
        "release relaxed relaxed acquire",
    ];
    assert!(minima.complete);
    assert_eq!(choices, expected);
}

/// Who waits with `swap` writes at each look, and a thread that has not looked can see all of it.
#[test]
fn values_without_end_are_a_matter_of_lag() {
    let stack = "object s : stack
struct Node { plain val: value, plain next: Node? }
var held: bool = false
plain var top: Node? = null
method push(v: value) {
  while swap(held, true, acquire) { }
  let n = new Node { val: v, next: top }
  top = n
  store(held, false, release)
}
method pop() -> value? {
  while swap(held, true, acquire) { }
  let n = top
  if n != null { top = n.next }
  store(held, false, release)
  if n == null { return empty }
  let v = n.val
  free(n)
  return v
}
";
    let options = bounded(2, 2);
    let Verdict::Unknown(why) = explored(stack, &options).verdict else { panic!("it has no end") };
    assert!(why.text().contains("--lag"), "{}", why.text());
    let lagging = Options { lag: Some(3), ..options };
    assert!(matches!(explored(stack, &lagging).verdict, Verdict::Holds));
}
