//! The expressions of a map: where in a record something stands, and small computations with it.

use seriatim_history::Value;

/// An expression.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Expression {
    Literal(Value),
    /// The whole record: `$`.
    Record,
    /// A name: of a variable, else of a field of the record.
    Name(String),
    /// `inner.name`, with the text of the whole path for messages.
    Field {
        inner: Box<Expression>,
        name: String,
        path: String,
    },
    /// `inner[index]`.
    Index {
        inner: Box<Expression>,
        index: Box<Expression>,
        path: String,
    },
    /// `inner?`: may be missing.
    Optional(Box<Expression>),
    /// `left ?? right`: the right one if the left one is missing.
    Else(Box<Expression>, Box<Expression>),
    Not(Box<Expression>),
    And(Box<Expression>, Box<Expression>),
    Or(Box<Expression>, Box<Expression>),
    Compare(Comparison, Box<Expression>, Box<Expression>),
    Sum(Sign, Box<Expression>, Box<Expression>),
    If(Box<Expression>, Box<Expression>, Box<Expression>),
    List(Vec<Expression>),
    /// `[item for name in list]`.
    Each {
        item: Box<Expression>,
        name: String,
        list: Box<Expression>,
    },
    Call(Function, Vec<Expression>),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Comparison {
    Equal,
    Different,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sign {
    Plus,
    Minus,
}

/// What can be called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Function {
    Has,
    Number,
    Text,
    Len,
    Lower,
    Split,
    Between,
    StartsWith,
    EndsWith,
    Contains,
    Variant,
    Json,
    Zip,
    Flat,
}

impl Function {
    /// The functions by name, with the least and the most arguments that they take.
    pub const ALL: [(&'static str, Function, usize, usize); 14] = [
        ("has", Function::Has, 1, 1),
        ("number", Function::Number, 1, 1),
        ("text", Function::Text, 1, 16),
        ("len", Function::Len, 1, 1),
        ("lower", Function::Lower, 1, 1),
        ("split", Function::Split, 2, 2),
        ("between", Function::Between, 3, 3),
        ("starts_with", Function::StartsWith, 2, 2),
        ("ends_with", Function::EndsWith, 2, 2),
        ("contains", Function::Contains, 2, 2),
        ("variant", Function::Variant, 1, 1),
        ("json", Function::Json, 1, 1),
        ("zip", Function::Zip, 2, 2),
        ("flat", Function::Flat, 1, 1),
    ];
}
