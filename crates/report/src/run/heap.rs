//! Where the nodes of a run stand in its pictures: each has one place, from the first picture to
//! the last.
//!
//! All pictures of the run are laid over each other. An edge is a field that refers to a node at
//! some moment; edges that would close a circle are left out, those that appear first have
//! precedence. A node's column is the length of the longest path that leads to it, so arrows run to
//! the right; a node that nothing ever refers to stands directly before what it refers to. In its
//! column a node takes the highest row that is free and that no arrow between nodes of the same row
//! crosses: a node that is put between two others stands below them, as in textbooks. So the places
//! depend on the whole run and on nothing that changes within it.
//!
//! Places are in pixels; `web/heap.js` draws boxes of this size there.

use serde::Serialize;
use seriatim_spec::run::{Cell, Memory, Node, Run};
use std::collections::{BTreeMap, BTreeSet};

/// Sizes that the script uses, too: a letter, a line, room inside a box, the height of a label with
/// its arrow.
const LETTER: f64 = 7.3;
const LINE: f64 = 19.0;
const PADDING: f64 = 10.0;
const LABEL: f64 = 22.0;
/// Room between columns and rows for arrows.
const BETWEEN_COLUMNS: f64 = 44.0;
const BETWEEN_ROWS: f64 = 24.0;
const MARGIN: f64 = 12.0;
/// A longer value is cut by the script.
const MOST_LETTERS: usize = 24;

/// Where the nodes of a run stand.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Layout {
    width: f64,
    height: f64,
    places: BTreeMap<u32, Place>,
}

/// The box of a node.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Place {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
    row: usize,
}

/// What is known of a node over the whole run.
#[derive(Default)]
struct Shape {
    letters: usize,
    fields: usize,
    /// The most shared variables that refer to it at once, and the most variables of threads.
    above: usize,
    below: usize,
}

impl Layout {
    /// The places for all pictures of a run.
    pub(super) fn of(run: &Run) -> Layout {
        let accesses = run.steps.iter().flat_map(|step| &step.accesses);
        let later = accesses.filter_map(|access| access.memory.as_ref());
        let pictures: Vec<&Memory> = [&run.initial].into_iter().chain(later).collect();
        let mut graph = Graph::default();
        pictures.iter().for_each(|memory| graph.add(memory));
        let columns = graph.columns();
        let rows = graph.rows(&columns);
        graph.measured(&columns, &rows)
    }
}

/// All pictures over each other.
#[derive(Default)]
struct Graph {
    shapes: BTreeMap<u32, Shape>,
    /// The nodes in the order in which they appear.
    nodes: Vec<u32>,
    /// The edges in the order in which they appear, without circles.
    edges: Vec<(u32, u32)>,
}

impl Graph {
    fn add(&mut self, memory: &Memory) {
        for node in &memory.nodes {
            if !self.shapes.contains_key(&node.id) {
                self.nodes.push(node.id);
            }
            let shape = self.shapes.entry(node.id).or_default();
            shape.letters = shape.letters.max(letters(node));
            shape.fields = shape.fields.max(node.fields.len());
            shape.above = shape.above.max(count(memory.variables.iter(), node.id));
            let locals = memory.locals.iter().map(|local| &local.cell);
            shape.below = shape.below.max(count(locals, node.id));
        }
        for node in &memory.nodes {
            for target in node.fields.iter().filter_map(|field| field.node) {
                self.link(node.id, target);
            }
        }
    }

    /// Adds an edge unless it is known or closes a circle.
    fn link(&mut self, from: u32, to: u32) {
        let is_new = !self.edges.contains(&(from, to)) && self.shapes.contains_key(&to);
        if is_new && !self.leads(to, from) {
            self.edges.push((from, to));
        }
    }

    fn leads(&self, from: u32, to: u32) -> bool {
        let (mut todo, mut seen) = (vec![from], BTreeSet::from([from]));
        while let Some(node) = todo.pop() {
            if node == to {
                return true;
            }
            let next = self.edges.iter().filter(|edge| edge.0 == node).map(|edge| edge.1);
            todo.extend(next.filter(|next| seen.insert(*next)));
        }
        false
    }

