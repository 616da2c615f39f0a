//! A forger at work: certificates of broken programs, as misleading as the checker lets them be.
//!
//! The forger asks the checker what is missing, and supplies it. For a step that no effect
//! describes it writes an effect, first an honest one; then it changes facts of it at random, and
//! keeps what the checker still takes for a description of that step. For a state that no view
//! describes it adds the state as a view; then it changes that at random, and keeps what the
//! checker takes for a view that covers the state. So every hole in either of these tests is used
//! against the third one. If all is described in the end and no check has failed, a broken program
//! has a proof: a defect of the checker. What is broken, `explore` has said.
//!
//! Certificates of cells and numbers are forged in a plainer way: the one of a right program is
//! made out for broken mutants of it, facts are changed, lines left out, repeated and moved to
//! other places of the program, and the checksum is corrected.
//!
//! `SERIATIM_LONG=1` takes all broken algorithms of the library that are in the class, and more
//! attempts for each.

mod effects;
mod views;

use crate::common::{body, made_out_for, program, proved, sealed};
use crate::damage::variants;
use crate::mutants::prover;
use effects::Pen;
use seriatim_certify::object::{Field, Spec};
use seriatim_certify::pass::Noticed;
use seriatim_certify::state::State;
use seriatim_certify::{Certificate, Object, Pass, Refusal, Rejection, certificate, certify};
use seriatim_lang::{Program, check};
use std::collections::HashSet;

/// Two threads wait for each other's locks; the stack loses what was pushed. Locks are what the
/// forger can speak of.
const LOCKS: &str = "object locks : stack
struct Node { val: value, next: Node? }
var top: Node? = null
var l1: lock
var l2: lock
var held: bool = false
method push(v: value) {
  let n = new Node { val: v, next: null }
  choose {
    lock(l2)
    held = true
    while held {}
  or
    while !held {}
    lock(l1)
    top = n
    while held {}
  }
}
method pop() -> value? {
  let t = top
  if t != null { while held {} }
  let u = top
  if u == null { return empty }
  while false {}
  return u.val
}
";

/// A push that forgets what was there.
const FORGETS: &str = "object forgets : stack
struct Node { val: value, next: Node? }
var top: Node? = null
method push(v: value) { atomic { top = new Node { val: v, next: null } } }
method pop() -> value? {
  atomic {
    let t = top
    if t == null { return empty }
    top = t.next
    return t.val
  }
}
";

/// What both of the following stacks have.
macro_rules! pushes_under_a_lock {
    () => {
        "struct Node { val: value, next: Node? }
var top: Node? = null
var guard: lock
method push(v: value) {
  lock(guard)
  let t = top
  top = new Node { val: v, next: t }
  unlock(guard)
}
"
    };
}

/// Takes what it has read without looking again, unless the lock is free.
const UNLOCKED: &str = concat!(
    "object unlocked : stack\n",
    pushes_under_a_lock!(),
    "method pop() -> value? {
  let t = top
  if t == null { return empty }
  lock(guard)
  top = t.next
  unlock(guard)
  return t.val
}
"
);

/// A lock that is a boolean, and a pop that releases it before it writes what it has read under it.
const SPUN: &str = "object spun : stack
struct Node { val: value, next: Node? }
var top: Node? = null
var taken: bool = false
method push(v: value) {
  loop { if cas(taken, false, true) { break } }
  let t = top
  top = new Node { val: v, next: t }
  taken = false
}
method pop() -> value? {
  loop { if cas(taken, false, true) { break } }
  let t = top
  taken = false
  if t == null { return empty }
  top = t.next
  return t.val
}
";

/// A look at the top that tells what is below it.
const PEEPED: &str = "object peeped : peekable
spec peekable {
  var items: seq<value> = []
  method push(v: value) { items = [v] ++ items }
  method peek() -> value? {
    if items == [] { return empty }
    return items[0]
  }
}
struct Node { val: value, next: Node? }
var top: Node? = null
method push(v: value) { atomic { top = new Node { val: v, next: top } } }
method peek() -> value? {
  let t = top
  if t == null { return empty }
  let s = t.next
  if s == null { return t.val }
  return s.val
}
";

