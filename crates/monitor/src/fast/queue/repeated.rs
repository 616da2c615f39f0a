//! Queue whose values may repeat: `enq`, `deq`, `peek`, operations that saw it empty, pending ones.
//!
//! **Decides** whether a history of a queue is linearizable when equal values are enqueued more
//! than once.
//!
//! **Theorem.** A linearization of a queue is an order of the enqueues and an order of the
//! dequeues, each of which real time allows, such that the i-th dequeue returns what the i-th
//! enqueue put in and returns after the first i enqueues were called; peeks stand among the
//! dequeues, and at an operation that saw the queue empty everything before it, in both orders,
//! must be allowed before everything behind it. So a depth-first search over pairs of *frontiers*
//! (which enqueues are taken, which dequeues), each pair visited once, decides.
//!
//! **What keeps it small.** Taking an operation that saw the queue empty as soon as it is
//! possible loses nothing. Of the equal enqueues that are possible only the one that returns first
//! need be tried, and of the equal dequeues likewise: swapping two such keeps every condition (an
//! enqueue is possible only if it was called before any dequeue that is left returns). So only
//! *different* values that were enqueued at once and dequeued at once make choices: none at all
//! where all values are equal.
//!
//! **Cost.** O(n) steps where there are no choices; at worst n · 4^k pairs for k processes. A
//! frontier is a position and the operations before it that are not taken, which are all open at
//! one moment.
//!
//! **Precondition.** At most [`PAIRS`] pairs, else declined. `size`, and `is_empty` that answered
//! false, are left out, which keeps a right history right, and woven into the order found
//! (`query_search`); if they do not fit it, declined.

use crate::fast::containers::container::{Container, Meaning, NEVER, Rank, Span, meaning};
use crate::fast::containers::container_driver::{Discipline, Solution, solve};
use crate::fast::queue::Queue;
use crate::fast::shrink::shrink;
use crate::fast::violation::counterexample;
use crate::fast::{Declined, Part};
use hashbrown::{HashMap, HashSet};
use seriatim_history::{OpId, ValueId};
use seriatim_limits::InOrder;
use seriatim_spec::{Claim, Witness};
use std::collections::VecDeque;

/// How many pairs of frontiers are visited before the monitor declines.
const PAIRS: usize = 1_000_000;

/// What a pair costs, in operations of a monitor.
const WORK: usize = 8;

/// How many operations a history may have for its counterexample to be made small.
const SHRINKABLE: usize = 4000;

/// Decides a part of a queue's history.
pub(in crate::fast) fn decide(part: Part<'_>) -> Result<Claim, Declined> {
    let Ends { ins, outs, queries } = read(&part)?;
    if let Some(order) = Search::new(ins.clone(), outs.clone()).run(part)? {
        return match queries.nonempties.is_empty() && queries.sizes.is_empty() {
            true => Ok(Claim::Linearizable(Witness { order })),
            false => with_queries(&part, &order, [ins, outs].concat(), queries),
        };
    }
    let mut values: Vec<ValueId> = ins.iter().chain(&outs).map(|op| op.value).collect();
    values.put_in_order();
    values.dedup();
    let of = |ops: &[Op], values: &[ValueId]| -> Vec<Op> {
        let keeps = |op: &&Op| op.kind == Kind::Pending || values.binary_search(&op.value).is_ok();
        ops.iter().filter(keeps).copied().collect()
    };
    if part.len() <= SHRINKABLE {
        values = shrink(values, |values| {
            let found = Search::new(of(&ins, values), of(&outs, values)).run(part);
            matches!(found, Ok(None))
        });
    }
    let core = [of(&ins, &values), of(&outs, &values)].concat();
    let sentence =
        "no order of the enqueues and dequeues is possible, however equal values are matched";
    let operations = core.iter().map(|op| op.span.op).collect();
    Ok(counterexample(operations, sentence.to_owned()))
}

