//! What clients synchronise: nothing, everything, anything.

use seriatim_explore::{MemoryModel, Options, Synchronise, Verdict, run};
use seriatim_lang::steps::Ordering;
use seriatim_testing::Random;

const MODELS: [MemoryModel; 2] = [MemoryModel::Tso, MemoryModel::Rc20];

/// Whether every run of the client is right.
#[track_caller]
fn holds(source: &str, model: MemoryModel, operations: u32, synchronise: Synchronise) -> bool {
    let program = seriatim_lang::check(source)
        .unwrap_or_else(|error| panic!("{}", error.render(source, "x.seri")));
    let options = Options {
        threads: source.matches(" thread ").count() as u32,
        client: Some("c".to_owned()),
        memory: Some(model),
        operations: Some(operations),
        synchronise: Some(synchronise),
        ..Options::default()
    };
    let outcome =
        run(&program, &options).unwrap_or_else(|error| panic!("{}", error.render(source, "x")));
    match outcome.verdict {
        Verdict::Holds => true,
        Verdict::Violation(_) => false,
        Verdict::Unknown(why) => panic!("{why:?} on {model:?}, {synchronise:?}\n{source}"),
    }
}

/// Two flags, each raised by one call and looked at by another.
const FLAGS: &str = "object flags : two\nspec two {
  var a: bool = false\n  var b: bool = false
  method raise_a() { a = true }\n  method raise_b() { b = true }
  method look_a() -> bool { return a }\n  method look_b() -> bool { return b }
}
var a: bool = false
var b: bool = false
method raise_a() { store(a, true, release) }
method raise_b() { store(b, true, release) }
method look_a() -> bool { return load(a, acquire) }
method look_b() -> bool { return load(b, acquire) }
client c { thread p { raise_a(); look_b() } thread q { raise_b(); look_a() } }
";

#[test]
fn what_one_call_wrote_may_wait_until_the_next_has_read() {
    for model in MODELS {
        assert!(!holds(FLAGS, model, 2, Synchronise::Nothing), "{model:?}");
        assert!(!holds(FLAGS, model, 2, Synchronise::Anything), "{model:?}");
        assert!(holds(FLAGS, model, 2, Synchronise::Everything), "{model:?}");
    }
    let strong = FLAGS.replace("true, release", "true, seqcst").replace("acquire", "seqcst");
    for (model, clients) in MODELS.into_iter().flat_map(|m| Synchronise::ALL.map(|s| (m, s))) {
        assert!(holds(&strong, model, 2, clients), "{model:?}, {clients:?}");
    }
}

#[test]
fn some_objects_are_right_until_their_clients_synchronise() {
    let spec = "spec last { var n: int = 0\n method put(k: int 0..1) { n = k } method get() -> int { return n } }";
    let source = format!(
        "object own : last\n{spec}\nvar n: [int 0..1; 2] = [0; 2]
        method put(k: int 0..1) {{ if k == 1 {{ store(n[1], 1, relaxed) }} }}
        method get() -> int {{ return load(n[1], relaxed) }}
        client c {{ thread p {{ put(1) }} thread q {{ put(0); get() }} }}"
    );
    // `put(0)` takes nothing back: right if it may come first, wrong once it is known to be later.
    for model in MODELS {
        assert!(holds(&source, model, 2, Synchronise::Nothing), "{model:?}");
        assert!(!holds(&source, model, 2, Synchronise::Anything), "{model:?}");
        assert!(!holds(&source, model, 2, Synchronise::Everything), "{model:?}");
    }
}

/// A write of two words that others may see in either order, looks at each of the words, and a
/// fence. Fences of two threads have an order, but what one thread did does not happen before what
/// the other does next: only a client can make it.
#[test]
fn the_order_of_fences_is_not_known_to_clients() {
    let source = "object words : one\nspec one { var n: bool = false
          method raise() { n = true } method first() -> bool { return n }
          method second() -> bool { return n } method order() { } }
        var a: bool = false\nvar b: bool = false
        method raise() { store(b, true, relaxed); store(a, true, relaxed) }
        method first() -> bool { return load(a, relaxed) }
        method second() -> bool { return load(b, relaxed) }
        method order() { fence(seqcst) }
        client c { thread p { raise() } thread q { first(); order() } thread r { order(); second() } }";
    assert!(holds(source, MemoryModel::Rc20, 2, Synchronise::Nothing));
    assert!(!holds(source, MemoryModel::Rc20, 2, Synchronise::Anything));
}

