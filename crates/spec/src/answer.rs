//! What an engine may say of an algorithm, in the one form that every engine uses and every report
//! draws.
//!
//! An algorithm can be wrong in ways that have nothing to do with each other: an object that is
//! linearizable may deadlock, one that never fails an assertion may lose an element. So an
//! [`Answer`] is a list of [`Claim`]s, one for each [`Property`], and each stands by itself: it
//! holds, within a [`Scope`] and for a reason; it is violated, with a run; it is unknown; or this
//! engine does not speak of it. What follows for the exit code is said here once
//! ([`Answer::exit_code`]), and `docs/answers.md` says it to people.

use crate::run::Run;
use std::fmt;
use std::time::Duration;

/// What can be claimed of an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Property {
    /// Every history is explained by some order of its operations.
    Linearizable,
    /// No step is an error: no failed assertion, no field of null, no index outside of its array,
    /// and so on.
    FaultFree,
    /// No number leaves the bounds that the program declares for it.
    InRange,
    /// Never do all threads stand still, one of them in an operation, where the specification could
    /// go on.
    DeadlockFree,
    /// In every infinite run some operation returns, again and again.
    LockFree,
    /// An operation that goes on alone returns.
    ObstructionFree,
    /// In every fair run some operation returns, again and again, unless the specification blocks.
    LivelockFree,
    /// In every fair run every operation returns, unless the specification blocks it for ever.
    StarvationFree,
}

impl Property {
    /// All of them, in the order in which they are told.
    pub const ALL: [Property; 8] = [
        Property::Linearizable,
        Property::FaultFree,
        Property::InRange,
        Property::DeadlockFree,
        Property::LockFree,
        Property::ObstructionFree,
        Property::LivelockFree,
        Property::StarvationFree,
    ];

    /// Whether it is a guarantee of progress, which is a question of its own.
    pub fn is_progress(self) -> bool {
        self >= Property::LockFree
    }

    /// Whether it is told even where nobody asked.
    fn is_always_told(self) -> bool {
        self <= Property::LockFree
    }

    /// The property in one word.
    pub fn word(self) -> &'static str {
        match self {
            Property::Linearizable => "linearizable",
            Property::FaultFree => "fault-free",
            Property::InRange => "in-range",
            Property::DeadlockFree => "deadlock-free",
            Property::LockFree => "lock-free",
            Property::ObstructionFree => "obstruction-free",
            Property::LivelockFree => "livelock-free",
            Property::StarvationFree => "starvation-free",
        }
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// For which runs a claim stands.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Scope {
    /// How many threads; `None` for any number.
    pub threads: Option<u32>,
    /// All bounds, the threads among them, as words: what the claim is *for*.
    pub words: String,
    /// Which bounds cut off a run, as words; without any, nothing within `words` was left out.
    pub cut: Vec<String>,
}

impl Scope {
    /// Whether it covers any number of threads.
    pub fn is_unbounded(&self) -> bool {
        self.threads.is_none()
    }
}

/// Why a claim holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Every state within the scope was seen.
    Exploration {
        /// How many states.
        states: u64,
        /// How many steps between them.
        steps: u64,
    },
    /// Every state of a sound abstraction was seen.
    Abstraction {
        /// How many abstract states.
        states: u64,
        /// How many cases of arguments and lists.
        cases: u64,
    },
    /// No instruction of the program can wait, so nobody stands still.
    NeverWaits,
    /// Threads wait for locks only, and take them in an order, so nobody waits for ever.
    LockOrder,
    /// A proof whose certificate an independent checker accepted.
    Certificate {
        /// How many views.
        views: usize,
        /// How many effects.
        effects: usize,
        /// The shared variable that holds the abstract state.
        root: String,
    },
}

/// How a claim stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It holds for all runs of the scope.
    Holds {
        /// Which runs.
        scope: Scope,
        /// Why.
        evidence: Evidence,
    },
    /// A run within the scope contradicts it.
    Violated {
        /// Where the run was found.
        scope: Scope,
        /// How the run contradicts it, as words.
        how: String,
        /// The run.
        run: Option<Box<Run>>,
    },
    /// It was asked, and nobody knows; the reason as words.
    Unknown(String),
    /// It was asked, but this engine does not speak of it, or did not come to it; the reason as
    /// words.
    NotAnswered(String),
    /// Nobody asked.
    NotAsked,
}

impl Standing {
    /// The standing in one word or two: `proved`, `holds`, `VIOLATED`, `unknown`, `not answered`,
    /// `not asked`. What holds for any number of threads is *proved*.
    pub fn word(&self) -> &'static str {
        match self {
            Standing::Holds { scope, .. } if scope.is_unbounded() => "proved",
            Standing::Holds { .. } => "holds",
            Standing::Violated { .. } => "VIOLATED",
            Standing::Unknown(_) => "unknown",
            Standing::NotAnswered(_) => "not answered",
            Standing::NotAsked => "not asked",
        }
    }

    /// How much is known, for choosing between two engines.
    fn weight(&self) -> u32 {
        match self {
            Standing::Violated { .. } => u32::MAX,
            Standing::Holds { scope, .. } => 4 + scope.threads.unwrap_or(u32::MAX - 8),
            Standing::Unknown(_) => 2,
            Standing::NotAnswered(_) => 1,
            Standing::NotAsked => 0,
        }
    }

    /// What is known when another engine said this as well. A run that contradicts a proof convicts
    /// one of the engines, not the algorithm.
    #[must_use]
    pub fn and(self, other: Standing) -> Standing {
        let is_proof =
            |s: &Standing| matches!(s, Standing::Holds { scope, .. } if scope.is_unbounded());
        let is_run = |s: &Standing| matches!(s, Standing::Violated { .. });
        if is_proof(&self) && is_run(&other) || is_run(&self) && is_proof(&other) {
            return Standing::Unknown(CONTRADICTION.to_owned());
        }
        if other.weight() > self.weight() { other } else { self }
    }
}

