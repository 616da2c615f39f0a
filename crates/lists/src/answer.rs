//! What a decision about a composition says, claim by claim.

use crate::cases::Input;
use crate::decide::{Outcome, Verdict};
use crate::replay::Counterexample;
use crate::search::Violation;
use seriatim_lang::machine::Fault;
use seriatim_lang::program::Program;
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
}

impl Outcome {
    /// The claims that follow from the verdict on the elements. The search for it ends at the first run that contradicts one
    /// of them.
    pub fn answer(&self, program: &Program) -> Answer {
        let cost = Cost { states: self.states, steps: self.transitions, ..Cost::default() };
        Answer::new(cost, |property| match property {
            Property::Linearizable | Property::FaultFree | Property::InRange => {
                self.standing(program, property)
            }
            Property::DeadlockFree => match &self.deadlock {
                Some(run) => self.violated(program, run),
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

    fn violated(&self, program: &Program, run: &Counterexample) -> Standing {
        let (how, run) = (run.how(program), Some(Box::new(run.run(program))));
        Standing::Violated { scope: self.scope(), how, run }
    }

    fn standing(&self, program: &Program, property: Property) -> Standing {
        match &self.elements {
            Verdict::Fails(run) if run.violation.property() == property => {
                self.violated(program, run)
            }
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
