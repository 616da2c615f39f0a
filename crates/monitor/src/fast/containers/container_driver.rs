//! The common course of the container monitors: read, decide, place the queries, and show what is
//! wrong.
//!
//! Removals whose result nobody knows are assigned by `pending_removals`. *Counterexamples* are the
//! union of the cores, made small by `shrink`.

use crate::fast::containers::container::{
    Container, Flaw, Item, NEVER, Names, Peek, Rank, Refusal, Span,
};
use crate::fast::containers::coverage::{Coverage, nonempty_cells};
use crate::fast::containers::equal;
use crate::fast::containers::nonempty_queries;
use crate::fast::containers::pending_removals::{self, Assigned, assign_in_order};
use crate::fast::containers::query_search::{Head, Placement, place_queries};
use crate::fast::containers::size;
use crate::fast::shrink::shrink;
use crate::fast::violation::counterexample;
use crate::fast::{Declined, Part};
use hashbrown::HashMap;
use seriatim_history::{History, OpId};
use seriatim_limits::InOrder;
use seriatim_limits::checkpoint_now;
use seriatim_spec::{Claim, Witness};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Values that no order explains, on their own.
#[derive(Clone, Debug, Default)]
pub(in crate::fast) struct Core {
    pub items: Vec<Item>,
    /// The operation that saw the container empty and cannot have, if that is what is wrong.
    pub empty: Option<u32>,
}

/// How a kind of container decides a history whose removals are all known.
pub(in crate::fast) trait Discipline {
    /// What the decision leaves for building the order.
    type Plan;

    /// What the container is called, and what its operations are.
    fn words(&self) -> &'static Words;

    /// Decides.
    fn plan(&self, container: &Container, coverage: &Coverage) -> Result<Self::Plan, Core>;

    /// The order of a history that was decided.
    fn order(&self, container: &Container, coverage: &Coverage, plan: Self::Plan) -> Vec<OpId>;

    /// Whether pending removals may be assigned in order.
    fn assigns_in_order(&self, container: &Container) -> bool;

    /// Which value is at the head.
    fn head(&self, container: &Container) -> Head;

    /// Decides a history in which values repeat.
    fn repeated(&self, part: Part<'_>) -> Result<Claim, Declined>;

    /// Why the values of a small core that no empty operation is part of have no order.
    fn explain(&self, container: &Container, coverage: &Coverage, show: &Show<'_>) -> String;
}

/// The words for a kind of container.
pub(in crate::fast) struct Words {
    pub object: &'static str,
    pub names: Names,
    /// "pushed", "enqueued".
    pub inserted: &'static str,
    /// "popped", "dequeued".
    pub removed: &'static str,
}

/// Shows values as text.
pub(in crate::fast) struct Show<'c> {
    pub history: &'c History,
    pub container: &'c Container,
}

impl Show<'_> {
    /// A value as text.
    pub fn value(&self, item: Item) -> String {
        let id = self.container.values[item.index()];
        self.history.values().get(id).to_string()
    }

    /// Values as text, at most a handful.
    pub fn values(&self, items: impl ExactSizeIterator<Item = Item>) -> String {
        let count = items.len();
        let mut text: Vec<String> = items.take(6).map(|item| self.value(item)).collect();
        if count > text.len() {
            text.push(format!("… ({count} values)"));
        }
        text.join(", ")
    }
}

