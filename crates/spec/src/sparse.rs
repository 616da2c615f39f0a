//! An object whose version also rises by itself.
//!
//! A log's offsets skip control records, a ZooKeeper's transaction ids skip sessions and elections:
//! each change takes the next number, and others use up numbers in between. [`Sparse`] makes such an
//! object of one whose version counts its own changes: between two operations the version may rise
//! by any number, and nothing else changes.
//!
//! An operation that tells its version says how far the version had risen before it. One that does
//! not may have made any version that no other operation is known to have made; only those up to the
//! highest one told make a difference, and the next one always does; or, if an operation returns
//! without its version, those up to the highest one that it might see ([`Versions::beyond`]).

use crate::{Aside, Next, Rise, Spec, Version, Versions, VersionsOf};
use hashbrown::HashSet;
use seriatim_limits::InOrder;

/// An object whose version also rises by itself.
pub struct Sparse<S> {
    spec: S,
    /// The versions up to the highest one told that no told update made, ascending: the first and the
    /// last of each row. Those of a row can be exchanged for one another, since nobody names them
    /// and only their order matters; so what makes one makes the first that is left.
    unmade: Vec<(u64, u64)>,
}

/// The versions of a sparse object at which something may happen, ascending: from the first one to
/// the highest of those that are named. If all that matters is their order, so many in a row that
/// nobody mentions as there are operations that tell nothing and may stand there stand for all of the
/// row: `untold` counts them, given the version before the row. `None`: there are more than `most`.
pub fn in_between(
    first: u64,
    named: impl Iterator<Item = u64>,
    mentions: Option<&[u64]>,
    untold: impl Fn(u64) -> usize,
    most: usize,
) -> Option<Vec<u64>> {
    let mut fixed: Vec<u64> = named.chain([first]).filter(|&version| version >= first).collect();
    let highest = fixed.iter().copied().max()?;
    let mentioned = mentions.unwrap_or_default().iter();
    fixed.extend(mentioned.filter(|version| (first..=highest).contains(version)));
    let row = |version: u64| mentions.map_or(u64::MAX, |_| untold(version) as u64);
    fixed.put_in_order();
    fixed.dedup();
    let mut all: Vec<u64> = Vec::with_capacity(fixed.len());
    for (place, &version) in fixed.iter().enumerate() {
        all.push(version);
        let between = fixed.get(place + 1).map_or(0, |next| next - version - 1).min(row(version));
        if between.saturating_add(all.len() as u64) > most as u64 {
            return None;
        }
        all.extend(version + 1..=version + between);
    }
    Some(all)
}

/// The most versions in between that are looked at one by one; and the most in rows.
const MOST: usize = 1 << 14;
const MOST_IN_ROWS: usize = 1 << 20;

