//! The syntax tree, as written: names are not resolved, types are not known. Every expression and
//! every binding carries an [`ExprId`], under which the checker files what it finds out.

use crate::front::span::Span;

/// Numbers the expressions and bindings of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct ExprId(pub u32);

/// A name and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

/// A whole file.
#[derive(Clone, Debug, Default)]
pub struct File {
    /// `object NAME : SPEC`.
    pub object: Option<ObjectDecl>,
    /// `const` declarations.
    pub consts: Vec<ConstDecl>,
    /// `enum` declarations.
    pub enums: Vec<EnumDecl>,
    /// `struct` declarations.
    pub structs: Vec<StructDecl>,
    /// `record` declarations.
    pub records: Vec<StructDecl>,
    /// `var` and `thread var` declarations.
    pub vars: Vec<VarDecl>,
    /// What runs before the threads start: `init { … }`.
    pub init: Block,
    /// Methods, in order.
    pub methods: Vec<Function>,
    /// Helper functions.
    pub functions: Vec<Function>,
    /// Specifications written in the file.
    pub specs: Vec<SpecDecl>,
    /// Clients.
    pub clients: Vec<ClientDecl>,
    /// Expected verdicts.
    pub expects: Vec<Expect>,
    /// How many [`ExprId`]s were given out.
    pub expr_count: u32,
}

/// `object NAME : SPEC` or `object NAME : SPEC(ARGUMENT, …)`.
#[derive(Clone, Debug)]
pub struct ObjectDecl {
    /// Its name.
    pub name: Name,
    /// The specification it must refine.
    pub spec: Option<Name>,
    /// What the specification's parameters stand for: constants.
    pub arguments: Vec<Expr>,
}

/// `const NAME = EXPR`.
#[derive(Clone, Debug)]
pub struct ConstDecl {
    /// Its name.
    pub name: Name,
    /// Its value, a constant expression.
    pub value: Expr,
}

/// `enum NAME { A, B }`.
#[derive(Clone, Debug)]
pub struct EnumDecl {
    /// Its name.
    pub name: Name,
    /// Its variants.
    pub variants: Vec<Name>,
}

/// `struct NAME { field: TYPE = DEFAULT, … }`, or `record` for `struct`.
#[derive(Clone, Debug)]
pub struct StructDecl {
    /// Its name.
    pub name: Name,
    /// Its fields.
    pub fields: Vec<FieldDecl>,
}

/// A field of a struct.
#[derive(Clone, Debug)]
pub struct FieldDecl {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub ty: TypeExpr,
    /// Its default value.
    pub default: Option<Expr>,
    /// Whether it is accessed without synchronisation: `plain`.
    pub plain: bool,
}

/// A shared variable or a thread variable.
#[derive(Clone, Debug)]
pub struct VarDecl {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub ty: TypeExpr,
    /// Its initial value.
    pub init: Option<Expr>,
    /// Whether each thread has its own.
    pub scope: VarScope,
    /// Whether it is accessed without synchronisation: `plain`.
    pub plain: bool,
    /// How it rises, if it is declared to be the version of a specification.
    pub version: Option<Rise>,
}

/// How the version of a specification rises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rise {
    /// `version var`: by one with every change.
    ByOne,
    /// `sparse version var`: by one with every change, and between operations by any number.
    Sparse,
}

/// Who sees a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarScope {
    /// All threads share it.
    Shared,
    /// Each thread has its own, which outlives its operations.
    Thread,
}

/// A method or a helper function.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: Name,
    /// Its parameters.
    pub params: Vec<Param>,
    /// Its result type.
    pub result: Option<TypeExpr>,
    /// How often it may be under way at once, if it may call itself: a constant.
    pub depth: Option<Expr>,
    /// Its body.
    pub body: Block,
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct Param {
    /// The bound name.
    pub binding: Binding,
    /// Its type.
    pub ty: TypeExpr,
}

/// `spec NAME { var …  method … }` or `spec NAME(PARAMETER, …) { … }`.
#[derive(Clone, Debug)]
pub struct SpecDecl {
    /// Its name.
    pub name: Name,
    /// Its parameters, each of which stands for a number, and what they are if nobody says so.
    pub params: Vec<(Name, Option<Expr>)>,
    /// Its records.
    pub records: Vec<StructDecl>,
    /// Its state.
    pub vars: Vec<VarDecl>,
    /// Its methods.
    pub methods: Vec<Function>,
    /// Its helper functions.
    pub functions: Vec<Function>,
}

/// `client NAME { thread ROLE * N { … } }`.
#[derive(Clone, Debug)]
pub struct ClientDecl {
    /// Its name, if it has one.
    pub name: Option<Name>,
    /// What its threads do.
    pub roles: Vec<Role>,
}

/// Threads of a client that do the same.
#[derive(Clone, Debug)]
pub struct Role {
    /// Its name.
    pub name: Name,
    /// How many threads: an expression, or all remaining ones when absent.
    pub count: RoleCount,
    /// What each of them runs.
    pub body: Block,
}

/// How many threads play a role.
#[derive(Clone, Debug)]
pub enum RoleCount {
    /// One.
    One,
    /// This many.
    Times(Expr),
    /// All threads that no other role takes: `* rest`.
    Rest,
}

/// `expect ENGINE(key: value, …) VERDICT`.
#[derive(Clone, Debug)]
pub struct Expect {
    /// Which engine.
    pub engine: Name,
    /// Its options.
    pub options: Vec<(Name, OptionValue)>,
    /// `holds`, `fails`, `unknown` or `refused`.
    pub verdict: Name,
    /// The whole line.
    pub span: Span,
}

