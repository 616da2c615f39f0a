//! Pages with commands and their output, held against what the commands print.

/// The text with whatever differs from run to run masked: `113 µs` and `2.4 s` become `…`.
pub fn masked(text: &str) -> String {
    text.lines().map(masked_line).collect::<Vec<_>>().join("\n")
}

fn masked_line(line: &str) -> String {
    // How many runs fit into its time is a matter of the machine.
    if line.starts_with("second opinion: ") {
        return line.chars().filter(|c| !c.is_ascii_digit() && *c != '.').collect();
    }
    if let Some((before, after)) = line.split_once("\"elapsed_seconds\":") {
        let rest = after.trim_start_matches(|c: char| c.is_ascii_digit() || ".e-".contains(c));
        return format!("{before}\"elapsed_seconds\":…{rest}");
    }
    let words: Vec<&str> = line.split(' ').collect();
    let is_number = |word: &str| {
        let digits = word.trim_start_matches('(');
        !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || c == '.' || c == ',')
    };
    let is_unit = |word: &str| {
        let unit: String = word.chars().take_while(|c| c.is_alphabetic()).collect();
        ["s", "ms", "µs", "ns", "min"].contains(&&unit[..])
    };
    let mut shown: Vec<String> = Vec::new();
    for (position, word) in words.iter().enumerate() {
        let before = position.checked_sub(1).map(|before| words[before]);
        let next = words.get(position + 1);
        shown.push(if is_number(word) && next.is_some_and(|next| is_unit(next)) {
            "…".to_owned()
        } else if is_unit(word) && before.is_some_and(is_number) {
            // The unit depends on the time, too.
            format!("s{}", word.trim_start_matches(char::is_alphabetic))
        } else {
            (*word).to_owned()
        });
    }
    shown.join(" ")
}

/// A page with the output of its commands as it is now, and how many commands were run. A command
/// is a line `$ …` of a `console` block; `output_of` says what it prints, or that it is not to be
/// run.
pub fn rewritten(page: &str, output_of: impl Fn(&str) -> Option<String>) -> (String, usize) {
    let mut lines = page.lines().peekable();
    let (mut text, mut ran) = (String::new(), 0);
    let mut in_console = false;
    while let Some(line) = lines.next() {
        text.push_str(line);
        text.push('\n');
        match line {
            "```console" => in_console = true,
            "```" => in_console = false,
            _ => {}
        }
        let Some(command) = line.strip_prefix("$ ").filter(|_| in_console) else { continue };
        let Some(output) = output_of(command) else { continue };
        let mut shown = String::new();
        while let Some(line) =
            lines.next_if(|line| !line.starts_with("```") && !line.starts_with("$ "))
        {
            shown.push_str(line);
            shown.push('\n');
        }
        let is_same = masked(output.trim_end()) == masked(shown.trim_end());
        text.push_str(if is_same { &shown } else { &output });
        ran += 1;
    }
    (text, ran)
}
