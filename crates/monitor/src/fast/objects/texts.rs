//! Texts that appending makes.
//!
//! A text is known by what it was made of: a value of the history, and the pieces that were appended
//! to it. So a text costs a few words however long it is, and is compared with the texts of the
//! history piece by piece, each piece once. Two texts that were made in different ways may be
//! equal all the same; whoever keeps states apart by their texts keeps too many then, and loses
//! none.

use hashbrown::HashMap;
use seriatim_history::{Value, ValueId, Values};

/// The texts that were made, beside the values of a history.
pub(super) struct Texts<'h> {
    values: &'h Values,
    made: Vec<Made>,
    known: HashMap<(ValueId, ValueId), ValueId>,
}

/// A text and what was appended to it.
struct Made {
    /// [`ValueId::ABSENT`] for no text at all.
    base: ValueId,
    piece: ValueId,
    length: usize,
    /// A text of the history that begins with it.
    within: ValueId,
}

/// A text that nobody will ask for.
const UNSEEN: ValueId = ValueId(u32::MAX - 3);

/// The ids from here to [`UNSEEN`] are of texts that were made, the first one the largest. A history
/// of so many values does not fit in memory.
const LEAST: u32 = 0xf000_0000;

/// The place of a text among those that were made; none for a value of the history.
#[inline]
fn place(id: ValueId) -> Option<usize> {
    (id.0 >= LEAST && id.0 < UNSEEN.0 && id.0 & 3 == 0)
        .then(|| ((UNSEEN.0 - id.0) >> 2) as usize - 1)
}

impl<'h> Texts<'h> {
    pub fn new(values: &'h Values) -> Self {
        Texts { values, made: Vec::new(), known: HashMap::new() }
    }

    /// A text with a piece behind it; none if there is no such text, or no room for it.
    pub fn append(&mut self, base: ValueId, piece: ValueId) -> Option<ValueId> {
        if let Some(&known) = self.known.get(&(base, piece)) {
            return Some(known);
        }
        let length = self.length(base)? + self.values.as_str(piece)?.len();
        let below = u32::try_from(self.made.len() + 1).ok()?.checked_mul(4)?;
        let id = ValueId(UNSEEN.0.checked_sub(below)?);
        place(id)?;
        self.made.push(Made { base, piece, length, within: ValueId::ABSENT });
        self.known.insert((base, piece), id);
        Some(id)
    }

    /// A text with something behind it that nobody will ask for; none if there is no such text.
    pub fn append_unseen(&self, base: ValueId) -> Option<ValueId> {
        self.length(base).map(|_| UNSEEN)
    }

    fn length(&self, text: ValueId) -> Option<usize> {
        match place(text) {
            Some(place) => Some(self.made[place].length),
            None if text == ValueId::ABSENT || text == UNSEEN => Some(0),
            None => self.values.as_str(text).map(str::len),
        }
    }

    /// Whether what a key holds is a value of the history.
    #[inline]
    pub fn is(&mut self, held: ValueId, value: ValueId) -> bool {
        held == value || (held.0 >= LEAST && self.is_equal(held, value))
    }

    #[inline(never)]
    fn is_equal(&mut self, held: ValueId, value: ValueId) -> bool {
        let (Some(place), Some(text)) = (place(held), self.values.as_str(value)) else {
            return false;
        };
        // A name is no text, though it is written as one.
        self.made[place].length == text.len()
            && self.begins(value, held)
            && self.values.find(&Value::text(text)) == Some(value)
    }

    /// Whether a text of the history begins with another one.
    pub fn begins(&mut self, whole: ValueId, start: ValueId) -> bool {
        let Some(text) = self.values.as_str(whole) else { return false };
        let mut at = start;
        while let Some(place) = place(at) {
            let Made { base, piece, length, within } = self.made[place];
            if within == whole {
                break;
            }
            let Some(piece) = self.values.as_str(piece) else { return false };
            let end = text.as_bytes().get(length - piece.len()..length);
            if end != Some(piece.as_bytes()) {
                return false;
            }
            at = base;
        }
        let begins = place(at).is_some()
            || at == ValueId::ABSENT
            || self.values.as_str(at).is_some_and(|start| text.starts_with(start));
        if let Some(place) = place(start).filter(|_| begins) {
            self.made[place].within = whole;
        }
        begins
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seriatim_testing::Random;

    #[test]
    fn texts_are_what_strings_are() {
        let mut random = Random(12);
        let mut values = Values::default();
        let words: Vec<String> = (0..60)
            .map(|_| (0..random.index(5)).map(|_| *random.pick(&['a', 'b', 'é'])).collect())
            .collect();
        let ids: Vec<ValueId> = words.iter().map(|word| values.intern_text(word)).collect();
        let name = values.intern(&Value::Name("ab".into()));
        for _ in 0..300 {
            let mut texts = Texts::new(&values);
            let start = random.index(ids.len());
            let mut all = match random.one_in(3) {
                true => vec![(ValueId::ABSENT, String::new())],
                false => vec![(ids[start], words[start].clone())],
            };
            for _ in 0..8 {
                let (base, text) = random.pick(&all).clone();
                let piece = random.index(ids.len());
                let made = texts.append(base, ids[piece]).expect("there is room");
                assert_eq!(texts.append(base, ids[piece]), Some(made));
                all.push((made, text + &words[piece]));
                for (made, text) in &all[1..] {
                    for (&id, word) in ids.iter().zip(&words) {
                        assert_eq!(texts.is(*made, id), text == word, "{text} {word}");
                        assert_eq!(texts.begins(id, *made), word.starts_with(&**text));
                    }
                    assert!(!texts.is(*made, name) && !texts.is(*made, ValueId::NIL));
                }
            }
            assert_eq!(texts.append(ValueId::NIL, ids[0]), None);
            assert_eq!(texts.append_unseen(ids[0]), texts.append_unseen(UNSEEN));
        }
    }
}
