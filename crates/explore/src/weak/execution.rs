//! The execution graph of a run: its accesses with who reads from whom, the modification order of
//! each word, and what clients and allocators synchronise.
//!
//! The graph is execution from what the run says of itself, and refuses a run that contradicts
//! itself: a read must give what its write wrote. Whether the memory model allows the graph is
//! asked of [`graph`](super::graph); which two accesses race is asked here, of happens-before
//! alone.

use super::client::{OPERATIONS, operation};
use super::event::{Done, Event, Named};
use super::evidence::{Race, Witness};
use super::graph::{Graph, GraphEvent, Kind, Relation};
use super::memory::Content;
use super::reexecution::Thread;
use crate::options::{MemoryModel, Synchronise};
use seriatim_lang::steps::{Op, Ordering, Root};
use std::collections::BTreeMap;

/// A node in one of its lives: a node that is freed may be made again in the same place.
type Life = (u32, u32);

/// What an access of a run touches: a word of shared variables or of a node, or a node as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Touched {
    Word(Option<Life>, usize),
    Node(Life),
}

impl Touched {
    fn node(&self) -> Option<Life> {
        match self {
            Touched::Word(node, _) => *node,
            Touched::Node(node) => Some(*node),
        }
    }
}

/// How an access of a run touches it.
#[derive(Clone, Copy)]
struct Touch {
    touched: Touched,
    writes: bool,
    is_atomic: bool,
}

impl Touch {
    /// A node is made or given back.
    fn whole(node: Life) -> Touch {
        Touch { touched: Touched::Node(node), writes: true, is_atomic: false }
    }

    /// Whether two accesses of different threads must be ordered.
    fn conflicts(&self, other: &Touch) -> bool {
        let (one, two) = (&self.touched, &other.touched);
        let is_whole = |touched| matches!(touched, &Touched::Node(_));
        let meets = one == two || (is_whole(one) || is_whole(two)) && one.node() == two.node();
        meets && (self.writes || other.writes) && !(self.is_atomic && other.is_atomic)
    }
}

/// How often each node has been made so far.
#[derive(Default)]
struct Lives(BTreeMap<u32, u32>);

impl Lives {
    fn now(&self, node: u32) -> Life {
        (node, self.0.get(&node).copied().unwrap_or(0))
    }

    fn begin(&mut self, node: u32) {
        *self.0.entry(node).or_insert(0) += 1;
    }

    fn word(&self, (node, word): Named) -> Touched {
        Touched::Word(node.map(|node| self.now(node)), word)
    }
}

/// The numbers of words, and the events that write them before the run begins.
struct Words {
    numbers: BTreeMap<Touched, usize>,
    initial: BTreeMap<usize, usize>,
}

/// The graph of a run.
pub(super) struct Execution {
    pub graph: Graph,
    /// For each access of the run, its event.
    pub numbers: Vec<usize>,
    /// For each access of the run, what it touches, and how.
    touches: Vec<Option<Touch>>,
    threads: Vec<usize>,
    /// For each operation that returned, the event, if the client tells of it.
    returns: BTreeMap<u32, usize>,
}

impl Execution {
    /// The graph of a run; an error if the run contradicts itself.
    pub fn of(witness: &Witness<'_>) -> Result<Execution, String> {
        let touches = witness.touches();
        let mut numbers: BTreeMap<Touched, usize> = BTreeMap::new();
        for Touch { touched, .. } in touches.iter().flatten() {
            if let Touched::Word(..) = touched {
                let next = numbers.len();
                numbers.entry(*touched).or_insert(next);
            }
        }
        let mut graph = Graph { modification: vec![vec![]; numbers.len()], ..Graph::default() };
        // Words of variables and of first nodes have an initial write; those of new nodes are
        // written by the event that makes the node.
        let mut initial: BTreeMap<usize, usize> = BTreeMap::new();
        for (touched, word) in &numbers {
            if let Touched::Word(None | Some((_, 0)), _) = touched {
                let (kind, order) = (Kind::Write, Some(Ordering::Relaxed));
                graph.events.push(GraphEvent { thread: None, kind, word: Some(*word), order });
                graph.reads_from.push(None);
                initial.insert(*word, graph.events.len() - 1);
                graph.modification[*word].push(graph.events.len() - 1);
            }
        }
        let threads = witness.events.iter().map(|e| e.thread).collect();
        let mut execution =
            Execution { graph, numbers: vec![], touches, threads, returns: BTreeMap::new() };
        execution.add(witness, &Words { numbers, initial })?;
        execution.synchronise(witness);
        Ok(execution)
    }

