//! What the formats mean: each text becomes the operations that a person would read in it.

use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use seriatim_history::{
    Format, History, ReadOptions, Value, expand, open, read, read_from, read_str,
};
use std::io::Write;

/// The operations, a line each: process, object, operation, call and return.
fn told(history: &History) -> Vec<String> {
    let line = |operation: seriatim_history::Operation<'_>| {
        let process = history.process_name(operation.process());
        let object = match operation.object() {
            object if object.is_present() => format!("{}.", history.values().get(object)),
            _ => String::new(),
        };
        let ret = operation.ret().map_or("…".into(), |ret| ret.to_string());
        format!("{process}: {object}{operation} [{}, {ret}]", operation.call())
    };
    history.operations().map(line).collect()
}

fn means(text: &str, spec: Option<&str>, operations: &[&str]) {
    let history = read_str(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(told(&history), operations, "{text}");
    assert_eq!(history.spec(), spec);
}

#[test]
fn json_lines_of_operations() {
    means(
        r#"{"seriatim":1,"spec":"queue"}
           {"process":0,"op":"enqueue","arg":7,"call":10,"return":12}
           {"process":"b","op":"put","object":"m","key":"k","arg":[1,null],"call":9,"return":11,"failed":true}

           { "return" : 15 , "call":11,"op":"dequeue","result":7,"process":2,"id":4,"note":{"a":1}}
           {"process":3,"op":"dequeue","call":13}"#,
        Some("queue"),
        &[
            "\"b\": \"m\".put(\"k\", [1, nil]) -> failed [9, 11]",
            "0: enqueue(7) [10, 12]",
            "2: dequeue() -> 7 [11, 15]",
            "3: dequeue() -> ? [13, …]",
        ],
    );
}

#[test]
fn json_lines_of_events() {
    let text = r#"{"process":0,"type":"call","op":"cas","arg":[1,2],"time":10}
        {"annotation":"cut","group":"nemesis"}
        {"process":1,"type":"call","op":"read","note":"n"}
        {"process":0,"type":"fail","time":20}
        {"process":1,"type":"info","note":7}
        {"process":1,"type":"call","op":"read"}
        {"process":1,"type":"return","op":"read","result":null,"time":30}
        {"annotation":"long","start":20,"end":30,"colour":"red"}"#;
    means(
        text,
        None,
        &["0: cas(1, 2) -> failed [0, 2]", "1: read() -> ? [1, …]", "1: read() -> nil [4, 5]"],
    );
    let history = read_str(text).unwrap();
    assert_eq!(history.display_time(5), 30);
    let second = history.operations().nth(1).unwrap();
    let note = Value::list([Value::text("n"), Value::Int(7)]);
    assert_eq!(history.note(second.id), Some(&note));
    let spans: Vec<_> = history.annotations().iter().map(|a| (a.start, a.end, &*a.text)).collect();
    assert_eq!(spans, [(1, 1, "cut"), (2, 5, "long")]);
}

#[test]
fn operations_without_process_get_rows() {
    means(
        "{\"op\":\"a\",\"call\":1,\"return\":3}\n{\"op\":\"b\",\"call\":3,\"return\":4}\n{\"op\":\"c\",\"call\":4}",
        None,
        &["0: a() [1, 3]", "1: b() [3, 4]", "0: c() -> ? [4, …]"],
    );
}

#[test]
fn jepsen_events() {
    means(
        "; a comment
         {:process 0, :type :invoke, :f :write, :value 3, :time 5, :index 0}
         #jepsen.history.Op{:index 1 :time 6 :type :invoke :process 1 :f :cas :value [3 4]}
         {:process :nemesis :type :info :f :start :value [:isolated \"n1\"]}
         {:process 0, :type :ok, :f :write, :value 3}
         {:process 1, :type :fail, :f :cas, :value [3 4], :error :differs}
         {:process 2, :type :invoke, :f :read, :value nil}
         {:process 2, :type :info, :f :read, :value nil, :error [:timeout]}
         {:process 3, :type :invoke, :f :read, :value nil}
         {:process 4, :type :invoke, :f :read}
         {:process 4, :type :fail, :f :read, :value :timed-out}",
        None,
        &[
            "0: write(3) -> 3 [0, 2]",
            "1: cas(3, 4) -> failed [1, 3]",
            "2: read(nil) -> ? [4, …]",
            "3: read(nil) -> ? [6, …]",
            "4: read() -> failed: timed-out [7, 8]",
        ],
    );
}

#[test]
fn keys_of_jepsen_are_objects_when_they_are_independent() {
    let text = "{:process 0 :type :invoke :f :write :value [\"x\" 3]}
                {:process 1 :type :invoke :f :cas :value [\"x\" [1 2]]}
                {:process 0 :type :ok :f :write :value [\"x\" 3]}
                {:process 1 :type :info :f :cas :value :timed-out}";
    let read = |independent| {
        let options = ReadOptions { independent, ..ReadOptions::default() };
        told(&read_from(text.as_bytes(), "text", options).unwrap())
    };
    assert_eq!(read(false)[0], "0: write(\"x\", 3) -> [\"x\", 3] [0, 2]");
    assert_eq!(read(true), ["0: \"x\".write(3) -> 3 [0, 2]", "1: \"x\".cas(1, 2) -> ? [1, …]"]);
    let options = ReadOptions { independent: true, ..ReadOptions::default() };
    let plain = &b"{:process 0 :type :invoke :f :read :value nil}"[..];
    let error = read_from(plain, "text", options).unwrap_err();
    assert!(error.to_string().contains("`:value [key value]`"), "{error}");
}

#[test]
fn the_odd_forms_of_edn() {
    let name = |text: &str| Value::Name(text.into());
    let number = |text: &str| Value::number(text);
    let tagged = |tag: &str, value| Value::list([name(tag), value]);
    let ints = |numbers: &[i64]| Value::list(numbers.iter().copied().map(Value::Int));
    let cases = [
        ("nil", Value::Nil),
        ("true", Value::Bool(true)),
        ("-12", Value::Int(-12)),
        ("+12", Value::Int(12)),
        ("123N", Value::Int(123)),
        ("9223372036854775808N", number("9223372036854775808")),
        ("-9223372036854775808", Value::Int(i64::MIN)),
        ("0x1F", Value::Int(31)),
        ("-017", Value::Int(-15)),
        ("2r101", Value::Int(5)),
        ("1.5", number("1.5")),
        ("-1.5e-3", number("-1.5e-3")),
        ("1.5M", number("1.5M")),
        ("1/3", number("1/3")),
        ("##NaN", number("##NaN")),
        ("##-Inf", number("##-Inf")),
        (":a.b/c", name("a.b/c")),
        ("sym-bol?", name("sym-bol?")),
        ("\"a\\n\\\"\\u00e9\\101\nü\"", Value::text("a\n\"éA\nü")),
        ("\\a", name("\\a")),
        ("\\newline", name("\\newline")),
        ("\\u0020", name("\\space")),
        ("\\(", name("\\(")),
        ("(1 2 , 3)", ints(&[1, 2, 3])),
        ("#{3 1 2}", ints(&[1, 2, 3])),
        ("{:b 1, :a 2}", Value::map([(name("a"), Value::Int(2)), (name("b"), Value::Int(1))])),
        (
            "#:x{:a 1 :_/b 2 :y/c 3}",
            Value::map([
                (name("x/a"), Value::Int(1)),
                (name("b"), Value::Int(2)),
                (name("y/c"), Value::Int(3)),
            ]),
        ),
        ("#inst \"2020\"", tagged("#inst", Value::text("2020"))),
        ("#uuid\"f\"", tagged("#uuid", Value::text("f"))),
        (
            "#object[java.lang.Object 0x1f \"x\"]",
            tagged(
                "#object",
                Value::list([name("java.lang.Object"), Value::Int(31), Value::text("x")]),
            ),
        ),
        ("#\"re\"", tagged("#regex", Value::text("re"))),
        ("^{:line 1} [7]", ints(&[7])),
        ("^:k ^String 7", Value::Int(7)),
        ("#_ignored #_#_1 2 7", Value::Int(7)),
        ("[1 #_2 ; three\n 3]", ints(&[1, 3])),
        ("'(1 2)", ints(&[1, 2])),
        ("#seriatim/name \"a b\"", name("a b")),
        (
            "{:cause \"x\" :via [{:type E}]}",
            Value::map([
                (name("cause"), Value::text("x")),
                (name("via"), Value::list([Value::map([(name("type"), name("E"))])])),
            ]),
        ),
    ];
    for (form, value) in cases {
        let text = format!("{{:process 0 :type :invoke :f :a :value {form} :index 0}}");
        let history = read_str(&text).unwrap_or_else(|error| panic!("{form}: {error}"));
        let arg = history.operations().next().unwrap().arg();
        assert_eq!(history.values().get(arg), value, "{form}");
    }
}

#[test]
fn logs_of_limo() {
    means(
        "# from a paper\n# @object atomic-stack\n\n[1] call push(a)\n  [2] call pop\n[1] return\n\
         [2] return a\n[3] call pop(?<0,1>)\n[3] return\n[1] call Pop()\n[1] return empty\n\
         [2] call remove\n[2] return\n[3] call pop(empty)\n[3] return\n[3] call pop Empty\n[3] return empty\n\
         [4] call add -7\n[5] call pop(3)\n",
        Some("stack"),
        &[
            "1: push(a) [0, 2]",
            "2: pop() -> a [1, 3]",
            "3: pop() -> ?<0,1> [4, 5]",
            "1: pop() -> nil [6, 7]",
            "2: pop() -> nil [8, 9]",
            "3: pop() -> nil [10, 11]",
            "3: pop() -> nil [12, 13]",
            "4: push(-7) -> ? [14, …]",
            "5: pop() -> ? [15, …]",
        ],
    );
}

#[test]
fn logs_of_polylin() {
    means(
        "# pqueue\npoll 4 5 6\ninsert 4 1 2\npeek -1 0 0\n",
        Some("priority-queue(max)"),
        &["0: peek() -> nil [0, 0]", "0: insert(4) [1, 2]", "0: poll() -> 4 [5, 6]"],
    );
    means(
        "# set\ninsert 4 1 1 2\ncontains -1 0 2 3\n",
        Some("set"),
        &["0: insert(4) -> true [1, 2]", "1: contains(-1) -> false [2, 3]"],
    );
    means(
        "# deque\npush_front 1 1 2\npop_back 1 18446744073709551613 18446744073709551614\n",
        Some("deque"),
        &[
            "0: push_front(1) [1, 2]",
            "0: pop_back() -> 1 [18446744073709551613, 18446744073709551614]",
        ],
    );
}

#[test]
fn logs_of_fptlin() {
    means(
        "# priorityqueue\n0 1 5 INSERT 1\n1 2 6 POLL 1\n4 2 9 PEEK -1\n",
        Some("priority-queue(max)"),
        &["0: insert(1) [1, 5]", "1: poll() -> 1 [2, 6]", "4: peek() -> nil [2, 9]"],
    );
    means(
        "# rmw\n0 1 2 READ_MODIFY_WRITE 0 5\n",
        Some("cas-register(init=0)"),
        &["0: cas(0, 5) -> true [1, 2]"],
    );
    means(
        "# semaphore\n0 1 2 INCR 1\n1 3 4 DECR 0\n",
        Some("semaphore(init=0)"),
        &["0: incr() -> true [1, 2]", "1: decr() -> false [3, 4]"],
    );
    means("# set\n0 1 2 CONTAINS 7 0\n", Some("set"), &["0: contains(7) -> false [1, 2]"]);
}

#[test]
fn logs_of_ahorn() {
    means(
        "2 invokes add 23\n0 invokes contains 3\n2 returns true\n0 returns false\n1 invokes remove 4\n",
        Some("set"),
        &[
            "2: add(23) -> true [0, 2]",
            "0: contains(3) -> false [1, 3]",
            "1: remove(4) -> ? [4, …]",
        ],
    );
}

#[test]
fn compressed_files_are_told_by_their_bytes() {
    let folder = std::env::temp_dir().join(format!("seriatim-formats-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let text = b"# stack\npush 1 1 2\npop 1 3 4\n";
    let (first, second) = text.split_at(12);
    let gzip = |bytes: &[u8]| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    };
    let zstd = |bytes: &[u8]| compress_to_vec(bytes, CompressionLevel::Fastest);
    let files = [
        ("a.log", text.to_vec()),
        ("b.gz", gzip(text)),
        ("c.zst", zstd(text)),
        // Two members, two frames, in one file.
        ("d", [gzip(first), gzip(second)].concat()),
        ("e", [zstd(first), zstd(second)].concat()),
    ];
    for (name, bytes) in &files {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
    let pattern = folder.join("*").display().to_string();
    let found = expand([&pattern]).unwrap();
    assert_eq!(found.len(), files.len());
    for file in &found {
        assert_eq!(read(file).unwrap().len(), 2, "{}", file.display());
    }
    for (name, bytes) in &files[1..] {
        std::fs::write(folder.join(name), &bytes[..bytes.len() - 5]).unwrap();
        let error = read(folder.join(name)).unwrap_err().to_string();
        assert!(error.contains("cannot read"), "{error}");
    }
    // Compressed by zstd itself: a frame with a checksum, one to be skipped, one without a
    // checksum.
    let frames = include_bytes!("data/frames.zst");
    let path = folder.join("f.zst");
    std::fs::write(&path, frames).unwrap();
    assert_eq!(read(&path).unwrap().len(), 300);
    let end_of_first = frames.windows(3).position(|bytes| bytes == [0x2a, 0x4d, 0x18]).unwrap() - 1;
    for spoiled in end_of_first - 4..end_of_first {
        let mut bytes = frames.to_vec();
        bytes[spoiled] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("a checksum is wrong"), "{error}");
    }
    let error = expand([format!("{pattern}.none")]).unwrap_err().to_string();
    assert!(error.contains("no file fits this pattern"), "{error}");
    assert!(read(&folder).is_err(), "a folder is not a file");
    assert!(open(folder.join("nothing")).is_err());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn format_names_are_read_as_they_are_written() {
    for (format, name) in Format::ALL {
        assert_eq!(format.to_string(), name);
        assert_eq!(name.parse(), Ok(format));
    }
    let error = "csv".parse::<Format>().unwrap_err().to_string();
    assert!(error.contains("jsonl-events"), "{error}");
}

/// Gives a few bytes at a time, to cut lines everywhere.
struct Drip<'t>(&'t [u8], usize);

impl std::io::Read for Drip<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let count = self.1.min(self.0.len()).min(out.len());
        out[..count].copy_from_slice(&self.0[..count]);
        self.0 = &self.0[count..];
        Ok(count)
    }
}

#[test]
fn long_logs_are_read_whole_however_they_are_cut() {
    let count = 40_000u64;
    let line = |i: u64| match i % 7 {
        0 => format!("  enq\t{i} {i} {}\n", i + 3),
        1 => format!("enq {i} {i} {}\r\n", i + 3),
        _ => format!("enq {i} {i} {}\n", i + 3),
    };
    let text = String::from("# queue\n") + &(0..count).map(line).collect::<String>();
    let mut backwards: Vec<String> = (0..count).map(line).collect();
    backwards.reverse();
    let backwards = String::from("# queue\n") + &backwards.concat();
    for (text, step) in [(&text, 1 << 20), (&text, 7), (&text, 100_001), (&backwards, 999)] {
        let history =
            read_from(Drip(text.as_bytes(), step), "drip", ReadOptions::default()).unwrap();
        assert_eq!(history.len() as u64, count);
        for (i, operation) in history.operations().enumerate() {
            let i = i as u64;
            assert_eq!((operation.call(), operation.ret()), (i, Some(i + 3)), "line {i}");
            assert_eq!(history.values().as_int(operation.arg()), Some(i as i64));
            let row = u64::from(operation.process().0);
            assert_eq!((row, history.process_count()), (i % 4, 4));
        }
    }
}