/// What is said where two engines contradict each other.
pub const CONTRADICTION: &str =
    "a proof and a run contradict each other, which is a defect of Seriatim: please report it";

/// Where a proof got stuck. That says nothing about the algorithm: there may be a proof with other
/// means, or a run that goes wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StuckProof {
    /// Why, in words.
    pub obstacle: String,
    /// What would have to be true, so that the proof could go on.
    pub needs: String,
    /// What the abstract state was taken to be.
    pub content: String,
    /// What is known in that place besides memory, one fact a line.
    pub known: Vec<String>,
    /// How the observed thread came there, with what it knows of memory after each step, and the
    /// step that cannot be justified. The other thread stands for all others.
    pub run: Run,
    /// Whether threads come to that place, as far as runs were followed there.
    pub situation: Option<String>,
    /// The other abstract states that were tried, and why each of them failed.
    pub others: Vec<String>,
}

/// What is claimed of a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Which property.
    pub property: Property,
    /// How it stands.
    pub standing: Standing,
}

/// What an answer took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Cost {
    /// How long.
    pub time: Duration,
    /// How many states were kept.
    pub states: u64,
    /// How many steps were taken.
    pub steps: u64,
    /// How many bytes the states took.
    pub bytes: u64,
}

/// What is known of an algorithm: a claim for each property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    claims: [Standing; Property::ALL.len()],
    /// What it took.
    pub cost: Cost,
}

impl Answer {
    /// An answer that gives each property its standing.
    pub fn new(cost: Cost, standing: impl FnMut(Property) -> Standing) -> Answer {
        Answer { claims: Property::ALL.map(standing), cost }
    }

    /// The claims that are told, in their order.
    pub fn claims(&self) -> impl Iterator<Item = Claim> {
        let claim = |(property, standing)| Claim { property, standing };
        let told = |c: &Claim| c.property.is_always_told() || c.standing != Standing::NotAsked;
        Property::ALL.into_iter().zip(self.claims.clone()).map(claim).filter(told)
    }

    /// How a property stands.
    pub fn standing(&self, property: Property) -> &Standing {
        &self.claims[property as usize]
    }

    /// The first property that is violated.
    pub fn violated(&self) -> Option<Property> {
        let is_violated = |p: &Property| matches!(self.standing(*p), Standing::Violated { .. });
        Property::ALL.into_iter().find(is_violated)
    }

    /// The exit code of the command: 1 if a claim is violated; else 3 if one is unknown; else 0.
    /// What an engine does not speak of does not count: a proof of linearizability is one, though
    /// it says nothing of deadlocks.
    pub fn exit_code(&self) -> u8 {
        let is_unknown = |s: &Standing| matches!(s, Standing::Unknown(_));
        match self.violated() {
            Some(_) => 1,
            None if self.claims.iter().any(is_unknown) => 3,
            None => 0,
        }
    }

    /// What is known when another engine answered as well: for each property whoever knows more.
    #[must_use]
    pub fn and(self, other: Answer) -> Answer {
        let mut others = other.claims.into_iter();
        let claims = self.claims.map(|own| match others.next() {
            Some(other) => own.and(other),
            None => own,
        });
        let cost = Cost {
            time: self.cost.time + other.cost.time,
            states: self.cost.states + other.cost.states,
            steps: self.cost.steps + other.cost.steps,
            bytes: self.cost.bytes.max(other.cost.bytes),
        };
        Answer { claims, cost }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(threads: Option<u32>) -> Scope {
        Scope { threads, ..Scope::default() }
    }

    fn standings() -> Vec<Standing> {
        let evidence = Evidence::Exploration { states: 1, steps: 1 };
        vec![
            Standing::Holds { scope: scope(None), evidence: evidence.clone() },
            Standing::Holds { scope: scope(Some(3)), evidence: evidence.clone() },
            Standing::Holds { scope: scope(Some(2)), evidence },
            Standing::Violated { scope: scope(Some(2)), how: String::new(), run: None },
            Standing::Unknown(String::new()),
            Standing::NotAnswered(String::new()),
            Standing::NotAsked,
        ]
    }

    #[test]
    fn the_exit_code_follows_from_the_standings_alone() {
        for first in standings() {
            for second in standings() {
                let answer = Answer::new(Cost::default(), |property| match property {
                    Property::Linearizable => first.clone(),
                    Property::DeadlockFree => second.clone(),
                    _ => Standing::NotAsked,
                });
                let words = [first.word(), second.word()];
                let code = match () {
                    () if words.contains(&"VIOLATED") => 1,
                    () if words.contains(&"unknown") => 3,
                    () => 0,
                };
                assert_eq!(answer.exit_code(), code, "{words:?}");
            }
        }
    }

    #[test]
    fn engines_together_know_what_each_knows_and_no_order_matters() {
        for a in standings() {
            for b in standings() {
                let both = a.clone().and(b.clone());
                assert_eq!(both.word(), b.clone().and(a.clone()).word());
                let contradict = [a.word(), b.word()] == ["proved", "VIOLATED"]
                    || [a.word(), b.word()] == ["VIOLATED", "proved"];
                assert_eq!(contradict, both == Standing::Unknown(CONTRADICTION.to_owned()));
                assert!(contradict || both == a || both == b);
            }
        }
    }
}
