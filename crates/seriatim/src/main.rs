//! The command `seriatim`.

mod command;

fn main() -> std::process::ExitCode {
    command::run()
}
