//! The counterexample as a drawing: one row per process, one bar per operation.

use super::layout::{Bar, Segment, layout};
use super::style::{Paint, Style};
use crate::labels::Labels;
use crate::text;
use hashbrown::HashMap;
use seriatim_history::{Annotation, History, Horizon, OpId, ProcessId, Time};
use seriatim_spec::Counterexample;

/// The most annotations that are drawn above the operations.
const MOST_ANNOTATIONS: usize = 4;
/// The longest label of a bar and the longest name of a row, in columns.
const LONGEST_LABEL: usize = 40;
const LONGEST_NAME: usize = 18;

/// What a bar stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Placed,
    Stuck,
    Pending,
    Around,
}

struct Drawing<'s> {
    style: &'s Style,
    rows: Vec<String>,
    row_of: HashMap<ProcessId, usize>,
    bars: Vec<Bar>,
    labels: Vec<(Kind, String)>,
}

/// The lines of the timeline of some operations, without indentation.
pub(super) fn timeline(
    labels: &Labels<'_>,
    counterexample: &Counterexample,
    operations: &[OpId],
    stuck: &[OpId],
    style: &Style,
) -> Vec<String> {
    let mut drawing = Drawing {
        style,
        rows: Vec::new(),
        row_of: HashMap::new(),
        bars: Vec::new(),
        labels: Vec::new(),
    };
    let longest = (style.columns() - 12).min(LONGEST_LABEL + LONGEST_NAME);
    let name_width = longest / 3;
    drawing.annotations(labels.history, operations, name_width);
    drawing.name_rows(labels.history, operations, name_width);
    drawing.operations(labels, counterexample, operations, stuck);
    drawing.lines()
}

impl Drawing<'_> {
    fn annotations(&mut self, history: &History, operations: &[OpId], name_width: usize) {
        let Some((from, to)) = extent(history, operations) else { return };
        let overlaps = |a: &&Annotation| a.start <= to && a.end >= from;
        for annotation in history.annotations().iter().filter(overlaps).take(MOST_ANNOTATIONS) {
            let label = self.label(&annotation.text);
            let (start, end) = (annotation.start.max(from), annotation.end.min(to));
            self.bars.push(Bar {
                row: self.rows.len(),
                start,
                end: Some(end),
                width: text::columns(&label) + 6,
            });
            self.labels.push((Kind::Around, label));
            let group = if annotation.group.is_empty() { "around" } else { &annotation.group };
            self.rows.push(self.style.fitted(group, name_width));
        }
    }

    /// A row for each process, in the order of their names.
    fn name_rows(&mut self, history: &History, operations: &[OpId], name_width: usize) {
        let mut processes: Vec<ProcessId> =
            operations.iter().map(|&op| history.process(op)).collect();
        processes.sort_unstable_by_key(|&process| (history.process_name(process), process));
        processes.dedup();
        for process in processes {
            self.row_of.insert(process, self.rows.len());
            self.rows.push(self.style.fitted(&text::process(history, process), name_width));
        }
    }

    fn operations(
        &mut self,
        labels: &Labels<'_>,
        counterexample: &Counterexample,
        operations: &[OpId],
        stuck: &[OpId],
    ) {
        let history = labels.history;
        for &op in operations {
            let returns = crate::report::returns_within(history, op, counterexample.horizon);
            let row = self.row_of[&history.process(op)];
            let horizon =
                if returns { counterexample.horizon } else { Horizon::Until(history.call(op)) };
            let label = match returns {
                true => labels.whole(op, horizon, self.style.arrow()),
                false => labels.unreturned(op, horizon),
            };
            let label = self.label(&label);
            let kind = match (stuck.contains(&op), returns) {
                (true, _) => Kind::Stuck,
                (_, false) => Kind::Pending,
                _ => Kind::Placed,
            };
            self.bars.push(Bar {
                row,
                start: history.call(op),
                end: history.ret(op).filter(|_| returns),
                width: text::columns(&label) + 6,
            });
            self.labels.push((kind, label));
        }
    }

    fn label(&self, label: &str) -> String {
        let room = (self.style.columns() * 2 / 3).saturating_sub(12).min(LONGEST_LABEL);
        self.style.fitted(label, room)
    }

    fn lines(&self) -> Vec<String> {
        let margin = self.rows.iter().map(|row| text::columns(row)).max().unwrap_or(0) + 2;
        let width = self.style.columns().saturating_sub(margin + 3).max(24);
        let segments = layout(&self.bars, width);
        let mut lines = Vec::new();
        for band in segments.chunk_by(|a, b| a.band == b.band) {
            if !lines.is_empty() {
                lines.push(String::new());
            }
            for (row, name) in self.rows.iter().enumerate() {
                let mut own = band.iter().filter(|s| self.bars[s.bar].row == row).peekable();
                if own.peek().is_none() {
                    continue;
                }
                let mut line = Line::new(self.style);
                line.write(0, name, Paint::Faint);
                own.for_each(|segment| self.draw(segment, margin, &mut line));
                lines.push(line.finish());
            }
        }
        lines
    }

    fn draw(&self, segment: &Segment, margin: usize, line: &mut Line<'_>) {
        let (kind, label) = &self.labels[segment.bar];
        let (from, to) = (segment.from + margin, segment.to + margin);
        let pen = Pencil::of(*kind, self.style);
        line.write(from, &pen.rule.repeat(to + 1 - from), pen.paint);
        if segment.begins {
            line.write(from, pen.left, pen.paint);
        }
        match (segment.ends, self.bars[segment.bar].end) {
            (true, _) => line.write(to, pen.right, pen.paint),
            (false, None) => line.write(to, self.style.pick("…", ">"), pen.paint),
            (false, Some(_)) => {}
        }
        let columns = text::columns(label);
        if columns + 6 <= to + 1 - from {
            line.write(from + 2, &format!(" {label} "), pen.label);
        }
    }
}

