//! What is known of an algorithm, for programs: one JSON object, whose schema is the definition
//! `algorithm` of `docs/report-schema.json`. It has the version of the reports about histories.

use super::memory::lines;
use super::{Examined, claims};
use crate::json::{Nested, SCHEMA};
use serde::Serialize;
use seriatim_history::harmless_json;
use seriatim_spec::answer::{Claim, Cost, Evidence, Scope, Standing, StuckProof};
use seriatim_spec::run::{Access, Action, Cell, Event, Local, Memory, Node, Run, Step};

/// The report as one line of JSON, with a line break at its end.
pub fn render(examined: &Examined<'_>) -> String {
    let claims: Vec<Claim> = examined.answer.claims().collect();
    let Cost { time, states, steps, bytes } = examined.answer.cost;
    let document = Document {
        schema: SCHEMA,
        algorithm: examined.name,
        spec: examined.spec,
        verdict: claims::verdict(examined.answer),
        exit_code: examined.answer.exit_code(),
        claims: claims.iter().map(ClaimDocument::of).collect(),
        stuck: examined.stuck.map(StuckDocument::of),
        statistics: Costs {
            elapsed_seconds: time.as_secs_f64(),
            states,
            steps,
            state_bytes: bytes,
        },
    };
    let text = serde_json::to_string(&document).expect("every part can be written");
    harmless_json(&text).into_owned() + "\n"
}

#[derive(Serialize)]
struct Document<'r> {
    schema: u32,
    algorithm: &'r str,
    spec: &'r str,
    verdict: &'static str,
    exit_code: u8,
    claims: Vec<ClaimDocument<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stuck: Option<StuckDocument<'r>>,
    statistics: Costs,
}

/// Where a proof got stuck.
#[derive(Serialize)]
struct StuckDocument<'r> {
    obstacle: &'r str,
    needs: &'r str,
    content: &'r str,
    known: &'r [String],
    run: RunDocument<'r>,
    #[serde(skip_serializing_if = "Option::is_none")]
    situation: Option<&'r str>,
    others: &'r [String],
}

impl<'r> StuckDocument<'r> {
    fn of(stuck: &'r StuckProof) -> Self {
        StuckDocument {
            obstacle: &stuck.obstacle,
            needs: &stuck.needs,
            content: &stuck.content,
            known: &stuck.known,
            run: RunDocument::of(&stuck.run),
            situation: stuck.situation.as_deref(),
            others: &stuck.others,
        }
    }
}

#[derive(Serialize)]
struct Costs {
    elapsed_seconds: f64,
    states: u64,
    steps: u64,
    state_bytes: u64,
}

#[derive(Serialize)]
struct ClaimDocument<'r> {
    property: &'static str,
    standing: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<ScopeDocument<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<EvidenceDocument<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<RunDocument<'r>>,
}

impl<'r> ClaimDocument<'r> {
    fn of(claim: &'r Claim) -> Self {
        let standing = match &claim.standing {
            Standing::Holds { scope, .. } if scope.is_unbounded() => "proved",
            Standing::Holds { .. } => "holds",
            Standing::Violated { .. } => "violated",
            Standing::Unknown(_) => "unknown",
            Standing::NotAnswered(_) => "not_answered",
            Standing::NotAsked => "not_asked",
        };
        let mut found = ClaimDocument {
            property: claim.property.word(),
            standing,
            scope: None,
            evidence: None,
            reason: None,
            run: None,
        };
        match &claim.standing {
            Standing::Holds { scope, evidence } => {
                found.scope = Some(ScopeDocument::of(scope));
                found.evidence = Some(EvidenceDocument::of(evidence));
            }
            Standing::Violated { scope, how, run } => {
                found.scope = Some(ScopeDocument::of(scope));
                found.reason = Some(how);
                found.run = run.as_deref().map(RunDocument::of);
            }
            Standing::Unknown(why) | Standing::NotAnswered(why) => found.reason = Some(why),
            Standing::NotAsked => {}
        }
        found
    }
}

#[derive(Serialize)]
struct ScopeDocument<'r> {
    threads: Option<u32>,
    words: &'r str,
    cut: &'r [String],
}

impl<'r> ScopeDocument<'r> {
    fn of(scope: &'r Scope) -> Self {
        ScopeDocument { threads: scope.threads, words: &scope.words, cut: &scope.cut }
    }
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum EvidenceDocument<'r> {
    Exploration {
        states: u64,
        steps: u64,
    },
    Abstraction {
        states: u64,
        cases: u64,
    },
    #[serde(rename = "never-waits")]
    NeverWaits,
    #[serde(rename = "lock-order")]
    LockOrder,
    Certificate {
        views: usize,
        effects: usize,
        root: &'r str,
    },
}

impl<'r> EvidenceDocument<'r> {
    fn of(evidence: &'r Evidence) -> Self {
        match evidence {
            Evidence::Exploration { states, steps } => {
                EvidenceDocument::Exploration { states: *states, steps: *steps }
            }
            Evidence::Abstraction { states, cases } => {
                EvidenceDocument::Abstraction { states: *states, cases: *cases }
            }
            Evidence::NeverWaits => EvidenceDocument::NeverWaits,
            Evidence::LockOrder => EvidenceDocument::LockOrder,
            Evidence::Certificate { views, effects, root } => {
                EvidenceDocument::Certificate { views: *views, effects: *effects, root }
            }
        }
    }
}

