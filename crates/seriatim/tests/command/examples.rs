//! Each example history gets the verdict that its folder's readme promises, and none is left out.

use super::run::{example, examples, folder, seriatim, seriatim_reading, text};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::collections::BTreeSet;
use std::io::Write;

struct Row {
    file: String,
    spec: String,
    verdict: String,
}

fn table() -> Vec<Row> {
    let readme = std::fs::read_to_string(examples().join("README.md")).expect("a readme");
    let rows = readme.lines().filter(|line| line.starts_with("| `"));
    rows.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let bare = |cell: &str| cell.trim_matches('`').to_owned();
        Row { file: bare(cells[0]), spec: bare(cells[2]), verdict: cells[3].to_owned() }
    })
    .collect()
}

fn code(verdict: &str) -> i32 {
    match verdict {
        "linearizable" => 0,
        "violation" => 1,
        _ => panic!("no verdict: {verdict}"),
    }
}

#[test]
fn the_table_names_every_example() {
    let told: BTreeSet<String> = table().into_iter().map(|row| row.file).collect();
    let there: BTreeSet<String> = std::fs::read_dir(examples())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .filter(|name| name != "README.md")
        .collect();
    assert_eq!(told, there);
}

#[test]
fn every_example_gets_its_verdict_in_every_wrapping() {
    let folder = folder("wrappings");
    for Row { file, spec, verdict } in table() {
        let path = example(&file);
        let bytes = std::fs::read(&path).expect("an example");
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&bytes).expect("memory takes everything");
        let gz = folder.join(format!("{file}.gz"));
        std::fs::write(&gz, gzip.finish().expect("memory takes everything")).expect("written");
        let zst = folder.join(format!("{file}.zst"));
        std::fs::write(&zst, compress_to_vec(&bytes[..], CompressionLevel::Fastest))
            .expect("written");
        let against = ["--spec", &spec, "--certify", "--check-partition"];
        for source in [&path, &text(&gz), &text(&zst)] {
            let ran = seriatim(&[&["check", source, "-q"], &against[..]].concat());
            ran.exits(code(&verdict)).says(&format!("{source}: {verdict} ("));
        }
        let ran = seriatim_reading(&bytes, &[&["check", "-"], &against[..]].concat());
        ran.exits(code(&verdict)).says("<stdin> is ");
    }
}

#[test]
fn a_history_tells_its_specification_unless_several_fit_and_disagree() {
    for Row { file, verdict, .. } in &table() {
        seriatim(&["check", &example(file)]).exits(code(verdict));
    }
    // The new value of a counter, or the index in a log: one of them is wrong.
    let either = br#"{"process":0,"op":"add","arg":1,"result":1,"call":1,"return":2}"#;
    let ran = seriatim_reading(either, &["check", "-"]).exits(2);
    ran.complains("<stdin>: ").complains("counter: linearizable").complains("log: violation");
}