/// Decides a part of a history.
pub(in crate::fast) fn decide<D: Discipline>(
    discipline: &D,
    part: Part<'_>,
) -> Result<Claim, Declined> {
    let words = discipline.words();
    let mut container = match Container::read(&part, &words.names) {
        Ok(container) => container,
        Err(Refusal::Declined(Declined::RepeatedValue { .. })) => {
            return repeated(discipline, part);
        }
        Err(Refusal::Declined(declined)) => return Err(declined),
        Err(Refusal::Flaw(flaw)) => return Ok(flawed(part.history, words, flaw)),
    };
    if !container.pending.is_empty() && discipline.assigns_in_order(&container) {
        let whole = container.clone();
        assign_in_order(&mut container);
        return match solve(discipline, part, &container)? {
            Solution::Order(order) => Ok(Claim::Linearizable(Witness { order })),
            Solution::Cores(_) => Ok(violation(discipline, part, &whole, None)),
            Solution::Flaw(flaw) => Ok(flawed(part.history, words, flaw)),
            Solution::Wrong(verdict) => Ok(verdict),
        };
    }
    match solve(discipline, part, &container)? {
        Solution::Order(order) => Ok(Claim::Linearizable(Witness { order })),
        Solution::Cores(cores) => Ok(violation(discipline, part, &container, Some(cores))),
        Solution::Flaw(flaw) => Ok(flawed(part.history, words, flaw)),
        Solution::Wrong(verdict) => Ok(verdict),
    }
}

/// Decides a part in which values repeat. Where all are equal, pending removals are a choice at
/// every step of `equal`, and where the first guess is right none at all.
fn repeated<D: Discipline>(discipline: &D, part: Part<'_>) -> Result<Claim, Declined> {
    let equal = || equal::decide(part, &discipline.words().names);
    let guess = || part.begin_to_guess().and_then(|()| discipline.repeated(part));
    match part.operations().any(|op| part.history.ret(op).is_none()) {
        true => guess().or_else(|declined| equal()?.ok_or(declined)),
        false => match equal() {
            Ok(Some(verdict)) => Ok(verdict),
            Ok(None) | Err(_) => guess(),
        },
    }
}

/// What became of a container.
pub(in crate::fast) enum Solution {
    Order(Vec<OpId>),
    Cores(Core),
    Flaw(Flaw),
    /// It is wrong because of a query that looks at more than one value.
    Wrong(Claim),
}

/// Runs the monitor and, where it is stuck and removals are pending, branches.
pub(in crate::fast) fn solve<D: Discipline>(
    discipline: &D,
    part: Part<'_>,
    container: &Container,
) -> Result<Solution, Declined> {
    let coverage = match Coverage::new(container) {
        Ok(coverage) => coverage,
        Err(flaw) => return Ok(Solution::Flaw(flaw)),
    };
    match discipline.plan(container, &coverage) {
        Ok(plan) => finish(discipline, part, container, coverage, plan),
        Err(core) if container.pending.is_empty() => Ok(Solution::Cores(core)),
        Err(core) => match pending_removals::assign(discipline, part, container, core)? {
            Assigned::Decided(container, (coverage, plan)) => {
                finish(discipline, part, &container, coverage, plan)
            }
            Assigned::Stuck(cores) => Ok(Solution::Cores(union(cores))),
        },
    }
}

/// One core of everything in several; empties are looked for again.
fn union(cores: Vec<Core>) -> Core {
    let mut items: Vec<Item> = cores.into_iter().flat_map(|core| core.items).collect();
    items.put_in_order();
    items.dedup();
    Core { items, empty: None }
}

/// The order of a container that was decided but for the queries that look at more than one value.
fn finish<D: Discipline>(
    discipline: &D,
    part: Part<'_>,
    container: &Container,
    coverage: Coverage,
    plan: D::Plan,
) -> Result<Solution, Declined> {
    if let Some(verdict) = size::out_of_bounds(part.history, container) {
        return Ok(Solution::Wrong(verdict));
    }
    if !container.sizes.is_empty() || !container.loose.is_empty() {
        return finish_by_query_search(discipline, part, container, &coverage);
    }
    let cells = nonempty_cells(container, &coverage);
    let unforced = container.nonempties.iter().zip(&cells).filter(|(_, cell)| cell.is_none());
    let unforced: Vec<Span> = unforced.map(|(&query, _)| query).collect();
    if unforced.is_empty() {
        let order = discipline.order(container, &coverage, plan);
        return Ok(Solution::Order(with_queries(container, order, &cells)));
    }
    match finish_chosen(discipline, container, &coverage, &unforced) {
        Some(order) => Ok(Solution::Order(order)),
        None => finish_by_query_search(discipline, part, container, &coverage),
    }
}

