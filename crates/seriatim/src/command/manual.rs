//! `seriatim completions` and `seriatim man`: the command line, told to shells and to `man`.

use super::output::{Rendered, say_rendered};
use super::{Exit, Failure};
use clap::Command;
use clap_complete::Shell;
use seriatim::history::path_in_line;
use std::path::PathBuf;

/// Print completions for a shell
///
/// For bash: seriatim completions bash > ~/.local/share/bash-completion/completions/seriatim
#[derive(clap::Args)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Print the manual page, or write the pages of all commands to a folder
///
/// For example: seriatim man --to ~/.local/share/man/man1
#[derive(clap::Args)]
pub struct Manual {
    /// Write one page per command to this folder
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
}

/// Carries out `seriatim completions`.
pub fn completions(arguments: &Completions, mut command: Command) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "seriatim", &mut script);
    say_rendered(&Rendered(String::from_utf8_lossy(&script).into_owned()))?;
    Ok(Exit::Holds)
}

/// Carries out `seriatim man`.
pub fn manual(arguments: &Manual, command: Command) -> Result<Exit, Failure> {
    let Some(folder) = &arguments.to else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        say_rendered(&Rendered(String::from_utf8_lossy(&page).into_owned()))?;
        return Ok(Exit::Holds);
    };
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(command, folder))
        .map_err(|error| Failure(format!("{}: cannot write: {error}", path_in_line(folder))))?;
    Ok(Exit::Holds)
}
