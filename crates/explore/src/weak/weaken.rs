//! Which orderings of an algorithm are needed, and what breaks without each.
//!
//! Every ordering is tried weaker by itself. It is *needed* if no weaker one holds within the
//! bounds; a run shows what breaks with the next weaker one, accepted by the axioms as the run of
//! any violation. Then one minimum is looked for, greedily: in the order of the source each
//! ordering becomes the weakest that holds together with those before it. Minima are not unique;
//! this is one. What holds with weaker orderings holds with stronger ones, so no ordering of the
//! minimum can be weakened alone, unless a weaker one was not decided: that is said
//! ([`Weakened::is_minimal`]). The module `minima` finds all of them.
//!
//! *What need not be explored.* A choice that is nowhere stronger than one that fails, fails: each
//! of its runs is a run of the weaker one. So the search for the minimum leaves out what was seen to
//! fail alone ([`Trial::minimum`]). That a stronger choice holds is not concluded, only of the same one
//! (`lag` is a bound on what threads may still see, and stronger orderings take runs into it).
//!
//! *On x86* most orderings are the same: a load, an update and whatever is weaker than `seqcst` is
//! the instruction that it would be with any other ordering. So choices that ask for `seqcst` at the
//! same stores and fences are one program there ([`on_x86`]), and it is explored once. What asks for
//! it at more of them has fewer runs: memory may take a write at any time, also where it has to. So
//! the programs that ask least come first, and what holds there, without a cut, holds above
//! ([`Trial::all_on_x86`]).
//!
//! *Side by side.* Explorations share nothing, so several run at once (`side_by_side`), each within a
//! share of the memory; one for which that does not suffice is repeated by itself. Verdicts do not
//! depend on how many run at once.
//!
//! *It would be unsound* to say more than the model: RC20 has no load buffering, so that an access
//! that does not acquire and is followed by a write is marked ([`Site::relies`]): on ARM it may be
//! wrong.

use super::minima::{Minima, is_at_most, minima};
use super::side_by_side::side_by_side;
use super::{explore_with, model};
use crate::options::{MemoryModel, Options, SecondOpinion, Synchronise};
use crate::outcome::{Counterexample, Outcome, Reason, Statistics, Verdict};
use crate::subject::Subject;
use rustc_hash::FxHashMap;
use seriatim_lang::flow::successors;
use seriatim_lang::steps::{Op, Ordering, Orders, Pc, Root, Steps};
use seriatim_lang::{Diagnostic, Program, Span};
use seriatim_limits::InOrder;
use seriatim_spec::Cancel;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Orderings that stand in the place of those in the source.
pub(crate) type Edits = Vec<(Span, Orders)>;

/// What sort of access has an ordering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteKind {
    /// A read.
    Load,
    /// A write.
    Store,
    /// A read and a write in one.
    Update,
    /// What a `cas` reads if it fails.
    Failure,
    /// A fence; `relaxed` stands for none.
    Fence,
}

/// An ordering in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Where the access stands.
    pub span: Span,
    /// What sort of access it is.
    pub kind: SiteKind,
    /// The ordering that it has.
    pub order: Ordering,
    /// Whether a write may follow, so that without an acquire it relies on there being no load
    /// buffering.
    pub relies: bool,
}

/// What is known of an ordering by itself.
#[derive(Clone, Debug)]
pub enum Alone {
    /// There is no weaker one.
    Weakest,
    /// This weaker one holds, and none that is weaker still.
    MayBe(Ordering),
    /// No weaker one holds: with this one the run goes wrong.
    Needed {
        /// The next weaker ordering.
        with: Ordering,
        /// The run.
        run: Box<Counterexample>,
        /// What it does on x86.
        on_x86: OnX86,
    },
    /// It was not decided.
    Unknown(Reason),
}

/// What an algorithm with an ordering that is too weak does on x86.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnX86 {
    /// It holds, whatever its clients synchronise: no test there can show the error.
    Holds,
    /// It holds for clients that synchronise every call, since their operations have no bound:
    /// tests with such clients cannot show the error. Others may see more: a later call of a thread
    /// may read before an earlier one's writes have left its queue.
    HoldsIfSynchronised,
    /// It fails as well.
    Fails,
    /// It was not decided.
    Unknown,
}

