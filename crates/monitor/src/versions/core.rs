//! The few operations that show a violation, and their refutation by the general search.
//!
//! A version says how many updates came before, so the operations of a core are never wrong by
//! themselves: taken alone, all their versions would be too high. What is refuted is this: from the
//! states in which the key can be before them, and at the versions that they tell, no order of
//! these operations is right. That is a small object of its own ([`table`](super::table)): φ and the state of the
//! key; a told operation takes φ up to its version, a pending one makes one of the gaps, a silent
//! one does so, or stands at a version that the object had while it lasted, or comes later than all
//! of the core, if it may. The general search is asked about the operations of the core under it. It shares the declarations
//! (V1–V4, P) and the states at the start with the engine, and nothing else.

use super::Confirmed;
use super::key::{Key, Keys};
use super::layout::{Fault, Index, Layout, Proof, Record};
use super::standing::{Posture, Silent};
use super::table::{Start, Table};
use crate::search::{Engine, Memory, Part, Progress, Strategy};
use seriatim_history::{History, Horizon, OpId};
use seriatim_limits::InOrder;
use seriatim_spec::{Aside, Cancel, ClassId, Interpretation, Rise, StateId, Version, Versioned};
use std::collections::VecDeque;
use std::sync::Arc;

/// Above this many states of a key the core is all operations of the key.
const STATES: usize = 4_000;

/// The most operations that a person is shown, if fewer than the whole window of uncertainty do.
const FEW: usize = 20;

/// The largest core that the general search is asked about.
const LARGEST: usize = 200;

/// The operations that show a violation.
pub(super) struct Core {
    pub sentence: String,
    pub operations: Vec<OpId>,
    claims: Claims,
    /// What to show instead if these operations can be explained by themselves.
    pub otherwise: Option<Box<Core>>,
}

/// What no order of the operations can do.
enum Claims {
    /// Follow the versions that they tell.
    Order { members: Vec<Member>, proof: Proof },
    /// Follow them and give the results, on one key.
    Key { members: Vec<Member>, starts: Vec<StateId>, since: u64, sole: Vec<u64> },
    /// Nothing that fewer than all operations show.
    Everything,
}

/// An operation of a core.
#[derive(Clone)]
pub(super) struct Member {
    op: OpId,
    pub class: ClassId,
    pub told: Option<Version>,
    /// The versions that it may have made, if it tells none.
    pub makes: Vec<u64>,
    /// The versions at which it may stand without a change, if it is silent.
    pub stands: Vec<u64>,
    /// Whether it may come after all others of the core.
    pub is_later: bool,
    /// Whether it acts on another key, and says only that its version had been reached.
    pub is_foreign: bool,
    /// What may stand aside at the versions at which it may look, where that is known; none of them
    /// if it does not look, or if that is a part of the states.
    pub asides: Option<Vec<(u64, Vec<StateId>)>>,
}

impl Core {
    /// The core of what versions and real time alone forbid.
    pub fn of_fault(layout: &Layout, fault: Fault) -> Core {
        let Fault { sentence, core, proof } = fault;
        let members: Vec<Member> = core.iter().map(|&index| Member::of(layout, index)).collect();
        let operations = members.iter().map(|member| member.op).collect();
        let claims = match proof {
            Proof::Everything => Claims::Everything,
            proof => Claims::Order { members, proof },
        };
        Core { sentence, operations, claims, otherwise: None }
    }

    /// The core of gaps that cannot be filled all at once, though each key could be completed
    /// alone.
    pub fn of_gaps(layout: &Layout) -> Core {
        let telling = layout.pending.iter().map(|&index| layout.record(index).op).collect();
        let sentence = format!(
            "{} versions were told by nobody, and the {} operations that tell nothing cannot have made \
             {}",
            layout.gaps.len(),
            layout.pending.len(),
            match layout.rise {
                Rise::ByOne => "them all",
                Rise::Sparse => "those that the results call for",
            }
        );
        let (operations, claims) = (telling, Claims::Everything);
        Core { sentence, operations, claims, otherwise: None }
    }

