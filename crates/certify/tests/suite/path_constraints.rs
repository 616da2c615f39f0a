//! Certificates of programs that take out several nodes with one step: what their effects say of
//! the nodes on a path is checked like everything else. The everyday program is a set with a chain
//! cut under a lock; `SERIATIM_LONG=1` takes the set of Harris as well.

use crate::common::{body, long, made_out_for, program, proved, sealed};
use seriatim_certify::{Refusal, certify};
use seriatim_lang::{Program, check};

/// Marks without a lock, and unlinks chains of marked nodes under one.
const SWEPT: &str = "object swept : set
struct Node { key: key, link: (Node?, bool) }
var head: Node = new Node { key: -inf, link: (new Node { key: +inf, link: (null, false) }, false) }
var guard: lock
method add(k: key) -> bool {
  lock(guard)
  loop {
    let left = head
    let first = left
    let t = head
    let (next, marked) = t.link
    while marked || t.key < k {
      if !marked { left = t; first = next }
      t = next
      if t.key == +inf { break }
      (next, marked) = t.link
    }
    if first == t || cas(left.link, (first, false), (t, false)) {
      if t.key == k {
        unlock(guard)
        return false
      }
      if cas(left.link, (t, false), (new Node { key: k, link: (t, false) }, false)) {
        unlock(guard)
        return true
      }
    }
  }
}
method remove(k: key) -> bool {
  let t = head
  while t.key < k { t = t.link.0 }
  if t.key != k { return false }
  loop {
    let (next, marked) = t.link
    if marked { return false }
    if cas(t.link, (next, false), (next, true)) { return true }
  }
}
";

/// The place of an effect that has a path constraint: everything before it, its end and its list.
fn path(line: &str) -> Option<(String, String, String)> {
    let word = line.split(' ').find(|w| w.starts_with("old:") && w.split(':').count() == 7)?;
    let (rest, between) = word.rsplit_once(':')?;
    let (place, to) = rest.rsplit_once(':')?;
    Some((place.to_owned(), to.to_owned(), between.to_owned()))
}

fn swept() -> (Program, Vec<String>, Vec<usize>) {
    let program = check(SWEPT).expect("a program");
    let lines = body(&proved(&program).expect("it is proved"));
    let paths: Vec<usize> = (0..lines.len()).filter(|i| path(&lines[*i]).is_some()).collect();
    assert!(paths.len() > 20, "only {} effects have a path constraint", paths.len());
    (program, lines, paths)
}

fn rejected(program: &Program, lines: &[String], at: usize, line: String) {
    let mut changed = lines.to_vec();
    assert_ne!(changed[at], line);
    changed[at] = line;
    let refusal = certify(program, &sealed(&changed));
    assert!(matches!(refusal, Err(Refusal::Proof(_))), "{}\nfor {}", changed[at], lines[at]);
}

#[test]
fn the_certificate_of_a_cut_chain_is_accepted_and_needs_its_paths() {
    let (program, lines, paths) = swept();
    certify(&program, &sealed(&lines)).unwrap_or_else(|refusal| panic!("{refusal}"));
    let mut silent = lines;
    for at in paths {
        let (place, to, between) = path(&silent[at]).expect("a path");
        silent[at] = silent[at].replacen(&format!("{place}:{to}:{between}"), &place, 1);
    }
    assert!(matches!(certify(&program, &sealed(&silent)), Err(Refusal::Proof(_))));
}

/// No step is described by an effect that says more of a path than is certain.
#[test]
fn a_path_that_says_too_much_is_rejected() {
    let (program, lines, paths) = swept();
    let mut shortened = 0;
    for at in paths.into_iter().step_by(if long() { 1 } else { 4 }) {
        let (place, to, between) = path(&lines[at]).expect("a path");
        let whole = format!("{place}:{to}:{between}");
        let with = |list: &str| lines[at].replacen(&whole, &format!("{place}:{to}:{list}"), 1);
        rejected(&program, &lines, at, with(&between.replace('m', "")));
        for (listed, _) in between.split(',').enumerate().filter(|_| between.contains(',')) {
            let mut list: Vec<&str> = between.split(',').collect();
            list.remove(listed);
            rejected(&program, &lines, at, with(&list.join(",")));
            shortened += 1;
        }
        // The path leads back instead.
        let mut words: Vec<&str> = lines[at].split(' ').collect();
        let back = format!("{}:p1:{between}", words[3]);
        (words[2], words[3]) = (&place, &back);
        rejected(&program, &lines, at, words.join(" "));
    }
    assert!(shortened > 0, "no list had two attributes");
}

