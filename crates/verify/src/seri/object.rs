//! A specification of a `.seri` file as an object of the library: its states, its steps, and what
//! its text says of its methods.

use crate::seri::nature::Nature;
use crate::seri::texts::Texts;
use crate::seri::words::Words;
use seriatim_history::ValueId;
use seriatim_lang::machine::Bounds;
use seriatim_lang::program::SpecInfo;
use seriatim_lang::spec::{Datum, SpecState, SpecStop};
use seriatim_spec::{Next, key_of};
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

/// A specification of the language as an object of the library.
pub(crate) struct SeriObject {
    pub(crate) spec: seriatim_lang::spec::Spec,
    /// What its text says about its methods.
    pub(crate) nature: Arc<Nature>,
    /// What went wrong inside the specification, if anything did.
    pub(crate) defect: Arc<OnceLock<String>>,
}

/// A method, by number, with its arguments.
pub(crate) type Invocation = (usize, Vec<Datum>);

impl SeriObject {
    pub(crate) fn new(info: SpecInfo) -> Self {
        // `any` in a specification ranges over these; recorded data are not limited by them.
        let bounds = Bounds { values: 3, keys: 3, nodes: None, capacity: None };
        let nature = Arc::new(Nature::of(&info));
        let spec = seriatim_lang::spec::Spec::for_logs(info, bounds);
        SeriObject { spec, nature, defect: Arc::default() }
    }

    /// The texts that the specification names, as a history has them, and whether they are keys.
    pub(crate) fn name_texts(&self, mut id: impl FnMut(&str) -> ValueId) -> Vec<(ValueId, bool)> {
        self.spec.info().facts.texts.iter().map(|text| (id(&text.text), text.is_key)).collect()
    }

    /// Whether the specification names a text as ordered data.
    pub(crate) fn names_keys(&self) -> bool {
        self.spec.info().facts.texts.iter().any(|text| text.is_key)
    }

    /// The specification with the texts that it names as a history has them.
    pub(crate) fn with_texts(
        self: &Arc<Self>,
        named: &[(ValueId, bool)],
        texts: &Texts,
    ) -> Arc<SeriObject> {
        if named.is_empty() {
            return Arc::clone(self);
        }
        let data = named.iter().map(|&(id, is_key)| {
            let key = if is_key { texts.key(id, None) } else { None };
            (Datum::Value(id.0 as i32), key.map_or(Datum::Null, Datum::Key))
        });
        let spec = self.spec.with_texts(data.collect());
        let (nature, defect) = (Arc::clone(&self.nature), Arc::clone(&self.defect));
        Arc::new(SeriObject { spec, nature, defect })
    }

    /// What a method may do in a state. A specification that fails there is remembered as wrong.
    pub(crate) fn outcomes(&self, state: &SpecState, op: &Invocation) -> Vec<(SpecState, Datum)> {
        match self.spec.outcomes(state, op.0, &op.1) {
            Ok(found) => found,
            Err(SpecStop::NotEnabled) => Vec::new(),
            Err(SpecStop::Broken(defect)) => {
                self.defect.get_or_init(|| defect);
                Vec::new()
            }
        }
    }

    /// The states after a method with a result, or with any; `None` for the state before. `Err`: the
    /// specification fails there.
    pub(crate) fn after(
        &self,
        state: &SpecState,
        op: &Invocation,
        ret: Option<&Datum>,
    ) -> Result<Next<Option<SpecState>>, String> {
        let mut next = Next::None;
        let found = self.spec.after(state, (op.0, &op.1), ret, |after| next.add(after));
        match found {
            Ok(()) | Err(SpecStop::NotEnabled) => Ok(next),
            Err(SpecStop::Broken(why)) => Err(why),
        }
    }

    /// Whether its version also rises by itself.
    pub(crate) fn is_sparse(&self) -> bool {
        self.nature.is_sparse
    }