    /// The length of the longest path to each node.
    fn columns(&self) -> BTreeMap<u32, usize> {
        let mut columns: BTreeMap<u32, usize> = self.nodes.iter().map(|node| (*node, 0)).collect();
        // There is no circle, so no path is longer than there are nodes, and this ends.
        for _ in &self.nodes {
            for (from, to) in &self.edges {
                columns.insert(*to, columns[to].max(columns[from] + 1));
            }
        }
        for node in &self.nodes {
            let is_source = self.edges.iter().all(|edge| edge.1 != *node);
            let targets =
                self.edges.iter().filter(|edge| edge.0 == *node).map(|edge| columns[&edge.1]);
            if let Some(nearest) = targets.min().filter(|_| is_source) {
                columns.insert(*node, nearest - 1);
            }
        }
        columns
    }

    /// The highest row of each node that is free for it.
    fn rows(&self, columns: &BTreeMap<u32, usize>) -> BTreeMap<u32, usize> {
        let mut rows: BTreeMap<u32, usize> = BTreeMap::new();
        for node in &self.nodes {
            let column = columns[node];
            let row = (0..)
                .find(|row| {
                    let in_row = |other: &u32| rows.get(other) == Some(row);
                    let taken = rows.keys().any(|other| in_row(other) && columns[other] == column);
                    let is_between = |a: u32, b: u32, middle: usize| {
                        let (low, high) =
                            (columns[&a].min(columns[&b]), columns[&a].max(columns[&b]));
                        low < middle && middle < high
                    };
                    let crossed = self.edges.iter().any(|(from, to)| {
                        let passes = in_row(from) && in_row(to) && is_between(*from, *to, column);
                        // Its own arrow would cross somebody else.
                        let own = [(from, to), (to, from)].into_iter().any(|(one, other)| {
                            one == node
                                && in_row(other)
                                && rows.keys().any(|third| {
                                    in_row(third) && is_between(*node, *other, columns[third])
                                })
                        });
                        passes || own
                    });
                    !taken && !crossed
                })
                .unwrap_or(0);
            rows.insert(*node, row);
        }
        rows
    }

    /// Columns as wide and rows as high as their largest node, with its labels.
    fn measured(&self, columns: &BTreeMap<u32, usize>, rows: &BTreeMap<u32, usize>) -> Layout {
        let width = |node: &u32| self.shapes[node].letters as f64 * LETTER + 2.0 * PADDING;
        let height = |node: &u32| (self.shapes[node].fields + 1) as f64 * LINE + 6.0;
        let above = |node: &u32| self.shapes[node].above as f64 * LABEL;
        let below = |node: &u32| self.shapes[node].below as f64 * LABEL;
        let largest = |group: &BTreeMap<u32, usize>, size: &dyn Fn(&u32) -> f64| {
            let mut sizes = vec![0.0_f64; group.values().max().map_or(0, |most| most + 1)];
            group.iter().for_each(|(node, at)| sizes[*at] = sizes[*at].max(size(node)));
            sizes
        };
        let widths = largest(columns, &width);
        let (over, heights, under) =
            (largest(rows, &above), largest(rows, &height), largest(rows, &below));
        let lefts = running(MARGIN, widths.iter().map(|width| width + BETWEEN_COLUMNS));
        let whole =
            over.iter().zip(&heights).zip(&under).map(|((o, h), u)| o + h + u + BETWEEN_ROWS);
        let tops = running(MARGIN, whole);
        let place = |node: &u32| Place {
            x: lefts[columns[node]],
            y: tops[rows[node]] + over[rows[node]],
            width: width(node),
            height: height(node),
            row: rows[node],
        };
        Layout {
            width: lefts.last().map_or(0.0, |end| end - BETWEEN_COLUMNS + MARGIN),
            height: tops.last().map_or(0.0, |end| end - BETWEEN_ROWS + MARGIN),
            places: self.nodes.iter().map(|node| (*node, place(node))).collect(),
        }
    }
}

