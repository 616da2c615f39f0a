//! How a specification reads the operations of a recorded history: names, arguments, results.

use crate::{Alphabet, Answer, Bound, ChosenReader, ClassId, Spec};
use seriatim_history::{
    Echo, History, InputError, Nil, OpId, Operation, Outcome, Problem, ValueId, Values,
};
use std::sync::Arc;

/// A specification that understands recorded operations.
pub trait Vocabulary: Spec {
    /// The operations, for `seriatim specs` and for messages.
    fn methods(&self) -> &'static [Method];

    /// Whether operations may name a key apart from their argument. Where they may not, a key would
    /// be ignored and different objects taken for one, so it is refused.
    fn takes_key(&self) -> bool {
        false
    }

    /// What a recorded operation means. `failures` says what a failed one tells.
    fn decode(
        &self,
        operation: Operation<'_>,
        failures: Failures,
    ) -> Result<Decoded<Self::Op, Self::Ret>, Misfit>;
}

/// One operation of a specification, described for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Method {
    /// Its names in recorded histories; the first is the one that we write.
    pub names: &'static [&'static str],
    /// Argument and result: `(value) -> bool`.
    pub signature: &'static str,
    /// What it does, in a few words.
    pub meaning: &'static str,
}

impl Method {
    /// The question whether an object holds nothing.
    pub(crate) const IS_EMPTY: Method = Method {
        names: &["is_empty", "is-empty", "isEmpty", "empty"],
        signature: "() -> bool",
        meaning: "whether there is none",
    };

    /// The question how many an object holds.
    pub(crate) const fn size(meaning: &'static str) -> Method {
        let names = &["size", "len", "length", "count"];
        Method { names, signature: "() -> integer", meaning }
    }

    /// Whether a recorded name means this method. Case does not matter.
    pub fn is(&self, name: &str) -> bool {
        self.names.iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}

/// What a failed operation (Jepsen's `:fail`) tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Failures {
    /// It did not happen: what Jepsen means by it.
    #[default]
    Drop,
    /// It happened and found its condition not met (a compare-and-set that saw another value),
    /// where the specification gives failure such a meaning; any other did not happen.
    Observe,
}

/// What a recorded operation means to a specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoded<Op, Ret> {
    /// It happened with this result.
    Completed(Op, Ret),
    /// It may happen, with any result.
    Pending(Op),
    /// It did not happen.
    Dropped,
}

/// Why a specification cannot take an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// It has no operation of that name.
    Unknown,
    /// The argument or the result is not what it expects.
    Expected(String),
}

impl Misfit {
    /// The argument or the result is not what the specification expects.
    pub fn expected<T>(what: impl Into<String>) -> Result<T, Misfit> {
        Err(Misfit::Expected(what.into()))
    }
}

/// What the failure of an operation tells if the user wants failures observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Nothing: it did not happen.
    Silent,
    /// It gave this answer.
    Speaks(Answer),
}

/// The parts of a recorded operation that decoding looks at, and the checks that all
/// specifications share.
#[derive(Clone, Copy)]
pub struct Recorded<'h> {
    /// The operation.
    pub operation: Operation<'h>,
    /// What a failure tells.
    pub failures: Failures,
}

impl<'h> Recorded<'h> {
    /// The first name of the method among these that the operation's name means.
    pub fn method(&self, methods: &'static [Method]) -> Result<&'static str, Misfit> {
        let name = self.operation.method();
        let method = methods.iter().find(|method| method.is(name));
        method.map(|method| method.names[0]).ok_or(Misfit::Unknown)
    }

    /// The values of the history.
    pub fn values(&self) -> &'h Values {
        self.operation.history.values()
    }

    /// The argument, which must be there.
    pub fn arg(&self) -> Result<ValueId, Misfit> {
        match self.operation.arg() {
            ValueId::ABSENT => Misfit::expected("an argument"),
            arg => Ok(arg),
        }
    }

    /// The argument of an operation that puts a value into a container whose answer `nil` says that
    /// it was empty: not `nil`, or nobody could tell the two apart.
    pub fn item(&self) -> Result<ValueId, Misfit> {
        match self.operation.arg() {
            ValueId::NIL => Misfit::expected(
                "a value other than nil as argument: the answer nil means that there was none",
            ),
            _ => self.arg(),
        }
    }

