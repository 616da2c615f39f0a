//! What a forger might try, one test each. The list is that of `docs/certificates.md`; the checksum
//! at the end is always fixed.
//!
//! The last test is a fuzzer: random changes of certificates of all sorts, lines and words
//! exchanged, doubled, dropped and spliced in from other certificates. Whatever it makes, the
//! checker answers, without a panic and within its limits.

use crate::common::{body, long, made_out_for, program, proved, sealed};
use seriatim_certify::{Refusal, Unreadable, certify, certify_within};
use seriatim_lang::{Program, check};

/// A certificate that is accepted, to be changed.
struct Base {
    program: Program,
    lines: Vec<String>,
}

impl Base {
    fn of(name: &str) -> Base {
        let program = program(name);
        let lines = body(&proved(&program).expect("it is proved"));
        Base { program, lines }
    }

    /// A stack under a lock, the smallest proof with nodes and locks in it.
    fn stack() -> Base {
        Base::of("coarse_stack")
    }

    fn at(&self, sort: &str, having: &str) -> usize {
        let found = self.lines.iter().position(|l| l.starts_with(sort) && l.contains(having));
        found.unwrap_or_else(|| panic!("no {sort} with {having}"))
    }

    /// What is said of the certificate with a line changed.
    fn with(&self, at: usize, line: &str) -> Result<(), Refusal> {
        assert_ne!(self.lines[at], line, "nothing is changed");
        let mut lines = self.lines.clone();
        lines[at] = line.to_owned();
        certify(&self.program, &sealed(&lines)).map(drop)
    }

    /// What is said of the certificate with one part of a word replaced, in the first line that has
    /// it.
    fn replaced(&self, sort: &str, old: &str, new: &str) -> Result<(), Refusal> {
        let at = self.at(sort, old);
        self.with(at, &self.lines[at].replacen(old, new, 1))
    }

    /// What is said of the certificate with a word more at the end of a line.
    fn extended(&self, sort: &str, having: &str, more: &str) -> Result<(), Refusal> {
        let at = self.at(sort, having);
        self.with(at, &format!("{} {more}", self.lines[at]))
    }
}

fn unreadable(said: Result<(), Refusal>) {
    assert!(matches!(said, Err(Refusal::Text(Unreadable::Line(..)))), "{said:?}");
}

fn rejected(said: Result<(), Refusal>) {
    assert!(matches!(said, Err(Refusal::Proof(_))), "{said:?}");
}

#[test]
fn the_base_is_accepted() {
    let base = Base::stack();
    certify(&base.program, &sealed(&base.lines)).unwrap_or_else(|r| panic!("{r}"));
}

/// The word of a lock depends on who looks: equality of locks would hide a step from those who look
/// differently.
#[test]
fn equality_of_anything_but_references_is_no_fact() {
    let base = Base::of("two_lock_queue");
    let effect = base.at("effect", "head_lock=free tail_lock=free");
    let parts: Vec<&str> = base.lines[effect].split(" | ").collect();
    for (a, b) in [("head_lock", "tail_lock"), ("head", "tail_lock"), ("head_lock", "head_lock")] {
        for sign in ["==", "!="] {
            let mut changed = parts.clone();
            let outlook = format!("{} {a}{sign}{b}", parts[3]);
            changed[3] = &outlook;
            unreadable(base.with(effect, &changed.join(" | ")));
        }
    }
}

#[test]
fn a_lock_is_never_made_anothers() {
    let base = Base::stack();
    unreadable(base.replaced("effect", "guard=mine", "guard=other").and_then(|()| {
        let at = base.at("effect", "| guard=free");
        base.with(at, &base.lines[at].replace("| guard=free", "| guard=other"))
    }));
    unreadable(base.extended("effect", "top=", "guard=other"));
}

#[test]
fn a_store_that_changes_nothing_is_no_store() {
    let base = Base::stack();
    let at = base.at("effect", "top=p0");
    rejected(base.with(at, &format!("{} guard=mine", base.lines[at])));
}

#[test]
fn nothing_is_written_to_a_node_that_was_not_there() {
    let base = Base::stack();
    unreadable(base.extended("effect", "fresh:", "p0.link=null"));
    unreadable(base.extended("effect", "fresh:", "p0.mark=no"));
}

#[test]
fn nothing_is_written_twice() {
    let base = Base::stack();
    unreadable(base.extended("effect", "top=p0", "top=null"));
    let content = base.at("content", "");
    let mut lines = base.lines.clone();
    lines.insert(content, lines[content].clone());
    let said = certify(&base.program, &sealed(&lines)).map(drop);
    unreadable(said);
}

