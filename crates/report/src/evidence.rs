//! What stands behind the verdict of a check, in words.

use seriatim_spec::{Checked, Confirmation, LeftOut, Reader, Verdict};

/// What stands behind a verdict besides the engine that found it.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Evidence {
    /// Of what kind it is.
    pub kind: EvidenceKind,
    /// Who checked what, in words.
    pub text: String,
    /// How many operations of the part a counterexample does without, by the reason why that is
    /// fair.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<Without>,
}

/// Of what kind evidence is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EvidenceKind {
    /// The order of a linearizable history was replayed.
    Replayed,
    /// A second checker found no order either.
    Confirmed,
    /// The second checker gave up: the counterexample is too large for it.
    Unconfirmed,
}

/// Operations that a counterexample does without.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Without {
    /// How many.
    pub operations: usize,
    /// Why that is fair: if the rest is wrong, so is the whole.
    pub because: &'static str,
}

/// The evidence for a verdict; none if nobody knows.
pub(crate) fn of(checked: &Checked, reader: &dyn Reader, operations: usize) -> Option<Evidence> {
    match (&checked.verdict, checked.confirmation) {
        // An order that was replayed part by part and not kept is not of this history.
        (Verdict::Linearizable(_), _) if operations == 0 => None,
        (Verdict::Linearizable(_), _) => {
            let by = match reader.chosen() {
                Some(chosen) => format!("by a plain {}", chosen.choice.name()),
                None => "by the specification's own steps".to_owned(),
            };
            let text = format!("Replayed {by}, operation by operation.");
            Some(Evidence { kind: EvidenceKind::Replayed, text, left_out: Vec::new() })
        }
        (Verdict::Violation(_), Some(confirmation)) => {
            let (kind, text) = in_words(confirmation);
            Some(Evidence { kind, text, left_out: without(checked.left_out) })
        }
        _ => None,
    }
}

/// What was wrong on the way to a verdict that does not rest on it.
pub fn doubt(checked: &Checked) -> Option<String> {
    let defect = checked.defect.as_ref()?;
    let is_verdict = !matches!(checked.verdict, Verdict::Unknown(_));
    is_verdict.then(|| {
        format!(
            "internal error: {defect}. The verdict does not rest on it, but this is a defect of Seriatim: \
             please report it, with the log"
        )
    })
}

/// What somebody else says of a violation: by whom, and what no order explains.
pub fn confirmed(by: &str, what: &str) -> String {
    format!("Confirmed by {by}: no order explains {what}.")
}

/// Nobody else says anything of a violation.
pub const UNCONFIRMED: &str = "Not confirmed by a second checker: too large for it.";

fn in_words(confirmation: Confirmation) -> (EvidenceKind, String) {
    let (by, what) = match confirmation {
        Confirmation::Whole => ("brute force", "everything recorded up to that point"),
        Confirmation::Core => ("brute force", "these operations and those before them"),
        Confirmation::Engine(engine) => (engine, "these operations and those before them"),
        Confirmation::None => return (EvidenceKind::Unconfirmed, UNCONFIRMED.to_owned()),
    };
    (EvidenceKind::Confirmed, confirmed(by, what))
}

/// What a counterexample does without, and why that is fair.
fn without(left_out: LeftOut) -> Vec<Without> {
    let LeftOut { by_monitor, later, values, read_only, context } = left_out;
    [
        (by_monitor, "the monitor that found the violation does not need them"),
        (later, "they come after the violation: a prefix of a linearizable history is linearizable"),
        (values, "the object treats all values alike: a linearizable history stays linearizable without the operations of one value"),
        (read_only, "they change nothing: every order stays correct without them"),
        (context, "they can be taken first without loss; the state that they leave is given"),
    ]
    .into_iter()
    .filter(|&(operations, _)| operations > 0)
    .map(|(operations, because)| Without { operations, because })
    .collect()
}