    pub(crate) fn initial(&self) -> SpecState {
        self.spec.initial().expect("it was tried when the specification was read")
    }

    pub(crate) fn is_read_only(&self, op: &Invocation, ret: Option<&Datum>) -> bool {
        self.nature.leaves_unchanged(op.0, ret)
    }

    pub(crate) fn key(&self, op: &Invocation) -> Option<u64> {
        self.nature.key(op.0).map(|parameter| key_of(&op.1[parameter]))
    }

    /// All keys that some operations name, ascending, those aside that only list entries; `None` if
    /// one of them may act on others. There are no other keys: a map is empty at the start.
    pub(crate) fn keys_of<'a>(
        &self,
        all: impl Iterator<Item = &'a Invocation>,
    ) -> Option<Vec<Datum>> {
        let mut keys: BTreeSet<&Datum> = BTreeSet::new();
        for (method, args) in all.filter(|op| self.nature.lists(op.0).is_none()) {
            keys.extend(self.nature.entries(*method, args)?);
        }
        Some(keys.into_iter().cloned().collect())
    }

    /// All numbers that some operations and the text name, if no more is done with a version that is
    /// sparse than to copy and compare it.
    pub(crate) fn mentions<'a>(
        &self,
        all: impl Iterator<Item = &'a (Invocation, Option<Datum>)>,
    ) -> Option<Vec<u64>> {
        let mut numbers = self.nature.literals.clone().filter(|_| self.nature.is_sparse)?;
        for ((_, args), result) in all {
            args.iter().chain(result).for_each(|datum| {
                datum.numbers(&mut |number| numbers.push(number));
            });
        }
        numbers.sort_unstable();
        numbers.dedup();
        Some(numbers.into_iter().filter_map(|number| u64::try_from(number).ok()).collect())
    }

    /// The highest version at which one may have to look, since an operation tells none and may have
    /// happened behind all that do: above every number that is named, one for each such operation.
    /// `Err`: nobody knows.
    pub(crate) fn beyond<'a>(
        &self,
        all: impl Iterator<Item = &'a (Invocation, Option<Datum>)> + Clone,
    ) -> Result<u64, &'static str> {
        let is_untold = |ret: &Option<Datum>, op: &Invocation| {
            ret.as_ref().is_none_or(|ret| self.nature.told(op.0, ret).is_none())
        };
        let is_silent =
            |(op, ret): &&(Invocation, Option<Datum>)| ret.is_some() && is_untold(ret, op);
        if !self.nature.is_sparse || !all.clone().any(|one| is_silent(&one)) {
            return Ok(0);
        }
        let mut highest = self.nature.highest.ok_or(
            "its version is sparse and it calculates with it, which cannot be decided of a log in which \
             an operation returns without it",
        )?;
        for ((_, args), result) in all.clone() {
            let named = args.iter().chain(result);
            named.for_each(|datum| datum.numbers(&mut |number| highest = highest.max(number)));
        }
        let untold = all.filter(|(op, ret)| is_untold(ret, op)).count();
        Ok(u64::try_from(highest).unwrap_or(0).saturating_add(untold as u64 + 1))
    }

    /// Why the method cannot return that.
    pub(crate) fn explain(
        &self,
        words: &Words<'_>,
        state: &SpecState,
        op: &Invocation,
        ret: Option<&Datum>,
    ) -> String {
        let method = &self.spec.info().methods[op.0];
        let name = &method.name;
        let shown = |result: &Datum| words.of(self.spec.info(), &method.result, result);
        let outcomes = self.outcomes(state, op);
        let allowed: Vec<String> = outcomes.iter().map(|(_, result)| shown(result)).collect();
        match (ret, &allowed[..]) {
            (_, []) => format!("{name} is not enabled"),
            (Some(ret), _) => {
                let (ret, allowed) = (shown(ret), allowed.join(" or "));
                format!("{name} cannot return {ret}: it would return {allowed}")
            }
            (None, _) => format!("{name} is impossible"),
        }
    }
}