    /// The core of a key that cannot be completed, whatever the others do: from where its state was
    /// last certain to the operation that fits no state, without the reads that excluded nothing.
    pub fn of_key(keys: &mut Keys<'_>, key: usize, start: StateId) -> Core {
        let start = keys.keys[key].start(start);
        let start = keys.keys[key].posture(start);
        let first = Cut {
            starts: vec![start.state],
            settled: Vec::new(),
            slot: 0,
            since: keys.layout.first,
            shown: 0,
        };
        let mut trail = Trail {
            now: vec![start],
            certain: first,
            shown: Vec::new(),
            gaps: Vec::new(),
            sole: Vec::new(),
            cuts: VecDeque::new(),
            end: End::Misfit,
        };
        for at in 0..keys.keys[key].places.len() {
            if !trail.pass(keys, key, at) {
                let slots = keys.layout.updates.len() as u32;
                let next = keys.keys[key].places.get(at + 1).map_or(slots, |next| next.slot);
                return trail.core(keys, key, next);
            }
            if trail.now.len() > STATES {
                break;
            }
        }
        let one = &keys.keys[key];
        let own = one.places.iter().filter_map(|place| place.update);
        let own = own.chain(one.reads.iter().map(|&(index, _)| index)).chain(one.pending.clone());
        let sentence = "one key cannot be completed, whatever happened to the others".to_owned();
        let operations = own.map(|index| keys.layout.record(index).op).collect();
        Core { sentence, operations, claims: Claims::Everything, otherwise: None }
    }

    /// The core of a silent operation that fits nowhere while it lasts, although nothing leaves a
    /// choice: with the told updates of its keys meanwhile, from the state before them.
    pub fn of_silent(layout: &Layout, silent: Index, meanwhile: Meanwhile) -> Core {
        let Meanwhile { start, since, versions, updates } = meanwhile;
        let mut members: Vec<Member> =
            updates.iter().map(|&index| Member::of(layout, index)).collect();
        members.push(Member { stands: versions, ..Member::of(layout, silent) });
        let operations = members.iter().map(|member| member.op).collect();
        let sentence = format!(
            "one of these operations tells no version and fits none from {since} on that the object \
             had while it lasted; no other update of its keys comes between them"
        );
        let claims = Claims::Key { members, starts: vec![start], since, sole: Vec::new() };
        Core { sentence, operations, claims, otherwise: None }
    }

    /// The core of a silent operation that fits nowhere because of those before it.
    pub fn of_silents(layout: &Layout) -> Core {
        let all = layout.silent.iter();
        let operations = all.map(|&index| layout.record(index).op).collect();
        let sentence =
            "the operations that tell no version fit nowhere in the order that they happened in";
        let (sentence, claims) = (sentence.to_owned(), Claims::Everything);
        Core { sentence, operations, claims, otherwise: None }
    }

    /// The core of operations that change something at no version, and of those that look at it.
    pub fn of_asides(layout: &Layout, all: Vec<Index>) -> Core {
        let operations = all.iter().map(|&index| layout.record(index).op).collect();
        let sentence =
            "operations that change something at no version do not fit what others saw of it";
        let (sentence, claims) = (sentence.to_owned(), Claims::Everything);
        Core { sentence, operations, claims, otherwise: None }
    }

    /// The same, of one operation that fits nowhere after those that changed something since it was
    /// last certain.
    pub fn of_aside(layout: &Layout, story: Story, all: Vec<Index>) -> Core {
        let Story { members, starts, since, culprit } = story;
        let version = layout.record(culprit).told.map(Version::number);
        let member = |(index, stands, is_later): (Index, Vec<u64>, bool)| {
            let stands = if layout.record(index).told.is_some() { Vec::new() } else { stands };
            Member { stands, is_later, ..Member::of(layout, index) }
        };
        let members: Vec<Member> = members.into_iter().map(member).collect();
        let operations = members.iter().map(|member| member.op).collect();
        let sentence = format!(
            "one of these operations{} does not fit what changes at no version, which was last certain \
             at version {since}; nothing else changes it",
            version.map_or(String::new(), |version| format!(", which tells version {version},")),
        );
        let claims = Claims::Key { members, starts, since, sole: Vec::new() };
        let otherwise = Some(Box::new(Core::of_asides(layout, all)));
        Core { sentence, operations, claims, otherwise }
    }