/// The order where each query that nothing forces saw the value that is chosen for it, if there is
/// one.
fn finish_chosen<D: Discipline>(
    discipline: &D,
    container: &Container,
    coverage: &Coverage,
    unforced: &[Span],
) -> Option<Vec<OpId>> {
    let chosen = nonempty_queries::choose(container, coverage, unforced)?;
    let container = Container { chosen, ..container.clone() };
    let coverage = Coverage::new(&container).ok()?;
    let plan = discipline.plan(&container, &coverage).ok()?;
    let cells = nonempty_cells(&container, &coverage);
    let order = discipline.order(&container, &coverage, plan);
    Some(with_queries(&container, order, &cells))
}

/// The order with all queries placed in it.
fn finish_by_query_search<D: Discipline>(
    discipline: &D,
    part: Part<'_>,
    container: &Container,
    coverage: &Coverage,
) -> Result<Solution, Declined> {
    match place_queries(part, container, coverage, &discipline.head(container)) {
        Placement::Order(order) => Ok(Solution::Order(order)),
        Placement::Wrong(wrong) => {
            Ok(Solution::Wrong(size::unexplained(part.history, container, wrong)))
        }
        Placement::Open => {
            let sizes = container.sizes.iter().map(|(span, _)| span);
            let loose = container.loose.iter().map(|(span, _)| span);
            let query = sizes.chain(loose).chain(&container.nonempties).next();
            let operation = query.map(|query| part.history.operation(query.op).to_string());
            Err(Declined::UnforcedQuery { operation: operation.unwrap_or_default() })
        }
    }
}

/// Puts the queries that saw values into the order: each, given its cell in which some value is
/// certainly inside, right behind the last operation that returned before that cell; given a value
/// that was chosen for it, behind the insertion of that value and what returned before the query
/// was called. Everything that has to be behind it was called later and is; the value's insertion
/// is in front of it and its removal is not. Of two queries the one that returned before the other
/// was called comes first.
fn with_queries(container: &Container, order: Vec<OpId>, cells: &[Option<u32>]) -> Vec<OpId> {
    if cells.is_empty() {
        return order;
    }
    let largest = order.iter().map(|op| op.index()).max().unwrap_or(0);
    let mut position = vec![0; largest + 1];
    for (index, op) in order.iter().enumerate() {
        position[op.index()] = index + 1;
    }
    // By rank: the end of the order's shortest prefix with all that returned until then.
    let mut behind = vec![0; container.end as usize + 1];
    let peeks = container.peeks.iter().map(|peek| &peek.span);
    let spans = container.insert.iter().chain(&container.remove).chain(peeks);
    for span in spans.chain(&container.empties) {
        if span.ret < container.end {
            behind[span.ret as usize] = position[span.op.index()];
        }
    }
    for rank in 1..behind.len() {
        behind[rank] = behind[rank].max(behind[rank - 1]);
    }
    let insertion = |item: Item| position[container.insert[item.index()].op.index()];
    let chosen: HashMap<OpId, usize> =
        container.chosen.iter().map(|peek| (peek.span.op, insertion(peek.item))).collect();
    let mut queries: Vec<(usize, OpId)> = Vec::with_capacity(cells.len());
    // Queries in the order of their calls; those that have returned push the others behind them.
    let mut returned: BinaryHeap<Reverse<(Rank, usize)>> = BinaryHeap::new();
    let mut latest = 0;
    for (query, cell) in container.nonempties.iter().zip(cells) {
        while let Some(&Reverse((ret, place))) = returned.peek()
            && ret < query.call
        {
            latest = latest.max(place);
            returned.pop();
        }
        let place = match (chosen.get(&query.op), cell) {
            (Some(&insertion), _) => behind[query.call as usize].max(insertion),
            (None, cell) => behind[cell.unwrap_or(query.ret) as usize - 1],
        };
        let place = place.max(latest);
        returned.push(Reverse((query.ret, place)));
        queries.push((place, query.op));
    }
    queries.put_in_order_by_key(|&(place, _)| place);
    let mut queries = queries.into_iter().peekable();
    let mut merged = Vec::with_capacity(order.len() + cells.len());
    for index in 0..=order.len() {
        while let Some((_, op)) = queries.next_if(|&(place, _)| place <= index) {
            merged.push(op);
        }
        merged.extend(order.get(index));
    }
    merged
}

