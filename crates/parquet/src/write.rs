//! Writing a history, some rows at a time.
//!
//! A column of values (process, object, key, argument, result, note) is of whole numbers if all its
//! values are, else of JSON texts. A column without values is left out.

use crate::HEAD;
use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use seriatim_history::{
    Echo, Format, History, Horizon, Nil, OpId, Operation, Outcome, Value, write_string, write_value,
};
use std::io::Write;
use std::sync::Arc;

/// How many operations a row group has.
const GROUP: usize = 128 << 10;

/// Writes a history as a Parquet file.
///
/// ```
/// use std::io::Read;
/// let line = "{\"process\":0,\"op\":\"write\",\"arg\":1,\"call\":1,\"return\":2}\n";
/// let history = seriatim_history::read_str(line).unwrap();
/// let mut file = Vec::new();
/// seriatim_parquet::write(&history, &mut file).unwrap();
/// assert!(file.starts_with(b"PAR1"));
/// ```
pub fn write(history: &History, out: &mut (impl Write + Send)) -> Result<()> {
    let columns: Vec<Column> = Column::all(history);
    let fields: Vec<String> = columns.iter().map(Column::declaration).collect();
    let schema = format!("message seriatim {{ {} }}", fields.join(" "));
    let head = KeyValue::new(HEAD.to_owned(), head(history)?);
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(vec![head]))
        .build();
    let schema = Arc::new(parse_message_type(&schema)?);
    let mut file = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
    let operations: Vec<OpId> = (0..history.len()).map(OpId::from).collect();
    for rows in operations.chunks(GROUP) {
        let mut group = file.next_row_group()?;
        for column in &columns {
            let writer = group.next_column()?;
            let writer =
                writer.ok_or_else(|| ParquetError::General("a column is missing".into()))?;
            column.write(history, rows, writer)?;
        }
        group.close()?;
    }
    file.close()?;
    Ok(())
}

/// The header and the annotations, as lines.
fn head(history: &History) -> Result<String> {
    let mut lines = b"{\"seriatim\":1".to_vec();
    if let Some(spec) = history.spec() {
        lines.extend_from_slice(b",\"spec\":");
        write_string(&mut lines, spec)?;
    }
    if history.nil() == Nil::Unknown {
        lines.extend_from_slice(b",\"nil\":\"unknown\"");
    }
    if history.echo() == Echo::Argument {
        lines.extend_from_slice(b",\"echo\":\"argument\"");
    }
    lines.extend_from_slice(b"}\n");
    let mut rest = Vec::new();
    let bare = history.restricted(&[], Horizon::Whole);
    seriatim_history::write(&bare, Format::JsonLines, &mut rest)
        .map_err(|error| ParquetError::General(error.to_string()))?;
    let annotations = rest.iter().position(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    lines.extend_from_slice(&rest[annotations..]);
    String::from_utf8(lines).map_err(|error| ParquetError::General(error.to_string()))
}

/// One column of a file.
struct Column {
    name: &'static str,
    content: Content,
}

enum Content {
    Text(fn(Operation<'_>) -> String),
    Time(fn(Operation<'_>) -> Option<u64>),
    Truth(fn(Operation<'_>) -> Option<bool>),
    Integers(fn(Operation<'_>) -> Option<Value>),
    Json(fn(Operation<'_>) -> Option<Value>),
}

fn value(operation: Operation<'_>, id: seriatim_history::ValueId) -> Option<Value> {
    id.is_present().then(|| operation.history.values().get(id))
}

impl Column {
    /// The columns that a history needs.
    fn all(history: &History) -> Vec<Self> {
        type Get = fn(Operation<'_>) -> Option<Value>;
        let values: [(&'static str, Get); 6] = [
            ("process", |op| Some(op.history.process_name(op.process()).clone())),
            ("object", |op| value(op, op.object())),
            ("key", |op| value(op, op.key())),
            ("arg", |op| value(op, op.arg())),
            ("result", |op| value(op, op.result())),
            ("note", |op| op.history.note(op.id).cloned()),
        ];
        let mut columns = vec![
            Column { name: "op", content: Content::Text(|op| op.method().to_owned()) },
            Column { name: "call", content: Content::Time(|op| Some(op.call())) },
            Column { name: "return", content: Content::Time(|op| op.ret()) },
        ];
        if history.operations().any(|op| op.outcome() == Outcome::Failed) {
            let failed = |op: Operation<'_>| (op.outcome() == Outcome::Failed).then_some(true);
            columns.push(Column { name: "failed", content: Content::Truth(failed) });
        }
        for (name, get) in values {
            let mut present = history.operations().filter_map(get).peekable();
            if present.peek().is_none() {
                continue;
            }
            let is_whole = present.all(|value| value.as_int().is_some());
            let content = if is_whole { Content::Integers(get) } else { Content::Json(get) };
            columns.push(Column { name, content });
        }
        columns
    }

    fn declaration(&self) -> String {
        let name = self.name;
        match self.content {
            Content::Text(_) => format!("REQUIRED BYTE_ARRAY {name} (STRING);"),
            Content::Time(_) => format!("OPTIONAL INT64 {name} (INTEGER(64,false));"),
            Content::Truth(_) => format!("OPTIONAL BOOLEAN {name};"),
            Content::Integers(_) => format!("OPTIONAL INT64 {name};"),
            Content::Json(_) => format!("OPTIONAL BYTE_ARRAY {name} (JSON);"),
        }
    }

    fn write(
        &self,
        history: &History,
        rows: &[OpId],
        mut writer: SerializedColumnWriter<'_>,
    ) -> Result<()> {
        let rows = || rows.iter().map(|&op| history.operation(op));
        match (&self.content, writer.untyped()) {
            (Content::Text(get), ColumnWriter::ByteArrayColumnWriter(out)) => {
                let texts: Vec<ByteArray> =
                    rows().map(|op| ByteArray::from(get(op).into_bytes())).collect();
                out.write_batch(&texts, None, None)?;
            }
            (Content::Time(get), ColumnWriter::Int64ColumnWriter(out)) => {
                let (values, levels) = present(rows().map(|op| get(op).map(|time| time as i64)));
                out.write_batch(&values, Some(&levels), None)?;
            }
            (Content::Integers(get), ColumnWriter::Int64ColumnWriter(out)) => {
                let (values, levels) =
                    present(rows().map(|op| get(op).and_then(|value| value.as_int())));
                out.write_batch(&values, Some(&levels), None)?;
            }
            (Content::Truth(get), ColumnWriter::BoolColumnWriter(out)) => {
                let (values, levels) = present(rows().map(get));
                out.write_batch(&values, Some(&levels), None)?;
            }
            (Content::Json(get), ColumnWriter::ByteArrayColumnWriter(out)) => {
                let json = |value: Value| {
                    let mut text = Vec::new();
                    write_value(&mut text, &value).expect("a vector takes every byte");
                    ByteArray::from(text)
                };
                let (values, levels) = present(rows().map(|op| get(op).map(json)));
                out.write_batch(&values, Some(&levels), None)?;
            }
            _ => return Err(ParquetError::General(format!("{} has another type", self.name))),
        }
        writer.close()
    }
}

/// The values that are there, and for each row whether it has one.
fn present<T>(values: impl Iterator<Item = Option<T>>) -> (Vec<T>, Vec<i16>) {
    let (mut present, mut levels) = (Vec::new(), Vec::new());
    for value in values {
        levels.push(i16::from(value.is_some()));
        present.extend(value);
    }
    (present, levels)
}
