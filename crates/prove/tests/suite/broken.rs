//! Not one broken algorithm is proved.

use crate::common::{library, program};
use seriatim_prove::{Obstacle, Options, Outcome, prove};

/// The short run gives up early on the larger ones.
fn options() -> Options {
    let views = if crate::common::long() { 100_000 } else { 4_000 };
    Options { views, ..Options::default() }
}

#[test]
fn no_broken_algorithm_is_proved() {
    let (mut unknown, mut refused) = (0, 0);
    for path in library("algorithms/broken") {
        let source = std::fs::read_to_string(&path).expect("readable");
        match prove(&program(&source), &options()) {
            Outcome::Proved(_) => panic!("{} is broken, and proved", path.display()),
            Outcome::Unknown(stuck) => {
                let name = path.file_stem().unwrap_or_default().display().to_string();
                eprintln!("{name}: unknown after {} views: {}", stuck.views, stuck.obstacle.text());
                unknown += 1;
            }
            Outcome::Refused(_) => refused += 1,
        }
    }
    eprintln!("{unknown} unknown, {refused} refused");
    assert!(unknown >= 30, "only {unknown} broken algorithms are in the class");
}

/// Incorrect algorithms that Poling certifies: each gets stuck at a check.
fn is_not_proved(name: &str) {
    let source = crate::common::algorithm(&format!("broken/{name}"));
    match prove(&program(&source), &options()) {
        Outcome::Unknown(stuck) => assert_ne!(stuck.obstacle, Obstacle::Limit, "{name}"),
        Outcome::Proved(_) => panic!("{name} is broken, and proved"),
        Outcome::Refused(why) => panic!("{name} is refused: {why}"),
    }
}

/// Where numbers stand for values, null is the number 0: not where a program or a specification says
/// null of something that is never null.
#[test]
fn null_is_no_number_no_truth_value_and_no_variant() {
    let object = |set: &str, told: &str| {
        format!(
            "object once : once
enum Colour {{ Red, Green }}
spec once {{
  var content: value? = null
  method get() -> value? {{ return content }}
  method set(v: value) -> bool {{
    let free = content == null
    if free {{ content = v }}
    {told}
  }}
}}
var content: value? = null
var colour: Colour = Red
method get() -> value? {{ return content }}
method set(v: value) -> bool {{
  {set}
}}
"
        )
    };
    let proved = |source: &str| matches!(prove(&program(source), &options()), Outcome::Proved(_));
    assert!(proved(&object("return cas(content, null, v)", "return free")));
    for set in [
        "let free = cas(content, null, v); return if free { true } else { null }",
        "let b = false; return cas(content, null, v) == (b == null)",
        "let n = 0; return cas(content, null, v) == (n == null)",
        "let free = cas(content, null, v); if !free { assert free == null }; return free",
        "let n: int 0..3 = null; return cas(content, null, v)",
        "let c = colour; return cas(content, null, v) == (c == null)",
        "let turned = cas(colour, null, Red); return cas(content, null, v) == turned",
    ] {
        assert!(!proved(&object(set, "return free")), "{set}");
    }
    for told in [
        "return if free { true } else { null }",
        "return free != (free == null)",
        "let n = 0; return free == (n == null)",
    ] {
        assert!(!proved(&object("return cas(content, null, v)", told)), "{told}");
    }
}

#[test]
fn poling_accepts_a_push_that_pushes_twice() {
    is_not_proved("treiber_push_twice");
}

#[test]
fn poling_accepts_a_pop_that_pops_twice() {
    is_not_proved("treiber_pop_twice");
}

#[test]
fn poling_accepts_a_stack_as_a_queue() {
    is_not_proved("treiber_as_queue");
}

#[test]
fn poling_accepts_any_result_of_a_pop_or_dequeue() {
    is_not_proved("treiber_pop_any");
    is_not_proved("two_lock_queue_any_value");
}

#[test]
fn poling_accepts_an_add_without_membership_test() {
    is_not_proved("vechev_dcas_duplicates");
}

#[test]
fn poling_accepts_wrong_answers_of_add_and_remove() {
    is_not_proved("vechev_dcas_wrong_result");
    is_not_proved("vechev_dcas_remove_wrong_result");
}

#[test]
fn poling_accepts_a_contains_that_skips_its_walk() {
    is_not_proved("orvyy_set_skipping_contains");
}

/// What Poling ships as a right conditional compare-and-swap, and its own broken elimination
/// stacks.
#[test]
fn what_poling_ships_of_helping_is_not_proved() {
    for name in ["ccas_overwrite", "ccas_no_writes", "hsy_stack_top_not_moved"] {
        is_not_proved(name);
    }
    is_not_proved("hsy_stack_pop_test_inverted");
}

/// A sequence lock guards one part of a pair; the other one changes while a section reads it twice.
#[test]
fn a_part_of_a_pair_that_changes_beside_sections_is_not_read_at_once() {
    let object = |changes: &str| {
        format!(
            "object agrees : agrees
spec agrees {{
  var set: int = 0
  method change() {{ }}
  method agrees() -> bool {{ set = 1; return true }}
}}
var seq: int = 0
var pair: (int, int) = (0, 0)
method change() {{ {changes} }}
method agrees() -> bool {{
  loop {{
    let s = seq
    if s % 2 == 1 {{ continue }}
    if cas(seq, s, s + 1) {{
      let (a, b) = pair
      let (c, d) = pair
      pair.0 = 1
      seq = s + 2
      return b == d
    }}
  }}
}}
"
        )
    };
    let proved = |source: &str| matches!(prove(&program(source), &options()), Outcome::Proved(_));
    assert!(!proved(&object("let t = fetch_add(pair.1, 1)")));
    assert!(proved(
        &object("return")
            .replace("(a, b) = pair", "(a, b) = (0, 0)")
            .replace("(c, d) = pair", "d = 0")
    ));
}
