//! Enumerates the outcomes of a nondeterministic computation by running it again and again: each run asks
//! [`Choices::pick`] for its choices, and [`Choices::advance`] moves on to the next sequence of answers.

/// The choices of the current run.
#[derive(Clone, Debug, Default)]
pub struct Choices {
    picks: Vec<(u32, u32)>,
    at: usize,
}

impl Choices {
    /// One of `0..count`. The first run takes 0 everywhere.
    pub fn pick(&mut self, count: u32) -> u32 {
        if self.at == self.picks.len() {
            self.picks.push((0, count));
        }
        self.at += 1;
        self.picks[self.at - 1].0
    }

    /// Goes back to the start of the current run, to repeat it.
    pub fn rewind(&mut self) {
        self.at = 0;
    }

    /// Prepares the next run; `false` when there is none.
    pub fn advance(&mut self) -> bool {
        self.at = 0;
        while let Some((pick, count)) = self.picks.pop() {
            if pick + 1 < count {
                self.picks.push((pick + 1, count));
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_is_visited_once() {
        let mut choices = Choices::default();
        let mut seen = Vec::new();
        loop {
            let first = choices.pick(2);
            let second = if first == 0 { choices.pick(3) } else { 9 };
            seen.push((first, second));
            if !choices.advance() {
                break;
            }
        }
        assert_eq!(seen, [(0, 0), (0, 1), (0, 2), (1, 9)]);
    }
}