    /// Checks that there is no argument. `nil` counts as none: Jepsen writes it for reads.
    pub fn no_arg(&self) -> Result<(), Misfit> {
        match self.operation.arg() {
            ValueId::ABSENT | ValueId::NIL => Ok(()),
            _ => Misfit::expected("no argument"),
        }
    }

    /// The two parts of an argument that is a pair.
    pub fn pair(&self) -> Result<(ValueId, ValueId), Misfit> {
        match self.values().as_pair(self.operation.arg()) {
            Some(pair) => Ok(pair),
            None => Misfit::expected("a list of two values as argument"),
        }
    }

    /// An argument that is an integer.
    pub fn int_arg(&self) -> Result<i64, Misfit> {
        match self.values().as_int(self.operation.arg()) {
            Some(number) => Ok(number),
            None => Misfit::expected("an integer as argument"),
        }
    }

    /// What a completed, failed or pending operation means; `answer` is asked only for completed
    /// ones.
    pub fn settle<Op>(
        &self,
        op: Op,
        failure: Failure,
        answer: Result<Answer, Misfit>,
    ) -> Result<Decoded<Op, Answer>, Misfit> {
        match (self.operation.outcome(), self.failures, failure) {
            (Outcome::Pending, ..) => Ok(Decoded::Pending(op)),
            (Outcome::Ok, ..) => Ok(Decoded::Completed(op, answer?)),
            (Outcome::Failed, Failures::Observe, Failure::Speaks(answer)) => {
                Ok(Decoded::Completed(op, answer))
            }
            (Outcome::Failed, ..) => Ok(Decoded::Dropped),
        }
    }

    /// Whether the result is the argument repeated, in a source that does so where there is nothing
    /// to return.
    pub fn is_echo(&self) -> bool {
        let (arg, result) = (self.operation.arg(), self.operation.result());
        result == arg && arg.is_present() && self.operation.history.echo() == Echo::Argument
    }

    /// Whether the result says no more than that the operation is over: nothing, `nil`, `ok`, or
    /// the argument repeated where the source does so.
    pub fn is_bare(&self) -> bool {
        let result = self.operation.result();
        match result {
            ValueId::ABSENT | ValueId::NIL => true,
            _ if self.is_echo() => true,
            _ => self.values().as_str(result).is_some_and(|word| word.eq_ignore_ascii_case("ok")),
        }
    }

    /// The integer that an operation returned which may return one or nothing.
    pub fn returned_int(&self) -> Option<i64> {
        let number = self.values().as_int(self.operation.result());
        number.filter(|_| !self.is_echo())
    }

    /// The answer of an operation that returns nothing.
    pub fn done(&self) -> Result<Answer, Misfit> {
        match self.operation.result() {
            ValueId::TRUE => Ok(Answer::Done),
            _ if self.is_bare() => Ok(Answer::Done),
            result if result == self.operation.arg() => Misfit::expected(
                "no result (a log that repeats arguments says so: \"echo\":\"argument\" in its header)",
            ),
            _ => Misfit::expected("no result"),
        }
    }

    /// The answer of an operation that succeeds or not; `bare` where the record says neither.
    pub fn success(&self, bare: Answer) -> Result<Answer, Misfit> {
        match self.operation.result().as_bool() {
            Some(truth) => Ok(Answer::from_truth(truth)),
            None if self.is_bare() => Ok(bare),
            None => Misfit::expected("true or false as result"),
        }
    }

    /// The answer of a question.
    pub fn truth(&self) -> Result<Answer, Misfit> {
        match self.operation.result().as_bool() {
            Some(truth) => Ok(Answer::from_truth(truth)),
            None if self.is_unrecorded() => Ok(Answer::Unrecorded),
            None => Misfit::expected("true or false as result"),
        }
    }

    /// The answer of a read: any value, `nil` too.
    pub fn read(&self) -> Result<Answer, Misfit> {
        Ok(match self.operation.result() {
            ValueId::ABSENT => Answer::Unrecorded,
            value => Answer::Value(value),
        })
    }

    /// The answer of an operation that returns a value, or `nil` where there is none.
    pub fn found(&self) -> Result<Answer, Misfit> {
        Ok(match self.operation.result() {
            ValueId::ABSENT => Answer::Unrecorded,
            ValueId::NIL => Answer::Empty,
            value => Answer::Value(value),
        })
    }

