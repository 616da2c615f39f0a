//! The same question for the engine `explore`: the program with a list written into its initial
//! state, keys as small numbers, the specification that begins with the list's elements, and a
//! client that makes the calls once.

use crate::composition::Composition;
use crate::replay::{Pictured, PicturedKey, elements};
use seriatim_explore::{Limits, Options, Verdict, ViolationKind, run};
use seriatim_lang::Program;
use std::fmt::Write;

/// Stands for −∞ and +∞; the keys of a short list and its arguments lie between them.
const LEAST: u32 = 0;
const GREATEST: u32 = 9;

/// The set that begins with the elements of a list.
const SPEC: &str = "
spec filled {
  var members: set<KEY> = {MEMBERS}
  method add(k: KEY) -> bool {
    if k in members { return false }
    members = members + {k}
    return true
  }
  method remove(k: KEY) -> bool {
    if !(k in members) { return false }
    members = members - {k}
    return true
  }
  method contains(k: KEY) -> bool { return k in members }
}
";

/// Whether `explore` finds a wrong result or an error; `None` if it says something else, as
/// that threads wait for ever.
pub fn explore_finds_a_violation(
    program: &Program,
    composition: &Composition,
    list: &[Pictured],
    keys: &[u32],
) -> Option<bool> {
    let source = with_list(program, composition, list, keys);
    let changed = seriatim_lang::check(&source)
        .unwrap_or_else(|error| panic!("{}", error.render(&source, "agreement")));
    let options = Options {
        threads: composition.threads.len() as u32,
        client: Some("agreement".to_string()),
        limits: Limits { states: Some(300_000), ..Options::default().limits },
        ..Options::default()
    };
    let outcome = run(&changed, &options).expect("explore takes it");
    match outcome.verdict {
        Verdict::Holds => Some(false),
        Verdict::Violation(run) => match run.kind {
            ViolationKind::NotLinearizable | ViolationKind::Fault(_) => Some(true),
            _ => None,
        },
        Verdict::Unknown(_) => None,
    }
}

/// The program with a list and a client.
fn with_list(
    program: &Program,
    composition: &Composition,
    list: &[Pictured],
    keys: &[u32],
) -> String {
    let number = format!("int {LEAST}..{GREATEST}");
    let source = &program.source;
    let ends = ["\nclient ", "\nexpect "].into_iter().filter_map(|word| source.find(word));
    let methods = &source[..ends.min().unwrap_or(source.len())];
    let head = methods.lines().find(|l| l.starts_with("var head: Node =")).unwrap_or("no head");
    let object = methods.lines().find(|l| l.starts_with("object ")).unwrap_or("no object");
    let mut source = methods
        .replacen(head, &format!("var head: Node = {}", nodes(methods, list)), 1)
        .replacen(object, &object.replace(": set", ": filled"), 1)
        .replace("-inf", &LEAST.to_string())
        .replace("+inf", &GREATEST.to_string())
        .replace(": key,", &format!(": {number},"))
        .replace(": key)", &format!(": {number})"));
    let members: Vec<String> = elements(list).iter().map(u32::to_string).collect();
    let spec = SPEC.replace("MEMBERS", &members.join(", ")).replace("KEY", &number);
    source.push_str(&spec);
    let mut keys = keys.iter();
    source.push_str("client agreement {\n");
    for (index, calls) in composition.threads.iter().enumerate() {
        let calls = calls.iter().map(|name| format!("{name}({})", keys.next().unwrap_or(&0)));
        let calls = calls.collect::<Vec<_>>().join("; ");
        let _ = writeln!(source, "  thread t{index} {{ {calls} }}");
    }
    source.push_str("}\n");
    source
}

fn nodes(source: &str, list: &[Pictured]) -> String {
    let linked = source.contains("link: (Node?, bool)");
    let has_mark = source.contains("marked: bool");
    let mut text = "null".to_string();
    for node in list.iter().rev() {
        let key = match node.key {
            PicturedKey::Least => LEAST,
            PicturedKey::Number(key) => key,
            PicturedKey::Greatest => GREATEST,
        };
        let marked = node.marked;
        text = match (linked, has_mark) {
            (true, _) => format!("new Node {{ key: {key}, link: ({text}, {marked}) }}"),
            (_, true) => format!("new Node {{ key: {key}, next: {text}, marked: {marked} }}"),
            _ => format!("new Node {{ key: {key}, next: {text} }}"),
        };
    }
    text
}
