//! What memory looks like at a moment of a run, as text: the shared variables, the chains of nodes that hang from them, and
//! what else the threads know.

use crate::subject::Subject;
use seriatim_lang::machine::{FREED, Machine, State};
use seriatim_lang::spec::Datum;
use seriatim_lang::steps::{NULL, Slot};
use seriatim_lang::types::{Kind, Scalar};

/// The lines of the picture. A node has the same number in all pictures of a run.
pub fn picture(subject: &Subject, state: &State) -> Vec<String> {
    let machine = &subject.machine;
    let mut drawing = Drawing { machine, state, drawn: vec![], lines: vec![] };
    let shared = || machine.steps.shared.iter().zip(&state.words);
    let plain: Vec<String> = shared()
        .filter(|(slot, _)| !is_reference(slot.kind))
        .map(|(slot, word)| format!("{} = {}", slot.name, datum(slot.kind, *word)))
        .collect();
    if !plain.is_empty() {
        drawing.lines.push(plain.join(", "));
    }
    for (slot, word) in shared().filter(|(slot, _)| is_reference(slot.kind)) {
        drawing.chain(&slot.name, *word);
    }
    for thread in 0..machine.thread_count() {
        let location = &subject.locations[subject.location(state, thread) as usize];
        let base = machine.thread_base(thread) + 2;
        for (register, kind) in &location.registers {
            let slot = machine.steps.register(location.pc, seriatim_lang::steps::Reg(*register));
            let word = state.words[base + *register as usize];
            if let Some(slot) = slot
                && is_reference(*kind)
                && word != NULL
            {
                drawing.chain(&format!("t{thread}.{}", slot.name), word);
            }
        }
    }
    drawing.lines
}

struct Drawing<'d> {
    machine: &'d Machine,
    state: &'d State,
    drawn: Vec<i32>,
    lines: Vec<String>,
}

impl Drawing<'_> {
    /// A line that begins at a variable and follows the nodes as long as each has one successor and is new.
    fn chain(&mut self, name: &str, first: i32) {
        let mut line = name.to_string();
        let mut todo = Vec::new();
        let mut word = first;
        loop {
            if word == NULL {
                line += " → null";
                break;
            }
            if self.drawn.contains(&word) {
                line += &format!(" → #{word}");
                break;
            }
            self.drawn.push(word);
            let (text, next) = self.node(word);
            line += &format!(" → {text}");
            match next.as_slice() {
                [only] => word = *only,
                several => {
                    todo.extend(several.iter().copied().filter(|w| *w != NULL));
                    break;
                }
            }
        }
        self.lines.push(line);
        for word in todo {
            if !self.drawn.contains(&word) {
                self.chain(&format!("  #{word}"), word);
            }
        }
    }

    /// A node without its successors, and its successors.
    fn node(&self, word: i32) -> (String, Vec<i32>) {
        let stride = self.machine.node_stride();
        let cells = &self.state.heap[word as usize * stride..(word as usize + 1) * stride];
        let layout = &self.machine.steps.structs[(cells[0] & (FREED - 1)) as usize];
        let fields = || layout.slots.iter().zip(&cells[1..]);
        let next: Vec<i32> =
            fields().filter(|(slot, _)| is_reference(slot.kind)).map(|(_, word)| *word).collect();
        let single = next.len() == 1;
        let shown = fields().filter_map(|(slot, word)| field(slot, *word, single));
        let mut text = shown.collect::<Vec<_>>().join(" ");
        if cells[0] & FREED != 0 {
            text = format!("freed {text}");
        }
        (format!("#{word}[{text}]"), next)
    }
}

/// A field as text; a reference that the chain shows, a lock that is free and a mark that is not set are left out.
fn field(slot: &Slot, word: i32, single: bool) -> Option<String> {
    match slot.kind.scalar {
        Scalar::Ref(_) if single => None,
        Scalar::Ref(_) if word == NULL => Some(format!("{}=null", slot.name)),
        Scalar::Ref(_) => Some(format!("{}=#{word}", slot.name)),
        Scalar::Lock => (word != 0).then(|| "locked".to_string()),
        Scalar::Bool if word == 0 => None,
        Scalar::Bool if word == 1 => Some(slot.name.clone()),
        _ => Some(format!("{}={}", slot.name, datum(slot.kind, word))),
    }
}

fn datum(kind: Kind, word: i32) -> Datum {
    Datum::from_scalar(kind, word)
}

fn is_reference(kind: Kind) -> bool {
    matches!(kind.scalar, Scalar::Ref(_))
}
