//! Where the bars of a timeline stand: a time axis that keeps the order of events and nothing else.
//!
//! Events (beginnings and ends of bars) are placed from left to right in the order in which they
//! happened, each as far left as its predecessors and the labels allow: an event stands at least
//! one column after the one before it, a bar is as wide as its label. Two bars overlap on the
//! screen exactly if they overlap in time (events of one instant are placed beginnings first, and
//! may share a column). When the next event does not fit into the width, a new *band* begins at the
//! left margin and open bars are continued there. A beginning whose label does not fit any more
//! also starts a new band, so every label stands whole in the band in which its bar begins. Cost:
//! O(n log n).

use seriatim_history::Time;

/// Something with an extent in time.
#[derive(Clone, Debug)]
pub struct Bar {
    /// The row that it is drawn in. Bars of one row do not overlap.
    pub row: usize,
    /// When it begins.
    pub start: Time,
    /// When it ends; `None` if that is not known.
    pub end: Option<Time>,
    /// The columns that it must have.
    pub width: usize,
}

/// The piece of a bar that lies in one band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Which bar.
    pub bar: usize,
    /// The band, from the top.
    pub band: usize,
    /// The first column.
    pub from: usize,
    /// The last column.
    pub to: usize,
    /// Whether the bar begins here.
    pub begins: bool,
    /// Whether the bar ends here.
    pub ends: bool,
}

/// Lays bars out in bands of at most `width` columns; gives the segments by band.
pub fn layout(bars: &[Bar], width: usize) -> Vec<Segment> {
    let mut events: Vec<(Time, Kind, usize)> = Vec::with_capacity(2 * bars.len());
    for (index, bar) in bars.iter().enumerate() {
        events.push((bar.start, Kind::Begin, index));
        events.extend(bar.end.map(|end| (end, Kind::End, index)));
    }
    events.sort_unstable();
    let mut pen = Pen::new(bars, width);
    for (time, kind, bar) in events {
        match kind {
            Kind::Begin => pen.begin(bar, time),
            Kind::End => pen.end(bar, time),
        }
    }
    pen.finish()
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kind {
    Begin,
    End,
}

struct Pen<'b> {
    bars: &'b [Bar],
    width: usize,
    band: usize,
    /// The last event of the band: its column, time and kind.
    last: Option<(usize, Time, Kind)>,
    /// The open bars of this band with their first column and whether they began in it.
    open: Vec<(usize, usize, bool)>,
    segments: Vec<Segment>,
}

impl<'b> Pen<'b> {
    fn new(bars: &'b [Bar], width: usize) -> Self {
        Pen { bars, width, band: 0, last: None, open: Vec::new(), segments: Vec::new() }
    }

    fn begin(&mut self, bar: usize, time: Time) {
        let row = self.bars[bar].row;
        // A bar without end gives way to the next bar of its row.
        let blocked = self.open.iter().position(|&(other, ..)| self.bars[other].row == row);
        let after_blocked = blocked.map_or(0, |place| {
            let (other, from, begins) = self.open[place];
            from + if begins { self.bars[other].width } else { 1 } + 1
        });
        let column = self.next_column(time, Kind::Begin).max(after_blocked);
        if column + self.bars[bar].width > self.width && self.last.is_some() {
            self.break_band();
            return self.begin(bar, time);
        }
        if let Some(place) = blocked {
            let (other, from, begins) = self.open.remove(place);
            self.push(other, from, column.saturating_sub(2), begins, false);
        }
        self.open.push((bar, column, true));
        self.last = Some((column, time, Kind::Begin));
    }

    fn end(&mut self, bar: usize, time: Time) {
        let Some(place) = self.open.iter().position(|&(open, ..)| open == bar) else { return };
        let (_, from, begins) = self.open[place];
        let needed = if begins { from + self.bars[bar].width - 1 } else { 1 };
        let column = self.next_column(time, Kind::End).max(needed);
        if column >= self.width && self.last.is_some() {
            self.break_band();
            return self.end(bar, time);
        }
        self.open.remove(place);
        self.push(bar, from, column, begins, true);
        self.last = Some((column, time, Kind::End));
    }

