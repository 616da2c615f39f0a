//! A specification of a `.seri` file for one history: what the engines ask of a [`Spec`], and of its
//! versions.

use crate::seri::object::{Invocation, SeriObject};
use crate::seri::texts::Texts;
use crate::seri::words::Words;
use seriatim_history::Values;
use seriatim_lang::spec::aside::Role;
use seriatim_lang::spec::{Datum, SpecState};
use seriatim_spec::{Aside, Next, Spec, Version, Versions, VersionsOf, key_of};
use std::sync::Arc;

/// A specification of the language for one history, whose values it can show.
pub(crate) struct SeriHistory {
    pub object: Arc<SeriObject>,
    pub values: Arc<Values>,
    pub texts: Arc<Texts>,
    /// All keys that operations name, ascending; `None` if some operation may act on others.
    pub keys: Option<Vec<Datum>>,
    /// All numbers that operations and the text name, if the version is only copied and compared.
    pub mentions: Option<Vec<u64>>,
    /// The highest version at which one may have to look.
    pub beyond: u64,
}

impl SeriHistory {
    fn words(&self) -> Words<'_> {
        Words { values: &self.values, texts: &self.texts }
    }
}

impl Spec for SeriHistory {
    type State = SpecState;
    type Op = Invocation;
    type Ret = Datum;

    fn initial(&self) -> SpecState {
        self.object.initial()
    }

    fn step(&self, state: &SpecState, op: &Invocation, ret: Option<&Datum>) -> Next<SpecState> {
        match self.object.after(state, op, ret) {
            Ok(next) => next.map(|after| after.unwrap_or_else(|| state.clone())),
            Err(defect) => {
                self.object.defect.get_or_init(|| defect);
                Next::None
            }
        }
    }

    fn is_read_only(&self, op: &Invocation, ret: Option<&Datum>) -> bool {
        self.object.is_read_only(op, ret)
    }

    fn key(&self, op: &Invocation) -> Option<u64> {
        self.object.key(op)
    }

    fn key_name(&self, op: &Invocation) -> Option<String> {
        let info = self.object.spec.info();
        let parameter = self.object.nature.key(op.0)?;
        let ty = &info.methods[op.0].params[parameter].ty;
        Some(format!("key {}", self.words().of(info, ty, &op.1[parameter])))
    }

    fn commute(&self, a: &Invocation, b: &Invocation) -> bool {
        let nature = &self.object.nature;
        let both_read = self.is_read_only(a, None) && self.is_read_only(b, None);
        let names_all = |op: &Invocation| nature.ranges(op.0, &op.1).is_empty();
        let are_apart = || match (nature.entries(a.0, &a.1), nature.entries(b.0, &b.1)) {
            (Some(ours), Some(theirs)) if names_all(a) && names_all(b) => {
                !ours.iter().any(|entry| theirs.contains(entry))
            }
            _ => false,
        };
        both_read || nature.version.is_none() && are_apart()
    }

    fn versions(&self) -> Option<VersionsOf<'_, Self>> {
        let version = self.object.nature.version?;
        let start = self.initial();
        matches!(start[version.0 as usize], Datum::Int(0..)).then_some(self as _)
    }

    fn explain(&self, state: &SpecState, op: &Invocation, ret: Option<&Datum>) -> String {
        self.object.explain(&self.words(), state, op, ret)
    }

    fn show(&self, state: &SpecState) -> String {
        let info = self.object.spec.info();
        let shown = info.vars.iter().zip(state).map(|(var, value)| {
            format!("{} = {}", var.name, self.words().of(info, &var.ty, value))
        });
        shown.collect::<Vec<_>>().join(", ")
    }
}

impl Versions<SpecState, Invocation, Datum> for SeriHistory {
    fn version(&self, op: &Invocation, ret: &Datum) -> Option<Version> {
        self.object.nature.told(op.0, ret)
    }

    fn version_of(&self, state: &SpecState) -> u64 {
        let version = self.object.nature.version.map_or(0, |version| version.0 as usize);
        match state[version] {
            Datum::Int(number) => number as u64,
            _ => 0,
        }
    }

    fn trial(
        &self,
        state: &SpecState,
        op: &Invocation,
        ret: Option<&Datum>,
    ) -> Result<Next<SpecState>, String> {
        Ok(self.effects(state, op, ret)?.map(|after| after.unwrap_or_else(|| state.clone())))
    }

    fn effects(
        &self,
        state: &SpecState,
        op: &Invocation,
        ret: Option<&Datum>,
    ) -> Result<Next<Option<SpecState>>, String> {
        self.object.after(state, op, ret)
    }

    fn at_version(&self, mut state: SpecState, version: u64) -> SpecState {
        if let Some(var) = self.object.nature.version {
            state[var.0 as usize] = Datum::Int(version as i64);
        }
        state
    }

    fn aside(&self, op: &Invocation) -> Aside {
        match self.object.nature.asides.roles[op.0] {
            Role::Apart => Aside::Apart,
            Role::Looks => Aside::Looks,
            Role::Changes => Aside::Changes,
        }
    }

    fn with_aside(&self, mut state: SpecState, other: &SpecState) -> SpecState {
        for var in &self.object.nature.asides.vars {
            state[var.0 as usize] = other[var.0 as usize].clone();
        }
        state
    }

    fn mentions(&self) -> Option<&[u64]> {
        self.mentions.as_deref()
    }

    fn beyond(&self) -> Option<u64> {
        Some(self.beyond)
    }

    fn keys(&self, op: &Invocation) -> Option<Vec<u64>> {
        let nature = &self.object.nature;
        let mut keys: Vec<&Datum> = nature.entries(op.0, &op.1)?;
        for (low, high) in nature.ranges(op.0, &op.1) {
            keys.extend(self.keys.as_ref()?.iter().filter(|key| (low..high).contains(key)));
        }
        Some(keys.into_iter().map(key_of).collect())
    }

    fn split(&self, op: &Invocation, ret: &Datum) -> Option<Vec<(Invocation, Datum)>> {
        let pieces = self.object.nature.lists(op.0)?.split(&op.1, ret, self.keys.as_ref()?)?;
        Some(pieces.into_iter().map(|(args, ret)| ((op.0, args), ret)).collect())
    }
}
