//! What an exploration says, claim by claim.

use crate::options::{LAG, MemoryModel, Mode, Options};
use crate::outcome::{Cuts, Outcome, Reason, Verdict, ViolationKind};
use crate::trace::headline;
use seriatim_lang::machine::Fault;
use seriatim_lang::range::Range;
use seriatim_spec::answer::{Answer, Cost, Evidence, Property, Scope, Standing};

impl ViolationKind {
    /// The property that a run of this kind contradicts.
    pub fn property(self) -> Property {
        match self {
            ViolationKind::NotLinearizable | ViolationKind::WrongPoint => Property::Linearizable,
            ViolationKind::Fault(Fault::OutOfRange) => Property::InRange,
            ViolationKind::Fault(_) => Property::FaultFree,
            ViolationKind::Deadlock => Property::DeadlockFree,
            ViolationKind::Waits(guarantee) | ViolationKind::NoProgress { guarantee, .. } => {
                guarantee.property()
            }
        }
    }
}

impl Outcome {
    /// The claims that follow. An exploration ends at the first run that contradicts one of them,
    /// and says nothing of the others then.
    pub fn answer(&self) -> Answer {
        let statistics = &self.statistics;
        let cost = Cost {
            time: statistics.time,
            states: statistics.kept,
            steps: statistics.transitions,
            bytes: statistics.state_bytes,
        };
        Answer::new(cost, |property| self.standing(property))
    }

    /// The runs that it is about.
    pub fn scope(&self) -> Scope {
        let cut = cut_words(&self.statistics.cuts, &self.options);
        Scope { threads: Some(self.threads), words: self.bounds.clone(), cut }
    }

    fn standing(&self, property: Property) -> Standing {
        let weak = self.options.memory.is_some_and(|model| model != MemoryModel::Sc);
        let waits = property == Property::DeadlockFree;
        let asked = asks(self.options.mode, property) && !(weak && waits);
        match &self.verdict {
            Verdict::Violation(run) if run.kind.property() == property => {
                let (how, run) = (headline(run), Some(Box::new(run.run())));
                Standing::Violated { scope: self.scope(), how, run }
            }
            _ if !asked => Standing::NotAsked,
            Verdict::Violation(_) => {
                Standing::NotAnswered("the search ended at the run that is shown".to_owned())
            }
            Verdict::Unknown(reason) => Standing::Unknown(reason.text() + &self.covered(reason)),
            Verdict::Holds => {
                let (states, steps) = (self.statistics.kept, self.statistics.transitions);
                let evidence = Evidence::Exploration { states, steps };
                Standing::Holds { scope: self.scope(), evidence }
            }
        }
    }
}

impl Outcome {
    /// How far a search came that a limit ended, as words: it goes level by level, so that all runs
    /// up to some length were looked at. Their steps are those that the reductions leave; of
    /// progress they say nothing.
    fn covered(&self, reason: &Reason) -> String {
        let is_limit =
            matches!(reason, Reason::Time | Reason::Memory | Reason::Interrupted | Reason::States);
        if self.options.hash_compaction && (is_limit || *reason == Reason::HashCompaction) {
            return format!("; {}", missed(self.statistics.kept));
        }
        let by_level = matches!(self.options.mode, Mode::Refinement | Mode::Points | Mode::Compat);
        match self.statistics.depth {
            0 => String::new(),
            _ if !is_limit || !by_level => String::new(),
            depth => format!("; all runs of up to {depth} steps were covered"),
        }
    }
}

/// What hash compaction says of so many states, as words. Two of them have one hash with a
/// probability of about `n²/2⁶⁵`.
fn missed(states: u64) -> String {
    let chance = (states as f64).powi(2) / 2f64.powi(65);
    let chance = match chance {
        0.1.. => "considerable".to_owned(),
        _ => format!("about {chance:.0e}"),
    };
    let noun = if states == 1 { "state" } else { "states" };
    format!("no violation in {states} {noun}, hash compaction, chance of a missed state {chance}")
}

/// Whether an exploration of this mode decides a property.
fn asks(mode: Mode, property: Property) -> bool {
    match mode {
        Mode::Progress(guarantee) => property == guarantee.property(),
        Mode::Refinement | Mode::Points | Mode::Compat => !property.is_progress(),
    }
}

/// Which bounds cut off a run, as words.
fn cut_words(cuts: &Cuts, options: &Options) -> Vec<String> {
    let Range { low, high, .. } = Range::plain();
    let bound = |bound: Option<u32>| bound.map_or(String::new(), |n| format!("more than {n} "));
    let lag = Some(options.lag.unwrap_or(LAG));
    let words = [
        (cuts.nodes, format!("runs that need {}nodes alive were cut", bound(options.nodes))),
        (cuts.capacity, format!("runs that add {}nodes were cut", bound(options.capacity))),
        (cuts.numbers, format!("numbers beyond {low}..{high} were not explored")),
        (
            cuts.lag,
            format!("runs in which {}values of a word can still be seen were cut", bound(lag)),
        ),
        (cuts.data, "calls that need a datum were cut, since there is none".to_owned()),
    ];
    words.into_iter().filter(|(cut, _)| *cut).map(|(_, words)| words).collect()
}

impl Reason {
    /// The reason as words.
    pub fn text(&self) -> String {
        match self {
            Reason::Time => "the time limit was reached".to_owned(),
            Reason::Memory => "the memory limit was reached".to_owned(),
            Reason::Interrupted => "it was interrupted".to_owned(),
            Reason::States => "the limit on states was reached".to_owned(),
            Reason::Nodes => "a state has too many nodes; give --nodes or --capacity".to_owned(),
            Reason::Lag => "threads can still see too many values of a word; give --lag".to_owned(),
            Reason::Specification(defect) => format!("the specification is wrong: {defect}"),
            Reason::Unsupported(why) => why.clone(),
            Reason::Disagreement(why) => format!(
                "the second opinion contradicts the search: {why}; this is a defect of Seriatim, \
                 please report it with the file and the bounds"
            ),
            Reason::HashCompaction => "some states may have been missed".to_owned(),
            Reason::Internal => {
                "a worker failed, which is a defect of Seriatim: please report it".to_owned()
            }
        }
    }
}
