//! How a specification reads the operations of a recorded history: names, arguments, results.

use crate::{Alphabet, Bound, ClassId, Spec};
use seriatim_history::{History, InputError, OpId, Operation, Outcome, Problem, ValueId};

/// A specification that understands recorded operations.
pub trait Vocabulary: Spec {
    /// The operations, for `seriatim specs` and for messages.
    fn methods(&self) -> &'static [Method];

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
    /// Whether a recorded name means this method. Case does not matter.
    pub fn is(&self, name: &str) -> bool {
        self.names.iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}

/// What a failed operation (Jepsen's `:fail`) tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Failures {
    /// What the specification thinks right: an operation whose failure shows something of the
    /// object (a compare-and-set that saw another value) is an observation, any other is dropped.
    #[default]
    AsSpecified,
    /// It did not happen.
    Drop,
    /// It happened and says that its condition did not hold; refused where the specification gives
    /// failure no meaning.
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
    /// The argument, which must be there.
    pub fn arg(&self) -> Result<ValueId, Misfit> {
        match self.operation.arg() {
            ValueId::ABSENT => Misfit::expected("an argument"),
            arg => Ok(arg),
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
        match self.operation.history.values().as_pair(self.operation.arg()) {
            Some(pair) => Ok(pair),
            None => Misfit::expected("a list of two values as argument"),
        }
    }

    /// An operation whose failure says nothing: it did not happen.
    pub fn plain<Op, Ret>(&self, op: Op, ret: Ret) -> Result<Decoded<Op, Ret>, Misfit> {
        match (self.operation.outcome(), self.failures) {
            (Outcome::Pending, _) => Ok(Decoded::Pending(op)),
            (Outcome::Ok, _) => Ok(Decoded::Completed(op, ret)),
            (Outcome::Failed, Failures::Observe) => Misfit::expected(
                "an operation that did not fail (its failure has no meaning as an observation; \
                 use --failures drop)",
            ),
            (Outcome::Failed, _) => Ok(Decoded::Dropped),
        }
    }

    /// An operation whose failure is an observation unless the user wants it dropped.
    pub fn fallible<Op, Ret>(
        &self,
        op: Op,
        success: Ret,
        failure: Ret,
    ) -> Result<Decoded<Op, Ret>, Misfit> {
        match (self.operation.outcome(), self.failures) {
            (Outcome::Failed, Failures::AsSpecified | Failures::Observe) => {
                Ok(Decoded::Completed(op, failure))
            }
            (Outcome::Ok, _) if self.operation.result() == ValueId::FALSE => {
                Ok(Decoded::Completed(op, failure))
            }
            _ => self.plain(op, success),
        }
    }
}

/// A history as a specification reads it: the class of each operation, and the classes.
pub struct Interpretation {
    /// What the specification says of the classes.
    pub alphabet: Box<dyn Alphabet>,
    classes: Vec<u32>,
}

const DROPPED: u32 = u32::MAX;

impl Interpretation {
    /// An interpretation from the class of each operation, `None` where it did not happen.
    pub fn new(
        alphabet: Box<dyn Alphabet>,
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

/// Reads a history under a specification. A pending operation that changes nothing says nothing
/// and is dropped.
pub fn interpret<S: Vocabulary + 'static>(
    name: &str,
    spec: S,
    history: &History,
    failures: Failures,
) -> Result<Interpretation, InputError> {
    let mut bound = Bound::new(spec);
    let mut classes = Vec::with_capacity(history.len());
    for operation in history.operations() {
        let decoded = bound.spec().decode(operation, failures);
        let decoded = decoded.map_err(|misfit| refuse(name, bound.spec(), operation, misfit))?;
        classes.push(match decoded {
            Decoded::Completed(op, ret) => Some(bound.class(op, Some(ret))),
            Decoded::Pending(op) if bound.spec().is_read_only(&op, None) => None,
            Decoded::Pending(op) => Some(bound.class(op, None)),
            Decoded::Dropped => None,
        });
    }
    Ok(Interpretation::new(Box::new(bound), classes))
}

fn refuse<S: Vocabulary>(
    spec_name: &str,
    spec: &S,
    operation: Operation<'_>,
    misfit: Misfit,
) -> InputError {
    let problem = match misfit {
        Misfit::Unknown => Problem::UnknownOperation {
            name: operation.method().to_owned(),
            spec: spec_name.to_owned(),
            known: known_names(spec.methods()),
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