    /// Whether the general search refutes the core; `None` if it finds an order.
    pub fn confirm(&self, history: &History, automaton: &mut dyn Versioned) -> Option<Confirmed> {
        let (members, table) = match &self.claims {
            Claims::Order { members, proof } => (members, Table::of_order(members, *proof)),
            Claims::Key { members, .. } if members.len() > LARGEST => return Some(Confirmed::No),
            Claims::Key { members, starts, since, sole } => {
                let start = Start { states: starts, version: *since, sole };
                (members, Table::of_key(members, start, automaton))
            }
            Claims::Everything => return Some(Confirmed::No),
        };
        let Some(table) = table else { return Some(Confirmed::No) };
        let mut sorted: Vec<(OpId, usize)> =
            members.iter().enumerate().map(|(place, member)| (member.op, place)).collect();
        sorted.put_in_order();
        let operations: Vec<OpId> = sorted.iter().map(|&(op, _)| op).collect();
        if operations.windows(2).any(|pair| pair[0] == pair[1]) {
            return Some(Confirmed::No);
        }
        let excerpt = history.restricted(&operations, Horizon::Whole);
        let classes = sorted.iter().map(|&(_, place)| Some(ClassId(place as u32)));
        let reading = Interpretation::new(Arc::new(table), classes);
        let all: Vec<OpId> = reading.operations().collect();
        let part = Part::new(&excerpt, &reading, &all);
        let (cancel, memory) = (Cancel::innermost(), Memory::new(64 << 20));
        let mut engine = Engine::new(&part, Strategy::DepthFirst, &cancel);
        match engine.run(100_000, &cancel, &memory) {
            Progress::Exhausted => Some(Confirmed::Yes),
            Progress::Found(_) => None,
            _ => Some(Confirmed::No),
        }
    }
}

/// What happened to what stands aside since it was last certain.
pub(super) struct Story {
    /// What changes it and the operation that does not fit, each with the versions at which it may
    /// stand if it tells none, and whether it may come later.
    pub members: Vec<(Index, Vec<u64>, bool)>,
    /// The states at the start, and their version.
    pub starts: Vec<StateId>,
    pub since: u64,
    /// The operation that does not fit.
    pub culprit: Index,
}

/// What happened while a silent operation lasted.
pub(super) struct Meanwhile {
    /// The state before, and its version.
    pub start: StateId,
    pub since: u64,
    /// The versions that the object had.
    pub versions: Vec<u64>,
    /// The updates of the same keys.
    pub updates: Vec<Index>,
}

impl Member {
    /// Whether it looks at what stands aside.
    fn is_looking(&self, layout: &Layout) -> bool {
        let place = layout.records.iter().find(|record| record.op == self.op);
        place.is_some_and(|record| record.aside == Aside::Looks)
    }

    fn of(layout: &Layout, index: Index) -> Member {
        let record = layout.record(index);
        let (makes, stands, is_later, is_foreign, asides) = Default::default();
        let Record { op, class, told, .. } = *record;
        Member { op, class, told, makes, stands, is_later, is_foreign, asides }
    }
}

/// The standings in which a key can be along its places, if operations that never returned could be
/// used again and again.
struct Trail {
    now: Vec<Posture>,
    /// Where the state was last certain.
    certain: Cut,
    /// The operations since then, with the classes that say what they do.
    shown: Vec<(Index, ClassId)>,
    /// The slots since then that an operation of the key may have filled, and those that one of
    /// them must have filled.
    gaps: Vec<u32>,
    sole: Vec<u64>,
    /// Where the story could begin later, the latest last.
    cuts: VecDeque<Cut>,
    end: End,
}

/// Why no state is left.
enum End {
    /// An operation that tells a version fits none.
    Misfit,
    /// This operation shows that a version existed which none of the key's can have made.
    Demand(Index),
    /// Silent operations had to have happened.
    Due,
}

/// A place from which on a core may tell its story: it begins with all states in which the key can
/// be there, instead of the operations that never returned and may have led to them.
struct Cut {
    starts: Vec<StateId>,
    /// The silent operations that had happened by then, of those that may still be due.
    settled: Vec<u32>,
    slot: u32,
    since: u64,
    /// How many of the operations come before.
    shown: usize,
}

impl Trail {
    /// A cut from here on; none if states differ in which silent operations have happened, or if one
    /// that fitted may still happen in another way.
    fn cut(&self, key: &Key, slot: u32, since: u64) -> Option<Cut> {
        let first = self.now.first()?;
        let is_same = |posture: &Posture| posture.met == first.met && posture.used == first.used;
        let is_open = |&silent: &u32| key.pending.len() as u32 > key.never + silent;
        if !self.now.iter().all(is_same) || first.met.iter().any(is_open) {
            return None;
        }
        let starts = self.now.iter().map(|posture| posture.state).collect();
        let settled = first.met.iter().chain(&first.used).copied().collect();
        Some(Cut { starts, settled, slot, since, shown: self.shown.len() })
    }

