//! The litmus tests of the literature, each with what the three models say.

use super::program::{Do, Threads, outcomes, results};
use Ordering::{AcqRel as Ar, Acquire as Acq, Relaxed as Rlx, Release as Rel, SeqCst as Sc};
use seriatim_explore::{MemoryModel, Reductions};
use seriatim_lang::steps::Ordering;

/// A test: its name, its threads, what the reads give, what the variables hold at the end, and
/// whether RC20, TSO and RC11 (PLDI 2017) allow it. Sequential consistency allows none of them.
struct Test {
    name: String,
    threads: Threads,
    reads: Vec<(usize, usize, i32)>,
    ends: Vec<(usize, i32)>,
    rc20: bool,
    tso: bool,
    rc11: bool,
}

fn r(x: usize, o: Ordering) -> Do {
    Do::Read(x, o)
}

fn w(x: usize, v: i32, o: Ordering) -> Do {
    Do::Write(x, v, o)
}

fn f(o: Ordering) -> Do {
    Do::Fence(o)
}

#[derive(Default)]
struct Table(Vec<Test>);

impl Table {
    fn add(
        &mut self,
        name: &str,
        threads: Threads,
        reads: &[(usize, usize, i32)],
        ends: &[(usize, i32)],
        [rc20, tso, rc11]: [bool; 3],
    ) {
        let (name, reads, ends) = (name.to_owned(), reads.to_vec(), ends.to_vec());
        self.0.push(Test { name, threads, reads, ends, rc20, tso, rc11 });
    }
}

/// An instruction between two others, if there is one.
fn around(first: Do, middle: Option<Ordering>, last: Do) -> Vec<Do> {
    [Some(first), middle.map(Do::Fence), Some(last)].into_iter().flatten().collect()
}

fn store_buffering(table: &mut Table) {
    let both = [(0, 0, 0), (1, 0, 0)];
    for (name, write, read, fence, rc20, tso) in [
        ("SB rlx", Rlx, Rlx, None, true, true),
        ("SB rel/acq", Rel, Acq, None, true, true),
        ("SB sc", Sc, Sc, None, false, false),
        ("SB rlx+scfence", Rlx, Rlx, Some(Sc), false, false),
        ("SB rlx+acqrel fence", Rlx, Rlx, Some(Ar), true, true),
        ("SB sc store, acq load", Sc, Acq, None, true, false),
        ("SB rel store, sc load", Rel, Sc, None, true, true),
    ] {
        let side = |a, b| around(w(a, 1, write), fence, r(b, read));
        table.add(name, vec![side(0, 1), side(1, 0)], &both, &[], [rc20, tso, rc20]);
    }
    let sc = vec![w(1, 1, Sc), r(0, Sc)];
    let left = |write, read| vec![w(0, 1, write), r(1, read)];
    table.add("SB+3sc+rel", vec![left(Rel, Sc), sc.clone()], &both, &[], [true; 3]);
    table.add("SB+3sc+acq", vec![left(Sc, Acq), sc], &both, &[], [true, false, true]);
    let fenced = vec![w(1, 1, Rlx), f(Sc), r(0, Rlx)];
    table.add("SB+2sc+scf", vec![left(Sc, Sc), fenced.clone()], &both, &[], [false; 3]);
    let one = vec![vec![w(1, 1, Rlx), r(0, Rlx)], vec![w(0, 1, Rlx), f(Sc), r(1, Rlx)]];
    table.add("SB scfence one side", one, &both, &[], [true; 3]);
    let update = |a, b| vec![w(a, 1, Rlx), Do::Add(2, 1, Ar), r(b, Rlx)];
    let reads = [(0, 1, 0), (1, 1, 0)];
    table.add("SB with RMW fences", vec![update(0, 1), update(1, 0)], &reads, &[], [false; 3]);
    let swap = |a, b| vec![Do::Swap(a, 1, Ar), r(b, Acq)];
    let dekker = vec![swap(0, 1), swap(1, 0)];
    table.add("Dekker xchg acqrel", dekker, &reads, &[], [true, false, true]);
}