/// Effects without a path that get one: the first place leads to the second one, and not back.
#[test]
fn a_path_is_not_accepted_where_there_is_none() {
    let (program, lines, _) = swept();
    let adds = (0..lines.len()).filter(|i| lines[*i].contains(" fresh:"));
    for at in adds.step_by(if long() { 1 } else { 5 }) {
        let second = lines[at].split(' ').nth(2).expect("a second place").to_owned();
        let back = lines[at].replacen(&second, &format!("{second}:p0:<,<m,=,=m,>,>m"), 1);
        rejected(&program, &lines, at, back);
    }
}

#[test]
fn a_path_that_is_no_path_is_unreadable() {
    let (program, lines, paths) = swept();
    let at = paths[0];
    let (place, to, between) = path(&lines[at]).expect("a path");
    let whole = format!("{place}:{to}:{between}");
    for wrong in ["p9:<m", "p1:<m", "null:<m", "?:<m", "p2:", "p2:<M", "p2:<mL", "p2", "p2:<m:"] {
        let mut changed = lines.clone();
        changed[at] = changed[at].replacen(&whole, &format!("{place}:{wrong}"), 1);
        let refusal = certify(&program, &sealed(&changed));
        assert!(matches!(refusal, Err(Refusal::Text(_))), "{wrong}: {refusal:?}");
    }
    let fresh = (0..lines.len()).find(|i| lines[*i].contains(" fresh:")).expect("an insertion");
    let mut changed = lines.clone();
    let word = lines[fresh].split(' ').find(|w| w.starts_with("fresh:")).expect("a fresh place");
    changed[fresh] = lines[fresh].replacen(word, &format!("{word}:p0:<m"), 1);
    assert!(matches!(certify(&program, &sealed(&changed)), Err(Refusal::Text(_))));
}

/// The certificate of the correct program, made out for programs that cut out what is not marked,
/// or forget to mark.
#[test]
fn the_certificate_proves_no_program_that_cuts_out_too_much() {
    let (_, lines, _) = swept();
    let certificate = sealed(&lines);
    for (old, new) in [
        ("if !marked { left = t; first = next }", "if left == t { left = t; first = next }"),
        ("cas(left.link, (first, false), (t, false))", "cas(left.link, (first, true), (t, false))"),
        ("if marked { return false }", "if marked { return true }"),
        ("(next, false), (next, true)", "(next, false), (next, false)"),
        ("link: (t, false) }", "link: (t, true) }"),
    ] {
        let source = SWEPT.replacen(old, new, 1);
        assert_ne!(source, SWEPT, "{old}");
        let wrong = check(&source).unwrap_or_else(|e| panic!("{}", e.render(&source, "swept")));
        let refusal = certify(&wrong, &made_out_for(&wrong, &certificate));
        assert!(matches!(refusal, Err(Refusal::Proof(_))), "{new}: {refusal:?}");
    }
}

/// The set of Harris, its broken variant, and its certificate with a path that says too much.
#[test]
fn the_set_of_harris_is_certified_and_its_broken_variant_is_not() {
    if !long() {
        return;
    }
    let right = program("harris_set");
    let certificate = proved(&right).expect("it is proved");
    let accepted = certify(&right, &certificate).unwrap_or_else(|refusal| panic!("{refusal}"));
    eprintln!("harris_set: {} views, {} effects", accepted.views, accepted.effects);
    let wrong = program("broken/harris_set_ignores_mark");
    assert!(certify(&wrong, &made_out_for(&wrong, &certificate)).is_err());
    let lines = body(&certificate);
    let at = (0..lines.len()).find(|i| path(&lines[*i]).is_some()).expect("a path");
    let (place, to, between) = path(&lines[at]).expect("a path");
    let list = between.replace('m', "");
    let whole = format!("{place}:{to}:{between}");
    rejected(&right, &lines, at, lines[at].replacen(&whole, &format!("{place}:{to}:{list}"), 1));
}