/// A map whose `set` reads the old value and writes the new one in two steps.
const MAPPED: &str = "object mapped : map
spec map {
  var m: map<key, value> = {}
  method set(k: key, v: value) -> value? { let old = m[k]; m[k] = v; return old }
  method get(k: key) -> value? { return m[k] }
}
struct Node { key: key, val: value, next: Node? }
var top: Node? = null
method set(k: key, v: value) -> value? {
  let t = top
  if t != null && t.key == k {
    let old = t.val
    t.val = v
    return old
  }
  atomic { if top == null { top = new Node { key: k, val: v, next: null } return empty } }
  assume false
  return empty
}
method get(k: key) -> value? {
  let t = top
  if t != null && t.key == k { return t.val }
  return empty
}
";

/// A correct one, to see that the forger can do its work.
const RIGHT: &str = concat!(
    "object right : stack\n",
    pushes_under_a_lock!(),
    "method pop() -> value? {
  lock(guard)
  let t = top
  if t == null {
    unlock(guard)
    return empty
  }
  top = t.next
  unlock(guard)
  return t.val
}
"
);

/// Small numbers that follow each other as if by chance.
pub struct Dice(u64);

impl Dice {
    /// One of `0..count`.
    pub fn roll(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % count.max(1) as u64) as usize
    }
}

/// What the forger did, over all attempts.
#[derive(Default, Debug)]
struct Tally {
    edits: usize,
    rejected: usize,
    too_large: usize,
    accepted: usize,
}

/// How an attempt ended.
enum Ended {
    Accepted(Certificate),
    Rejected,
    TooLarge,
}

/// How many changes a forger tries for each effect and for each view. A lie too many betrays it, so
/// that few are tried in most attempts.
#[derive(Clone, Copy)]
struct Zeal {
    effects: usize,
    views: usize,
}

const HONEST: Zeal = Zeal { effects: 0, views: 0 };

impl Zeal {
    fn any(dice: &mut Dice) -> Zeal {
        let effects = [1, 2, 6, 20][dice.roll(4)];
        let views = [0, 0, 0, 1, 8][dice.roll(5)];
        Zeal { effects, views }
    }
}

struct Forger<'a> {
    object: &'a Object,
    dice: Dice,
    zeal: Zeal,
    /// The largest number of views.
    most: usize,
    tally: Tally,
}

impl Forger<'_> {
    fn attempt(&mut self, header: &[String]) -> Ended {
        let empty = crate::common::sealed(header);
        let mut forged = certificate::read(&empty, self.object).expect("a header");
        loop {
            let (missing, untold) = match self.missing(&forged) {
                Ok(found) => found,
                Err(_) => return Ended::Rejected,
            };
            if missing.is_empty() && untold.is_empty() {
                return match Pass::new(self.object, &forged).run() {
                    Ok(()) => Ended::Accepted(forged),
                    Err(_) => Ended::Rejected,
                };
            }
            if forged.views.len() + missing.len() > self.most {
                return Ended::TooLarge;
            }
            for graph in untold {
                let pen = Pen { object: self.object, header, graph: &graph };
                let (effect, tried) = pen.write(&mut self.dice, self.zeal.effects);
                self.tally.edits += tried;
                forged.effects.push((effect, 0));
            }
            for state in missing {
                let (view, tried) = views::forge(&state, &mut self.dice, self.zeal.views);
                self.tally.edits += tried;
                forged.views.push((view, 0));
            }
        }
    }

    /// States that no view describes, and steps that no effect describes.
    fn missing(
        &self,
        forged: &Certificate,
    ) -> Result<(Vec<State>, Vec<seriatim_certify::heap_graph::HeapGraph>), Rejection> {
        let pass = Pass::new(self.object, forged);
        let mut missing: HashSet<State> = HashSet::new();
        let mut meets = |_: Option<usize>, state: &State| {
            if !pass.index.covers(state) {
                missing.insert(state.clone());
            }
            true
        };
        pass.start(&mut meets)?;
        let mut noticed = Noticed::default();
        noticed.untold = Some(vec![]);
        for view in 0..forged.views.len() {
            pass.own_steps(view, &mut noticed, &mut meets)?;
        }
        for view in 0..forged.views.len() {
            pass.others(view, &noticed, &mut meets)?;
        }
        let mut untold: Vec<_> = noticed.untold.take().unwrap_or_default();
        let mut seen = HashSet::new();
        untold.retain(|graph| seen.insert(graph.clone()));
        // One effect at a time: it may describe the other steps as well.
        untold.truncate(1);
        let mut missing: Vec<State> = missing.into_iter().collect();
        missing.sort_by_cached_key(|state| format!("{state:?}"));
        Ok((missing, untold))
    }
}

