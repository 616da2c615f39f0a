//! The explorer, broken on purpose in one place after another: on wrong programs that the broken
//! explorer takes for right ones, the second opinion must notice, and the answer must be *unknown*.

use crate::run::{Ran, command, file, folder, sabotaged};

/// Two threads can both read the same count.
const LOST_UPDATE: &str = "object broken : counter\nvar n: int 0..9 = 0\n\
    method increment() -> int { let c = n; n = (c + 1) % 4; return c }\n\
    method read() -> int { return n }\n\
    client c { thread a { increment() } thread b { increment(); read() } }\n";

/// Two writes can leave different values in the two cells.
const TWO_CELLS: &str = "object broken : register\nvar x: value? = null\nvar y: value? = null\n\
    method write(v: value) { x = v; y = v }\n\
    method read() -> value? { let a = y; let b = x; if a != b { return null }; return a }\n";

/// The error comes only if a write is inside of another thread's operation.
const ASSERTS: &str = "object broken : register\nvar x: value? = null\n\
    method write(v: value) { x = v }\n\
    method read() -> value? { let a = x; let b = x; assert a == b; return b }\n";

/// A fresh node's flag is set when it is made, cleared in each attempt, and set for ever once
/// others see it.
const PRIVATE_FLAG: &str = "object broken : register\nstruct Node { val: value, dead: bool }\n\
    var cell: Node? = null\nvar other: int 0..3 = 0\n\
    method write(v: value) { let n = new Node { val: v, dead: true }\n\
      loop { let t = cell; let x = other; n.dead = false\n\
        if n.dead { continue }\n if cas(cell, t, n) { other = x; return } } }\n\
    method read() -> value? { let c = cell; if c != null { c.dead = true }; return null }\n";

/// The flag is raised by an attempt that failed.
const BLIND_CAS: &str = "object broken : register\nstruct Node { flag: bool }\n\
    var top: Node? = null\nvar d0: Node = new Node { flag: false }\n\
    thread var old: Node? = null\n\
    method write(v: value) { let d = d0\n\
      loop { if cas(top, old, null) { return }\n let f = d.flag; if !f { d.flag = true } } }\n\
    method read() -> value? { old = new Node { flag: false }\n\
      let z = d0.flag; assert !z; return null }\n\
    client c { thread a { read(); write(any) } thread b { read(); read() } }\n";

/// Two threads take two locks, each the other one first.
const TWO_LOCKS: &str = "object broken : register\nvar a: lock\nvar b: lock\nvar x: value? = null\n\
    method write(v: value) { lock(a); lock(b); x = v; unlock(b); unlock(a) }\n\
    method read() -> value? { lock(b); lock(a); let r = x; unlock(a); unlock(b); return r }\n";

/// What the command says of a program with the explorer broken in this way, if in any.
fn verify(way: Option<&str>, (source, client): (&str, Option<&str>)) -> Ran {
    let path = file(&folder("sabotaged-explorer"), "broken.seri", source);
    let bounds = ["--threads", "2", "--values", "2", "--nodes", "5"];
    let mut command = command(&["verify", &path, "--engine", "explore"]);
    command.args(bounds).args(client.iter().flat_map(|client| ["--client", client]));
    sabotaged(command, way)
}

#[test]
fn an_explorer_that_is_broken_in_any_of_these_ways_gives_no_verdict() {
    for (way, program) in [
        ("DroppedSuccessor", (LOST_UPDATE, Some("c"))),
        ("WrongCanonicalForm", (TWO_CELLS, None)),
        ("ForgottenEffect", (LOST_UPDATE, Some("c"))),
        ("DroppedPremise", (PRIVATE_FLAG, None)),
        ("DroppedRestart", (BLIND_CAS, Some("c"))),
        ("BlindReturn", (LOST_UPDATE, Some("c"))),
        ("LostFault", (ASSERTS, None)),
        ("BlindDeadlock", (TWO_LOCKS, None)),
    ] {
        verify(None, program).exits(1);
        println!("{way}");
        verify(Some(way), program).exits(3).says("please report it");
    }
}