    fn push(&mut self, cut: Option<Cut>) {
        if self.cuts.len() == FEW {
            self.cuts.pop_front();
        }
        self.cuts.extend(cut);
    }

    /// Goes past a place; false if no state is left there.
    fn pass(&mut self, keys: &mut Keys<'_>, key: usize, at: usize) -> bool {
        let layout = keys.layout;
        let place = &keys.keys[key].places[at];
        let (slot, is_gap, is_sole) = (place.slot, place.is_gap, place.is_sole);
        let range = place.reads.start as usize..place.reads.end as usize;
        let (update, reads) = (place.update, keys.keys[key].reads[range].to_vec());
        let version = layout.version(slot);
        if let Some(index) = update {
            let class = layout.record(index).class;
            let told = Version::Update(version);
            let after = self.each(|state| keys.steps.told(state, class, told));
            let cut = self.cut(&keys.keys[key], slot, version - 1);
            match cut {
                Some(cut) if after.len() == 1 => {
                    self.certain = Cut { shown: 0, ..cut };
                    self.shown.clear();
                    self.gaps.clear();
                    self.sole.clear();
                    self.cuts.clear();
                }
                cut => self.push(cut),
            }
            self.shown.push((index, class));
            self.now = after;
        }
        if is_gap {
            self.gaps.push(slot);
            self.sole.extend(is_sole.then_some(version));
            self.now = self.fill(keys, key, at as u32, is_sole);
            if self.now.is_empty() {
                self.end = End::Demand(layout.witness(slot));
                return false;
            }
            let cut = self.cut(&keys.keys[key], slot, version);
            self.push(cut);
        }
        for (index, class) in reads {
            let read = (index, class);
            let after =
                self.each(|state| keys.steps.may_fit(layout, slot, read, state).then_some(state));
            if after.len() < self.now.len() {
                let cut = self.cut(&keys.keys[key], slot, version);
                self.push(cut);
                self.shown.push((index, class));
            }
            self.now = after;
        }
        if !self.now.is_empty() && !keys.keys[key].silents.is_empty() {
            self.settle(keys, key, at as u32);
        }
        !self.now.is_empty()
    }

    /// What becomes of the standings at a gap.
    fn fill(&self, keys: &mut Keys<'_>, key: usize, at: u32, is_sole: bool) -> Vec<Posture> {
        let version = keys.layout.version(keys.keys[key].places[at as usize].slot);
        let mut after = if is_sole { Vec::new() } else { self.now.clone() };
        for pending in keys.fillers(key, at) {
            if !keys.is_lasting(key, at, pending) {
                continue;
            }
            let class = keys.class_of(key, pending);
            let silent = keys.keys[key].silent_of(pending);
            for posture in &self.now {
                if silent.is_some_and(|silent| posture.used.contains(&silent)) {
                    continue;
                }
                let Some(state) = keys.steps.untold(posture.state, class, version) else {
                    continue;
                };
                after.push(posture.with(state, silent));
            }
        }
        sorted(after)
    }

    /// What becomes of the standings up to the next place.
    fn settle(&mut self, keys: &mut Keys<'_>, key: usize, at: u32) {
        let mut after = Vec::with_capacity(self.now.len());
        for posture in self.now.drain(..) {
            if let Some(standing) = keys.settle(key, at, posture) {
                after.push(keys.keys[key].posture(standing));
            }
        }
        self.now = sorted(after);
        if self.now.is_empty() {
            self.end = End::Due;
        }
    }

    fn each(&self, mut step: impl FnMut(StateId) -> Option<StateId>) -> Vec<Posture> {
        let after =
            self.now.iter().filter_map(|posture| Some(posture.with(step(posture.state)?, None)));
        sorted(after.collect())
    }

