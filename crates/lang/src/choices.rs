//! Enumerates the outcomes of a nondeterministic computation by running it again and again: each run asks
//! [`Choices::pick`] for its choices, and [`Choices::advance`] moves on to the next sequence of answers.

/// The choices of the current run.
#[derive(Clone, Debug, Default)]
pub struct Choices {
    picks: Vec<(u32, u32)>,
    at: usize,
}

impl Choices {
    /// A run that takes these choices first.
    pub fn following(picks: &[u32]) -> Choices {
        Choices { picks: picks.iter().map(|pick| (*pick, u32::MAX)).collect(), at: 0 }
    }

    /// The choices of the current run.
    pub fn picks(&self) -> Vec<u32> {
        self.picks.iter().map(|(pick, _)| *pick).collect()
    }

    /// One of `0..count`. The first run takes 0 everywhere.
    pub fn pick(&mut self, count: u32) -> u32 {
        if self.at == self.picks.len() {
            self.picks.push((0, count));
        }
        self.at += 1;
        self.picks[self.at - 1].0.min(count.saturating_sub(1))
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
