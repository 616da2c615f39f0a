//! The `expect lists(…) …` lines of a file as questions with known answers.
//!
//! Options: `client` names a client whose threads make plain calls with `any` arguments; `input` is
//! `unmarked` (the default) or `marked`; `equality` is `elements` (the default) or `list`.

use crate::cases::Input;
use crate::class::Refusal;
use crate::composition::Composition;
use crate::decide::{Outcome, Verdict};
use seriatim_lang::ast::{Expect, Expr, ExprKind, OptionValue, StmtKind};
use seriatim_lang::program::{Program, RoleInfo};
use seriatim_lang::span::Span;

/// When two lists count as the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Equality {
    /// They have the same unmarked keys.
    #[default]
    Elements,
    /// They are the same list.
    List,
}

/// A question that a file asks, and the answer that it expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// What runs in parallel.
    pub composition: Composition,
    /// What is assumed about the list at the start.
    pub input: Input,
    /// When two lists count as the same.
    pub equality: Equality,
    /// `holds`, `fails`, `unknown` or `refused`.
    pub verdict: String,
    /// The line.
    pub span: Span,
}

impl Expectation {
    /// The verdict that the question is about.
    pub fn answer<'o>(&self, outcome: &'o Outcome) -> &'o Verdict {
        match (self.equality, &outcome.list) {
            (Equality::List, Some(list)) => list,
            _ => &outcome.elements,
        }
    }
}

/// The expectations of a program for this engine.
pub fn expectations(program: &Program) -> Result<Vec<Expectation>, Refusal> {
    let lines = program.file.expects.iter().filter(|e| e.engine.text == "lists");
    lines.map(|line| expectation(program, line)).collect()
}

fn expectation(program: &Program, line: &Expect) -> Result<Expectation, Refusal> {
    let wrong = |what: &str| Refusal::new(line.span, what);
    let mut found = Expectation {
        composition: Composition { threads: vec![] },
        input: Input::Unmarked,
        equality: Equality::Elements,
        verdict: line.verdict.text.clone(),
        span: line.span,
    };
    for (key, value) in &line.options {
        let OptionValue::Word(word) = value else {
            return Err(wrong("the options of `lists` are words"));
        };
        match (key.text.as_str(), word.as_str()) {
            ("client", name) => {
                found.composition = client_composition(program, name)
                    .ok_or_else(|| wrong("there is no client of this name that only calls"))?;
            }
            ("input", "unmarked") => found.input = Input::Unmarked,
            ("input", "marked") => found.input = Input::Marked,
            ("equality", "elements") => found.equality = Equality::Elements,
            ("equality", "list") => found.equality = Equality::List,
            _ => return Err(wrong("the options of `lists` are client, input and equality")),
        }
    }
    match found.composition.threads.is_empty() {
        true => Err(wrong("`expect lists` needs a client")),
        false => Ok(found),
    }
}

/// The composition that a client stands for, if its threads only make calls with `any` arguments.
pub fn client_composition(program: &Program, name: &str) -> Option<Composition> {
    let client = program.clients.iter().find(|c| c.name == name)?;
    let mut threads = vec![];
    for role in &client.roles {
        let calls = calls(role)?;
        (0..role.count?).for_each(|_| threads.push(calls.clone()));
    }
    Some(Composition { threads })
}

fn calls(role: &RoleInfo) -> Option<Vec<String>> {
    let call = |expr: &Expr| match &expr.kind {
        ExprKind::Call(method, args) => {
            let free = args.iter().all(|a| matches!(a.kind, ExprKind::Any));
            free.then(|| method.text.clone())
        }
        _ => None,
    };
    let statements = role.body.iter().map(|statement| match &statement.kind {
        StmtKind::Expr(expr) => call(expr),
        _ => None,
    });
    statements.collect()
}