#[test]
fn no_word_stands_where_its_sort_has_no_meaning() {
    let base = Base::stack();
    for wrong in ["k=", "t1", "n0+0", "r0", "?", "v0", "0"] {
        unreadable(base.replaced("view", "| null free", &format!("| null {wrong}")));
        unreadable(base.replaced("view", "| null free", &format!("| {wrong} free")));
    }
    for wrong in ["#0", "#77", "mine", "k=", "r9", "?", "n0+0", "t0"] {
        unreadable(base.replaced("view", "push v0", &format!("push {wrong}")));
    }
    unreadable(base.replaced("view", "#0", "#4000000000"));
    let hsy = Base::of("hsy_stack");
    let shape = hsy.at("shape", "");
    let fields = hsy.lines[shape].split_once(',').expect("several fields").1.to_owned();
    for wrong in ["#0", "#77", "r0", "mine", "k<", "n0+0"] {
        unreadable(hsy.with(shape, &format!("shape {wrong},{fields}")));
    }
}

#[test]
fn claims_that_a_state_does_not_make_cover_nothing() {
    let base = Base::stack();
    // A view that has seen an empty stack, owns a node alone, holds a lock, or has taken effect,
    // where it has not.
    for (old, new) in [
        ("push v0 -", "push v0 done"),
        ("pop ? -", "pop ? yes"),
        (":public:", ":private:"),
        ("free |", "mine |"),
    ] {
        rejected(base.replaced("view", old, new));
    }
}

#[test]
fn a_view_or_an_effect_that_is_left_out_is_missed() {
    let base = Base::stack();
    for sort in ["view idle", "view 1", "effect"] {
        let mut lines = base.lines.clone();
        lines.remove(base.at(sort, ""));
        rejected(certify(&base.program, &sealed(&lines)).map(drop));
    }
    let without = |sort: &str| {
        let lines: Vec<String> =
            base.lines.iter().filter(|l| !l.starts_with(sort)).cloned().collect();
        certify(&base.program, &sealed(&lines)).map(drop)
    };
    rejected(without("effect"));
    rejected(without("view"));
    unreadable(without("content"));
}

#[test]
fn what_is_said_twice_counts_once() {
    let base = Base::stack();
    let doubled: Vec<String> = base
        .lines
        .iter()
        .flat_map(|l| vec![l.clone(); if l.starts_with("view") { 2 } else { 1 }])
        .collect();
    assert!(certify(&base.program, &sealed(&doubled)).is_ok());
}

#[test]
fn links_that_run_in_circles_or_out_of_the_view_prove_nothing() {
    let base = Base::stack();
    let at = base.at("view", ":public:null");
    rejected(base.with(at, &base.lines[at].replacen(":public:null", ":public:#0", 1)));
    unreadable(base.with(at, &base.lines[at].replacen(":public:null", ":public:#9", 1)));
    let out = base.with(at, &base.lines[at].replacen(":public:null", ":public:?", 1));
    rejected(out);
}

#[test]
fn numbers_too_large_for_their_place_are_unreadable() {
    let base = Base::of("cas_counter");
    for wrong in
        ["99999999999999999999", "-99999999999", "n0+99999999999", "n999+0", "n0-1", "0x1", "1e3"]
    {
        unreadable(base.replaced("view idle |", "n0+0", wrong));
    }
    let stack = Base::stack();
    for wrong in ["4294967295", "-1", "18446744073709551616", "0"] {
        let at = stack.at("view 1", "push");
        let (_, rest) = stack.lines[at].split_once(" push").expect("a push");
        unreadable(stack.with(at, &format!("view {wrong} push{rest}")));
    }
    let ccas = Base::of("ccas");
    let at = ccas.at("view", "| mine ");
    let line = &ccas.lines[at];
    let control = line.rsplit_once(' ').expect("words").0;
    unreadable(ccas.with(at, &format!("{control} 4294967295")));
}

#[test]
fn a_fact_about_numbers_that_no_state_implies_covers_nothing() {
    let base = Base::of("cas_counter");
    let at = base.at("view", "increment");
    let mut parts: Vec<String> = base.lines[at].split(" | ").map(str::to_owned).collect();
    let facts = parts.len() - 3;
    parts[facts] = "n0+0:less:n0+0".to_owned();
    rejected(base.with(at, &parts.join(" | ")));
    parts[facts] = "n0+0:less:mine".to_owned();
    unreadable(base.with(at, &parts.join(" | ")));
}

#[test]
fn huge_counts_are_refused_before_they_cost_anything() {
    let base = Base::stack();
    let view = base.at("view", ":public:null");
    let nodes = " <:0:public:null".repeat(10_000);
    unreadable(base.with(view, &format!("{}{nodes}", base.lines[view])));
    let effect = base.at("effect", "fresh:");
    let places = "effect ".to_owned() + &"old:<::?:- ".repeat(1_000);
    unreadable(base.with(effect, &base.lines[effect].replacen("effect ", &places, 1)));
    let hsy = Base::of("hsy_stack");
    let idle = hsy.at("view idle", "");
    let parts: Vec<&str> = hsy.lines[idle].split(" | ").collect();
    let records = "public:v0,t0 ".repeat(5_000);
    let line = [parts[0], parts[1], parts[2], &records, parts[4], parts[5]].join(" | ");
    unreadable(hsy.with(idle, &line));
}

