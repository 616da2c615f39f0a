//! Stacks and priority queues whose values may repeat.
//!
//! **Decides** whether a history is linearizable when equal values are inserted more than once.
//!
//! **Theorem.** It is iff some *matching*, which says for every removal which of the equal
//! insertions it removed, makes the history one of distinct values that is linearizable.
//!
//! **How.** (1) The values that occur once, alone, must be right: leaving all operations of a value
//! out keeps a right history right. (2) Guess a matching: give each removal, by return, the latest
//! called equal insertion that is left (what a stack would do if nothing waited), or the earliest.
//! (3) Run the monitor of distinct values. If it finds an order, done. If it is stuck on a core of
//! values that has no order under the matching, then every right matching differs on some copy in
//! the core: branch on these, the n-th branch keeping the first n - 1 copies as they are. If the
//! core has no repeated value, or every branch fails, the history is wrong.
//!
//! **Cost.** O(n log n) times the number of matchings tried: usually one.
//!
//! **Precondition.** No peek of a value that repeats; no `is_empty` that nothing forces; at most
//! [`WORK`] operations looked at in all matchings together, else declined. Where removals are
//! pending, only a guess that is right at once is taken, or a violation among the values that occur
//! once.

use super::container::{Container, Item, Meaning, NEVER, Peek, Rank, Span, meaning};
use super::matching::{Copies, Guess, cuts, guess};
use super::pending::{Core, Discipline, Solution, flawed, minimal, solve, violation};
use super::shrink::shrink;
use super::tune::Tuned;
use super::violation::counterexample;
use super::{Declined, Part};
use hashbrown::HashMap;
use seriatim_history::{OpId, ValueId};
use seriatim_spec::{Verdict, Witness};

/// How many operations are looked at, over all matchings, before the monitor declines.
const WORK: usize = 30_000_000;

/// How many values a counterexample may have before it is made smaller.
const SHRINKABLE: usize = 256;

/// The operations on one value.
#[derive(Clone, Debug, Default)]
struct Value {
    id: Option<ValueId>,
    /// By call.
    inserts: Vec<Span>,
    /// By return.
    removes: Vec<Span>,
    peeks: Vec<Span>,
}

/// A history with its operations by value.
#[derive(Clone, Debug, Default)]
struct Repeats {
    values: Vec<Value>,
    empties: Vec<Span>,
    nonempties: Vec<Span>,
    pending: Vec<Span>,
    end: u32,
}

/// Decides a part of a container's history.
pub(super) fn decide<D: Discipline>(
    discipline: &D,
    part: Part<'_>,
    guess: Guess,
) -> Result<Verdict, Declined> {
    let repeats = Repeats::read(discipline, &part)?;
    if let Some(violation) = repeats.among_single(discipline, part) {
        return Ok(violation);
    }
    if let Some(id) = repeats.peeked_copies() {
        let value = part.history.values().get(id).to_string();
        return Err(Declined::RepeatedValue { value });
    }
    let mut search = Search::new(discipline, &repeats, guess);
    match search.run()? {
        Found::Matching(container) => match solve(discipline, part.history, &container)? {
            Solution::Order(order) => Ok(Verdict::Linearizable(Witness { order })),
            Solution::Cores(_) | Solution::Flaw(_) => {
                let tried = search.nodes;
                Err(Declined::TooManyChoices { tried })
            }
        },
        Found::Nothing(blamed) => Ok(repeats.violation(discipline, blamed, guess)),
    }
}

/// A violation among the values that occur once, whatever the others do.
pub(super) fn among_single<D: Discipline>(
    discipline: &D,
    part: Part<'_>,
) -> Result<Option<Verdict>, Declined> {
    let repeats = Repeats::read(discipline, &part)?;
    Ok(repeats.among_single(discipline, part))
}

impl Repeats {
    fn among_single<D: Discipline>(&self, discipline: &D, part: Part<'_>) -> Option<Verdict> {
        let (history, once) = (part.history, self.occurring_once());
        match solve(discipline, history, &once) {
            Ok(Solution::Cores(core)) => Some(violation(discipline, history, &once, Some(core))),
            Ok(Solution::Flaw(flaw)) => Some(flawed(history, discipline.words(), flaw)),
            Ok(Solution::Order(_)) | Err(_) => None,
        }
    }

    /// A value that repeats and that somebody peeked at.
    fn peeked_copies(&self) -> Option<ValueId> {
        let peeked = |value: &&Value| value.inserts.len() > 1 && !value.peeks.is_empty();
        self.values.iter().find(peeked).and_then(|value| value.id)
    }

