//! What objects do, and what it is called in logs.

/// What an object does.
pub trait Verb: Copy + Send + Sync {
    /// What a name means, in small letters.
    fn of(name: &str) -> Option<Self>;
}

/// Declares what an object does, with the names of each method in small letters.
macro_rules! verbs {
    ($(#[$doc:meta])* $verb:ident { $($method:ident: $($name:literal)|+,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub enum $verb {
            $($method),+
        }

        impl $crate::replay::verbs::Verb for $verb {
            fn of(name: &str) -> Option<Self> {
                match name {
                    $($($name)|+ => Some($verb::$method),)+
                    _ => None,
                }
            }
        }
    };
}
