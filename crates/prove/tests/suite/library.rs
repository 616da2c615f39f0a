//! The correct algorithms of the library: which are proved, with which content; which are refused,
//! and why.

use crate::common::{algorithm, long, program};
use seriatim_prove::{Begin, Counted};
use seriatim_prove::{Obstacle, Options, Outcome, prove};

const ALL: Counted = Counted::Reachable;
const UNMARKED: Counted = Counted::ReachableUnmarked;

/// Name, root, and content of what is proved in a moment.
const QUICK: [(&str, &str, Begin, Counted); 49] = [
    ("treiber", "top", Begin::AtRoot, ALL),
    ("coarse_stack", "top", Begin::AtRoot, ALL),
    ("coarse_queue", "head", Begin::BehindDummy, ALL),
    ("two_lock_queue", "head", Begin::BehindDummy, ALL),
    ("michael_scott", "head", Begin::BehindDummy, ALL),
    ("dglm", "head", Begin::BehindDummy, ALL),
    ("lock_coupling", "head", Begin::AtRoot, ALL),
    ("vechev_dcas", "head", Begin::AtRoot, ALL),
    ("coarse_set", "head", Begin::AtRoot, ALL),
    ("hsy_stack", "top", Begin::AtRoot, ALL),
    ("spin_stack", "top", Begin::AtRoot, ALL),
    ("spin_queue", "head", Begin::BehindDummy, ALL),
    ("spin_set", "head", Begin::AtRoot, ALL),
    ("spin_coupling", "head", Begin::AtRoot, ALL),
    ("treiber_peek", "top", Begin::AtRoot, ALL),
    ("michael_scott_front", "head", Begin::BehindDummy, ALL),
    ("blocking_buffer", "head", Begin::BehindDummy, ALL),
    ("named_set", "head", Begin::AtRoot, ALL),
    ("treiber_statistics", "top", Begin::AtRoot, ALL),
    ("michael_scott_stamped", "head", Begin::BehindDummy, ALL),
    ("lock_coupling_signed", "head", Begin::AtRoot, ALL),
    ("owner_stack", "top", Begin::AtRoot, ALL),
    ("int_coupling", "head", Begin::AtRoot, ALL),
    ("owner_coupling", "head", Begin::AtRoot, ALL),
    ("ticket_stack", "top", Begin::AtRoot, ALL),
    ("ticket_queue", "head", Begin::BehindDummy, ALL),
    ("ticket_set", "head", Begin::AtRoot, ALL),
    ("hash_set", "table.0", Begin::AtRoot, ALL),
    ("hash_spin_set", "table.0", Begin::AtRoot, ALL),
    ("hash_set_counted", "table.0", Begin::AtRoot, ALL),
    ("coarse_map", "head", Begin::AtRoot, ALL),
    ("clh_stack", "top", Begin::AtRoot, ALL),
    ("clh_queue", "head", Begin::BehindDummy, ALL),
    ("clh_set", "head", Begin::AtRoot, ALL),
    ("mcs_stack", "top", Begin::AtRoot, ALL),
    ("mcs_queue", "head", Begin::BehindDummy, ALL),
    ("mcs_set", "head", Begin::AtRoot, ALL),
    ("treiber_versioned", "top.0", Begin::AtRoot, ALL),
    ("treiber_versioned_peek", "top.0", Begin::AtRoot, ALL),
    ("treiber_versioned_anew", "top.0", Begin::AtRoot, ALL),
    ("pool_versioned", "top.0", Begin::AtRoot, ALL),
    ("counted_map", "head", Begin::AtRoot, ALL),
    ("lock_coupling_map", "head", Begin::AtRoot, ALL),
    ("coarse_pair", "left, right", Begin::AtRoot, ALL),
    ("spin_accounts", "checking, savings", Begin::AtRoot, ALL),
    ("ticket_snapshot", "left, right", Begin::AtRoot, ALL),
    ("seqlock_cas", "left, right", Begin::AtRoot, ALL),
    ("seqlock_locked", "left, right", Begin::AtRoot, ALL),
    ("seqlock_statistics", "events, last", Begin::AtRoot, ALL),
];

