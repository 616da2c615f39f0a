//! Leaves out of a certificate what it does not need.
//!
//! Views that another view covers are left out, and effects of which another one says the same or
//! less: what is left describes as much as before, and asks for no more. In the certificates of the
//! library, every view and every effect that is left is needed ([`crate::needs`]), but for maps: of
//! a view in which the tracked key may have either value, others may cover both cases. Only a
//! convenience: the checker accepts the result or not, like any other certificate.

use crate::certificate::{Certificate, end_of, read};
use crate::effect::is_weaker;
use crate::index::Index;
use crate::limits::WORK;
use crate::{Accepted, Object, Refusal, accepted};
use seriatim_lang::Program;
use std::collections::BTreeSet;

/// The certificate without lines that others cover.
pub fn trimmed(program: &Program, text: &str) -> Result<String, Refusal> {
    let object = Object::named_in(program, text).map_err(Refusal::Program)?;
    let certificate = read(text, &object).map_err(Refusal::Text)?;
    Ok(without(text, &needless(&certificate)))
}

/// Leaves out what others cover and checks the rest: what is accepted, and its text. Every line is
/// read once and by itself, so the entries that are left are those of that text. The whole text is
/// given back before the check begins: it may be large.
pub fn trimmed_and_certified(
    program: &Program,
    text: String,
) -> Result<(Accepted, String), Refusal> {
    let object = Object::named_in(program, &text).map_err(Refusal::Program)?;
    let mut certificate = read(&text, &object).map_err(Refusal::Text)?;
    let needless = needless(&certificate);
    let trimmed = without(&text, &needless);
    drop(text);
    certificate.views.retain(|(_, line)| !needless.contains(line));
    certificate.effects.retain(|(_, line)| !needless.contains(line));
    let accepted = accepted(program, &object, &certificate, WORK)?;
    Ok((accepted, trimmed))
}

/// The lines of what others cover.
fn needless(certificate: &Certificate) -> BTreeSet<u32> {
    let index = Index::new(certificate);
    let (mut views, mut effects) = (BTreeSet::new(), BTreeSet::new());
    for (number, (view, _)) in certificate.views.iter().enumerate() {
        if index.covering(view).any(|other| other != number && !views.contains(&other)) {
            views.insert(number);
        }
    }
    for (number, (effect, _)) in certificate.effects.iter().enumerate() {
        let others = certificate.effects.iter().enumerate();
        let mut others = others.filter(|(other, _)| *other != number && !effects.contains(other));
        if others.any(|(_, (other, _))| is_weaker(other, effect)) {
            effects.insert(number);
        }
    }
    let views = views.iter().map(|view| certificate.views[*view].1);
    views.chain(effects.iter().map(|effect| certificate.effects[*effect].1)).collect()
}

/// The text without some of the lines of a certificate.
fn without(text: &str, needless: &BTreeSet<u32>) -> String {
    let lines = text.lines().zip(1u32..).filter(|(_, number)| !needless.contains(number));
    let mut lines: Vec<&str> = lines.map(|(line, _)| line).collect();
    lines.pop();
    let body = lines.join("\n");
    format!("{body}\n{}\n", end_of(&body))
}
