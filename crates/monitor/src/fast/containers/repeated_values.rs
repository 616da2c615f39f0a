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
//! the core: branch on these, the n-th branch keeping the first n - 1 copies as they are. What else
//! can have removed a copy: what now removes an equal one, nothing, or a pending removal. If every
//! branch fails, the history is wrong. (4) Queries that look at more than one value, and peeks at
//! values that repeat, were left out, which keeps a right history right; under the matching found
//! they are woven in (`query_search`).
//!
//! **Cost.** O(n log n) times the number of matchings tried: usually one.
//!
//! **Precondition.** At most [`WORK`] operations looked at in all matchings together and [`DEPTH`]
//! copies changed at once, else declined; declined too if the queries do not fit the matching
//! found.

use crate::fast::containers::container::{
    Container, Flaw, Item, Meaning, NEVER, Peek, Rank, Span, meaning,
};
use crate::fast::containers::container_driver::{
    Core, Discipline, Solution, flawed, minimal, solve, violation,
};
use crate::fast::containers::coverage::Coverage;
use crate::fast::containers::matching::{Copies, Guess, cuts, guess};
use crate::fast::shrink::shrink;
use crate::fast::violation::counterexample;
use crate::fast::{Declined, Part};
use hashbrown::HashMap;
use seriatim_history::{OpId, ValueId};
use seriatim_limits::InOrder;
use seriatim_spec::{Claim, Witness};

/// How many operations are looked at, over all matchings, before the monitor declines.
const WORK: usize = 30_000_000;

/// How many copies may be changed at once.
const DEPTH: usize = 300;

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
    sizes: Vec<(Span, i64)>,
    pending: Vec<Span>,
    end: u32,
}

/// Decides a part of a container's history.
pub(in crate::fast) fn decide<D: Discipline>(
    discipline: &D,
    part: Part<'_>,
    guess: Guess,
) -> Result<Claim, Declined> {
    let repeats = Repeats::read(discipline, &part)?;
    if let Some(violation) = repeats.among_single(discipline, part) {
        return Ok(violation);
    }
    let mut search = Search::new(discipline, &repeats, guess, part);
    match search.run()? {
        Found::Matching(container) => {
            let container = repeats.with_queries(*container);
            match solve(discipline, part, &container)? {
                Solution::Order(order) => Ok(Claim::Linearizable(Witness { order })),
                Solution::Wrong(verdict) => Ok(verdict),
                Solution::Cores(_) | Solution::Flaw(_) => {
                    let tried = search.nodes;
                    Err(Declined::TooManyChoices { tried })
                }
            }
        }
        Found::Nothing(blamed) => Ok(repeats.violation(discipline, blamed, guess, part)),
    }
}

/// A violation among the values that occur once, whatever the others do.
pub(in crate::fast) fn among_single<D: Discipline>(
    discipline: &D,
    part: Part<'_>,
) -> Result<Option<Claim>, Declined> {
    let repeats = Repeats::read(discipline, &part)?;
    Ok(repeats.among_single(discipline, part))
}

impl Repeats {
    fn among_single<D: Discipline>(&self, discipline: &D, part: Part<'_>) -> Option<Claim> {
        let (history, once) = (part.history, self.occurring_once());
        match solve(discipline, part, &once) {
            Ok(Solution::Cores(core)) => Some(violation(discipline, part, &once, Some(core))),
            Ok(Solution::Flaw(flaw)) => Some(flawed(history, discipline.words(), flaw)),
            Ok(Solution::Order(_) | Solution::Wrong(_)) | Err(_) => None,
        }
    }

