//! The verdict on a composition.
//!
//! *Decided*: whether, for every strictly sorted list and all arguments, every run of the
//! composition returns results that some linearization explains and leaves the elements (and, for
//! the second verdict, the list) of that linearization. *Yes* rests on the soundness of the
//! abstraction (see `docs/lists.md`): every concrete run has an abstract one with the same calls,
//! returns, final members and losses; a second opinion without it looks at short lists
//! ([`crate::opinion`]). *No* rests on a concrete run. If the abstract search finds a violation and
//! no concrete run does, the answer is *unknown*. *Cost*: the abstract states are finitely many;
//! two operations: thousands, three: millions.

use crate::cases::{Case, Input, cases};
use crate::class::Refusal;
use crate::composition::{Composition, all_compositions};
use crate::monitor::Monitor;
use crate::movers::Reductions;
use crate::normal::Mode;
use crate::opinion::{Opinion, on_short_lists};
use crate::oracle::Findings;
use crate::replay::{Counterexample, Effort, Witnesses, confirm};
use crate::search::{Plan, Searched, search};
use crate::subject::{Code, Subject};
use seriatim_lang::program::Program;
use seriatim_limits::{Cancel, Instant, Reason as Stop, Stopped};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// How to decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// What is assumed about the list at the start.
    pub input: Input,
    /// The largest number of abstract states of one case.
    pub max_states: u64,
    /// How far to look for a concrete run of a violation.
    pub effort: Effort,
    /// How to save states.
    pub reductions: Reductions,
    /// How long the second opinion may take.
    pub opinion: Opinion,
}

impl Default for Options {
    fn default() -> Options {
        let effort = Effort { nodes: 4, states: 2_000_000, steps: 200_000 };
        Options {
            input: Input::Unmarked,
            max_states: 20_000_000,
            effort,
            reductions: Reductions::default(),
            opinion: Opinion::default(),
        }
    }
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// There are more abstract states than allowed.
    TooManyStates,
    /// Somebody asked to stop.
    Stopped(Stop),
    /// The abstraction found a violation that no concrete run within the effort shows.
    NotReplayed,
    /// A number goes beyond what is represented, and the program declares no bounds for it.
    Numbers,
    /// The abstraction found nothing wrong, but there is a short list on which something goes
    /// wrong: a defect of this engine.
    Contradicted,
}

impl Reason {
    /// The reason as words.
    pub fn text(self) -> &'static str {
        match self {
            Reason::Stopped(reason) => reason.text(),
            Reason::TooManyStates => "there are too many abstract states",
            Reason::NotReplayed => "no concrete run shows what the abstract search found",
            Reason::Numbers => "a number goes beyond those that are represented",
            Reason::Contradicted => {
                "internal error: a second opinion found a short list on which something goes wrong; \
                 please report this"
            }
        }
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It holds for every list.
    Holds,
    /// It does not: a concrete run.
    Fails(Box<Counterexample>),
    /// Nobody knows.
    Unknown(Reason),
}

impl Verdict {
    /// The answer as one word.
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Fails(_) => "fails",
            Verdict::Unknown(_) => "unknown",
        }
    }
}

/// What was found out about a composition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The composition.
    pub composition: Composition,
    /// What was assumed about the list.
    pub input: Input,
    /// Whether results and elements are those of a linearization.
    pub elements: Verdict,
    /// Whether, in addition, the list at the end is the sorted list of its elements, nothing
    /// marked; not asked if nodes may be marked at the start.
    pub list: Option<Verdict>,
    /// How many abstract states there are, over all cases.
    pub states: u64,
    /// How many steps between them.
    pub transitions: u64,
    /// How many cases (orders of the arguments, and which of them are in the list).
    pub cases: u64,
    /// A concrete run that ends with threads that wait for each other for ever, if an abstract one
    /// led to it (no matter of linearizability). The abstraction is not made for waiting: without a
    /// run nothing is known.
    pub deadlock: Option<Box<Counterexample>>,
    /// On how many short lists the second opinion found nothing wrong either.
    pub confirmed_on: u64,
}

/// Decides a composition of methods of a program. It ends as soon as the request by which the work
/// of this thread can be left is raised.
///
/// ```
/// # let source = include_str!("../../../algorithms/harris_michael.seri");
/// let program = seriatim_lang::check(source).unwrap();
/// let both = seriatim_lists::parse_composition("add || contains").unwrap();
/// let outcome = seriatim_lists::decide(&program, &both, &Default::default()).unwrap();
/// assert_eq!(outcome.elements, seriatim_lists::Verdict::Holds);
/// ```
pub fn decide(
    program: &Program,
    composition: &Composition,
    options: &Options,
) -> Result<Outcome, Refusal> {
    let code = Arc::new(Code::new(program, composition, options.reductions)?);
    let plain = Arc::new(Code::new(program, composition, Reductions::NONE)?);
    if options.input == Input::Marked && code.shape.mark.is_none() {
        let span = program.file.object.as_ref().map(|o| o.name.span).unwrap_or_default();
        return Err(Refusal::new(span, "the list cannot be marked: nodes have no mark"));
    }
    let mut outcome = Outcome {
        composition: composition.clone(),
        input: options.input,
        elements: Verdict::Holds,
        list: (options.input == Input::Unmarked).then_some(Verdict::Holds),
        states: 0,
        transitions: 0,
        cases: 0,
        deadlock: None,
        confirmed_on: 0,
    };
    let (began, request) = (Instant::now(), &Cancel::innermost());
    let cases = cases(composition, options.input);
    let mut next = 0;
    while next < cases.len() && !matches!(outcome.elements, Verdict::Fails(_)) {
        let results = search_cases(&code, &cases[next..], options, request);
        for searched in results {
            let case = &cases[next];
            next += 1;
            let (reduced, plain) =
                (&Subject::new(&code, &case.ranks), &Subject::new(&plain, &case.ranks));
            outcome.judge(Witnesses { reduced, plain }, case, &searched, (options, request))?;
        }
    }
    if outcome.elements == Verdict::Holds {
        let brief = options.opinion.request(began, request);
        let (found, lists) = on_short_lists(&plain, &cases, options.input, &brief);
        outcome.hear(found, lists);
    }
    if let (Some(list), false) = (&mut outcome.list, outcome.elements == Verdict::Holds)
        && !matches!(list, Verdict::Fails(_))
    {
        *list = outcome.elements.clone();
    }
    Ok(outcome)
}

