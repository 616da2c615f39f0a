//! What is not a Parquet file that holds a history is refused with a message, never with a panic.

use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use seriatim_history::{History, InputError, ReadOptions, read_str, read_with};
use seriatim_parquet::install;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn path(name: &str) -> PathBuf {
    let name = format!("refusals-{}-{name}", std::process::id());
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn read(bytes: &[u8], name: &str) -> Result<History, InputError> {
    install();
    let path = path(name);
    std::fs::write(&path, bytes).unwrap();
    read_with(path, ReadOptions::default())
}

/// A file of one row with these columns. Numbers and booleans are those of the row; a text is
/// `text`.
fn row(columns: &str, text: &str) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(&format!("message m {{ {columns} }}")).unwrap());
    let mut bytes = Vec::new();
    let properties = Arc::new(WriterProperties::default());
    let mut file = SerializedFileWriter::new(&mut bytes, schema, properties).unwrap();
    let mut group = file.next_row_group().unwrap();
    while let Some(mut column) = group.next_column().unwrap() {
        let text = [ByteArray::from(text.as_bytes().to_vec())];
        let written = match column.untyped() {
            ColumnWriter::Int64ColumnWriter(out) => out.write_batch(&[5], Some(&[1]), Some(&[0])),
            ColumnWriter::DoubleColumnWriter(out) => out.write_batch(&[5.5], None, None),
            ColumnWriter::BoolColumnWriter(out) => out.write_batch(&[true], None, None),
            ColumnWriter::ByteArrayColumnWriter(out) => out.write_batch(&text, None, None),
            _ => panic!("a type that no test here uses"),
        };
        written.unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    file.close().unwrap();
    bytes
}

const OP: &str = "REQUIRED BYTE_ARRAY op (STRING);";
const CALL: &str = "REQUIRED INT64 call;";

#[test]
fn a_table_of_another_program_is_read_if_its_columns_fit() {
    let columns = format!("{OP} {CALL} REQUIRED BYTE_ARRAY arg (JSON); REQUIRED INT64 return;");
    let history = read(&row(&columns, "[1, {\"a\": \"],\"}]"), "fits").unwrap();
    let arg = history.operations().next().unwrap().arg();
    assert_eq!(history.values().get(arg).to_string(), "[1, {\"a\": \"],\"}]");
}

#[test]
fn wrong_columns_and_wrong_types_are_named() {
    let json = format!("{OP} {CALL} REQUIRED BYTE_ARRAY arg (JSON);");
    let cases = [
        (
            format!("{OP} {CALL} REQUIRED INT64 colour;"),
            "x",
            "column `colour`; expected columns among",
        ),
        (format!("{OP} {CALL} REQUIRED group arg {{ REQUIRED INT64 x; }}"), "x", "column `arg.x`"),
        (OP.to_owned(), "x", "no column `call`"),
        (CALL.to_owned(), "x", "no column `op`"),
        (format!("{OP} {CALL} {CALL}"), "x", "two columns `call`"),
        (
            format!("{OP} {CALL} REQUIRED DOUBLE arg;"),
            "x",
            "column `arg`: a value 5.5; expected whole",
        ),
        (format!("{OP} {CALL} REPEATED INT64 arg;"), "x", "column `arg`: a value"),
        (format!("{OP} REQUIRED DOUBLE call;"), "x", "column `call`: a value 5.5"),
        (format!("{OP} REQUIRED BYTE_ARRAY call (STRING);"), "x", ":1: expected"),
        (format!("REQUIRED INT64 op; {CALL}"), "x", ":1: expected"),
        (json.clone(), "1,\"failed\":true", "column `arg`: expected one JSON value on one line"),
        (json.clone(), "1}", "column `arg`: expected one JSON value on one line"),
        (json.clone(), "[1\n]", "column `arg`: expected one JSON value on one line"),
        (json.clone(), "\"open", "column `arg`: expected one JSON value on one line"),
        (json.clone(), "", ":1: expected"),
        (json, "nonsense", ":1: expected"),
    ];
    for (columns, text, expected) in cases {
        let error = read(&row(&columns, text), "wrong").unwrap_err().to_string();
        assert!(error.contains(expected), "{columns} with {text:?}: {error}");
    }
}

