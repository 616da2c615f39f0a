//! What a page is: one file that asks nobody for anything and cannot be made to do what its text
//! says.
//!
//! A page has a skeleton from `web/`, whose places `{{name}}` are filled here; style sheet and
//! scripts stand in it, and so do the data, as JSON and as compressed columns. There are three: the
//! page of a history (`html`), the page of a run (`run::html`), which has the former's timeline in
//! it, and the table of orderings (`run::orderings`), which has no script.
//!
//! **Why it is safe.** What comes from outside (names, values, file names, sources, reasons)
//! reaches the page in three ways only: as text of an element, through
//! [`escaped`](crate::markup::escaped), which leaves none of `& < > " '` as they are, so that it
//! neither begins nor ends markup; as JSON in a script element, through [`json`], which leaves no
//! `<`, so that it cannot end the element; and as base64. Scripts put it on the screen as text
//! nodes and attribute values, never as markup. The content security policy of `web/head.html`
//! forbids every request, whatever else happens. *It would be unsound to* write anything from
//! outside into a place of the skeleton in another way; `tests/page.rs` and the browser test try
//! with hostile text.

use serde::Serialize;
use seriatim_history::harmless_json;
use std::io::{self, Write};

// Statics, not constants, which would stand in the program once for each unit of code that uses them.
static HEAD: &str = include_str!("../web/head.html");
static STYLES: &str = include_str!("../web/style.css");
static HEADLINE: &str = include_str!("../web/headline.html");
static TIMELINE: &str = include_str!("../web/timeline.html");
static FOOT: &str = include_str!("../web/foot.html");

/// The scripts of a timeline, in the order in which they need each other.
static SCRIPTS: [&str; 8] = [
    include_str!("../web/decode.js"),
    include_str!("../web/history.js"),
    include_str!("../web/axis.js"),
    include_str!("../web/colours.js"),
    include_str!("../web/timeline.js"),
    include_str!("../web/gestures.js"),
    include_str!("../web/panel.js"),
    include_str!("../web/main.js"),
];

/// Writes a page: fills the places that all pages have, and leaves the others to `fill`.
pub(crate) fn write<W: Write>(
    skeleton: &'static str,
    scripts: &[&str],
    out: &mut W,
    fill: &mut dyn FnMut(&str, &mut W) -> io::Result<()>,
) -> io::Result<()> {
    for piece in pieces(skeleton) {
        match piece {
            Piece::Text(text) => out.write_all(text.as_bytes())?,
            Piece::Place("head") => write(HEAD, scripts, out, fill)?,
            // The page that checks may run its module; a report runs nothing but its own scripts.
            Piece::Place("allowed") => {}
            Piece::Place("styles") => out.write_all(STYLES.as_bytes())?,
            Piece::Place("headline") => out.write_all(HEADLINE.as_bytes())?,
            Piece::Place("foot") => write(FOOT, scripts, out, fill)?,
            Piece::Place("timeline") => out.write_all(TIMELINE.as_bytes())?,
            Piece::Place("scripts") => {
                for script in SCRIPTS.iter().chain(scripts) {
                    out.write_all(script.as_bytes())?;
                }
            }
            Piece::Place(name) => fill(name, out)?,
        }
    }
    Ok(())
}

enum Piece {
    Text(&'static str),
    Place(&'static str),
}

/// The skeleton, cut at its places, which are written `{{name}}`.
fn pieces(skeleton: &'static str) -> impl Iterator<Item = Piece> {
    skeleton.split("{{").enumerate().flat_map(|(index, piece)| {
        let place = piece.split_once("}}").filter(|_| index > 0);
        let (place, text) = place.map_or((None, piece), |(name, text)| (Some(name), text));
        place.map(Piece::Place).into_iter().chain([Piece::Text(text)])
    })
}

/// JSON that may stand inside a script element.
pub(crate) fn json(data: &impl Serialize) -> io::Result<String> {
    Ok(harmless_json(&serde_json::to_string(data)?).replace('<', "\\u003c"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markup::escaped;

    #[test]
    fn hostile_text_stays_text() {
        let hostile = "</script><img src=x onerror='alert(1)'> & \"";
        assert!(!escaped(hostile).contains(['<', '>', '"', '\'']));
        assert!(!json(&hostile).unwrap().contains('<'));
        let back: String = serde_json::from_str(&json(&hostile).unwrap()).unwrap();
        assert_eq!(back, hostile, "and nothing of it is lost");
    }
}
