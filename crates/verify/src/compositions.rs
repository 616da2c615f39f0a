//! Methods of a list-based set in parallel, on lists of any length: each composition by itself, and
//! all of them together.

use crate::options::{Error, Lists};
use crate::verified::Verified;
use seriatim_lang::Program;
use seriatim_lists::{Equality, Options, Outcome, Verdict, all_compositions, decide};
use seriatim_spec::answer::{Answer, Evidence, Property, Scope, Standing};

/// How many abstract states one pair of methods may make before the other engines have their turn.
const PAIR_STATES: u64 = 300_000;

/// Decides compositions.
pub fn decided(program: &Program, asked: &Lists) -> Result<Verified, Error> {
    let options = Options { input: asked.input, ..Options::default() };
    let decide = |composition| decide(program, composition, &options);
    let outcomes: Vec<Outcome> = asked.compositions.iter().map(decide).collect::<Result<_, _>>()?;
    let answer = together(program, &outcomes, asked.equality).ok_or(Error::NothingToCompose)?;
    Ok(Verified { compositions: outcomes, ..Verified::new(answer) })
}

/// What the pairs of methods show.
pub enum Pairs {
    /// So many are correct, if that could be asked.
    Right(Option<usize>),
    /// One goes wrong.
    Wrong(Box<Verified>),
}

/// Decides all pairs of methods, where that applies.
pub fn pairs(program: &Program) -> Pairs {
    let options = Options { max_states: PAIR_STATES, ..Options::default() };
    let mut right = 0;
    for composition in all_compositions(program, 2) {
        let Ok(outcome) = decide(program, &composition, &options) else {
            return Pairs::Right(None);
        };
        let answer = outcome.answer(program, Equality::Elements);
        if answer.violated().is_some() {
            let verified = Verified { compositions: vec![outcome], ..Verified::new(answer) };
            return Pairs::Wrong(Box::new(verified));
        }
        right += usize::from(outcome.elements == Verdict::Holds);
    }
    Pairs::Right((right > 0).then_some(right))
}

/// What the outcomes say together: a claim is violated if it is so for one of them, and holds only
/// if it does for all. None if there are none.
fn together(program: &Program, outcomes: &[Outcome], equality: Equality) -> Option<Answer> {
    let answers: Vec<Answer> = outcomes.iter().map(|o| o.answer(program, equality)).collect();
    let (first, rest) = answers.split_first()?;
    if rest.is_empty() {
        return Some(first.clone());
    }
    let mut cost = first.cost;
    for answer in rest {
        cost.states += answer.cost.states;
        cost.steps += answer.cost.steps;
    }
    Some(Answer::new(cost, |property| conjunction(property, outcomes, &answers)))
}

/// The least that is known of a property: whatever keeps it from holding for all of them, or that
/// it does.
fn conjunction(property: Property, outcomes: &[Outcome], answers: &[Answer]) -> Standing {
    let standings = || outcomes.iter().zip(answers.iter().map(|a| a.standing(property)));
    let of = |outcome: &Outcome, why: &str| format!("{}: {why}", outcome.composition);
    let violated = standings().find(|(_, s)| matches!(s, Standing::Violated { .. }));
    let unknown = standings().find(|(_, s)| matches!(s, Standing::Unknown(_)));
    let silent = standings().find(|(_, s)| !matches!(s, Standing::Holds { .. }));
    match violated.or(unknown).or(silent) {
        Some((outcome, Standing::Unknown(why))) => Standing::Unknown(of(outcome, why)),
        Some((_, standing)) => standing.clone(),
        None => Standing::Holds { scope: union(answers, property), evidence: seen(outcomes) },
    }
}

/// All runs of all compositions.
fn union(answers: &[Answer], property: Property) -> Scope {
    let scopes = answers.iter().filter_map(|answer| match answer.standing(property) {
        Standing::Holds { scope, .. } => Some(scope),
        _ => None,
    });
    let all: Vec<&str> = scopes.clone().map(|scope| &scope.words[..]).collect();
    Scope {
        threads: scopes.filter_map(|scope| scope.threads).max(),
        words: format!("{} compositions: {}", all.len(), all.join("; ")),
        cut: Vec::new(),
    }
}

fn seen(outcomes: &[Outcome]) -> Evidence {
    Evidence::Abstraction {
        states: outcomes.iter().map(|o| o.states).sum(),
        cases: outcomes.iter().map(|o| o.cases).sum(),
    }
}