    fn read<D: Discipline>(discipline: &D, part: &Part<'_>) -> Result<Self, Declined> {
        let history = part.history;
        let methods = discipline.words().names.methods(history);
        let ranks = part.ranks();
        let mut repeats = Repeats { end: ranks.events, ..Repeats::default() };
        let mut index: HashMap<ValueId, usize> = HashMap::new();
        for (position, op) in part.operations().enumerate() {
            let span = ranks.span(position, op);
            let mut value = |id: ValueId| -> usize {
                let next = index.len();
                let found = *index.entry(id).or_insert(next);
                if found == repeats.values.len() {
                    repeats.values.push(Value { id: Some(id), ..Value::default() });
                }
                found
            };
            match meaning(&methods, history, op)? {
                Meaning::Nothing => {}
                Meaning::Insert(id) => {
                    let value = value(id);
                    repeats.values[value].inserts.push(span);
                }
                Meaning::Remove(id) => {
                    let value = value(id);
                    repeats.values[value].removes.push(span);
                }
                Meaning::Peek(id) => {
                    let value = value(id);
                    repeats.values[value].peeks.push(span);
                }
                Meaning::SawEmpty => repeats.empties.push(span),
                Meaning::SawValues => repeats.nonempties.push(span),
                Meaning::PendingRemoval => repeats.pending.push(span),
            }
        }
        for value in &mut repeats.values {
            value.removes.sort_by_key(|remove| remove.ret);
        }
        Ok(repeats)
    }

    /// The container of the values that are inserted once and removed at most once.
    fn occurring_once(&self) -> Container {
        let mut container = self.frame();
        for value in self.values.iter().filter(|value| value.is_single()) {
            container.push(value, value.inserts[0], value.removes.first().copied());
        }
        container.without_unseen()
    }

    fn frame(&self) -> Container {
        Container {
            empties: self.empties.clone(),
            nonempties: self.nonempties.clone(),
            pending: self.pending.clone(),
            end: self.end,
            ..Container::default()
        }
    }

    /// The violation that a search ended in, shown by the values that it had to blame.
    fn violation<D: Discipline>(&self, discipline: &D, blamed: Blamed, guess: Guess) -> Verdict {
        let part = |values: &[usize]| Repeats {
            values: values.iter().map(|&v| self.values[v].clone()).collect(),
            empties: match blamed.empties {
                true => self.empties.clone(),
                false => Vec::new(),
            },
            nonempties: Vec::new(),
            pending: self.pending.clone(),
            end: self.end,
        };
        let mut values = blamed.values;
        if values.len() <= SHRINKABLE {
            values = shrink(values, |values| {
                let part = part(values);
                let found = Search::new(discipline, &part, guess).run();
                matches!(found, Ok(Found::Nothing(_)))
            });
        }
        let core = part(&values);
        let spans = core.values.iter().flat_map(|value| {
            let spans = value.inserts.iter().chain(&value.removes);
            spans.chain(&value.peeks)
        });
        let operations: Vec<OpId> =
            spans.chain(&core.empties).chain(&core.pending).map(|span| span.op).collect();
        let object = discipline.words().object;
        let sentence =
            format!("no order is right for a {object}, however equal values are told apart");
        counterexample(operations, sentence)
    }
}

impl Value {
    fn copies(&self) -> Copies<'_> {
        Copies { inserts: &self.inserts, removes: &self.removes }
    }

    fn is_single(&self) -> bool {
        self.inserts.len() == 1 && self.removes.len() <= 1
    }
}

impl Container {
    /// Adds one copy of a value.
    fn push(&mut self, value: &Value, insert: Span, remove: Option<Span>) {
        let item = Item::from(self.values.len());
        self.values.push(value.id.unwrap_or(ValueId::NIL));
        self.insert.push(insert);
        self.remove.push(remove.unwrap_or(Span::NONE));
        let peeks = value.peeks.iter();
        self.peeks.extend(peeks.map(|&span| Peek { item, span }));
    }
}

/// Where a search ended.
enum Found {
    /// The container of a matching that is right.
    Matching(Container),
    Nothing(Blamed),
}

/// What no matching makes right.
#[derive(Clone, Debug, Default)]
struct Blamed {
    values: Vec<usize>,
    empties: bool,
}

struct Search<'r, D: Discipline> {
    discipline: &'r D,
    repeats: &'r Repeats,
    guess: Guess,
    /// All insertions: value and position among its insertions.
    copies: Vec<(u32, u32)>,
    /// By value, its first copy.
    first: Vec<u32>,
    /// By copy, its removal's position among the value's removals.
    matched: Vec<Option<u32>>,
    /// By copy, whether it keeps its removal.
    fixed: Vec<bool>,
    blamed: Blamed,
    nodes: usize,
    work: usize,
}

impl<'r, D: Discipline> Search<'r, D> {
    fn new(discipline: &'r D, repeats: &'r Repeats, guess: Guess) -> Self {
        let mut copies = Vec::new();
        let mut first = Vec::new();
        for (index, value) in repeats.values.iter().enumerate() {
            first.push(copies.len() as u32);
            copies.extend((0..value.inserts.len()).map(|copy| (index as u32, copy as u32)));
        }
        Search {
            discipline,
            repeats,
            guess,
            matched: vec![None; copies.len()],
            fixed: vec![false; copies.len()],
            copies,
            first,
            blamed: Blamed::default(),
            nodes: 0,
            work: 0,
        }
    }

