//! Checks a recorded log: `cargo run -p seriatim-doors --bin check_a_log -- LOG SPEC`.

use std::error::Error;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [log, spec] = &arguments[..] else {
        eprintln!("expected a log and a specification: run.jsonl queue");
        return ExitCode::from(2);
    };
    match is_linearizable(log, spec) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn is_linearizable(log: &str, spec: &str) -> Result<bool, Box<dyn Error>> {
    let history = seriatim::read(log)?;
    let answer = seriatim::check(&history, spec)?;
    print!("{answer}");
    Ok(answer.is_linearizable())
}
