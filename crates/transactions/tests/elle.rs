//! The situations that the tests of Elle (jepsen-io/elle) are about, as small histories of our own,
//! with what the definitions of the levels say of them. Where Elle answers otherwise, the reason
//! stands there.
//!
//! Notation: `;` between transactions that overlap, `>` before those that are called after all
//! earlier ones returned; `a:` names a client (else each transaction has one of its own); `!`
//! aborted, `?` outcome unknown; lists `x+1` append, `x=12` read; registers `x:=1` write, `x==1`
//! read, `x==_` read of nothing.

use seriatim_transactions::{Checker, Level, Options, Standing, Transactions, read_str};
use std::fmt::Write;

/// A history, levels that hold, and levels that do not.
type Case = (&'static str, &'static str, &'static str);

const CASES: &[Case] = &[
    // Lists.
    ("x+1", "sser", ""),
    ("x=", "sser", ""),
    ("x+1; x=1", "sser", ""),
    ("x= > x+1 > x=1", "sser", ""),
    ("x+1; x+2; x=12", "sser", ""),
    ("x=; x+1; x+2", "sser", ""),
    ("z+1 x+1 y+1; x=1 y+2; y=12 z+3; z=13", "sser", ""),
    ("x+1 y+1; x+2 y+2; x=12 y=21", "", "pl-2"),
    ("!x+1; x=1", "", "pl-2"),
    ("!x+1; x=1 x+2; x=12", "", "pl-2"),
    ("!x+1; x=", "sser", ""),
    ("x+1 x+2; x=1", "", "pl-2"),
    ("x+1 x=1 x+2", "sser", ""),
    ("x+1 y=1; x+2 y+1; x=12 y=1", "", "pl-2"),
    ("x+1 y+1; x+2 y=; x=12", "pl-2 rc", "si ser"),
    ("x+1 y=; y+1 x=", "si pl-2", "ser"),
    ("x+1 > x+2 > x=1 > x=12", "ser si", "strong-si sser"),
    ("x+1 x+2; x=12 x+3 x=123", "sser", ""),
    ("x+1 x+2; x=12 x+3 x=12", "", "pl-2"),
    ("x+1 x+2; x=12 x+3 x=1", "", "pl-2"),
    ("x+1 x+2; x=12 x+3 x=1234; x+4", "", "pl-2"),
    ("x+3 x=", "", "pl-2"),
    ("x=1 x+1", "", "pl-2"),
    ("x+1 x=01 x+0", "", "pl-2"),
    // Elle calls two reads that differ *internal*. Read committed, by either definition, does not
    // speak of them.
    ("x= x=2; x+2", "pl-2 rc", "ra ser"),
    // What a transaction of unknown outcome read is not known, though it is recorded as nothing.
    ("?x+2 y=; x+1 y+1; x=12 y=1", "sser", ""),
    ("?x+1; x=1", "sser", ""),
    ("?x+1; x=", "sser", ""),
    ("x+1; x=11", "", "pl-2"),
    ("x+1; x+2; x=12; x=21", "", "pl-2"),
    ("x=5", "", "pl-2"),
    ("x+1; y+1; x=1 y=; x= y=1", "cc", "prefix si ser"),
    ("x+1 > x=1 x+2; x=1 x+3 > x=123", "pl-2", "si ser"),
    ("x+1 > x=", "ser", "sser strong-si"),
    ("a:x+1 > a:x=", "ser si", "strong-session-ser ryw cc"),
    ("a:x+1 > a:y+1; b:y=1 x=", "ser ra ryw mr mw wfr", "cc strong-session-ser"),
    ("x+1; x+2; x=12; a:x=1 > a:x=", "ser ryw mw wfr", "mr cc"),
    ("x+1 z+1; a:x=1 > a:z+2; z=21", "ser ryw mr mw", "wfr cc"),
    ("a:x+1 > a:x+2; x=21", "ser ryw mr wfr", "mw cc"),
    // Registers.
    ("x:=1; x==1", "sser", ""),
    // Elle finds nothing here, and says that it should.
    ("x:=1 > x==2", "", "pl-2"),
    ("!x:=2; x==2", "", "pl-2"),
    ("x:=2 x:=1; x==2", "", "pl-2"),
    ("x:=1 x:=2; x==2", "sser", ""),
    ("x:=1 y==1; y:=1 x==1", "", "pl-2"),
    ("x==_ y:=1; y==_ x:=1", "si", "ser"),
    ("x==0 x:=1; x==1 x:=0", "", "pl-2"),
    ("x==0 y:=1; y==1 x:=0", "", "pl-2"),
    ("x:=1; x==1 x:=2 x==1", "", "pl-2"),
    ("y:=2; y==2 x:=2 x==2 x:=1 x==1", "sser", ""),
    ("x==_ x:=1; x==_ x:=2", "prefix", "si ser"),
    ("x:=1 y:=1; x==1 y==_", "pl-2", "rc ra"),
    ("x:=1 y:=1; y==_ x==1", "rc", "ra"),
    // With the orders of commits that Elle can be told these are violations; without them, as
    // recorded, not.
    ("x==_ y:=2; x:=3 y:=4", "sser", ""),
    ("x:=1 y:=2 z:=3; x==1 y:=5; z==3 x:=4; z:=7 y:=8", "sser", ""),
    ("x:=1 y:=2; x:=2 y:=1", "sser", ""),
    // Elle infers a write cycle if told that keys are sequential; only then read uncommitted is
    // violated.
    ("a:x:=1 y:=2; b:x:=2 y:=1 > a:x==2; b:y==2", "ser pl-2", "strong-session-ser sser"),
    ("x:=1 > x==_", "ser", "sser"),
    ("x==_ y:=1; y==_ z:=1; z==_ x:=1", "si", "ser"),
    ("y:=2; x==_ y==_ x:=1; x==_ y==2", "si", "ser"),
    ("x:=1; x:=2; x==1; x==2; x==1 > x==1", "sser", ""),
    // Lists and registers in one history.
    ("x+1 r:=1; x=1 r==1", "sser", ""),
    ("x+1 r:=1; x=1 r==_", "pl-2", "ra ser"),
];

/// The history of a case, as events.
fn history(case: &str) -> Transactions {
    let mut text = String::new();
    let mut nameless = 100;
    for stage in case.split('>') {
        let mut ends = String::new();
        for txn in stage.split(';').map(str::trim) {
            let (client, txn) =
                match txn.split_once(':').filter(|(name, _)| *name == "a" || *name == "b") {
                    Some((name, rest)) => (if name == "a" { 0 } else { 1 }, rest.trim()),
                    None => {
                        nameless += 1;
                        (nameless, txn)
                    }
                };
            let (kind, txn) = match txn.chars().next() {
                Some('!') => ("fail", &txn[1..]),
                Some('?') => ("info", &txn[1..]),
                _ => ("ok", txn),
            };
            let ops: Vec<String> = txn.split_whitespace().map(op).collect();
            let value = ops.join(" ");
            writeln!(text, "{{:type :invoke, :process {client}, :value [{value}]}}").unwrap();
            writeln!(ends, "{{:type :{kind}, :process {client}, :value [{value}]}}").unwrap();
        }
        text += &ends;
    }
    read_str(case, &text).unwrap_or_else(|error| panic!("{case}: {error}"))
}

fn op(text: &str) -> String {
    let key = &text[..1];
    let or_nil = |value: &str| if value == "_" { "nil".to_owned() } else { value.to_owned() };
    if let Some(value) = text[1..].strip_prefix(":=") {
        format!("[:w {key} {value}]")
    } else if let Some(value) = text[1..].strip_prefix("==") {
        format!("[:r {key} {}]", or_nil(value))
    } else if let Some(value) = text[1..].strip_prefix('+') {
        format!("[:append {key} {value}]")
    } else {
        let items: Vec<String> = text[2..].chars().map(String::from).collect();
        format!("[:r {key} [{}]]", items.join(" "))
    }
}

#[test]
fn the_situations_of_elles_tests_get_the_verdicts_of_the_definitions() {
    for &(case, holding, failing) in CASES {
        let history = history(case);
        let mut checker = Checker::new(&history, &Options::default());
        let mut holds = |name: &str| {
            let level: Level = name.parse().unwrap_or_else(|error| panic!("{case}: {error}"));
            let answer = checker.check(level).unwrap_or_else(|defect| panic!("{case}: {defect}"));
            match answer.standing {
                Standing::Satisfied(_) => true,
                Standing::Violated(_) => false,
                Standing::Unknown(unknown) => panic!("{case}, {level}: {unknown:?}"),
            }
        };
        for name in holding.split_whitespace() {
            assert!(holds(name), "{case}: {name} should hold");
        }
        for name in failing.split_whitespace() {
            assert!(!holds(name), "{case}: {name} should not hold");
        }
    }
}
