//! Certificates with something taken away or changed are rejected, unless what is left says less
//! and is still enough.
//!
//! Every view and every effect of every certificate is needed, and for every one of them the
//! checker is shown to reject the certificate without it, at the place that needs it. With one fact
//! changed, the places to look at are the changed view itself and the one that needed it; what
//! passes there goes through the whole check. Some damaged files go through it in any case. The
//! short run takes the quicker ones of the eleven proofs and samples; `SERIATIM_LONG=1` takes all
//! views of all proofs of the library but two.

use crate::common::{body, library, long, program, proved, sealed};
use seriatim_certify::cover::covers;
use seriatim_certify::effect::is_weaker;
use seriatim_certify::needs::{From, Needs};
use seriatim_certify::pass::Noticed;
use seriatim_certify::{Certificate, Object, Pass, Refusal, certificate, certify};
use seriatim_lang::Program;

/// Proved and checked in a moment.
const QUICK: [&str; 10] = [
    "treiber",
    "two_lock_queue",
    "michael_scott",
    "dglm",
    "lock_coupling",
    "vechev_dcas",
    "hsy_stack",
    "ccas",
    "lock_counter",
    "int_register",
];

/// Too large to be checked some thousand times.
const TOO_LARGE: [&str; 2] = ["harris_set", "michael_set"];

fn names() -> Vec<String> {
    match long() {
        // Certificates of maps have views that are not needed, so that they may say anything.
        true => library()
            .into_iter()
            .filter(|name| !TOO_LARGE.contains(&name.as_str()) && !name.contains("map"))
            .collect(),
        false => QUICK.map(str::to_owned).to_vec(),
    }
}

fn read(program: &Program, lines: &[String]) -> Certificate {
    let object = Object::of(program).expect("in the class");
    certificate::read(&sealed(lines), &object).expect("readable")
}

fn lines_of<'l>(lines: &'l [String], sort: &'l str) -> impl Iterator<Item = usize> + 'l {
    (0..lines.len()).filter(move |i| lines[*i].starts_with(sort))
}

/// Every n-th, so that about `wanted` of `all` are taken in the short run.
fn stride(all: usize, wanted: usize) -> usize {
    if long() { 1 } else { (all / wanted).max(1) }
}

#[test]
fn a_file_with_any_bit_flipped_is_rejected() {
    for name in ["coarse_queue", "ccas_waits"] {
        let program = program(name);
        let bytes = proved(&program).expect("it is proved").into_bytes();
        let step = if long() { 1 } else { bytes.len() / 50 };
        for bit in (0..bytes.len() * 8).step_by(step) {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let Ok(text) = String::from_utf8(flipped) else { continue };
            assert!(matches!(certify(&program, &text), Err(Refusal::Text(_))), "bit {bit}");
        }
    }
}

#[test]
fn a_certificate_without_any_one_of_its_views_is_rejected() {
    let mut tried = 0;
    for name in names() {
        let program = program(&name);
        let Some(text) = proved(&program) else { continue };
        let object = Object::of(&program).expect("in the class");
        let certificate = certificate::read(&text, &object).expect("readable");
        let pass = Pass::new(&object, &certificate);
        let needs = Needs::of(&pass).unwrap_or_else(|r| panic!("{name}: {r:?}"));
        let needless: Vec<usize> = needs.needless().collect();
        assert_eq!(needless, [], "{name}: views that nobody needs");
        let views = certificate.views.len();
        for missing in 0..views {
            let rejection = needs.rejection_without(&pass, missing);
            assert!(rejection.is_some(), "{name} without view {missing}");
            tried += 1;
        }
        eprintln!("{name}: rejected without any one of {views} views");
    }
    assert!(tried > 10_000, "only {tried}");
}

/// The same with whole files, for some of the views.
#[test]
fn a_file_without_one_of_its_views_is_rejected() {
    for name in names().iter().filter(|n| QUICK.contains(&n.as_str())) {
        let program = program(name);
        let whole = body(&proved(&program).expect("it is proved"));
        let views: Vec<usize> = lines_of(&whole, "view ").collect();
        for missing in views.iter().step_by(stride(views.len(), 6).max(views.len() / 60)) {
            let mut less = whole.clone();
            less.remove(*missing);
            let refusal = certify(&program, &sealed(&less));
            assert!(matches!(refusal, Err(Refusal::Proof(_))), "{name} without line {missing}");
        }
    }
}

#[test]
fn a_certificate_without_one_of_its_effects_or_shapes_is_rejected() {
    let mut tried = 0;
    for name in names() {
        let program = program(&name);
        let Some(text) = proved(&program) else { continue };
        let whole = body(&text);
        let effects: Vec<usize> = lines_of(&whole, "effect ").collect();
        let effects = effects.iter().step_by(stride(effects.len(), 6)).copied();
        for missing in effects.chain(lines_of(&whole, "shape ")) {
            let mut less = whole.clone();
            let line = less.remove(missing);
            let refusal = certify(&program, &sealed(&less));
            assert!(matches!(refusal, Err(Refusal::Proof(_))), "{name} without {line}");
            tried += 1;
        }
    }
    assert!(tried > 40, "only {tried}");
}