/// A run; also what the page draws.
#[derive(Serialize)]
pub(super) struct RunDocument<'r> {
    threads: usize,
    initial: MemoryDocument<'r>,
    steps: Vec<StepDocument<'r>>,
    history: Vec<EventDocument<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeats: Option<usize>,
}

impl<'r> RunDocument<'r> {
    pub(super) fn of(run: &'r Run) -> Self {
        RunDocument {
            threads: run.threads,
            initial: MemoryDocument::of(&run.initial),
            steps: run
                .steps
                .iter()
                .zip(run.pictures())
                .map(|(step, memory)| StepDocument::of(step, memory))
                .collect(),
            history: run.history.iter().map(EventDocument::of).collect(),
            repeats: run.repeats,
        }
    }
}

#[derive(Serialize)]
struct StepDocument<'r> {
    thread: usize,
    line: Option<usize>,
    accesses: Vec<AccessDocument<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<MemoryDocument<'r>>,
}

impl<'r> StepDocument<'r> {
    fn of(step: &'r Step, memory: Option<&'r Memory>) -> Self {
        StepDocument {
            thread: step.thread,
            line: step.line(),
            accesses: step.accesses.iter().map(AccessDocument::of).collect(),
            memory: memory.map(MemoryDocument::of),
        }
    }
}

#[derive(Serialize)]
struct AccessDocument<'r> {
    action: &'static str,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    succeeded: Option<bool>,
}

impl<'r> AccessDocument<'r> {
    fn of(access: &'r Access) -> Self {
        let (place, before, after) = match &access.action {
            Action::Read { place, value, .. } => (Some(place), Some(value), None),
            Action::Write { place, before, after } => (Some(place), Some(before), Some(after)),
            Action::CompareAndSwap { place, found, after } => {
                (Some(place), Some(found), after.as_ref())
            }
            Action::Lock { place } | Action::Unlock { place } => (Some(place), None, None),
            _ => (None, None, None),
        };
        let is_cas = matches!(access.action, Action::CompareAndSwap { .. });
        AccessDocument {
            action: access.word(),
            text: access.text(),
            line: access.line,
            place: place.map(String::as_str),
            before: before.map(String::as_str),
            after: after.map(String::as_str),
            succeeded: is_cas.then_some(after.is_some()),
        }
    }
}

#[derive(Serialize)]
struct MemoryDocument<'r> {
    variables: Vec<CellDocument<'r>>,
    nodes: Vec<NodeDocument<'r>>,
    locals: Vec<LocalDocument<'r>>,
    lines: Vec<String>,
}

impl<'r> MemoryDocument<'r> {
    fn of(memory: &'r Memory) -> Self {
        MemoryDocument {
            variables: memory.variables.iter().map(CellDocument::of).collect(),
            nodes: memory.nodes.iter().map(NodeDocument::of).collect(),
            locals: memory.locals.iter().map(LocalDocument::of).collect(),
            lines: lines(memory),
        }
    }
}

#[derive(Serialize)]
pub(super) struct CellDocument<'r> {
    name: &'r str,
    value: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<u32>,
}

impl<'r> CellDocument<'r> {
    pub(super) fn of(cell: &'r Cell) -> Self {
        CellDocument { name: &cell.name, value: &cell.value, node: cell.node }
    }
}

#[derive(Serialize)]
pub(super) struct NodeDocument<'r> {
    id: u32,
    kind: &'r str,
    freed: bool,
    fields: Vec<CellDocument<'r>>,
}

impl<'r> NodeDocument<'r> {
    pub(super) fn of(node: &'r Node) -> Self {
        let fields = node.fields.iter().map(CellDocument::of).collect();
        NodeDocument { id: node.id, kind: &node.kind, freed: node.freed, fields }
    }
}

#[derive(Serialize)]
pub(super) struct LocalDocument<'r> {
    thread: usize,
    #[serde(flatten)]
    cell: CellDocument<'r>,
}

impl<'r> LocalDocument<'r> {
    pub(super) fn of(local: &'r Local) -> Self {
        LocalDocument { thread: local.thread, cell: CellDocument::of(&local.cell) }
    }
}

#[derive(Serialize)]
struct EventDocument<'r> {
    event: &'static str,
    thread: usize,
    method: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Vec<Nested<'r>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Nested<'r>>,
}

impl<'r> EventDocument<'r> {
    fn of(event: &'r Event) -> Self {
        match event {
            Event::Call { thread, method, args } => EventDocument {
                event: "call",
                thread: *thread,
                method,
                args: Some(args.iter().map(Nested).collect()),
                result: None,
            },
            Event::Return { thread, method, result } => EventDocument {
                event: "return",
                thread: *thread,
                method,
                args: None,
                result: result.as_ref().map(Nested),
            },
        }
    }
}
