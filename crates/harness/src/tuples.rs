//! Tuples of up to eight: what is implemented for them is implemented for all of them alike.

/// Hands the tuples, each type with its place, to a macro.
macro_rules! for_all_tuples {
    ($implement:ident) => {
        $implement! {
            (A 0)
            (A 0, B 1)
            (A 0, B 1, C 2)
            (A 0, B 1, C 2, D 3)
            (A 0, B 1, C 2, D 3, E 4)
            (A 0, B 1, C 2, D 3, E 4, F 5)
            (A 0, B 1, C 2, D 3, E 4, F 5, G 6)
            (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7)
        }
    };
}

pub(crate) use for_all_tuples;
