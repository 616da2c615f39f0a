//! Makes a counterexample small: leaves out what can be left out.
//!
//! What may be left out without making a linearizable history wrong: a value with all its
//! operations, a query, an operation that saw the container empty. So *wrong* is monotone: a part
//! of which nothing can be left out alone is found by trying each thing once. Halves are tried
//! before quarters, so that a core of a few among n costs O(log n) checks of the size of what is
//! left.

/// The members of `whole` that are left when everything that can go has gone. `still_wrong` judges
/// a subset; it must hold for `whole`.
pub(super) fn shrink<T: Clone>(whole: Vec<T>, mut still_wrong: impl FnMut(&[T]) -> bool) -> Vec<T> {
    let mut kept = whole;
    let mut chunk = kept.len().div_ceil(2);
    while chunk > 0 {
        let mut from = 0;
        while from < kept.len() {
            let to = (from + chunk).min(kept.len());
            let mut without = kept[..from].to_vec();
            without.extend_from_slice(&kept[to..]);
            if still_wrong(&without) {
                kept = without;
            } else {
                from = to;
            }
        }
        chunk = if chunk == 1 { 0 } else { chunk.div_ceil(2) };
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_what_is_needed() {
        for needed in [vec![], vec![3], vec![0, 99], vec![17, 18, 70]] {
            let wrong = |part: &[u32]| needed.iter().all(|n| part.contains(n));
            assert_eq!(shrink((0..100).collect(), wrong), needed);
        }
    }
}
