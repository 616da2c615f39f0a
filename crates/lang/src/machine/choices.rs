//! Enumerates the outcomes of a nondeterministic computation by running it again and again: each
//! run asks [`Choices::pick`] for its choices, and [`Choices::advance`] moves on to the next
//! sequence of answers.

/// The choices of the current run.
#[derive(Clone, Debug, Default)]
pub struct Choices {
    picks: Vec<(u32, u32)>,
    at: usize,
    /// Where new choices come from, if they are random.
    seed: Option<u64>,
}

impl Choices {
    /// A run that takes these choices first.
    pub fn following(picks: &[u32]) -> Choices {
        Choices {
            picks: picks.iter().map(|pick| (*pick, u32::MAX)).collect(),
            ..Choices::default()
        }
    }

    /// A run that chooses at random.
    pub fn sampled(seed: u64) -> Choices {
        Choices { seed: Some(seed | 1), ..Choices::default() }
    }

    /// The choices of the current run.
    pub fn picks(&self) -> Vec<u32> {
        self.picks.iter().map(|(pick, _)| *pick).collect()
    }

    /// One of `0..count`. The first run takes 0 everywhere, unless it chooses at random.
    pub fn pick(&mut self, count: u32) -> u32 {
        if self.at == self.picks.len() {
            let first = self.draw(count);
            self.picks.push((first, count));
        }
        self.at += 1;
        self.picks[self.at - 1].0.min(count.saturating_sub(1))
    }

    /// A random choice (xorshift), or the first one.
    fn draw(&mut self, count: u32) -> u32 {
        let Some(seed) = &mut self.seed else { return 0 };
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        ((*seed >> 11) % u64::from(count.max(1))) as u32
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
