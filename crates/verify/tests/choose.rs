//! Who is asked, and what follows from the answers.

use seriatim_algorithms::algorithm;
use seriatim_explore::{Situation, follow, starting_bounds};
use seriatim_lang::{Program, check_with};
use seriatim_lists::{Equality, Outcome, Violation, parse_composition};
use seriatim_prove::prove;
use seriatim_spec::answer::{Evidence, Property, Standing};
use seriatim_verify::{Engine, Error, Lists, Options, Recorded, Verified, verify};
use std::collections::BTreeMap;
use std::time::Duration;

fn program(name: &str) -> Program {
    let source = algorithm(name).expect("it is in the library").source;
    let (_, constants) = starting_bounds(&check_with(source, &BTreeMap::new()).expect("right"));
    check_with(source, &constants).expect("the library is right")
}

fn asked(program: &Program, engine: Engine) -> Verified {
    verify(program, &Options { engine, ..Options::of(program) }).expect("it can be asked")
}

fn lists(compositions: &[&str]) -> Lists {
    let parsed = compositions.iter().map(|text| parse_composition(text).expect("a composition"));
    Lists { compositions: parsed.collect(), ..Lists::default() }
}

#[test]
fn each_engine_answers_with_its_own_evidence_and_all_together_with_the_strongest() {
    let stack = program("treiber");
    let evidence = |engine| {
        let verified = asked(&stack, engine);
        assert_eq!(verified.answer.exit_code(), 0);
        match verified.answer.standing(Property::Linearizable) {
            Standing::Holds { scope, evidence } => (scope.threads, evidence.clone()),
            other => panic!("{other:?}"),
        }
    };
    let (threads, explored) = evidence(Engine::Explore { budget: None });
    assert!(threads.is_some() && matches!(explored, Evidence::Exploration { .. }));
    for engine in [Engine::Prove, Engine::Auto] {
        let (threads, proved) = evidence(engine);
        assert!(threads.is_none() && matches!(proved, Evidence::Certificate { .. }));
    }
}

#[test]
fn a_run_that_goes_wrong_settles_the_question_and_monitors_reject_its_history() {
    let broken = program("broken/harris_michael_first_printing");
    let twice = Engine::Lists(lists(&["remove || remove"]));
    for engine in [Engine::Auto, Engine::Prove, Engine::Explore { budget: None }, twice] {
        let verified = asked(&broken, engine);
        assert_eq!(verified.answer.violated(), Some(Property::Linearizable));
        assert!(verified.run().is_some(), "every violation has a run");
        let recorded = verified.recorded(&broken).expect("a set");
        assert_eq!(recorded.verdict.word(), "violation");
        assert!(verified.certificate.is_none());
    }
}

/// The engine for lists and the monitors share nothing: whatever the one calls a wrong result or a
/// wrong set of elements, the others refute as a history.
#[test]
fn monitors_refute_what_goes_wrong_on_lists_with_elements() {
    let (mut results, mut elements) = (0, 0);
    for name in ["lazy_list_no_validation", "lazy_list_no_lock", "lock_coupling_flipped_contains"] {
        let broken = program(&format!("broken/{name}"));
        let verified = asked(&broken, Engine::Lists(Lists::all(&broken, &[2])));
        for found in verified.compositions.iter().flat_map(Outcome::counterexamples) {
            match found.violation {
                Violation::WrongResult => results += 1,
                Violation::WrongElements => elements += 1,
                _ => continue,
            }
            let recorded = Recorded::of_list(&broken, found).expect("a history of a set");
            assert_eq!(recorded.verdict.word(), "violation", "{name}: {found:?}");
        }
    }
    assert!(results > 0 && elements > 0, "{results} wrong results, {elements} wrong elements");
}

#[test]
fn what_is_not_proved_is_unknown_however_much_was_explored_and_says_where_the_proof_stands() {
    let lock = program("ticket_lock");
    let mut options = Options::of(&lock);
    options.bounds.limits.time = Some(Duration::from_secs(1));
    let verified = verify(&lock, &options).expect("it can be asked");
    assert_eq!(verified.answer.exit_code(), 3);
    assert!(verified.stuck.is_some() && verified.certificate.is_none());
    let explored = verified.explored.expect("the hunt").answer();
    assert_eq!(explored.standing(Property::Linearizable).word(), "holds");
}

#[test]
fn compositions_hold_together_only_if_each_of_them_holds() {
    let set = program("broken/harris_michael_first_printing");
    let [right, wrong] = ["add || contains", "remove || remove"];
    let word = |compositions: &[&str]| {
        let verified = asked(&set, Engine::Lists(lists(compositions)));
        assert_eq!(verified.compositions.len(), compositions.len());
        verified.answer.standing(Property::Linearizable).word()
    };
    assert_eq!(word(&[right]), "holds");
    assert_eq!(word(&[right, right]), "holds");
    assert_eq!(word(&[right, wrong]), "VIOLATED");
    assert_eq!(word(&[wrong, right]), "VIOLATED");
    let nothing = Options { engine: Engine::Lists(lists(&[])), ..Options::default() };
    assert_eq!(verify(&set, &nothing).err(), Some(Error::NothingToCompose));
}

/// Two removals may leave a marked node in Michael's list: the elements are correct, the list is
/// another one.
#[test]
fn comparing_lists_is_a_stronger_question_than_comparing_their_elements() {
    let set = program("harris_michael");
    for (equality, word) in [(Equality::Elements, "holds"), (Equality::List, "VIOLATED")] {
        let asks = Lists { equality, ..lists(&["remove || remove"]) };
        let answer = asked(&set, Engine::Lists(asks)).answer;
        assert_eq!(answer.standing(Property::Linearizable).word(), word);
        assert_eq!(answer.standing(Property::FaultFree).word(), "holds");
    }
}

