//! What stands behind the verdict of a check, in words.

use seriatim::Verdict;
use seriatim::monitor::{Checked, Confirmation, LeftOut};
use seriatim::report::{Evidence, EvidenceKind, LeftOut as Without};
use seriatim::spec::Reader;

/// The evidence for a verdict; none if nobody knows.
pub fn of(checked: &Checked, reader: &dyn Reader, operations: usize) -> Option<Evidence> {
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

fn in_words(confirmation: Confirmation) -> (EvidenceKind, String) {
    let confirmed = |by: &str, what: &str| {
        (EvidenceKind::Confirmed, format!("Confirmed {by}: no order of {what} is right."))
    };
    match confirmation {
        Confirmation::Whole => confirmed("by brute force", "all that was recorded up to there"),
        Confirmation::Core => {
            confirmed("by brute force", "these operations with those before them")
        }
        Confirmation::Engine(engine) => {
            confirmed(&format!("by {engine}"), "these operations with those before them")
        }
        Confirmation::None => {
            let text = "Not confirmed by a second checker: too large for it.".to_owned();
            (EvidenceKind::Unconfirmed, text)
        }
    }
}

/// What a counterexample does without, and why that is fair.
fn without(left_out: LeftOut) -> Vec<Without> {
    let LeftOut { by_monitor, later, values, read_only, context } = left_out;
    [
        (by_monitor, "the theorem of whoever found the violation does not need them"),
        (later, "the history has gone wrong before: a prefix of a linearizable history is linearizable"),
        (values, "the object treats values alike: a linearizable history stays so without all operations of a value"),
        (read_only, "they change nothing: every order stays right without them"),
        (context, "they can be taken first without loss; the state that they leave is given"),
    ]
    .into_iter()
    .filter(|&(operations, _)| operations > 0)
    .map(|(operations, because)| Without { operations, because })
    .collect()
}
