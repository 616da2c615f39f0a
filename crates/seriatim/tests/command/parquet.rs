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

/// A page that claims two thousand million values and has one: the library panics, and that is an
/// error of the file, told in one line.
const BOASTFUL: &[u8] = b"\
    PAR1\x15\x00\x15\x12\x15\x12,\x15\xfe\xff\xff\xff\x0f\x15\x00\x15\x06\x15\x06\x00\
    \x00\x05\x00\x00\x00write\x15\x00\x15@\x15@,\x15\xfe\xff\xff\xff\x0f\x15\x00\x15\x06\
    \x15\x06\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x04\
    \x00\x00\x00\x00\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00\x15\x02\x19<H\x06schema\
    \x15\x04\x00\x15\x0c%\x00\x18\x02op%\x00\x00\x15\x04%\x00\x18\x04call\x00\x16\xfe\
    \xff\xff\xff\x0f\x19\x1c\x19,&\x08\x1c\x15\x0c\x19%\x00\x06\x19\x18\x02op\x15\x00\
    \x16\xfe\xff\xff\xff\x0f\x16<\x16<&\x08\x00\x00&D\x1c\x15\x04\x19%\x00\x06\x19\x18\
    \x04call\x15\x00\x16\xfe\xff\xff\xff\x0f\x16j\x16j&D\x00\x00\x16\xc6\x01\x16\xfe\xff\
    \xff\xff\x0f\x00\x00x\x00\x00\x00PAR1";

#[test]
fn what_the_library_panics_at_is_an_error_and_no_defect_is_told_of() {
    let folder = folder("parquet-boastful");
    let path = folder.join("boastful.parquet");
    std::fs::write(&path, BOASTFUL).expect("a file");
    let ran = seriatim(&["convert", "--to", "jsonl", &text(&path)]).exits(2);
    assert!(ran.err.contains("not a Parquet file that holds a history"), "{}", ran.err);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
}
