//! A run as a small text file, to be kept and replayed: the bounds, the constants, how many
//! accesses are a step, and the moves.
//!
//! ```text
//! seriatim run 1
//! object stack
//! threads 2
//! values 3
//! keys 2
//! capacity 2
//! set N 4
//! memory rc20
//! operations 2
//! lag 3
//! joined fusion lock-movers lock-nesting
//! move 0 1
//! move 1
//! wait 0 2
//! ```
//!
//! `move` and `wait` name the thread and its choices; `wait` is a call after which the thread
//! waits. `without dead-fields` names reductions that were off and that decide which nodes are
//! alive (`dead-registers`, `dead-fields`, `heap-symmetry`). `progress lock-free` says that the run contradicts this guarantee of progress, and
//! `circle 4` that its last four moves can be repeated for ever.

use crate::options::{Guarantee, MemoryModel, Mode, Options, Reductions, Synchronise};
use crate::options::{MOST_KEYS, MOST_THREADS, MOST_VALUES};
use crate::outcome::{Counterexample, Move, ViolationKind};
use crate::replay::{Replay, replay, replay_progress};
use seriatim_lang::{Diagnostic, Program};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::RangeInclusive;

/// The first line of the format.
const HEAD: &str = "seriatim run 1";

/// The bounds that the explorer takes, in words for a file that asks for others.
const THREADS: Allowed = Allowed { range: 1..=8, expected: "1 to 8 threads" };
const VALUES: Allowed = Allowed { range: MOST_VALUES, expected: "1 to 8 values" };
const KEYS: Allowed = Allowed { range: MOST_KEYS, expected: "at most 64 keys" };

/// The numbers that a bound may be.
struct Allowed {
    range: RangeInclusive<u32>,
    expected: &'static str,
}

/// A saved run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The name of the object that it is a run of.
    pub object: String,
    /// Bounds and reductions.
    pub options: Options,
    /// The constants that were overridden.
    pub consts: BTreeMap<String, i32>,
    /// The moves.
    pub moves: Vec<Move>,
    /// If the run contradicts a guarantee of progress: how many of the last moves can be repeated
    /// for ever. None where a thread waits.
    pub circle: Option<usize>,
}

/// What is wrong with a saved run: the line, counted from one, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadRun {
    /// Which line.
    pub line: usize,
    /// What was expected there.
    pub expected: &'static str,
}

impl std::fmt::Display for BadRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: expected {}", self.line, self.expected)
    }
}

impl std::error::Error for BadRun {}

impl Saved {
    /// A counterexample that was found within these bounds.
    pub fn of(
        program: &Program,
        options: &Options,
        consts: &BTreeMap<String, i32>,
        found: &Counterexample,
    ) -> Saved {
        let (mode, circle) = match found.kind {
            ViolationKind::Waits(guarantee) => (Mode::Progress(guarantee), None),
            ViolationKind::NoProgress { guarantee, repeats, .. } => {
                (Mode::Progress(guarantee), Some(repeats))
            }
            _ => (Mode::Refinement, None),
        };
        let options = Options { reductions: found.reductions, mode, ..options.clone() };
        let object = program.name.clone();
        Saved { object, options, consts: consts.clone(), moves: found.moves.clone(), circle }
    }

    /// Takes the moves once more and judges them anew.
    pub fn replay(&self, program: &Program) -> Result<Replay, Diagnostic> {
        let Mode::Progress(guarantee) = self.options.mode else {
            return replay(program, &self.options, &self.moves);
        };
        replay_progress(program, &self.options, &self.moves, (guarantee, self.circle))
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        let Options { threads, values, keys, nodes, capacity, client, reductions, .. } =
            &self.options;
        let object = &self.object;
        let mut out =
            format!("{HEAD}\nobject {object}\nthreads {threads}\nvalues {values}\nkeys {keys}\n");
        let Options { memory, operations, lag, .. } = &self.options;
        let bounds =
            [("nodes", nodes), ("capacity", capacity), ("operations", operations), ("lag", lag)];
        for (name, bound) in bounds {
            if let Some(bound) = bound {
                let _ = writeln!(out, "{name} {bound}");
            }
        }
        if let Some(client) = client {
            let _ = writeln!(out, "client {client}");
        }
        if let Some(memory) = memory {
            let _ = writeln!(out, "memory {}", memory.text());
        }
        if let Some(clients) = self.options.synchronise {
            let _ = writeln!(out, "synchronise {}", clients.text());
        }
        for (name, value) in &self.consts {
            let _ = writeln!(out, "set {name} {value}");
        }
        if let Mode::Progress(guarantee) = self.options.mode {
            let _ = writeln!(out, "progress {}", guarantee.property());
        }
        if let Some(circle) = self.circle {
            let _ = writeln!(out, "circle {circle}");
        }
        out += "joined";
        let switches = [
            ("fusion", reductions.fusion),
            ("lock-movers", reductions.lock_movers),
            ("lock-nesting", reductions.lock_nesting),
        ];
        switches.iter().filter(|(_, on)| *on).for_each(|(name, _)| {
            let _ = write!(out, " {name}");
        });
        out.push('\n');
        let kept = forgetting(reductions).filter(|(_, on)| !on).map(|(name, _)| name);
        let kept: Vec<&str> = kept.collect();
        if !kept.is_empty() {
            let _ = writeln!(out, "without {}", kept.join(" "));
        }
        for Move { thread, choices, waits } in &self.moves {
            let _ = write!(out, "{} {thread}", if *waits { "wait" } else { "move" });
            choices.iter().for_each(|choice| {
                let _ = write!(out, " {choice}");
            });
            out.push('\n');
        }
        out
    }

