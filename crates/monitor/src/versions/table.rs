//! The small object that a core is refuted under, as a table: the version and the state of one key,
//! or the version alone.

use super::core::Member;
use super::layout::Proof;
use hashbrown::HashMap;
use seriatim_limits::InOrder;
use seriatim_spec::{Alphabet, Automaton, Cancel, ClassId, StateId, Version, Versioned, Walk};

/// The object that a core is refuted under, as a table: for each state and operation the states
/// after.
pub(super) struct Table {
    next: Vec<Vec<Vec<StateId>>>,
}

/// The version of a table behind all that a core tells of.
const LATER: u64 = u64::MAX;

/// The most states of a table.
const ROWS: usize = 5_000;

impl Table {
    /// Explores all states from the first one.
    fn explore<S: Clone + Eq + std::hash::Hash>(
        start: S,
        classes: usize,
        mut step: impl FnMut(&S, usize) -> Vec<S>,
    ) -> Option<Table> {
        let mut index: HashMap<S, u32> = HashMap::from([(start.clone(), 0)]);
        let mut states = vec![start];
        let mut next: Vec<Vec<Vec<StateId>>> = Vec::new();
        while let Some(state) = states.get(next.len()).cloned() {
            let mut row = Vec::with_capacity(classes);
            for class in 0..classes {
                let mut after = Vec::new();
                for successor in step(&state, class) {
                    let fresh = states.len() as u32;
                    let id = *index.entry(successor.clone()).or_insert(fresh);
                    if id == fresh {
                        states.push(successor);
                    }
                    after.push(StateId(id));
                }
                after.put_in_order();
                after.dedup();
                row.push(after);
            }
            next.push(row);
            if states.len() > ROWS {
                return None;
            }
        }
        Some(Table { next })
    }

    /// The object that has nothing but its version.
    pub fn of_order(members: &[Member], proof: Proof) -> Option<Table> {
        let start = match proof {
            Proof::Counting(version) => version,
            Proof::Rising | Proof::Everything => 0,
        };
        Table::explore(start, members.len(), |&now, member| {
            let fits = match (members[member].told, proof) {
                (Some(Version::Update(told)), Proof::Counting(_)) => told == now + 1,
                (Some(Version::Read(told)), Proof::Counting(_)) => told == now,
                (Some(Version::Update(told)), _) => told > now,
                (Some(Version::Read(told)), _) => told >= now,
                (None, _) => false,
            };
            let told = members[member].told.map_or(now, Version::number);
            if fits { vec![told] } else { Vec::new() }
        })
    }

    /// The object of one key and its version, from any of some states.
    pub fn of_key(
        members: &[Member],
        start: Start<'_>,
        automaton: &mut dyn Versioned,
    ) -> Option<Table> {
        // The version so far and the state; no state before the first step, when it is any of
        // those.
        type State = (u64, Option<StateId>);
        let mut found = Vec::new();
        let mut fails = false;
        let table = Table::explore(
            (start.version, None),
            members.len(),
            |&(now, state): &State, member| {
                let Member { class, told, makes, stands, is_later, is_foreign, asides, .. } =
                    &members[member];
                let untold = makes.iter().map(|&made| (made - 1, made));
                let untold = untold.chain(stands.iter().map(|&version| (version, version)));
                let made: Vec<(u64, u64)> = match told {
                    Some(Version::Update(told)) => vec![(told - 1, *told)],
                    Some(Version::Read(told)) => vec![(*told, *told)],
                    None => untold.filter(|&(before, _)| before >= now).collect(),
                };
                let from = state.as_ref().map_or(start.states, std::slice::from_ref);
                let mut after: Vec<State> = Vec::new();
                after.extend(is_later.then_some((LATER, state)));
                let is_free =
                    |before: u64| !start.sole.iter().any(|g| (now + 1..=before).contains(g));
                for (before, version) in made.into_iter().filter(|&(b, _)| b >= now && is_free(b)) {
                    if *is_foreign {
                        after.extend(from.iter().map(|&state| (version, Some(state))));
                        continue;
                    }
                    if let Some(asides) = asides {
                        let known = asides.iter().find(|(at, _)| *at == before);
                        let mut fits = |state: StateId| {
                            known.is_none_or(|(_, all)| {
                                all.iter().any(|&aside| {
                                    let joined = automaton.with_aside(state, aside);
                                    found.clear();
                                    let step = automaton.step(joined, *class, before, &mut found);
                                    fails |= step.is_err();
                                    found.contains(&(joined, version))
                                })
                            })
                        };
                        let fitting = from.iter().filter(|state| fits(**state));
                        after.extend(fitting.map(|&state| (version, Some(state))));
                        continue;
                    }
                    for &state in from {
                        found.clear();
                        fails |= automaton.step(state, *class, before, &mut found).is_err();
                        let fitting = found.iter().filter(|found| found.1 == version);
                        after.extend(fitting.map(|&(state, _)| (version, Some(state))));
                    }
                }
                after
            },
        );
        table.filter(|_| !fails)
    }
}

/// Where the object of a key starts.
pub(super) struct Start<'s> {
    pub states: &'s [StateId],
    pub version: u64,
    /// The versions that one of its own operations made.
    pub sole: &'s [u64],
}

impl Alphabet for Table {
    fn len(&self) -> usize {
        self.next[0].len()
    }

    fn is_read_only(&self, _: ClassId) -> bool {
        false
    }

    fn key(&self, _: ClassId) -> Option<u64> {
        None
    }

    fn key_name(&self, _: ClassId) -> Option<String> {
        None
    }

    fn commute(&self, _: ClassId, _: ClassId) -> bool {
        false
    }

    fn inexplicable(&self, _: &[ClassId]) -> Option<(ClassId, String)> {
        None
    }

    fn data(&self, _: ClassId) -> Vec<u64> {
        Vec::new()
    }

    fn reopens(&self, _: ClassId) -> bool {
        true
    }

    fn automaton(&self, _: &Cancel) -> Box<dyn Automaton + '_> {
        Box::new(Rows { table: self })
    }

    fn walk(&self) -> Box<dyn Walk + '_> {
        Box::new(Path { table: self, states: vec![StateId(0)] })
    }
}

/// A table as an automaton.
struct Rows<'t> {
    table: &'t Table,
}

impl Automaton for Rows<'_> {
    fn initial(&mut self) -> StateId {
        StateId(0)
    }

    fn step(&mut self, state: StateId, class: ClassId, next: &mut Vec<StateId>) {
        next.extend(&self.table.next[state.0 as usize][class.0 as usize]);
    }

    fn precludes(&self, _: StateId, _: ClassId) -> bool {
        false
    }

    fn explain(&self, _: StateId, _: ClassId) -> String {
        "it does not fit".to_owned()
    }

    fn show(&self, state: StateId) -> String {
        format!("state {}", state.0)
    }

    fn states(&self) -> usize {
        self.table.next.len()
    }

    fn bytes(&self) -> usize {
        0
    }
}

/// A walk through a table.
struct Path<'t> {
    table: &'t Table,
    states: Vec<StateId>,
}

impl Walk for Path<'_> {
    fn step(&mut self, class: ClassId) -> Result<(), String> {
        let row = |state: &StateId| &self.table.next[state.0 as usize][class.0 as usize];
        let next: Vec<StateId> = self.states.iter().flat_map(row).copied().collect();
        if next.is_empty() {
            return Err("it does not fit".to_owned());
        }
        self.states = next;
        Ok(())
    }
}
