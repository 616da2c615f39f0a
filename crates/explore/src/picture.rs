//! What memory looks like at a moment of a run: the shared variables, the nodes, what the threads know of them; and the same
//! as lines of text, along the chains of nodes that hang from the variables.

use crate::watch::scalar;
use seriatim_lang::machine::{FREED, Machine, State, VACANT};
use seriatim_lang::spec::Datum;
use seriatim_lang::steps::{NULL, Reg, Slot};
use seriatim_lang::types::{Kind, Scalar};
use seriatim_spec::run::{Cell, Local, Memory, Node};

/// Memory at a moment. A node has the same number in all pictures of a run.
pub fn memory(machine: &Machine, state: &State) -> Memory {
    let stride = machine.node_stride();
    let cell = |slot: &Slot, word: i32| Cell {
        name: slot.name.clone(),
        value: scalar(slot.kind, word),
        node: (is_reference(slot.kind) && word != NULL).then_some(word as u32),
    };
    let cells = |slots: &[Slot], words: &[i32]| {
        slots.iter().zip(words).map(|(slot, word)| cell(slot, *word)).collect()
    };
    let node = |(id, words): (usize, &[i32])| {
        let layout = machine.steps.structs.get((words[0] & (FREED - 1)) as usize)?;
        Some(Node {
            id: id as u32,
            kind: layout.name.clone(),
            fields: cells(&layout.slots, &words[1..]),
            freed: words[0] & FREED != 0,
        })
    };
    let alive = |(_, words): &(usize, &[i32])| words[0] != VACANT;
    let nodes = state.heap.chunks_exact(stride).enumerate().filter(alive).filter_map(node);
    Memory {
        variables: cells(&machine.steps.shared, &state.words),
        nodes: nodes.collect(),
        locals: locals(machine, state),
        lines: picture(machine, state),
    }
}

/// The variables of threads that refer to nodes. A variable that was not assigned yet is null, and so is every one of an
/// operation that has ended.
fn locals(machine: &Machine, state: &State) -> Vec<Local> {
    let mut found = Vec::new();
    for thread in 0..machine.thread_count() {
        let pc = machine.pc(state, thread);
        let base = machine.thread_base(thread) + 2;
        for register in 0..machine.steps.register_count() {
            let Some(slot) = machine.steps.register(pc, Reg(register as u32)) else { continue };
            let word = state.words[base + register];
            if is_reference(slot.kind) && word != NULL && !slot.name.starts_with('_') {
                let value = scalar(slot.kind, word);
                let cell = Cell { name: slot.name.clone(), value, node: Some(word as u32) };
                // What is called the same in an inner function has ended with it.
                found.retain(|l: &Local| l.thread != thread || l.cell.name != cell.name);
                found.push(Local { thread, cell });
            }
        }
    }
    found
}

/// The lines of the picture.
fn picture(machine: &Machine, state: &State) -> Vec<String> {
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
    for Local { thread, cell } in locals(machine, state) {
        if let Some(node) = cell.node {
            drawing.chain(&format!("t{thread}.{}", cell.name), node as i32);
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