/// Decides every composition of `size` methods in parallel.
pub fn table(program: &Program, size: usize, options: &Options) -> Result<Vec<Outcome>, Refusal> {
    all_compositions(program, size).iter().map(|c| decide(program, c, options)).collect()
}

/// Searches cases on all cores, up to the first one with a violation; the result does not depend on
/// the cores.
fn search_cases(
    code: &Arc<Code>,
    cases: &[Case],
    options: &Options,
    request: &Cancel,
) -> Vec<Searched> {
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get()).min(cases.len());
    let next = AtomicUsize::new(0);
    let last = AtomicUsize::new(cases.len() - 1);
    let results: Mutex<Vec<Option<Searched>>> = Mutex::new(vec![None; cases.len()]);
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::SeqCst);
            if index > last.load(Ordering::SeqCst) {
                return;
            }
            let searched = search_case(code, &cases[index], options, request);
            if searched.elements.is_some() || searched.foreign_key.is_some() {
                last.fetch_min(index, Ordering::SeqCst);
            }
            if let Ok(mut results) = results.lock() {
                results[index] = Some(searched);
            }
        }
    };
    std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    let results = results.into_inner().unwrap_or_default();
    results.into_iter().take(last.into_inner() + 1).flatten().collect()
}

/// Searches a case: on marked lists coarsely at first, which is enough for a *yes*.
fn search_case(code: &Arc<Code>, case: &Case, options: &Options, request: &Cancel) -> Searched {
    let subject = Subject::new(code, &case.ranks);
    let run = |mode| {
        let mut monitor = Monitor::new(subject.operations.clone());
        let mut start = case.state(&subject, &case.any_length(options.input));
        start.configurations = monitor.initial(case.members());
        let plan = Plan { mode, most: options.max_states };
        search(&subject, &mut monitor, &start, plan, request)
    };
    if options.input == Input::Marked {
        let coarse = run(Mode::Coarse);
        if coarse.elements.is_none() {
            return coarse;
        }
    }
    run(Mode::Abstract)
}

fn settle(verdict: &mut Verdict, run: Result<Option<Counterexample>, Stopped>) {
    *verdict = match run {
        Ok(Some(run)) => Verdict::Fails(Box::new(run)),
        Ok(None) => Verdict::Unknown(Reason::NotReplayed),
        Err(Stopped(reason)) => Verdict::Unknown(Reason::Stopped(reason)),
    };
}

impl Outcome {
    /// Takes in what the second opinion says of short lists.
    fn hear(&mut self, found: Findings, lists: u64) {
        self.confirmed_on = lists;
        if found.fails() {
            self.elements = Verdict::Unknown(Reason::Contradicted);
        }
        if let Some(list) = &mut self.list
            && *list == Verdict::Holds
            && found.wrong_list
        {
            *list = Verdict::Unknown(Reason::Contradicted);
        }
    }

    /// Takes in what a case shows.
    fn judge(
        &mut self,
        subjects: Witnesses,
        case: &Case,
        searched: &Searched,
        (options, request): (&Options, &Cancel),
    ) -> Result<(), Refusal> {
        if let Some(pc) = searched.foreign_key {
            let span = subjects.plain.machine.steps.code[pc.0 as usize].span;
            return Err(Refusal::new(span, "a node is made whose key is no argument"));
        }
        self.states += searched.states;
        self.transitions += searched.transitions;
        self.cases += 1;
        if searched.exhausted {
            self.elements = Verdict::Unknown(Reason::TooManyStates);
        }
        if let Some(reason) = searched.stopped {
            self.elements = Verdict::Unknown(Reason::Stopped(reason));
        }
        if searched.cut {
            self.elements = Verdict::Unknown(Reason::Numbers);
        }
        let run = |found| {
            let confirm = || confirm(subjects, case, options.input, found, options.effort);
            request.patient().during(confirm)
        };
        if let (None, Some(found)) = (&self.deadlock, &searched.deadlock) {
            self.deadlock = run(found).ok().flatten().map(Box::new);
        }
        if let Some(found) = &searched.elements {
            settle(&mut self.elements, run(found));
        }
        if let (Some(list), Some(found)) = (&mut self.list, &searched.list)
            && !matches!(list, Verdict::Fails(_))
        {
            settle(list, run(found));
        }
        Ok(())
    }
}
