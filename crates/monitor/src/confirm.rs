//! The second opinion on a violation: what else says that no order explains it.
//!
//! First the plainest search of all ([`refute`]), which shares nothing with the engines, on
//! everything that the part recorded until it went wrong; then nobody has to believe that leaving
//! operations out was fair. Then, in any case, on the counterexample with its context, where there
//! is one: the operations that came first are not taken as given. If that is too much as well, the
//! other engine: the general search where a monitor decided, the other direction where one
//! direction of the search did.
//!
//! A contradiction is a defect of ours, and there is no verdict. Where everybody gives up, the
//! violation stands as the engine found it, and the report says so.

use crate::search::{Engine, Memory, Part, Progress, Strategy};
use seriatim_history::{History, Horizon, InputError, OpId};
use seriatim_limits::InOrder;
use seriatim_spec::{Cancel, Confirmation, Counterexample, DecidedBy, Reader, Refutation, refute};

/// The second opinion says that the history is linearizable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contradiction;

/// How much the second opinion may cost.
#[derive(Clone, Copy, Debug)]
pub struct Means {
    /// The most operations that the plain search looks at.
    pub operations: usize,
    /// The configurations that each attempt of the plain search may meet.
    pub configurations: usize,
    /// The expansions that another engine may make, besides some for each operation.
    pub expansions: usize,
}

/// A violation about which somebody else is asked.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The operations of the part.
    pub part: &'a [OpId],
    /// Its counterexample.
    pub core: &'a Counterexample,
    /// Who found it.
    pub decided_by: &'a DecidedBy,
}

/// Asks for a second opinion on the counterexample of a part.
pub fn confirm(
    history: &History,
    reader: &dyn Reader,
    asked: &Asked<'_>,
    means: Means,
) -> Result<Result<Confirmation, Contradiction>, InputError> {
    let Asked { part, core, decided_by } = *asked;
    let mut with_context: Vec<OpId> = core.operations.clone();
    with_context.extend(core.context.iter().flat_map(|context| &context.order));
    with_context.put_in_order();
    let recorded = recorded(history, part, core.horizon);
    let mut confirmed = None;
    let is_all = recorded == with_context;
    for (operations, confirmation) in
        [(&recorded, Confirmation::Whole), (&with_context, Confirmation::Core)]
    {
        let is_again = is_all && confirmation == Confirmation::Core;
        if operations.len() > means.operations || is_again {
            continue;
        }
        let mut excerpt = history.restricted(operations, core.horizon);
        match refute(&mut excerpt, reader, means.configurations)? {
            Refutation::Confirmed => confirmed = confirmed.or(Some(confirmation)),
            Refutation::Contradicted => return Ok(Err(Contradiction)),
            Refutation::TooLarge => {}
        }
    }
    if let Some(confirmation) = confirmed {
        return Ok(Ok(confirmation));
    }
    if with_context.len() > 10 * means.operations {
        return Ok(Ok(Confirmation::None));
    }
    let mut excerpt = history.restricted(&with_context, core.horizon);
    let reading = reader.read(&mut excerpt)?;
    let operations: Vec<OpId> = reading.operations().collect();
    let part = Part::new(&excerpt, &reading, &operations);
    for strategy in [Strategy::BreadthFirst, Strategy::DepthFirst] {
        if *decided_by == DecidedBy::Search(strategy) {
            continue;
        }
        let (cancel, memory) = (Cancel::innermost(), Memory::new(256 << 20));
        let mut engine = Engine::new(&part, strategy, &cancel);
        let effort = (means.expansions + 2 * operations.len()) as u64;
        match engine.run(effort, &cancel, &memory) {
            Progress::Exhausted => return Ok(Ok(Confirmation::Engine(name(strategy)))),
            Progress::Found(_) => return Ok(Err(Contradiction)),
            _ => {}
        }
    }
    Ok(Ok(Confirmation::None))
}

fn name(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::DepthFirst => "the depth-first search",
        Strategy::BreadthFirst => "the breadth-first search",
    }
}

/// All operations of a part that were called up to a moment.
fn recorded(history: &History, part: &[OpId], horizon: Horizon) -> Vec<OpId> {
    match horizon {
        Horizon::Whole => part.to_vec(),
        Horizon::Until(end) => part.iter().copied().filter(|&op| history.call(op) <= end).collect(),
    }
}