    /// A container of a matching with the queries that look at more than one value.
    fn with_queries(&self, container: Container) -> Container {
        let repeated = self.values.iter().filter(|value| !value.is_single());
        let loose = repeated.flat_map(|value| {
            let id = value.id.unwrap_or(ValueId::NIL);
            value.peeks.iter().map(move |&span| (span, id))
        });
        Container {
            nonempties: self.nonempties.clone(),
            sizes: self.sizes.clone(),
            loose: loose.collect(),
            ..container
        }
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
                Meaning::SawSize(count) => repeats.sizes.push((span, count)),
                Meaning::PendingRemoval => repeats.pending.push(span),
            }
        }
        for value in &mut repeats.values {
            value.removes.put_in_order_by_key(|remove| remove.ret);
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
            pending: self.pending.clone(),
            end: self.end,
            ..Container::default()
        }
    }

    /// The violation that a search ended in, shown by the values that it had to blame.
    fn violation<D: Discipline>(
        &self,
        discipline: &D,
        blamed: Blamed,
        guess: Guess,
        whole: Part<'_>,
    ) -> Claim {
        let part = |values: &[usize]| Repeats {
            values: values.iter().map(|&v| self.values[v].clone()).collect(),
            empties: match blamed.empties {
                true => self.empties.clone(),
                false => Vec::new(),
            },
            nonempties: Vec::new(),
            sizes: Vec::new(),
            pending: self.pending.clone(),
            end: self.end,
        };
        let mut values = blamed.values;
        if values.len() <= SHRINKABLE {
            values = shrink(values, |values| {
                let part = part(values);
                let found = Search::new(discipline, &part, guess, whole).run();
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
            format!("no order is possible for a {object}, however equal values are matched");
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
        if value.is_single() {
            let peeks = value.peeks.iter();
            self.peeks.extend(peeks.map(|&span| Peek { item, span }));
        }
    }
}

/// Where a search ended.
enum Found {
    /// The container of a matching that is right.
    Matching(Box<Container>),
    Nothing(Blamed),
}

/// What no matching makes right.
#[derive(Clone, Debug, Default)]
struct Blamed {
    values: Vec<usize>,
    empties: bool,
}

/// What removed a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Removal {
    Nothing,
    /// A removal of the value, by its position among these.
    Known(u32),
    /// A pending one, by its position among all.
    Pending(u32),
}

struct Search<'r, D: Discipline> {
    discipline: &'r D,
    repeats: &'r Repeats,
    part: Part<'r>,
    guess: Guess,
    /// All insertions: value and position among its insertions.
    copies: Vec<(u32, u32)>,
    /// By value, its first copy.
    first: Vec<u32>,
    /// By copy, what removed it.
    removal: Vec<Removal>,
    /// By copy, whether it keeps its removal.
    fixed: Vec<bool>,
    /// By pending removal, whether a copy has it.
    used: Vec<bool>,
    blamed: Blamed,
    nodes: usize,
    work: usize,
    depth: usize,
}

