//! Checks a recorded log: `cargo run -p seriatim-doors --bin check_a_log -- LOG SPEC`.

use std::error::Error;
use std::process::ExitCode;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [log, spec] = &arguments[..] else {
        return Err("expected a log and a specification: run.jsonl queue".into());
    };
    let history = seriatim::read(log)?;
    let answer = seriatim::check(&history, spec.as_str())?;
    print!("{answer}");
    Ok(if answer.is_linearizable() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
