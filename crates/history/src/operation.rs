//! One operation of a history: who called what when, and what came back.

use crate::{History, Outside, Value, ValueId};
use std::fmt;

/// A moment. Only the order of moments counts for linearizability; their unit is the recorder's.
pub type Time = u64;

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub struct $name(pub u32);

        impl $name {
            /// The position that this index names.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<usize> for $name {
            #[inline]
            fn from(index: usize) -> Self {
                debug_assert!(u32::try_from(index).is_ok());
                $name(index as u32)
            }
        }
    };
}

index! {
    /// An operation of a history: its position in call order.
    OpId
}
index! {
    /// A process (thread, client) of a history.
    ProcessId
}
index! {
    /// A method (operation name) of a history.
    MethodId
}

/// How an operation ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Outcome {
    /// It returned a result.
    Ok,
    /// It returned and said that it failed. Whether that means "it did not happen" or is an
    /// observation of the object (a compare-and-set that saw another value) is for the
    /// specification and its user to say.
    Failed,
    /// It never returned, or nobody knows its result: *pending*. It may take effect at any moment
    /// after its call, or never.
    Pending,
}

/// A view of one operation.
///
/// ```
/// use seriatim_history::{Builder, Call, Return, Value};
/// let mut builder = Builder::new("example");
/// let client = builder.process(&Value::Int(0));
/// let push = builder.method("push");
/// let seven = builder.values().intern_int(7);
/// builder.call(1, client, Call::new(push).arg(seven)).unwrap();
/// builder.ret(2, client, Return::ok()).unwrap();
/// let history = builder.finish().unwrap();
/// let operation = history.operations().next().unwrap();
/// assert_eq!(operation.to_string(), "push(7)");
/// ```
#[derive(Clone, Copy)]
pub struct Operation<'h> {
    /// The history that it belongs to.
    pub history: &'h History,
    /// Its position in call order.
    pub id: OpId,
}

impl<'h> Operation<'h> {
    /// Who called it.
    pub fn process(&self) -> ProcessId {
        self.history.process(self.id)
    }

    /// Who called it, under the name of the source: see [`History::caller`].
    pub fn caller(&self) -> ProcessId {
        self.history.caller(self.id)
    }

    /// The operation's name.
    pub fn method(&self) -> &'h str {
        self.history.method_name(self.history.method(self.id))
    }

    /// The object that it was called on; absent in histories of one object.
    pub fn object(&self) -> ValueId {
        self.history.object(self.id)
    }

    /// The key that it names apart from its argument (`put(key, value)`), or absent.
    pub fn key(&self) -> ValueId {
        self.history.key(self.id)
    }

    /// Its argument (a list where there are several), or absent.
    pub fn arg(&self) -> ValueId {
        self.history.arg(self.id)
    }

    /// What it returned; absent when it returned nothing or is pending.
    pub fn result(&self) -> ValueId {
        self.history.result(self.id)
    }

    /// When it was called.
    pub fn call(&self) -> Time {
        self.history.call(self.id)
    }

    /// When it returned; `None` when it is pending.
    pub fn ret(&self) -> Option<Time> {
        self.history.ret(self.id)
    }

    /// How it ended.
    pub fn outcome(&self) -> Outcome {
        self.history.outcome(self.id)
    }

    /// The line of the source that records its call; 0 when unknown.
    pub fn line(&self) -> u64 {
        self.history.line(self.id)
    }

    /// Whether it returned before the other one was called (intervals are closed: an operation
    /// that returns at the instant of another's call is concurrent with it).
    pub fn precedes(&self, other: &Operation<'_>) -> bool {
        self.ret().is_some_and(|ret| ret < other.call())
    }

    /// The steps of a transaction, `r(x)=1 w(y)=2`, with what it read if that is known; `None` if
    /// the operation is none: its argument is no list of steps `[f key value]`.
    pub fn steps_text(&self, seen: Seen) -> Option<String> {
        let is_known = seen == Seen::Known && self.outcome() == Outcome::Ok;
        let asked = self.history.values().get(self.arg());
        let told = self.history.values().get(self.result());
        let steps = asked.as_list().filter(|steps| !steps.is_empty())?;
        let told = told.as_list().filter(|told| is_known && told.len() == steps.len());
        let mut texts = Vec::new();
        for (place, step) in steps.iter().enumerate() {
            let [kind, key, value] = step.as_list()? else { return None };
            let letter = match kind.as_str()? {
                "r" | "read" => "r",
                "w" | "write" => "w",
                "append" => "append",
                _ => return None,
            };
            let key = key.as_str().map_or_else(|| key.to_string(), |key| Outside(key).to_string());
            let seen = told.and_then(|told| told[place].as_list()).and_then(|step| step.get(2));
            texts.push(match (letter, seen) {
                ("r", None) => format!("r({key})"),
                (_, None) => format!("{letter}({key})={value}"),
                (_, Some(seen)) => format!("{letter}({key})={seen}"),
            });
        }
        let mut text = texts.join(" ");
        if self.outcome() == Outcome::Failed {
            text.push_str(" failed");
        }
        Some(text)
    }

    /// The call as text, without the result: `put("a", 7)`.
    pub fn call_text(&self) -> String {
        let values = self.history.values();
        let mut text = Outside(self.method()).to_string();
        let has_arguments = self.key().is_present() || self.arg().is_present();
        // The operation of a type of one's own says its arguments by itself: `Withdraw(10)`.
        if !has_arguments && text.ends_with([')', '}', ']']) {
            return text;
        }
        text.push('(');
        if self.key().is_present() {
            text.push_str(&values.get(self.key()).to_string());
        }
        if self.arg().is_present() {
            if self.key().is_present() {
                text.push_str(", ");
            }
            match (values.get(self.arg()), self.key().is_present()) {
                (Value::List(items), false) if items.len() == 2 => {
                    text.push_str(&format!("{}, {}", items[0], items[1]));
                }
                (value, _) => text.push_str(&value.to_string()),
            }
        }
        text.push(')');
        text
    }

    /// The result as text: a value, `failed`, `?` when pending, nothing when nothing was returned.
    pub fn result_text(&self) -> String {
        let value = self.result().is_present().then(|| self.history.values().get(self.result()));
        match (self.outcome(), value) {
            (Outcome::Pending, _) => "?".into(),
            (Outcome::Failed, None) => "failed".into(),
            (Outcome::Failed, Some(value)) => format!("failed: {value}"),
            (Outcome::Ok, None) => String::new(),
            (Outcome::Ok, Some(value)) => value.to_string(),
        }
    }
}

/// Whether it is known what an operation returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seen {
    /// As far as the history says.
    Known,
    /// Not from where one looks.
    Unknown,
}

impl fmt::Display for Operation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(steps) = self.steps_text(Seen::Known) {
            return f.write_str(&steps);
        }
        f.write_str(&self.call_text())?;
        match self.result_text() {
            result if result.is_empty() => Ok(()),
            result => write!(f, " -> {result}"),
        }
    }
}