/// The value of an option of an `expect` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionValue {
    /// A number.
    Number(i64),
    /// A word.
    Word(String),
}

/// A type as written.
#[derive(Clone, Debug)]
pub struct TypeExpr {
    /// The type.
    pub kind: TypeKind,
    /// Where it stands.
    pub span: Span,
}

/// The sorts of written types.
#[derive(Clone, Debug)]
pub enum TypeKind {
    /// `bool`, `value`, `key`, `tid`, `lock`, `int`, a struct or an enum.
    Named(String),
    /// `int LO..HI`.
    Range(Box<Expr>, Box<Expr>),
    /// `T?`.
    Optional(Box<TypeExpr>),
    /// `[T; N]`.
    Array(Box<TypeExpr>, Box<Expr>),
    /// `(T, U)`.
    Tuple(Vec<TypeExpr>),
    /// `seq<T>`, `set<T>`, `map<K, V>`.
    Generic(String, Vec<TypeExpr>),
}

/// A sequence of statements.
pub type Block = Vec<Stmt>;

/// A name that a `let`, a parameter or a pattern introduces.
#[derive(Clone, Debug)]
pub struct Binding {
    /// The name.
    pub name: Name,
    /// Under which the checker files its type.
    pub id: ExprId,
}

/// The left side of a `let`.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// A name.
    Bind(Binding),
    /// `(a, _, b)`: `None` stands for `_`.
    Tuple(Vec<Option<Binding>>),
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// What it does.
    pub kind: StmtKind,
    /// Where it stands.
    pub span: Span,
    /// Its linearization-point annotations.
    pub lin: Vec<Lin>,
}

/// `@lin`, `@lin(cond)`, `@lin(help d)`.
#[derive(Clone, Debug)]
pub struct Lin {
    /// Under which condition, after the step.
    pub cond: Option<Expr>,
    /// Whose operation: the thread's own, or the one of this descriptor.
    pub help: Option<Expr>,
    /// Where it stands.
    pub span: Span,
}

/// The sorts of statements.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// `let PATTERN: TYPE = EXPR`.
    Let(Pattern, Option<TypeExpr>, Expr),
    /// `PLACE = EXPR` or `(PLACE, _) = EXPR`.
    Assign(Vec<Option<Expr>>, Expr),
    /// A call for its effect.
    Expr(Expr),
    /// `if`.
    If(Expr, Block, Block),
    /// `while`.
    While(Option<Name>, Expr, Block),
    /// `loop`.
    Loop(Option<Name>, Block),
    /// `for x in COLLECTION { … }`, in specifications.
    For(Binding, Expr, Block),
    /// `repeat N { … }`, in clients.
    Repeat(Expr, Block),
    /// `break`.
    Break(Option<Name>),
    /// `continue`.
    Continue(Option<Name>),
    /// `return`.
    Return(Option<Expr>),
    /// `atomic { … }`.
    Atomic(Block),
    /// `choose { … or … }`.
    Choose(Vec<Block>),
    /// `assume EXPR`.
    Assume(Expr),
    /// `assert EXPR`.
    Assert(Expr),
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
    /// Its number.
    pub id: ExprId,
}

/// The sorts of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A number.
    Int(i64),
    /// A text, in specifications.
    Text(String),
    /// `true`, `false`.
    Bool(bool),
    /// `null`, `empty`, `none`.
    Null,
    /// `-inf`.
    MinusInf,
    /// `+inf`.
    PlusInf,
    /// `self`: the thread that runs.
    SelfTid,
    /// `any`: a value chosen freely.
    Any,
    /// A name.
    Name(String),
    /// `e.field`.
    Field(Box<Expr>, Name),
    /// `e.0`.
    Part(Box<Expr>, u32),
    /// `e[i]`.
    Index(Box<Expr>, Box<Expr>),
    /// `e[a..b]`.
    Slice(Box<Expr>, Option<Box<Expr>>, Option<Box<Expr>>),
    /// `f(a, b)`.
    Call(Name, Vec<Expr>),
    /// `new S { field: e }`: a node of an algorithm, a record of a specification.
    New(Name, Vec<(Name, Expr)>),
    /// `!e`, `-e`.
    Unary(UnaryOp, Box<Expr>),
    /// `a + b`.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `if c { a } else { b }`.
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `(a, b)`.
    Tuple(Vec<Expr>),
    /// `[a, b]`.
    List(Vec<Expr>),
    /// `[a; n]`.
    Fill(Box<Expr>, Box<Expr>),
    /// `{a, b}`.
    Set(Vec<Expr>),
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `!`.
    Not,
    /// `-`.
    Neg,
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// `+`.
    Add,
    /// `-`.
    Sub,
    /// `*`.
    Mul,
    /// `/`.
    Div,
    /// `%`.
    Rem,
    /// `==`.
    Eq,
    /// `!=`.
    Ne,
    /// `<`.
    Lt,
    /// `<=`.
    Le,
    /// `>`.
    Gt,
    /// `>=`.
    Ge,
    /// `&&`.
    And,
    /// `||`.
    Or,
    /// `++`.
    Concat,
    /// `in`.
    In,
}

impl BinaryOp {
    /// How it is written.
    pub fn text(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::And => "&&",
            BinaryOp::Or => "||",
            BinaryOp::Concat => "++",
            BinaryOp::In => "in",
        }
    }
}
