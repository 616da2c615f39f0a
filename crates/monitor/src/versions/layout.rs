//! A history laid out along the versions that its results tell.
//!
//! Each version is a *slot*: first the update that made it, then the reads that saw it. Completed
//! operations are pinned to their slots (V2). A slot whose update nobody told is a *gap*: one of
//! the operations that tell nothing made it, or, if the version is sparse, perhaps nobody. What
//! contradicts that already, whatever the object does, is a [`Fault`]: the pair of operations that
//! shows it.
//!
//! Completed operations that tell no version are *silent*. One that may change something may fill a
//! gap, like one that never returned, while it lasts. Where the others stand is looked for when the
//! gaps are filled.

use hashbrown::{HashMap, HashSet};
use seriatim_history::{Event, History, OpId};
use seriatim_limits::InOrder;
use seriatim_spec::{Aside, ClassId, Interpretation, Rise, Version, Versioned, in_between};

/// The return of an operation that never returned.
pub(super) const NEVER: u32 = u32::MAX;

/// An operation of the history, by its place in [`Layout::records`].
pub(super) type Index = u32;

/// One operation.
#[derive(Clone, Copy)]
pub(super) struct Record {
    pub op: OpId,
    pub class: ClassId,
    /// The moments of its call and its return among the events of the part.
    pub call: u32,
    pub ret: u32,
    pub told: Option<Version>,
    pub aside: Aside,
}

/// What no order can explain, whatever the object does.
pub(super) struct Fault {
    pub sentence: String,
    pub core: Vec<Index>,
    /// How a second engine can see it.
    pub proof: Proof,
}

/// What a second engine needs to know to refute the operations of a fault by themselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Proof {
    /// Versions rise; that is enough.
    Rising,
    /// Versions rise by one from this one on.
    Counting(u64),
    /// It takes all operations.
    Everything,
}

/// A history along its versions.
pub(super) struct Layout {
    pub records: Vec<Record>,
    /// The version at the start, which is slot 0.
    pub first: u64,
    pub rise: Rise,
    /// The version of each slot.
    versions: Vec<u64>,
    /// Whether each slot and the one before it can be exchanged: nobody names their versions, and
    /// all that matters of versions is their order.
    continues: Vec<bool>,
    /// The update of each slot, if it was told.
    pub updates: Vec<Option<Index>>,
    /// The reads of each slot.
    pub reads: Vec<Vec<Index>>,
    /// For each slot the earliest return in it and later ones: what fills the slot was called
    /// before.
    pub late: Vec<u32>,
    /// For each slot the latest call in earlier ones: what fills the slot returned after it.
    early: Vec<u32>,
    /// For each slot the latest call up to its update: what sees the slot returned after it.
    seen: Vec<u32>,
    /// The latest call of all that tell a version.
    latest: u32,
    /// The slots without an update.
    pub gaps: Vec<u32>,
    /// The operations that may fill gaps, in the order of their calls: those that never returned,
    /// and silent ones that may change something.
    pub pending: Vec<Index>,
    /// The silent operations, in the order of their calls.
    pub silent: Vec<Index>,
    /// The operations that may change what stands aside, in the order of their calls. They are in
    /// none of the lists above but that of the reads.
    pub asides: Vec<Index>,
}

/// The most slots of a sparse version in which something may stand that was not told.
const SLOTS: usize = 1 << 20;

impl Layout {
    /// Lays some operations out; gives with it what versions and real time alone forbid, in which
    /// case it is not complete. `Err`: versions are too far apart, in words.
    pub fn new(
        history: &History,
        reading: &Interpretation,
        operations: &[OpId],
        automaton: &mut dyn Versioned,
    ) -> Result<(Layout, Option<Fault>), String> {
        let mut layout = Layout {
            records: records(history, reading, operations, automaton),
            first: automaton.initial().1,
            rise: automaton.rise(),
            versions: Vec::new(),
            continues: Vec::new(),
            updates: Vec::new(),
            reads: Vec::new(),
            late: Vec::new(),
            early: Vec::new(),
            seen: Vec::new(),
            latest: 0,
            gaps: Vec::new(),
            pending: Vec::new(),
            silent: Vec::new(),
            asides: Vec::new(),
        };
        layout.find_asides(reading)?;
        layout.set_apart(reading);
        let beyond = match (layout.rise, layout.silent.is_empty()) {
            (Rise::Sparse, false) => Some(automaton.beyond().ok_or(
                "an operation returned without its version, and nobody knows how far that had risen",
            )?),
            _ => None,
        };
        let fault = match layout.lay(automaton.mentions(), beyond) {
            Ok(()) => None,
            Err(Trouble::Fault(fault)) => Some(fault),
            Err(Trouble::TooFar) => return Err("its versions are too far apart".to_owned()),
        };
        Ok((layout, fault))
    }