/// From the first call to the last event of some operations.
fn extent(history: &History, operations: &[OpId]) -> Option<(Time, Time)> {
    let from = operations.iter().map(|&op| history.call(op)).min()?;
    let ends = operations.iter().map(|&op| history.ret(op).unwrap_or(history.call(op)));
    Some((from, ends.max()?))
}

/// What a kind of bar is drawn with.
struct Pencil {
    left: &'static str,
    rule: &'static str,
    right: &'static str,
    paint: Paint,
    label: Paint,
}

impl Pencil {
    fn of(kind: Kind, style: &Style) -> Pencil {
        let (left, rule, right) = match kind {
            Kind::Placed => style.pick(("├", "─", "┤"), ("|", "-", "|")),
            Kind::Stuck => style.pick(("┣", "━", "┫"), ("#", "=", "#")),
            Kind::Pending => style.pick(("├", "╌", "┤"), ("|", ".", "|")),
            Kind::Around => style.pick(("╞", "═", "╡"), ("*", "~", "*")),
        };
        let (paint, label) = match kind {
            Kind::Placed => (Paint::Faint, Paint::Plain),
            Kind::Stuck => (Paint::Bad, Paint::Bad),
            Kind::Pending => (Paint::Open, Paint::Plain),
            Kind::Around => (Paint::Around, Paint::Around),
        };
        Pencil { left, rule, right, paint, label }
    }
}

/// A line that is written by column.
struct Line<'s> {
    style: &'s Style,
    cells: Vec<(Option<char>, Paint)>,
}

impl<'s> Line<'s> {
    fn new(style: &'s Style) -> Self {
        Line { style, cells: Vec::new() }
    }

    fn write(&mut self, column: usize, text: &str, paint: Paint) {
        let mut place = column;
        for character in text.chars() {
            let columns = text::columns_of(character);
            if columns == 0 {
                continue;
            }
            if self.cells.len() < place + columns {
                self.cells.resize(place + columns, (Some(' '), Paint::Plain));
            }
            self.cells[place] = (Some(character), paint);
            // The second half of a wide character.
            self.cells[place + 1..place + columns].fill((None, paint));
            place += columns;
        }
    }

    fn finish(self) -> String {
        let mut text = String::new();
        for run in self.cells.chunk_by(|a, b| a.1 == b.1) {
            let piece: String = run.iter().filter_map(|(character, _)| *character).collect();
            text.push_str(&self.style.paint(run[0].1, &piece));
        }
        text
    }
}