    fn run(&mut self) -> Result<Found, Declined> {
        let values = self.repeats.values.iter().map(Value::copies);
        let cuts = cuts(self.repeats.end, &self.repeats.empties, values);
        for value in 0..self.repeats.values.len() {
            if !self.match_value(value, &cuts) {
                let values = vec![value];
                let empties = false;
                return Ok(Found::Nothing(Blamed { values, empties }));
            }
        }
        let found = self.node()?;
        match found {
            Some(container) => Ok(Found::Matching(container)),
            None => {
                self.blamed.values.sort_unstable();
                self.blamed.values.dedup();
                Ok(Found::Nothing(std::mem::take(&mut self.blamed)))
            }
        }
    }

    /// Guesses which copies the removals of a value removed; false if there are not enough.
    fn match_value(&mut self, value: usize, cuts: &[Rank]) -> bool {
        let value_ops = &self.repeats.values[value];
        if value_ops.inserts.is_empty() && !value_ops.peeks.is_empty() {
            return false;
        }
        let Some(matched) = guess(value_ops.copies(), cuts, self.guess) else {
            return false;
        };
        let first = self.first[value] as usize;
        self.matched[first..first + matched.len()].copy_from_slice(&matched);
        true
    }

    /// The container of the present matching. Its items are the copies, without pending ones that
    /// nobody removed.
    fn container(&self) -> (Container, Vec<u32>) {
        let mut container = self.repeats.frame();
        let mut copy_of = Vec::with_capacity(self.copies.len());
        for (copy, &(value, position)) in self.copies.iter().enumerate() {
            let value = &self.repeats.values[value as usize];
            let insert = value.inserts[position as usize];
            let remove = self.matched[copy].map(|remove| value.removes[remove as usize]);
            if insert.ret == NEVER && remove.is_none() && value.peeks.is_empty() {
                continue;
            }
            container.push(value, insert, remove);
            copy_of.push(copy as u32);
        }
        (container, copy_of)
    }

    /// Looks for a right matching that keeps what is fixed.
    fn node(&mut self) -> Result<Option<Container>, Declined> {
        self.nodes += 1;
        self.work += self.copies.len() + 1;
        if self.work > WORK {
            let tried = self.nodes;
            return Err(Declined::TooManyChoices { tried });
        }
        let (mut container, copy_of) = self.container();
        let pending = std::mem::take(&mut container.pending);
        let core = match Tuned::new(&container) {
            Err(_) => return Ok(None),
            Ok(tuned) => match self.discipline.plan(&container, &tuned) {
                Ok(_) => {
                    container.pending = pending;
                    return Ok(Some(container));
                }
                Err(core) => core,
            },
        };
        let core = minimal(self.discipline, &container, core);
        let copies: Vec<u32> = core.items.iter().map(|item| copy_of[item.index()]).collect();
        if !pending.is_empty() {
            let tried = self.nodes;
            return Err(Declined::TooManyChoices { tried });
        }
        self.blame(&core, &copies);
        self.branch(&copies)
    }

    fn blame(&mut self, core: &Core, copies: &[u32]) {
        self.blamed.empties |= core.empty.is_some();
        let values = copies.iter().map(|&copy| self.copies[copy as usize].0 as usize);
        self.blamed.values.extend(values);
    }

    /// Changes the matching of one copy of a core after the other.
    fn branch(&mut self, core: &[u32]) -> Result<Option<Container>, Declined> {
        let free: Vec<u32> = core.iter().copied().filter(|&c| !self.fixed[c as usize]).collect();
        let mut found = None;
        for &copy in &free {
            self.fixed[copy as usize] = true;
            for other in self.others(copy) {
                self.matched.swap(copy as usize, other as usize);
                found = self.node()?;
                self.matched.swap(copy as usize, other as usize);
                if found.is_some() {
                    break;
                }
            }
            if found.is_some() {
                break;
            }
        }
        for &copy in &free {
            self.fixed[copy as usize] = false;
        }
        Ok(found)
    }

    /// The copies of the same value that a copy can exchange its removal with, the nearest first.
    fn others(&self, copy: u32) -> Vec<u32> {
        let (value, position) = self.copies[copy as usize];
        let first = self.first[value as usize];
        let value = &self.repeats.values[value as usize];
        let may_have = |position: u32, remove: Option<u32>| {
            let insert = value.inserts[position as usize];
            remove.is_none_or(|remove| insert.call < value.removes[remove as usize].ret)
        };
        let mine = self.matched[copy as usize];
        let all = first..first + value.inserts.len() as u32;
        let mut others: Vec<u32> = all
            .filter(|&other| {
                let theirs = self.matched[other as usize];
                let moves = other != copy && !self.fixed[other as usize] && theirs != mine;
                moves && may_have(position, theirs) && may_have(other - first, mine)
            })
            .collect();
        others.sort_by_key(|&other| other.abs_diff(copy));
        others
    }
}