/// An ordering, and what is known of it.
#[derive(Clone, Debug)]
pub struct Weakened {
    /// The ordering.
    pub site: Site,
    /// By itself.
    pub alone: Alone,
    /// In the minimum that was found.
    pub minimum: Ordering,
    /// Whether every weaker one was seen to fail there; else one of them may hold.
    pub is_minimal: bool,
}

/// What is known of all orderings.
#[derive(Clone, Debug)]
pub struct Weakening {
    /// The exploration with the orderings of the source; if it does not hold, nothing else is
    /// known.
    pub base: Outcome,
    /// The orderings, in the order of the source.
    pub sites: Vec<Weakened>,
    /// All minimal choices for them, if they were asked for.
    pub minima: Option<Minima>,
    /// How many explorations there were.
    pub runs: u32,
    /// How many states they had together.
    pub states: u64,
}

/// The orderings of a program.
fn sites(steps: &Steps) -> Vec<Site> {
    let mut found: Vec<Site> = vec![];
    let methods = steps.methods.iter().flat_map(|m| m.entry.0..m.end.0).map(Pc);
    for pc in methods {
        let instr = &steps.code[pc.0 as usize];
        let Orders { access, failure } = instr.orders;
        let kind = match &instr.op {
            Op::Load { .. } => SiteKind::Load,
            Op::Store { .. } => SiteKind::Store,
            Op::Cas { .. } | Op::Swap { .. } | Op::FetchAdd { .. } => SiteKind::Update,
            Op::Fence => SiteKind::Fence,
            _ => continue,
        };
        let plain = instr.op.place().is_some_and(|place| {
            let slots = match &place.root {
                Root::Shared => &steps.shared,
                Root::Node(_, id) => &steps.structs[id.0 as usize].slots,
            };
            slots[place.offset as usize].plain
        });
        if plain || found.iter().any(|site| site.span == instr.span) {
            continue;
        }
        let relies = kind != SiteKind::Store && writes_later(steps, pc);
        found.push(Site { span: instr.span, kind, order: access, relies });
        if let Op::Cas { .. } = &instr.op {
            let kind = SiteKind::Failure;
            found.push(Site { span: instr.span, kind, order: failure, relies });
        }
    }
    found.put_in_order_by_key(|site| site.span.start);
    found
}

/// Whether a write may come after a position in its method.
fn writes_later(steps: &Steps, pc: Pc) -> bool {
    let mut seen = vec![false; steps.code.len()];
    let mut todo = successors(&steps.code[pc.0 as usize].op, pc);
    while let Some(pc) = todo.pop() {
        let op = &steps.code[pc.0 as usize].op;
        if op.place().is_some() && !matches!(op, Op::Load { .. }) {
            return true;
        }
        if !std::mem::replace(&mut seen[pc.0 as usize], true) {
            todo.extend(successors(op, pc));
        }
    }
    false
}

/// How many minima are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// One, greedily.
    One,
    /// All of them.
    All,
}

/// The orderings that are weaker, weakest first.
fn weaker(kind: SiteKind, order: Ordering) -> Vec<Ordering> {
    use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
    let all: &[Ordering] = match kind {
        SiteKind::Load | SiteKind::Failure => &[Relaxed, Acquire, SeqCst],
        SiteKind::Store => &[Relaxed, Release, SeqCst],
        SiteKind::Update | SiteKind::Fence => &[Relaxed, Acquire, Release, AcqRel, SeqCst],
    };
    let below = |o: &Ordering| *o != order && is_at_most(*o, order);
    all.iter().copied().filter(below).collect()
}

/// The second opinion on each of many explorations: who says that an ordering may be weaker has
/// been contradicted by no search without reductions, as far as that came.
const BRIEF: SecondOpinion =
    SecondOpinion { percent: 20, least: Duration::from_millis(10), runs: 0, states: 10_000 };

struct Trial<'t> {
    program: &'t Program,
    options: Options,
    sites: Vec<Site>,
    runs: AtomicU32,
    states: AtomicU64,
}