/// The same for what takes longer: hindsight and descriptors.
const SLOW: [(&str, &str, Begin, Counted); 15] = [
    ("orvyy_set", "head", Begin::AtRoot, UNMARKED),
    ("lazy_list", "head", Begin::AtRoot, UNMARKED),
    ("vechev_cas", "head", Begin::AtRoot, UNMARKED),
    ("ccas", "cell.0", Begin::AtRoot, ALL),
    ("rdcss", "data.0", Begin::AtRoot, ALL),
    ("harris_michael", "head", Begin::AtRoot, UNMARKED),
    ("harris_set", "head", Begin::AtRoot, UNMARKED),
    ("spin_lazy_list", "head", Begin::AtRoot, UNMARKED),
    ("trylock_list", "head", Begin::AtRoot, UNMARKED),
    ("lazy_list_statistics", "head", Begin::AtRoot, UNMARKED),
    ("hash_lazy_list", "table.0", Begin::AtRoot, UNMARKED),
    ("hash_michael", "table.0", Begin::AtRoot, UNMARKED),
    ("lazy_map", "head", Begin::AtRoot, UNMARKED),
    ("hash_map", "table.0", Begin::AtRoot, UNMARKED),
    ("harris_michael_map", "head", Begin::AtRoot, UNMARKED),
];

#[test]
fn the_library_is_proved_with_the_content_that_the_literature_gives_it() {
    let slow = if long() { &SLOW[..] } else { &SLOW[..4] };
    for (name, root, begin, counted) in QUICK.iter().chain(slow) {
        let start = std::time::Instant::now();
        match prove(&program(&algorithm(name)), &Options::default()) {
            Outcome::Proved(proof) => {
                let (views, effects) = (proof.views.len(), proof.effects);
                eprintln!("{name}: {views} views, {effects} effects, {:?}", start.elapsed());
                assert_eq!(proof.root, *root, "{name}");
                assert_eq!(proof.abstraction.begin, *begin, "{name}");
                assert_eq!(proof.abstraction.counted, *counted, "{name}");
            }
            Outcome::Unknown(stuck) => panic!("{name}: {:#?}", stuck.told),
            Outcome::Refused(why) => panic!("{name} is refused: {why}"),
        }
    }
}

#[test]
fn what_is_outside_of_the_class_is_refused_with_the_reason() {
    let reasons = [
        ("peterson_lock", "structs or arrays"),
        ("treiber_hazard", "frees nodes"),
        ("bakery_lock", "apart by their order"),
        ("michael_scott_counted", "of no known use"),
        ("elimination_stack", "of no known use"),
        ("herlihy_wing", "exactly one struct with a link"),
    ];
    for (name, reason) in reasons {
        match prove(&program(&algorithm(name)), &Options::default()) {
            Outcome::Refused(why) => assert!(why.contains(reason), "{name}: {why}"),
            _ => panic!("{name} is not refused"),
        }
    }
}

#[test]
fn an_own_specification_is_not_taken_for_the_built_in_one_of_its_name() {
    let own = "spec stack { var n: int = 0 method push(v: value) { n = n + 1 } method pop() -> value? { return empty } }";
    let source = algorithm("treiber") + own;
    assert!(matches!(prove(&program(&source), &Options::default()), Outcome::Refused(_)));
}

#[test]
fn an_initialisation_that_chooses_is_refused() {
    let chosen = "\nvar lucky: bool = false\ninit { choose { lucky = true or lucky = false } }\n";
    let source = algorithm("treiber").replace("\nmethod push", &format!("{chosen}\nmethod push"));
    assert!(matches!(prove(&program(&source), &Options::default()), Outcome::Refused(_)));
}

