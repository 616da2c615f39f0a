//! Which orderings are needed: each answer against explorations of the text with those orderings,
//! and every run that shows one to be needed, repeated from its file.

use crate::common::{algorithm, program};
use seriatim_explore::weak::{Alone, OnX86, Site, SiteKind, Wanted, Weakening, weaken};
use seriatim_explore::{
    MemoryModel, Options, Replay, Saved, Synchronise, Verdict, expectations, run,
};
use seriatim_lang::steps::Ordering;

/// A text with these orderings in the places of its own.
fn edited(source: &str, sites: &[Site], orders: &[Ordering]) -> String {
    let mut text = source.to_owned();
    // From the end, so that places before stay where they are; of a `cas`, the failure first.
    for (site, order) in sites.iter().zip(orders).rev() {
        let access = &text[site.span.start as usize..site.span.end as usize];
        let (start, end) = place_of_ordering(access, site.kind);
        let (start, end) = (site.span.start as usize + start, site.span.start as usize + end);
        if site.kind == SiteKind::Fence && *order == Ordering::Relaxed {
            text.replace_range(site.span.start as usize..site.span.end as usize, "");
        } else {
            text.replace_range(start..end, order.text());
        }
    }
    text
}

/// Where an access has its ordering: its last argument, that of a `cas` that succeeds the one
/// before.
fn place_of_ordering(access: &str, kind: SiteKind) -> (usize, usize) {
    let end = access.rfind(')').expect("an access with its ordering");
    let begin = |end: usize| access[..end].rfind([',', '(']).expect("an argument");
    let is_cas = kind == SiteKind::Update && access.starts_with("cas");
    let end = if is_cas { begin(end) } else { end };
    let begin = begin(end) + 1;
    (begin + access[begin..end].find(|c: char| c != ' ').expect("a word"), end)
}

fn verdict(source: &str, options: &Options) -> Verdict {
    run(&program(source), options).expect("it can be explored").verdict
}

fn holds(source: &str, options: &Options) -> bool {
    match verdict(source, options) {
        Verdict::Holds => true,
        Verdict::Violation(_) => false,
        Verdict::Unknown(why) => panic!("{why:?}"),
    }
}

/// The orderings of an algorithm of the library, within the bounds that it names first.
fn weakened(name: &str, jobs: usize) -> (String, Options, Weakening) {
    let source = algorithm(&format!("weak/{name}"));
    let program = program(&source);
    let first = expectations(&program).remove(0).options;
    let options = Options { jobs, ..first };
    let found = weaken(&program, &options, Wanted::One).expect("it can be explored");
    assert!(matches!(found.base.verdict, Verdict::Holds), "{name}: {:?}", found.base.verdict);
    (source, options, found)
}

/// What is said of each ordering, without the runs.
fn said(found: &Weakening) -> Vec<String> {
    let alone = |alone: &Alone| match alone {
        Alone::Weakest => "weakest".to_owned(),
        Alone::MayBe(order) => format!("may be {}", order.text()),
        Alone::Needed { with, run, on_x86 } => {
            format!("needed, with {} {:?}, {on_x86:?}", with.text(), run.kind)
        }
        Alone::Unknown(why) => why.text(),
    };
    let sites = found.sites.iter();
    sites.map(|w| format!("{}, minimum {}", alone(&w.alone), w.minimum.text())).collect()
}

#[test]
fn every_ordering_that_is_needed_has_a_run_that_is_accepted_again() {
    let mut needed = 0;
    for name in [
        "treiber",
        "michael_scott",
        "chase_lev",
        "seqlock",
        "hazard_pointer",
        "peterson",
        "spsc_ring",
        "double_checked",
        "clh_lock",
        "ticket_lock",
        "pointer_swap",
    ] {
        let (source, options, found) = weakened(name, 2);
        let sites: Vec<Site> = found.sites.iter().map(|w| w.site.clone()).collect();
        for (at, weakened) in found.sites.iter().enumerate() {
            assert!(weakened.is_minimal, "{name}: {weakened:?}");
            let Alone::Needed { with, run, on_x86 } = &weakened.alone else { continue };
            assert_ne!(*on_x86, OnX86::Unknown, "{name}: {weakened:?}");
            let mut orders: Vec<Ordering> = sites.iter().map(|site| site.order).collect();
            orders[at] = *with;
            let weaker = program(&edited(&source, &sites, &orders));
            let saved = Saved::of(&weaker, &options, &Default::default(), run).text();
            let saved = Saved::parse(&saved).expect("it was written by itself");
            match saved.replay(&weaker).expect("it can be repeated") {
                Replay::Fails(again) => assert_eq!(again.kind, run.kind, "{name}"),
                other => panic!("{name}: {:?} with {}: {other:?}", weakened.site, with.text()),
            }
            needed += 1;
        }
    }
    assert!(needed >= 40, "{needed} orderings are needed");
}

/// Nothing is left out here: each choice that the answers speak of is explored from its text.
#[test]
fn answers_are_those_of_explorations_one_by_one() {
    for name in ["treiber", "michael_scott", "seqlock", "hazard_pointer", "peterson", "clh_lock"] {
        let (source, options, found) = weakened(name, 1);
        assert_eq!(said(&found), said(&weakened(name, 2).2), "{name}, side by side");
        let sites: Vec<Site> = found.sites.iter().map(|w| w.site.clone()).collect();
        let given: Vec<Ordering> = sites.iter().map(|site| site.order).collect();
        let minimum: Vec<Ordering> = found.sites.iter().map(|w| w.minimum).collect();
        let with = |orders: &[Ordering], at: usize, order: Ordering| {
            let mut orders = orders.to_vec();
            orders[at] = order;
            edited(&source, &sites, &orders)
        };
        assert!(holds(&edited(&source, &sites, &minimum), &options), "{name}: {minimum:?}");
        for (at, weakened) in found.sites.iter().enumerate() {
            if let Some(below) = next_weaker(weakened.site.kind, weakened.minimum) {
                let weaker = with(&minimum, at, below);
                assert!(!holds(&weaker, &options), "{name}: {:?} in the minimum", weakened.site);
            }
            match &weakened.alone {
                Alone::Needed { with: order, on_x86, .. } => {
                    let weaker = with(&given, at, *order);
                    assert!(!holds(&weaker, &options), "{name}: {:?}", weakened.site);
                    let synchronise = Some(Synchronise::Anything);
                    let memory = Some(MemoryModel::Tso);
                    let on_tso = Options { memory, synchronise, ..options.clone() };
                    let expected =
                        if holds(&weaker, &on_tso) { OnX86::Holds } else { OnX86::Fails };
                    assert_eq!(*on_x86, expected, "{name}: {:?}", weakened.site);
                }
                Alone::MayBe(order) => {
                    assert!(holds(&with(&given, at, *order), &options), "{name}");
                }
                Alone::Weakest => assert_eq!(weakened.site.order, Ordering::Relaxed),
                Alone::Unknown(why) => panic!("{name}: {why:?}"),
            }
        }
    }
}

/// One that is weaker by a step; of several, the last.
fn next_weaker(kind: SiteKind, order: Ordering) -> Option<Ordering> {
    use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
    match (order, kind) {
        (Relaxed, _) => None,
        (Acquire | Release, _) => Some(Relaxed),
        (AcqRel, _) => Some(Release),
        (SeqCst, SiteKind::Load | SiteKind::Failure) => Some(Acquire),
        (SeqCst, SiteKind::Store) => Some(Release),
        (SeqCst, SiteKind::Update | SiteKind::Fence) => Some(AcqRel),
    }
}