/// Every other form of a word: what a flipped bit of a fact would say instead.
fn other_forms(word: &str) -> Vec<String> {
    const EXCHANGES: [(&str, &[&str]); 36] = [
        ("private", &["public"]),
        ("public", &["private"]),
        ("optional", &["some"]),
        ("some", &["optional", "none"]),
        ("sorted", &["any"]),
        ("any", &["sorted"]),
        ("gotnull", &["got1"]),
        ("got0", &["got1"]),
        ("got1", &["gotnull"]),
        ("null", &["#0", "?", "v1", "r0"]),
        ("#0", &["null", "#1"]),
        ("#1", &["null", "#0"]),
        ("v0", &["v1", "null"]),
        ("v1", &["v0"]),
        ("r0", &["null", "r1"]),
        ("r1", &["r0"]),
        ("t0", &["t1"]),
        ("t1", &["t0", "t2"]),
        ("free", &["mine", "other"]),
        ("mine", &["free", "other"]),
        ("other", &["free", "mine"]),
        ("yes", &["-", "no"]),
        ("no", &["-"]),
        ("done", &["-"]),
        (":01", &[":0", ":1"]),
        (":0:", &[":1:", ":n:"]),
        ("n0+0", &["n0+1", "n1+0", "0"]),
        ("n1+0", &["n0+0", "n1+1"]),
        ("less", &["atleast"]),
        ("atleast", &["less"]),
        ("differs", &["less"]),
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
    match word {
        "0" | "1" => forms.push(if word == "0" { "1" } else { "0" }.to_owned()),
        "0,1" => forms.extend(["0".to_owned(), "1".to_owned()]),
        _ => {}
    }
    forms
}

/// All lines that differ from this one in one fact.
pub fn variants(line: &str) -> Vec<String> {
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

/// Whether a certificate with one changed view is rejected at the view itself or where the view was
/// needed.
fn rejected_at_once(
    object: &Object,
    changed: &Certificate,
    (at, needed): (usize, Option<From>),
) -> bool {
    let pass = Pass::new(object, changed);
    let mut meets = |_: Option<usize>, state: &_| pass.index.covers(state);
    let mut rejects = |view: usize| {
        let mut noticed = Noticed::default();
        pass.own_steps(view, &mut noticed, &mut meets).is_err()
            || pass.others(view, &noticed, &mut meets).is_err()
    };
    if rejects(at) {
        return true;
    }
    match needed {
        Some(From::View(from)) => rejects(from),
        Some(From::Start) | None => false,
    }
}

/// A change that is accepted must leave a proof: the changed line says less than the old one did,
/// and the checker has just seen that this is enough.
#[test]
fn a_view_with_one_fact_changed_is_rejected_unless_it_says_less() {
    let (mut rejected, mut weaker) = (0, 0);
    for name in names().iter().filter(|n| long() || *n != "ccas") {
        let program = program(name);
        let Some(text) = proved(&program) else { continue };
        let whole = body(&text);
        let object = Object::of(&program).expect("in the class");
        let right = certificate::read(&text, &object).expect("readable");
        let needs = Needs::of(&Pass::new(&object, &right)).expect("accepted");
        let views: Vec<usize> = lines_of(&whole, "view ").collect();
        let sample = (views.len() / 40).max(stride(views.len(), 5));
        for (number, at) in views.iter().enumerate().step_by(sample) {
            for variant in variants(&whole[*at]) {
                let alone = sealed(&[&whole[..3], std::slice::from_ref(&variant)].concat());
                let Ok(alone) = certificate::read(&alone, &object) else {
                    rejected += 1;
                    continue;
                };
                let mut changed = right.clone();
                changed.views[number].0 = alone.views[0].0.clone();
                let mut lines = whole.clone();
                lines[*at] = variant;
                if rejected_at_once(&object, &changed, (number, needs.by[number]))
                    || certify(&program, &sealed(&lines)).is_err()
                {
                    rejected += 1;
                    continue;
                }
                let (new, old) = (&changed.views[number].0, &right.views[number].0);
                assert!(covers(new, old), "{name}: {}\nfor {}", lines[*at], whole[*at]);
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
    for name in ["two_lock_queue", "treiber", "lock_coupling", "hsy_stack"] {
        let program = program(name);
        let whole = body(&proved(&program).expect("it is proved"));
        let effects: Vec<usize> = lines_of(&whole, "effect ").collect();
        for at in effects.iter().step_by(stride(effects.len(), 10)) {
            let alone = |line: &String| [&whole[..3], std::slice::from_ref(line)].concat();
            let old = &read(&program, &alone(&whole[*at])).effects[0].0;
            for variant in variants(&whole[*at]).into_iter().step_by(if long() { 1 } else { 3 }) {
                let mut changed = whole.clone();
                changed[*at] = variant;
                if certify(&program, &sealed(&changed)).is_err() {
                    rejected += 1;
                    continue;
                }
                let new = &read(&program, &alone(&changed[*at])).effects[0].0;
                assert!(is_weaker(new, old), "{name}: {}\nfor {}", changed[*at], whole[*at]);
                weaker += 1;
            }
        }
    }
    eprintln!("effects: {rejected} rejected, {weaker} weaker and enough");
    assert!(rejected > 100 && weaker < rejected / 4);
}
