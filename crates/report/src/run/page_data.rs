//! What the page of a run knows: the rows of the run, one for each access, with memory; and the
//! words around it. `web/run.js` reads it under the same names.

use super::heap::Layout;
use super::json::{CellDocument, LocalDocument, NodeDocument};
use super::{Examined, claims, stuck};
use crate::text;
use serde::Serialize;
use seriatim_spec::answer::{Claim, Standing};
use seriatim_spec::run::{Access, Action, Memory, Run};

/// The data of a page.
#[derive(Serialize)]
pub(super) struct PageData<'r> {
    verdict: &'static str,
    badge: String,
    name: &'r str,
    spec: &'r str,
    /// What was asked, and within which bounds.
    asked: String,
    facts: String,
    claims: Vec<ClaimRow>,
    cuts: Vec<&'r String>,
    source: &'r str,
    replay: Option<&'r str>,
    stuck: Option<String>,
    run: Option<RunData<'r>>,
    /// Whether the orders that were tried are known.
    judged: bool,
}

impl<'r> PageData<'r> {
    pub(super) fn of(examined: &'r Examined<'_>) -> Self {
        let answer = examined.answer;
        PageData {
            verdict: claims::verdict(answer),
            badge: claims::badge(answer),
            name: examined.name,
            spec: examined.spec,
            asked: claims::asked(answer),
            facts: claims::facts(answer),
            claims: answer.claims().map(ClaimRow::of).collect(),
            cuts: claims::cuts(answer),
            source: examined.source,
            replay: examined.replay,
            stuck: examined.stuck.map(stuck::words),
            run: examined.shown().map(|(run, how)| RunData::of(run, how)),
            judged: examined.judged.is_some(),
        }
    }
}

#[derive(Serialize)]
struct ClaimRow {
    property: &'static str,
    standing: &'static str,
    words: String,
}

impl ClaimRow {
    fn of(claim: Claim) -> ClaimRow {
        let standing = claim.standing.word();
        let words = match claim.standing {
            Standing::Holds { scope, .. } => format!("for {}", scope.words),
            Standing::Violated { how: words, .. }
            | Standing::Unknown(words)
            | Standing::NotAnswered(words) => words,
            Standing::NotAsked => String::new(),
        };
        ClaimRow { property: claim.property.word(), standing, words }
    }
}

#[derive(Serialize)]
struct RunData<'r> {
    how: &'r str,
    threads: Vec<String>,
    rows: Vec<Row<'r>>,
    initial: Picture<'r>,
    layout: Layout,
    /// The row with which the circle begins at the end of the run, if there is one.
    circle: Option<usize>,
}

impl<'r> RunData<'r> {
    fn of(run: &'r Run, how: &'r str) -> Self {
        let mut rows = Vec::new();
        let mut circle = None;
        let first = run.repeats.map(|repeats| run.steps.len() - repeats.min(run.steps.len()));
        for (number, step) in run.steps.iter().enumerate() {
            if first == Some(number) {
                circle = Some(rows.len());
            }
            rows.extend(step.accesses.iter().map(|access| Row::of(number, step.thread, access)));
        }
        RunData {
            how,
            threads: (0..run.threads).map(|thread| run.thread_name(thread)).collect(),
            rows,
            initial: Picture::of(&run.initial),
            layout: Layout::of(run),
            circle,
        }
    }
}

/// An access. Rows of one step happen at once.
#[derive(Serialize)]
struct Row<'r> {
    step: usize,
    thread: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    action: &'static str,
    /// What stands in the source, and what came of it.
    text: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    outcome: String,
    /// Only of `cas`.
    #[serde(skip_serializing_if = "Option::is_none")]
    succeeded: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<Picture<'r>>,
}

impl<'r> Row<'r> {
    fn of(step: usize, thread: usize, access: &'r Access) -> Self {
        let (text, outcome) = access.told();
        let brief = |text: String| text::middle(&text, text::SCREEN).into_owned();
        let succeeded = match &access.action {
            Action::CompareAndSwap { after, .. } => Some(after.is_some()),
            _ => None,
        };
        let memory = access.memory.as_ref().map(Picture::of);
        Row {
            step,
            thread,
            line: access.line,
            action: access.word(),
            text: brief(text),
            outcome: brief(outcome),
            succeeded,
            memory,
        }
    }
}

/// Memory at a moment.
#[derive(Serialize)]
struct Picture<'r> {
    variables: Vec<CellDocument<'r>>,
    nodes: Vec<NodeDocument<'r>>,
    locals: Vec<LocalDocument<'r>>,
}

impl<'r> Picture<'r> {
    fn of(memory: &'r Memory) -> Self {
        Picture {
            variables: memory.variables.iter().map(CellDocument::of).collect(),
            nodes: memory.nodes.iter().map(NodeDocument::of).collect(),
            locals: memory.locals.iter().map(LocalDocument::of).collect(),
        }
    }
}
