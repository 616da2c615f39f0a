//! The rules against their definition: happens-before and the orders of writes as relations, all of
//! them tried.

use super::{Atom, Effect, Event, What, acquires, is_possible, releases};
use crate::random::Random;
use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

const LOADS: [Ordering; 3] = [Relaxed, Acquire, SeqCst];
const STORES: [Ordering; 3] = [Relaxed, Release, SeqCst];
const UPDATES: [Ordering; 4] = [Relaxed, Acquire, Release, AcqRel];
const FENCES: [Ordering; 3] = [Acquire, Release, SeqCst];

type Relation = Vec<Vec<bool>>;

fn relation(size: usize, holds: impl Fn(usize, usize) -> bool) -> Relation {
    (0..size).map(|a| (0..size).map(|b| holds(a, b)).collect()).collect()
}

fn closed(mut relation: Relation) -> Relation {
    for via in 0..relation.len() {
        for from in 0..relation.len() {
            if relation[from][via] {
                let beyond = relation[via].clone();
                relation[from].iter_mut().zip(beyond).for_each(|(to, also)| *to |= also);
            }
        }
    }
    relation
}

fn effect(event: &Event) -> Option<Effect> {
    if let What::Access(effect) = event.what { Some(effect) } else { None }
}

fn read(event: &Event) -> Option<(Atom, u64, Ordering)> {
    match effect(event)? {
        Effect::Load(atom, value, order) | Effect::Update(atom, value, _, order) => {
            Some((atom, value, order))
        }
        _ => None,
    }
}

/// The first value counts as a relaxed write.
fn written(event: &Event) -> Option<(Atom, u64, Ordering)> {
    match effect(event)? {
        Effect::New(atom, value) => Some((atom, value, Relaxed)),
        Effect::Store(atom, value, order) | Effect::Update(atom, _, value, order) => {
            Some((atom, value, order))
        }
        _ => None,
    }
}

fn is_fence(event: &Event, which: fn(Ordering) -> bool) -> bool {
    matches!(effect(event), Some(Effect::Fence(order)) if which(order))
}

/// An execution with the write that each event reads.
struct Graph<'e> {
    events: &'e [Event],
    from: Vec<Option<usize>>,
}

impl Graph<'_> {
    fn is_before_in_thread(&self, a: usize, b: usize) -> bool {
        let (first, second) = (&self.events[a], &self.events[b]);
        let begins = match first.what {
            What::Spawn(child) => child == second.thread,
            _ => false,
        };
        let joins = match second.what {
            What::Join(child) => child == first.thread,
            _ => false,
        };
        let returns = matches!((first.what, second.what), (What::Return, What::Call));
        a < b && (first.thread == second.thread || begins || joins || returns)
    }

    /// Whether a write is the head of the release sequence that an event reads from.
    fn is_read_through_updates(&self, head: usize, reader: usize) -> bool {
        let mut at = self.from[reader];
        while let Some(write) = at {
            if write == head {
                return true;
            }
            at = self.from[write];
        }
        false
    }

    fn synchronises(&self, a: usize, b: usize) -> bool {
        let count = self.events.len();
        let same = |x: usize, y: usize| self.events[x].thread == self.events[y].thread;
        let releasing = |write: usize| {
            let Some((_, _, order)) = written(&self.events[write]) else { return false };
            a == write && releases(order)
                || a < write && same(a, write) && is_fence(&self.events[a], releases)
        };
        let acquiring = |reader: usize| {
            let Some((_, _, order)) = read(&self.events[reader]) else { return false };
            b == reader && acquires(order)
                || reader < b && same(reader, b) && is_fence(&self.events[b], acquires)
        };
        (0..count).any(|write| {
            releasing(write)
                && (0..count)
                    .any(|reader| acquiring(reader) && self.is_read_through_updates(write, reader))
        })
    }

    /// Whether some order of the writes of each atomic is coherent.
    fn is_coherent(&self) -> bool {
        let count = self.events.len();
        let happens_before = closed(relation(count, |a, b| {
            self.is_before_in_thread(a, b) || self.synchronises(a, b)
        }));
        (0..2).all(|atom| {
            let writes: Vec<usize> = (0..count)
                .filter(|at| written(&self.events[*at]).is_some_and(|(of, ..)| of == Atom(atom)))
                .collect();
            permutations(&writes[1..])
                .into_iter()
                .any(|rest| self.is_order(&[&writes[..1], &rest[..]].concat(), &happens_before))
        })
    }

    fn is_order(&self, writes: &[usize], happens_before: &Relation) -> bool {
        let count = self.events.len();
        let place = |write: usize| writes.iter().position(|at| *at == write);
        let follows = |a: usize, b: usize| match (place(a), place(b)) {
            (Some(a), Some(b)) => a < b,
            _ => false,
        };
        let reads = |a: usize, b: usize| self.from[b] == Some(a) && place(a).is_some();
        let from_read =
            |a: usize, b: usize| a != b && self.from[a].is_some_and(|write| follows(write, b));
        let coherence =
            closed(relation(count, |a, b| follows(a, b) || reads(a, b) || from_read(a, b)));
        let is_split = |update: usize| {
            place(update).is_some()
                && (0..count).any(|other| from_read(update, other) && follows(other, update))
        };
        (0..count).all(|a| {
            !coherence[a][a]
                && !is_split(a)
                && (0..count).all(|b| !(happens_before[a][b] && coherence[b][a]))
        })
    }
}