/// Weaves queries that look at more than one value into an order of the rest.
fn with_queries(
    part: &Part<'_>,
    order: &[OpId],
    ops: Vec<Op>,
    queries: Container,
) -> Result<Claim, Declined> {
    let container = matched(order, &ops, queries);
    match solve(&Queue, *part, &container)? {
        Solution::Order(order) => Ok(Claim::Linearizable(Witness { order })),
        Solution::Wrong(verdict) => Ok(verdict),
        Solution::Cores(_) | Solution::Flaw(_) => Err(Declined::TooManyChoices { tried: 1 }),
    }
}

/// The container in which each dequeue takes what it takes in an order.
fn matched(order: &[OpId], ops: &[Op], queries: Container) -> Container {
    let by_op: HashMap<OpId, &Op> = ops.iter().map(|op| (op.span.op, op)).collect();
    let mut container = queries;
    let mut inside = VecDeque::new();
    let mut placed = HashSet::new();
    for op in order {
        let Some(&&Op { span, kind, value }) = by_op.get(op) else { continue };
        placed.insert(span.op);
        match kind {
            Kind::Enqueue => {
                inside.push_back(container.len());
                container.values.push(value);
                container.insert.push(span);
                container.remove.push(Span::NONE);
            }
            Kind::Dequeue | Kind::Pending => {
                if let Some(item) = inside.pop_front() {
                    let ret = span.ret.min(container.end);
                    container.remove[item] = Span { ret, ..span };
                }
            }
            Kind::Peek => container.loose.push((span, value)),
            Kind::SawEmpty => container.empties.push(span),
        }
    }
    let left_out = ops.iter().filter(|op| !placed.contains(&op.span.op));
    for op in left_out {
        match op.kind {
            Kind::Enqueue => container.unseen.push(op.span),
            Kind::Pending => container.pending.push(op.span),
            Kind::Dequeue | Kind::Peek | Kind::SawEmpty => {}
        }
    }
    container.without_unseen()
}

/// What an operation at the way out of the queue did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Enqueue,
    Dequeue,
    Peek,
    SawEmpty,
    /// A dequeue whose result nobody knows.
    Pending,
}

#[derive(Clone, Copy, Debug)]
struct Op {
    span: Span,
    kind: Kind,
    value: ValueId,
}

/// The operations at the two ends of the queue, and the queries that look at more than one value.
struct Ends {
    ins: Vec<Op>,
    outs: Vec<Op>,
    queries: Container,
}

fn read(part: &Part<'_>) -> Result<Ends, Declined> {
    let methods = Queue.words().names.methods(part.history);
    let ranks = part.ranks();
    let (mut ins, mut outs) = (Vec::new(), Vec::new());
    let mut queries = Container { end: ranks.events, ..Container::default() };
    for (position, op) in part.operations().enumerate() {
        let span = ranks.span(position, op);
        let (kind, value) = match meaning(&methods, part.history, op)? {
            Meaning::Nothing => continue,
            Meaning::Insert(value) => (Kind::Enqueue, value),
            Meaning::Remove(value) => (Kind::Dequeue, value),
            Meaning::Peek(value) => (Kind::Peek, value),
            Meaning::SawEmpty => (Kind::SawEmpty, ValueId::NIL),
            Meaning::PendingRemoval => (Kind::Pending, ValueId::NIL),
            Meaning::SawValues => {
                queries.nonempties.push(span);
                continue;
            }
            Meaning::SawSize(count) => {
                queries.sizes.push((span, count));
                continue;
            }
        };
        let list = match kind {
            Kind::Enqueue => &mut ins,
            _ => &mut outs,
        };
        list.push(Op { span, kind, value });
    }
    Ok(Ends { ins, outs, queries })
}

/// Operations sorted by call.
struct Ops {
    ops: Vec<Op>,
    /// By position, the first return from there on.
    first_return: Vec<Rank>,
}

