//! A step may have more outcomes than anybody can see: a request to stop is heard in the middle of
//! it, whatever the engine, and what goes wrong in one of its last outcomes is found.
//!
//! Nothing here asserts a time: an engine that does not listen does not end.

use seriatim_explore as explore;
use seriatim_lang::{Program, check};
use seriatim_limits::Cancel;
use seriatim_lists::{Options, Reason, Verdict, decide, parse_composition};
use seriatim_prove::{self as prove, Obstacle, Outcome, prove};
use std::time::Duration;

/// A set under one lock. Before it looks for its key, `remove` chooses that often in one step; it
/// forgets to remove if all choices are the last ones and it is wrong.
fn set(choices: usize, is_wrong: bool) -> Program {
    let choices = "choose { last = false or last = last }\n    ".repeat(choices);
    let source = format!(
        "object wide : set
struct Node {{ key: key, next: Node? }}
var head: Node = new Node {{ key: -inf, next: new Node {{ key: +inf, next: null }} }}
var guard: lock
fn locate(k: key) -> (Node, Node) {{
  let p = head
  let c = p.next
  while c.key < k {{ p = c; c = c.next }}
  return (p, c)
}}
method add(k: key) -> bool {{
  lock(guard)
  let (p, c) = locate(k)
  if c.key == k {{ unlock(guard); return false }}
  p.next = new Node {{ key: k, next: c }}
  unlock(guard)
  return true
}}
method remove(k: key) -> bool {{
  lock(guard)
  let last = true
  atomic {{
    {choices}last = last && {is_wrong}
  }}
  let (p, c) = locate(k)
  if c.key != k {{ unlock(guard); return false }}
  if last {{ unlock(guard); return true }}
  let s = c.next
  p.next = s
  unlock(guard)
  return true
}}"
    );
    check(&source).unwrap_or_else(|error| panic!("{error:?}"))
}

/// Asks while somebody asks to stop soon.
fn until_asked<T>(ask: impl FnOnce(&Cancel) -> T) -> T {
    let request = Cancel::never();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            request.raise();
        });
        ask(&request)
    })
}

#[test]
fn every_engine_leaves_a_step_in_the_middle() {
    let endless = &set(40, false);
    let both = &parse_composition("remove || add").expect("a composition");

    let lists = until_asked(|request| {
        request.during(|| decide(endless, both, &Options::default())).expect("it tells what it has")
    });
    let lists = lists.expect("it is in the class");
    assert!(matches!(lists.elements, Verdict::Unknown(Reason::Stopped(_))), "{lists:?}");

    let proof = until_asked(|request| {
        prove(endless, &prove::Options { cancel: request.clone(), ..Default::default() })
    });
    assert!(matches!(&proof, Outcome::Unknown(stuck) if stuck.obstacle == Obstacle::Limit));

    let mut bounds = explore::Options::default();
    bounds.limits.time = Some(Duration::from_millis(50));
    let explored = explore::run(endless, &bounds).expect("it can be explored");
    assert!(matches!(explored.verdict, explore::Verdict::Unknown(_)), "{:?}", explored.verdict);
}

#[test]
fn the_last_of_a_thousand_outcomes_is_convicted() {
    let wrong = set(10, true);
    let both = parse_composition("remove || remove").expect("a composition");
    let outcome = decide(&wrong, &both, &Options::default()).expect("it is in the class");
    assert!(matches!(outcome.elements, Verdict::Fails(_)), "{outcome:?}");
}
