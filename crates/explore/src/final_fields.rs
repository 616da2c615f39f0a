//! Fields that are written for the last time: when nobody will ever change what they hold.
//!
//! Two patterns, found in the code and valid as long as nodes are not freed; writes to nodes that
//! no other thread knows yet do not count:
//! - every write to the field is a `cas` that also demands a constant of some field of the same
//!   node: once that field holds something else, no such `cas` succeeds (the `next` of a queue that
//!   goes from `null` to a node; mark and successor in one word, where every `cas` demands an
//!   unmarked node);
//! - every write stores the same constant: once the field holds it, it keeps it (the mark of the
//!   lazy list).
//!
//! *What would make it unsound*: a write that is not seen. All accesses of all methods are looked
//! at, those inside of atomic blocks included.

use seriatim_lang::liveness::Liveness;
use seriatim_lang::locality::local_accesses;
use seriatim_lang::steps::*;

/// When a field is final.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Nothing is known.
    Never,
    /// Once this field of the same node does not hold this scalar.
    Unless(u32, i32),
    /// Once it holds this scalar itself.
    Once(i32),
}

/// When the fields of each struct are final.
pub struct FinalFields {
    rules: Vec<Vec<Rule>>,
}

/// What the writes to a field have in common so far.
#[derive(Clone, Default)]
struct Writes {
    any: bool,
    guards: Vec<(u32, i32)>,
    constant: Option<i32>,
}

impl FinalFields {
    /// Analyses a program.
    pub fn of(steps: &Steps) -> FinalFields {
        let local = local_accesses(steps, &Liveness::of(steps));
        let count = |s: &StructLayout| vec![Writes::default(); s.slots.len()];
        let mut writes: Vec<Vec<Writes>> = steps.structs.iter().map(count).collect();
        for method in &steps.methods {
            let range = method.entry.0 as usize..method.end.0 as usize;
            for (instr, local) in steps.code[range.clone()].iter().zip(&local[range]) {
                let op = &instr.op;
                if let Some(place @ Place { root: Root::Node(_, id), .. }) = op.place()
                    && !local
                    && !matches!(op, Op::Load { .. })
                {
                    note(op, place, &mut writes[id.0 as usize]);
                }
            }
        }
        let rules = writes.iter().map(|all| all.iter().map(|w| rule(w, all)).collect());
        let mut rules: Vec<Vec<Rule>> = rules.collect();
        if steps.frees {
            rules.iter_mut().flatten().for_each(|rule| *rule = Rule::Never);
        }
        FinalFields { rules }
    }

    /// When a field is final.
    pub fn rule(&self, id: u32, slot: u32) -> Rule {
        self.rules[id as usize][slot as usize]
    }

    /// Whether a field of a node with these slots is final.
    pub fn is_final(&self, id: u32, slot: u32, slots: &[i32]) -> bool {
        match self.rule(id, slot) {
            Rule::Never => false,
            Rule::Unless(guard, value) => slots[guard as usize] != value,
            Rule::Once(value) => slots[slot as usize] == value,
        }
    }
}

/// When a field with these writes is final; a field that is demanded must not get that constant
/// back.
fn rule(writes: &Writes, all: &[Writes]) -> Rule {
    let stays = |(slot, value): &&(u32, i32)| {
        let guard = &all[*slot as usize];
        !guard.any || guard.guards.contains(&(*slot, *value))
    };
    match (writes.guards.iter().find(stays), writes.constant) {
        _ if !writes.any => Rule::Never,
        (Some((slot, value)), _) => Rule::Unless(*slot, *value),
        (None, Some(value)) => Rule::Once(value),
        (None, None) => Rule::Never,
    }
}

fn note(op: &Op, place: &Place, writes: &mut [Writes]) {
    let plain = place.dims.is_empty();
    let guards: Vec<(u32, i32)> = match op {
        Op::Cas { old, .. } if plain => constants(place.offset, old),
        _ => vec![],
    };
    let stored: Vec<(u32, i32)> = match op {
        Op::Store { value, .. } | Op::Swap { value, .. } | Op::StoreConditional { value, .. }
            if plain =>
        {
            constants(place.offset, value)
        }
        Op::Cas { new, .. } if plain => constants(place.offset, new),
        _ => vec![],
    };
    for slot in place.slots() {
        let known = &mut writes[slot as usize];
        let constant = stored.iter().find(|(s, _)| *s == slot).map(|(_, value)| *value);
        if known.any {
            known.guards.retain(|guard| guards.contains(guard));
            known.constant = known.constant.filter(|value| constant == Some(*value));
        } else {
            *known = Writes { any: true, guards: guards.clone(), constant };
        }
    }
}

/// The slots that get or must hold a constant.
fn constants(offset: u32, values: &[Ex]) -> Vec<(u32, i32)> {
    let constant = |(slot, ex): (u32, &Ex)| match ex {
        Ex::Const(value) => Some((slot, *value)),
        _ => None,
    };
    (offset..).zip(values).filter_map(constant).collect()
}
