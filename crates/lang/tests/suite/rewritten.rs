//! Records and parameters of specifications mean what is written for them.

use seriatim_lang::{check, lower};

const RECORDS: &str = "object o : s(SIZE + 1)
spec s(MOST) { var n: int 0..MOST = 0\n method m(i: int 0..1) -> value? { n = MOST; return empty } }
const SIZE = 2
record Cell { turn: int 0..9, plain item: value? = null, guard: lock }
var cells: [Cell; SIZE] = [new Cell { turn: 1 }, new Cell { turn: 2, item: null }]
var own: Cell = new Cell { turn: 3 }
init { cells[1].turn = 4 }
method m(i: int 0..1) -> value? {
  lock(cells[i].guard)
  let t = load(cells[i].turn, acquire) + own.turn
  if cas(cells[(i + t) % SIZE].turn, t, 1, release) { cells[i].item = null }
  unlock(cells[i].guard)
  return own.item
}
";

const FIELDS: &str = "object o : s
spec s { var n: int 0..3 = 0\n method m(i: int 0..1) -> value? { n = 3; return empty } }
const SIZE = 2
var turns: [int 0..9; SIZE] = [1, 2]
plain var items: [value?; SIZE] = [null, null]
var guards: [lock; SIZE]
var turn: int 0..9 = 3
plain var item: value? = null
var guard: lock
init { turns[1] = 4 }
method m(i: int 0..1) -> value? {
  lock(guards[i])
  let t = load(turns[i], acquire) + turn
  if cas(turns[(i + t) % SIZE], t, 1, release) { items[i] = null }
  unlock(guards[i])
  return item
}
";

#[test]
fn an_array_of_records_is_an_array_for_each_field() {
    let steps = |source: &str| {
        let program = check(source).unwrap_or_else(|e| panic!("{}", e.render(source, "x.seri")));
        lower(&program, 2, None).unwrap_or_else(|e| panic!("{}", e.render(source, "x.seri")))
    };
    let (records, fields) = (steps(RECORDS), steps(FIELDS));
    let code = |steps: &seriatim_lang::steps::Steps| -> Vec<String> {
        steps.code.iter().map(|instr| format!("{:?} {:?}", instr.op, instr.orders)).collect()
    };
    assert_eq!(code(&records), code(&fields));
    let plain = |steps: &seriatim_lang::steps::Steps| -> Vec<bool> {
        steps.shared.iter().map(|slot| slot.plain).collect()
    };
    assert_eq!(plain(&records), plain(&fields));
    assert_eq!(records.shared[1].name, "cells[1].turn");
}

#[track_caller]
fn refused(source: &str, needles: &[&str]) {
    let error = check(source).expect_err("this should be refused").render(source, "x.seri");
    needles.iter().for_each(|needle| assert!(error.contains(needle), "{needle}: {error}"));
}

#[test]
fn a_record_is_no_value() {
    let with = |from: &str, to: &str| RECORDS.replace(from, to);
    let held = "`cells` holds records, which are no values";
    refused(&with("return own.item", "let c = cells[0]; return empty"), &[held, "cells[i].turn"]);
    refused(&with("cells[i].item = null", "cells.item = null"), &[held]);
    refused(&with("return own.item", "return own.itme"), &["no field `itme`", "turn, item, guard"]);
    refused(&with("let t = load", "let cells = load"), &["a variable that holds records"]);
    refused(
        &with(
            "method m(i: int 0..1) -> value? {\n",
            "fn f(c: Cell) { }\nmethod m(i: int 0..1) -> value? {\n",
        ),
        &["`Cell` is a record"],
    );
    refused(&with("= new Cell { turn: 3 }", "= new Cell { }"), &["`turn` has no value"]);
    refused(&with("= new Cell { turn: 3 }", "= null"), &["begins as `new Cell { … }`"]);
    refused(&with("{ turn: 3 }", "{ turn: 3, x: 1 }"), &["`Cell` has no field `x`"]);
}

#[test]
fn a_parameter_is_given_once_and_is_a_constant() {
    let with = |from: &str, to: &str| RECORDS.replace(from, to);
    refused(&with("s(SIZE + 1)", "s"), &["nothing says what `MOST` is", "object … : s(…)"]);
    assert!(check(&with("s(SIZE + 1)", "s").replace("s(MOST)", "s(MOST = 2)")).is_ok());
    refused(&with("s(SIZE + 1)", "s(1, 2)"), &["`s` has one parameter"]);
    refused(&with("s(SIZE + 1)", "s(own)"), &["this must be a constant"]);
    refused(&with("s(MOST)", "s(MOST, MOST)"), &["MOST"]);
    refused(&with("spec s(MOST)", "spec s(SIZE)"), &["SIZE"]);
    let ring = |most: u32| {
        let source = format!(
            "object o : bounded_queue({most})\nvar full: bool = false\n\
             method enqueue(v: value) -> bool {{ return !swap(full, true) }}\n"
        );
        check(&source).expect("a right file").arguments
    };
    assert_eq!((ring(1), ring(3)), (vec![1], vec![3]));
    refused(
        "object o : stack(3)\nmethod pop() -> value? { return empty }",
        &["`stack` has fewer parameters"],
    );
}
