//! Every example of the reference page is what the page says it is.

use seriatim_lang::{check, fmt, lower};

const PAGE: &str = include_str!("../../../../docs/language.md");

/// The fenced examples of a page with the words behind their fences.
fn examples() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut current: Option<(String, String)> = None;
    for line in PAGE.lines() {
        match (line.strip_prefix("```"), &mut current) {
            (Some(_), Some(_)) => found.extend(current.take()),
            (Some(fence), None) => current = Some((fence.to_string(), String::new())),
            (None, Some((_, text))) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, None) => {}
        }
    }
    found
}

#[test]
fn the_examples_are_right_and_the_wrong_ones_are_refused() {
    let examples = examples();
    assert!(examples.len() >= 8);
    for (fence, text) in examples {
        let result = check(&text).and_then(|program| lower(&program, 2, None));
        match (fence.as_str(), result) {
            ("seri", Err(error)) => panic!("{}", error.render(&text, "docs/language.md")),
            ("seri,error", Ok(_)) => panic!("this should be refused:\n{text}"),
            _ => {}
        }
    }
}

#[test]
fn the_examples_are_formatted() {
    for (fence, text) in examples() {
        if fence == "seri" {
            assert_eq!(fmt(&text), text);
        }
    }
}
