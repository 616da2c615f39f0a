//! What the prover says, and why it stops.

use crate::content::Abstraction;
use crate::interference::Interference;
use crate::record::Shape;
use crate::reduce::Reduction;
use crate::view::View;
use seriatim_lang::machine::Fault;
use seriatim_lang::steps::Pc;
use seriatim_spec::Cancel;
use seriatim_spec::answer::StuckProof;

/// How far the prover goes.
#[derive(Clone, Debug)]
pub struct Options {
    /// The largest number of views before it gives up.
    pub views: usize,
    /// The largest number of effects on views before it gives up: bounds the time.
    pub work: u64,
    /// Asks it to give up.
    pub cancel: Cancel,
    /// What it does wrong on purpose.
    #[cfg(feature = "sabotage")]
    pub sabotage: Option<crate::sabotage::Sabotage>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            views: 300_000,
            work: 400_000_000,
            cancel: Cancel::never(),
            #[cfg(feature = "sabotage")]
            sabotage: None,
        }
    }
}

/// The verdict of the prover. It never says that an algorithm is wrong.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Linearizable for any number of threads, any heap and any data.
    Proved(Proof),
    /// The proof got stuck; that says nothing about the algorithm.
    Unknown(Box<Stuck>),
    /// The program is outside of the class that the prover understands, for this reason.
    Refused(String),
}

/// A proof: an inductive set of views in which every check holds.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The program of which it speaks.
    pub reduction: Reduction,
    /// How the heap stands for the content of the object.
    pub abstraction: Abstraction,
    /// The name of the shared variable from which the content is reached.
    pub root: String,
    /// The invariant.
    pub views: Vec<View>,
    /// How many different effects one thread has on the views of others.
    pub effects: usize,
    /// These effects.
    pub interference: Vec<Interference>,
    /// The records that threads publish.
    pub shapes: Vec<Shape>,
}

/// Where and why a proof got stuck.
#[derive(Clone, Debug)]
pub struct Stuck {
    /// Why.
    pub obstacle: Obstacle,
    /// The view in which it happened, before the step.
    pub view: View,
    /// The step.
    pub at: At,
    /// The abstraction that was tried.
    pub abstraction: Abstraction,
    /// How many views there were.
    pub views: usize,
    /// Whether this attempt, or one with another content, stopped at a limit: with a larger one
    /// there may be a proof.
    pub limited: bool,
    /// The same for a report: the trail, what is known after each step, and the other contents that
    /// were tried.
    pub told: StuckProof,
}

/// The step at which a proof got stuck.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum At {
    /// At the start.
    Start,
    /// A call of a method.
    Call(u32),
    /// A step of the observed thread.
    Own(Pc),
    /// A step of another thread.
    Other(Pc),
}

/// Why a proof got stuck.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Obstacle {
    /// A step may be an error of the algorithm.
    Fault(Fault),
    /// A step changes the abstract content in a way in which its operation may not, or a second
    /// time.
    IllegalChange,
    /// A result that was correct at no moment of the operation, as far as the views tell.
    UnjustifiedResult,
    /// The list may have a cycle.
    Cyclic,
    /// The object may not be empty at the start.
    NotEmptyAtStart,
    /// Another thread may link a node of which this view knows nothing.
    UnknownNodeExposed,
    /// A lock is released by a thread that may not hold it.
    ForeignUnlock,
    /// Something that the abstract semantics does not cover.
    NotUnderstood(&'static str),
    /// The limit on views or work was reached, or the proof was asked to give up.
    Limit,
}

impl Obstacle {
    /// What would have to be true, so that the proof could go on.
    pub fn needs(&self) -> &'static str {
        match self {
            Obstacle::Fault(_) => "in no run that fits what is known here the step fails",
            Obstacle::IllegalChange => {
                "in every run that fits what is known here the step changes the abstract content as its \
                 operation may, and for the first time since the call"
            }
            Obstacle::UnjustifiedResult => {
                "in every run that fits what is known here the result was right at some moment since \
                 the call"
            }
            Obstacle::Cyclic => "in no run that fits what is known here the list has a cycle",
            Obstacle::NotEmptyAtStart => "the object is empty at the start",
            Obstacle::UnknownNodeExposed => {
                "the other thread links only nodes that this thread knows of"
            }
            Obstacle::ForeignUnlock => "whoever releases the lock holds it",
            Obstacle::NotUnderstood(_) => "the step is one that the abstract semantics covers",
            Obstacle::Limit => "fewer views suffice, or the limit is larger",
        }
    }

    /// The obstacle as words.
    pub fn text(&self) -> String {
        match self {
            Obstacle::Fault(fault) => format!("the step may fail: {}", fault.text()),
            Obstacle::IllegalChange => {
                "the step may change the abstract content as its operation must not".to_string()
            }
            Obstacle::UnjustifiedResult => {
                "the result may have been right at no moment since the call".to_string()
            }
            Obstacle::Cyclic => "the list may have a cycle".to_string(),
            Obstacle::NotEmptyAtStart => "the object may not be empty at the start".to_string(),
            Obstacle::UnknownNodeExposed => {
                "another thread may link a node of which this view knows nothing".to_string()
            }
            Obstacle::ForeignUnlock => {
                "a lock may be released by a thread that does not hold it".to_string()
            }
            Obstacle::NotUnderstood(what) => format!("not understood: {what}"),
            Obstacle::Limit => "the limit on views or work was reached".to_string(),
        }
    }
}
