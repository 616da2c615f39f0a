//! Is every key linearizable by itself?
//!
//! A store may keep each key linearizable and yet mix keys up within a transaction, or the other
//! way round serialize transactions in an order that real time contradicts. So both are asked, side
//! by side.
//!
//! **Definition.** A key is linearizable if the transactions that touch it, each with its
//! operations on that key alone, at once, can be ordered so that real time is respected and every
//! read of the key sees what was written last: strict serializability of the history of that key.
//! Strict serializability of the whole implies it for every key (restrict the order). The converse
//! fails: a transaction may happen at another moment for each of its keys.

use crate::check::{Checker, Defect, Options, Standing, Unknown};
use crate::level::Level;
use crate::transaction::{KeyId, Transactions, TxnId};
use seriatim_limits::Cancel;

/// What became of one key.
#[derive(Debug)]
pub struct KeyAnswer {
    /// The key.
    pub key: KeyId,
    /// The history of the key alone.
    pub history: Transactions,
    /// The transactions of that history, by their places in the whole.
    pub ids: Vec<TxnId>,
    /// What became of it. The transactions of the evidence are those of the history of the key.
    pub standing: Standing,
}

/// Asks of every key whether it is linearizable.
///
/// # Errors
/// If two engines contradict each other.
pub fn check_keys(history: &Transactions, options: &Options) -> Result<Vec<KeyAnswer>, Defect> {
    let mut answers = Vec::new();
    for (index, (history, ids)) in history.by_key().into_iter().enumerate() {
        // Preparing may be left as well; then nothing is known of this key.
        let ask = || Checker::new(&history, options).check(Level::StrictSerializable);
        let standing = match Cancel::of_process().during(ask) {
            Ok(answer) => answer?.standing,
            Err(_) => Standing::Unknown(Unknown::Limit),
        };
        answers.push(KeyAnswer { key: KeyId(index as u32), history, ids, standing });
    }
    Ok(answers)
}