/// A choice: the ordering of each site.
type Choice = Vec<Ordering>;

/// What x86 sees of a choice.
type X86Program = Vec<bool>;

/// An ordering by itself, before x86 is asked.
struct Single {
    at: usize,
    /// The weaker ones that fail.
    failing: Vec<Ordering>,
    answer: Answer,
}

enum Answer {
    Known(Alone),
    Needed { with: Ordering, run: Box<Counterexample> },
}

impl Single {
    /// The choice with this ordering here.
    fn choice(&self, given: &[Ordering], order: Ordering) -> Choice {
        let mut choice = given.to_vec();
        choice[self.at] = order;
        choice
    }
}

/// Whether a choice is nowhere stronger than another.
fn is_below(choice: &[Ordering], other: &[Ordering]) -> bool {
    choice.iter().zip(other).all(|(weaker, stronger)| is_at_most(*weaker, *stronger))
}

/// Whether an access is another instruction on x86 if it is `seqcst`.
fn waits_on_x86(kind: SiteKind) -> bool {
    matches!(kind, SiteKind::Store | SiteKind::Fence)
}

/// What x86 sees of a choice: which stores and fences are `seqcst`.
fn on_x86(sites: &[Site], orders: &[Ordering]) -> X86Program {
    let choice = sites.iter().zip(orders).filter(|(site, _)| waits_on_x86(site.kind));
    choice.map(|(_, order)| *order == Ordering::SeqCst).collect()
}

/// What an exploration with other orderings says.
struct Tried {
    verdict: Verdict,
    /// Whether runs were left out in which many writes wait.
    is_cut: bool,
    /// What the clients synchronise.
    clients: Synchronise,
}

/// On x86, runs in which more writes of a thread wait are left out, and nothing is said then: a loop
/// that writes and may go round for no reason would fill the queue for ever.
const LONGEST_QUEUE: u32 = 16;

