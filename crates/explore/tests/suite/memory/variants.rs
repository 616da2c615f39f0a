//! The algorithms with orderings, each with every other ordering in every place: whatever is left
//! out of the reductions, the verdicts are the same; and what clients synchronise makes the
//! difference that is expected. `SERIATIM_LONG=1` takes all of the variants, else some.

use seriatim_explore::{MemoryModel, Options, Reductions, Synchronise, Verdict, expectations, run};
use seriatim_lang::Program;
use seriatim_lang::steps::Ordering;
use seriatim_testing::algorithms;

struct Variant {
    name: String,
    program: Program,
    options: Options,
}

/// All files with orderings, as they are and with one ordering replaced by another.
fn variants() -> Vec<Variant> {
    let mut found = vec![];
    for path in algorithms("algorithms/weak") {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().to_string();
        let source = std::fs::read_to_string(&path).expect("a readable file");
        for text in std::iter::once(source.clone()).chain(replaced(&source)) {
            let Ok(program) = seriatim_lang::check(&text) else { continue };
            let bounds = expectations(&program).swap_remove(0).options;
            let operations = bounds.operations.map(|most| most.min(2));
            let threads = bounds.threads.min(2);
            let options = Options { operations, threads, values: 1, ..bounds };
            found.push(Variant { name: name.clone(), program, options });
        }
    }
    found
}

/// The text with each of its orderings, in methods, replaced by each of the others.
fn replaced(source: &str) -> Vec<String> {
    let mut found = vec![];
    for from in Ordering::ALL {
        for (at, _) in source.match_indices(from.text()) {
            let is_argument = source[..at].ends_with(", ") || source[..at].ends_with("fence(");
            let end = at + from.text().len();
            for to in Ordering::ALL.into_iter().filter(|to| *to != from && is_argument) {
                found.push([&source[..at], to.text(), &source[end..]].concat());
            }
        }
    }
    found
}

fn chosen() -> Vec<Variant> {
    let all = variants();
    assert!(all.len() >= 494, "{} variants", all.len());
    match std::env::var_os("SERIATIM_LONG") {
        Some(_) => all,
        None => all.into_iter().step_by(23).collect(),
    }
}

/// What is found of a variant: right, wrong, or not decided within so many states.
fn verdict(variant: &Variant, change: impl Fn(&mut Options)) -> Option<bool> {
    let mut options = variant.options.clone();
    options.limits.states = Some(60_000);
    change(&mut options);
    match run(&variant.program, &options).expect("it can be explored").verdict {
        Verdict::Holds => Some(true),
        Verdict::Violation(_) => Some(false),
        Verdict::Unknown(seriatim_explore::Reason::States) => None,
        Verdict::Unknown(why) => panic!("{}: {why:?}\n{}", variant.name, variant.program.source),
    }
}

#[test]
fn no_reduction_changes_a_verdict() {
    let all = Reductions::ALL;
    let without = [
        Reductions { fusion: false, ..all },
        Reductions { dead_registers: false, ..all },
        Reductions { dead_fields: false, ..all },
        Reductions { thread_symmetry: false, ..all },
        Reductions { value_symmetry: false, ..all },
    ];
    let (mut compared, mut open) = (0, 0);
    for variant in chosen() {
        for model in [MemoryModel::Rc20, MemoryModel::Tso] {
            let of = |reductions: Reductions| {
                verdict(&variant, |options| {
                    (options.memory, options.reductions) = (Some(model), reductions);
                })
            };
            let Some(expected) = of(all) else {
                open += 1;
                continue;
            };
            for reductions in without {
                match of(reductions) {
                    Some(found) => {
                        let text = &variant.program.source;
                        assert_eq!(found, expected, "{model:?}, {reductions:?}\n{text}");
                        compared += 1;
                    }
                    None => open += 1,
                }
            }
        }
    }
    println!("{compared} compared, {open} not decided");
    assert!(compared > 10 * open, "{compared} compared, {open} not decided");
}

/// Fewer orders explain what clients know more of.
#[test]
fn what_holds_for_all_clients_holds_for_each() {
    let mut differing: Vec<(String, MemoryModel, [Option<bool>; 3])> = vec![];
    let variants = chosen();
    for variant in &variants {
        for model in [MemoryModel::Rc20, MemoryModel::Tso] {
            let found = Synchronise::ALL.map(|clients| {
                verdict(variant, |options| {
                    (options.memory, options.synchronise) = (Some(model), Some(clients));
                })
            });
            let [nothing, everything, anything] = found;
            let text = &variant.program.source;
            if anything == Some(true) {
                assert_ne!(nothing, Some(false), "{model:?}\n{text}");
                assert_ne!(everything, Some(false), "{model:?}\n{text}");
            }
            if found != [anything; 3] {
                differing.push((variant.name.clone(), model, found));
            }
        }
    }
    println!("{} variants on two memories, differing: {differing:#?}", variants.len());
}
