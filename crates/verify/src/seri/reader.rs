//! What reads recorded histories with a specification of a `.seri` file; and histories of runs of
//! algorithms.

use crate::seri::history::SeriHistory;
use crate::seri::live::SeriLive;
use crate::seri::object::{Invocation, SeriObject};
use crate::seri::texts::Texts;
use seriatim_explore::{Event, event};
use seriatim_history::{History, InputError, Outcome, Problem, Value};
use seriatim_lang::Program;
use seriatim_lang::program::SpecInfo;
use seriatim_lang::spec::Datum;
use seriatim_spec::live::Sample;
use seriatim_spec::run::Run;
use seriatim_spec::{Bound, Interpretation, Reader, Sparse, Spec};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A specification of a `.seri` file that reads recorded histories.
///
/// ```
/// use seriatim_history::read_str;
/// use seriatim_monitor::{Options, check};
/// use seriatim_verify::SeriReader;
///
/// let source = "spec flag {
///   var up: bool = false
///   method raise() -> bool { let old = up; up = true; return old }
/// }";
/// let reader = SeriReader::parse(source, None).unwrap();
/// let mut history = read_str(
///     "{\"process\":0,\"op\":\"raise\",\"result\":false,\"call\":1,\"return\":2}\n\
///      {\"process\":0,\"op\":\"raise\",\"result\":false,\"call\":3,\"return\":4}\n",
/// )?;
/// let checked = check(&mut history, &reader, &Options::default())?;
/// assert_eq!(checked.verdict.word(), "violation");
/// # Ok::<(), seriatim_history::InputError>(())
/// ```
pub struct SeriReader {
    object: Arc<SeriObject>,
}

impl SeriReader {
    /// The specification of that name in a source text; the only one, or the one that the object
    /// must refine, without a name.
    pub fn parse(source: &str, name: Option<&str>) -> Result<Self, String> {
        Self::parse_with(source, name, &BTreeMap::new())
    }

    /// As [`SeriReader::parse`], with other values for constants of the source text.
    ///
    /// ```
    /// # use std::collections::{BTreeMap, BTreeSet};
    /// let source = "const MOST = 2
    /// spec bounded { var n: int = 0
    ///   method add() -> bool { if n == MOST { return false }
    ///                          n = n + 1
    ///                          return true } }";
    /// let five = BTreeMap::from([("MOST".to_owned(), 5)]);
    /// assert!(seriatim_verify::SeriReader::parse_with(source, None, &five).is_ok());
    /// let unknown = BTreeMap::from([("LEAST".to_owned(), 5)]);
    /// assert!(seriatim_verify::SeriReader::parse_with(source, None, &unknown).is_err());
    /// ```
    pub fn parse_with(
        source: &str,
        name: Option<&str>,
        constants: &BTreeMap<String, i32>,
    ) -> Result<Self, String> {
        let program = seriatim_lang::check_with(source, constants)
            .map_err(|error| error.render(source, "spec").replacen("error: ", "", 1))?;
        let names = || program.specs.iter().map(|s| s.name.as_str()).collect::<Vec<_>>().join(", ");
        let info = match (name, &program.specs[..]) {
            (Some(name), specs) => specs.iter().find(|spec| spec.name == name).cloned(),
            (None, [only]) => Some(only.clone()),
            (None, _) => program.spec.clone(),
        };
        let info = info.ok_or_else(|| format!("name one of its specifications: {}", names()))?;
        Self::new(info)
    }

    /// The specification that a program refines, if it has one that has an initial state.
    pub fn of(program: &Program) -> Option<Self> {
        Self::new(program.spec.clone()?).ok()
    }

    /// The specification as one that hears of operations while they happen.
    pub fn live(&self, sample: Sample<'_>) -> SeriLive {
        SeriLive::new(Arc::clone(&self.object), sample)
    }

    fn new(info: SpecInfo) -> Result<Self, String> {
        let object = SeriObject::new(info);
        match object.spec.initial() {
            Ok(_) => Ok(SeriReader { object: Arc::new(object) }),
            Err(stop) => Err(format!("the specification has no initial state: {stop:?}")),
        }
    }
}

impl Reader for SeriReader {
    fn name(&self) -> String {
        self.object.spec.info().name.clone()
    }

    fn defect(&self) -> Option<String> {
        self.object.defect.get().cloned()
    }

    fn read(&self, history: &mut History) -> Result<Interpretation, InputError> {
        self.object.name_items(history);
        let named = self.object.name_texts(|text| history.intern(&Value::text(text)));
        let texts = Arc::new(Texts::of(history, &self.object.spec, &named));
        let own = self.object.with_texts(&named, &texts);
        let mut decoded: Vec<Option<(Invocation, Option<Datum>)>> =
            Vec::with_capacity(history.len());
        for operation in history.operations() {
            if operation.outcome() == Outcome::Failed {
                decoded.push(None);
                continue;
            }
            let (invocation, result) = own.decode(operation, &texts)?;
            // What never returned and changes nothing says nothing.
            let is_silent = result.is_none() && self.object.is_read_only(&invocation, None);
            decoded.push((!is_silent).then_some((invocation, result)));
        }
        let broken = |defect: &str| {
            let (spec, defect) = (self.name(), defect.to_owned());
            InputError::new(history.source(), 0, Problem::BrokenSpec { spec, defect })
        };
        let beyond = self.object.beyond(decoded.iter().flatten()).map_err(broken)?;
        let object = SeriHistory {
            object: own,
            values: Arc::clone(history.values()),
            texts: Arc::clone(&texts),
            keys: self.object.keys_of(decoded.iter().flatten().map(|(invocation, _)| invocation)),
            mentions: self.object.mentions(decoded.iter().flatten()),
            beyond,
        };
        if !self.object.nature.is_sparse {
            return Ok(bind(object, decoded));
        }
        let operations = decoded.iter().flatten().map(|(op, ret)| (op, ret.as_ref()));
        match Sparse::new(object, operations) {
            Some(sparse) => Ok(bind(sparse, decoded)),
            None => {
                let defect = "its version is sparse and starts below 0, or the log's versions are too far \
                     apart to try them all for operations that tell none";
                Err(broken(defect))
            }
        }
    }
}

/// A history under an object.
fn bind<S>(object: S, decoded: Vec<Option<(Invocation, Option<Datum>)>>) -> Interpretation
where
    S: Spec<Op = Invocation, Ret = Datum> + 'static,
{
    let mut bound = Bound::new(object);
    let classes = decoded.into_iter().map(|read| read.map(|(op, ret)| bound.class(op, ret)));
    let classes: Vec<_> = classes.collect();
    Interpretation::new(Arc::new(bound), classes)
}

/// The history of a run of an algorithm, as any other history.
///
/// ```
/// let history = seriatim_verify::history_of(&[], "run").unwrap();
/// assert!(history.is_empty());
/// ```
pub fn history_of(events: &[Event], name: &str) -> Result<History, InputError> {
    let history = events.iter().map(event).collect();
    Run { history, ..Run::default() }.history(name)
}
