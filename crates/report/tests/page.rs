//! The page as a file: self-contained, small, and safe whatever the history holds.

mod common;
#[path = "common/large.rs"]
mod large;
#[path = "common/valued.rs"]
mod valued;

use seriatim_report::{Report, html, run};

fn page(report: &Report<'_>) -> String {
    String::from_utf8(html::render(report)).expect("a page is UTF-8")
}

#[test]
fn a_page_asks_nobody_for_anything() {
    for (name, sample) in common::samples() {
        let page = page(&sample.report());
        for link in ["http:", "https:", "src=", "@import", "url(", "fetch(", "XMLHttpRequest"] {
            // The hostile history tries to; its text is data.
            let found = page.matches(link).count();
            let data = if name == "hostile" { 2 } else { 0 };
            assert!(found <= data, "{name} has {link}");
        }
        assert!(page.contains("default-src 'none'"), "{name} has a policy");
    }
}

#[test]
fn a_history_cannot_break_out_of_its_place() {
    for (name, sample) in common::samples() {
        let page = page(&sample.report()).to_lowercase();
        assert_eq!(page.matches("<script").count(), 3, "{name} has three scripts");
        assert_eq!(page.matches("</script").count(), 3, "{name} ends three scripts");
        assert_eq!(page.matches("</style").count(), 1, "{name} ends one style sheet");
        assert_eq!(page.matches("<img").count(), 0, "{name} has no image");
        assert_eq!(page.matches("<noscript").count(), page.matches("</noscript").count(), "{name}");
    }
}

#[test]
fn the_page_of_a_run_asks_nobody_and_a_run_cannot_break_out_of_its_place() {
    for (name, subject) in common::runs::subjects() {
        let page = subject.show(run::html::render);
        assert!(page.contains("default-src 'none'"), "{name} has a policy");
        for link in ["http:", "https:", "@import", "url(", "fetch(", "XMLHttpRequest"] {
            assert!(!page.contains(link), "{name} has {link}");
        }
        let page = page.to_lowercase();
        let scripts = if subject.show(|examined| examined.run().is_some()) { 4 } else { 2 };
        assert_eq!(page.matches("<script").count(), scripts, "{name}");
        assert_eq!(page.matches("</script").count(), scripts, "{name}");
        assert_eq!(page.matches("<img").count(), 0, "{name} has no image");
        assert_eq!(page.matches("<noscript").count(), page.matches("</noscript").count(), "{name}");
    }
}

#[test]
fn a_page_does_not_grow_with_its_values() {
    let page = |length: usize| html::render(&valued::valued(&"v".repeat(length)).report()).len();
    assert!(page(3_000_000) < page(3_000) + 100);
}

#[test]
fn an_operation_takes_at_most_twenty_bytes() {
    let (history, verdict) = large::store(100_000);
    let bytes = html::render(&Report::new(&history, "map", &verdict)).len();
    assert!(bytes <= 20 * history.len(), "{} bytes per operation", bytes / history.len());
}

#[test]
fn the_page_of_an_empty_history_is_small() {
    let bytes = html::render(&common::empty().report()).len();
    assert!(bytes <= 120_000, "{bytes} bytes of scripts and styles");
}
