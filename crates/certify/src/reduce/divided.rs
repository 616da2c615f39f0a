//! The program with one bucket in the place of a hash table.
//!
//! Conditions, besides that operations on different keys have nothing to do with each other in the
//! specification (the caller knows):
//! - every method has one parameter that is a key, and accesses shared variables at the index
//!   `hash(key, N)` only, in arrays of at least N elements; the key and the index are followed along
//!   every way through the method (code to which no way leads does not count);
//! - by these accesses, every shared slot belongs to one element number;
//! - the index is used for nothing else;
//! - the initial state is made by straight code, and the elements of one number begin as those of any
//!   other, with nodes of their own;
//! - no node is given back, and no register outlives an operation.
//!
//! What is reached from the elements of one number is reached from no others: this holds at the
//! start, and an operation, which begins with nothing but its arguments, reaches and writes only what
//! is reached from its elements and what it has made. So the operations with one hash see a program
//! of their own, the stand-in, whatever the others do; and a history of the program is one of
//! several independent objects, each with the keys of one hash. It is linearizable if all of them
//! are (Herlihy and Wing, TOPLAS 1990), and nothing fails unless one of them does.
//!
//! It would be unsound to let anything go from one bucket to another: a variable that both use, a
//! node that both begin with, a second index in one method.

use super::body_of;
use seriatim_lang::flow;
use seriatim_lang::steps::{BinOp, Ex, NULL, Op, Pc, Place, Reg, Root, Steps};
use seriatim_lang::types::Scalar;
use std::collections::{BTreeMap, BTreeSet};

/// What is known of a register at a position.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fact {
    Key,
    /// Of the key, with this size.
    Hash(i32),
}

/// What is known of registers at a position; of all others, nothing.
type Facts = BTreeMap<Reg, Fact>;

/// The program with one bucket, if it is a hash table.
pub fn with_one_bucket(steps: &Steps) -> Option<Steps> {
    let outlives = steps.object_registers > 0 || !steps.links.is_empty();
    if steps.frees || outlives {
        return None;
    }
    let facts = followed(steps)?;
    let index_of = |at: usize, ex: &Ex| match worth(facts[at].as_ref()?, ex)? {
        Fact::Hash(size) => Some(size),
        Fact::Key => None,
    };
    let sets_index = |at: usize| match &steps.code[at].op {
        Op::Set { value, .. } => value.iter().all(|ex| index_of(at, ex).is_some()),
        _ => false,
    };
    // Registers of the index: nothing else gets into them, and they are used for nothing else.
    let of_index: BTreeSet<(usize, u32)> = (0..steps.code.len())
        .filter(|at| sets_index(*at))
        .flat_map(|at| flow::definitions(&steps.code[at].op).map(move |reg| (at, reg)))
        .map(|(at, reg)| (body_of(steps, at), reg))
        .collect();
    let mut sizes = BTreeSet::new();
    let mut element: Vec<Option<u32>> = vec![None; steps.shared.len()];
    for (at, instr) in steps.code.iter().enumerate() {
        let body = body_of(steps, at);
        if body == 0 || facts[at].is_none() {
            continue;
        }
        let mut op = instr.op.clone();
        if let Some(place) = op.place_mut().filter(|place| place.root == Root::Shared) {
            let [dim] = &place.dims[..] else { return None };
            let size = index_of(at, &dim.index)?;
            sizes.insert(size);
            for (slot, element) in (0..).zip(&mut element) {
                let Some(number) = number_of(place, slot) else { continue };
                (*element.get_or_insert(number) == number).then_some(())?;
            }
            (size <= dim.len as i32 && place.width <= dim.stride).then_some(())?;
            place.dims.clear();
        }
        if sets_index(at) {
            continue;
        }
        let mut other = true;
        flow::uses(&op, &mut |reg| other &= !of_index.contains(&(body, reg.0)));
        other &= flow::definitions(&op).all(|reg| !of_index.contains(&(body, reg)));
        other.then_some(())?;
    }
    let element = element.into_iter().collect::<Option<Vec<u32>>>()?;
    if sizes.len() != 1 || !begins_divided(steps, &element) {
        return None;
    }
    Some(first_of(steps, &element, &sets_index))
}

/// The number of the element to which a slot belongs, if an access with an index can touch it.
fn number_of(place: &Place, slot: u32) -> Option<u32> {
    let dim = place.dims.first()?;
    let from = slot.checked_sub(place.offset)?;
    let (number, inside) = (from / dim.stride, from % dim.stride);
    (number < dim.len && inside < place.width).then_some(number)
}

/// What is known at every position of a method that can be reached.
fn followed(steps: &Steps) -> Option<Vec<Option<Facts>>> {
    let mut known: Vec<Option<Facts>> = vec![None; steps.code.len()];
    let mut todo = Vec::new();
    for method in &steps.methods {
        let params = method.params.iter().zip(method.first_param.0..);
        let keys = params.filter(|(kind, _)| kind.scalar == Scalar::Key);
        let facts: Facts = keys.map(|(_, reg)| (Reg(reg), Fact::Key)).collect();
        (facts.len() == 1).then_some(())?;
        todo.push((method.entry, facts));
    }
    while let Some((pc, facts)) = todo.pop() {
        let Some(here) = known.get_mut(pc.0 as usize) else { continue };
        let common = match here.as_ref() {
            None => facts,
            Some(old) => {
                let agree = |(reg, fact): &(&Reg, &Fact)| facts.get(reg) == Some(fact);
                old.iter().filter(agree).map(|(reg, fact)| (*reg, *fact)).collect()
            }
        };
        if here.as_ref() == Some(&common) {
            continue;
        }
        *here = Some(common.clone());
        let op = &steps.code[pc.0 as usize].op;
        let after = afterwards(common, op);
        todo.extend(flow::successors(op, pc).into_iter().map(|next| (next, after.clone())));
    }
    Some(known)
}