    /// Finds the operations that may change what stands aside. Where there are none, that never
    /// changes, and nobody has to look. `Err`: what such an operation tells, or what looks, is not
    /// as declared, or not decided here.
    fn find_asides(&mut self, reading: &Interpretation) -> Result<(), String> {
        let changes = |index: &Index| self.record(*index).aside == Aside::Changes;
        self.asides = (0..self.records.len() as Index).filter(changes).collect();
        if self.asides.is_empty() {
            self.records.iter_mut().for_each(|record| record.aside = Aside::Apart);
            return Ok(());
        }
        if self.rise == Rise::Sparse {
            return Err("its version is sparse, and something changes at no version".to_owned());
        }
        let may_raise = |record: &Record| match record.told {
            Some(Version::Update(_)) => true,
            Some(Version::Read(_)) => false,
            None => !reading.alphabet.is_read_only(record.class),
        };
        for record in &self.records {
            match record.aside {
                Aside::Changes if matches!(record.told, Some(Version::Update(_))) => {
                    return Err("what changes at no version tells one that it made".to_owned());
                }
                Aside::Looks if may_raise(record) => {
                    return Err("an update looks at what changes at no version".to_owned());
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Finds the operations that tell nothing.
    fn set_apart(&mut self, reading: &Interpretation) {
        for (index, record) in (0..).zip(&self.records) {
            if record.told.is_some() || record.aside == Aside::Changes {
                continue;
            }
            let is_silent = record.ret != NEVER;
            self.silent.extend(is_silent.then_some(index));
            if !is_silent || !reading.alphabet.is_read_only(record.class) {
                self.pending.push(index);
            }
        }
    }

    fn lay(&mut self, mentions: Option<&[u64]>, beyond: Option<u64>) -> Result<(), Trouble> {
        let highest = self.highest()?;
        self.name_slots(highest, mentions, beyond)?;
        self.updates = vec![None; self.versions.len()];
        self.reads = vec![Vec::new(); self.versions.len()];
        self.fill_slots()?;
        self.keep_time()?;
        self.count_gaps()?;
        Ok(())
    }

    /// Numbers the versions. Of a sparse one that nobody told, there is a slot only if something
    /// may stand there that makes a difference.
    fn name_slots(
        &mut self,
        highest: u64,
        mentions: Option<&[u64]>,
        beyond: Option<u64>,
    ) -> Result<(), Trouble> {
        let told = self.records.iter().filter_map(|record| record.told.map(Version::number));
        match self.rise {
            Rise::ByOne => self.versions = (self.first..=highest).collect(),
            Rise::Sparse if self.pending.is_empty() && self.silent.is_empty() => {
                self.versions = [self.first].into_iter().chain(told).collect();
                self.versions.put_in_order();
                self.versions.dedup();
            }
            Rise::Sparse => {
                let untold = self.in_rows();
                let named = told.chain(beyond.filter(|&beyond| beyond > self.first));
                let between = in_between(self.first, named, mentions, untold, SLOTS);
                self.versions = between.ok_or(Trouble::TooFar)?;
            }
        }
        self.continues = self.rows(mentions, beyond);
        Ok(())
    }

    /// How many operations that tell nothing may stand in the row of versions behind one: those that
    /// were called before all that tell later ones returned, and did not return before one was
    /// called that tells this one or an earlier one. Those that change nothing can all stand at the
    /// same version.
    fn in_rows(&self) -> impl Fn(u64) -> usize {
        let told = |record: &Record| Some((record.told?.number(), record.call, record.ret));
        let mut told: Vec<(u64, u32, u32)> = self.records.iter().filter_map(told).collect();
        told.put_in_order();
        let mut latest = 0;
        let calls: Vec<u32> = told
            .iter()
            .map(|&(_, call, _)| {
                latest = call.max(latest);
                latest
            })
            .collect();
        let mut earliest = NEVER;
        let mut returns: Vec<u32> = Vec::with_capacity(told.len());
        for &(_, _, ret) in told.iter().rev() {
            earliest = ret.min(earliest);
            returns.push(earliest);
        }
        returns.reverse();
        let sorted = |time: fn(&Record) -> u32| {
            let times = self.pending.iter().map(|&index| time(self.record(index)));
            let mut times: Vec<u32> = times.collect();
            times.put_in_order();
            times
        };
        let (called, returned) = (sorted(|record| record.call), sorted(|record| record.ret));
        let more = usize::from(!self.silent.is_empty());
        move |version| {
            let behind = told.partition_point(|&(number, ..)| number <= version);
            let early = behind.checked_sub(1).map_or(0, |last| calls[last]);
            let late = returns.get(behind).copied().unwrap_or(NEVER);
            let in_time = called.partition_point(|&call| call < late);
            let over = returned.partition_point(|&ret| ret <= early);
            in_time.saturating_sub(over) + more
        }
    }

    /// For each slot whether it goes on with the row of the slot before it.
    fn rows(&self, mentions: Option<&[u64]>, beyond: Option<u64>) -> Vec<bool> {
        let Some(mentions) = mentions.filter(|_| self.rise == Rise::Sparse) else {
            return vec![false; self.versions.len()];
        };
        let told = self.records.iter().filter_map(|record| record.told.map(Version::number));
        let named: HashSet<u64> =
            told.chain(mentions.iter().copied()).chain(beyond).chain([self.first]).collect();
        let is_open = |slot: usize| !named.contains(&self.versions[slot]);
        let continues = |slot: usize| {
            slot > 0
                && self.versions[slot - 1] + 1 == self.versions[slot]
                && is_open(slot - 1)
                && is_open(slot)
        };
        (0..self.versions.len()).map(continues).collect()
    }

    /// Whether a slot and the one before it can be exchanged.
    pub fn continues(&self, slot: u32) -> bool {
        self.continues[slot as usize]
    }

    /// The slot of a version that was told.
    pub fn slot(&self, version: u64) -> usize {
        self.versions.partition_point(|&known| known < version)
    }

    /// The version of a slot.
    pub fn version(&self, slot: u32) -> u64 {
        self.versions[slot as usize]
    }

    pub fn record(&self, index: Index) -> &Record {
        &self.records[index as usize]
    }

    /// Whether an operation was called in time to make the version of a slot.
    pub fn is_in_time(&self, pending: Index, slot: u32) -> bool {
        self.record(pending).call < self.late[slot as usize]
    }

    /// Whether an operation had not returned too early to make the version of a slot.
    pub fn is_lasting(&self, pending: Index, slot: u32) -> bool {
        self.record(pending).ret > self.early[slot as usize]
    }

    /// Whether a return comes after all calls before a slot.
    pub fn is_after(&self, ret: u32, slot: u32) -> bool {
        ret > self.early[slot as usize]
    }

    /// The first and the last slot that an operation without a version may make.
    pub fn makes(&self, index: Index) -> (u32, u32) {
        let Record { call, ret, .. } = *self.record(index);
        let first = self.late.partition_point(|&late| late <= call);
        let end = self.early.partition_point(|&early| early < ret);
        (first as u32, end.saturating_sub(1) as u32)
    }

    /// The first and the last slot at which an operation without a version may stand; and whether
    /// it may come after all of them.
    pub fn stands(&self, index: Index) -> (u32, u32, bool) {
        let Record { call, ret, .. } = *self.record(index);
        let first = self.late[1..].partition_point(|&late| late <= call);
        let end = self.seen.partition_point(|&seen| seen < ret);
        (first as u32, end.saturating_sub(1) as u32, ret > self.latest)
    }

    /// The first and the last slot at which an operation may stand if the updates of all slots are
    /// known; one that tells its version has one.
    pub fn stands_among(&self, bounds: &Bounds, index: Index) -> (u32, u32, bool) {
        let Record { call, ret, told, .. } = *self.record(index);
        if let Some(version) = told {
            let slot = self.slot(version.number()) as u32;
            return (slot, slot, false);
        }
        let first = bounds.late[1..].partition_point(|&late| late <= call);
        let end = bounds.seen.partition_point(|&seen| seen < ret);
        (first as u32, end.saturating_sub(1) as u32, ret > bounds.latest)
    }

    /// When slots begin and end, with these updates.
    pub fn bounds(&self, updates: &[Option<Index>]) -> Bounds {
        let mut late = vec![NEVER; updates.len()];
        let mut earliest = NEVER;
        for slot in (0..updates.len()).rev() {
            for &index in updates[slot].iter().chain(&self.reads[slot]) {
                earliest = earliest.min(self.record(index).ret);
            }
            late[slot] = earliest;
        }
        let (mut latest, mut seen) = (0, Vec::with_capacity(updates.len()));
        for (update, reads) in updates.iter().zip(&self.reads) {
            update.iter().for_each(|&index| latest = self.record(index).call.max(latest));
            seen.push(latest);
            reads.iter().for_each(|&index| latest = self.record(index).call.max(latest));
        }
        Bounds { late, seen, latest }
    }

    /// The operation whose return shows first that the version of a slot existed.
    pub fn witness(&self, slot: u32) -> Index {
        let late = self.late[slot as usize];
        self.records.iter().position(|record| record.ret == late).unwrap_or(0) as Index
    }

    /// The highest version told, unless one is absurd.
    fn highest(&self) -> Result<u64, Fault> {
        let Layout { records, first, .. } = self;
        let first = *first;
        let told = records.iter().filter(|r| matches!(r.told, Some(Version::Update(_)))).count();
        let updates = (told + self.pending.len()) as u64;
        let mut highest = first;
        for (index, record) in (0..).zip(records) {
            let least = match record.told {
                Some(Version::Update(_)) => first + 1,
                _ => first,
            };
            let number = record.told.map_or(least, Version::number);
            if number < least {
                let sentence =
                    format!("it tells version {number}, and the object starts at {first}");
                let proof = Proof::Counting(first);
                return Err(Fault { sentence, core: vec![index], proof });
            }
            if self.rise == Rise::ByOne && number - first > updates {
                let sentence =
                    format!("it tells version {number}, but there are {updates} updates");
                let proof = Proof::Everything;
                return Err(Fault { sentence, core: vec![index], proof });
            }
            highest = highest.max(number);
        }
        Ok(highest)
    }

    fn fill_slots(&mut self) -> Result<(), Fault> {
        for index in 0..self.records.len() as Index {
            match self.record(index).told {
                Some(Version::Update(version)) => {
                    let slot = self.slot(version);
                    if let Some(other) = self.updates[slot].replace(index) {
                        let sentence = format!("two updates both made version {version}");
                        return Err(Fault {
                            sentence,
                            core: vec![other, index],
                            proof: Proof::Rising,
                        });
                    }
                }
                Some(Version::Read(version)) => {
                    let slot = self.slot(version);
                    self.reads[slot].push(index);
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Nothing in a later slot returned before something in an earlier slot was called.
    fn keep_time(&mut self) -> Result<(), Fault> {
        let slots = self.updates.len();
        let mut earliest = vec![(NEVER, 0); slots + 1];
        let mut earliest_read = earliest.clone();
        for slot in (0..slots).rev() {
            let least = |known: (u32, Index), &index: &Index| {
                known.min((self.records[index as usize].ret, index))
            };
            earliest_read[slot] = self.reads[slot].iter().fold(earliest[slot + 1], least);
            earliest[slot] = self.updates[slot].iter().fold(earliest_read[slot], least);
        }
        self.late = earliest[..slots].iter().map(|&(ret, _)| ret).collect();
        let mut latest = (0, 0);
        self.early = Vec::with_capacity(slots);
        self.seen = Vec::with_capacity(slots);
        for slot in 0..slots {
            self.early.push(latest.0);
            let greatest = |known: (u32, Index), &index: &Index| {
                known.max((self.records[index as usize].call, index))
            };
            latest = self.updates[slot].iter().fold(latest, greatest);
            self.seen.push(latest.0);
            self.compare(latest, earliest_read[slot])?;
            latest = self.reads[slot].iter().fold(latest, greatest);
            self.compare(latest, earliest[slot + 1])?;
        }
        self.latest = latest.0;
        Ok(())
    }

    fn compare(&self, call: (u32, Index), ret: (u32, Index)) -> Result<(), Fault> {
        if call.0 <= ret.0 {
            return Ok(());
        }
        let number = |index: Index| self.record(index).told.map_or(0, Version::number);
        let (early, late) = (number(call.1), number(ret.1));
        let sentence = format!(
            "version {late} had been told before the operation was called that tells {}version {early}",
            if early < late { "the older " } else { "an update to " },
        );
        Err(Fault { sentence, core: vec![ret.1, call.1], proof: Proof::Rising })
    }

    /// Each gap needs an operation of its own that was called in time. To give every gap the
    /// earliest call that is left is exact, since what comes in time for a gap does so for all
    /// later ones.
    fn count_gaps(&mut self) -> Result<(), Fault> {
        let records = &self.records;
        self.pending.put_in_order_by_key(|&index| records[index as usize].call);
        let slots = self.updates.len() as u32;
        self.gaps = (1..slots).filter(|&slot| self.updates[slot as usize].is_none()).collect();
        if self.rise == Rise::Sparse {
            return Ok(());
        }
        for (nth, &slot) in self.gaps.iter().enumerate() {
            let in_time = self.pending.get(nth).is_some_and(|&p| self.is_in_time(p, slot));
            if !in_time {
                return Err(self.too_few(slot));
            }
        }
        Ok(())
    }

    fn too_few(&self, slot: u32) -> Fault {
        let version = self.version(slot);
        let witness = self.witness(slot);
        let called = self.pending.iter().filter(|&&p| self.is_in_time(p, slot)).count();
        if called == 0 {
            let sentence = format!(
                "nothing can have made version {version}: no operation told it, and none that tells \
                 nothing had been called by then"
            );
            let proof = Proof::Counting(version - 1);
            return Fault { sentence, core: vec![witness], proof };
        }
        let sentence = format!(
            "too few operations can have made the versions up to {version} that nobody told: of those \
             that tell nothing only {called} had been called by then"
        );
        Fault { sentence, core: vec![witness], proof: Proof::Everything }
    }
}

/// When slots begin and end.
pub(super) struct Bounds {
    /// For each slot the earliest return in it and later ones.
    late: Vec<u32>,
    /// For each slot the latest call up to its update.
    seen: Vec<u32>,
    /// The latest call of all.
    latest: u32,
}

/// Why a history is not laid out.
enum Trouble {
    /// It is wrong.
    Fault(Fault),
    /// There are too many versions.
    TooFar,
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        Trouble::Fault(fault)
    }
}

fn records(
    history: &History,
    reading: &Interpretation,
    operations: &[OpId],
    automaton: &dyn Versioned,
) -> Vec<Record> {
    let mut place: HashMap<OpId, usize> = HashMap::with_capacity(operations.len());
    let mut records: Vec<Record> = Vec::with_capacity(operations.len());
    for (moment, event) in history.events_of(operations.iter().copied()).enumerate() {
        match event {
            Event::Call(op) => {
                let class = reading.class(op).expect("a part holds no dropped operation");
                let told = history.ret(op).and_then(|_| automaton.version(class));
                place.insert(op, records.len());
                let (aside, call) = (automaton.aside(class), moment as u32);
                records.push(Record { op, class, call, ret: NEVER, told, aside });
            }
            Event::Return(op) => records[place[&op]].ret = moment as u32,
        }
    }
    records
}
