//! Counters, locks, semaphores and registers of numbers: correct ones are proved for any numbers,
//! incorrect ones are not.

use crate::common::{algorithm, program};
use seriatim_lang::check;
use seriatim_prove::{Obstacle, Options, Outcome, certify, prove};

const SEMAPHORE: &str = include_str!("../programs/semaphore.seri");

const CHOSEN: &str = "object o : numbers
spec numbers {
  var content: int = 0
  method read() -> int { return content }
  method write(n: int) { content = n }
  method replace(old: int, next: int) -> bool {
    if content != old { return false }
    content = next
    return true
  }
  method raise(n: int) -> int {
    let old = content
    if old < n { content = n }
    return old
  }
}
var content: int = 0
method read() -> int { let c = content return c }
method write(n: int) { content = n }
method replace(old: int, next: int) -> bool {
  let c = content
  if c != old { return false }
  loop {
    if cas(content, old, next) { return true }
    let d = content
    if d != old { return false }
  }
}
method raise(n: int) -> int {
  loop {
    let c = content
    if c >= n { return c }
    if cas(content, c, n) { return c }
  }
}
";

const K_VALUED: &str = "object o : k_valued
const K = 4
spec k_valued {
  var content: int 0..K - 1 = K - 1
  method read() -> int 0..K - 1 { return content }
  method write(v: int 0..K - 1) { content = v }
  method next() -> bool {
    if content == K - 1 { return false }
    content = content + 1
    return true
  }
}
var content: int 0..K - 1 = K - 1
method read() -> int 0..K - 1 { let c = content return c }
method write(v: int 0..K - 1) { content = v }
method next() -> bool {
  loop {
    let c = content
    if c == K - 1 { return false }
    if cas(content, c, c + 1) { return true }
  }
}
";

fn stuck(source: &str) -> Option<Obstacle> {
    let program = program(source);
    match prove(&program, &Options { views: 20_000, ..Options::default() }) {
        Outcome::Proved(proof) => {
            assert_eq!(certify(&program, &proof), Ok(()), "{source}");
            None
        }
        Outcome::Unknown(stuck) => Some(stuck.obstacle),
        Outcome::Refused(why) => panic!("refused: {why}\n{source}"),
    }
}

#[test]
fn counters_locks_and_registers_of_the_library_are_proved() {
    for name in
        ["cas_counter", "faa_counter", "lock_counter", "int_register", "spin_lock", "ttas_lock"]
    {
        assert_eq!(stuck(&algorithm(name)), None, "{name}");
    }
}

#[test]
fn semaphores_and_registers_of_any_or_few_numbers_are_proved() {
    for source in [SEMAPHORE, CHOSEN, K_VALUED] {
        assert_eq!(stuck(source), None, "{source}");
    }
}

fn are_not_proved(right: &str, wrong: &[(&str, &str)]) {
    for (from, to) in wrong {
        let source = right.replacen(from, to, 1);
        assert_ne!(source, right, "{from}");
        assert!(stuck(&source).is_some(), "proved:\n{source}");
    }
}

#[test]
fn wrong_counters_are_not_proved() {
    let wrong = [
        ("return c }", "return c + 1 }"),
        ("cas(count, c, c + 1)", "cas(count, c, c + 2)"),
        ("cas(count, c, c + 1)", "cas(count, c, c)"),
        ("cas(count, c, c + 1)", "cas(count, c + 1, c)"),
        ("if cas(count, c, c + 1) { return c }", "if true { count = c + 1 return c }"),
        ("cas(count, c, c + 1) {", "(cas(count, c, c + 1) && cas(count, c + 1, c + 2)) {"),
        ("let c = count\n  return c", "return 0"),
        ("let c = count\n  return c", "let c = count\n  let d = count\n  return c + d - c - 1"),
        ("var count: int = 0", "var count: int = 1"),
    ];
    are_not_proved(&algorithm("cas_counter"), &wrong);
}

#[test]
fn wrong_semaphores_are_not_proved() {
    let wrong = [
        ("if f > 0 {", "if f >= 0 {"),
        ("if f > 0 {", "if f != 0 {"),
        ("if f < 1 { return false }", "if f < 2 { return false }"),
        ("if f < 1 { return false }", "if f == 0 { return false }"),
        ("if f < 1 { return false }", "if f < 1 { return true }"),
        ("if cas(free, f, f - 1) { return true }", "free = f - 1 return true"),
        ("{ fetch_add(free, 1) }", "{ fetch_add(free, 1) fetch_add(free, 1) }"),
        ("{ fetch_add(free, 1) }", "{ let f = free free = f + 1 }"),
    ];
    are_not_proved(SEMAPHORE, &wrong);
}