/// The first lines of a certificate, for every content that the program can have.
fn headers(object: &Object) -> Vec<Vec<String>> {
    let references = (0..object.steps.shared.len()).filter(|v| object.is_reference(*v));
    let names: Vec<&str> = references.map(|v| object.steps.shared[v].name.as_str()).collect();
    let begins = if object.spec == Spec::Queue { &["second"][..] } else { &["first"] };
    let counts = if object.has(Field::Mark) { &["all", "unmarked"][..] } else { &["all"] };
    let mut contents = Vec::new();
    for name in names {
        for begin in begins {
            contents.extend(counts.iter().map(|count| format!("content {name} {begin} {count}")));
        }
    }
    let first = format!("program forged {:016x}", object.hash());
    let header = |content| vec!["seriatim certificate 1".to_owned(), first.clone(), content];
    contents.into_iter().map(header).collect()
}

fn forge(program: &Program, attempts: u64, zeal: Option<Zeal>, most: usize) -> Tally {
    let object = Object::of(program).expect("in the class");
    let mut forger =
        Forger { object: &object, dice: Dice(1), zeal: HONEST, most, tally: Tally::default() };
    for seed in 1..=attempts {
        for header in headers(&object) {
            forger.dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            forger.zeal = zeal.unwrap_or_else(|| Zeal::any(&mut forger.dice));
            match forger.attempt(&header) {
                Ended::Rejected => forger.tally.rejected += 1,
                Ended::TooLarge => forger.tally.too_large += 1,
                Ended::Accepted(forged) => {
                    let views: Vec<_> = forged.views.iter().map(|(view, _)| view).collect();
                    let effects: Vec<_> = forged.effects.iter().map(|(effect, _)| effect).collect();
                    eprintln!("seed {seed}, {}: {effects:#?}\n{views:?}", header[2]);
                    forger.tally.accepted += 1;
                }
            }
        }
    }
    forger.tally
}

#[test]
fn an_honest_forger_proves_what_is_right() {
    let program = check(RIGHT).expect("a program");
    let tally = forge(&program, 1, Some(HONEST), 2_000);
    assert!(tally.accepted > 0, "{tally:?}");
}

#[test]
fn no_forger_proves_what_is_broken() {
    let small =
        [LOCKS, FORGETS, UNLOCKED, SPUN, PEEPED, MAPPED].map(|s| check(s).expect("a program"));
    let attempts = if crate::common::long() { 6_000 } else { 200 };
    let small = small.map(|program| (program.name.clone(), program, attempts));
    let library = if crate::common::long() { broken_lists() } else { vec![] };
    let library = library.into_iter().map(|(name, program)| (name, program, 25));
    let mut edits = 0;
    for (name, program, attempts) in small.into_iter().chain(library) {
        let tally = forge(&program, attempts, None, 150);
        eprintln!("{name}: {tally:?}");
        assert_eq!(tally.accepted, 0, "a proof of `{name}`, which is broken");
        edits += tally.edits;
    }
    eprintln!("{edits} edits");
    assert!(edits > 5_000, "only {edits}");
}

