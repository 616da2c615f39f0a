//! Data races: what the model reports, and what happens-before of the execution graphs says.

use super::program::{Do, Threads, body};
use Ordering::{Acquire, Relaxed, Release, SeqCst};
use seriatim_explore::weak::graph::{Graph, GraphEvent, Kind};
use seriatim_explore::{MemoryModel, Options, Verdict, ViolationKind, run};
use seriatim_lang::machine::Fault;
use seriatim_lang::steps::Ordering;
use seriatim_testing::Random;

const WORDS: usize = 2;

fn source(threads: &Threads) -> String {
    let (mut spec, mut methods, mut client) = (String::new(), String::new(), String::new());
    for (number, thread) in threads.iter().enumerate() {
        let lines = body(thread, 1);
        let lines = lines.rsplit_once("  return").map_or("", |(lines, _)| lines);
        spec += &format!("  method t{number}() {{ }}\n");
        methods += &format!("method t{number}() {{\n{lines}}}\n");
        client += &format!("  thread p{number} {{ t{number}() }}\n");
    }
    let vars: String = (0..WORDS).map(|x| format!("var x{x}: int 0..9 = 0\n")).collect();
    format!(
        "object races : nothing\nspec nothing {{\n{spec}}}\n{vars}plain var p: int 0..9 = 0\n\
         {methods}client all {{\n{client}}}\n"
    )
}

/// Whether the model reports a race.
fn races(threads: &Threads) -> bool {
    let source = source(threads);
    let program = seriatim_lang::check(&source)
        .unwrap_or_else(|error| panic!("{}", error.render(&source, "races.seri")));
    let options = Options {
        threads: threads.len() as u32,
        client: Some("all".to_owned()),
        memory: Some(MemoryModel::Rc20),
        operations: Some(1),
        ..Options::default()
    };
    match run(&program, &options).expect("it can be explored").verdict {
        Verdict::Holds => false,
        Verdict::Violation(found) => {
            assert_eq!(found.kind, ViolationKind::Fault(Fault::DataRace), "{source}");
            true
        }
        Verdict::Unknown(why) => panic!("{why:?}\n{source}"),
    }
}

/// Where a thread may end: at an `Only` that fails, or behind its last instruction.
fn ends(thread: &[Do]) -> Vec<usize> {
    let stops = (0..thread.len()).filter(|at| matches!(thread[*at], Do::Only(_)));
    stops.chain([thread.len()]).collect()
}

/// The same by the axioms: some consistent graph has two accesses of the plain word, one of them a
/// write, neither of which happens before the other.
fn races_by_axioms(threads: &Threads) -> bool {
    let mut chosen: Vec<Vec<usize>> = vec![vec![]];
    for thread in threads {
        let longer = |ends_so_far: &Vec<usize>| -> Vec<Vec<usize>> {
            ends(thread).into_iter().map(|end| [&ends_so_far[..], &[end]].concat()).collect()
        };
        chosen = chosen.iter().flat_map(longer).collect();
    }
    chosen.iter().any(|ends| races_up_to(threads, ends))
}

/// A condition on what a read gives.
struct Condition {
    read: usize,
    value: i32,
    is_met: bool,
}