fn message_passing(table: &mut Table) {
    let stale = [(1, 0, 1), (1, 1, 0)];
    for (name, write, read, allowed) in [
        ("MP rlx", Rlx, Rlx, true),
        ("MP rel/acq", Rel, Acq, false),
        ("MP rel/rlx", Rel, Rlx, true),
        ("MP rlx/acq", Rlx, Acq, true),
        ("MP sc/sc", Sc, Sc, false),
    ] {
        let threads = vec![vec![w(0, 1, Rlx), w(1, 1, write)], vec![r(1, read), r(0, Rlx)]];
        table.add(name, threads, &stale, &[], [allowed, false, allowed]);
    }
    let writer = |fence, order| match fence {
        true => vec![w(0, 1, Rlx), f(Rel), w(1, 1, order)],
        false => vec![w(0, 1, Rlx), w(1, 1, order)],
    };
    let reader = |fence, order| match fence {
        true => vec![r(1, order), f(Acq), r(0, Rlx)],
        false => vec![r(1, order), r(0, Rlx)],
    };
    let no = [false; 3];
    table.add("MP relf+acqf", vec![writer(true, Rlx), reader(true, Rlx)], &stale, &[], no);
    table.add("MP relf+acq", vec![writer(true, Rlx), reader(false, Acq)], &stale, &[], no);
    table.add("MP rel+acqf", vec![writer(false, Rel), reader(true, Rlx)], &stale, &[], no);
    let scfence = vec![vec![w(0, 1, Rlx), f(Sc), w(1, 1, Rlx)], reader(false, Acq)];
    table.add("MP scfence+acq", scfence, &stale, &[], no);
    let same = vec![vec![w(0, 1, Rlx), w(1, 1, Rel), w(1, 2, Rlx)], reader(false, Acq)];
    let second = [(1, 0, 2), (1, 1, 0)];
    table.add("MP relseq same-thread rlx", same, &second, &[], [true, false, false]);
    let third = [(2, 0, 2), (2, 1, 0)];
    let update = vec![Do::Cas(1, 1, 2, Rlx, Rlx)];
    let threads = vec![writer(false, Rel), update, reader(false, Acq)];
    table.add("MP relseq via rlx RMW", threads, &third, &[], no);
    let other = vec![r(1, Rlx), Do::Only(1), w(1, 2, Rlx)];
    let threads = vec![writer(false, Rel), other, reader(false, Acq)];
    table.add("MP broken relseq", threads, &third, &[], [true, false, true]);
}

fn many_threads(table: &mut Table) {
    let split = [(2, 0, 1), (2, 1, 0), (3, 0, 1), (3, 1, 0)];
    for (name, write, read, fence, rc20, rc11) in [
        ("IRIW rlx", Rlx, Rlx, None, true, true),
        ("IRIW ra", Rel, Acq, None, true, true),
        ("IRIW sc", Sc, Sc, None, false, false),
        ("IRIW rel+scloads", Rel, Sc, None, false, true),
        ("IRIW scstore+acq", Sc, Acq, None, true, true),
        ("IRIW rlx+scfences", Rlx, Rlx, Some(Sc), false, false),
    ] {
        let reader = |a, b| around(r(a, read), fence, r(b, read));
        let threads = vec![vec![w(0, 1, write)], vec![w(1, 1, write)], reader(0, 1), reader(1, 0)];
        table.add(name, threads, &split, &[], [rc20, false, rc11]);
    }
    for (name, write, read, allowed) in [("WRC rlx", Rlx, Rlx, true), ("WRC ra", Rel, Acq, false)] {
        let middle = vec![r(0, read), w(1, 1, write)];
        let threads = vec![vec![w(0, 1, Rlx)], middle, vec![r(1, read), r(0, Rlx)]];
        let reads = [(1, 0, 1), (2, 0, 1), (2, 1, 0)];
        table.add(name, threads, &reads, &[], [allowed, false, allowed]);
    }
    let reads = [(1, 0, 1), (1, 1, 0), (2, 0, 0)];
    for (name, write, read, allowed) in [("RWC ra", Rel, Acq, true), ("RWC sc", Sc, Sc, false)] {
        let threads = vec![
            vec![w(0, 1, write)],
            vec![r(0, read), r(1, read)],
            vec![w(1, 1, write), r(0, read)],
        ];
        table.add(name, threads, &reads, &[], [allowed; 3]);
    }
    let last = vec![w(1, 1, Rlx), f(Sc), r(0, Rlx)];
    let syncs = vec![vec![w(0, 1, Rlx)], vec![r(0, Rlx), f(Sc), r(1, Rlx)], last.clone()];
    table.add("RWC+syncs", syncs, &reads, &[], [false; 3]);
    let threads = vec![vec![w(0, 1, Rlx), w(2, 1, Rel)], vec![r(2, Acq), f(Sc), r(1, Rlx)], last];
    table.add("W+RWC", threads, &reads, &[], [false; 3]);
    let threads = vec![
        vec![w(0, 1, Sc), w(1, 1, Rel)],
        vec![Do::Add(1, 1, Sc), r(1, Rlx)],
        vec![w(1, 3, Sc), r(0, Sc)],
    ];
    let reads = [(1, 0, 1), (1, 1, 3), (2, 0, 0)];
    table.add("Z6.U", threads, &reads, &[], [false, false, true]);
}

