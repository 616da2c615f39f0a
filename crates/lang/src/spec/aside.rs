//! What a specification changes at no version of its own, read off its text.
//!
//! A method may change something and not count the version up, as etcd's compaction does, if what it
//! changes stands *aside*: variables that nothing else assigns, and that no method looks at which
//! counts the version up. So the version still says in which order all else changed. What is asked,
//! each a check below:
//! - such a method counts on none of its ways, and mentions these variables and the version only;
//! - all other methods leave them alone;
//! - one that counts on any way does not mention them.
//!
//! A mention in a function that a method calls is one of the method.

use super::access::root;
use super::paths::Ending;
use crate::front::ast::*;
use crate::front::program::{FunctionInfo, Meaning, SpecInfo, VarId};
use crate::front::walk;
use std::collections::BTreeSet;

/// What a method has to do with what stands aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It neither looks at it nor changes it.
    Apart,
    /// It looks at it, and changes nothing.
    Looks,
    /// It changes it on some way, and nothing else.
    Changes,
}

/// What stands aside of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asides {
    /// The variables.
    pub vars: Vec<VarId>,
    /// The role of each method.
    pub roles: Vec<Role>,
}

/// What stands aside of a number, if with that the number counts the changes; else the method that
/// shows that it does not, and how. `endings`: those of all methods.
pub fn asides(
    spec: &SpecInfo,
    number: VarId,
    endings: &[Vec<Ending>],
) -> Result<Asides, (usize, &'static str)> {
    let uncounted = |ways: &Vec<Ending>| ways.iter().any(|way| way.is_change && way.counted == 0);
    let counts = |ways: &Vec<Ending>| ways.iter().any(|way| way.counted > 0);
    let is_counted = endings.iter().any(counts);
    let reaches: Vec<Reach> = spec.methods.iter().map(|method| Reach::of(spec, method)).collect();
    let changers = || (0..endings.len()).filter(|&method| uncounted(&endings[method]));
    let vars: BTreeSet<VarId> =
        changers().flat_map(|method| reaches[method].assigned.iter().copied()).collect();
    if let Some(twice) = endings.iter().position(|ways| ways.iter().any(|way| way.counted > 1)) {
        return Err((twice, "a way here counts it up more than once"));
    }
    for method in changers() {
        let reach = &reaches[method];
        let is_narrow = reach.mentioned.iter().all(|var| vars.contains(var) || *var == number);
        let stands_aside = is_counted && !counts(&endings[method]) && is_narrow;
        let is_disturbed = (0..endings.len()).any(|other| {
            let is_other = !uncounted(&endings[other]);
            let looks = counts(&endings[other]) && !reaches[other].mentioned.is_disjoint(&vars);
            is_other && (looks || !reaches[other].assigned.is_disjoint(&vars))
        });
        if !stands_aside || is_disturbed {
            return Err((method, "a way here changes something and does not count it up"));
        }
    }
    let role = |method: usize| match &reaches[method] {
        _ if uncounted(&endings[method]) => Role::Changes,
        reach if reach.mentioned.is_disjoint(&vars) => Role::Apart,
        _ => Role::Looks,
    };
    let roles = (0..endings.len()).map(role).collect();
    Ok(Asides { vars: vars.into_iter().collect(), roles })
}

/// The variables of the state that a function and what it calls mention and assign.
#[derive(Default)]
struct Reach {
    mentioned: BTreeSet<VarId>,
    assigned: BTreeSet<VarId>,
}

impl Reach {
    fn of(spec: &SpecInfo, function: &FunctionInfo) -> Reach {
        let mut reach = Reach::default();
        reach.add(spec, function);
        reach
    }

    fn add(&mut self, spec: &SpecInfo, function: &FunctionInfo) {
        walk::expressions(&function.body, &mut |expr| match spec.facts.meaning(expr.id) {
            Some(Meaning::Shared(var)) => drop(self.mentioned.insert(var)),
            Some(Meaning::Function(index)) => self.add(spec, &spec.functions[index as usize]),
            _ => {}
        });
        walk::statements(&function.body, &mut |statement| {
            if let StmtKind::Assign(targets, _) = &statement.kind {
                let roots = targets.iter().flatten().filter_map(|place| root(spec, place));
                self.assigned.extend(roots);
            }
        });
    }
}

/// Whether a function or what it calls assigns a variable of the state.
pub(super) fn assigns_state(spec: &SpecInfo, function: &FunctionInfo) -> bool {
    !Reach::of(spec, function).assigned.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::paths::version;

    const STORE: &str = "spec store {
  var rev: int = 1
  var compacted: int = 0
  var kv: map<value, int> = {}
  method put(k: value, v: int) -> int {
    kv[k] = v
    rev = rev + 1
    return rev
  }
  method compact(at: int) -> (bool, int) {
    if at <= compacted || at > rev { return (false, rev) }
    compacted = at
    return (true, rev)
  }
  method get(k: value, at: int) -> (bool, int, int) {
    if is_gone(at) { return (false, 0, rev) }
    return (true, kv[k], rev)
  }
  fn is_gone(at: int) -> bool { return at < compacted }
}";

    fn roles(old: &str, new: &str) -> Option<Vec<Role>> {
        assert!(STORE.contains(old), "{old}");
        let program = crate::check(&STORE.replacen(old, new, 1)).expect("a specification");
        let (number, _, asides) = version(&program.specs[0])?;
        assert_eq!(number, VarId(0));
        Some(asides.roles)
    }

    #[test]
    fn what_stands_aside_is_changed_by_nothing_else_and_seen_by_reads_only() {
        use Role::*;
        assert_eq!(roles("", ""), Some(vec![Apart, Changes, Looks]));
        let nobody_looks = roles("if is_gone(at)", "if at < 0");
        assert_eq!(nobody_looks, Some(vec![Apart, Changes, Apart]));
        for (old, new) in [
            ("    kv[k] = v\n", "    kv[k] = v\n    compacted = 0\n"),
            ("    kv[k] = v\n", "    kv[k] = compacted\n"),
            ("    kv[k] = v\n", "    if !is_gone(v) { kv[k] = v }\n"),
            ("at <= compacted", "at in kv"),
            ("    compacted = at\n", "    compacted = at\n    kv[at] = 0\n"),
            ("    compacted = at\n", "    compacted = at\n    if at > 7 { rev = rev + 1 }\n"),
        ] {
            let new = new.replace("at in kv", "(at == 3 && kv[empty] == 0)");
            let new = new.replace("kv[at]", "kv[empty]");
            assert_eq!(roles(old, &new), None, "{new}");
        }
    }
}
