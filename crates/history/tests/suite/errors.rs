//! Bad input is refused with the line and with what was expected; odd but good input is read.

use seriatim_history::{Format, InputError, Problem, ReadOptions, read_from, read_str};

fn refused(text: &str) -> InputError {
    match read_str(text) {
        Ok(history) => panic!("{} operations were read from {text:?}", history.len()),
        Err(error) => error,
    }
}

/// A text, the line of its error, and what the message must say.
type Case = (&'static str, u64, &'static str);

fn check(cases: &[Case]) {
    for &(text, line, said) in cases {
        let error = refused(text);
        let message = error.to_string();
        assert_eq!(error.line, line, "{message}\nof {text}");
        assert!(message.contains(said), "{message}\nlacks {said:?}\nof {text}");
    }
}

#[test]
fn histories_that_cannot_be_are_refused_in_every_format() {
    check(&[
        // A return without call.
        (r#"{"process":1,"type":"return"}"#, 1, "no open call"),
        ("{:process 1, :type :ok, :f :read, :value 1}", 1, "no open call"),
        ("INFO jepsen.util - 1 :ok :read 1", 1, "no open call"),
        ("[1] call push(1)\n[2] return", 2, "process 2 returns, but it has no open call"),
        ("1 invokes add 1\n2 returns true", 2, "no open call"),
        // Two open calls.
        (
            "{\"process\":1,\"type\":\"call\",\"op\":\"a\"}\n\n{\"process\":1,\"type\":\"call\",\"op\":\"a\"}",
            3,
            "its call of line 1 is open",
        ),
        (
            "[{:process 1 :type :invoke :f :a :value 1}\n{:process 1 :type :invoke :f :a :value 1}]",
            2,
            "its call of line 1 is open",
        ),
        ("# @object queue\n[1] call enq(1)\n[1] call enq(2)", 3, "its call of line 2 is open"),
        ("1 invokes add 1\n1 invokes add 1", 2, "its call of line 1 is open"),
        ("# stack\n0 1 5 PUSH 1\n0 4 6 PUSH 2", 3, "its call of line 2 is open"),
        (
            "{\"process\":1,\"op\":\"a\",\"call\":1,\"return\":5}\n{\"process\":1,\"op\":\"a\",\"call\":3,\"return\":9}",
            2,
            "its call of line 1 is open",
        ),
        // A return before the call.
        (r#"{"op":"a","call":9,"return":8}"#, 1, "returns at 8, before its call at 9"),
        ("# stack\npush 1 9 8", 2, "returns at 8, before its call at 9"),
        ("# stack\n0 9 8 PUSH 1", 2, "returns at 8, before its call at 9"),
        ("# stack\npush 1 0 18446744073709551615", 2, "times below 2^64 - 1"),
        // Time that runs backwards.
        (
            "{\"process\":1,\"type\":\"call\",\"op\":\"a\",\"time\":9}\n{\"process\":1,\"type\":\"return\",\"time\":8}",
            2,
            "time runs backwards from 9 to 8",
        ),
        // Ids.
        (
            "{\"id\":\"x\",\"op\":\"a\",\"call\":1}\n{\"id\":\"x\",\"op\":\"a\",\"call\":2}",
            2,
            "operation id \"x\" was used before, in line 1",
        ),
        (
            "{\"process\":1,\"type\":\"call\",\"op\":\"a\",\"id\":1}\n{\"process\":1,\"type\":\"return\",\"id\":2}",
            2,
            "(operation id 2)",
        ),
        // Returns that are not of their calls.
        (
            "{:process 1 :type :invoke :f :read :value nil}\n{:process 1 :type :ok :f :write :value 1}",
            2,
            "the return says `:f :write` but the call that it closes says `:f :read`",
        ),
        (
            "{:process 1 :type :invoke :f :get :key 1 :value nil}\n{:process 1 :type :ok :f :get :key 2 :value 1}",
            2,
            ":key 2",
        ),
        (
            "{\"process\":1,\"type\":\"call\",\"op\":\"a\",\"arg\":1}\n{\"process\":1,\"type\":\"return\",\"op\":\"b\"}",
            2,
            "the return says `b`",
        ),
        ("# @object stack\n[1] call pop(3)\n[1] return 4", 3, "the return says `4`"),
    ]);
}

#[test]
fn lines_of_json_say_what_is_wrong_with_them() {
    check(&[
        (r#"{"process":1,"f":"a","call":1}"#, 1, "did you mean `op`?"),
        (r#"{"proces":1,"op":"a","call":1}"#, 1, "did you mean `process`?"),
        (r#"{"op":"a","call":1,"latitude":3}"#, 1, "one of process, op, arg"),
        (r#"{"op":"a","op":"b","call":1}"#, 1, "each field once"),
        (r#"{"op":"a"}"#, 1, "`call` (an operation)"),
        (r#"{"call":1}"#, 1, "the field `op` in an operation"),
        (r#"{"op":"a","call":1,"time":2}"#, 1, "no field `time` in an operation"),
        (r#"{"op":"a","call":1.5}"#, 1, "a time, a whole number from 0 on, found `1.5"),
        (r#"{"op":"a","call":-1}"#, 1, "a whole number"),
        (r#"{"op":"a","call":99999999999999999999}"#, 1, "a whole number"),
        (r#"{"op":"a","call":01}"#, 1, "a whole number"),
        (r#"{"op":"a","call":1,"result":3}"#, 1, "`return` beside `result`"),
        (r#"{"op":"a","call":1,"failed":true}"#, 1, "`return` beside `result`"),
        (r#"{"op":"a","call":1,"return":2,"failed":1}"#, 1, "true or false as `failed`"),
        (r#"{"op":7,"call":1}"#, 1, "the operation's name, a string"),
        (r#"{"op":"a","call":1} x"#, 1, "the end of the line, found `x`"),
        (r#"{"op":"a","call":1"#, 1, "`,` or `}`"),
        (r#"{"op":"a","call":1,"#, 1, "a field's name"),
        (r#"{"op":"a"#, 1, "`\"` at the end of the string"),
        (r#"{"op":"\q","call":1}"#, 1, "an escaped character"),
        (r#"{"op":"\ud800","call":1}"#, 1, "an escaped character"),
        (r#"{"op":"a","call":1,"arg":tru}"#, 1, "a JSON value"),
        (r#"{"op":"a","call":1,"arg":{"a":1,"a":2}}"#, 1, "each key once"),
        (r#"{"process":1,"type":"ok","op":"a"}"#, 1, "\"call\", \"return\", \"fail\" or \"info\""),
        (r#"{"process":1,"type":"call"}"#, 1, "`op` and no `result` in a call"),
        (r#"{"type":"call","op":"a"}"#, 1, "the field `process` in an event"),
        (r#"{"seriatim":2}"#, 1, "version 1"),
        ("{\"op\":\"a\",\"call\":1}\n{\"seriatim\":1}", 2, "the header before everything else"),
        ("{\"seriatim\":1,\"missing\":1}\n{\"seriatim\":1}", 2, "one header"),
        (
            "{\"op\":\"a\",\"call\":1}\n{\"process\":1,\"type\":\"call\",\"op\":\"a\"}",
            2,
            "an operation without `process`",
        ),
        (
            "{\"op\":\"a\",\"call\":1}\n{\"process\":1,\"op\":\"a\",\"call\":1}",
            2,
            "an operation without `process`",
        ),
        ("{\"op\":\"a\",\"call\":1}\n{\"annotation\":\"x\"}", 2, "the `start` of an annotation"),
        (r#"{"annotation":"x","start":2,"end":1}"#, 1, "not after the `end`"),
    ]);
}

#[test]
fn lines_of_other_checkers_say_what_is_wrong_with_them() {
    check(&[
        ("# stack\npush 1 1\n", 2, "the end, a whole number, found nothing"),
        ("# stack\npush x 1 2\n", 2, "a whole number as value, found `x`"),
        ("# stack\npush 1 1 2 3\n", 2, "the end of the line, found `3`"),
        ("# stack\nenq 1 1 2\n", 2, "an operation of a stack: push, pop, peek, found `enq`"),
        ("# set\ninsert 1 2 1 2\n", 2, "0 or 1 as the set's answer, found `2`"),
        ("# stack\n0 1 2 ENQ 1\n", 2, "an operation of a stack: PUSH, POP, PEEK, found `ENQ`"),
        ("# stack\npush -1 1 2\npop -1 3 4\n", 2, "a value other than -1"),
        ("# queue\nenq -1 1 2\n", 2, "a value other than -1"),
        ("# deque\npush_back -1 1 2\n", 2, "a value other than -1"),
        ("# pqueue\ninsert -1 1 2\n", 2, "a value other than -1"),
        ("# priorityqueue\n0 1 2 INSERT -1\n", 2, "a value other than -1"),
        ("# rmw\n0 1 2 READ_MODIFY_WRITE 1\n", 2, "the new value"),
        ("# semaphore\n0 1 2 DECR 2\n", 2, "0 or 1 as the answer"),
        ("1 invokes grow 1\n", 1, "`add`, `remove` or `contains`, found `grow`"),
        ("1 invokes add\n", 1, "the operation's value, found nothing"),
        ("1 returns true\n", 1, "no open call"),
        ("1 invokes add 1\n1 returns 1\n", 2, "`true` or `false`, found `1`"),
        ("# @object stack\n[1] call push\n", 2, "the value that is added"),
        ("# @object stack\n[1] call push(empty)\n", 2, "a value of another name"),
        ("# @object queue\n[1] call add Empty\n", 2, "a value of another name"),
        ("# @object stack\n[1] call pop(empty)\n[1] return 1\n", 3, "1"),
        ("# @object stack\n[1] crash\n", 2, "`call` or `return`, found `crash`"),
        ("# @object stack\n[1] call push(1\n", 2, "`)` at the end"),
        ("# @object stack\n[1] call push(1, 2)\n", 2, "one value"),
        ("# @object stack\n[x] call push(1)\n", 2, "`[thread]`"),
        ("# @object stack\n# @object queue\n", 2, "one `# @object` line"),
        ("# @object stack\n[1] call peek\n", 2, "push, pop, enq, deq, add or remove"),
        ("INFO jepsen.util - 0 :invoke\n", 1, "the operation's name"),
        ("INFO jepsen.util - 0 :started :read nil\n", 1, ":invoke|:ok|:fail|:info"),
        ("INFO jepsen.util - 0 :invoke :read nil\ngarbage\n", 2, "a line of the log"),
        ("INFO jepsen.util - 0 :invoke :read [1\n", 1, "a form or `]`"),
        ("INFO jepsen.util - 0 :invoke :read 1 2 3\n", 1, "at most"),
    ]);
}

#[test]
fn edn_that_is_broken_says_where() {
    check(&[
        ("{:process 0 :type :invoke :f :read :value [1 2}", 1, "a form or `]`, found `}`"),
        (
            "[{:process 0 :type :invoke :f :read :value nil}\n",
            2,
            "an event or `]`, found the end of the file",
        ),
        (
            "{:process 0 :type :invoke\n:f :read :value \"a",
            2,
            "`\"` at the end of the string of line 2",
        ),
        ("{:process 0 :type :invoke :f", 1, "a form"),
        (
            "{:process 0 :type :begin :f :read}",
            1,
            ":invoke, :ok, :fail or :info as :type, found `begin`",
        ),
        ("{:process 0 :type :invoke :value 1}", 1, "the key :f in the event's map"),
        ("{:type :invoke :f :a :value 1}", 1, "the key :process"),
        ("{:process 0 :process 0 :type :invoke :f :a}", 1, "each key once"),
        ("{:process 0 :type :invoke :f :a :x 1 :x 2}", 1, "each key once"),
        ("{:process 0 :type :invoke :f :a :value {1 2 1 3}}", 1, "each key once"),
        ("{:process 0 :type :invoke :f :a :value {1 2 3}}", 1, "a value for every key"),
        ("{:process 0 :type :invoke :f 7}", 1, "a keyword or a string"),
        ("{:process 0 :type :invoke :f :a :value 1x}", 1, "a number, found `1x`"),
        ("{:process 0 :type :invoke :f :a :value ##Foo}", 1, "##NaN, ##Inf or ##-Inf"),
        ("{:process 0 :type :invoke :f :a :value \"\\q\"}", 1, "an escaped character"),
        ("{:process 0 :type :invoke :f :a :value 1}\n\n7", 3, "an event, a map"),
        ("{:process 0 :type :invoke :f :a}]", 1, "an event, a map"),
    ]);
}

#[test]
fn deep_nesting_is_an_error_and_not_a_crash() {
    let deep = 1_000_000;
    for (open, format) in [("[", "json"), ("{\"a\":", "json"), ("[", "edn"), ("{:a ", "edn")] {
        let text = match format {
            "json" => format!("{{\"op\":\"a\",\"call\":1,\"arg\":{}", open.repeat(deep)),
            _ => format!("{{:process 0 :type :invoke :f :a :value {}", open.repeat(deep)),
        };
        let message = refused(&text).to_string();
        assert!(message.contains("nest at most 128 deep"), "{message}");
    }
    for prefix in ["#_", "^", "#a ", "#'", "'", "#^"] {
        let text = format!("{{:process 0 :type :invoke :f :a :value {}", prefix.repeat(deep));
        refused(&text);
    }
}

#[test]
fn a_line_of_ten_megabytes_is_read_or_refused() {
    let long = "x".repeat(10 << 20);
    let json = format!("{{\"op\":\"a\",\"arg\":\"{long}\",\"call\":1}}\n");
    assert_eq!(read_str(&json).unwrap().len(), 1);
    let edn = format!("{{:process 0 :type :invoke :f :a :value \"{long}\"}}\n");
    assert_eq!(read_str(&edn).unwrap().len(), 1);
    for text in
        [long.clone(), format!("{{{long}"), format!("# stack\n{long}"), format!("1 invokes {long}")]
    {
        let message = refused(&text).to_string();
        assert!(message.len() < 400, "{}", message.len());
    }
}

#[test]
fn text_that_is_not_utf8_and_bytes_that_are_not_text_are_refused() {
    let cases: [(&[u8], u64); 6] = [
        (b"{\"op\":\"a\",\"call\":1}\n{\"op\":\"\xff\",\"call\":1}", 2),
        (b"{:process 0 :type :invoke :f :a :value 1}\n{:process 1 :type :invoke :f :a :value \"\xff\"}", 2),
        (b"{:process 0 :type :invoke :f :a\n:value \xff\xfe}", 2),
        (b"# @object stack\n[1] call push(\xff)", 2),
        (b"1 invokes add \xc3\x28", 1),
        (b"\x00\x01\x02\xff", 1),
    ];
    for (bytes, line) in cases {
        let error = read_from(bytes, "bytes", ReadOptions::default()).unwrap_err();
        assert_eq!(error.line, line, "{error}");
    }
}

#[test]
fn every_prefix_of_a_file_is_read_or_refused_with_a_line() {
    let texts = [
        "{\"seriatim\":1,\"spec\":\"q\"}\n{\"process\":0,\"op\":\"a\",\"arg\":[1,{\"b\":null}],\"call\":1,\"return\":2}\n",
        "[#jepsen.history.Op{:process 0, :type :invoke, :f :a, :value [1 \"b\" \\c]}\n{:process 0, :type :ok, :f :a}]",
        "INFO  jepsen.util - 0\t:invoke\t:cas\t[1 2]\nINFO  jepsen.util - 0\t:ok\t:cas\t[1 2]\n",
        "# @object atomic-stack\n[1] call push(a)\n[1] return\n",
        "# set\ninsert 1 1 1 2\ncontains 1 0 3 4\n",
        "# set\n0 1 2 INSERT 1 1\n",
        "1 invokes add 1\n1 returns true\n",
    ];
    for text in texts {
        let lines = text.lines().count() as u64;
        for end in 0..text.len() {
            if let Err(error) = read_str(&text[..end]) {
                assert!((1..=lines + 1).contains(&error.line), "{error} of {:?}", &text[..end]);
            }
        }
        read_str(text).unwrap();
    }
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_are_fine() {
    let texts = [
        "{\"op\":\"a\",\"call\":1}\n{\"op\":\"a\",\"call\":1}\n",
        "{:process 0 :type :invoke :f :a}\n{:process 1 :type :invoke :f :a}\n",
        "INFO jepsen.util - 0\t:invoke\t:read\tnil\nINFO jepsen.util - 1\t:invoke\t:read\tnil\n",
        "# @object atomic-stack\n[1] call push(1)\n[2] call pop\n",
        "# stack\npush 1 1 2\npop 1 3 4\n",
        "# stack\n0 1 2 PUSH 1\n0 3 4 POP 1\n",
        "1 invokes add 1\n2 invokes add 2\n",
    ];
    for text in texts {
        let crlf = format!("\u{feff}{}", text.replace('\n', "\r\n"));
        assert_eq!(read_str(&crlf).unwrap().len(), 2, "{text}");
        assert_eq!(read_str(text).unwrap().len(), 2, "{text}");
    }
}

#[test]
fn skipped_lines_of_a_jepsen_log_are_counted() {
    let text = "WARN  jepsen.core - something\njava.lang.Exception: no\n\tat clojure.core\n\
                INFO  jepsen.util - 0 :invoke :read nil\nINFO  jepsen.core - more\n\
                INFO  jepsen.util - :nemesis :info :start \"cut\"\n";
    let history = read_str(text).unwrap();
    assert_eq!(history.len(), 1);
    let texts: Vec<&str> = history.annotations().iter().map(|a| &*a.text).collect();
    assert_eq!(texts, ["start \"cut\"", "4 lines of other loggers were skipped"]);
}

#[test]
fn a_named_format_is_believed() {
    let read = |text: &str, format| {
        let options = ReadOptions { format: Some(format), independent: false };
        read_from(text.as_bytes(), "text", options)
    };
    assert_eq!(read("# stack\n", Format::PolyLin).unwrap().spec(), Some("stack"));
    assert_eq!(read("# stack\n", Format::Fptlin).unwrap().spec(), Some("stack"));
    let error = read("# stack\n", Format::JsonLines).unwrap_err();
    assert!(matches!(error.problem, Problem::Syntax { .. }), "{error}");
    assert!(read("", Format::Ahorn).unwrap().is_empty());
}