    /// The answer of an operation after which there is a value, which it returns.
    pub fn kept(&self) -> Result<Answer, Misfit> {
        match self.found()? {
            Answer::Empty => Misfit::expected("the value that is there then as result"),
            answer => Ok(answer),
        }
    }

    /// Whether the source writes `nil` for a result that nobody recorded.
    pub fn nil_is_unknown(&self) -> bool {
        self.operation.history.nil() == Nil::Unknown
    }

    /// Whether nobody recorded the result. Where `nil` is a result like any other, it is one that
    /// an operation that always returns a list, a number or a truth value cannot have.
    pub fn is_unrecorded(&self) -> bool {
        match self.operation.result() {
            ValueId::ABSENT => true,
            ValueId::NIL => self.nil_is_unknown(),
            _ => false,
        }
    }

    /// The answer of an operation that takes or shows a value of a container: `nil` when there was
    /// none. Some recorders write the value as the argument.
    pub fn taken(&self) -> Result<Answer, Misfit> {
        let (arg, result) = (self.operation.arg(), self.operation.result());
        match (arg, result) {
            (ValueId::ABSENT | ValueId::NIL, ValueId::ABSENT) => {
                Misfit::expected("a value as result, or nil if the container was empty")
            }
            (ValueId::ABSENT | ValueId::NIL, ValueId::NIL) => Ok(Answer::Empty),
            (arg, ValueId::ABSENT) => Ok(Answer::Value(arg)),
            (ValueId::ABSENT | ValueId::NIL, result) => Ok(Answer::Value(result)),
            (arg, result) if arg == result => Ok(Answer::Value(result)),
            _ => Misfit::expected("no argument, or the one that is the result"),
        }
    }

    /// The answer of an operation that returns an integer.
    pub fn number(&self) -> Result<Answer, Misfit> {
        match self.values().as_int(self.operation.result()) {
            Some(number) => Ok(Answer::Number(number)),
            None if self.is_unrecorded() => Ok(Answer::Unrecorded),
            None => Misfit::expected("an integer as result"),
        }
    }

    /// The answer of an operation that returns a list.
    pub fn list(&self) -> Result<Answer, Misfit> {
        if self.is_unrecorded() {
            return Ok(Answer::Unrecorded);
        }
        match known_items(self.values(), self.operation.result()) {
            Some(items) => Ok(Answer::Items(items)),
            None => Misfit::expected("a list as result"),
        }
    }
}

/// The items of a list, which [`intern_lists`] interned before.
pub(crate) fn known_items(values: &Values, list: ValueId) -> Option<Box<[ValueId]>> {
    if let Some((first, second)) = values.as_pair(list) {
        return Some([first, second].into());
    }
    let list = values.get(list);
    list.as_list()?.iter().map(|item| values.find(item)).collect()
}

/// Interns the items of the lists among arguments and results, down to a depth, so that decoding
/// can name them.
pub(crate) fn intern_lists(history: &mut History, depth: u32) {
    let values = history.values();
    let mut lists: Vec<ValueId> = history
        .operations()
        .flat_map(|operation| [operation.arg(), operation.result()])
        .filter(|&id| id.as_inline_int().is_none() && id.is_present())
        .filter(|&id| values.as_str(id).is_none())
        .collect();
    for _ in 0..depth {
        // In order, so that new values get the same ids in every run.
        lists.sort_unstable();
        lists.dedup();
        let items = lists.iter().filter_map(|&id| history.items(id));
        lists = items.flatten().collect();
    }
}

/// A history as a specification reads it: the class of each operation, and the classes.
pub struct Interpretation {
    /// What the specification says of the classes.
    pub alphabet: Arc<dyn Alphabet>,
    classes: Vec<u32>,
}

const DROPPED: u32 = u32::MAX;

impl Interpretation {
    /// An interpretation from the class of each operation, `None` where it did not happen.
    pub fn new(
        alphabet: Arc<dyn Alphabet>,
        classes: impl IntoIterator<Item = Option<ClassId>>,
    ) -> Self {
        let classes = classes.into_iter().map(|class| class.map_or(DROPPED, |c| c.0)).collect();
        Interpretation { alphabet, classes }
    }

    /// The class of an operation; `None` if it did not happen.
    #[inline]
    pub fn class(&self, op: OpId) -> Option<ClassId> {
        match self.classes[op.index()] {
            DROPPED => None,
            class => Some(ClassId(class)),
        }
    }

