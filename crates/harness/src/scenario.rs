//! Scenarios: which thread calls what. They are drawn at random, shrunk when they fail, and written
//! in one line that can be read back:
//!
//! ```text
//! push(1) >> pop() ; push(2) | pop() >> pop()
//! ```
//!
//! Before the first `>>` stands what the main thread does before the others start, after the second
//! one what it does when they are done; in between the threads, separated by `|`, each with its
//! calls.

use crate::generator::Draw;
use crate::random::Random;
use crate::subject::{Blocking, Caller, Subject};
use seriatim_history::Value;
use std::fmt::Write;

/// An operation of a test, by its place in the declaration.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct KindId(pub u32);

impl KindId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One call.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Step {
    pub kind: KindId,
    pub arg: Option<Value>,
}

/// Which thread calls what.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Scenario {
    pub before: Vec<Step>,
    pub threads: Vec<Vec<Step>>,
    pub after: Vec<Step>,
    /// The operation that the main thread calls at the end until there is nothing more to get.
    pub drain: Option<KindId>,
}

/// How large a scenario is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub threads: usize,
    pub calls: usize,
    pub before: usize,
    pub after: usize,
}

impl Scenario {
    /// The number of calls of the threads.
    pub fn parallel(&self) -> usize {
        self.threads.iter().map(Vec::len).sum()
    }

    /// The number of calls, without those that drain.
    pub fn len(&self) -> usize {
        self.before.len() + self.parallel() + self.after.len()
    }

    /// The parts in the order in which they are written.
    pub fn parts(&self) -> impl Iterator<Item = &Vec<Step>> {
        [&self.before].into_iter().chain(&self.threads).chain([&self.after])
    }

    /// The parts, to be changed.
    pub fn parts_mut(&mut self) -> impl Iterator<Item = &mut Vec<Step>> {
        [&mut self.before].into_iter().chain(&mut self.threads).chain([&mut self.after])
    }

    /// A scenario at random.
    pub fn draw(subject: &dyn Subject, shape: Shape, random: Random) -> Scenario {
        Drawing::new(subject, random).scenario(shape, |drawing| drawing.threads(shape))
    }

    /// A scenario at random in which some threads wait for the others.
    pub fn draw_waiting(subject: &dyn Subject, shape: Shape, random: Random) -> Scenario {
        let mut drawing = Drawing::new(subject, random);
        // What comes first may be what they wait for.
        let before = if drawing.draw.random().below(4) == 0 { shape.before } else { 0 };
        let shape = Shape { before, ..shape };
        drawing.scenario(shape, |drawing| drawing.threads_that_wait(shape))
    }

    /// The scenario in one line.
    pub fn to_line(&self, subject: &dyn Subject) -> String {
        let mut line = String::new();
        let calls = |line: &mut String, steps: &[Step]| {
            for (index, step) in steps.iter().enumerate() {
                line.push_str(if index == 0 { "" } else { " ; " });
                line.push_str(&step.text(subject));
            }
        };
        calls(&mut line, &self.before);
        line.push_str(" >> ");
        for (index, thread) in self.threads.iter().enumerate() {
            line.push_str(if index == 0 { "" } else { " | " });
            calls(&mut line, thread);
        }
        line.push_str(" >> ");
        calls(&mut line, &self.after);
        if let Some(drain) = self.drain {
            let _ = write!(line, "{}{} *", gap(&self.after), subject.kind(drain).name);
        }
        line.trim().to_owned()
    }

    /// Reads [`to_line`](Scenario::to_line) back; the error says what was expected.
    pub fn from_line(line: &str, subject: &dyn Subject) -> Result<Scenario, String> {
        let parts: Vec<&str> = split(line, ">>");
        let &[before, threads, after] = &parts[..] else {
            return Err(format!("expected `before >> threads >> after`, found `{line}`"));
        };
        let calls = |text: &str| -> Result<Vec<Step>, String> {
            let calls = split(text, ";").into_iter().map(str::trim).filter(|call| !call.is_empty());
            calls.map(|call| Step::from_text(call, subject)).collect()
        };
        let mut after: Vec<&str> = split(after, ";").into_iter().map(str::trim).collect();
        let mut drain = None;
        if let Some(name) = after.last().and_then(|last| last.strip_suffix('*')) {
            drain = Some(find(name.trim(), subject)?);
            after.pop();
        }
        let scenario = Scenario {
            before: calls(before)?,
            threads: split(threads, "|").into_iter().map(calls).collect::<Result<_, _>>()?,
            after: calls(&after.join(";"))?,
            drain,
        };
        let wrong = |(caller, step): &(Caller, &Step)| !step.may_be_called(subject, *caller);
        if let Some((_, step)) = scenario.steps().find(wrong) {
            return Err(format!("`{}` is called by a thread that must not", step.text(subject)));
        }
        Ok(scenario)
    }