fn permutations(of: &[usize]) -> Vec<Vec<usize>> {
    if of.is_empty() {
        return vec![Vec::new()];
    }
    let with = |at: usize| {
        let mut rest = of.to_vec();
        let first = rest.remove(at);
        permutations(&rest).into_iter().map(move |rest| [vec![first], rest].concat())
    };
    (0..of.len()).flat_map(with).collect()
}

fn some_choice_is_coherent(events: &[Event], from: &mut Vec<Option<usize>>) -> bool {
    let at = from.len();
    let Some(event) = events.get(at) else {
        return Graph { events, from: from.clone() }.is_coherent();
    };
    let Some((atom, value, _)) = read(event) else {
        from.push(None);
        let found = some_choice_is_coherent(events, from);
        from.pop();
        return found;
    };
    (0..at).any(|write| {
        let fits = written(&events[write]).is_some_and(|(of, put, _)| (of, put) == (atom, value));
        from.push(Some(write));
        let found = fits && some_choice_is_coherent(events, from);
        from.pop();
        found
    })
}

/// Two atomics, three threads and the main one, and reads of anything that was written.
fn execution(random: &mut Random) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    let put = |events: &mut Vec<Event>, thread, what| events.push(Event { thread, what });
    for atom in 0..2 {
        put(&mut events, 0, What::Access(Effect::New(Atom(atom), 0)));
    }
    for thread in 1..4 {
        put(&mut events, 0, What::Spawn(thread));
    }
    let order =
        |random: &mut Random, orders: &[Ordering]| orders[random.between(0, orders.len() - 1)];
    for _ in 0..random.between(3, 8) {
        let thread = random.between(1, 3);
        let atom = Atom(u64::from(random.between(0, 4) == 0));
        let value = random.between(0, 2) as u64;
        let values: Vec<u64> = events
            .iter()
            .filter_map(written)
            .filter(|(of, ..)| *of == atom)
            .map(|(_, value, _)| value)
            .collect();
        let seen = values[random.between(0, values.len() - 1)];
        let what = match random.between(0, 12) {
            0..4 => What::Access(Effect::Load(atom, seen, order(random, &LOADS))),
            4..8 => What::Access(Effect::Store(atom, value, order(random, &STORES))),
            8..10 => What::Access(Effect::Update(atom, seen, value, order(random, &UPDATES))),
            10 => What::Access(Effect::Fence(order(random, &FENCES))),
            11 => What::Call,
            _ => What::Return,
        };
        put(&mut events, thread, what);
    }
    if random.between(0, 1) == 0 {
        for thread in 1..4 {
            put(&mut events, 0, What::Join(thread));
        }
        let value = random.between(0, 2) as u64;
        let written = |event: &Event| {
            written(event).is_some_and(|(of, put, _)| (of, put) == (Atom(0), value))
        };
        if events.iter().any(written) {
            put(&mut events, 0, What::Access(Effect::Load(Atom(0), value, Relaxed)));
        }
    }
    events
}

#[test]
fn possible_is_what_some_choice_of_reads_and_orders_allows() {
    let mut random = Random::of(7);
    let mut counts = [0; 2];
    for _ in 0..5_000 {
        let events = execution(&mut random);
        let expected = some_choice_is_coherent(&events, &mut Vec::new());
        assert_eq!(is_possible(&events), expected, "{events:#?}");
        counts[usize::from(expected)] += 1;
    }
    assert!(counts.iter().all(|count| *count > 500), "{counts:?}");
}

/// A thread reads what another one has overwritten before both were joined: the main thread must
/// not see it again.
#[test]
fn what_was_overwritten_before_a_join_is_not_read_after_it() {
    let word = Atom(1);
    let access = |thread, effect| Event { thread, what: What::Access(effect) };
    let event = |thread, what| Event { thread, what };
    let mut events = vec![
        access(0, Effect::New(word, 0)),
        event(0, What::Spawn(1)),
        event(0, What::Spawn(2)),
        access(1, Effect::Store(word, 2, Release)),
        access(2, Effect::Store(word, 1, Release)),
        access(2, Effect::Store(word, 2, Release)),
        access(1, Effect::Load(word, 1, Acquire)),
        event(0, What::Join(1)),
        event(0, What::Join(2)),
    ];
    assert!(is_possible(&events));
    events.push(access(0, Effect::Load(word, 1, Acquire)));
    assert!(!is_possible(&events));
}
