//! The text of the algorithm, in which every line says where it comes from.

use proc_macro2::Span;

/// Lines so far.
#[derive(Default)]
pub(crate) struct Output {
    lines: Vec<String>,
    depth: usize,
}

impl Output {
    /// A line that stands for something in the source.
    pub fn line(&mut self, text: &str, from: Span) {
        self.unplaced(&format!("{text}  // {}", from.start().line));
    }

    /// A line of ours.
    pub fn unplaced(&mut self, text: &str) {
        let indent = "  ".repeat(self.depth);
        self.lines.push(format!("{indent}{text}").trim_end().to_owned());
    }

    /// A line that opens a block.
    pub fn open(&mut self, text: &str, from: Span) {
        self.line(text, from);
        self.depth += 1;
    }

    /// A line of ours that opens a block.
    pub fn open_unplaced(&mut self, text: &str) {
        self.unplaced(text);
        self.depth += 1;
    }

    /// Ends a block and begins the next with the same line.
    pub fn turn(&mut self, text: &str) {
        self.depth -= 1;
        self.unplaced(text);
        self.depth += 1;
    }

    pub fn close(&mut self) {
        self.depth -= 1;
        self.unplaced("}");
    }

    pub fn blank(&mut self) {
        self.lines.push(String::new());
    }

    pub fn text(self) -> String {
        self.lines.join("\n") + "\n"
    }
}