/// Locks that are held by nobody in particular, a lock released by another operation, a list made a
/// ring: each must stop the proof, because the laws of the domain do not hold without it.
#[test]
fn what_breaks_the_laws_of_the_domain_stops_the_proof() {
    let queue = algorithm("two_lock_queue");
    let ring = queue.replace("  tail = n\n", "  tail = n\n  n.next = n\n");
    let foreign = queue.replace("  unlock(tail_lock)\n}", "  unlock(head_lock)\n}");
    let held = queue.replace("  unlock(tail_lock)\n}", "}") + "";
    let stuck = |source: &str| match prove(&program(source), &Options::default()) {
        Outcome::Unknown(stuck) => Some(stuck.obstacle),
        _ => None,
    };
    assert_eq!(stuck(&foreign), Some(Obstacle::ForeignUnlock));
    assert!(stuck(&ring).is_some());
    assert_eq!(stuck(&held), None, "the first enqueue holds the lock for ever: that is safe");
}

#[test]
fn a_stuck_proof_shows_the_step_and_the_view() {
    let source = algorithm("broken/treiber_pop_twice");
    let Outcome::Unknown(stuck) = prove(&program(&source), &Options::default()) else {
        panic!("a broken algorithm is not unknown");
    };
    assert_eq!(stuck.obstacle, Obstacle::IllegalChange);
    let told = stuck.told;
    assert!(told.known[0].starts_with("this thread runs pop"), "{told:#?}");
    let steps: Vec<String> = told.run.steps.iter().map(|s| s.accesses[0].text()).collect();
    assert!(steps.contains(&"call pop".to_owned()), "{steps:?}");
    assert!(steps.last().is_some_and(|last| last.ends_with("the proof stops here")), "{steps:?}");
    let before = &told.run.steps[steps.len() - 2];
    let memory = before.memory().expect("a view after each step");
    assert_eq!((&*memory.variables[0].name, memory.variables[0].node), ("top", Some(0)));
}

#[test]
fn a_limit_makes_the_verdict_unknown() {
    let options = Options { views: 10, ..Options::default() };
    let Outcome::Unknown(stuck) = prove(&program(&algorithm("treiber")), &options) else {
        panic!("ten views do not suffice");
    };
    assert!(stuck.limited);
}

/// Two contents are tried for lists with marks. A limit is not what the reader wants to see if
/// there is a check that fails, except where a wrong guess fails at once.
#[test]
fn of_several_contents_the_one_that_says_most_is_shown() {
    for (name, views, shown, limited) in [
        ("broken/orvyy_set_add_ignores_mark", 20_000, false, false),
        ("vechev_cas", 2_000, false, true),
        ("vechev_cas", 9_000, true, true),
    ] {
        let options = Options { views, ..Options::default() };
        let Outcome::Unknown(stuck) = prove(&program(&algorithm(name)), &options) else {
            panic!("{name} is not unknown");
        };
        assert_eq!((stuck.obstacle == Obstacle::Limit, stuck.limited), (shown, limited), "{name}");
        assert_eq!(stuck.told.others.len(), 1, "{:#?}", stuck.told.others);
    }
}

/// The short run gives up early, and so can only contradict.
#[test]
fn no_expectation_of_the_library_is_contradicted() {
    let views = if long() { 300_000 } else { 1_000 };
    let mut met = 0;
    for path in crate::common::library("algorithms") {
        let name = path.file_stem().unwrap_or_default().display().to_string();
        let source = algorithm(&name);
        let Some(expected) = source.lines().find_map(|l| l.strip_prefix("expect prove ")) else {
            continue;
        };
        let options = Options { views, ..Options::default() };
        let found = match prove(&program(&source), &options) {
            Outcome::Proved(_) => "holds",
            Outcome::Unknown(stuck) if !long() && stuck.limited => expected,
            Outcome::Unknown(_) => "unknown",
            Outcome::Refused(_) => "refused",
        };
        assert_eq!(found, expected.trim(), "{name}");
        met += 1;
    }
    assert!(met >= 30, "only {met} expectations");
}