impl Ops {
    fn new(ops: Vec<Op>) -> Self {
        let mut first_return = vec![NEVER; ops.len() + 1];
        for index in (0..ops.len()).rev() {
            first_return[index] = first_return[index + 1].min(ops[index].span.ret);
        }
        Ops { ops, first_return }
    }
}

/// Which operations of a list are taken.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Frontier {
    /// From here on none is.
    high: u32,
    /// Before `high` all are, except these, ascending.
    skipped: Vec<u32>,
}

impl Frontier {
    /// The first return among operations that are not taken.
    fn first_return(&self, ops: &Ops) -> Rank {
        let skipped = self.skipped.iter();
        let skipped = skipped.map(|&index| ops.ops[index as usize].span.ret);
        skipped.fold(ops.first_return[self.high as usize], Rank::min)
    }

    /// The last call among operations that are taken, plus one; 0 if there is none.
    fn last_call(&self, ops: &Ops) -> Rank {
        match self.high {
            0 => 0,
            high => ops.ops[high as usize - 1].span.call + 1,
        }
    }

    /// The operations that may be taken next: those called before any that is not taken returns.
    fn possible(&self, ops: &Ops) -> impl Iterator<Item = u32> {
        let limit = self.first_return(ops);
        let fresh = self.high..ops.ops.len() as u32;
        let fresh = fresh.take_while(move |&index| ops.ops[index as usize].span.call < limit);
        self.skipped.iter().copied().chain(fresh)
    }

    fn take(&mut self, index: u32) {
        if index >= self.high {
            self.skipped.extend(self.high..index);
            self.high = index + 1;
        } else {
            self.skipped.retain(|&skipped| skipped != index);
        }
    }

    /// Whether all operations that returned are taken.
    fn is_done(&self, ops: &Ops) -> bool {
        self.first_return(ops) == NEVER
    }
}

/// A pair of frontiers.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Pair {
    ins: Frontier,
    outs: Frontier,
    /// The value at the front, if an enqueue is taken whose dequeue is not.
    front: Option<ValueId>,
}

/// A step of the order that is being built.
#[derive(Clone, Copy, Debug)]
enum Step {
    In(u32),
    Out(u32),
}

struct Search {
    ins: Ops,
    outs: Ops,
    visited: HashSet<Pair>,
    steps: Vec<Step>,
    has_peeks: bool,
    /// The last operation, by call, that saw the queue empty.
    last_empty: Option<u32>,
}

/// What may happen next.
#[derive(Clone, Copy, Debug)]
enum Choice {
    /// A value comes to the front.
    Enqueue(u32),
    /// The value at the front is seen.
    Peek(u32),
    /// The value at the front leaves.
    Dequeue(u32),
}

/// A pair on the way, with the choices not yet tried.
struct Visit {
    pair: Pair,
    choices: Vec<Choice>,
    /// How many steps lead here.
    steps: usize,
}

impl Search {
    fn new(ins: Vec<Op>, outs: Vec<Op>) -> Self {
        let empty = outs.iter().rposition(|op| op.kind == Kind::SawEmpty);
        Search {
            has_peeks: outs.iter().any(|op| op.kind == Kind::Peek),
            last_empty: empty.map(|index| index as u32),
            ins: Ops::new(ins),
            outs: Ops::new(outs),
            visited: HashSet::new(),
            steps: Vec::new(),
        }
    }

    /// An order, if there is one.
    fn run(mut self, part: Part<'_>) -> Result<Option<Vec<OpId>>, Declined> {
        let mut way = Vec::new();
        let mut next = Some(Pair::default());
        loop {
            if let Some(mut pair) = next.take() {
                match pair.front {
                    None => self.look_empty(&mut pair),
                    Some(value) => self.look_front(&mut pair, value),
                }
                if pair.outs.is_done(&self.outs) {
                    return Ok(Some(self.order()));
                }
                if self.visited.insert(pair.clone()) {
                    let choices = self.choices(&pair);
                    let steps = self.steps.len();
                    way.push(Visit { pair, choices, steps });
                }
                part.spend(WORK)?;
                if self.visited.len() > PAIRS {
                    let tried = self.visited.len();
                    return Err(Declined::TooManyChoices { tried });
                }
            }
            let Some(visit) = way.last_mut() else {
                return Ok(None);
            };
            self.steps.truncate(visit.steps);
            match visit.choices.pop() {
                None => {
                    way.pop();
                }
                Some(choice) => next = Some(self.follow(visit.pair.clone(), choice)),
            }
        }
    }

