//! Random programs: what the models do step by step, and what the axioms say of execution graphs.

use super::program::{Do, Threads, outcomes};
use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use seriatim_explore::weak::graph::{Graph, GraphEvent, Kind};
use seriatim_explore::{MemoryModel, Reductions};
use seriatim_lang::steps::Ordering;
use seriatim_testing::Random;
use std::collections::BTreeSet;

const WORDS: usize = 2;

/// A program of two or three threads that write different values.
fn program(random: &mut Random) -> Threads {
    let mut value = 0;
    let count = 2 + random.index(2);
    let thread = |random: &mut Random, value: &mut i32| {
        let length = if count == 3 { [1, 2, 2, 3] } else { [2, 3, 3, 2] };
        let length = length[random.index(4)];
        (0..length).map(|_| instruction(random, value)).collect()
    };
    (0..count).map(|_| thread(random, &mut value)).collect()
}

fn instruction(random: &mut Random, value: &mut i32) -> Do {
    let x = random.index(WORDS);
    let kind = random.index(20);
    let mut order = |all: &[Ordering]| all[random.index(all.len())];
    if kind < 8 && *value < 6 {
        *value += 1;
        return Do::Write(x, *value, order(&[Relaxed, Release, SeqCst, SeqCst]));
    }
    if kind < 15 {
        return Do::Read(x, order(&[Relaxed, Acquire, SeqCst, SeqCst]));
    }
    if kind < 17 && *value < 6 {
        *value += 1;
        return Do::Swap(x, *value, order(&Ordering::ALL));
    }
    Do::Fence(order(&[Acquire, Release, AcqRel, SeqCst, SeqCst]))
}

/// All outcomes by the axioms: every choice of reads-from and of modification order is tried.
fn by_axioms(threads: &Threads, model: MemoryModel) -> BTreeSet<Vec<i32>> {
    let mut graph = Graph { modification: vec![vec![]; WORDS], ..Graph::default() };
    let mut values = vec![0; WORDS];
    for word in 0..WORDS {
        let (kind, order) = (Kind::Write, Some(Relaxed));
        graph.events.push(GraphEvent { thread: None, kind, word: Some(word), order });
    }
    for (thread, code) in threads.iter().enumerate() {
        for instruction in code {
            let (kind, word, value, order) = match *instruction {
                Do::Read(x, o) => (Kind::Read, Some(x), 0, o),
                Do::Write(x, v, o) => (Kind::Write, Some(x), v, o),
                Do::Swap(x, v, o) => (Kind::Update, Some(x), v, o),
                Do::Fence(o) => (Kind::Fence, None, 0, o),
                _ => panic!("programs have no others"),
            };
            let (thread, order) = (Some(thread), Some(order));
            graph.events.push(GraphEvent { thread, kind, word, order });
            values.push(value);
        }
    }
    graph.reads_from = vec![None; graph.events.len()];
    let writes = |word: usize| -> Vec<usize> {
        let all = graph.events.iter().enumerate();
        all.filter(|(_, e)| e.word == Some(word) && e.writes()).map(|(at, _)| at).collect()
    };
    let orders: Vec<Vec<Vec<usize>>> = (0..WORDS).map(|x| orders(&writes(x))).collect();
    let is_read = |e: &GraphEvent| matches!(e.kind, Kind::Read | Kind::Update);
    let reads: Vec<usize> =
        (0..graph.events.len()).filter(|at| is_read(&graph.events[*at])).collect();
    let sources: Vec<Vec<usize>> = reads
        .iter()
        .map(|read| {
            let word = graph.events[*read].word.expect("a read has a word");
            writes(word).into_iter().filter(|write| write != read).collect()
        })
        .collect();
    let mut found = BTreeSet::new();
    choose(&sources, &mut vec![], &mut |chosen| {
        let mut graph = graph.clone();
        reads.iter().zip(chosen).for_each(|(read, write)| graph.reads_from[*read] = Some(*write));
        for first in &orders[0] {
            for second in &orders[1] {
                graph.modification = vec![first.clone(), second.clone()];
                if graph.broken(model).is_none() {
                    found.insert(outcome(threads, &graph, &values));
                }
            }
        }
    });
    found
}

/// The modification orders of a word: the initial write comes first.
pub fn orders(writes: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![vec![writes[0]]];
    for write in &writes[1..] {
        let insert = |order: &Vec<usize>| -> Vec<Vec<usize>> {
            let put = |at: usize| [&order[..at], &[*write], &order[at..]].concat();
            (1..=order.len()).map(put).collect()
        };
        all = all.iter().flat_map(insert).collect();
    }
    all
}

fn choose(options: &[Vec<usize>], chosen: &mut Vec<usize>, visit: &mut dyn FnMut(&[usize])) {
    let Some(next) = options.get(chosen.len()) else { return visit(chosen) };
    for option in next {
        chosen.push(*option);
        choose(options, chosen, visit);
        chosen.pop();
    }
}

fn outcome(threads: &Threads, graph: &Graph, values: &[i32]) -> Vec<i32> {
    let mut outcome = vec![];
    let mut at = WORDS;
    for code in threads {
        let before = outcome.len();
        for _ in code {
            outcome.extend(graph.reads_from[at].map(|write| values[write]));
            at += 1;
        }
        if outcome.len() == before {
            outcome.push(0);
        }
    }
    let last = graph.modification.iter().filter_map(|order| order.last());
    outcome.extend(last.map(|write| values[*write]));
    outcome
}

#[test]
fn models_and_axioms_agree_on_random_programs() {
    let count = if seriatim_testing::long() { 20_000 } else { 1_000 };
    let mut random = Random(0x5EED);
    for number in 0..count {
        let threads = program(&mut random);
        // The simpler models are not asked every time.
        let simple = |model: &MemoryModel| *model == MemoryModel::Rc20 || number % 4 == 0;
        for model in MemoryModel::ALL.into_iter().filter(simple) {
            let steps = outcomes(&threads, WORDS, model, Reductions::ALL);
            assert_eq!(steps, by_axioms(&threads, model), "{number} on {model:?}: {threads:?}");
            if number % 10 == 0 {
                let plain = outcomes(&threads, WORDS, model, Reductions::NONE);
                assert_eq!(steps, plain, "{number} without reductions: {threads:?}");
            }
        }
    }
}