/// How wide a node must be, in letters: its title, or a field with its name.
fn letters(node: &Node) -> usize {
    let title = node.kind.chars().count() + node.id.to_string().len() + 2;
    let field = |cell: &Cell| {
        let name = cell.name.chars().count().min(MOST_LETTERS);
        let value = cell.value.chars().count().min(MOST_LETTERS);
        // The arrow of a tuple begins behind its value; that of a reference is all there is of it.
        let arrow = if cell.node.is_some() && cell.value.starts_with('(') { 2 } else { 0 };
        name + 2 + value + arrow
    };
    node.fields.iter().map(field).chain([title]).max().unwrap_or(0)
}

fn count<'c>(cells: impl Iterator<Item = &'c Cell>, node: u32) -> usize {
    cells.filter(|cell| cell.node == Some(node)).count()
}

/// Where each of some sizes begins, and where the last one ends.
fn running(start: f64, sizes: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sums = vec![start];
    sums.extend(sizes.scan(start, |sum, size| {
        *sum += size;
        Some(*sum)
    }));
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use seriatim_spec::run::{Access, Action, CellKind, Step};

    /// A picture of nodes, each with what its field refers to.
    fn memory(nodes: &[(u32, Option<u32>)]) -> Memory {
        let node = |&(id, next): &(u32, Option<u32>)| {
            let value = next.map_or("null".to_owned(), |next| format!("#{next}"));
            let fields = vec![Cell {
                name: "next".to_owned(),
                value,
                node: next,
                kind: CellKind::Reference,
            }];
            Node { id, kind: "Node".to_owned(), fields, freed: false }
        };
        Memory { nodes: nodes.iter().map(node).collect(), ..Memory::default() }
    }

    fn run(pictures: &[Memory]) -> Run {
        let access = |memory: &Memory| {
            let access = Access::spoken(Action::Local);
            Access { memory: Some(memory.clone()), ..access }
        };
        let accesses = pictures[1..].iter().map(access).collect();
        let steps = vec![Step { thread: 0, accesses }];
        Run { threads: 1, initial: pictures[0].clone(), steps, ..Run::default() }
    }

    #[test]
    fn a_node_that_is_put_between_two_others_stands_below_them() {
        let before = memory(&[(0, Some(1)), (1, None)]);
        let apart = memory(&[(0, Some(1)), (1, None), (2, Some(1))]);
        let linked = memory(&[(0, Some(2)), (1, None), (2, Some(1))]);
        let places = Layout::of(&run(&[before, apart, linked])).places;
        assert!(places[&0].x < places[&2].x && places[&2].x < places[&1].x);
        assert_eq!((places[&0].row, places[&1].row, places[&2].row), (0, 0, 1));
    }

    #[test]
    fn no_two_boxes_touch_whatever_refers_to_whatever() {
        // All graphs of four nodes with one field each, after the first two were there alone.
        let targets = [None, Some(0), Some(1), Some(2), Some(3)];
        for code in 0..targets.len().pow(4) {
            let target = |node: u32| targets[code / targets.len().pow(node) % targets.len()];
            let all: Vec<(u32, Option<u32>)> = (0..4).map(|node| (node, target(node))).collect();
            let layout = Layout::of(&run(&[memory(&all[..2]), memory(&all)]));
            let boxes: Vec<&Place> = layout.places.values().collect();
            for (index, one) in boxes.iter().enumerate() {
                assert!(one.x + one.width <= layout.width && one.y + one.height <= layout.height);
                for other in &boxes[index + 1..] {
                    let apart = one.x + one.width < other.x
                        || other.x + other.width < one.x
                        || one.y + one.height < other.y
                        || other.y + other.height < one.y;
                    assert!(apart, "{all:?}: {one:?} {other:?}");
                }
            }
        }
    }
}
