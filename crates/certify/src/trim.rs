//! A certificate without the lines that other lines make needless: views that another view covers, effects that say more than
//! another one says. It proves the same and is quicker to check. Nothing rests on it: what it gives is checked like
//! any certificate.

use crate::certificate::{end_of, read};
use crate::cover::Index;
use crate::effect::is_weaker;
use crate::{Object, Refusal};
use seriatim_lang::Program;
use std::collections::BTreeSet;

/// The certificate without needless lines.
pub fn trimmed(program: &Program, text: &str) -> Result<String, Refusal> {
    let object = Object::of(program).map_err(Refusal::Program)?;
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
    let views = views.into_iter().map(|view| certificate.views[view].1);
    let effects = effects.into_iter().map(|effect| certificate.effects[effect].1);
    let needless: BTreeSet<u32> = views.chain(effects).collect();
    let lines = text.lines().zip(1u32..).filter(|(_, number)| !needless.contains(number));
    let mut lines: Vec<&str> = lines.map(|(line, _)| line).collect();
    lines.pop();
    let body = lines.join("\n");
    Ok(format!("{body}\n{}\n", end_of(&body)))
}
