//! What a decision about a composition says, claim by claim.

use crate::cases::Input;
use crate::decide::{Outcome, Verdict};
use crate::replay::Counterexample;
use crate::search::Violation;
use seriatim_lang::machine::Fault;
use seriatim_spec::answer::{Answer, Cost, Evidence, Property, Scope, Standing};

impl Violation {
    /// The property that a run of this kind contradicts; the list at the end is a question of its own.
    pub fn property(self) -> Property {
        match self {
            Violation::WrongResult | Violation::WrongElements | Violation::WrongList => {
                Property::Linearizable
            }
            Violation::Fault(Fault::OutOfRange, _) => Property::InRange,
            Violation::Fault(..) => Property::FaultFree,
            Violation::Deadlock => Property::DeadlockFree,
        }
    }

    /// How a run goes wrong, as words.
    pub fn text(self) -> String {
        match self {
            Violation::WrongResult => "no order of the operations explains the results".to_owned(),
            Violation::WrongElements => {
                "no order of the operations explains the results and leaves these elements"
                    .to_owned()
            }
            Violation::WrongList => "no order of the operations leaves this list".to_owned(),
            Violation::Fault(fault, _) => format!("error: {}", fault.text()),
            Violation::Deadlock => {
                "deadlock: no thread can go on, though the specification could".to_owned()
            }
        }
    }
}

impl Outcome {
    /// The claims that follow from the verdict on the elements. The search for it ends at the first run that contradicts one
    /// of them.
    pub fn answer(&self) -> Answer {
        let cost = Cost { states: self.states, steps: self.transitions, ..Cost::default() };
        Answer::new(cost, |property| match property {
            Property::Linearizable | Property::FaultFree | Property::InRange => {
                self.standing(property)
            }
            Property::DeadlockFree => match &self.deadlock {
                Some(run) => self.violated(run),
                None => Standing::NotAnswered("the abstraction is not made for waiting".to_owned()),
            },
            Property::LockFree => Standing::NotAsked,
        })
    }

    /// The runs that it is about.
    pub fn scope(&self) -> Scope {
        let input = match self.input {
            Input::Unmarked => "every sorted list, nothing marked",
            Input::Marked => "every sorted list, any nodes marked",
        };
        let threads = Some(self.composition.threads.len() as u32);
        Scope { threads, words: format!("{} on {input}", self.composition), cut: Vec::new() }
    }

    fn violated(&self, run: &Counterexample) -> Standing {
        Standing::Violated { scope: self.scope(), how: run.violation.text(), run: None }
    }

    fn standing(&self, property: Property) -> Standing {
        match &self.elements {
            Verdict::Fails(run) if run.violation.property() == property => self.violated(run),
            Verdict::Fails(_) => {
                Standing::NotAnswered("the search ended at the run that is shown".to_owned())
            }
            Verdict::Unknown(reason) => Standing::Unknown(reason.text().to_owned()),
            Verdict::Holds => {
                let (states, cases) = (self.states, self.cases);
                let evidence = Evidence::Abstraction { states, cases };
                Standing::Holds { scope: self.scope(), evidence }
            }
        }
    }
}
