//! A counterexample as a page for a browser: one file, no link to the network.

use crate::outcome::{Counterexample, Event};
use crate::trace::{headline, list, shown};
use std::fmt::Write;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem;color:#222;background:#fff}\
table{border-collapse:collapse}th,td{text-align:left;vertical-align:top;padding:.3rem .8rem;border-top:1px solid #ddd}\
td{font-family:ui-monospace,monospace;font-size:13px;white-space:pre}td.memory{color:#456}tr.last td{background:#fff0f0}\
h1{font-size:1.3rem}.verdict{color:#a00}@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}\
th,td{border-color:#444}td.memory{color:#9bc}tr.last td{background:#402020}.verdict{color:#f88}}";

/// The page: steps in one column for each thread, memory after each step that changed it, then the history.
pub fn page(title: &str, counterexample: &Counterexample) -> String {
    let threads = counterexample.steps.iter().map(|s| s.thread + 1).max().unwrap_or(0);
    let mut out = String::new();
    let title = escaped(title);
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n\
         <style>{STYLE}</style></head>\n<body><h1>{title}</h1>\n<p class=\"verdict\">{}</p>\n<table>\n<tr><th>step</th>",
        escaped(&headline(counterexample))
    );
    (0..threads).for_each(|t| {
        let _ = write!(out, "<th>thread {t}</th>");
    });
    out += "<th>memory afterwards</th></tr>\n";
    let count = counterexample.steps.len();
    for (number, step) in counterexample.steps.iter().enumerate() {
        let class = if number + 1 == count { " class=\"last\"" } else { "" };
        let _ = write!(out, "<tr{class}><td>{}</td>", number + 1);
        for thread in 0..threads {
            let text = if thread == step.thread { step.text.join("\n") } else { String::new() };
            let _ = write!(out, "<td>{}</td>", escaped(&text));
        }
        let picture = escaped(&step.picture.join("\n"));
        let _ = writeln!(out, "<td class=\"memory\">{picture}</td></tr>");
    }
    out += "</table>\n<h2>history</h2>\n<table>\n";
    for event in &counterexample.history {
        let (thread, text) = match event {
            Event::Call { thread, method, args } => {
                (thread, format!("calls {method}({})", list(args)))
            }
            Event::Return { thread, method, result } => {
                (thread, format!("returns {method}{}", shown(" = ", result)))
            }
        };
        let _ = writeln!(out, "<tr><td>t{thread}</td><td>{}</td></tr>", escaped(&text));
    }
    out + "</table>\n</body></html>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