    /// Reads the text of a file.
    pub fn parse(text: &str) -> Result<Saved, BadRun> {
        let joined = Reductions {
            fusion: false,
            lock_movers: false,
            lock_nesting: false,
            ..Reductions::ALL
        };
        let options = Options { reductions: joined, ..Options::default() };
        let object = String::new();
        let mut saved =
            Saved { object, options, consts: BTreeMap::new(), moves: vec![], circle: None };
        for (number, line) in text.lines().enumerate() {
            let bad = |expected| BadRun { line: number + 1, expected };
            if number == 0 {
                (line == HEAD).then_some(()).ok_or_else(|| bad("`seriatim run 1`"))?;
                continue;
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            saved.line(&words).map_err(bad)?;
        }
        if text.is_empty() {
            return Err(BadRun { line: 1, expected: "`seriatim run 1`" });
        }
        if saved.object.is_empty() {
            let line = text.lines().count();
            return Err(BadRun { line, expected: "a line `object` before the end" });
        }
        // On weak memory there may be more, and the line that says so may come later.
        if saved.options.memory.is_none() && !MOST_THREADS.contains(&saved.options.threads) {
            let mut lines = text.lines().map(|line| line.split_whitespace().next());
            let place = lines.position(|word| word == Some("threads")).unwrap_or(0);
            return Err(BadRun { line: place + 1, expected: "1 to 6 threads" });
        }
        Ok(saved)
    }

    fn line(&mut self, words: &[&str]) -> Result<(), &'static str> {
        let options = &mut self.options;
        let number = |word: &str| word.parse::<u32>().map_err(|_| "a number");
        match words {
            [] => {}
            ["object", name] => self.object = (*name).to_string(),
            ["threads", n] => options.threads = within(number(n)?, THREADS)?,
            ["values", n] => options.values = within(number(n)?, VALUES)?,
            ["keys", n] => options.keys = within(number(n)?, KEYS)?,
            ["nodes", n] => options.nodes = Some(number(n)?),
            ["capacity", n] => options.capacity = Some(number(n)?),
            ["operations", n] => options.operations = Some(number(n)?),
            ["lag", n] => options.lag = Some(number(n)?),
            ["memory", name] => {
                let model = MemoryModel::named(name).ok_or("`sc`, `tso` or `rc20`")?;
                options.memory = Some(model);
            }
            ["synchronise", what] => {
                let clients = Synchronise::named(what);
                let clients = clients.ok_or("`nothing`, `everything` or `anything`")?;
                options.synchronise = Some(clients);
            }
            ["client", name] => options.client = Some((*name).to_string()),
            ["set", name, value] => {
                let value = value.parse().map_err(|_| "a number")?;
                self.consts.insert((*name).to_string(), value);
            }
            ["progress", name] => {
                let guarantee = Guarantee::named(name).ok_or("a guarantee of progress")?;
                options.mode = Mode::Progress(guarantee);
            }
            ["circle", n] => self.circle = Some(number(n)? as usize),
            ["joined", rest @ ..] => {
                for word in rest {
                    match *word {
                        "fusion" => options.reductions.fusion = true,
                        "lock-movers" => options.reductions.lock_movers = true,
                        "lock-nesting" => options.reductions.lock_nesting = true,
                        _ => return Err("`fusion`, `lock-movers` or `lock-nesting`"),
                    }
                }
            }
            ["without", rest @ ..] => {
                for word in rest {
                    match *word {
                        "dead-registers" => options.reductions.dead_registers = false,
                        "dead-fields" => options.reductions.dead_fields = false,
                        "heap-symmetry" => options.reductions.heap_symmetry = false,
                        _ => return Err("`dead-registers`, `dead-fields` or `heap-symmetry`"),
                    }
                }
            }
            [kind @ ("move" | "wait"), thread, choices @ ..] => {
                let thread = number(thread)? as usize;
                let choices = choices.iter().map(|c| number(c)).collect::<Result<_, _>>()?;
                self.moves.push(Move { thread, choices, waits: *kind == "wait" });
            }
            _ => {
                return Err("an object, a bound, a constant, `progress`, `circle`, `joined`, \
                            `without`, `move` or `wait`");
            }
        }
        Ok(())
    }
}

/// The reductions that decide which nodes are alive, and so which moves the bound on them allows.
fn forgetting(reductions: &Reductions) -> impl Iterator<Item = (&'static str, bool)> {
    let Reductions { dead_registers, dead_fields, heap_symmetry, .. } = *reductions;
    let all = [
        ("dead-registers", dead_registers),
        ("dead-fields", dead_fields),
        ("heap-symmetry", heap_symmetry),
    ];
    all.into_iter()
}

/// A number that the explorer takes for a bound; otherwise what it would take.
fn within(number: u32, allowed: Allowed) -> Result<u32, &'static str> {
    if allowed.range.contains(&number) { Ok(number) } else { Err(allowed.expected) }
}
