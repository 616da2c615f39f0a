//! Verifies an algorithm instead of one run of it: every interleaving is considered.
//!
//! The increment reads and writes in two steps, so two threads can get the same number.

use seriatim::report::run::{Examined, terminal};
use seriatim::report::terminal::Style;
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
    let examined = Examined::new("counter", "counter", COUNTER, &verified.answer);
    print!("{}", terminal::report(&examined, &Style::plain(100)));
    Ok(())
}
