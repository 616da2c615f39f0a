//! What is known of an algorithm, for pipelines: each claim is a test case. A violation is a
//! failure whose text is the run; a claim without answer that was asked is an error, one that was
//! not asked or not answered is skipped.

use super::{Examined, terminal};
use crate::markup::escaped;
use seriatim_spec::answer::Standing;
use std::fmt::Write;

/// The claims as one test suite.
pub fn render(examined: &Examined<'_>) -> String {
    let claims: Vec<_> = examined.answer.claims().collect();
    let count = |is: fn(&Standing) -> bool| claims.iter().filter(|c| is(&c.standing)).count();
    let failures = count(|s| matches!(s, Standing::Violated { .. }));
    let errors = count(|s| matches!(s, Standing::Unknown(_)));
    let skipped = count(|s| matches!(s, Standing::NotAnswered(_) | Standing::NotAsked));
    let time = examined.answer.cost.time.as_secs_f64();
    let sizes = format!("tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\"", claims.len());
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(xml, "<testsuites {sizes} time=\"{time:.3}\">");
    let _ = writeln!(
        xml,
        "  <testsuite name=\"seriatim\" {sizes} skipped=\"{skipped}\" time=\"{time:.3}\">"
    );
    let class = escaped(examined.name);
    for claim in &claims {
        let name = claim.property.word();
        let _ =
            writeln!(xml, "    <testcase name=\"{name}\" classname=\"{class}\" time=\"0.000\">");
        match &claim.standing {
            Standing::Holds { scope, .. } => {
                let words = escaped(&scope.words);
                let _ = writeln!(xml, "      <system-out>{words}</system-out>");
            }
            Standing::Violated { how, run, .. } => {
                let text = run.as_deref().map(|run| terminal::render(run, how));
                let (how, text) = (escaped(how), escaped(&text.unwrap_or_default()));
                let _ = writeln!(
                    xml,
                    "      <failure type=\"violation\" message=\"{how}\">{text}</failure>"
                );
            }
            Standing::Unknown(why) => {
                let why = escaped(why);
                let _ = writeln!(xml, "      <error type=\"unknown\" message=\"{why}\"></error>");
            }
            Standing::NotAnswered(why) => {
                let _ = writeln!(xml, "      <skipped message=\"{}\"></skipped>", escaped(why));
            }
            Standing::NotAsked => xml.push_str("      <skipped message=\"not asked\"></skipped>\n"),
        }
        xml.push_str("    </testcase>\n");
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}