impl Trial<'_> {
    /// The orderings of all sites as edits.
    fn edits(&self, orders: &[Ordering]) -> Edits {
        let mut edits: Edits = vec![];
        for (site, order) in self.sites.iter().zip(orders) {
            match (site.kind, edits.last_mut()) {
                (SiteKind::Failure, Some((span, orders))) if *span == site.span => {
                    orders.failure = *order;
                }
                _ => edits.push((site.span, Orders { access: *order, failure: *order })),
            }
        }
        edits
    }

    /// Explores within so much memory.
    fn explore(
        &self,
        orders: &[Ordering],
        model: MemoryModel,
        memory: usize,
    ) -> Result<Tried, Diagnostic> {
        let mut options = Options { memory: Some(model), ..self.options.clone() };
        options.limits.memory = memory;
        if model == MemoryModel::Tso {
            options.lag = options.lag.or(Some(LONGEST_QUEUE));
            options.synchronise = options.operations.map(|_| Synchronise::Anything);
        }
        if let Some(reason) = Cancel::of_process().reason() {
            // Not even a short look: there may be many.
            let verdict = Verdict::Unknown(reason.into());
            return Ok(Tried { verdict, is_cut: false, clients: options.clients() });
        }
        let edits = self.edits(orders);
        let outcome = explore_with(self.program, &options, &edits, &mut |_: &Statistics| {})?;
        self.runs.fetch_add(1, Relaxed);
        self.states.fetch_add(outcome.statistics.kept, Relaxed);
        let (is_cut, clients) = (outcome.statistics.cuts.lag, outcome.options.clients());
        Ok(Tried { verdict: outcome.verdict, is_cut, clients })
    }

    /// Answers many questions side by side, each within a share of the memory, and then those for
    /// which that did not suffice (`lacks` memory) one by one.
    fn each<Q: Sync, A: Send>(
        &self,
        questions: &[Q],
        ask: impl Fn(&Q, usize) -> Result<A, Diagnostic> + Sync,
        lacks: impl Fn(&A) -> bool,
    ) -> Result<Vec<A>, Diagnostic> {
        let whole = self.options.limits.memory;
        let jobs = self.options.jobs.clamp(1, questions.len().max(1));
        let answers = side_by_side(jobs, questions, |question| ask(question, whole / jobs));
        let again = |(answer, question): (Result<A, Diagnostic>, &Q)| match answer {
            Ok(answer) if jobs > 1 && lacks(&answer) => ask(question, whole),
            answer => answer,
        };
        answers.into_iter().zip(questions).map(again).collect()
    }

    /// What is known of each ordering by itself, and which choices fail.
    fn singles(&self, given: &[Ordering]) -> Result<(Vec<Alone>, Vec<Choice>), Diagnostic> {
        let sites: Vec<usize> = (0..given.len()).collect();
        let lacks = |single: &Single| {
            matches!(single.answer, Answer::Known(Alone::Unknown(Reason::Memory)))
        };
        let singles = self.each(&sites, |at, memory| self.single(*at, given, memory), lacks)?;
        let needed = singles.iter().filter_map(|single| match &single.answer {
            Answer::Needed { with, .. } => Some(on_x86(&self.sites, &single.choice(given, *with))),
            Answer::Known(_) => None,
        });
        let x86 = self.all_on_x86(needed.collect())?;
        let failing = singles
            .iter()
            .flat_map(|single| single.failing.iter().map(|order| single.choice(given, *order)));
        let failing = failing.collect();
        let alone = singles.into_iter().map(|single| match single.answer {
            Answer::Known(alone) => alone,
            Answer::Needed { with, run } => {
                let mut choice = given.to_vec();
                choice[single.at] = with;
                let on_x86 = x86[&on_x86(&self.sites, &choice)];
                Alone::Needed { with, run, on_x86 }
            }
        });
        Ok((alone.collect(), failing))
    }

    /// An ordering by itself, on RC20.
    fn single(&self, at: usize, given: &[Ordering], memory: usize) -> Result<Single, Diagnostic> {
        let mut single = Single { at, failing: vec![], answer: Answer::Known(Alone::Weakest) };
        for order in weaker(self.sites[at].kind, self.sites[at].order) {
            let choice = single.choice(given, order);
            match self.explore(&choice, MemoryModel::Rc20, memory)?.verdict {
                Verdict::Holds => {
                    single.answer = Answer::Known(Alone::MayBe(order));
                    break;
                }
                Verdict::Unknown(reason) => {
                    single.answer = Answer::Known(Alone::Unknown(reason));
                    break;
                }
                Verdict::Violation(run) => {
                    single.failing.push(order);
                    single.answer = Answer::Needed { with: order, run };
                }
            }
        }
        Ok(single)
    }

    /// What programs do on x86: those that ask for least first, and what they settle is not asked.
    fn all_on_x86(
        &self,
        programs: BTreeSet<X86Program>,
    ) -> Result<FxHashMap<X86Program, OnX86>, Diagnostic> {
        let mut known: FxHashMap<X86Program, OnX86> = FxHashMap::default();
        let strength = |program: &X86Program| program.iter().filter(|strong| **strong).count();
        let most = programs.iter().map(strength).max().unwrap_or(0);
        for so_strong in 0..=most {
            let layer = programs.iter().filter(|program| strength(program) == so_strong);
            let (above, open): (Vec<_>, Vec<_>) = layer.partition(|program| {
                let below = |(other, found): (&X86Program, &OnX86)| {
                    *found == OnX86::Holds && other.iter().zip(*program).all(|(a, b)| a <= b)
                };
                known.iter().any(below)
            });
            let found = self.each(
                &open,
                |program, memory| self.on_x86(program, memory),
                |found| *found == OnX86::Unknown,
            )?;
            known.extend(above.into_iter().map(|program| (program.clone(), OnX86::Holds)));
            known.extend(open.into_iter().cloned().zip(found));
        }
        Ok(known)
    }

    /// What a program does on x86.
    fn on_x86(&self, program: &X86Program, memory: usize) -> Result<OnX86, Diagnostic> {
        let mut strong = program.iter();
        let orders: Choice = (self.sites.iter())
            .map(|site| match waits_on_x86(site.kind) && strong.next() == Some(&true) {
                true => Ordering::SeqCst,
                false => Ordering::Relaxed,
            })
            .collect();
        let explored = self.explore(&orders, MemoryModel::Tso, memory)?;
        Ok(match explored.verdict {
            Verdict::Violation(_) => OnX86::Fails,
            Verdict::Unknown(_) => OnX86::Unknown,
            Verdict::Holds if explored.is_cut => OnX86::Unknown,
            Verdict::Holds if explored.clients == Synchronise::Anything => OnX86::Holds,
            Verdict::Holds => OnX86::HoldsIfSynchronised,
        })
    }

    /// One minimum, greedily, and of each ordering of it whether every weaker one was seen to fail.
    fn minimum(
        &self,
        given: Choice,
        alone: &[Alone],
        failing: &[Choice],
    ) -> Result<(Choice, Vec<bool>), Diagnostic> {
        let memory = self.options.limits.memory;
        let mut minimum = given.clone();
        let mut is_minimal = vec![true; given.len()];
        for at in 0..given.len() {
            for order in weaker(self.sites[at].kind, self.sites[at].order) {
                let mut choice = minimum.clone();
                choice[at] = order;
                if failing.iter().any(|fails| is_below(&choice, fails)) {
                    continue;
                }
                let is_known =
                    minimum == given && matches!(alone[at], Alone::MayBe(held) if held == order);
                let verdict = match is_known {
                    true => Verdict::Holds,
                    false => self.explore(&choice, MemoryModel::Rc20, memory)?.verdict,
                };
                match verdict {
                    Verdict::Holds => {
                        minimum = choice;
                        break;
                    }
                    Verdict::Violation(_) => {}
                    Verdict::Unknown(_) => is_minimal[at] = false,
                }
            }
        }
        Ok((minimum, is_minimal))
    }

    /// All minimal choices.
    fn minima(&self) -> Result<Minima, Diagnostic> {
        let ladder = |site: &Site| {
            let mut ladder = weaker(site.kind, site.order);
            ladder.push(site.order);
            ladder
        };
        let memory = self.options.limits.memory;
        let ladders: Vec<Vec<Ordering>> = self.sites.iter().map(ladder).collect();
        minima(&ladders, &mut |choice| {
            Ok(match self.explore(choice, MemoryModel::Rc20, memory)?.verdict {
                Verdict::Holds => Some(true),
                Verdict::Violation(_) => Some(false),
                Verdict::Unknown(_) => None,
            })
        })
    }
}

