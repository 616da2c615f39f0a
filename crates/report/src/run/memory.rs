//! Memory as lines of text: the plain variables, then the chains of nodes that can be reached from
//! the others.

use seriatim_spec::run::{Cell, CellKind, Local, Memory, Node};

/// The lines. A chain begins at a variable and follows the nodes as long as each has one successor
/// and is new; a node that was drawn before is named by its number.
///
/// ```
/// use seriatim_report::run::memory::lines;
/// use seriatim_spec::run::{Cell, CellKind, Memory, Node};
/// let cell = |name: &str, value: &str, node, kind| {
///     Cell { name: name.to_owned(), value: value.to_owned(), node, kind }
/// };
/// let next = cell("next", "null", None, CellKind::Reference);
/// let fields = vec![cell("val", "7", None, CellKind::Plain), next];
/// let node = Node { id: 0, kind: "Node".to_owned(), fields, freed: false };
/// let top = cell("top", "#0", Some(0), CellKind::Reference);
/// let memory = Memory { variables: vec![top], nodes: vec![node], locals: vec![] };
/// assert_eq!(lines(&memory), ["top → #0[val=7] → null"]);
/// ```
pub fn lines(memory: &Memory) -> Vec<String> {
    let mut drawing = Drawing { memory, drawn: vec![], lines: vec![] };
    // A tuple without a node is a value like any other.
    let is_reference = |cell: &&Cell| {
        cell.kind == CellKind::Reference && (cell.node.is_some() || beside(cell).is_none())
    };
    let plain = memory.variables.iter().filter(|cell| !is_reference(cell));
    let plain: Vec<String> = plain.map(|cell| format!("{} = {}", cell.name, cell.value)).collect();
    if !plain.is_empty() {
        drawing.lines.push(plain.join(", "));
    }
    for cell in memory.variables.iter().filter(is_reference) {
        drawing.chain(with_rest(cell.name.clone(), cell), cell);
    }
    let named = |local: &Local| format!("t{}.{}", local.thread, local.cell.name);
    let (references, plain): (Vec<&Local>, Vec<&Local>) =
        memory.locals.iter().partition(|local| is_reference(&&local.cell));
    let plain: Vec<String> =
        plain.iter().map(|local| format!("{} = {}", named(local), local.cell.value)).collect();
    for local in references {
        drawing.chain(with_rest(named(local), &local.cell), &local.cell);
    }
    if !plain.is_empty() {
        drawing.lines.push(plain.join(", "));
    }
    drawing.lines
}

struct Drawing<'m> {
    memory: &'m Memory,
    drawn: Vec<u32>,
    lines: Vec<String>,
}

impl<'m> Drawing<'m> {
    fn chain(&mut self, mut line: String, first: &'m Cell) {
        let mut cell = first;
        let mut branches: Vec<&Cell> = Vec::new();
        // `line` shows everything up to `cell`, which is not drawn yet.
        loop {
            let known = |id: u32| self.memory.nodes.iter().find(|node| node.id == id);
            let Some(node) = cell.node.and_then(known).filter(|n| !self.drawn.contains(&n.id))
            else {
                line += &format!(" → {}", target(cell));
                break;
            };
            self.drawn.push(node.id);
            let next = references(node);
            let via = cell.value.strip_suffix(&format!("#{}", node.id)).unwrap_or_default();
            line += &format!(" → {via}{}", shown(node, next.len() == 1));
            match next[..] {
                [only] => cell = only,
                _ => {
                    branches = next;
                    break;
                }
            }
        }
        self.lines.push(line);
        for cell in branches {
            if let Some(id) = cell.node.filter(|id| !self.drawn.contains(id)) {
                self.chain(format!("  #{id}"), cell);
            }
        }
    }
}

fn references(node: &Node) -> Vec<&Cell> {
    node.fields.iter().filter(|cell| cell.kind == CellKind::Reference).collect()
}

/// A node; without its successor if the chain goes on with it.
fn shown(node: &Node, goes_on: bool) -> String {
    let fields = node.fields.iter().filter_map(|cell| field(cell, goes_on));
    let mut text = fields.collect::<Vec<_>>().join(" ");
    if node.freed {
        text = format!("freed {text}");
    }
    format!("#{}[{text}]", node.id)
}

/// A field as text; a reference that the chain shows, a lock that is free and a mark that is not
/// set are left out.
fn field(cell: &Cell, goes_on: bool) -> Option<String> {
    match cell.kind {
        CellKind::Reference if goes_on => beside(cell).map(|rest| format!("{} {rest}", cell.name)),
        CellKind::Lock => (cell.value != "free").then(|| "locked".to_owned()),
        CellKind::Flag => (cell.value == "true").then(|| cell.name.clone()),
        _ => Some(format!("{}={}", cell.name, cell.value)),
    }
}

/// The node of a reference; that of a tuple without the rest of it.
fn target(cell: &Cell) -> String {
    match (cell.node, parts(cell)) {
        (_, None) => cell.value.clone(),
        (None, _) => "null".to_owned(),
        (Some(id), _) => format!("#{id}"),
    }
}

/// What a tuple holds beside its node, `(…, true)`; nothing if these are marks that are not set.
fn beside(cell: &Cell) -> Option<String> {
    let node = target(cell);
    let parts = parts(cell)?;
    let is_node = |part: &&str| **part == node;
    let is_told = parts.iter().any(|part| !is_node(part) && *part != "false");
    let shown: Vec<&str> = parts.iter().map(|p| if is_node(p) { "…" } else { p }).collect();
    is_told.then(|| format!("({})", shown.join(", ")))
}

/// The parts of a tuple.
fn parts(cell: &Cell) -> Option<Vec<&str>> {
    Some(cell.value.strip_prefix('(')?.strip_suffix(')')?.split(", ").collect())
}

/// A name, and what the variable of that name holds beside its node.
fn with_rest(name: String, cell: &Cell) -> String {
    beside(cell).map_or(name.clone(), |rest| format!("{name} {rest}"))
}
