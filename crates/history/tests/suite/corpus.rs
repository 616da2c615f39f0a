//! Every file of the corpus is read, and no operation is lost: the counts are computed apart from
//! the readers, by counting the lines or forms that are calls.

use seriatim_history::{Format, History, OpId, Outcome, Value, ValueId, read, write};
use seriatim_testing::corpus;
use std::path::{Path, PathBuf};

/// The files of a folder of the corpus.
fn corpus_files(folder: &str) -> Vec<PathBuf> {
    let Some(corpus) = corpus() else {
        return Vec::new();
    };
    let entries = std::fs::read_dir(corpus.join(folder)).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "the corpus has no {folder}");
    files
}

fn text(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap()
}

fn history(file: &Path) -> History {
    read(file).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_etcd_logs_have_their_operations() {
    for file in corpus_files("etcd") {
        let (text, history) = (text(&file), history(&file));
        let count = |word: &str| text.matches(word).count();
        let tally = history.tally();
        assert_eq!(history.len(), count(":invoke"), "{}", file.display());
        assert_eq!((tally.ok, tally.failed), (count(":ok"), count(":fail")));
        assert!(history.annotations().is_empty());
        let empty = file.ends_with("etcd_095.log");
        assert!(empty || (73..=90).contains(&history.len()), "{}", file.display());
    }
}

#[test]
fn the_kv_logs_have_their_operations() {
    let Some(corpus) = corpus() else { return };
    let counts =
        [("c01-ok", 58), ("c01-bad", 38), ("c10-ok", 337), ("c10-bad", 405), ("c50-ok", 1712)];
    for (name, count) in counts {
        let history = history(&corpus.join(format!("kv/{name}.txt")));
        assert_eq!(history.len(), count, "{name}");
        assert_eq!(history.tally().ok, count, "{name}");
        for operation in history.operations() {
            let key = history.values().get(operation.key());
            assert!(matches!(key, Value::Text(_)), "{name}: {operation}");
        }
    }
}

/// The numbers behind `:time`.
fn times(text: &str) -> Vec<u64> {
    let number = |rest: &str| {
        let digits = rest.chars().take_while(char::is_ascii_digit);
        digits.collect::<String>().parse().unwrap()
    };
    text.split(":time ").skip(1).map(number).collect()
}

#[test]
fn the_knossos_histories_have_their_operations() {
    for file in corpus_files("knossos") {
        let (text, history) = (text(&file), history(&file));
        let count = |word: &str| text.matches(word).count();
        let nemesis = count(":nemesis");
        let tally = history.tally();
        assert_eq!(history.len(), count(":type :invoke"), "{}", file.display());
        assert_eq!(tally.ok, count(":type :ok"), "{}", file.display());
        assert_eq!(tally.failed, count(":type :fail"), "{}", file.display());
        let of_reader = |a: &&seriatim_history::Annotation| a.group == "reader";
        let by_reader = history.annotations().iter().filter(of_reader).count();
        assert_eq!(history.annotations().len() - by_reader, nemesis, "{}", file.display());
        let backwards = !times(&text).is_sorted();
        assert_eq!(by_reader > 0, backwards, "{}", file.display());
    }
}

#[test]
fn a_read_that_is_told_with_its_value_at_the_call_has_no_argument() {
    let Some(corpus) = corpus() else { return };
    let history = history(&corpus.join("knossos/cas-register_bad_bad-analysis.edn"));
    for operation in history.operations().filter(|op| op.method() == "read") {
        assert_eq!(operation.arg(), ValueId::NIL, "line {}", operation.line());
    }
}

#[test]
fn the_limo_logs_have_their_operations() {
    for file in corpus_files("limo") {
        let (text, history) = (text(&file), history(&file));
        let count = |word: &str| text.matches(word).count();
        assert_eq!(history.len(), count(" call "), "{}", file.display());
        assert_eq!(history.tally().ok, count("] return"), "{}", file.display());
        let is_stack = text.contains("@object atomic-stack");
        let spec = if is_stack { "stack" } else { "queue" };
        assert_eq!(history.spec(), Some(spec), "{}", file.display());
        for operation in history.operations() {
            let removes = matches!(operation.method(), "pop" | "deq");
            assert_eq!(operation.arg().is_present(), !removes, "{operation}");
            let told = operation.outcome() == Outcome::Ok && removes;
            assert_eq!(operation.result().is_present(), told, "{operation}");
        }
    }
}

/// What the operations say, without the stamps.
fn operations(history: &History) -> Vec<String> {
    let values = history.values();
    let line = |op: OpId| {
        let operation = history.operation(op);
        let process = history.process_name(operation.process());
        let key = values.get(operation.key());
        format!("{process} {key} {operation} {:?}", operation.outcome())
    };
    (0..history.len()).map(|index| line(OpId::from(index))).collect()
}

fn order(history: &History) -> Vec<seriatim_history::Event> {
    history.events().collect()
}

#[test]
fn every_corpus_file_survives_our_own_formats_and_edn() {
    for folder in ["etcd", "kv", "knossos", "limo"] {
        for file in corpus_files(folder) {
            let original = history(&file);
            for format in [Format::JsonLines, Format::JsonEvents, Format::Edn] {
                let mut bytes = Vec::new();
                write(&original, format, &mut bytes).unwrap();
                let text = String::from_utf8(bytes).unwrap();
                let again = seriatim_history::read_str(&text).unwrap();
                let name = file.display();
                assert_eq!(operations(&again), operations(&original), "{name} as {format}");
                assert_eq!(order(&again), order(&original), "{name} as {format}");
            }
        }
    }
}

#[test]
fn the_kv_logs_and_the_limo_logs_survive_their_own_formats() {
    for (folder, format) in [("kv", Format::Porcupine), ("limo", Format::LiMo)] {
        for file in corpus_files(folder) {
            let original = history(&file);
            let mut bytes = Vec::new();
            write(&original, format, &mut bytes).unwrap();
            let again = seriatim_history::read_str(&String::from_utf8(bytes).unwrap()).unwrap();
            assert_eq!(operations(&again), operations(&original), "{}", file.display());
            assert_eq!(order(&again), order(&original), "{}", file.display());
        }
    }
}

#[test]
fn a_kv_log_is_written_as_porcupine_writes_it() {
    let Some(corpus) = corpus() else { return };
    let file = corpus.join("kv/c50-ok.txt");
    let mut bytes = Vec::new();
    write(&history(&file), Format::Porcupine, &mut bytes).unwrap();
    assert_eq!(String::from_utf8(bytes).unwrap(), text(&file));
}
