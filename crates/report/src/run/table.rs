//! What several threads do, as a table with a column for each: the form in which tests of real
//! objects show an execution, where calls count and memory is not known.

use std::fmt::Write;

/// A table with these heads; each cell has a row of its own, in the column that it names.
///
/// ```
/// let heads = ["thread 0".to_owned(), "thread 1".to_owned()];
/// let cells = [(0, "push(1)".to_owned()), (1, "pop() -> 1".to_owned())];
/// let expected = [
///     "  | thread 0 | thread 1   |",
///     "  | -------- | ---------- |",
///     "  | push(1)  |            |",
///     "  |          | pop() -> 1 |",
/// ];
/// let table = seriatim_report::run::table::table(&heads, &cells);
/// assert_eq!(table.lines().collect::<Vec<_>>(), expected);
/// ```
pub fn table(heads: &[String], cells: &[(usize, String)]) -> String {
    let width = |column: usize| {
        let texts = cells.iter().filter(|cell| cell.0 == column).map(|cell| cell.1.chars().count());
        texts.max().unwrap_or(0).max(heads[column].len())
    };
    let widths: Vec<usize> = (0..heads.len()).map(width).collect();
    let mut text = String::new();
    let mut row = |cell: &dyn Fn(usize) -> String| {
        // By hand, for a format string takes no width beyond 65,535.
        let padded = |at: usize| {
            let text = cell(at);
            let missing = widths[at].saturating_sub(text.chars().count());
            text + &" ".repeat(missing)
        };
        let row: Vec<String> = (0..widths.len()).map(padded).collect();
        let _ = writeln!(text, "  | {} |", row.join(" | "));
    };
    row(&|at| heads[at].clone());
    row(&|at| "-".repeat(widths[at]));
    for (column, content) in cells {
        row(&|at| if at == *column { content.clone() } else { String::new() });
    }
    text
}
