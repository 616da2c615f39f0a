//! The table in the book: the page holds what was measured, and nobody writes it by hand.

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/performance.md");
const BEGIN: &str = "<!-- compare: what follows is written by the benchmark -->\n\n";
const END: &str = "<!-- compare: until here -->\n";

/// Puts the table into the page, in the place of the last one.
pub fn write(table: &str) {
    let page = std::fs::read_to_string(PAGE).expect("the book has the page");
    let parts = page.split_once(BEGIN).and_then(|(before, after)| {
        let (_, after) = after.split_once(END)?;
        Some((before, after))
    });
    let (before, after) = parts.expect("the page has a place for the table");
    let page = format!("{before}{BEGIN}{table}\n{END}{after}");
    std::fs::write(PAGE, page).expect("the page can be written");
}