/// A core from which no value can be left out, under the present assignment.
pub(in crate::fast) fn minimal<D: Discipline>(
    discipline: &D,
    part: Part<'_>,
    container: &Container,
    core: Core,
) -> Core {
    let empties: Vec<u32> = core.empty.into_iter().collect();
    let wrong = |items: &[Item]| {
        if part.spend(items.len()).is_err() {
            return false;
        }
        let part = Selection::of(container, items, &empties).container(container);
        Coverage::new(&part).is_ok_and(|coverage| discipline.plan(&part, &coverage).is_err())
    };
    Core { items: shrink(core.items, wrong), empty: core.empty }
}

/// Some of a container's values, peeks and empties.
struct Selection {
    items: Vec<Item>,
    peeks: Vec<u32>,
    empties: Vec<u32>,
}

impl Selection {
    /// Some items with all their peeks, and some empties.
    fn of(container: &Container, items: &[Item], empties: &[u32]) -> Self {
        let mut items = items.to_vec();
        items.put_in_order();
        let mut peeks = Vec::new();
        if !container.peeks.is_empty() {
            for &item in &items {
                let from = container.peeks.partition_point(|peek| peek.item < item);
                peeks.extend(from as u32..(from + container.peeks_of(item).len()) as u32);
            }
        }
        Selection { items, peeks, empties: empties.to_vec() }
    }

    /// The container of the selection, its events numbered anew. Pending removals are kept if
    /// there is anything that they could have removed.
    fn container(&self, whole: &Container) -> Container {
        checkpoint_now();
        let pick = |spans: &[Span]| -> Vec<Span> {
            self.items.iter().map(|item| spans[item.index()]).collect()
        };
        let mut part = Container {
            values: self.items.iter().map(|i| whole.values[i.index()]).collect(),
            insert: pick(&whole.insert),
            remove: pick(&whole.remove),
            ..Container::default()
        };
        for &peek in &self.peeks {
            let peek = whole.peeks[peek as usize];
            let item = self.items.partition_point(|&item| item < peek.item);
            part.peeks.push(Peek { item: item.into(), span: peek.span });
        }
        let empties = self.empties.iter();
        part.empties.extend(empties.map(|&empty| whole.empties[empty as usize]));
        if part.remove.iter().any(|remove| !remove.exists()) {
            part.pending = whole.pending.clone();
        }
        let mut part = part.without_unseen();
        renumber(&mut part, whole.end);
        part
    }
}

/// Numbers the events of a container densely.
fn renumber(container: &mut Container, old_end: Rank) {
    let Container { insert, remove, peeks, empties, pending, .. } = container;
    let mut spans: Vec<&mut Span> = insert.iter_mut().collect();
    spans.extend(remove.iter_mut().filter(|span| span.exists()));
    spans.extend(peeks.iter_mut().map(|peek| &mut peek.span));
    spans.extend(empties.iter_mut());
    spans.extend(pending.iter_mut());
    let mut ranks: Vec<Rank> = spans.iter().flat_map(|s| [s.call, s.ret]).collect();
    ranks.retain(|&rank| rank < old_end);
    ranks.put_in_order();
    let end = ranks.len() as Rank;
    let place = |rank: Rank| match rank {
        NEVER => NEVER,
        _ if rank == old_end => end,
        _ => ranks.partition_point(|&other| other < rank) as Rank,
    };
    for span in spans {
        span.call = place(span.call);
        span.ret = place(span.ret);
    }
    container.end = end;
}

