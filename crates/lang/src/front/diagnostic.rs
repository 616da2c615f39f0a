//! Errors for the person who wrote the file: what is wrong, where (with a caret), and what to try.

use crate::front::span::Span;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};

/// One error in a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// What is wrong, as one sentence without a final stop.
    pub message: String,
    /// Where it is.
    pub span: Span,
    /// What stands under the caret.
    pub label: String,
    /// What to try instead.
    pub hint: Option<String>,
}

impl std::fmt::Display for Diagnostic {
    /// The message alone; [`render`](Diagnostic::render) shows the place as well.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Diagnostic {}

impl Diagnostic {
    /// An error at a place, with an empty label and no hint.
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        Diagnostic { message: message.into(), span, label: String::new(), hint: None }
    }

    /// The same error with a text under the caret.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// The same error with a suggestion.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The error as text with the source line, a caret and the hint. `path` names the file.
    pub fn render(&self, source: &str, path: &str) -> String {
        let start = floor_boundary(source, self.span.start as usize);
        let end = floor_boundary(source, (self.span.end as usize).max(start)).max(start);
        let mark = AnnotationKind::Primary.span(start..end).label(self.label.as_str());
        let snippet = Snippet::source(source).path(path).annotation(mark);
        let mut group = Level::ERROR.primary_title(self.message.as_str()).element(snippet);
        if let Some(hint) = &self.hint {
            group = group.element(Level::HELP.message(hint.as_str()));
        }
        Renderer::plain().render(&[group])
    }
}

fn floor_boundary(source: &str, at: usize) -> usize {
    let mut at = at.min(source.len());
    while !source.is_char_boundary(at) {
        at -= 1;
    }
    at
}