/// Sixty segments that may be empty: two to the sixtieth cases, none of which is described.
#[test]
fn a_view_with_too_many_cases_is_rejected_soon() {
    let base = Base::stack();
    let link = |to: String| format!("<m:01:public:{to}:<m:01:optional:any");
    let nodes: Vec<String> =
        (1..61).map(|i| link(if i < 60 { format!("#{i}") } else { "null".to_owned() })).collect();
    let mut lines = base.lines.clone();
    lines.push(format!("view idle | #0 free | {}", nodes.join(" ")));
    rejected(certify(&base.program, &sealed(&lines)).map(drop));
}

#[test]
fn work_beyond_the_limit_is_a_reason_to_reject() {
    let base = Base::stack();
    rejected(certify_within(&base.program, &sealed(&base.lines), 100).map(drop));
}

#[test]
fn the_certificate_of_another_program_is_told_by_its_name_and_rejected_under_a_false_one() {
    let (stack, treiber) = (Base::stack(), Base::of("treiber"));
    let said = certify(&stack.program, &sealed(&treiber.lines));
    assert!(matches!(said, Err(Refusal::Text(Unreadable::OtherProgram(_)))), "{said:?}");
    assert!(
        certify(&stack.program, &made_out_for(&stack.program, &sealed(&treiber.lines))).is_err()
    );
}

/// The program is changed, and the certificate made out for the new one: in a step, in the
/// specification, in the initial state.
#[test]
fn a_changed_program_needs_another_proof() {
    let source = program("coarse_stack").source.to_string();
    let lines = Base::stack().lines;
    for (old, new) in [
        ("top = t.next", "top = t"),
        ("return t.val", "return empty"),
        ("object coarse_stack : stack", "object coarse_stack : queue"),
        ("lock(guard)", "if top == null { lock(guard) }"),
    ] {
        let changed = source.replacen(old, new, 1);
        assert_ne!(changed, source, "{old}");
        let changed =
            changed.replace("push", if new.contains("queue") { "enqueue" } else { "push" });
        let changed = changed.replace("pop", if new.contains("queue") { "dequeue" } else { "pop" });
        let Ok(program) = check(&changed) else { continue };
        let made_out = made_out_for(&program, &sealed(&lines));
        assert!(certify(&program, &made_out).is_err(), "accepted:\n{changed}");
    }
}

#[test]
fn another_content_than_the_one_proved_is_rejected() {
    let queue = Base::of("two_lock_queue");
    for other in ["content tail second all", "content head first all", "content tail first all"] {
        rejected(queue.with(2, other));
    }
    unreadable(queue.with(2, "content head_lock second all"));
    unreadable(queue.with(2, "content nothing second all"));
}

/// Random changes, with the checksum fixed, of certificates of all sorts.
#[test]
fn no_certificate_makes_the_checker_panic() {
    let names = [
        "coarse_stack",
        "two_lock_queue",
        "hsy_stack",
        "ccas_waits",
        "cas_counter",
        "int_register",
        "lock_coupling",
    ];
    let bases = names.map(Base::of);
    let mut dice = 0x2545_f491_4f6c_dd1du64;
    let mut roll = |count: usize| {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        (dice % count.max(1) as u64) as usize
    };
    let rounds = if long() { 30_000 } else { 600 };
    let (mut unreadable, mut rejected, mut accepted) = (0, 0, 0);
    for round in 0..rounds {
        let (base, other) = (&bases[round % bases.len()], &bases[roll(bases.len())]);
        let mut lines = base.lines.clone();
        for _ in 0..1 + roll(3) {
            let at = 2 + roll(lines.len() - 2);
            let from = if roll(6) == 0 { other } else { base };
            let foreign = from.lines[2 + roll(from.lines.len() - 2)].clone();
            match roll(6) {
                0 => drop(lines.remove(at)),
                1 => lines.insert(at, foreign),
                _ => {
                    let mut words: Vec<String> = lines[at].split(' ').map(str::to_owned).collect();
                    let others: Vec<&str> = foreign.split(' ').collect();
                    let word = roll(words.len());
                    match roll(4) {
                        0 => drop(words.remove(word)),
                        1 => words.insert(word, others[roll(others.len())].to_owned()),
                        _ => words[word] = others[roll(others.len())].to_owned(),
                    }
                    lines[at] = words.join(" ");
                }
            }
        }
        match certify_within(&base.program, &sealed(&lines), 20_000) {
            Ok(_) => accepted += 1,
            Err(Refusal::Proof(_)) => rejected += 1,
            Err(_) => unreadable += 1,
        }
    }
    eprintln!(
        "{rounds} certificates: {unreadable} unreadable, {rejected} rejected, {accepted} accepted"
    );
    assert!(unreadable > rounds / 20 && rejected > rounds / 10);
}