impl<S: Spec> Sparse<S> {
    /// The object with a sparse version, for a history of these operations, each with its result if
    /// it returned. There is none if the object declares no versions, if they are so far apart that
    /// one cannot look at all that an operation without a version may have made, or if one returned
    /// without it and nobody knows how far the version may have risen by then
    /// ([`Versions::beyond`]).
    ///
    /// ```
    /// # use seriatim_spec::{Next, Sparse, Spec, Version, Versions, VersionsOf};
    /// /// A log, of which only the offsets are kept.
    /// struct Log;
    /// impl Spec for Log {
    ///     type State = u64;
    ///     type Op = ();
    ///     type Ret = u64;
    ///     fn initial(&self) -> u64 { 0 }
    ///     fn step(&self, tail: &u64, _: &(), ret: Option<&u64>) -> Next<u64> {
    ///         Next::when(ret.is_none_or(|ret| *ret == tail + 1), || tail + 1)
    ///     }
    ///     fn versions(&self) -> Option<VersionsOf<'_, Self>> { Some(self) }
    /// }
    /// impl Versions<u64, (), u64> for Log {
    ///     fn version(&self, _: &(), ret: &u64) -> Option<Version> { Some(Version::Update(*ret)) }
    ///     fn version_of(&self, tail: &u64) -> u64 { *tail }
    ///     fn at_version(&self, _: u64, version: u64) -> u64 { version }
    ///     fn keys(&self, _: &()) -> Option<Vec<u64>> { None }
    ///     fn trial(&self, tail: &u64, op: &(), ret: Option<&u64>) -> Result<Next<u64>, String> {
    ///         Ok(self.step(tail, op, ret))
    ///     }
    /// }
    /// let appends = [(&(), Some(&1)), (&(), Some(&5)), (&(), None)];
    /// let log = Sparse::new(Log, appends).expect("few versions");
    /// assert_eq!(log.step(&1, &(), Some(&5)), Next::One(5)); // 2, 3 and 4 were used up by others.
    /// assert!(log.step(&5, &(), Some(&3)).is_empty());
    /// ```
    pub fn new<'o>(
        spec: S,
        operations: impl IntoIterator<Item = (&'o S::Op, Option<&'o S::Ret>)>,
    ) -> Option<Self>
    where
        S::Op: 'o,
        S::Ret: 'o,
    {
        let versions = spec.versions()?;
        let first = versions.version_of(&spec.initial());
        let (mut made, mut seen) = (Vec::new(), Vec::new());
        let (mut untold, mut beyond) = (0, None);
        for (op, ret) in operations {
            match ret.map(|ret| versions.version(op, ret)) {
                Some(Some(Version::Update(version))) => made.push(version),
                Some(Some(Version::Read(version))) => seen.push(version),
                Some(None) => {
                    beyond = Some(versions.beyond()?);
                    untold += 1;
                }
                None => untold += 1,
            }
        }
        if untold == 0 {
            return Some(Sparse { spec, unmade: Vec::new() });
        }
        made.put_in_order();
        made.dedup();
        let beyond = beyond.filter(|&beyond| beyond > first);
        let named = made.iter().chain(&seen).copied().chain(beyond);
        let mentions = versions.mentions();
        let most = made.len() + if mentions.is_some() { MOST_IN_ROWS } else { MOST };
        let all = in_between(first, named.clone(), mentions, |_| untold, most)?;
        let is_open = |version: &u64| *version > first && made.binary_search(version).is_err();
        let named: HashSet<u64> =
            named.chain(mentions.unwrap_or_default().iter().copied()).collect();
        let is_named = |version: u64| mentions.is_none() || named.contains(&version);
        let mut unmade: Vec<(u64, u64)> = Vec::new();
        for version in all.into_iter().filter(is_open) {
            match unmade.last_mut() {
                Some((_, last))
                    if *last + 1 == version && !is_named(*last) && !is_named(version) =>
                {
                    *last = version;
                }
                _ => unmade.push((version, version)),
            }
        }
        Some(Sparse { spec, unmade })
    }

    fn declared(&self) -> VersionsOf<'_, S> {
        self.spec.versions().expect("it was asked when this was made")
    }

    /// The versions that the object may have before an operation.
    fn before(&self, now: u64, told: Option<Version>) -> Vec<u64> {
        match told {
            Some(Version::Update(version)) => {
                version.checked_sub(1).filter(|&before| before >= now).into_iter().collect()
            }
            Some(Version::Read(version)) => {
                (version >= now).then_some(version).into_iter().collect()
            }
            None => {
                // It makes one of the versions that are left, or sees one of them.
                let later = self.unmade.partition_point(|&(_, last)| last <= now);
                let next = |&(first, _): &(u64, u64)| first.max(now + 1);
                let later = self.unmade[later..].iter().map(next);
                let later = later.flat_map(|version| [version - 1, version]);
                let mut all: Vec<u64> = [now].into_iter().chain(later).collect();
                all.dedup();
                all
            }
        }
    }

    fn after(
        &self,
        state: &S::State,
        op: &S::Op,
        ret: Option<&S::Ret>,
        mut step: impl FnMut(&S::State) -> Result<Next<S::State>, String>,
    ) -> Result<Next<S::State>, String> {
        let versions = self.declared();
        let told = ret.and_then(|ret| versions.version(op, ret));
        let mut all: Vec<S::State> = Vec::new();
        for before in self.before(versions.version_of(state), told) {
            for after in step(&versions.at_version(state.clone(), before))? {
                if !all.contains(&after) {
                    all.push(after);
                }
            }
        }
        Ok(match all.len() {
            0 | 1 => all.pop().map_or(Next::None, Next::One),
            _ => Next::Many(all),
        })
    }
}

