//! The algorithms with orderings of the library: every `expect` line is run, and every file is
//! formatted, named after its object and opens with what it is.

use seriatim_explore::{expectations, run};
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