    /// Adds the accesses of the run.
    fn add(&mut self, witness: &Witness<'_>, words: &Words) -> Result<(), String> {
        let mut contents = witness.first_contents(words)?;
        let mut by_number: BTreeMap<u32, usize> = BTreeMap::new();
        for (at, event) in witness.events.iter().enumerate() {
            let number = self.graph.events.len();
            let Some(word) = self.add_event(at, event, words, witness) else {
                match &event.done {
                    Done::New(_, slots) => {
                        let written = self.make(at, number, words);
                        witness.made(event, slots, &written, &mut |word, content| {
                            contents.insert((number, word), content);
                        })?;
                    }
                    Done::Flush(write) => {
                        let write =
                            *by_number.get(write).ok_or("it takes a write that is not there")?;
                        let word = self.graph.events[write].word.unwrap_or(0);
                        self.graph.modification[word].push(write);
                    }
                    _ => {}
                }
                continue;
            };
            let source = |from: u32| {
                let made = self.graph.modification[word].first().copied();
                let first = words.initial.get(&word).copied().or(made);
                by_number.get(&from).copied().or(first).ok_or("it reads a write that is not there")
            };
            match &event.done {
                Done::Learns(operation) => {
                    let ret = self.returns.get(operation).copied();
                    self.graph.reads_from[number] =
                        Some(ret.ok_or("it learns of a return that is not there")?);
                }
                Done::Read { from, content, .. } => {
                    let write = source(*from)?;
                    same(&contents, (write, word), content)?;
                    self.graph.reads_from[number] = Some(write);
                }
                Done::Update { from, before, content, .. } => {
                    let write = source(*from)?;
                    same(&contents, (write, word), before)?;
                    self.graph.reads_from[number] = Some(write);
                    contents.insert((number, word), content.clone());
                    self.put(word, Some(write), number);
                }
                Done::Write { after, content, order, .. } => {
                    contents.insert((number, word), content.clone());
                    match *after {
                        // It waits in a queue; memory takes it later, or not in this run.
                        u32::MAX => {}
                        _ if order.is_none() || witness.model != MemoryModel::Rc20 => {
                            self.put(word, None, number);
                        }
                        after => {
                            let write = source(after)?;
                            self.put(word, Some(write), number);
                        }
                    }
                }
                _ => {}
            }
            by_number.insert(event.number, number);
        }
        self.finish_queues();
        Ok(())
    }

    /// Adds the event of an access; gives the number of the word that it accesses, if it does.
    fn add_event(
        &mut self,
        at: usize,
        event: &Event,
        words: &Words,
        witness: &Witness<'_>,
    ) -> Option<usize> {
        if let Done::Return(_) | Done::Learns(_) = event.done
            && witness.clients == Synchronise::Anything
        {
            return self.told(event);
        }
        let (kind, order) = match &event.done {
            Done::Read { order, .. } => (Kind::Read, *order),
            Done::Write { order, .. } => (Kind::Write, *order),
            Done::Update { order, .. } => (Kind::Update, Some(*order)),
            Done::Fence(order) => (Kind::Fence, Some(*order)),
            _ => (Kind::Mark, None),
        };
        let touched = self.touches[at].filter(|_| kind != Kind::Mark).map(|touch| touch.touched);
        let word = touched.and_then(|touched| words.numbers.get(&touched).copied());
        let order = match witness.model {
            MemoryModel::Tso => on_x86(kind, order),
            MemoryModel::Sc | MemoryModel::Rc20 => order,
        };
        self.push(GraphEvent { thread: Some(event.thread), kind, word, order });
        word
    }

    fn push(&mut self, event: GraphEvent) {
        self.numbers.push(self.graph.events.len());
        self.graph.events.push(event);
        self.graph.reads_from.push(None);
    }