    fn next_column(&self, time: Time, kind: Kind) -> usize {
        let margin = usize::from(self.band > 0);
        self.last.map_or(margin, |(column, last_time, last_kind)| match (last_kind, kind) {
            _ if last_time == time => column,
            (Kind::End, Kind::Begin) => column + 2,
            _ => column + 1,
        })
    }

    fn break_band(&mut self) {
        for (bar, from, begins) in std::mem::take(&mut self.open) {
            self.push(bar, from, self.width - 1, begins, false);
            self.open.push((bar, 0, false));
        }
        self.band += 1;
        self.last = None;
    }

    fn finish(mut self) -> Vec<Segment> {
        let last = self.last.map_or(0, |(column, ..)| column + 2);
        let ends = self.open.iter().map(
            |&(bar, from, begins)| {
                if begins { from + self.bars[bar].width } else { 2 }
            },
        );
        let edge = ends.chain([last]).max().unwrap_or(0).min(self.width - 1);
        for (bar, from, begins) in std::mem::take(&mut self.open) {
            self.push(bar, from, edge, begins, false);
        }
        self.segments.sort_by_key(|segment| (segment.band, segment.from));
        self.segments
    }

    fn push(&mut self, bar: usize, from: usize, to: usize, begins: bool, ends: bool) {
        let to = to.max(from);
        self.segments.push(Segment { bar, band: self.band, from, to, begins, ends });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random, from a seed.
    fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        move |below| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        }
    }

    fn random_bars(seed: u64) -> Vec<Bar> {
        let mut next = numbers(seed);
        let mut bars = Vec::new();
        for row in 0..1 + next(4) as usize {
            let mut now = next(10);
            for _ in 0..next(5) {
                let end = now + next(12);
                let is_open = next(5) == 0;
                let width = 3 + next(12) as usize;
                bars.push(Bar { row, start: now, end: (!is_open).then_some(end), width });
                now = end + 1 + next(6);
            }
        }
        bars
    }

    /// Where an event of a bar is drawn, in reading order.
    fn place(segments: &[Segment], bar: usize, begins: bool) -> Option<(usize, usize)> {
        let mut own = segments.iter().filter(|segment| segment.bar == bar);
        let segment = own.find(|s| if begins { s.begins } else { s.ends })?;
        Some((segment.band, if begins { segment.from } else { segment.to }))
    }

    #[test]
    fn bars_overlap_on_the_screen_exactly_if_they_overlap_in_time() {
        for seed in 0..2_000 {
            let bars = random_bars(seed);
            for width in [20, 30, 200] {
                let segments = layout(&bars, width);
                for (a, first) in bars.iter().enumerate() {
                    for (b, second) in bars.iter().enumerate() {
                        let Some(end) = first.end else { continue };
                        let end_place = place(&segments, a, false).expect("it ends somewhere");
                        let start_place = place(&segments, b, true).expect("it begins somewhere");
                        assert_eq!(
                            end < second.start,
                            end_place < start_place,
                            "seed {seed}, width {width}: {first:?} {second:?} {segments:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn segments_of_a_row_are_apart_and_inside_the_width_and_hold_their_labels() {
        for seed in 0..2_000 {
            let bars = random_bars(seed);
            for width in [20, 33, 200] {
                let segments = layout(&bars, width);
                for segment in &segments {
                    assert!(segment.to < width, "{segment:?}");
                    let columns = segment.to + 1 - segment.from;
                    let needed = if segment.begins { bars[segment.bar].width } else { 1 };
                    assert!(
                        columns >= needed,
                        "seed {seed}: {segment:?} of {:?}",
                        bars[segment.bar]
                    );
                }
                for pair in segments.iter().flat_map(|a| segments.iter().map(move |b| (a, b))) {
                    let (a, b) = pair;
                    let same_row = bars[a.bar].row == bars[b.bar].row && a.band == b.band;
                    let apart = a.to < b.from || b.to < a.from;
                    assert!(a == b || !same_row || apart, "seed {seed}: {a:?} {b:?}");
                }
            }
        }
    }
}
