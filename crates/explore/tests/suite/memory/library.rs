//! The algorithms with orderings of the library: every `expect` line is run, and every file is
//! formatted, named after its object and opens with what it is.

use seriatim_explore::{MemoryModel, Options, Reason, Verdict, expectations, run, starting_bounds};
use seriatim_testing::algorithms;

#[test]
fn algorithms_with_orderings_are_what_they_say() {
    let files = algorithms("algorithms/weak");
    assert!(files.len() >= 30, "{} files", files.len());
    let mut wrong = vec![];
    for path in files {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().to_string();
        let source = std::fs::read_to_string(&path).expect("a readable file");
        let program = seriatim_lang::check(&source)
            .unwrap_or_else(|error| panic!("{}", error.render(&source, &name)));
        assert_eq!(program.name, name);
        assert!(seriatim_lang::fmt(&source) == source, "{name} is not formatted");
        assert!(source.starts_with("// ") && source.lines().all(|l| l.chars().count() <= 130));
        let expected = expectations(&program);
        assert!(!expected.is_empty(), "{name} expects nothing");
        for expect in expected {
            let outcome = run(&program, &expect.options)
                .unwrap_or_else(|error| panic!("{}", error.render(&source, &name)));
            if !expect.is_met(Some(&outcome)) {
                let (memory, verdict) = (expect.options.memory, &expect.verdict);
                let found = format!("{:?}", outcome.verdict);
                let found: String = found.chars().take(300).collect();
                wrong.push(format!("{name} on {memory:?}: not {verdict}: {found}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every access of these files is sequentially consistent, so no memory gives a thread more to see.
#[test]
fn what_holds_where_all_see_one_memory_holds_on_weaker_ones() {
    let (mut decided, mut wrong) = (0, vec![]);
    for path in algorithms("algorithms") {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().to_string();
        let source = std::fs::read_to_string(&path).expect("a readable file");
        let program = seriatim_lang::check(&source).expect("a right file");
        let (bounds, _) = starting_bounds(&program);
        for model in [MemoryModel::Tso, MemoryModel::Rc20] {
            let (memory, operations) = (Some(model), Some(1));
            let mut options = Options { memory, operations, threads: 2, ..bounds.clone() };
            options.limits.states = Some(2_000);
            // A file that no weak memory takes, or whose client has more threads, says so.
            let Ok(outcome) = run(&program, &options) else { continue };
            match outcome.verdict {
                Verdict::Holds => decided += 1,
                Verdict::Unknown(Reason::States) => {}
                verdict => wrong.push(format!("{name} on {model:?}: {verdict:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(decided > 50, "only {decided} were decided");
}
