//! Parquet files are converted both ways and checked like any history.

use super::run::{example, file, folder, seriatim, text};

#[test]
fn parquet_files_are_converted_both_ways_and_checked() {
    let folder = folder("parquet");
    let made = seriatim(&["gen", "map", "-n", "2000", "--keys", "30", "--violation"]).exits(0).out;
    let log = file(&folder, "map.jsonl", &made);
    let (packed, back) = (text(&folder.join("map.parquet")), text(&folder.join("back.jsonl")));
    seriatim(&["convert", &log, "--to", "parquet", "-o", &packed]).exits(0);
    seriatim(&["convert", &packed, "--to", "jsonl", "-o", &back]).exits(0);
    assert_eq!(std::fs::read_to_string(&back).expect("a file"), made);
    let drawn = |path: &str, more: &[&str]| {
        let out = seriatim(&[&["check", path], more].concat()).exits(1).out;
        out[out.find("No order explains").expect("a counterexample")..].to_owned()
    };
    assert_eq!(drawn(&packed, &[]), drawn(&log, &[]));
    assert_eq!(drawn(&packed, &["--spill", "always"]), drawn(&log, &["--spill", "always"]));
    let queue = example("queue.jsonl");
    let queue_packed = text(&folder.join("queue.parquet"));
    seriatim(&["convert", &queue, "--to", "parquet", "-o", &queue_packed]).exits(0);
    seriatim(&["check", &queue_packed]).exits(0);
}

#[test]
fn a_damaged_parquet_file_is_refused_by_name() {
    let folder = folder("parquet-damaged");
    let queue = example("queue.jsonl");
    let packed = folder.join("queue.parquet");
    seriatim(&["convert", &queue, "--to", "parquet", "-o", &text(&packed)]).exits(0);
    let bytes = std::fs::read(&packed).expect("a file");
    std::fs::write(&packed, &bytes[..bytes.len() / 2]).expect("a file is written");
    seriatim(&["check", &text(&packed)])
        .exits(2)
        .complains("queue.parquet: cannot read: not a Parquet file that holds a history");
}
