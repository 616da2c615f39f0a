//! What a decision about a composition says, claim by claim.

use crate::cases::Input;
use crate::decide::{Outcome, Verdict};
use crate::expectation::Equality;
use crate::replay::Counterexample;
use crate::search::Violation;
use seriatim_lang::machine::Fault;
use seriatim_lang::program::Program;
use seriatim_spec::answer::{Answer, Cost, Evidence, Property, Scope, Standing};

impl Violation {
    /// The property that a run of this kind contradicts; the list at the end is a question of its
    /// own.
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
    /// The claims that follow, where lists count as the same by this equality. The search ends at
    /// the first run that contradicts one of them.
    pub fn answer(&self, program: &Program, equality: Equality) -> Answer {
        let cost = Cost { states: self.states, steps: self.transitions, ..Cost::default() };
        let scope = self.scope(equality);
        Answer::new(cost, |property| match property {
            Property::Linearizable | Property::FaultFree | Property::InRange => {
                self.standing(program, property, equality)
            }
            Property::DeadlockFree => match &self.deadlock {
                Some(run) => violated(program, run, scope.clone()),
                None => Standing::NotAnswered("the abstraction is not made for waiting".to_owned()),
            },
            _ => Standing::NotAsked,
        })
    }

    /// The runs that contradict something.
    pub fn counterexamples(&self) -> impl Iterator<Item = &Counterexample> {
        let verdicts = [Some(&self.elements), self.list.as_ref()].into_iter().flatten();
        let runs = verdicts.filter_map(|verdict| match verdict {
            Verdict::Fails(run) => Some(&**run),
            Verdict::Holds | Verdict::Unknown(_) => None,
        });
        runs.chain(self.deadlock.as_deref())
    }

    /// The runs that it is about.
    fn scope(&self, equality: Equality) -> Scope {
        let input = match self.input {
            Input::Unmarked => "every sorted list, nothing marked",
            Input::Marked => "every sorted list, any nodes marked",
        };
        let compared = match equality {
            Equality::Elements => "",
            Equality::List => ", the lists themselves compared",
        };
        let threads = Some(self.composition.threads.len() as u32);
        let words = format!("{} on {input}{compared}", self.composition);
        Scope { threads, words, cut: Vec::new() }
    }

    /// The verdict that decides a property: only linearizability depends on when two lists are the
    /// same.
    fn verdict(&self, property: Property, equality: Equality) -> &Verdict {
        match (property, equality, &self.list) {
            (Property::Linearizable, Equality::List, Some(list)) => list,
            _ => &self.elements,
        }
    }

    fn standing(&self, program: &Program, property: Property, equality: Equality) -> Standing {
        let scope = self.scope(equality);
        match self.verdict(property, equality) {
            Verdict::Fails(run) if run.violation.property() == property => {
                violated(program, run, scope)
            }
            Verdict::Fails(_) => {
                Standing::NotAnswered("the search ended at the run that is shown".to_owned())
            }
            Verdict::Unknown(reason) => Standing::Unknown(reason.text().to_owned()),
            Verdict::Holds => {
                let (states, cases) = (self.states, self.cases);
                let evidence = Evidence::Abstraction { states, cases };
                Standing::Holds { scope, evidence }
            }
        }
    }
}

fn violated(program: &Program, run: &Counterexample, scope: Scope) -> Standing {
    let (how, run) = (run.how(program), Some(Box::new(run.run(program))));
    Standing::Violated { scope, how, run }
}