#[test]
fn bounds_are_raised_for_lock_freedom_too() {
    let source = algorithm("treiber").expect("it is in the library").source;
    let alone = "client alone { thread a { push(any); pop() } }";
    let stack =
        seriatim_lang::check(&source.replacen("\nexpect", &format!("\n{alone}\nexpect"), 1));
    let stack = stack.expect("a client may stand before the expectations");
    let engine = Engine::Explore { budget: Some(Duration::from_secs(60)) };
    let mut options = Options { engine, ..Options::of(&stack) };
    options.bounds.mode = seriatim_explore::Mode::Progress(seriatim_explore::Guarantee::LockFree);
    options.bounds.threads = 1;
    options.bounds.client = Some("alone".to_owned());
    let growth = verify(&stack, &options).expect("it can be asked").growth.expect("rounds");
    assert!(growth.last.is_none(), "one thread is soon explored: then there is nothing to raise");
    assert!(growth.covered.len() > 1);
    for round in growth.covered {
        let answer = round.answer();
        assert_eq!(answer.standing(Property::LockFree).word(), "holds");
        assert_eq!(answer.standing(Property::Linearizable), &Standing::NotAsked);
    }
}

#[test]
fn engines_that_know_no_orderings_refuse_weaker_ones() {
    let strong = "object o : stack
struct Node { val: value, next: Node? }
var top: Node? = null
method push(v: value) {
  let n = new Node { val: v, next: null }
  loop {
    let t = load(top, seqcst)
    n.next = t
    if cas(top, t, n) { return }
  }
}
method pop() -> value? {
  loop {
    let t = top
    if t == null { return empty }
    let s = t.next
    if cas(top, t, s) { return t.val }
  }
}
expect explore(threads: 2, capacity: 2) holds
";
    let proved = |source: &str| {
        let program = seriatim_lang::check(source).expect("a program");
        let mut options = Options { engine: Engine::Prove, ..Options::of(&program) };
        // Whoever refuses does so at once; the hunt beside it would go on for long.
        options.bounds.limits.time = Some(Duration::from_secs(3));
        verify(&program, &options).expect("an answer")
    };
    let certificate = proved(strong).certificate.expect("it is proved");
    for (from, to) in [
        ("load(top, seqcst)", "load(top, relaxed)"),
        ("cas(top, t, n)", "cas(top, t, n, release)"),
        ("struct Node { val", "struct Node { plain val"),
        ("    n.next = t\n", "    n.next = t\n    fence(release)\n"),
    ] {
        let weak = strong.replacen(from, to, 1);
        assert_ne!(weak, strong);
        assert!(proved(&weak).certificate.is_none(), "{to}");
        let program = seriatim_lang::check(&weak).expect("a program");
        assert!(seriatim_certify::certify(&program, &certificate).is_err(), "{to}");
    }
}

/// The trail on which a proof gets stuck, followed by runs within the bounds of the file.
fn followed(name: &str) -> Situation {
    let program = program(name);
    let seriatim_prove::Outcome::Unknown(stuck) = prove(&program, &Default::default()) else {
        panic!("the proof of {name} gets stuck");
    };
    let bounds = Options::of(&program).bounds;
    let found = follow(&program, &bounds, &stuck.told.run).expect("it can be asked");
    found.expect("there is something to follow")
}

#[test]
fn the_trail_of_a_stuck_proof_leads_to_a_wrong_run_or_says_whether_threads_come_there() {
    for broken in ["cas_counter_lost_update", "dglm_no_next_check", "lazy_list_no_validation"] {
        let Situation::Wrong(outcome) = followed(&format!("broken/{broken}")) else {
            panic!("{broken} goes wrong on the way");
        };
        assert_eq!(outcome.answer().violated(), Some(Property::Linearizable), "{broken}");
    }
    // An enqueue that has linked its node is still under way: real, and right.
    assert!(matches!(followed("michael_scott_empty_by_tail"), Situation::Met { .. }));
    // Its client never asks for a lock that it has, which the proof does not know.
    let Situation::NotMet { whole: true, .. } = followed("ticket_lock") else {
        panic!("nobody locks twice");
    };
    // Whoever was unlinked was marked before, and is not validated.
    let Situation::NotMet { followed, .. } = followed("lazy_list_unlink_first") else {
        panic!("no key is added behind a node that is gone");
    };
    assert!(followed > 5, "runs follow the walk and the locks");
}

#[test]
fn a_stuck_proof_says_whether_threads_come_to_its_place() {
    let verified = asked(&program("ticket_lock"), Engine::Prove);
    let situation = verified.stuck.and_then(|stuck| stuck.situation).expect("it was followed");
    assert!(situation.contains("this thread with a call of acquire"), "{situation}");

    // The hunt sees one thread and finds nothing; the trail is followed by two.
    let source = "object o : counter\nvar n: int = 0\n\
        method increment() -> int { let seen = n\nn = seen + 1\nreturn seen }";
    let program = check_with(source, &BTreeMap::new()).expect("right");
    let mut options = Options { engine: Engine::Prove, ..Options::of(&program) };
    options.bounds.threads = 1;
    let verified = verify(&program, &options).expect("it can be asked");
    assert_eq!(verified.answer.violated(), Some(Property::Linearizable));
    assert_eq!(verified.run().map(|run| run.threads), Some(2));
}