#[test]
fn wrong_registers_of_numbers_are_not_proved() {
    let wrong = [
        ("if c != old { return false }", "if c == old { return false }"),
        ("if d != old { return false }", "return false"),
        ("if d != old { return false }", "if d != next { return false }"),
        ("cas(content, old, next)", "cas(content, next, old)"),
        ("cas(content, old, next) { return true }", "cas(content, old, old) { return true }"),
        ("if c >= n { return c }", "if c > n + 1 { return n }"),
        ("if c >= n { return c }", "if c <= n { return c }"),
        ("if cas(content, c, n) { return c }", "if cas(content, c, n) { return n }"),
        ("if cas(content, c, n) { return c }", "content = n return c"),
        ("{ content = n }\nmethod replace", "{ content = n + 1 }\nmethod replace"),
        ("{ content = n }\nmethod replace", "{ if n > 0 { content = n } }\nmethod replace"),
    ];
    are_not_proved(CHOSEN, &wrong);
    let wrong = [
        ("if c == K - 1 { return false }", "if c == K - 2 { return false }"),
        ("if c == K - 1 { return false }", ""),
        ("if cas(content, c, c + 1)", "content = c + 1 if true"),
        ("= K - 1\nmethod read", "= 0\nmethod read"),
    ];
    are_not_proved(K_VALUED, &wrong);
}

#[test]
fn wrong_locks_are_not_proved() {
    let wrong = [
        ("swap(taken, true)\n    if !before", "swap(taken, true)\n    if before"),
        ("return !before", "return before"),
        ("{ @lin taken = false }", "{ @lin taken = true }"),
        ("{ @lin taken = false }", "{ }"),
    ];
    are_not_proved(&algorithm("spin_lock"), &wrong);
}

/// A number that is spread over nodes or an array is no content of one variable.
#[test]
fn a_number_in_several_places_is_refused() {
    let source = "object o : counter
var halves: [int; 2] = [0; 2]
method read() -> int { let i: int 0..1 = 0 let a = halves[i] i = 1 let b = halves[i] return a + b }
";
    assert!(matches!(prove(&program(source), &Options::default()), Outcome::Refused(_)));
}

/// A thread that knows a large number as a constant, and one that has forgotten it, must not miss
/// each other's steps.
#[test]
fn large_numbers_in_variables_with_bounds_are_seen_by_all() {
    let wide = algorithm("broken/int_register_wide");
    assert!(stuck(&wide).is_some(), "a proof of what is broken");
    let right = "lock(guard)\n  if cas(number, 200, 0) { unlock(guard) return }\n  unlock(guard)";
    let right = wide.replacen("if cas(number, 200, 0) { return }", right, 1);
    assert_eq!(stuck(&right), None, "under the lock");
    let any = wide.replace("0..300", "-128..128").replace("200", "7");
    let any = any.replace("put()", "put(n: int)").replace("= 7", "= n");
    let any = any.replace("content == n", "content == 7").replace("put(n: int) or", "put(7) or");
    assert!(stuck(&any).is_some(), "any number in a variable with bounds:\n{any}");
}

/// A counter in which one type is written in a certain way, and all others are plain.
fn counter(types: [&str; 5]) -> String {
    let [shared, local, result, content, told] = types;
    format!(
        "object o : counted
spec counted {{
  var c: {content} = 0
  method inc() {{ c = c + 1 }}
  method get() -> {told} {{ return c }}
}}
var n: {shared} = 0
method inc() {{
  loop {{
    let old = n
    let next: {local} = old + 1
    if cas(n, old, next) {{ return }}
  }}
}}
method get() -> {result} {{ return n }}
"
    )
}

/// Bounds that are stated are bounds, wherever they stand and whatever they are: those of `int` in
/// an algorithm and in a specification, narrower and wider ones. A counter runs into all of them.
#[test]
fn a_counter_with_stated_bounds_anywhere_is_not_proved() {
    let is_proved = |source: &str| {
        let program = check(source).unwrap_or_else(|e| panic!("{}", e.render(source, "o")));
        let options = Options { views: 3_000, ..Options::default() };
        matches!(prove(&program, &options), Outcome::Proved(_))
    };
    assert!(is_proved(&counter(["int"; 5])));
    let wide = "-536870911 - 1..536870911";
    for range in ["-128..127", wide, "0..3", "0..127", "-129..128", "0..300"] {
        let stated = format!("int {range}");
        for place in 0..5 {
            let mut types = ["int"; 5];
            types[place] = &stated;
            assert!(!is_proved(&counter(types)), "{}", counter(types));
        }
    }
}
