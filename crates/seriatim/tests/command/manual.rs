//! Completions and manual pages know every command and every option.

use super::book::commands;
use super::run::{folder, seriatim, text};

#[test]
fn the_completions_of_every_shell_know_every_command_and_every_option() {
    let commands = commands();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = seriatim(&["completions", shell]).exits(0).out;
        for (command, options) in &commands {
            assert!(script.contains(&**command), "{shell}: {command}");
            for option in options {
                // Fish names options without their dashes.
                let name = option.trim_start_matches('-');
                let written = if shell == "fish" { format!("-l {name}") } else { option.clone() };
                assert!(script.contains(&written), "{shell}: {option} of {command}");
            }
        }
    }
}

#[test]
fn every_command_has_a_manual_page_with_all_its_options() {
    let commands = commands();
    let roff = |words: &str| words.replace('-', "\\-");
    let page = seriatim(&["man"]).exits(0).out;
    for (command, _) in &commands {
        assert!(page.contains(&roff(&format!("seriatim-{command}"))), "{command}");
    }
    // The folder need not be there.
    let folder = folder("manual").join("man1");
    seriatim(&["man", "--to", &text(&folder)]).exits(0);
    for (command, options) in &commands {
        let page = folder.join(format!("seriatim-{command}.1"));
        let page = std::fs::read_to_string(page).expect("a page of the manual");
        for option in options {
            assert!(page.contains(&roff(option)), "{option} of {command}");
        }
    }
}
