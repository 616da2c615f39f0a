//! `seriatim certify`: is this a proof of that algorithm?

use super::input::{constant, text_of};
use super::output::say;
use super::source::Source;
use super::{Exit, Failure};
use seriatim::certify::draw::Draw;
use seriatim::certify::{Object, Refusal, certificate, certify};
use seriatim::explore::starting_bounds;
use seriatim::history::path_in_line;
use seriatim::lang::Program;
use seriatim::report::run::{claims, headline};
use seriatim::verify::certified;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Check the certificate of a proof
///
/// The checker shares only the algorithm language with the prover. It decides whether the views and
/// effects of the certificate are an inductive invariant in which every check holds, and says what
/// follows, claim by claim.
#[derive(clap::Args)]
pub struct Arguments {
    /// A .seri file, or the name of an algorithm in the library (`seriatim algorithms`)
    #[arg(value_name = "ALGORITHM")]
    algorithm: String,

    /// The file that `seriatim verify --certificate` wrote
    #[arg(value_name = "CERTIFICATE")]
    certificate: PathBuf,

    /// Set a constant, as in K=4, if the proof is for a different value than the one in the file
    #[arg(long = "set", value_name = "NAME=NUMBER", value_parser = constant)]
    constants: Vec<(String, i32)>,

    /// Draw the views and effects of an accepted certificate
    #[arg(long)]
    draw: bool,
}

/// Carries out `seriatim certify`.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let path = path_in_line(&arguments.certificate);
    let source = Source::find(&arguments.algorithm)?;
    let (_, mut constants) = starting_bounds(&source.program(&BTreeMap::new())?);
    constants.extend(arguments.constants.iter().cloned());
    let program = source.program(&constants)?;
    let text = text_of(&arguments.certificate)?;
    match certify(&program, &text) {
        Ok(accepted) => {
            let answer = certified(&program, &accepted);
            say(&(headline(&source.name, &answer) + &claims(&answer)))?;
            if arguments.draw {
                say(&drawings(&program, &text).unwrap_or_default())?;
            }
            Ok(Exit::Holds)
        }
        Err(Refusal::Text(why)) => Err(Failure(format!("{path}: {why}"))),
        Err(refusal @ Refusal::Program(_)) => Err(Failure(format!("{}: {refusal}", source.name))),
        Err(refusal @ Refusal::Proof(_)) => {
            say(&format!("{}: REJECTED: {refusal}\n", source.name))?;
            Ok(Exit::Violated)
        }
    }
}

fn drawings(program: &Program, text: &str) -> Option<String> {
    let object = Object::named_in(program, text).ok()?;
    let certificate = certificate::read(text, &object).ok()?;
    let draw = Draw::new(program, &object);
    let views = certificate.views.iter().map(|(view, line)| (draw.view(view), *line));
    let effects = certificate.effects.iter().map(|(effect, line)| (draw.effect(effect), *line));
    let all = views.chain(effects).map(|(drawing, line)| format!("\nline {line}: {drawing}\n"));
    let shapes = certificate.shapes.iter().map(|shape| draw.shape(shape));
    let shapes = shapes.map(|drawing| format!("\nthreads publish: {drawing}\n"));
    Some(all.chain(shapes).collect())
}
