//! The objects of the library and the specifications of the algorithm language are one catalogue:
//! where both have an object, they have the same operations under the same names and give the same
//! verdicts.

use seriatim::lang::{PRELUDE, builtin_spec, builtin_specs};
use seriatim::spec::{Reader, catalogue};
use seriatim::{ChosenReader, Failures, Options, SeriReader, SpecChoice, check_with, read_str};
use seriatim_testing::Random;

/// An object of both: the language's name, the library's, and the operations that go by other names
/// there.
struct Pair {
    language: &'static str,
    library: &'static str,
    renamed: &'static [(&'static str, &'static str)],
    /// Operations with the arguments and results to try, as JSON; an empty text is none.
    letters: &'static [(&'static str, &'static [&'static str], &'static [&'static str])],
}

const VALUES: &[&str] = &["1", "2"];
const NONE: &[&str] = &[""];
const FOUND: &[&str] = &["null", "1", "2"];
const TRUTH: &[&str] = &["true", "false"];

const PAIRS: &[Pair] = &[
    Pair {
        language: "register",
        library: "register",
        renamed: &[],
        letters: &[("read", NONE, FOUND), ("write", VALUES, NONE)],
    },
    Pair {
        language: "cas_register",
        library: "cas-register",
        renamed: &[],
        letters: &[
            ("read", NONE, FOUND),
            ("write", FOUND, NONE),
            ("cas", &["[null,1]", "[1,2]", "[2,null]"], TRUTH),
        ],
    },
    Pair {
        language: "stack",
        library: "stack",
        renamed: &[],
        letters: &[("push", VALUES, NONE), ("pop", NONE, FOUND)],
    },
    Pair {
        language: "queue",
        library: "queue",
        renamed: &[],
        letters: &[("enqueue", VALUES, NONE), ("dequeue", NONE, FOUND)],
    },
    Pair {
        language: "deque",
        library: "deque",
        renamed: &[],
        letters: &[
            ("push_front", VALUES, NONE),
            ("push_back", VALUES, NONE),
            ("pop_front", NONE, FOUND),
            ("pop_back", NONE, FOUND),
        ],
    },
    Pair {
        language: "work_stealing_deque",
        library: "deque",
        renamed: &[("push", "push_back"), ("pop", "pop_back"), ("steal", "pop_front")],
        letters: &[("push", VALUES, NONE), ("pop", NONE, FOUND), ("steal", NONE, FOUND)],
    },
    Pair {
        language: "set",
        library: "set",
        renamed: &[],
        letters: &[("add", VALUES, TRUTH), ("remove", VALUES, TRUTH), ("contains", VALUES, TRUTH)],
    },
    Pair {
        language: "priority_queue",
        library: "priority-queue",
        renamed: &[],
        letters: &[("insert", VALUES, NONE), ("delete_min", NONE, FOUND)],
    },
    Pair {
        language: "counter",
        library: "fetch-and-add",
        renamed: &[],
        letters: &[
            ("increment", NONE, &["-1", "0", "1"]),
            ("decrement", NONE, &["0", "1", "2"]),
            ("read", NONE, &["-1", "0", "1"]),
        ],
    },
    // `release` is not among them: the language's frees a free mutex as well, so that a lock may be
    // written as a store; in a recorded history it is a mistake of the caller.
    Pair {
        language: "mutex",
        library: "mutex",
        renamed: &[],
        letters: &[("acquire", NONE, NONE), ("try_acquire", NONE, TRUTH)],
    },
    Pair {
        language: "snapshot",
        library: "snapshot(init=[nil, nil])",
        renamed: &[],
        letters: &[
            ("update", &["[0,1]", "[1,1]", "[1,2]"], NONE),
            ("scan", NONE, &["[null,null]", "[1,null]", "[null,1]", "[1,2]", "[1,1]"]),
        ],
    },
];

/// Objects that only the language has.
const ONLY_LANGUAGE: &[(&str, &str)] = &[
    ("bounded_stack", "a bounded-deque of the library, used at one end"),
    ("bounded_queue", "a bounded-deque of the library, used at both ends"),
    ("indicator", "a step of published algorithms, never recorded"),
    ("mailbox", "a step of published algorithms, never recorded"),
    ("ccas_register", "a step of published algorithms, never recorded"),
];

/// Objects that only the library has.
const ONLY_LIBRARY: &[(&str, &str)] = &[
    ("rmw", "a cas-register whose cas always succeeds"),
    ("multi-register", "transactions are not operations of one object of the language"),
    ("map", "a set of the language with values"),
    ("kv", "texts, which the language does not have"),
    ("multiset", "nondeterministic, and no algorithm implements it yet"),
    ("counter", "its additions return nothing or the new value; the language's return the old one"),
    ("semaphore", "no algorithm implements it yet"),
    ("log", "no algorithm implements it yet"),
    ("sorted-map", "no algorithm implements it yet"),
    ("bounded-deque", "no algorithm implements it yet"),
    ("cache", "nondeterministic, and no algorithm implements it yet"),
    ("once-cell", "no algorithm implements it yet"),
    ("weighted-semaphore", "no algorithm implements it yet"),
    ("watch", "no algorithm implements it yet"),
    ("broadcast", "no algorithm implements it yet"),
];

