//! What people see on a terminal, kept as golden files.
//!
//! `SERIATIM_UPDATE_GOLDEN=1 cargo test -p seriatim-report --test terminal` writes the files anew.

mod common;
#[path = "common/valued.rs"]
mod valued;

use seriatim_report::run;
use seriatim_report::terminal::{Colour, Glyphs, Style, render};
use std::path::Path;

/// Compares a text with a golden file, or writes the file if asked to.
fn assert_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("SERIATIM_UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).expect("the golden file can be written");
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{name} is different. Expected:\n{expected}\nbut it is:\n{text}");
}

#[test]
fn reports_look_as_they_did() {
    for (name, sample) in common::samples() {
        let report = sample.report();
        for width in [80, 120] {
            let style = Style::plain(width);
            assert_golden(&format!("{name}-{width}.txt"), &render(&report, &style));
        }
        for width in [80, 120] {
            let style = Style { colour: Colour::Ansi, ..Style::plain(width) };
            assert_golden(&format!("{name}-{width}.ansi"), &render(&report, &style));
        }
        let style = Style { glyphs: Glyphs::Ascii, ..Style::plain(80) };
        assert_golden(&format!("{name}-ascii.txt"), &render(&report, &style));
    }
}

#[test]
fn reports_about_runs_look_as_they_did() {
    for (name, subject) in common::runs::subjects() {
        let text = subject.show(|examined| run::terminal::report(examined, &Style::plain(100)));
        assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{name} obeys nobody");
        assert_golden(&format!("{name}.txt"), &text);
    }
}

#[test]
fn a_report_does_not_grow_with_its_values() {
    // A value that is a thousand times longer takes no more room: its middle gives way to its
    // length.
    let report = |length: usize| {
        let sample = valued::valued(&"v".repeat(length));
        render(&sample.report(), &Style::plain(100)).len()
    };
    assert!(report(3_000_000) < report(3_000) + 100);
}

/// A text without ANSI escape sequences.
fn without_colour(text: &str) -> String {
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\x1b' => while characters.next().is_some_and(|c| c != 'm') {},
            _ => plain.push(character),
        }
    }
    plain
}

#[test]
fn colours_add_nothing_but_colour() {
    for (name, sample) in common::samples() {
        let report = sample.report();
        let plain = render(&report, &Style::plain(100));
        let coloured = render(&report, &Style { colour: Colour::Ansi, ..Style::plain(100) });
        assert_ne!(plain, coloured, "{name} has no colour at all");
        assert_eq!(plain, without_colour(&coloured), "{name}");
    }
}

#[test]
fn no_line_is_wider_than_the_terminal_and_ascii_is_ascii() {
    for (name, sample) in common::samples() {
        let report = sample.report();
        for width in [40, 57, 80, 100, 120, 200] {
            for glyphs in [Glyphs::Unicode, Glyphs::Ascii] {
                let text = render(&report, &Style { glyphs, ..Style::plain(width) });
                let headline = text.lines().next().map_or(0, str::len);
                for line in text.lines().skip(1) {
                    let columns = unicode_width::UnicodeWidthStr::width(line);
                    assert!(columns <= width, "{name} at {width}: {columns} columns: {line}");
                }
                assert!(headline > 0);
                assert!(glyphs == Glyphs::Unicode || text.is_ascii(), "{name}: {text}");
                let is_safe = |c: char| c == '\n' || !c.is_control();
                assert!(text.chars().all(is_safe), "{name} has control characters");
            }
        }
    }
}
