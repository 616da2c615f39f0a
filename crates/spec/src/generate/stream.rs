//! A generated history written down while it is made, for histories longer than the memory.

use super::{Datum, Generator, Happening};
use seriatim_history::{Value, write_string, write_value};
use std::io::{self, Write};

impl Generator {
    /// Writes the events as they come, one a line, in our own format (`jsonl-events`): the same
    /// bytes that the collected [`history`](Generator::history) would be written as. Counts the
    /// operations.
    ///
    /// ```
    /// use seriatim_spec::SpecChoice;
    /// use seriatim_spec::generate::{Generator, Profile};
    /// let profile = Profile { operations: 3, ..Profile::default() };
    /// let generator = Generator::new(&SpecChoice::parse("queue").unwrap(), profile).unwrap();
    /// let mut text = Vec::new();
    /// let mut operations = 0;
    /// generator.write_events(&mut text, &mut operations).unwrap();
    /// assert_eq!(operations, 3);
    /// assert_eq!(text.iter().filter(|&&byte| byte == b'\n').count(), 7);
    /// ```
    pub fn write_events(self, out: &mut dyn Write, operations: &mut u64) -> io::Result<()> {
        out.write_all(b"{\"seriatim\":1,\"spec\":")?;
        write_string(out, self.spec())?;
        out.write_all(b"}\n")?;
        let mut time = 0u64;
        for happening in self {
            match happening {
                Happening::Effect(_) | Happening::Crash(_) => continue,
                Happening::Call(process, call) => {
                    *operations += 1;
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
        Ok(())
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
