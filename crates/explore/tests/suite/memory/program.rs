//! Straight-line programs for memory models, as text of the language.

use seriatim_explore::{MemoryModel, Options, Reductions, weak};
use seriatim_lang::steps::Ordering;
use std::collections::BTreeSet;

/// An instruction on the shared variables `x0`, `x1`, ….
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Do {
    Read(usize, Ordering),
    Write(usize, i32, Ordering),
    Swap(usize, i32, Ordering),
    Add(usize, i32, Ordering),
    Cas(usize, i32, i32, Ordering, Ordering),
    Fence(Ordering),
    /// A write, or a read, of the plain variable `p`.
    Plain(bool),
    /// Goes on only if the last read gave this.
    Only(i32),
}

/// What each thread does.
pub type Threads = Vec<Vec<Do>>;

/// How many results a thread has: one for each read.
pub fn results(thread: &[Do]) -> usize {
    thread.iter().filter(|i| matches!(i, Do::Read(..) | Do::Swap(..) | Do::Add(..))).count()
}

/// The program as text: every thread is a method whose result is what it reads.
pub fn text(threads: &Threads, words: usize) -> String {
    let mut spec = String::new();
    let mut methods = String::new();
    let mut client = String::new();
    for (number, thread) in threads.iter().enumerate() {
        let count = results(thread).max(1);
        let tuple = |item: &str| match count {
            1 => item.to_owned(),
            _ => format!("({})", vec![item; count].join(", ")),
        };
        let ty = tuple("int 0..9");
        spec += &format!("  method t{number}() -> {ty} {{ return {} }}\n", tuple("0"));
        methods += &format!("method t{number}() -> {ty} {{\n{}}}\n", body(thread, count));
        client += &format!("  thread p{number} {{ t{number}() }}\n");
    }
    let vars: String = (0..words).map(|x| format!("var x{x}: int 0..9 = 0\n")).collect();
    format!(
        "object litmus : nothing\nspec nothing {{\n{spec}}}\n{vars}{methods}client all {{\n{client}}}\n"
    )
}

/// The lines of a method that gives so many results.
pub fn body(thread: &[Do], count: usize) -> String {
    let mut lines = String::new();
    let mut read = 0;
    for instruction in thread {
        let mut bind = |what: String| {
            read += 1;
            format!("let r{read} = {what}")
        };
        let line = match *instruction {
            Do::Read(x, o) => bind(format!("load(x{x}, {})", o.text())),
            Do::Swap(x, v, o) => bind(format!("swap(x{x}, {v}, {})", o.text())),
            Do::Add(x, v, o) => bind(format!("fetch_add(x{x}, {v}, {})", o.text())),
            Do::Write(x, v, o) => format!("store(x{x}, {v}, {})", o.text()),
            Do::Cas(x, a, b, s, f) => format!("cas(x{x}, {a}, {b}, {}, {})", s.text(), f.text()),
            Do::Fence(o) => format!("fence({})", o.text()),
            Do::Plain(true) => "p = 1".to_owned(),
            Do::Plain(false) => "let q = p".to_owned(),
            Do::Only(v) => format!("assume r{read} == {v}"),
        };
        lines += &format!("  {line}\n");
    }
    let given: Vec<String> = (1..=read).map(|r| format!("r{r}")).collect();
    let given = match read {
        0 => vec!["0".to_owned(); count].join(", "),
        _ => given.join(", "),
    };
    lines + &if count > 1 { format!("  return ({given})\n") } else { format!("  return {given}\n") }
}

/// All outcomes on a model: what the threads read, then what the variables hold at the end.
pub fn outcomes(
    threads: &Threads,
    words: usize,
    model: MemoryModel,
    reductions: Reductions,
) -> BTreeSet<Vec<i32>> {
    let source = text(threads, words);
    let program = seriatim_lang::check(&source)
        .unwrap_or_else(|error| panic!("{}", error.render(&source, "litmus.seri")));
    let options = Options {
        threads: threads.len() as u32,
        client: Some("all".to_owned()),
        memory: Some(model),
        operations: Some(1),
        reductions,
        ..Options::default()
    };
    weak::outcomes(&program, &options).expect("it can be explored")
}
