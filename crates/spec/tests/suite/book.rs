//! The book's page on specifications says what the catalogue says.

use seriatim_spec::{Takes, catalogue};
use std::fmt::Write;

/// The section of an entry, as it has to stand in the page.
fn section(entry: &seriatim_spec::Entry) -> String {
    let mut text = format!("### {}\n\n{}.\n\n", entry.name, capitalised(entry.meaning));
    let aliases: Vec<String> = entry.aliases.iter().map(|name| format!("`{name}`")).collect();
    writeln!(text, "Also called {}.\n", aliases.join(", ")).unwrap();
    text.push_str("| operation | other names | meaning |\n| --- | --- | --- |\n");
    for method in entry.methods {
        let others: Vec<String> =
            method.names[1..].iter().map(|name| format!("`{name}`")).collect();
        let (name, others) = (method.names[0], others.join(" "));
        writeln!(text, "| `{name}{}` | {others} | {} |", method.signature, method.meaning).unwrap();
    }
    if !entry.parameters.is_empty() {
        text.push_str("\n| parameter | without it | meaning |\n| --- | --- | --- |\n");
        for parameter in entry.parameters {
            let (name, default, meaning) = (parameter.name, parameter.default, parameter.meaning);
            match parameter.takes {
                Takes::Nothing => writeln!(text, "| `{name}` | | {meaning} |").unwrap(),
                _ => writeln!(text, "| `{name}=…` | `{default}` | {meaning} |").unwrap(),
            }
        }
    }
    text
}

fn capitalised(text: &str) -> String {
    let (first, rest) = text.split_at(1);
    first.to_uppercase() + rest
}

#[test]
fn every_specification_is_in_the_book() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/specifications.md");
    let page = std::fs::read_to_string(page).unwrap();
    for entry in catalogue() {
        let section = section(entry);
        assert!(page.contains(&section), "docs/specifications.md lacks this section:\n\n{section}");
    }
}