/// Says of each ordering of a program whether it is needed, within the bounds.
pub fn weaken(
    program: &Program,
    options: &Options,
    wanted: Wanted,
) -> Result<Weakening, Diagnostic> {
    let base = explore_with(
        program,
        &Options { memory: Some(MemoryModel::Rc20), ..options.clone() },
        &vec![],
        &mut |_| {},
    )?;
    debug_assert_eq!(model(program, &base.options), MemoryModel::Rc20);
    let states = base.statistics.kept;
    let mut weakening = Weakening { runs: 1, states, base, sites: vec![], minima: None };
    if !matches!(weakening.base.verdict, Verdict::Holds) {
        return Ok(weakening);
    }
    let subject = Subject::new(program, options)?;
    let options = Options { second_opinion: BRIEF, ..options.clone() };
    let sites = sites(&subject.machine.steps);
    let given: Vec<Ordering> = sites.iter().map(|site| site.order).collect();
    let (runs, states) = (AtomicU32::new(0), AtomicU64::new(0));
    let trial = Trial { program, options, sites, runs, states };
    let (alone, failing) = trial.singles(&given)?;
    let (minimum, is_minimal) = trial.minimum(given, &alone, &failing)?;
    if wanted == Wanted::All {
        weakening.minima = Some(trial.minima()?);
    }
    let found = trial.sites.into_iter().zip(alone).zip(minimum.into_iter().zip(is_minimal));
    let known =
        |((site, alone), (minimum, is_minimal))| Weakened { site, alone, minimum, is_minimal };
    weakening.sites = found.map(known).collect();
    weakening.runs += trial.runs.into_inner();
    weakening.states += trial.states.into_inner();
    Ok(weakening)
}
