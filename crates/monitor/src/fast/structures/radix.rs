//! Sorting by a number: a bucket sort by 11 bits at a time. What has equal numbers stays in its
//! order. O(n) for numbers of 32 bits.

/// Sorts pairs by their first numbers.
pub(in crate::fast) fn sort_by_number(mut pairs: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    let most = pairs.iter().map(|&(key, _)| key).max().unwrap_or(0);
    let mut other = vec![(0, 0); pairs.len()];
    let mut shift = 0;
    while u64::from(most) >> shift > 0 {
        let digit = |key: u32| (key >> shift) as usize & 2047;
        let mut next = [0u32; 2049];
        for &(key, _) in &pairs {
            next[digit(key) + 1] += 1;
        }
        for index in 1..next.len() {
            next[index] += next[index - 1];
        }
        for &pair in &pairs {
            let place = &mut next[digit(pair.0)];
            other[*place as usize] = pair;
            *place += 1;
        }
        std::mem::swap(&mut pairs, &mut other);
        shift += 11;
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use seriatim_testing::Random;

    #[test]
    fn pairs_are_sorted_as_a_stable_sort_does() {
        let mut random = Random(3);
        for limit in [1, 2, 2047, 2048, 2049, 1 << 22, 1 << 31, 1 << 32] {
            let key = |at| (random.below(limit) as u32, at);
            let pairs: Vec<(u32, u32)> = (0..500).map(key).collect();
            let mut sorted = pairs.clone();
            sorted.sort_by_key(|pair| pair.0);
            assert_eq!(sort_by_number(pairs), sorted);
        }
        assert_eq!(sort_by_number(Vec::new()), []);
    }
}