fn coherence(table: &mut Table) {
    for (name, write, read) in [("LB rlx", Rlx, Rlx), ("LB ra", Rel, Acq), ("LB sc", Sc, Sc)] {
        let threads = vec![vec![r(0, read), w(1, 1, write)], vec![r(1, read), w(0, 1, write)]];
        table.add(name, threads, &[(0, 0, 1), (1, 0, 1)], &[], [false; 3]);
    }
    for (name, order, allowed) in
        [("2+2W rlx", Rlx, true), ("2+2W rel", Rel, true), ("2+2W sc", Sc, false)]
    {
        let threads =
            vec![vec![w(0, 1, order), w(1, 2, order)], vec![w(1, 1, order), w(0, 2, order)]];
        table.add(name, threads, &[], &[(0, 1), (1, 1)], [allowed, false, allowed]);
    }
    let fenced = |a, b| vec![w(a, 1, Rlx), f(Sc), w(b, 2, Rlx)];
    table.add("2+2W scf", vec![fenced(0, 1), fenced(1, 0)], &[], &[(0, 1), (1, 1)], [false; 3]);
    let threads = vec![vec![w(0, 1, Rel), w(1, 2, Sc)], vec![w(1, 1, Sc), w(0, 2, Sc)]];
    table.add("2+2W 3sc+rel1", threads, &[], &[(0, 1), (1, 1)], [true, false, true]);
    for (name, order) in [("CoRR rlx", Rlx), ("CoRR sc", Sc)] {
        let threads = vec![vec![w(0, 1, order), w(0, 2, order)], vec![r(0, order), r(0, order)]];
        table.add(name, threads, &[(1, 0, 2), (1, 1, 1)], &[], [false; 3]);
    }
    let twice = vec![r(0, Rlx), r(0, Rlx)];
    let threads = vec![vec![w(0, 1, Rlx)], vec![w(0, 2, Rlx)], twice.clone(), twice];
    let reads = [(2, 0, 1), (2, 1, 2), (3, 0, 2), (3, 1, 1)];
    table.add("CoRR2 rlx", threads, &reads, &[], [false; 3]);
    let threads = vec![vec![w(0, 1, Rlx), r(0, Rlx)], vec![w(0, 2, Rlx)]];
    table.add("CoWR rlx", threads, &[(0, 0, 2)], &[(0, 1)], [false; 3]);
    let threads = vec![vec![r(0, Rlx), w(0, 1, Rlx)], vec![w(0, 2, Rlx)]];
    table.add("CoRW rlx", threads, &[(0, 0, 2)], &[(0, 2)], [false; 3]);
    for (name, write, read, allowed) in [("S rlx", Rlx, Rlx, true), ("S ra", Rel, Acq, false)] {
        let threads = vec![vec![w(0, 2, Rlx), w(1, 1, write)], vec![r(1, read), w(0, 1, Rlx)]];
        table.add(name, threads, &[(1, 0, 1)], &[(0, 2)], [allowed, false, allowed]);
    }
    for (name, write, read, allowed) in [("R ra", Rel, Acq, true), ("R sc", Sc, Sc, false)] {
        let threads = vec![vec![w(0, 1, write), w(1, 1, write)], vec![w(1, 2, write), r(0, read)]];
        table.add(name, threads, &[(1, 0, 0)], &[(1, 2)], [allowed; 3]);
    }
    let add = vec![Do::Add(0, 1, Rlx)];
    let threads = vec![add.clone(), add];
    table.add("2 FADD rlx", threads, &[(0, 0, 0), (1, 0, 0)], &[], [false; 3]);
}

impl Test {
    fn words(&self) -> usize {
        let word = |i: &Do| match i {
            Do::Read(x, _) | Do::Write(x, ..) | Do::Swap(x, ..) => x + 1,
            Do::Add(x, ..) | Do::Cas(x, ..) => x + 1,
            Do::Fence(_) | Do::Only(_) | Do::Plain(_) => 0,
        };
        self.threads.iter().flatten().map(word).max().unwrap_or(0)
    }

    /// Whether a model has the outcome.
    fn is_allowed(&self, model: MemoryModel, reductions: Reductions) -> bool {
        let all = outcomes(&self.threads, self.words(), model, reductions);
        // A thread without reads gives one result that means nothing.
        let width = |thread: &Vec<Do>| results(thread).max(1);
        let first = |t: usize| self.threads[..t].iter().map(width).sum::<usize>();
        let ends = first(self.threads.len());
        all.iter().any(|outcome| {
            self.reads.iter().all(|(t, read, value)| outcome[first(*t) + read] == *value)
                && self.ends.iter().all(|(x, value)| outcome[ends + x] == *value)
        })
    }
}

#[test]
fn litmus_tests_are_decided_as_the_literature_says() {
    let mut table = Table::default();
    store_buffering(&mut table);
    message_passing(&mut table);
    many_threads(&mut table);
    coherence(&mut table);
    assert_eq!(table.0.len(), 56);
    let plain = Reductions { fusion: false, dead_fields: false, ..Reductions::ALL };
    for test in &table.0 {
        for reductions in [Reductions::ALL, plain] {
            let allowed = |model| test.is_allowed(model, reductions);
            assert_eq!(allowed(MemoryModel::Rc20), test.rc20, "{} on rc20", test.name);
            assert_eq!(allowed(MemoryModel::Tso), test.tso, "{} on tso", test.name);
            assert!(!allowed(MemoryModel::Sc), "{} on sc", test.name);
        }
    }
    let differing: Vec<&str> =
        table.0.iter().filter(|t| t.rc20 != t.rc11).map(|t| &*t.name).collect();
    assert_eq!(differing, ["MP relseq same-thread rlx", "IRIW rel+scloads", "Z6.U"]);
}
