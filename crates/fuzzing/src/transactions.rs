//! Histories of transactions in every format.

use crate::shown::is_text;
use crate::text;
use seriatim_transactions::{Checker, Level, Options, Standing, read_str};
use std::collections::BTreeMap;
use std::time::Duration;

/// The most transactions that are asked about.
const MOST: usize = 12;

/// Reads transactions and asks about every level: where one holds, the weaker ones do.
pub fn transactions(bytes: &[u8]) {
    let Some(Ok(history)) = text(bytes).map(|text| read_str("fuzzed", text)) else { return };
    if history.len() > MOST {
        return;
    }
    let mut options = Options::default();
    options.time = Some(Duration::from_secs(1));
    options.shrink = Duration::from_millis(50);
    let mut checker = Checker::new(&history, &options);
    let mut answers = BTreeMap::new();
    for level in Level::ALL {
        let answer = checker.check(level).unwrap_or_else(|defect| panic!("{level}: {defect}"));
        let word = match answer.standing {
            Standing::Satisfied(_) => Some(true),
            Standing::Violated(violation) => {
                let glyphs = seriatim_transactions::Glyphs::Ascii;
                is_text(&seriatim_transactions::draw(&violation, glyphs), "the terminal");
                Some(false)
            }
            Standing::Unknown(_) => None,
        };
        answers.insert(level.name(), word);
    }
    for stronger in Level::ALL {
        for weaker in stronger.implies() {
            let pair = (answers[stronger.name()], answers[weaker.name()]);
            assert_ne!(pair, (Some(true), Some(false)), "{stronger} holds and {weaker} does not");
        }
    }
}