impl<'r, D: Discipline> Search<'r, D> {
    fn new(discipline: &'r D, repeats: &'r Repeats, guess: Guess, part: Part<'r>) -> Self {
        let mut copies = Vec::new();
        let mut first = Vec::new();
        for (index, value) in repeats.values.iter().enumerate() {
            first.push(copies.len() as u32);
            copies.extend((0..value.inserts.len()).map(|copy| (index as u32, copy as u32)));
        }
        Search {
            discipline,
            repeats,
            part,
            guess,
            removal: vec![Removal::Nothing; copies.len()],
            fixed: vec![false; copies.len()],
            used: vec![false; repeats.pending.len()],
            copies,
            first,
            blamed: Blamed::default(),
            nodes: 0,
            work: 0,
            depth: 0,
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
            Some(container) => Ok(Found::Matching(Box::new(container))),
            None => {
                self.blamed.values.put_in_order();
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
        for (copy, remove) in matched.into_iter().enumerate() {
            self.removal[first + copy] = remove.map_or(Removal::Nothing, Removal::Known);
        }
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
            let remove = match self.removal[copy] {
                Removal::Nothing => None,
                Removal::Known(remove) => Some(value.removes[remove as usize]),
                Removal::Pending(pending) => {
                    let ret = self.repeats.end;
                    Some(Span { ret, ..self.repeats.pending[pending as usize] })
                }
            };
            let is_seen = remove.is_some() || value.is_single() && !value.peeks.is_empty();
            if insert.ret == NEVER && !is_seen {
                container.unseen.push(insert);
                continue;
            }
            container.push(value, insert, remove);
            copy_of.push(copy as u32);
        }
        container.pending.clear();
        (container, copy_of)
    }

    /// Looks for a right matching that keeps what is fixed.
    fn node(&mut self) -> Result<Option<Container>, Declined> {
        self.nodes += 1;
        self.work += self.copies.len() + 1;
        self.part.spend(self.copies.len() + 1)?;
        if self.work > WORK || self.depth > DEPTH {
            let tried = self.nodes;
            return Err(Declined::TooManyChoices { tried });
        }
        let (mut container, copy_of) = self.container();
        let core = match Coverage::new(&container) {
            Err(flaw) => self.flawed(&container, &flaw),
            Ok(coverage) => match self.discipline.plan(&container, &coverage) {
                Ok(_) => {
                    let unused = self.used.iter().zip(&self.repeats.pending);
                    let unused = unused.filter(|(used, _)| !**used).map(|(_, &pending)| pending);
                    container.pending = unused.collect();
                    return Ok(Some(container));
                }
                Err(core) => minimal(self.discipline, self.part, &container, core),
            },
        };
        let copies: Vec<u32> = core.items.iter().map(|item| copy_of[item.index()]).collect();
        // The branches make their own.
        drop((container, copy_of));
        self.blame(&core, &copies);
        self.depth += 1;
        let found = self.branch(&copies);
        self.depth -= 1;
        found
    }

    /// The copy that came out before it was put in.
    fn flawed(&self, container: &Container, flaw: &Flaw) -> Core {
        let (Flaw::SeenBeforeInsertion { insert, .. } | Flaw::SeenAfterRemoval { insert, .. }) =
            *flaw
        else {
            return Core::default();
        };
        let item = container.insert.iter().position(|span| span.op == insert);
        Core { items: item.map(Item::from).into_iter().collect(), empty: None }
    }

    fn blame(&mut self, core: &Core, copies: &[u32]) {
        self.blamed.empties |= core.empty.is_some();
        let values = copies.iter().map(|&copy| self.copies[copy as usize].0 as usize);
        self.blamed.values.extend(values);
    }

    /// Changes what removed one copy of a core after the other.
    fn branch(&mut self, core: &[u32]) -> Result<Option<Container>, Declined> {
        let free: Vec<u32> = core.iter().copied().filter(|&c| !self.fixed[c as usize]).collect();
        let mut found = None;
        for &copy in &free {
            self.fixed[copy as usize] = true;
            found = self.change(copy)?;
            if found.is_some() {
                break;
            }
        }
        for &copy in &free {
            self.fixed[copy as usize] = false;
        }
        Ok(found)
    }

    /// Tries everything else that can have removed a copy.
    fn change(&mut self, copy: u32) -> Result<Option<Container>, Declined> {
        let others = self.others(copy);
        let mut found = None;
        for &other in &others {
            self.removal.swap(copy as usize, other as usize);
            found = self.node()?;
            self.removal.swap(copy as usize, other as usize);
            if found.is_some() {
                return Ok(found);
            }
        }
        // A pending removal took it; what removed it until now took a copy that stays otherwise.
        let is_left = |&other: &u32| self.removal[other as usize] == Removal::Nothing;
        let heir = match self.removal[copy as usize] {
            Removal::Nothing => copy,
            _ => match others.iter().copied().find(is_left) {
                Some(other) => other,
                None => return Ok(None),
            },
        };
        for pending in self.choices(copy) {
            let before = self.removal[copy as usize];
            self.used[pending] = true;
            self.removal[heir as usize] = before;
            self.removal[copy as usize] = Removal::Pending(pending as u32);
            found = self.node()?;
            self.removal[heir as usize] = Removal::Nothing;
            self.removal[copy as usize] = before;
            self.used[pending] = false;
            if found.is_some() {
                break;
            }
        }
        Ok(found)
    }

    /// The unused pending removals with different effects on a copy: of those called before its
    /// insertion only the last, since they do the same.
    fn choices(&self, copy: u32) -> Vec<usize> {
        let (value, position) = self.copies[copy as usize];
        let value = &self.repeats.values[value as usize];
        let peeks = value.peeks.iter().filter(|_| value.is_single());
        let insert = value.inserts[position as usize].call;
        let last_call = peeks.map(|peek| peek.call).fold(insert, Rank::max);
        let unused = (0..self.used.len()).filter(|&index| !self.used[index]);
        let (same, later): (Vec<usize>, Vec<usize>) =
            unused.partition(|&index| self.repeats.pending[index].call <= last_call);
        same.last().copied().into_iter().chain(later).collect()
    }

    /// The copies of the same value that a copy can exchange its removal with: one for each
    /// removal, those first that both may have, then the nearest. (One that may not have the
    /// removal that it gets exchanges it in turn.)
    fn others(&self, copy: u32) -> Vec<u32> {
        let (value, position) = self.copies[copy as usize];
        let first = self.first[value as usize];
        let value = &self.repeats.values[value as usize];
        let may_have = |position: u32, removal: Removal| match removal {
            Removal::Nothing | Removal::Pending(_) => true,
            Removal::Known(remove) => {
                value.inserts[position as usize].call < value.removes[remove as usize].ret
            }
        };
        let mine = self.removal[copy as usize];
        let all = first..first + value.inserts.len() as u32;
        let mut others: Vec<(bool, u32, u32)> = all
            .filter(|&other| {
                let theirs = self.removal[other as usize];
                let moves = other != copy && !self.fixed[other as usize] && theirs != mine;
                moves && may_have(position, theirs)
            })
            .map(|other| (!may_have(other - first, mine), other.abs_diff(copy), other))
            .collect();
        others.put_in_order();
        let mut has_left = false;
        others.retain(|&(.., other)| {
            let is_left = self.removal[other as usize] == Removal::Nothing;
            !is_left || !std::mem::replace(&mut has_left, true)
        });
        others.into_iter().map(|(.., other)| other).collect()
    }
}