#[test]
fn a_damaged_file_is_an_error_or_another_history_but_never_a_panic() {
    let lines = "{\"op\":\"x\",\"arg\":\"a\",\"call\":5,\"return\":7}\n".repeat(3);
    let mut bytes = Vec::new();
    seriatim_parquet::write(&read_str(&lines).unwrap(), &mut bytes).unwrap();
    assert_eq!(read(&bytes, "whole").unwrap().len(), 3);
    for end in 4..bytes.len() {
        let error = read(&bytes[..end], "truncated").unwrap_err().to_string();
        assert!(error.contains("not a Parquet file that holds a history"), "{end} bytes: {error}");
    }
    for place in 4..bytes.len() {
        for flipped in [0x01, 0xff] {
            bytes[place] ^= flipped;
            // Nothing guards single values, so that a damaged file may be another history.
            let _ = read(&bytes, "damaged");
            bytes[place] ^= flipped;
        }
    }
}

/// A file of a megabyte whose only column is in a group in a group, a hundred thousand times: the
/// library calls itself for each.
#[test]
fn groups_within_groups_do_not_overflow_the_stack() {
    let (root, group, column) =
        (b"\x48\x01s\x15\x02\0", b"\x35\0\x18\x01g\x15\x02\0", b"\x15\x0c\x25\0\x18\x02op\0");
    // A version; 100,002 elements, the length in three bytes; no rows; no groups of them.
    let elements = [&root[..], &group.repeat(100_000), column].concat();
    let footer = [b"\x15\x02\x19\xfc\xa2\x8d\x06", &elements[..], b"\x16\0\x19\x0c\0"].concat();
    let length = u32::try_from(footer.len()).unwrap().to_le_bytes();
    let file = [b"PAR1", &footer[..], &length, b"PAR1"].concat();
    let refused = read(&file, "deep.parquet").unwrap_err().to_string();
    assert!(refused.contains("100002 columns and groups; expected at most 256"), "{refused}");
}

/// A footer with a list of one column in a group, whose parts can be replaced by what cannot be.
fn with_footer(root: &[u8], groups: &[u8]) -> String {
    let column = b"\x15\x0c\x25\0\x18\x02op\0";
    let footer = [b"\x15\x02\x19\x2c", root, column, b"\x16\0", groups, b"\0"].concat();
    let length = u32::try_from(footer.len()).unwrap().to_le_bytes();
    let file = [b"PAR1", &footer[..], &length, b"PAR1"].concat();
    read(&file, "claims.parquet").unwrap_err().to_string()
}

#[test]
fn what_a_footer_claims_and_cannot_hold_is_an_error_of_the_file() {
    let none = b"\x19\x0c";
    // One member is what there is: the file lacks a column, and nothing is impossible.
    assert!(with_footer(b"\x48\x01s\x15\x02\0", none).contains("no column `call`"));
    // Members in zigzag: 2, 2^31 - 1, -1.
    for (members, shown) in
        [(&b"\x04"[..], "2"), (b"\xfe\xff\xff\xff\x0f", "2147483647"), (b"\x01", "-1")]
    {
        let root = [b"\x48\x01s\x15", members, b"\0"].concat();
        let refused = with_footer(&root, none);
        let expected = format!("a group of {shown} members in a list of 2 columns and groups");
        assert!(refused.contains(&expected), "{refused}");
    }
    // Lists of 2^31 groups of rows, and of 2^31 pairs of texts.
    for list in [&b"\x19\xfc\x80\x80\x80\x80\x08"[..], b"\x29\xfc\x80\x80\x80\x80\x08"] {
        let refused = with_footer(b"\x48\x01s\x15\x02\0", list);
        assert!(refused.contains("claims a list of 2147483648 items"), "{refused}");
    }
}