    /// Takes the operations that saw the queue empty and may stand here.
    fn look_empty(&mut self, pair: &mut Pair) {
        loop {
            let taken = pair.ins.last_call(&self.ins).max(pair.outs.last_call(&self.outs));
            let enqueue_returns = pair.ins.first_return(&self.ins);
            let last_taken = taken.saturating_sub(1);
            if taken > 0 && enqueue_returns < last_taken {
                return;
            }
            let fits = |index: &u32| {
                let op = self.outs.ops[*index as usize];
                let before = pair.ins.last_call(&self.ins) <= op.span.ret;
                op.kind == Kind::SawEmpty && op.span.call < enqueue_returns && before
            };
            let Some(index) = pair.outs.possible(&self.outs).find(fits) else {
                return;
            };
            pair.outs.take(index);
            self.steps.push(Step::Out(index));
        }
    }

    /// Takes the peeks at the front that are possible and harmless.
    fn look_front(&mut self, pair: &mut Pair, value: ValueId) {
        if !self.has_peeks {
            return;
        }
        let limit = match self.empties_left(&pair.outs) {
            true => pair.ins.first_return(&self.ins),
            false => NEVER,
        };
        loop {
            let harmless = |&index: &u32| {
                let op = self.outs.ops[index as usize];
                op.kind == Kind::Peek && op.value == value && op.span.call < limit
            };
            let peek = pair.outs.possible(&self.outs).find(harmless);
            let Some(peek) = peek else {
                return;
            };
            pair.outs.take(peek);
            self.steps.push(Step::Out(peek));
        }
    }

    /// Whether operations that saw the queue empty are left.
    fn empties_left(&self, outs: &Frontier) -> bool {
        let kind = |&index: &u32| self.outs.ops[index as usize].kind == Kind::SawEmpty;
        self.last_empty.is_some_and(|last| last >= outs.high) || outs.skipped.iter().any(kind)
    }

    /// What may happen next, the most promising last.
    fn choices(&self, pair: &Pair) -> Vec<Choice> {
        let mut choices = match pair.front {
            None => self.enqueues(pair),
            Some(value) => self.at_front(&pair.outs, value),
        };
        choices.put_in_order_by_key(|&(ret, _)| std::cmp::Reverse(ret));
        choices.into_iter().map(|(_, choice)| choice).collect()
    }

    /// The enqueues that may bring a value to the front, each with the return of what waits for it.
    fn enqueues(&self, pair: &Pair) -> Vec<(Rank, Choice)> {
        let limit = pair.outs.first_return(&self.outs);
        let ret = |index: u32| self.ins.ops[index as usize].span.ret;
        let mut firsts: Vec<u32> = Vec::new();
        for index in pair.ins.possible(&self.ins) {
            let enqueue = self.ins.ops[index as usize];
            if enqueue.span.call >= limit {
                continue;
            }
            let same = |&&mut other: &&mut u32| self.ins.ops[other as usize].value == enqueue.value;
            match firsts.iter_mut().find(same) {
                Some(first) if ret(index) < ret(*first) => *first = index,
                Some(_) => {}
                None => firsts.push(index),
            }
        }
        let waiting = |enqueue: u32| {
            let value = self.ins.ops[enqueue as usize].value;
            let ops = pair.outs.possible(&self.outs);
            let ops = ops.map(|index| self.outs.ops[index as usize]);
            let fits = ops.filter(|op| match op.kind {
                Kind::Dequeue | Kind::Peek => op.value == value,
                Kind::Pending => true,
                Kind::Enqueue | Kind::SawEmpty => false,
            });
            fits.map(|op| op.span.ret).min()
        };
        let choices = firsts.into_iter();
        choices.filter_map(|index| Some((waiting(index)?, Choice::Enqueue(index)))).collect()
    }

