//! Certificates with something taken away or changed are rejected, unless what is left says less and is still enough.

mod common;

use common::{body, long, program, proved, sealed};
use seriatim_certify::cover::covers;
use seriatim_certify::effect::is_weaker;
use seriatim_certify::{Certificate, Object, Refusal, certificate, certify};
use seriatim_lang::Program;

fn read(program: &Program, lines: &[String]) -> Certificate {
    let object = Object::of(program).expect("in the class");
    certificate::read(&sealed(lines), &object).expect("readable")
}

fn views(lines: &[String]) -> impl Iterator<Item = usize> + '_ {
    (0..lines.len()).filter(|i| lines[*i].starts_with("view "))
}

/// How many of the views of an algorithm are tried in the short run: every n-th.
const SMALL: [(&str, usize); 5] = [
    ("coarse_stack", 1),
    ("coarse_queue", 1),
    ("two_lock_queue", 7),
    ("treiber", 90),
    ("lock_coupling", 60),
];

fn each(stride: usize) -> usize {
    if long() { 1 } else { stride }
}

#[test]
fn a_file_with_any_bit_flipped_is_rejected() {
    let program = program("coarse_queue");
    let bytes = proved(&program).expect("it is proved").into_bytes();
    for bit in (0..bytes.len() * 8).step_by(if long() { 1 } else { 13 }) {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let Ok(text) = String::from_utf8(flipped) else { continue };
        assert!(matches!(certify(&program, &text), Err(Refusal::Text(_))), "bit {bit}");
    }
}

#[test]
fn a_certificate_without_one_of_its_views_is_rejected() {
    let mut tried = 0;
    for (name, stride) in SMALL {
        let program = program(name);
        let whole = body(&proved(&program).expect("it is proved"));
        for missing in views(&whole).step_by(each(stride)) {
            let mut less = whole.clone();
            less.remove(missing);
            let refusal = certify(&program, &sealed(&less));
            assert!(matches!(refusal, Err(Refusal::Proof(_))), "{name} without line {missing}");
            tried += 1;
        }
    }
    assert!(tried > 200, "only {tried}");
}

#[test]
fn a_certificate_without_one_of_its_effects_is_rejected() {
    for (name, _) in SMALL {
        let program = program(name);
        let whole = body(&proved(&program).expect("it is proved"));
        let effects = (0..whole.len()).filter(|i| whole[*i].starts_with("effect "));
        for missing in effects {
            let mut less = whole.clone();
            less.remove(missing);
            let refusal = certify(&program, &sealed(&less));
            assert!(matches!(refusal, Err(Refusal::Proof(_))), "{name} without line {missing}");
        }
    }
}

/// Every other form of a word: what a flipped bit of a fact would say instead.
fn other_forms(word: &str) -> Vec<String> {
    const EXCHANGES: [(&str, &[&str]); 24] = [
        ("private", &["public"]),
        ("public", &["private"]),
        ("optional", &["some"]),
        ("some", &["optional", "none"]),
        ("sorted", &["any"]),
        ("any", &["sorted"]),
        ("null", &["#0", "?"]),
        ("#0", &["null", "#1"]),
        ("#1", &["null", "#0"]),
        ("v0", &["v1"]),
        ("v1", &["v0"]),
        ("free", &["mine", "other"]),
        ("mine", &["free", "other"]),
        ("other", &["free", "mine"]),
        ("yes", &["-"]),
        ("no", &["-"]),
        ("done", &["-"]),
        (":01", &[":0", ":1"]),
        (":0:", &[":1:", ":n:"]),
        ("k<", &["k=", "k>"]),
        ("k=", &["k<"]),
        ("L", &[""]),
        ("fresh", &["old"]),
        ("p0", &["null", "elsewhere"]),
    ];
    let mut forms = Vec::new();
    for (old, news) in EXCHANGES {
        for (at, _) in word.match_indices(old) {
            let (before, after) = (&word[..at], &word[at + old.len()..]);
            forms.extend(news.iter().map(|new| format!("{before}{new}{after}")));
        }
    }
    forms
}

/// All lines that differ from this one in one fact.
fn variants(line: &str) -> Vec<String> {
    let words: Vec<&str> = line.split(' ').collect();
    let mut lines = Vec::new();
    for (at, word) in words.iter().enumerate().skip(1) {
        for form in other_forms(word) {
            let changed = [&words[..at], &[form.as_str()], &words[at + 1..]].concat();
            lines.push(changed.join(" "));
        }
    }
    lines
}

/// A change that is accepted must leave a proof: the changed line says less than the old one did, and the checker has just
/// seen that this is enough.
#[test]
fn a_view_with_one_fact_changed_is_rejected_unless_it_says_less() {
    let (mut rejected, mut weaker) = (0, 0);
    for (name, stride) in SMALL {
        let program = program(name);
        let whole = body(&proved(&program).expect("it is proved"));
        for at in views(&whole).step_by(each(stride * 6)) {
            let alone = |line: &String| [&whole[..3], std::slice::from_ref(line)].concat();
            let old = &read(&program, &alone(&whole[at])).views[0].0;
            for variant in variants(&whole[at]) {
                let mut changed = whole.clone();
                changed[at] = variant;
                if certify(&program, &sealed(&changed)).is_err() {
                    rejected += 1;
                    continue;
                }
                let new = &read(&program, &alone(&changed[at])).views[0].0;
                assert!(covers(new, old), "{name}: {}\nfor {}", changed[at], whole[at]);
                weaker += 1;
            }
        }
    }
    eprintln!("views: {rejected} rejected, {weaker} weaker and enough");
    assert!(rejected > 500 && weaker < rejected / 4);
}

#[test]
fn an_effect_with_one_fact_changed_is_rejected_unless_it_says_less() {
    let (mut rejected, mut weaker) = (0, 0);
    for (name, _) in SMALL {
        let program = program(name);
        let whole = body(&proved(&program).expect("it is proved"));
        let effects = (0..whole.len()).filter(|i| whole[*i].starts_with("effect "));
        for at in effects {
            let alone = |line: &String| [&whole[..3], std::slice::from_ref(line)].concat();
            let old = &read(&program, &alone(&whole[at])).effects[0].0;
            for variant in variants(&whole[at]).into_iter().step_by(each(3)) {
                let mut changed = whole.clone();
                changed[at] = variant;
                if certify(&program, &sealed(&changed)).is_err() {
                    rejected += 1;
                    continue;
                }
                let new = &read(&program, &alone(&changed[at])).effects[0].0;
                assert!(is_weaker(new, old), "{name}: {}\nfor {}", changed[at], whole[at]);
                weaker += 1;
            }
        }
    }
    eprintln!("effects: {rejected} rejected, {weaker} weaker and enough");
    assert!(rejected > 300 && weaker < rejected / 4);
}