    /// All calls with their callers.
    pub fn steps(&self) -> impl Iterator<Item = (Caller, &Step)> {
        let main = self.before.iter().chain(&self.after).map(|step| (Caller::Main, step));
        let threads = self.threads.iter().enumerate();
        let threads = threads.flat_map(|(thread, steps)| {
            steps.iter().map(move |step| (Caller::Thread(thread), step))
        });
        main.chain(threads)
    }

    /// With some of the calls only, named by their callers and their numbers among the caller's.
    pub fn only(&self, wanted: impl Fn(Caller, usize) -> bool) -> Scenario {
        let keep = |caller, steps: &[Step], first: usize| -> Vec<Step> {
            let places = steps.iter().enumerate();
            let kept = places.filter(|(place, _)| wanted(caller, first + place));
            kept.map(|(_, step)| step.clone()).collect()
        };
        let threads = self.threads.iter().enumerate();
        Scenario {
            before: keep(Caller::Main, &self.before, 0),
            threads: threads.map(|(at, steps)| keep(Caller::Thread(at), steps, 0)).collect(),
            after: keep(Caller::Main, &self.after, self.before.len()),
            drain: self.drain,
        }
    }

    /// Without the threads that call nothing, as far as the numbers of the others stay right.
    pub fn tidied(mut self, subject: &dyn Subject) -> Scenario {
        match subject.binds_threads() {
            false => self.threads.retain(|steps| !steps.is_empty()),
            true => {
                let used = self.threads.iter().rposition(|steps| !steps.is_empty());
                self.threads.truncate(used.map_or(0, |last| last + 1));
            }
        }
        self
    }
}

fn gap(after: &[Step]) -> &'static str {
    if after.is_empty() { "" } else { " ; " }
}

impl Step {
    /// The call as text: `push(1)`.
    pub fn text(&self, subject: &dyn Subject) -> String {
        call_text(&subject.kind(self.kind).name, self.arg.as_ref())
    }

    /// Whether somebody may call it.
    pub fn may_be_called(&self, subject: &dyn Subject, caller: Caller) -> bool {
        subject.kind(self.kind).callers.admits(caller)
    }

    fn from_text(text: &str, subject: &dyn Subject) -> Result<Step, String> {
        let call = text.strip_suffix(')').and_then(|call| call.split_once('('));
        let (name, arg) = call.ok_or_else(|| format!("expected a call, found `{text}`"))?;
        let kind = find(name, subject)?;
        let arg = match arg.trim() {
            "" => None,
            arg => Some(argument(arg).ok_or_else(|| format!("expected a value, found `{arg}`"))?),
        };
        match subject.accepts(kind, arg.as_ref()) {
            true => Ok(Step { kind, arg }),
            false => Err(format!("`{text}`: the operation does not take this argument")),
        }
    }
}

/// A call as histories print it: a pair as two arguments.
pub(crate) fn call_text(name: &str, arg: Option<&Value>) -> String {
    match arg {
        None => format!("{name}()"),
        Some(Value::List(items)) if items.len() == 2 => {
            format!("{name}({}, {})", items[0], items[1])
        }
        Some(arg) => format!("{name}({arg})"),
    }
}

/// Reads an argument as [`call_text`] prints it, several of them as a list.
fn argument(text: &str) -> Option<Value> {
    let parts = split(text, ",");
    match parts.len() {
        1 => value(text),
        _ => parts.into_iter().map(value).collect::<Option<Vec<_>>>().map(Value::list),
    }
}

fn find(name: &str, subject: &dyn Subject) -> Result<KindId, String> {
    let position = subject.kinds().iter().position(|kind| *kind.name == *name);
    let kind = position.map(|index| KindId(index as u32));
    kind.ok_or_else(|| format!("the test has no operation `{name}`"))
}

/// Splits at a separator, except in strings and brackets.
fn split<'t>(text: &'t str, separator: &str) -> Vec<&'t str> {
    let (mut parts, mut start, mut depth, mut quoted, mut escaped) =
        (vec![], 0, 0_i32, false, false);
    for (place, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '[' | '(' | '{' if !quoted => depth += 1,
            ']' | ')' | '}' if !quoted => depth -= 1,
            _ if !quoted
                && depth == 0
                && place >= start
                && text[place..].starts_with(separator) =>
            {
                parts.push(&text[start..place]);
                start = place + separator.len();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// A value as [`Value`] prints it: numbers, booleans, nil, strings, lists.
fn value(text: &str) -> Option<Value> {
    let text = text.trim();
    match text {
        "nil" => return Some(Value::Nil),
        "true" => return Some(Value::Bool(true)),
        "false" => return Some(Value::Bool(false)),
        _ => {}
    }
    if let Some(items) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let items = split(items, ",").into_iter().filter(|item| !item.trim().is_empty());
        return items.map(value).collect::<Option<Vec<_>>>().map(Value::list);
    }
    if let Some(inner) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        return unescaped(inner).map(|text| Value::text(&text));
    }
    if let Ok(number) = text.parse() {
        return Some(Value::Int(number));
    }
    text.parse::<i128>().is_ok().then(|| Value::Number(text.into()))
}