/// The broken stacks, queues, sets and maps of the library that the checker understands.
fn broken_lists() -> Vec<(String, Program)> {
    let folder = format!("{}/../../algorithms/broken", env!("CARGO_MANIFEST_DIR"));
    let entries = std::fs::read_dir(folder).expect("the library is there");
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let programs = paths.into_iter().filter_map(|path| {
        let source = std::fs::read_to_string(&path).ok()?;
        let program = check(&source).ok()?;
        let object = Object::of(&program).ok()?;
        let name = path.file_stem()?.display().to_string();
        // Judged by the elements at all times, not by the list at the end: those are correct.
        let right = source.contains("expect lists") && !source.contains("expect explore");
        (object.list.is_some() && !right).then_some((name, program))
    });
    programs.collect()
}

/// Right programs whose certificates speak of cells and of numbers.
const CELLS_AND_NUMBERS: [&str; 7] = [
    "ccas_waits",
    "lock_counter",
    "cas_counter",
    "faa_counter",
    "int_register",
    "coarse_pair",
    "seqlock_locked",
];

/// Changes something of a certificate: a fact, the place in the program, or which lines there are.
fn edit(lines: &mut Vec<String>, dice: &mut Dice) {
    // The first lines say which program it is.
    let at = 2 + dice.roll(lines.len() - 2);
    match dice.roll(4) {
        0 => drop(lines.remove(at)),
        1 => {
            let other = lines[2 + dice.roll(lines.len() - 2)].clone();
            lines.insert(at, other);
        }
        2 => {
            let mut words: Vec<String> = lines[at].split(' ').map(str::to_owned).collect();
            let numbers = (1..words.len()).filter(|&word| words[word].parse::<u32>().is_ok());
            let numbers: Vec<usize> = numbers.collect();
            if !numbers.is_empty() {
                words[numbers[dice.roll(numbers.len())]] = dice.roll(60).to_string();
                lines[at] = words.join(" ");
            }
        }
        _ => {
            let all = variants(&lines[at]);
            if !all.is_empty() {
                lines[at] = all[dice.roll(all.len())].clone();
            }
        }
    }
}

/// Mutants of a right program that `explore` finds wrong, and that the checker understands.
fn broken_mutants(right: &str, most: usize) -> Vec<Program> {
    let programs = prover::mutants(&prover::algorithm(right)).into_iter();
    let programs = programs.filter_map(|source| check(&source).ok());
    let known = programs.filter(|program| Object::of(program).is_ok());
    let broken = |program: &Program| prover::explored(program, 2_000).contains(&Some(false));
    known.filter(broken).take(most).collect()
}

#[test]
fn no_edited_certificate_of_cells_or_numbers_proves_what_is_broken() {
    let (mutants, attempts) = if crate::common::long() { (200, 500) } else { (4, 25) };
    let (mut readable, mut tried) = (0, 0);
    for right in CELLS_AND_NUMBERS {
        let honest = proved(&program(right)).expect("it is proved");
        for wrong in broken_mutants(right, mutants) {
            let made_out = body(&made_out_for(&wrong, &honest));
            let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
            for attempt in 0..attempts {
                let mut forged = made_out.clone();
                for _ in 0..1 + dice.roll(4) {
                    edit(&mut forged, &mut dice);
                }
                let refused = certify(&wrong, &sealed(&forged));
                assert!(refused.is_err(), "{right}, attempt {attempt}:\n{}", forged.join("\n"));
                readable += usize::from(matches!(refused, Err(Refusal::Proof(_))));
                tried += 1;
            }
        }
    }
    eprintln!("{tried} forgeries, of which {readable} could be read");
    assert!(tried > 300 && readable > tried / 10, "of {tried} only {readable} could be read");
}
