//! Leaves out of a certificate what it does not need.
//!
//! Views that another view covers are left out, and effects of which another one says the same or
//! less: what is left describes as much as before, and asks for no more. In all certificates of the
//! library, every view and every effect that is left is needed ([`crate::needs`]). Only a
//! convenience: the checker accepts the result or not, like any other certificate.

use crate::certificate::{Certificate, end_of, read};
use crate::effect::is_weaker;
use crate::index::Index;
use crate::{Object, Refusal};
use seriatim_lang::Program;
use std::collections::BTreeSet;

/// The certificate without lines that others cover.
pub fn trimmed(program: &Program, text: &str) -> Result<String, Refusal> {
    let object = Object::named_in(program, text).map_err(Refusal::Program)?;
    let certificate = read(text, &object).map_err(Refusal::Text)?;
    let index = Index::new(&certificate);
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
    Ok(without(text, &certificate, &views, &effects))
}

fn without(
    text: &str,
    certificate: &Certificate,
    views: &BTreeSet<usize>,
    effects: &BTreeSet<usize>,
) -> String {
    let views = views.iter().map(|view| certificate.views[*view].1);
    let effects = effects.iter().map(|effect| certificate.effects[*effect].1);
    let needless: BTreeSet<u32> = views.chain(effects).collect();
    let lines = text.lines().zip(1u32..).filter(|(_, number)| !needless.contains(number));
    let mut lines: Vec<&str> = lines.map(|(line, _)| line).collect();
    lines.pop();
    let body = lines.join("\n");
    format!("{body}\n{}\n", end_of(&body))
}