    /// The operations that happened or may have happened, in call order.
    pub fn operations(&self) -> impl Iterator<Item = OpId> + '_ {
        (0..self.classes.len()).map(OpId::from).filter(|&op| self.class(op).is_some())
    }
}

/// Something that reads histories: a specification chosen by name, or a user's own.
pub trait Reader: Sync {
    /// The specification's name, for messages.
    fn name(&self) -> String;

    /// What turned out to be wrong with the specification itself while it was used, if anything:
    /// then no verdict holds.
    fn defect(&self) -> Option<String> {
        None
    }

    /// The built-in specification, if it is one: engines may know more about those.
    fn chosen(&self) -> Option<&ChosenReader> {
        None
    }

    /// What each operation of a history means. May add values that the specification needs (its
    /// initial state) to those of the history, and changes nothing else.
    fn read(&self, history: &mut History) -> Result<Interpretation, InputError>;
}

impl<R: Reader + ?Sized> Reader for &R {
    fn name(&self) -> String {
        (**self).name()
    }

    fn defect(&self) -> Option<String> {
        (**self).defect()
    }

    fn chosen(&self) -> Option<&ChosenReader> {
        (**self).chosen()
    }

    fn read(&self, history: &mut History) -> Result<Interpretation, InputError> {
        (**self).read(history)
    }
}

/// Reads a history under a specification. A pending operation that changes nothing says nothing
/// and is dropped.
pub fn interpret<S: Vocabulary + 'static>(
    name: &str,
    spec: S,
    history: &History,
    failures: Failures,
) -> Result<Interpretation, InputError> {
    let (bound, classes) = bind(name, spec, history, failures)?;
    Ok(Interpretation::new(Arc::new(bound), classes))
}

/// A specification bound to a history, and the class of each operation; see [`bind`].
pub type Typed<S> = (Bound<S>, Vec<Option<ClassId>>);

/// Reads a history under a specification, as [`interpret`] does, and keeps the types: for
/// algorithms that know the object.
pub fn bind<S: Vocabulary>(
    name: &str,
    spec: S,
    history: &History,
    failures: Failures,
) -> Result<Typed<S>, InputError> {
    let mut bound = Bound::new(spec);
    let mut classes = Vec::with_capacity(history.len());
    for operation in history.operations() {
        let decoded = match operation.key().is_present() && !bound.spec().takes_key() {
            true => Misfit::expected(
                "no key (name the key `object` if each key is an object of its own, or take the map)",
            ),
            false => bound.spec().decode(operation, failures),
        };
        let known = || bound.spec().methods();
        let decoded = decoded.map_err(|misfit| refuse(name, known(), operation, misfit))?;
        classes.push(match decoded {
            Decoded::Completed(op, ret) => Some(bound.class(op, Some(ret))),
            Decoded::Pending(op) if bound.spec().is_dispensable(&op) => None,
            Decoded::Pending(op) => Some(bound.class(op, None)),
            Decoded::Dropped => None,
        });
    }
    Ok((bound, classes))
}

#[cold]
fn refuse(
    spec_name: &str,
    methods: &[Method],
    operation: Operation<'_>,
    misfit: Misfit,
) -> InputError {
    let problem = match misfit {
        Misfit::Unknown => Problem::UnknownOperation {
            name: operation.method().to_owned(),
            spec: spec_name.to_owned(),
            known: known_names(methods),
        },
        Misfit::Expected(expected) => {
            Problem::BadOperation { operation: operation.to_string(), expected }
        }
    };
    InputError::new(operation.history.source(), operation.line(), problem)
}

fn known_names(methods: &[Method]) -> String {
    let names: Vec<String> =
        methods.iter().map(|method| format!("{}{}", method.names[0], method.signature)).collect();
    names.join(", ")
}

/// Whether the parts of an object (the keys of a map, the elements of a set) may be checked apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// Every operation of the history acts on one part.
    Parts,
    /// Some operation looks at the whole, so nothing may be split.
    Whole,
}

impl Split {
    /// Parts, unless the history uses one of these methods, which look at the whole object.
    pub fn unless_used(history: &History, whole: &[Method]) -> Self {
        let used = (0..history.method_count())
            .map(|method| history.method_name(method.into()))
            .any(|name| whole.iter().any(|method| method.is(name)));
        if used { Split::Whole } else { Split::Parts }
    }
}