fn races_up_to(threads: &Threads, ends: &[usize]) -> bool {
    let mut graph = Graph::default();
    let mut values = vec![0; WORDS];
    let mut conditions = vec![];
    let mut plain = vec![];
    for word in 0..WORDS {
        let (kind, order) = (Kind::Write, Some(Relaxed));
        graph.events.push(GraphEvent { thread: None, kind, word: Some(word), order });
    }
    for (thread, (code, end)) in threads.iter().zip(ends).enumerate() {
        let mut last = 0;
        for (at, instruction) in code.iter().take(end + 1).enumerate() {
            let (kind, word, value, order) = match *instruction {
                Do::Only(value) => {
                    conditions.push(Condition { read: last, value, is_met: at != *end });
                    continue;
                }
                Do::Read(x, o) => (Kind::Read, Some(x), 0, Some(o)),
                Do::Write(x, v, o) => (Kind::Write, Some(x), v, Some(o)),
                Do::Fence(o) => (Kind::Fence, None, 0, Some(o)),
                Do::Plain(true) => (Kind::Write, None, 0, None),
                Do::Plain(false) => (Kind::Read, None, 0, None),
                _ => panic!("programs have no others"),
            };
            let number = graph.events.len();
            if order.is_none() {
                plain.push(number);
            }
            if kind == Kind::Read && order.is_some() {
                last = number;
            }
            graph.events.push(GraphEvent { thread: Some(thread), kind, word, order });
            values.push(value);
        }
    }
    graph.reads_from = vec![None; graph.events.len()];
    graph.modification = vec![vec![]; WORDS];
    let reads: Vec<usize> = (0..graph.events.len())
        .filter(|e| graph.events[*e].kind == Kind::Read && graph.events[*e].word.is_some())
        .collect();
    some_graph(&mut graph, &reads, 0, &mut |graph| {
        let given = |c: &Condition| graph.reads_from[c.read].map(|write| values[write]);
        let is_met = |c: &Condition| (given(c) == Some(c.value)) == c.is_met;
        if !conditions.iter().all(is_met) || graph.broken(MemoryModel::Rc20).is_some() {
            return false;
        }
        let before = graph.happens_before();
        let clash = |a: usize, b: usize| {
            let (first, second) = (&graph.events[a], &graph.events[b]);
            let writes = first.kind == Kind::Write || second.kind == Kind::Write;
            writes && first.thread != second.thread && !before.has(a, b) && !before.has(b, a)
        };
        plain.iter().any(|a| plain.iter().any(|b| clash(*a, *b)))
    })
}

/// Whether a choice of reads-from and modification order meets a test.
fn some_graph(
    graph: &mut Graph,
    reads: &[usize],
    word: usize,
    test: &mut dyn FnMut(&Graph) -> bool,
) -> bool {
    let writes = |graph: &Graph, word: usize| -> Vec<usize> {
        let is_write =
            |e: &usize| graph.events[*e].word == Some(word) && graph.events[*e].kind == Kind::Write;
        (0..graph.events.len()).filter(is_write).collect()
    };
    if let Some((read, rest)) = reads.split_first() {
        let Some(of) = graph.events[*read].word else { return false };
        return writes(graph, of).into_iter().any(|write| {
            graph.reads_from[*read] = Some(write);
            some_graph(graph, rest, word, test)
        });
    }
    if word == WORDS {
        return test(graph);
    }
    super::axioms::orders(&writes(graph, word)).into_iter().any(|order| {
        graph.modification[word] = order;
        some_graph(graph, reads, word + 1, test)
    })
}

/// The order of `seqcst` fences is known to whoever saw an old value, and hands nothing on: the
/// second thread knows that its fence is the later one, and races all the same.
fn later_fence(last: &[Do]) -> Threads {
    let first = [Do::Plain(true), Do::Fence(SeqCst), Do::Read(0, Relaxed), Do::Only(0)];
    let second = [Do::Write(0, 1, Relaxed), Do::Fence(SeqCst), Do::Read(1, Relaxed), Do::Only(1)];
    let tell = [Do::Write(1, 1, Relaxed)];
    vec![[&first[..], &tell].concat(), [&second[..], last, &[Do::Plain(false)]].concat()]
}

fn program(random: &mut Random) -> Threads {
    let thread = |random: &mut Random| {
        let mut code = vec![];
        for _ in 0..2 + random.index(3) {
            let x = random.index(WORDS);
            let strength = random.index(3);
            match random.index(10) {
                0..3 => code.push(Do::Write(x, 1, [Relaxed, Release, SeqCst][strength])),
                3..6 => {
                    code.push(Do::Read(x, [Relaxed, Acquire, SeqCst][strength]));
                    code.extend([Do::Only(1), Do::Only(0)].get(random.index(3)).copied());
                }
                6..8 => code.push(Do::Fence([Acquire, Release, SeqCst][strength])),
                _ => {}
            }
        }
        code.insert(random.index(code.len() + 1), Do::Plain(random.index(2) == 0));
        // An `Only` stays behind its read.
        let split = code.windows(2).position(|two| matches!(two, [Do::Plain(_), Do::Only(_)]));
        split.into_iter().for_each(|at| code.swap(at, at + 1));
        code
    };
    (0..2).map(|_| thread(random)).collect()
}