    /// A client that synchronises what it likes has a word for each operation: it releases it at
    /// the return, and acquires it where it learns of that.
    fn told(&mut self, event: &Event) -> Option<usize> {
        let thread = Some(event.thread);
        let Done::Learns(learned) = event.done else {
            let done = self.returns.keys().filter(|o| **o / OPERATIONS == event.thread as u32);
            let own = operation(event.thread, done.count() as u32);
            let word = self.graph.modification.len();
            self.graph.modification.push(vec![self.graph.events.len()]);
            self.returns.insert(own, self.graph.events.len());
            let (kind, order) = (Kind::Write, Some(Ordering::Release));
            self.push(GraphEvent { thread, kind, word: Some(word), order });
            return None;
        };
        let ret = self.returns.get(&learned);
        let word = ret.and_then(|ret| self.graph.events[*ret].word);
        let (kind, order) = (Kind::Read, Some(Ordering::Acquire));
        self.push(GraphEvent { thread, kind, word, order });
        Some(word.unwrap_or(0))
    }

    /// Writes that no memory has taken come last, in the order of their threads.
    fn finish_queues(&mut self) {
        for number in 0..self.graph.events.len() {
            let event = self.graph.events[number];
            if let (Some(word), true) = (event.word, event.writes())
                && !self.graph.modification[word].contains(&number)
            {
                self.graph.modification[word].push(number);
            }
        }
    }

    /// The words of a node that is made are written by the event that makes it: each with its place
    /// in the node.
    fn make(&mut self, at: usize, number: usize, words: &Words) -> Vec<Made> {
        let Some(Touch { touched: Touched::Node(life), .. }) = self.touches[at] else {
            return vec![];
        };
        let mut made = vec![];
        for (touched, word) in &words.numbers {
            if let Touched::Word(Some(of), place) = touched
                && *of == life
            {
                self.graph.modification[*word].push(number);
                made.push(Made { place: *place, word: *word });
            }
        }
        made
    }

    /// Puts a write behind another one, or at the end.
    fn put(&mut self, word: usize, after: Option<usize>, number: usize) {
        let order = &mut self.graph.modification[word];
        let place = after.and_then(|write| order.iter().position(|w| *w == write));
        order.insert(place.map_or(order.len(), |place| place + 1), number);
    }

    /// What clients and allocators synchronise.
    fn synchronise(&mut self, witness: &Witness<'_>) {
        let done = |at: usize| &witness.events[at].done;
        for a in 0..witness.events.len() {
            for b in a + 1..witness.events.len() {
                let client = witness.clients == Synchronise::Everything
                    && matches!((done(a), done(b)), (Done::Return(_), Done::Call(..)));
                let again = matches!((done(a), done(b)), (Done::Free(old), Done::New(new, _)) if old == new);
                if client || again {
                    self.graph.synchronised.push((self.numbers[a], self.numbers[b]));
                }
            }
        }
    }

    /// The access that freed the node which the last one touches.
    pub fn freed(&self, events: &[Event]) -> Option<Race> {
        let last = events.len() - 1;
        let node = self.touches[last]?.touched.node();
        let frees = |at: &usize| {
            let touched = self.touches[*at].and_then(|touch| touch.touched.node());
            matches!(events[*at].done, Done::Free(_)) && touched == node
        };
        (0..last).rev().find(frees).map(|free| (free, last))
    }

    /// An access that races with this one.
    pub fn race(&self, before: &Relation, last: usize) -> Option<Race> {
        let touch = self.touches[last]?;
        (0..last).rev().find_map(|other| {
            let is_apart = self.threads[other] != self.threads[last]
                && !before.has(self.numbers[other], self.numbers[last]);
            let conflicts = self.touches[other].is_some_and(|other| other.conflicts(&touch));
            (is_apart && conflicts).then_some((other, last))
        })
    }
}

/// How an access is ordered on x86: every write releases, every read acquires.
fn on_x86(kind: Kind, order: Option<Ordering>) -> Option<Ordering> {
    match (kind, order) {
        (Kind::Fence | Kind::Mark, _) | (_, Some(Ordering::SeqCst)) => order,
        (Kind::Read, _) => Some(Ordering::Acquire),
        (Kind::Write, _) => Some(Ordering::Release),
        (Kind::Update, _) => Some(Ordering::AcqRel),
    }
}

/// A word that an allocation writes, and its place in the node.
struct Made {
    place: usize,
    word: usize,
}