/// The violation of a container whose core is known, or is to be looked for in all of it.
pub(in crate::fast) fn violation<D: Discipline>(
    discipline: &D,
    part: Part<'_>,
    whole: &Container,
    core: Option<Core>,
) -> Claim {
    let wrong = |selection: &Selection| {
        if part.spend(selection.items.len()).is_err() {
            return false;
        }
        let mut container = selection.container(whole);
        if discipline.assigns_in_order(&container) {
            assign_in_order(&mut container);
        }
        let wrong = solve(discipline, part, &container);
        matches!(wrong, Ok(Solution::Cores(_) | Solution::Flaw(_) | Solution::Wrong(_)))
    };
    let every_empty: Vec<u32> = (0..whole.empties.len() as u32).collect();
    let (items, empties) = match core {
        Some(core) if core.empty.is_some() || whole.pending.is_empty() => {
            (core.items, core.empty.into_iter().collect())
        }
        Some(core) => (core.items, every_empty),
        None => (whole.items().collect(), every_empty),
    };
    let empties = shrink(empties, |empties| wrong(&Selection::of(whole, &items, empties)));
    let items = shrink(items, |items| wrong(&Selection::of(whole, items, &empties)));
    let mut selection = Selection::of(whole, &items, &empties);
    let peeks = std::mem::take(&mut selection.peeks);
    selection.peeks = shrink(peeks, |peeks| {
        wrong(&Selection {
            items: selection.items.clone(),
            peeks: peeks.to_vec(),
            empties: empties.clone(),
        })
    });
    let core = selection.container(whole);
    explained(discipline, part.history, &core)
}

fn explained<D: Discipline>(discipline: &D, history: &History, core: &Container) -> Claim {
    let words = discipline.words();
    let show = Show { history, container: core };
    let sentence = match (core.empties.first(), Coverage::new(core)) {
        (Some(empty), _) => {
            let operation = history.operation(empty.op);
            let values = show.values((0..core.len()).map(Item::from));
            let object = words.object;
            match core.len() {
                1 => format!(
                    "{operation} saw an empty {object}, but {values} was inside all the time"
                ),
                _ => format!(
                    "{operation} saw an empty {object}, but at every moment of it one of \
                     {values} was inside"
                ),
            }
        }
        (None, Ok(coverage)) => discipline.explain(core, &coverage, &show),
        (None, Err(_)) => format!("no {} explains these operations", words.object),
    };
    let sentence = match core.pending.len() {
        0 => sentence,
        count => format!("{sentence}, whatever the {count} pending removals took"),
    };
    counterexample(operations_of(core), sentence)
}

fn operations_of(core: &Container) -> Vec<OpId> {
    let spans = core.insert.iter().chain(&core.remove);
    let spans = spans.chain(core.peeks.iter().map(|peek| &peek.span));
    let spans = spans.chain(&core.empties).chain(&core.pending);
    spans.filter(|span| span.exists()).map(|span| span.op).collect()
}

/// The verdict about a history that no container explains.
pub(in crate::fast) fn flawed(history: &History, words: &Words, flaw: Flaw) -> Claim {
    let show = |op: OpId| history.operation(op).to_string();
    let Words { inserted, removed, .. } = words;
    let (operations, sentence) = match flaw {
        Flaw::NeverInserted { seen } => {
            (vec![seen], format!("{} returned a value that was never {inserted}", show(seen)))
        }
        Flaw::RemovedTwice { insert, first, second } => (
            insert.into_iter().chain([first, second]).collect(),
            format!(
                "{} and {} both {removed} a value that was {inserted} once",
                show(first),
                show(second)
            ),
        ),
        Flaw::SeenBeforeInsertion { insert, seen } => (
            vec![insert, seen],
            format!("{} returned before {} was called", show(seen), show(insert)),
        ),
        Flaw::SeenAfterRemoval { insert, remove, seen } => (
            vec![insert, remove, seen],
            format!("{} was called after {} had returned", show(seen), show(remove)),
        ),
    };
    counterexample(operations, sentence)
}
