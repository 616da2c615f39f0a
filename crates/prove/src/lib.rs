//! Proofs of linearizability for any number of threads, any heap and any data, without annotations:
//! takes a checked program, gives a proof (an inductive set of views) or says where the proof got
//! stuck. It never says that an algorithm is wrong: that is for `explore`.
//!
//! The engine is a thread-modular abstract interpretation over lists. A [`View`] is all that one
//! thread can name; `own` is what its own steps do, `effect` what others see of them,
//! `interference` what that does to a view, `fixpoint` closes the set, and `content` holds the
//! theorem and the checks on every single step.

#![forbid(unsafe_code)]

mod abstraction;
mod alike;
mod canon;
mod cell;
mod cell_spec;
mod certificate;
mod content;
mod counter;
mod difference;
mod effect;
mod equality;
mod export;
mod fixpoint;
mod help;
mod interference;
mod join;
mod list_spec;
mod model;
mod number;
mod number_spec;
mod outcome;
mod own;
mod record;
mod reduce;
#[cfg(feature = "sabotage")]
pub mod sabotage;
mod segment;
mod step;
mod stuck;
mod value;
mod view;
mod views;

#[cfg(test)]
mod coverage;

pub use certificate::{Rejection, certify};
pub use content::{Abstraction, Begin, Counted};
pub use interference::Interference;
pub use outcome::{Obstacle, Options, Outcome, Proof, Stuck};
pub use reduce::Reduction;
pub use view::View;

use fixpoint::Fixpoint;
use model::Model;
use seriatim_lang::Program;
use std::collections::VecDeque;

/// Tries to prove that an object is linearizable.
///
/// ```
/// let source = "object o : stack
/// struct Node { val: value, next: Node? }
/// var top: Node? = null
/// method push(v: value) { atomic { top = new Node { val: v, next: top } } }
/// method pop() -> value? {
///   atomic {
///     let t = top
///     if t == null { return empty }
///     top = t.next
///     return t.val
///   }
/// }";
/// let program = seriatim_lang::check(source).unwrap();
/// let outcome = seriatim_prove::prove(&program, &seriatim_prove::Options::default());
/// assert!(matches!(outcome, seriatim_prove::Outcome::Proved(_)));
/// ```
pub fn prove(program: &Program, options: &Options) -> Outcome {
    let mut unproved = None;
    for reduction in Reduction::ALL {
        let outcome = match Model::of(program, reduction, 2) {
            Ok(None) => continue,
            Ok(Some(model)) => prove_model(program, &model, reduction, options),
            Err(why) => Outcome::Refused(why),
        };
        match (outcome, &unproved) {
            (Outcome::Proved(proof), _) => return Outcome::Proved(proof),
            // A program that is in the class as it is gets stuck at something that its author knows.
            (_, Some(Outcome::Unknown(_))) | (Outcome::Refused(_), Some(_)) => {}
            (outcome, _) => unproved = Some(outcome),
        }
    }
    unproved.unwrap_or_else(|| Outcome::Refused("it is in no class".to_string()))
}

/// Tries to prove a program that stands for another one.
fn prove_model(
    program: &Program,
    model: &Model,
    reduction: Reduction,
    options: &Options,
) -> Outcome {
    let mut attempts: Vec<Stuck> = Vec::new();
    let mut candidates: VecDeque<Abstraction> = Abstraction::candidates(model).into();
    while let Some(abstraction) = candidates.pop_front() {
        let mut fixpoint = Fixpoint::new(model, abstraction);
        match fixpoint.run(options) {
            Ok(()) => {
                return Outcome::Proved(Proof {
                    abstraction,
                    reduction,
                    root: abstraction.names(model).join(", "),
                    effects: fixpoint.effects.len(),
                    interference: fixpoint.effects.iter().map(|e| Interference::clone(e)).collect(),
                    shapes: fixpoint.shapes,
                    views: fixpoint.views.list,
                });
            }
            Err(block) => {
                if fixpoint.path_untold && block.obstacle != Obstacle::Limit {
                    candidates.push_back(abstraction.with_paths());
                }
                attempts.push(stuck::stuck(program, model, &fixpoint, abstraction, block));
            }
        }
    }
    match most_telling(model, attempts) {
        Some(stuck) => Outcome::Unknown(Box::new(stuck)),
        None => {
            Outcome::Refused("it has no shared variable that could hold the content".to_string())
        }
    }
}

/// Of several attempts, the one that says most: one that got stuck at a check rather than at a
/// limit, and of these the one that got farthest. A content that fails at once, where another one
/// leads to many views, is only a wrong guess. The others are told in a line each.
fn most_telling(model: &Model, mut attempts: Vec<Stuck>) -> Option<Stuck> {
    let farthest = attempts.iter().map(|a| a.views).max()?;
    let rank = |s: &Stuck| match s.obstacle {
        Obstacle::NotEmptyAtStart => (0, s.views),
        _ if s.views * 10 < farthest => (1, s.views),
        Obstacle::NotUnderstood(_) => (2, s.views),
        Obstacle::Limit => (3, s.views),
        _ => (4, s.views),
    };
    let best = (0..attempts.len()).rev().max_by_key(|i| rank(&attempts[*i]))?;
    let mut best = attempts.swap_remove(best);
    best.limited |= attempts.iter().any(|a| a.limited);
    for other in &attempts {
        let (content, why) = (other.abstraction.text(model), other.obstacle.text());
        let views = if other.views == 1 { "view" } else { "views" };
        best.told.others.push(format!("{content}: {why} ({} {views})", other.views));
    }
    Some(best)
}
