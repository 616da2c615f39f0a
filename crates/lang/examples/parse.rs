//! Parses and checks a `.seri` file and prints its steps:
//! `cargo run -p seriatim-lang --example parse FILE`.

use seriatim_lang::{check, lower, show};
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: parse FILE");
        return ExitCode::from(2);
    };
    let source = match std::fs::read_to_string(&path) {
        Ok(source) => source,
        Err(error) => {
            eprintln!("{path}: {error}");
            return ExitCode::from(2);
        }
    };
    let steps = check(&source).and_then(|program| lower(&program, 2, None));
    match steps {
        Ok(steps) => {
            print!("{}", show::listing(&steps));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{}", error.render(&source, &path));
            ExitCode::from(2)
        }
    }
}
