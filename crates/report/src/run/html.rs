//! What is known of an algorithm as a page for a browser: one file, no link to the network. The run is there twice: as a table
//! that any browser shows, and as JSON (`id="run"`) for scripts.

use super::json::RunDocument;
use super::terminal::said;
use super::{Examined, claims, headline};
use seriatim_spec::run::{Access, Run};
use std::collections::BTreeSet;
use std::fmt::Write;

const STYLE: &str = include_str!("../../web/run.css");

/// The page: the claims, the run in one column for each thread with memory after each step that changed it, the history, and the
/// source with the lines that the run executes marked.
pub fn render(examined: &Examined<'_>) -> String {
    let title = escaped(examined.name);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <style>{STYLE}</style></head>\n<body><h1>{title}</h1>\n<p class=\"verdict\">{}</p>\n<pre>{}</pre>\n",
        escaped(headline(examined.name, examined.answer).trim_end()),
        escaped(&claims(examined.answer)),
    );
    if let Some((run, how)) = examined.run() {
        table(&mut out, run, how);
        let _ =
            writeln!(out, "<script type=\"application/json\" id=\"run\">{}</script>", data(run));
    }
    listing(&mut out, examined);
    out + "</body></html>\n"
}

fn table(out: &mut String, run: &Run, how: &str) {
    let _ = write!(
        out,
        "<h2>The run</h2>\n<p>{}</p>\n<div class=\"wide\"><table>\n<tr><th>step</th>",
        escaped(how)
    );
    (0..run.threads).for_each(|t| {
        let _ = write!(out, "<th>thread {t}</th>");
    });
    *out += "<th>memory afterwards</th></tr>\n";
    for (number, step) in run.steps.iter().enumerate() {
        let class = if number + 1 == run.steps.len() { " class=\"last\"" } else { "" };
        let _ = write!(out, "<tr{class}><td>{}</td>", number + 1);
        for thread in 0..run.threads {
            let shown = step.accesses.iter().filter(|_| thread == step.thread).map(access);
            let _ = write!(out, "<td>{}</td>", shown.collect::<Vec<_>>().join("\n"));
        }
        let lines = step.memory.as_ref().map(|memory| memory.lines.join("\n"));
        let _ =
            writeln!(out, "<td class=\"memory\">{}</td></tr>", escaped(&lines.unwrap_or_default()));
    }
    *out += "</table></div>\n<h2>The history</h2>\n<pre>";
    run.history.iter().for_each(|event| {
        let _ = writeln!(out, "{}", escaped(&said(event)));
    });
    *out += "</pre>\n";
}

/// An access with a link to its line of the source.
fn access(access: &Access) -> String {
    let text = escaped(&access.text());
    match access.line {
        Some(line) => format!("<a href=\"#L{line}\">{line}</a>: {text}"),
        None => text,
    }
}

fn listing(out: &mut String, examined: &Examined<'_>) {
    let run = examined.run().map(|(run, _)| run);
    let accesses = run.iter().flat_map(|run| &run.steps).flat_map(|step| &step.accesses);
    let marked: BTreeSet<usize> = accesses.filter_map(|access| access.line).collect();
    *out += "<h2>The algorithm</h2>\n<pre class=\"source\">";
    for (number, line) in examined.source.lines().enumerate().map(|(n, line)| (n + 1, line)) {
        let class = if marked.contains(&number) { " class=\"run\"" } else { "" };
        let _ =
            writeln!(out, "<span id=\"L{number}\"{class}>{number:>4}  {}</span>", escaped(line));
    }
    *out += "</pre>\n";
}

/// The run as JSON that cannot end the element that holds it.
fn data(run: &Run) -> String {
    let text = serde_json::to_string(&RunDocument::of(run)).expect("every part can be written");
    text.replace('<', "\\u003c")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