fn afterwards(mut facts: Facts, op: &Op) -> Facts {
    let new: Vec<(Reg, Fact)> = match op {
        Op::Set { dst, value } => {
            let all = (dst.0..).map(Reg).zip(value);
            all.filter_map(|(reg, ex)| Some((reg, worth(&facts, ex)?))).collect()
        }
        _ => vec![],
    };
    facts.retain(|reg, _| !flow::definitions(op).contains(&reg.0));
    facts.extend(new);
    facts
}

fn worth(facts: &Facts, ex: &Ex) -> Option<Fact> {
    match ex {
        Ex::Reg(reg) => facts.get(reg).copied(),
        Ex::Bin(BinOp::Rem, key, size) => match (worth(facts, key), &**size) {
            (Some(Fact::Key), Ex::Const(size)) if *size >= 1 => Some(Fact::Hash(*size)),
            _ => None,
        },
        _ => None,
    }
}

/// A word of the initial state.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Plain(i32),
    Node(usize),
}

/// Whether the elements of all numbers begin alike, each with nodes of its own.
fn begins_divided(steps: &Steps, element: &[u32]) -> bool {
    let Some((words, nodes)) = begun(steps) else { return false };
    let last = element.iter().copied().max().unwrap_or(0);
    let mut seen: BTreeSet<usize> = BTreeSet::new();
    let mut pictures = (0..=last).map(|number| {
        let own = element.iter().zip(&words).filter(|(e, _)| **e == number);
        let mut order: Vec<usize> = Vec::new();
        let mut picture: Vec<(bool, i64)> = Vec::new();
        let mut todo: Vec<Word> = own.map(|(_, word)| *word).collect();
        let mut next = 0;
        while let Some(word) = todo.get(next).copied() {
            next += 1;
            picture.push(match word {
                Word::Plain(n) => (false, n.into()),
                Word::Node(node) => {
                    let place = order.iter().position(|known| *known == node);
                    let place = place.unwrap_or_else(|| {
                        order.push(node);
                        let (of, fields) = &nodes[node];
                        todo.push(Word::Plain(*of as i32));
                        todo.extend(fields);
                        order.len() - 1
                    });
                    (true, place as i64)
                }
            });
        }
        let fresh = order.iter().all(|node| seen.insert(*node));
        fresh.then_some(picture)
    });
    let Some(Some(first)) = pictures.next() else { return false };
    pictures.all(|picture| picture.as_ref() == Some(&first))
}

/// A node of the initial state: its struct and its fields.
type Made = (u32, Vec<Word>);

/// The initial shared variables and nodes, if straight code makes them.
fn begun(steps: &Steps) -> Option<(Vec<Word>, Vec<Made>)> {
    let mut words = vec![Word::Plain(NULL); steps.shared.len()];
    let mut nodes: Vec<Made> = Vec::new();
    let mut registers: BTreeMap<Reg, Word> = BTreeMap::new();
    for (at, instr) in steps.code.iter().enumerate().skip(steps.init.0 as usize) {
        let value = |ex: &Ex| match ex {
            Ex::Const(n) => Some(Word::Plain(*n)),
            Ex::Reg(reg) => registers.get(reg).copied(),
            _ => None,
        };
        let all = |list: &[Ex]| list.iter().map(value).collect::<Option<Vec<Word>>>();
        match &instr.op {
            Op::Return(_) => return Some((words, nodes)),
            Op::Jump(to) if to.0 as usize == at + 1 => {}
            Op::Set { dst, value } => {
                let value = all(value)?;
                registers.extend((dst.0..).map(Reg).zip(value));
            }
            Op::New { dst, of, fields } => {
                nodes.push((of.0, all(fields)?));
                registers.insert(*dst, Word::Node(nodes.len() - 1));
            }
            Op::Store { place, value } if place.dims.is_empty() && place.root == Root::Shared => {
                for (slot, word) in place.slots().zip(all(value)?) {
                    words[slot as usize] = word;
                }
            }
            _ => return None,
        }
    }
    None
}

/// The program with the elements of number 0 only.
fn first_of(steps: &Steps, element: &[u32], sets_index: &dyn Fn(usize) -> bool) -> Steps {
    let mut rest = steps.clone();
    let is_first = |slot: &u32| element[*slot as usize] == 0;
    let new_place = |slot: u32| (0..slot).filter(is_first).count() as u32;
    for at in 0..rest.code.len() {
        let in_method = body_of(steps, at) > 0;
        let instr = &mut rest.code[at];
        let mut gone = in_method && sets_index(at);
        if let Some(place) = instr.op.place_mut().filter(|place| place.root == Root::Shared) {
            let slots: Vec<u32> = match in_method {
                true => (place.offset..place.offset + place.width).collect(),
                false => place.slots().filter(is_first).collect(),
            };
            let begin = slots.first().map_or(0, |slot| slot - place.offset) as usize;
            gone |= slots.is_empty();
            place.dims.clear();
            place.offset = new_place(place.offset + begin as u32);
            place.width = slots.len() as u32;
            if let (Op::Store { value, .. }, false) = (&mut instr.op, in_method) {
                *value = value.iter().skip(begin).take(slots.len()).cloned().collect();
            }
        }
        if gone {
            instr.op = Op::Jump(Pc(at as u32 + 1));
            instr.fused = false;
        }
    }
    let kept = (0..).zip(&steps.shared).filter(|(slot, _)| is_first(slot));
    rest.shared = kept.map(|(_, slot)| slot.clone()).collect();
    rest
}