    /// The operations from a cut to a slot: those that tell a version, those that never returned and
    /// may have filled a gap, and silent ones that may have happened.
    fn members(&self, keys: &Keys<'_>, key: usize, cut: &Cut, end: u32) -> Vec<Member> {
        let (layout, one) = (keys.layout, &keys.keys[key]);
        let told =
            |&(index, class): &(Index, ClassId)| Member { class, ..Member::of(layout, index) };
        let mut members: Vec<Member> = self.shown[cut.shown..].iter().map(told).collect();
        if let End::Demand(index) = self.end {
            members.push(Member { is_foreign: true, ..Member::of(layout, index) });
        }
        let makes = |index: Index| -> Vec<u64> {
            let in_time = |&slot: &u32| {
                let is_new = layout.version(slot) > cut.since;
                is_new && layout.is_in_time(index, slot) && layout.is_lasting(index, slot)
            };
            let gaps = self.gaps.iter().copied().filter(in_time);
            gaps.map(|slot| layout.version(slot)).collect()
        };
        for &index in &one.pending[..one.never as usize] {
            let makes = makes(index);
            if !makes.is_empty() {
                members.push(Member { makes, ..Member::of(layout, index) });
            }
        }
        for (silent, number) in one.silents.iter().zip(0..) {
            let Silent { index, class, first, last, due } = *silent;
            if cut.settled.contains(&number) || due.is_some_and(|due| due < cut.slot) {
                continue;
            }
            let slots = first.max(cut.slot)..(last + 1).min(end);
            let is_filler = one.pending.len() as u32 > one.never + number;
            let makes = if is_filler { makes(index) } else { Vec::new() };
            let stands: Vec<u64> = slots.map(|slot| layout.version(slot)).collect();
            let is_later = due.is_none_or(|due| due >= end);
            if !makes.is_empty() || !is_later {
                members.push(Member {
                    class,
                    makes,
                    stands,
                    is_later,
                    ..Member::of(layout, index)
                });
            }
        }
        let looks = |member: &&mut Member| !layout.asides.is_empty() && member.is_looking(layout);
        for member in members.iter_mut().filter(looks) {
            let told = member.told.map(Version::number);
            let known = told.iter().chain(&member.stands).filter_map(|&version| {
                let aside = keys.steps.possible.at(layout.slot(version) as u32)?;
                Some((version, aside.to_vec()))
            });
            member.asides = Some(known.collect());
        }
        members
    }

    /// The core from where the state was last certain; if that is too much to look at, from the
    /// first cut from which on it is not, with the operation that made it certain. `end`: the slot
    /// behind it.
    fn core(mut self, keys: &Keys<'_>, key: usize, end: u32) -> Core {
        let mut chosen = (self.members(keys, key, &self.certain, end), None);
        while chosen.0.len() > FEW
            && let Some(cut) = self.cuts.pop_front()
        {
            chosen = (self.members(keys, key, &cut, end), Some(cut));
        }
        let (members, cut) = chosen;
        let Cut { starts, since, .. } = cut.unwrap_or(self.certain);
        let last = members.iter().filter_map(|member| member.told).map(Version::number).max();
        let state = match starts[..] {
            [only] => keys.steps.automaton.show(only, since),
            _ => format!(
                "one of {} states that operations which never returned may have left",
                starts.len()
            ),
        };
        let problem = match self.end {
            End::Due => format!(
                "one of these operations tells no version and fits none up to {}, by which it had to \
                 happen",
                keys.layout.version(end - 1)
            ),
            _ => format!(
                "the last of these operations at version {} does not fit what their versions say \
                 happened before",
                last.unwrap_or(0)
            ),
        };
        let sentence = format!(
            "{problem}, after {state} at version {since}; no other update of the key comes between them"
        );
        let certain = self.shown.first().map(|&(index, _)| keys.layout.record(index).op);
        let looks = |member: &&Member| member.asides.is_some();
        let seen = members.iter().filter(looks).flat_map(|member| {
            let told = member.told.map(Version::number);
            let versions = told.into_iter().chain(member.stands.iter().copied());
            versions
                .flat_map(|version| keys.steps.possible.makers(keys.layout.slot(version) as u32))
        });
        let seen: Vec<OpId> = seen.map(|&index| keys.layout.record(index).op).collect();
        let sentence = match seen.is_empty() {
            true => sentence,
            false => format!("{sentence}; nor does what changed at no version explain it"),
        };
        let operations = members.iter().map(|member| member.op).chain(certain).chain(seen);
        let operations = operations.collect();
        let claims = Claims::Key { members, starts, since, sole: self.sole };
        Core { sentence, operations, claims, otherwise: None }
    }
}

fn sorted(mut postures: Vec<Posture>) -> Vec<Posture> {
    postures.put_in_order();
    postures.dedup();
    postures
}