    /// What may happen to the value at the front: of the dequeues that returned it the one that
    /// returned first leaves with it, or a pending one. As long as operations that saw the queue
    /// empty are left, a call that is late may be in their way: then a dequeue with an earlier call
    /// counts as well, and peeks are a matter of choice.
    fn at_front(&self, outs: &Frontier, value: ValueId) -> Vec<(Rank, Choice)> {
        let op = |index: u32| self.outs.ops[index as usize];
        let possible: Vec<u32> = outs.possible(&self.outs).collect();
        let of_value = |kind: Kind| {
            let all = possible.iter().copied();
            all.filter(move |&index| op(index).kind == kind && op(index).value == value)
        };
        let empties = self.empties_left(outs);
        let mut dequeues: Vec<u32> = of_value(Kind::Dequeue).collect();
        dequeues.put_in_order_by_key(|&index| op(index).span.ret);
        let mut first_call = NEVER;
        dequeues.retain(|&index| {
            let keep = first_call == NEVER || empties && op(index).span.call < first_call;
            first_call = first_call.min(op(index).span.call);
            keep
        });
        let pending = possible.iter().copied().find(|&index| op(index).kind == Kind::Pending);
        let dequeues = dequeues.into_iter().chain(pending);
        let mut choices: Vec<(Rank, Choice)> =
            dequeues.map(|index| (op(index).span.ret, Choice::Dequeue(index))).collect();
        if empties {
            let peeks = of_value(Kind::Peek);
            choices.extend(peeks.map(|index| (op(index).span.ret, Choice::Peek(index))));
        }
        choices
    }

    fn follow(&mut self, mut pair: Pair, choice: Choice) -> Pair {
        match choice {
            Choice::Enqueue(index) => {
                pair.ins.take(index);
                pair.front = Some(self.ins.ops[index as usize].value);
                self.steps.push(Step::In(index));
            }
            Choice::Peek(index) => {
                pair.outs.take(index);
                self.steps.push(Step::Out(index));
            }
            Choice::Dequeue(index) => {
                pair.outs.take(index);
                pair.front = None;
                self.steps.push(Step::Out(index));
            }
        }
        pair
    }

    /// The order of all operations: between two that saw the queue empty, enqueues and dequeues as
    /// early as they may, merged by cell.
    fn order(&self) -> Vec<OpId> {
        let mut placed: Vec<((u32, Rank, u8), OpId)> = Vec::new();
        let (mut block, mut enter, mut leave) = (0, 0, 0);
        let mut taken = vec![false; self.ins.ops.len()];
        for &step in &self.steps {
            match step {
                Step::In(index) => {
                    let op = self.ins.ops[index as usize];
                    taken[index as usize] = true;
                    enter = enter.max(op.span.call + 1);
                    leave = leave.max(enter);
                    placed.push(((block, enter, 0), op.span.op));
                }
                Step::Out(index) => {
                    let op = self.outs.ops[index as usize];
                    leave = leave.max(op.span.call + 1);
                    if op.kind == Kind::SawEmpty {
                        leave = leave.max(enter);
                        enter = leave;
                        block += 1;
                    }
                    placed.push(((block, leave, 1), op.span.op));
                    block += u32::from(op.kind == Kind::SawEmpty);
                }
            }
        }
        let rest = self.ins.ops.iter().zip(&taken).filter(|&(_, &taken)| !taken);
        for (op, _) in rest.filter(|(op, _)| op.span.ret != NEVER) {
            enter = enter.max(op.span.call + 1);
            placed.push(((block, enter, 0), op.span.op));
        }
        placed.put_in_order_by_key(|&(key, _)| key);
        placed.into_iter().map(|(_, op)| op).collect()
    }
}