/// What each write wrote to each word.
type Contents = BTreeMap<(usize, usize), Content>;

/// Whether a read gave what its write wrote.
fn same(contents: &Contents, write: (usize, usize), read: &Content) -> Result<(), String> {
    match contents.get(&write) {
        Some(written) if written == read => Ok(()),
        _ => Err("a read gives what was not written".to_owned()),
    }
}

impl Witness<'_> {
    /// What each access of the run touches, and how.
    fn touches(&self) -> Vec<Option<Touch>> {
        let mut lives = Lives::default();
        let mut touches = vec![];
        for event in self.events {
            touches.push(match &event.done {
                Done::Read { word, order, .. } => {
                    let (touched, is_atomic) = (lives.word(*word), order.is_some());
                    Some(Touch { touched, writes: false, is_atomic })
                }
                Done::Write { word, order, .. } => {
                    let (touched, is_atomic) = (lives.word(*word), order.is_some());
                    Some(Touch { touched, writes: true, is_atomic })
                }
                Done::Update { word, .. } => {
                    Some(Touch { touched: lives.word(*word), writes: true, is_atomic: true })
                }
                Done::New(node, _) => {
                    lives.begin(*node);
                    Some(Touch::whole(lives.now(*node)))
                }
                Done::Free(node) => Some(Touch::whole(lives.now(*node))),
                _ => None,
            });
        }
        // The access that is an error touches what its instruction names.
        if let (Some(last), Some(touch)) = (self.events.last(), touches.last_mut())
            && let Done::Fault(_) = last.done
        {
            *touch = self.wanted(&lives);
        }
        touches
    }

    /// What a new node holds, word by word.
    fn made(
        &self,
        event: &Event,
        slots: &[i32],
        made: &[Made],
        write: &mut dyn FnMut(usize, Content),
    ) -> Result<(), String> {
        let Op::New { of, .. } = &self.subject.machine.steps.code[event.pc.0 as usize].op else {
            return Err("it makes no node there".to_owned());
        };
        let layout = &self.layout.structs[of.0 as usize];
        for Made { place, word } in made {
            write(*word, Content::of(&slots[layout[*place].slots.clone()]));
        }
        Ok(())
    }

    /// What the words hold at the start.
    fn first_contents(&self, words: &Words) -> Result<Contents, String> {
        let mut machine = self.subject.machine.clone();
        let state = machine.initial().map_err(|stop| format!("{stop:?}"))?;
        let stride = machine.node_stride();
        let mut contents = Contents::new();
        for (touched, word) in &words.numbers {
            let (Touched::Word(node, place), Some(event)) = (touched, words.initial.get(word))
            else {
                continue;
            };
            let slots = match node {
                None => &state.words[self.layout.shared[*place].slots.clone()],
                Some((node, _)) => {
                    let cells = &state.heap[*node as usize * stride..][..stride];
                    let layout = &self.layout.structs[cells[0] as usize];
                    &cells[1..][layout[*place].slots.clone()]
                }
            };
            contents.insert((*event, *word), Content::of(slots));
        }
        Ok(contents)
    }

    /// What the last instruction of the run would have touched.
    fn wanted(&self, lives: &Lives) -> Option<Touch> {
        let last = self.events.last()?;
        let mut thread = Thread::new(self, last.thread);
        let own = self.events.iter().filter(|e| e.thread == last.thread);
        for event in own.take_while(|e| !matches!(e.done, Done::Fault(_))) {
            thread.follow(event).ok()?;
        }
        thread.run_to(last.pc).ok()?;
        let op = &self.subject.machine.steps.code[last.pc.0 as usize].op;
        if let Op::Free(node) = op {
            let node = thread.value(node, last.pc).ok()?;
            return Some(Touch::whole(lives.now(node as u32)));
        }
        let (node, word) = thread.named(op.place()?, last.pc).ok()?;
        let is_plain = match node {
            None => self.layout.shared[word].plain,
            Some(_) => match &op.place()?.root {
                Root::Node(_, id) => self.layout.structs[id.0 as usize][word].plain,
                Root::Shared => false,
            },
        };
        let writes = !matches!(op, Op::Load { .. });
        Some(Touch { touched: lives.word((node, word)), writes, is_atomic: !is_plain })
    }
}