/// Undoes what `{:?}` of a string does.
fn unescaped(text: &str) -> Option<String> {
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        plain.push(match character {
            '\\' => match characters.next()? {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                '0' => '\0',
                'u' => {
                    let code: String =
                        characters.by_ref().skip(1).take_while(|&c| c != '}').collect();
                    char::from_u32(u32::from_str_radix(&code, 16).ok()?)?
                }
                other => other,
            },
            other => other,
        });
    }
    Some(plain)
}

struct Drawing<'s> {
    subject: &'s dyn Subject,
    draw: Draw,
    used: Vec<KindId>,
    role: Role,
}

/// Which operations a thread is to call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Any,
    /// Those that may wait.
    Waits,
    /// Those that may not.
    Wakes,
    /// One of them.
    Only(KindId),
}

impl<'s> Drawing<'s> {
    fn new(subject: &'s dyn Subject, random: Random) -> Self {
        Drawing { subject, draw: Draw::new(random), used: Vec::new(), role: Role::Any }
    }

    fn scenario(
        mut self,
        shape: Shape,
        threads: impl FnOnce(&mut Self) -> Vec<Vec<Step>>,
    ) -> Scenario {
        let before = self.calls(Caller::Main, shape.before);
        let threads = threads(&mut self);
        let after = self.calls(Caller::Main, shape.after);
        Scenario { before, threads, after, drain: None }
    }

    fn calls(&mut self, caller: Caller, count: usize) -> Vec<Step> {
        (0..count).map_while(|_| self.step(caller)).collect()
    }

    fn threads(&mut self, shape: Shape) -> Vec<Vec<Step>> {
        let threads = 0..shape.threads;
        threads.map(|thread| self.calls(Caller::Thread(thread), shape.calls)).collect()
    }

    /// All threads but one, or only one, make a call that may wait; the others make as many that
    /// could wake them, most of the time all of one kind.
    fn threads_that_wait(&mut self, shape: Shape) -> Vec<Vec<Step>> {
        let all_but_one = self.draw.random().below(4) > 0;
        let mut waiters = if all_but_one { shape.threads.saturating_sub(1) } else { 1 };
        let calls = shape.calls.max(waiters);
        let mut threads = Vec::new();
        for caller in (0..shape.threads).map(Caller::Thread) {
            self.role = if waiters > 0 { Role::Waits } else { Role::Wakes };
            let mut steps = self.calls(caller, 1);
            match (waiters > 0, steps.first()) {
                (true, Some(_)) => waiters -= 1,
                (_, first) => {
                    let same = first.filter(|_| self.draw.random().below(4) > 0);
                    self.role = same.map_or(Role::Wakes, |step| Role::Only(step.kind));
                    let more = self.calls(caller, calls - steps.len());
                    steps.extend(more);
                }
            }
            threads.push(steps);
        }
        self.role = Role::Any;
        threads
    }

    fn may_wait(&self, kind: KindId) -> bool {
        !matches!(self.subject.kind(kind).blocking, Blocking::Never)
    }

    fn step(&mut self, caller: Caller) -> Option<Step> {
        let weights: Vec<u64> = self.kinds().map(|kind| self.weight(kind, caller)).collect();
        let total: u64 = weights.iter().sum();
        if total == 0 {
            return None;
        }
        let mut luck = self.draw.random().below(total);
        let place = weights.iter().position(|&weight| {
            let hit = luck < weight;
            luck = luck.saturating_sub(weight);
            hit
        });
        let kind = KindId(place? as u32);
        self.used.push(kind);
        let arg = self.subject.draw(kind, &mut self.draw);
        Some(Step { kind, arg })
    }

    fn kinds(&self) -> impl Iterator<Item = KindId> + use<> {
        (0..self.subject.kinds().len() as u32).map(KindId)
    }

    /// How often a caller is to call an operation; 0 if it must not.
    fn weight(&self, id: KindId, caller: Caller) -> u64 {
        let kind = self.subject.kind(id);
        let allowed = match caller {
            Caller::Main => matches!(kind.blocking, Blocking::Never),
            Caller::Thread(_) => true,
        };
        let fits = match self.role {
            Role::Any => true,
            Role::Waits => self.may_wait(id),
            Role::Wakes => !self.may_wait(id),
            Role::Only(kind) => kind == id,
        };
        let allowed = allowed && fits && kind.callers.admits(caller);
        let same = |used: &&KindId| self.subject.kind(**used).method == kind.method;
        let used = self.used.iter().filter(same).count();
        if allowed && used < kind.at_most { u64::from(kind.weight) } else { 0 }
    }
}
