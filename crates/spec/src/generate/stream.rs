//! A generated history written down while it is made, for histories longer than the memory.

use super::{Datum, Generator, Happening};
use seriatim_history::{Value, write_string, write_value};
use std::io::{self, Write};

impl Generator {
    /// Writes the events as they come, one a line, in our own format (`jsonl-events`): the same bytes
    /// that the collected [`history`](Generator::history) would be written as. Gives the number of
    /// operations.
    ///
    /// ```
    /// use seriatim_spec::SpecChoice;
    /// use seriatim_spec::generate::{Generator, Profile};
    /// let profile = Profile { operations: 3, ..Profile::default() };
    /// let generator = Generator::new(&SpecChoice::parse("queue").unwrap(), profile).unwrap();
    /// let mut text = Vec::new();
    /// assert_eq!(generator.write_events(&mut text).unwrap(), 3);
    /// assert_eq!(text.iter().filter(|&&byte| byte == b'\n').count(), 7);
    /// ```
    pub fn write_events(self, out: &mut dyn Write) -> io::Result<u64> {
        out.write_all(b"{\"seriatim\":1,\"spec\":")?;
        write_string(out, self.spec())?;
        out.write_all(b"}\n")?;
        let (mut time, mut operations) = (0u64, 0);
        for happening in self {
            match happening {
                Happening::Effect(_) => continue,
                Happening::Call(process, call) => {
                    operations += 1;
                    write!(out, "{{\"process\":{process},\"type\":\"call\",\"op\":")?;
                    write_string(out, call.method)?;
                    field(out, "key", &call.key)?;
                    field(out, "arg", &call.arg)?;
                }
                Happening::Return(process, result) => {
                    write!(out, "{{\"process\":{process},\"type\":\"return\"")?;
                    field(out, "result", &result)?;
                }
            }
            writeln!(out, ",\"time\":{time}}}")?;
            time += 1;
        }
        Ok(operations)
    }
}

fn field(out: &mut dyn Write, name: &str, datum: &Datum) -> io::Result<()> {
    match datum {
        Datum::Absent => Ok(()),
        Datum::Nil => write!(out, ",\"{name}\":null"),
        Datum::Truth(truth) => write!(out, ",\"{name}\":{truth}"),
        Datum::Int(number) => write!(out, ",\"{name}\":{number}"),
        Datum::Pair(a, b) => {
            write!(out, ",\"{name}\":")?;
            write_value(out, &Value::list([Value::Int(*a), Value::Int(*b)]))
        }
        Datum::Other(value) => {
            write!(out, ",\"{name}\":")?;
            write_value(out, value)
        }
    }
}
