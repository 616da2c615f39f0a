//! Whether a program means what it says under sequential consistency.
//!
//! *Condition `sequentially-consistent-orderings`*: every access is `seqcst`, nothing is `plain`,
//! and every fence is `seqcst` (which orders nothing more then). Under it, a program behaves on
//! weak memory as on a memory that all threads see alike, as far as its own accesses go. An engine
//! that interleaves steps over one memory and knows no orderings asks for it: of a program with
//! weaker orderings it would overlook runs, and call wrong what it calls right.

use crate::front::ast::{Expr, ExprKind};
use crate::front::diagnostic::Diagnostic;
use crate::front::program::{Builtin, Meaning, Program};
use crate::front::span::Span;
use crate::steps::Ordering;

/// Refuses a program that asks for less than sequential consistency; `engine` says for whom.
pub fn required(program: &Program, engine: &str) -> Result<(), Diagnostic> {
    let Some((span, what)) = weaker(program) else { return Ok(()) };
    let message = format!("{engine} knows only sequential consistency, and {what}");
    Err(Diagnostic::new(span, message)
        .label("condition `sequentially-consistent-orderings` does not hold")
        .hint("`seriatim verify --model rc20` explores weaker orderings"))
}

/// The first place at which a program asks for less than sequential consistency, and how.
pub fn weaker(program: &Program) -> Option<(Span, String)> {
    let file = &program.file;
    let variables = file.vars.iter().filter(|v| v.plain).map(|v| &v.name);
    let fields = file.structs.iter().flat_map(|s| &s.fields).filter(|f| f.plain).map(|f| &f.name);
    if let Some(name) = variables.chain(fields).next() {
        return Some((name.span, format!("`{}` is plain", name.text)));
    }
    let mut found: Option<(Span, String)> = None;
    for function in program.methods.iter().chain(&program.functions) {
        crate::front::walk::expressions(&function.body, &mut |e| {
            if let Some(weak) = weaker_call(program, e)
                && found.as_ref().is_none_or(|(span, _)| e.span.start < span.start)
            {
                found = Some((e.span, format!("this access is `{}`", weak.text())));
            }
        });
    }
    found
}

fn weaker_call(program: &Program, call: &Expr) -> Option<Ordering> {
    let Some(Meaning::Builtin(builtin)) = program.facts.meaning(call.id) else { return None };
    let ExprKind::Call(_, args) = &call.kind else { return None };
    let mut weaker = ordering_words(builtin, args).filter(|o| *o != Ordering::SeqCst);
    weaker.next()
}

/// The orderings that a call of a built-in function names.
pub(crate) fn ordering_words(
    builtin: Builtin,
    args: &[Expr],
) -> impl Iterator<Item = Ordering> + '_ {
    args.iter().skip(builtin.arguments()).filter_map(|arg| match &arg.kind {
        ExprKind::Name(name) => Ordering::named(name),
        _ => None,
    })
}
