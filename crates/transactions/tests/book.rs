//! The page of the book on isolation levels: each level's smallest counterexample violates it,
//! satisfies the levels below, and is drawn in the book as the tool draws it.

use seriatim_transactions::{
    Checker, Glyphs, Level, Options, Standing, Transactions, draw, read_str,
};

/// A level, a history that violates it, and a level that the history satisfies.
const CASES: [(Level, &str, Option<Level>); 13] = [
    (
        Level::StrictSerializable,
        "{:type :invoke, :process 0, :value [[:w x 1]]}
         {:type :ok, :process 0, :value [[:w x 1]]}
         {:type :invoke, :process 1, :value [[:r x nil]]}
         {:type :ok, :process 1, :value [[:r x nil]]}",
        Some(Level::StrongSessionSerializable),
    ),
    (Level::StrongSessionSerializable, "[x:=1] [x==?]", Some(Level::Serializable)),
    (
        Level::Serializable,
        "[x==? y:=1]\n---\n[y==? x:=1]",
        Some(Level::StrongSessionSnapshotIsolation),
    ),
    (Level::SnapshotIsolation, "[x==? x:=1]\n---\n[x==? x:=2]", Some(Level::Prefix)),
    (Level::Prefix, "[x:=1]\n---\n[y:=1]\n---\n[x==1 y==?]\n---\n[y==1 x==?]", Some(Level::Causal)),
    (Level::Causal, "[x:=1]\n---\n[x==1 y:=1]\n---\n[y==1 x==?]", Some(Level::ReadAtomic)),
    (Level::ReadAtomic, "[x:=1 y:=1]\n---\n[x==? y==1]", Some(Level::ReadCommitted)),
    (Level::ReadCommitted, "[x:=1 y:=1]\n---\n[y==1 x==?]", Some(Level::ReadCommittedAdya)),
    (Level::ReadCommittedAdya, "[y==1 x:=1]\n---\n[x==1 y:=1]", None),
    (Level::ReadYourWrites, "[x:=1] [x==?]", Some(Level::MonotonicReads)),
    (Level::MonotonicReads, "[x:=1]\n---\n[x==1] [x==?]", Some(Level::ReadYourWrites)),
    (
        Level::MonotonicWrites,
        "{:type :ok, :process 0, :value [[:append x 1]]}
         {:type :ok, :process 0, :value [[:append x 2]]}
         {:type :ok, :process 1, :value [[:r x [2 1]]]}",
        Some(Level::WritesFollowReads),
    ),
    (
        Level::WritesFollowReads,
        "{:type :ok, :process 0, :value [[:append x 1] [:append y 1]]}
         {:type :ok, :process 1, :value [[:r x [1]]]}
         {:type :ok, :process 1, :value [[:append y 2]]}
         {:type :ok, :process 2, :value [[:r y [2 1]]]}",
        Some(Level::MonotonicWrites),
    ),
];

fn drawing(history: &Transactions, level: Level) -> String {
    let mut checker = Checker::new(history, &Options::default());
    let answer = checker.check(level).expect("no defect");
    let Standing::Violated(violation) = answer.standing else {
        panic!("{level} is violated by its example");
    };
    draw(&violation, Glyphs::Unicode)
}

#[test]
fn the_book_shows_the_smallest_counterexample_of_each_level_as_the_tool_draws_it() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/transactions.md");
    let book = std::fs::read_to_string(path).expect("the page is in the book");
    let mut missing = String::new();
    for (level, text, below) in CASES {
        let history = read_str("example", text).expect("a history");
        let drawing = drawing(&history, level);
        if !book.contains(&drawing) {
            missing.push_str(&format!("{level}:\n{drawing}\n"));
        }
        let others = Level::ALL.into_iter().filter(|other| {
            level.is_session_guarantee() && other.is_session_guarantee() && *other != level
        });
        for below in below.into_iter().chain(others) {
            let mut checker = Checker::new(&history, &Options::default());
            let answer = checker.check(below).expect("no defect");
            assert!(matches!(answer.standing, Standing::Satisfied(_)), "{below} of {level}'s");
        }
    }
    assert!(missing.is_empty(), "the book should show, for\n{missing}");
}
