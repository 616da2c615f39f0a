//! Results as text: a counterexample as columns of steps with pictures of the list, and tables of verdicts.

use crate::cases::Input;
use crate::composition::Composition;
use crate::decide::{Outcome, Verdict};
use crate::replay::{Counterexample, Pictured, PicturedKey, ShownOperation, ShownStep};
use crate::search::Violation;
use crate::step::Access;
use seriatim_lang::flow::place;
use seriatim_lang::lower;
use seriatim_lang::program::Program;
use seriatim_lang::steps::{Op, Steps};
use std::fmt::Write;

/// A list as a picture: `†` behind a marked node, brackets around a locked one.
pub fn picture(list: &[Pictured]) -> String {
    let node = |n: &Pictured| {
        let key = match n.key {
            PicturedKey::Least => "-∞".to_string(),
            PicturedKey::Number(key) => key.to_string(),
            PicturedKey::Greatest => "+∞".to_string(),
        };
        let key = if n.marked { format!("{key}†") } else { key };
        if n.locked { format!("[{key}]") } else { key }
    };
    list.iter().map(node).collect::<Vec<_>>().join(" → ")
}

/// An outcome as text, with the run of a counterexample.
pub fn render(program: &Program, outcome: &Outcome) -> String {
    let mut out = String::new();
    let input = match outcome.input {
        Input::Unmarked => "every sorted list, nothing marked",
        Input::Marked => "every sorted list, any nodes marked",
    };
    let _ = writeln!(out, "{}, {} on {input}:", program.name, outcome.composition);
    verdict_line(&mut out, "same elements", &outcome.elements);
    if let Some(list) = &outcome.list {
        verdict_line(&mut out, "same list", list);
    }
    let (states, cases) = (outcome.states, outcome.cases);
    let _ = writeln!(out, "  {states} abstract states in {cases} cases");
    let run = [Some(&outcome.elements), outcome.list.as_ref()];
    let run = run.into_iter().flatten().find_map(|verdict| match verdict {
        Verdict::Fails(run) => Some(run),
        _ => None,
    });
    let run = run.or(outcome.deadlock.as_ref());
    if let Some(run) = run {
        out.push('\n');
        out.push_str(&counterexample(program, &outcome.composition, run));
    }
    out
}

fn verdict_line(out: &mut String, question: &str, verdict: &Verdict) {
    let why = match verdict {
        Verdict::Unknown(reason) => format!(" ({})", reason.text()),
        _ => String::new(),
    };
    let _ = writeln!(out, "  {question}: {}{why}", verdict.word());
}

/// A counterexample as columns of steps with pictures of the list.
pub fn counterexample(
    program: &Program,
    composition: &Composition,
    run: &Counterexample,
) -> String {
    let threads = composition.threads.len();
    let Ok(steps) = lower(program, threads as u32, None) else { return String::new() };
    let names: Vec<String> = run.operations.iter().map(|o| name(program, o)).collect();
    let title = |thread: usize| {
        let own = run.operations.iter().zip(&names).filter(|(o, _)| o.operation.thread == thread);
        own.map(|(_, name)| name.clone()).collect::<Vec<_>>().join("; ")
    };
    let mut rows = vec![(0..threads).map(title).chain(["list".to_string()]).collect::<Vec<_>>()];
    let mut first = vec![String::new(); threads + 1];
    first[threads] = picture(&run.initial);
    rows.push(first);
    for (number, step) in run.steps.iter().enumerate() {
        let before = number.checked_sub(1).map_or(&run.initial, |i| &run.steps[i].list);
        let effect = effect(&steps, step);
        for (index, access) in step.accesses.iter().enumerate() {
            let Some(text) = access_text(program, &steps, step, (access, &names)) else { continue };
            let mut row = vec![String::new(); threads + 1];
            row[step.thread] = text;
            if Some(index) == effect && step.list != *before {
                row[threads] = picture(&step.list);
            }
            rows.push(row);
        }
    }
    let mut out = columns(&rows);
    let _ = writeln!(out, "\n{}", conclusion(program, run, &names));
    out
}

/// The access of a step that the list after it belongs to: the last one that writes.
fn effect(steps: &Steps, step: &ShownStep) -> Option<usize> {
    let writes = |access: &Access| {
        let instr = steps.code.get(access.pc.0 as usize);
        instr.is_some_and(|i| place(&i.op).is_some() && !matches!(i.op, Op::Load { .. }))
    };
    step.accesses.iter().rposition(writes)
}

fn name(program: &Program, shown: &ShownOperation) -> String {
    format!("{}({})", program.methods[shown.operation.method as usize].name, shown.key)
}

/// What an access does; `None` for the begin of an atomic block.
fn access_text(
    program: &Program,
    steps: &Steps,
    step: &ShownStep,
    (access, names): (&Access, &[String]),
) -> Option<String> {
    if access.called {
        return Some(format!("call {}", names[step.operation]));
    }
    if let Some(result) = access.returned {
        return Some(format!("return {result}"));
    }
    let instr = steps.code.get(access.pc.0 as usize)?;
    if matches!(instr.op, Op::Atomic) {
        return None;
    }
    let line = instr.span.line(&program.source);
    let text = instr.span.text(&program.source).lines().next().unwrap_or("").trim();
    Some(format!("{line}: {text}"))
}

fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|r| r[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell}{}", " ".repeat(width - cell.chars().count())));
        let line = cells.collect::<Vec<_>>().join("  |  ");
        let _ = writeln!(out, "  {}", line.trim_end());
    }
    out
}

fn conclusion(program: &Program, run: &Counterexample, names: &[String]) -> String {
    let results = run
        .operations
        .iter()
        .zip(names)
        .filter_map(|(o, name)| o.returned.map(|(_, result)| format!("{name} = {result}")));
    let results = results.collect::<Vec<_>>().join(", ");
    let end = run.steps.last().map_or(&run.initial, |s| &s.list);
    match run.violation {
        Violation::WrongResult => {
            format!("No order of the operations explains the results: {results}.")
        }
        Violation::Fault(fault, pc) => {
            let line = run_line(program, pc.0);
            format!("Error at line {line}: {}.", fault.text())
        }
        Violation::Deadlock => {
            "Deadlock: no thread can go on, though the specification could.".to_owned()
        }
        Violation::WrongElements => format!(
            "No order of the operations explains the results ({results}) and leaves these elements: {}.",
            picture(end)
        ),
        Violation::WrongList => format!(
            "Results and elements are right ({results}), but no order of the operations leaves this list: {}.",
            picture(end)
        ),
    }
}

fn run_line(program: &Program, pc: u32) -> usize {
    let instr = lower(program, 1, None).ok().and_then(|s| s.code.get(pc as usize).cloned());
    instr.map_or(0, |i| i.span.line(&program.source))
}

/// A table of outcomes, one line each.
pub fn table_text(outcomes: &[Outcome]) -> String {
    let head = ["composition", "same elements", "same list", "states", "steps"];
    let mut rows = vec![head.map(str::to_string).to_vec()];
    rows.extend(outcomes.iter().map(|o| {
        vec![
            o.composition.to_string(),
            o.elements.word().to_string(),
            o.list.as_ref().map_or("-", Verdict::word).to_string(),
            o.states.to_string(),
            o.transitions.to_string(),
        ]
    }));
    columns(&rows)
}