/// A method: accesses in a row, the last of which gives the result.
type Method = Vec<(bool, usize, i32, Ordering)>;

fn method(random: &mut Random, value: &mut i32) -> Method {
    let orders = |reads| match reads {
        true => [Ordering::Relaxed, Ordering::Acquire, Ordering::SeqCst],
        false => [Ordering::Relaxed, Ordering::Release, Ordering::SeqCst],
    };
    let access = |random: &mut Random, value: &mut i32| {
        let reads = random.index(2) == 0;
        *value += i32::from(!reads);
        (reads, random.index(2), *value, orders(reads)[random.index(3)])
    };
    (0..1 + random.index(2)).map(|_| access(random, value)).collect()
}

fn body(method: &Method, is_spec: bool) -> String {
    let mut lines = "let r = 0; ".to_owned();
    for (reads, x, v, order) in method {
        lines += &match (reads, is_spec) {
            (true, true) => format!("r = x{x}; "),
            (true, false) => format!("r = load(x{x}, {}); ", order.text()),
            (false, true) => format!("x{x} = {v}; "),
            (false, false) => format!("store(x{x}, {v}, {}); ", order.text()),
        };
    }
    lines + "return r"
}

/// An object whose specification is its own code, each method in one step, and a client of two
/// threads that call two methods each.
fn object(methods: &[Method], client: &str, extra_spec: &str, extra: &str) -> String {
    let all = |is_spec| -> String {
        let text = |(i, m)| format!("method m{i}() -> int 0..9 {{ {} }}\n", body(m, is_spec));
        methods.iter().enumerate().map(text).collect()
    };
    let vars = "var x0: int 0..9 = 0\nvar x1: int 0..9 = 0\n";
    let (spec, code) = (all(true), all(false));
    format!(
        "object o : s\nspec s {{\n{vars}{spec}{extra_spec}}}\n{vars}{code}{extra}client c {{{client}}}\n"
    )
}

fn silent(methods: &[Method]) -> String {
    object(methods, " thread p { m0(); m1() } thread q { m2(); m3() } ", "", "")
}

/// The same with a client that writes down each return, and looks for the other's before each call.
fn telling(methods: &[Method]) -> String {
    let (mut spec, mut code, mut client) = (String::new(), String::new(), String::new());
    for thread in 0..2 {
        let (one, two) = (2 * thread, 2 * thread + 1);
        for flag in [one, two] {
            spec += &format!("method tell{flag}() {{ }}\n");
            code += &format!("var flag{flag}: bool = false\n");
            code += &format!("method tell{flag}() {{ store(flag{flag}, true, release) }}\n");
        }
        let loads = format!("let a = load(flag{one}, acquire); let b = load(flag{two}, acquire)");
        spec += &format!("method look{thread}() {{ }}\n");
        code += &format!("method look{thread}() {{ {loads} }}\n");
        let look = format!("look{}()", 1 - thread);
        client += &format!(
            " thread p{thread} {{ {look}; m{one}(); tell{one}(); {look}; m{two}(); tell{two}() }}"
        );
    }
    object(methods, &client, &spec, &code)
}

/// Clients that synchronise what they like are those that write down their returns and look for
/// the others'.
#[test]
fn any_client_is_one_that_tells_of_its_returns() {
    let mut random = Random(21);
    let mut found = [0; 2];
    for _ in 0..60 {
        let mut value = 0;
        let methods: Vec<Method> = (0..4).map(|_| method(&mut random, &mut value)).collect();
        let (silent, telling) = (silent(&methods), telling(&methods));
        for model in MODELS {
            let any = holds(&silent, model, 2, Synchronise::Anything);
            let told = holds(&telling, model, 6, Synchronise::Nothing);
            assert_eq!(any, told, "{model:?}\n{telling}");
            let others = [Synchronise::Nothing, Synchronise::Everything];
            let weaker = others.map(|clients| holds(&silent, model, 2, clients));
            assert!(!any || weaker == [true; 2], "{weaker:?} on {model:?}\n{silent}");
            found[usize::from(any)] += 1;
        }
    }
    assert!(found.iter().all(|count| *count >= 10), "{found:?}");
}