/// Questions about a whole object, which algorithms do not implement.
const ONLY_RECORDED: &[&str] =
    &["size", "is_empty", "front", "back", "top", "peek", "swap", "is_locked", "release"];

#[test]
fn both_have_the_same_objects_and_operations_or_a_reason() {
    for name in builtin_specs() {
        let is_paired = PAIRS.iter().any(|pair| pair.language == name);
        let has_reason = ONLY_LANGUAGE.iter().any(|(known, _)| *known == name);
        assert!(is_paired != has_reason, "{name} is in the language alone, or twice");
    }
    for entry in catalogue() {
        let pairs: Vec<&Pair> =
            PAIRS.iter().filter(|pair| library_name(pair) == entry.name).collect();
        let has_reason = ONLY_LIBRARY.iter().any(|(name, _)| *name == entry.name);
        assert!(pairs.is_empty() == has_reason, "{} is in the library alone, or twice", entry.name);
        for pair in pairs {
            let info = builtin_spec(pair.language).expect("it is in the prelude");
            for method in &info.methods {
                let name = renamed(pair, &method.name);
                let known = entry.methods.iter().any(|known| known.is(name));
                assert!(known, "{} of {} is unknown to the library", method.name, info.name);
            }
        }
        for method in entry.methods {
            let is_told = PAIRS
                .iter()
                .filter(|pair| library_name(pair) == entry.name)
                .any(|pair| pair.letters.iter().any(|(name, ..)| method.is(renamed(pair, name))));
            let is_question = ONLY_RECORDED.contains(&method.names[0])
                || (entry.name, method.names[0]) == ("snapshot", "read")
                || (entry.name, method.names[0]) == ("set", "read");
            let name = method.names[0];
            assert!(
                is_told || is_question || has_reason,
                "{name} of {} is in one only",
                entry.name
            );
        }
    }
}

fn library_name(pair: &Pair) -> &'static str {
    pair.library.split('(').next().unwrap_or_default()
}

fn renamed<'n>(pair: &Pair, name: &'n str) -> &'n str {
    let found = pair.renamed.iter().find(|(own, _)| *own == name);
    found.map_or(name, |(_, other)| other)
}

/// A random small history, with the language's names and with the library's.
fn history(pair: &Pair, random: &mut Random) -> [String; 2] {
    let mut texts = [String::new(), String::new()];
    for process in 0..2 + random.index(2) {
        let mut now = random.index(4);
        for _ in 0..1 + random.index(3) {
            let (name, args, results) = pair.letters[random.index(pair.letters.len())];
            let (arg, result) =
                (args[random.index(args.len())], results[random.index(results.len())]);
            let ret = now + random.index(5);
            let is_pending = random.index(12) == 0;
            let field = |name: &str, value: &str| match value {
                "" => String::new(),
                value => format!(",\"{name}\":{value}"),
            };
            let end = match is_pending {
                true => String::new(),
                false => format!("{},\"return\":{ret}", field("result", result)),
            };
            for (text, name) in texts.iter_mut().zip([name, renamed(pair, name)]) {
                text.push_str(&format!(
                    "{{\"process\":{process},\"op\":\"{name}\"{},\"call\":{now}{end}}}\n",
                    field("arg", arg)
                ));
            }
            now = ret + 1 + random.index(3);
        }
    }
    texts
}

fn word(text: &str, reader: &dyn Reader) -> &'static str {
    let mut history = read_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let options = Options { threads: 1, ..Options::default() };
    let checked = check_with(&mut history, reader, &options);
    checked.unwrap_or_else(|error| panic!("{error}\n{text}")).verdict.word()
}

#[test]
fn both_give_the_same_verdicts() {
    let mut random = Random(0x5EED5);
    let rounds = if seriatim_testing::long() { 20_000 } else { 400 };
    for pair in PAIRS {
        let language =
            SeriReader::parse(PRELUDE, Some(pair.language)).expect("the prelude is right");
        let choice = SpecChoice::parse(pair.library).expect("a name of the catalogue");
        let library = ChosenReader { choice, failures: Failures::Drop };
        let mut seen = [0, 0];
        for _ in 0..rounds {
            let [own, other] = history(pair, &mut random);
            let said = word(&own, &language);
            assert_eq!(word(&other, &library), said, "{}\n{own}", pair.language);
            seen[usize::from(said == "linearizable")] += 1;
        }
        assert!(seen.iter().all(|&count| count > 5), "{}: {seen:?}", pair.language);
    }
}