#[test]
fn races_are_what_happens_before_does_not_order() {
    assert!(races(&later_fence(&[])), "the order of fences is no happens-before");
    assert!(!races(&later_fence(&[Do::Fence(Acquire)])), "this fence acquires what was told");
    let count = if seriatim_testing::long() { 20_000 } else { 1_500 };
    let mut random = Random(0xACE);
    let mut found = [0; 2];
    for number in 0..count {
        let threads = match number {
            0 => later_fence(&[]),
            _ => program(&mut random),
        };
        let expected = races_by_axioms(&threads);
        assert_eq!(races(&threads), expected, "{number}: {threads:?}\n{}", source(&threads));
        found[usize::from(expected)] += 1;
    }
    assert!(found.iter().all(|count| *count > 100), "{found:?}");
}

/// Nor does the order of fences tell of a new node; but it keeps a thread that is told of the node
/// from what is old in it.
#[test]
fn fences_do_not_tell_of_new_nodes() {
    let source = |tell: &str, learn: &str| {
        format!(
            "object nodes : nothing\nspec nothing {{ method make() {{ }} method look() {{ }} }}
            struct Node {{ content: int 0..1 }}
            var node: Node? = null\nvar y: bool = false\nvar z: bool = false
            method make() {{
              let n = new Node {{ content: 0 }}
              store(node, n, {tell})
              store(n.content, 1, relaxed)
              fence(seqcst)
              if !load(y, relaxed) {{ store(z, true, relaxed) }}
            }}
            method look() {{
              store(y, true, relaxed)
              fence(seqcst)
              if load(z, relaxed) {{
                let n = load(node, {learn})
                let c = load(n.content, relaxed)
                assert c == 1
              }}
            }}
            client all {{ thread p {{ make() }} thread q {{ look() }} }}"
        )
    };
    let fault = |tell, learn| fault_of(&source(tell, learn));
    let race = Some(ViolationKind::Fault(Fault::DataRace));
    assert_eq!(fault("relaxed", "acquire"), race);
    assert_eq!(fault("release", "relaxed"), race);
    assert_eq!(fault("release", "acquire"), None);
}

/// The read comes before the write in every run, so that only the write can find the race: who has
/// read a field may be forgotten where it is written before others see it, and nowhere else.
#[test]
fn a_field_that_others_have_read_is_written_by_who_knows_of_the_read() {
    let source = |publish: &str, write: &str, done: &str| {
        let (tell, learn) =
            if done == "told" { ("release", "acquire") } else { ("relaxed", "relaxed") };
        format!(
            "object nodes : nothing\nspec nothing {{ method make() {{ }} method look() {{ }} }}
            struct Node {{ plain content: int 0..2, plain other: Node? }}
            var node: Node? = null\nvar done: bool = false
            method make() {{
              let n = new Node {{ content: 0, other: null }}
              n.content = 1
              {publish}
              await load(done, {learn})
              {write}
            }}
            method look() {{
              let n = load(node, acquire)
              if n != null {{
                let c = n.content
                assert c == 1
                store(done, true, {tell})
              }}
            }}
            client all {{ thread p {{ make() }} thread q {{ look() }} }}"
        )
    };
    let race = Some(ViolationKind::Fault(Fault::DataRace));
    let publications = [
        "store(node, n, release)",
        "let m = n\nstore(node, m, release)",
        "let m = new Node { content: 1, other: n }\nn.other = m\nstore(node, n, release)",
        "let won = cas(node, null, n, release, relaxed)",
    ];
    for publish in publications {
        for (write, done, expected) in [
            ("n.content = 2", "untold", race),
            ("n.content = 2", "told", None),
            ("let k = n\nk.content = 2", "untold", race),
            ("let k = load(node, relaxed)\nk.content = 2", "untold", race),
            ("let k = new Node { content: 0, other: n }\nk.content = 2", "untold", None),
            ("", "untold", None),
        ] {
            let source = source(publish, write, done);
            assert_eq!(fault_of(&source), expected, "{source}");
        }
    }
}

/// How two threads go wrong.
fn fault_of(source: &str) -> Option<ViolationKind> {
    let program = seriatim_lang::check(source)
        .unwrap_or_else(|error| panic!("{}", error.render(source, "nodes.seri")));
    let (client, memory) = (Some("all".to_owned()), Some(MemoryModel::Rc20));
    let options = Options { threads: 2, client, memory, operations: Some(1), ..Options::default() };
    match run(&program, &options).expect("it can be explored").verdict {
        Verdict::Holds => None,
        Verdict::Violation(found) => Some(found.kind),
        Verdict::Unknown(why) => panic!("{why:?}\n{source}"),
    }
}
