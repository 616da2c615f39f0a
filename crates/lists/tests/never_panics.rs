//! Whatever the program: the engines for lists of any length, for proofs and for bounds answer or
//! refuse, and do not panic.
//!
//! The programs are those of the library with words exchanged at random: a name for another one,
//! `null` for anything, a sentinel for the end of a list. Most are wrong, and many are strange.
//! `SERIATIM_LONG=1` takes more of them.

use seriatim_lang::{Program, check};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Sources with lists, locks, records, cells and numbers.
const NAMES: [&str; 10] = [
    "lock_coupling",
    "lazy_list",
    "optimistic_list",
    "vechev_dcas",
    "harris_michael",
    "two_lock_queue",
    "michael_scott",
    "hsy_stack",
    "ccas",
    "lock_counter",
];

/// A list that ends with null where others have a sentinel.
const NULL_END: &str = "object null_end : set
struct Node { key: key, next: Node?, lock: lock }
var head: Node = new Node { key: -inf, next: null }
fn locate(k: key) -> (Node, Node?) {
  let p = head
  lock(p)
  let c = p.next
  while c != null && c.key < k { lock(c); unlock(p); p = c; c = p.next }
  return (p, c)
}
method add(k: key) -> bool {
  let (p, c) = locate(k)
  if c != null && c.key == k { unlock(p); return false }
  p.next = new Node { key: k, next: c }
  unlock(p)
  return true
}
method remove(k: key) -> bool {
  let (p, c) = locate(k)
  if c == null || c.key != k { unlock(p); return false }
  lock(c)
  p.next = c.next
  unlock(c)
  unlock(p)
  return true
}
";

/// Words and the signs between them.
fn tokens(source: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for letter in source.chars() {
        let joins = |last: &String| {
            let word = |c: char| c.is_alphanumeric() || c == '_';
            last.chars().all(word) && word(letter)
        };
        match found.last_mut().filter(|last| joins(last)) {
            Some(last) => last.push(letter),
            None => found.push(letter.to_string()),
        }
    }
    found
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % count as u64) as usize
    }
}

fn changed(tokens: &[String], dice: &mut Dice) -> String {
    let mut tokens = tokens.to_vec();
    let words: Vec<usize> =
        (0..tokens.len()).filter(|i| tokens[*i].starts_with(char::is_alphabetic)).collect();
    for _ in 0..1 + dice.roll(2) {
        let at = words[dice.roll(words.len())];
        tokens[at] = match dice.roll(4) {
            0 => "null".to_owned(),
            _ => tokens[words[dice.roll(words.len())]].clone(),
        };
    }
    tokens.concat()
}

/// All engines, with little time.
fn ask_all(program: &Program) {
    let limits = seriatim_explore::Limits {
        states: Some(400),
        time: Some(std::time::Duration::from_millis(100)),
        ..seriatim_explore::Options::default().limits
    };
    let options = seriatim_explore::Options { limits, ..Default::default() };
    drop(seriatim_explore::run(program, &options));
    // With the feature `sabotage` there are more.
    #[allow(clippy::needless_update)]
    let options = seriatim_prove::Options { views: 100, work: 20_000, ..Default::default() };
    drop(seriatim_prove::prove(program, &options));
    let effort = seriatim_lists::Effort { nodes: 1, states: 500, steps: 500 };
    let opinion = seriatim_lists::Opinion { least: std::time::Duration::ZERO, percent: 20 };
    let options =
        seriatim_lists::Options { max_states: 300, effort, opinion, ..Default::default() };
    for text in ["add || remove", "push || pop"] {
        let composition = seriatim_lists::parse_composition(text).expect("a composition");
        drop(seriatim_lists::decide(program, &composition, &options));
    }
}

#[test]
fn no_engine_panics_on_strange_programs() {
    let folder = format!("{}/../../algorithms", env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| {
        std::fs::read_to_string(format!("{folder}/{name}.seri")).expect("the library is there")
    };
    let mut sources: Vec<String> = NAMES.map(read).to_vec();
    sources.push(NULL_END.to_owned());
    let long = seriatim_testing::long();
    let rounds = if long { 20_000 } else { 500 };
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let mut asked = 0;
    for round in 0..rounds {
        let tokens = tokens(&sources[round % sources.len()]);
        let source =
            if round < sources.len() { tokens.concat() } else { changed(&tokens, &mut dice) };
        let Ok(program) = check(&source) else { continue };
        let answered = catch_unwind(AssertUnwindSafe(|| ask_all(&program)));
        assert!(answered.is_ok(), "a panic for\n{source}");
        asked += 1;
    }
    eprintln!("{asked} of {rounds} programs were asked about");
    assert!(asked > rounds / 20, "only {asked}");
}
