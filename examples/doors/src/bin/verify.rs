//! An algorithm, not a run of it: every interleaving is considered.

use seriatim::verify::{Options, verify};
use std::error::Error;

const COUNTER: &str = "
object counter : counter
var n: int = 0
method increment() -> int {
  let seen = n
  n = seen + 1
  return seen
}
method read() -> int { return n }
";

fn main() -> Result<(), Box<dyn Error>> {
    let program = seriatim::lang::check(COUNTER)?;
    let verified = verify(&program, &Options::default())?;
    print!("{}", seriatim::report::run::headline("counter", &verified.answer));
    if let Some(run) = verified.run() {
        println!(
            "The run that shows it has {} threads and {} steps.",
            run.threads,
            run.steps.len()
        );
    }
    Ok(())
}