impl<S: Spec> Spec for Sparse<S> {
    type State = S::State;
    type Op = S::Op;
    type Ret = S::Ret;

    fn initial(&self) -> S::State {
        self.spec.initial()
    }

    fn step(&self, state: &S::State, op: &S::Op, ret: Option<&S::Ret>) -> Next<S::State> {
        let step = |from: &S::State| Ok(self.spec.step(from, op, ret));
        self.after(state, op, ret, step).unwrap_or(Next::None)
    }

    fn explain(&self, state: &S::State, op: &S::Op, ret: Option<&S::Ret>) -> String {
        self.spec.explain(state, op, ret)
    }

    fn show(&self, state: &S::State) -> String {
        self.spec.show(state)
    }

    fn key_name(&self, op: &S::Op) -> Option<String> {
        self.spec.key_name(op)
    }

    fn commute(&self, _: &S::Op, _: &S::Op) -> bool {
        false
    }

    fn versions(&self) -> Option<VersionsOf<'_, Self>> {
        Some(self)
    }
}

/// The engine for versions raises the version by itself, so a trial is one of the object within.
impl<S: Spec> Versions<S::State, S::Op, S::Ret> for Sparse<S> {
    fn version(&self, op: &S::Op, ret: &S::Ret) -> Option<Version> {
        self.declared().version(op, ret)
    }

    fn version_of(&self, state: &S::State) -> u64 {
        self.declared().version_of(state)
    }

    fn at_version(&self, state: S::State, version: u64) -> S::State {
        self.declared().at_version(state, version)
    }

    fn keys(&self, op: &S::Op) -> Option<Vec<u64>> {
        self.declared().keys(op)
    }

    fn trial(
        &self,
        state: &S::State,
        op: &S::Op,
        ret: Option<&S::Ret>,
    ) -> Result<Next<S::State>, String> {
        self.declared().trial(state, op, ret)
    }

    fn effects(
        &self,
        state: &S::State,
        op: &S::Op,
        ret: Option<&S::Ret>,
    ) -> Result<Next<Option<S::State>>, String> {
        self.declared().effects(state, op, ret)
    }

    fn aside(&self, op: &S::Op) -> Aside {
        self.declared().aside(op)
    }

    fn with_aside(&self, state: S::State, other: &S::State) -> S::State {
        self.declared().with_aside(state, other)
    }

    fn rise(&self) -> Rise {
        Rise::Sparse
    }

    fn mentions(&self) -> Option<&[u64]> {
        self.declared().mentions()
    }

    fn beyond(&self) -> Option<u64> {
        self.declared().beyond()
    }

    fn split(&self, op: &S::Op, ret: &S::Ret) -> Option<Vec<(S::Op, S::Ret)>> {
        self.declared().split(op, ret)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever numbers a few operations have that tell nothing, others of those that are kept stand
    /// in the same order to all that are named.
    #[test]
    fn enough_numbers_are_kept_between_those_that_are_named() {
        for (named, untold) in (0u64..256).flat_map(|set| (0..4).map(move |untold| (set, untold))) {
            let is_named = |number: &u64| named >> number & 1 == 1;
            let all: Vec<u64> = (0..8).filter(is_named).collect();
            let mentioned: Vec<u64> = all.iter().copied().step_by(2).collect();
            let told = all.iter().copied().filter(|n| !mentioned.contains(n));
            let told = told.chain(all.last().copied());
            let kept = in_between(0, told, Some(&mentioned), |_| untold, 100).expect("few");
            let highest = all.last().copied().unwrap_or(0);
            assert!(kept.is_sorted() && kept.last() == Some(&highest));
            let mut run = (0, 0);
            for number in 0..=highest {
                run = match is_named(&number) || number == 0 {
                    true => {
                        assert!(kept.contains(&number));
                        (0, 0)
                    }
                    false => (run.0 + 1, run.1 + usize::from(kept.contains(&number))),
                };
                assert_eq!(run.1, run.0.min(untold), "{named:b} {untold} {number}");
            }
            assert_eq!(in_between(0, [9].into_iter(), None, |_| untold, 9), None);
        }
    }
}
