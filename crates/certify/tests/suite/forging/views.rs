//! Changes views at random, as long as the checker takes them to cover the state that they stand for.

use super::Dice;
use seriatim_certify::cover::covers;
use seriatim_certify::picture::To;
use seriatim_certify::state::State;
use seriatim_certify::word::{Class, Holder, Mark, NodeId, Values, Word};

/// A view that covers the state as far as the checker can tell, and how many changes were tried.
pub fn forge(state: &State, dice: &mut Dice, tries: usize) -> (State, usize) {
    // Nodes that nobody names go back into stretches, or there would be no end.
    let folded = state.folded();
    let mut view = if covers(&folded, state) { folded } else { state.clone() };
    for _ in 0..tries {
        let mut changed = view.clone();
        change(&mut changed, dice);
        changed.settle();
        if covers(&changed, state) {
            view = changed;
        }
    }
    (view, tries)
}

fn change(view: &mut State, dice: &mut Dice) {
    let nodes = view.picture.nodes.len();
    match dice.roll(4) {
        0 => {
            let shared = &mut view.picture.shared;
            let at = dice.roll(shared.len());
            shared[at] = word(shared[at], nodes, dice);
        }
        1 => {
            let Some(operation) = &mut view.operation else { return };
            match dice.roll(6) {
                3 => operation.ghost.firsts ^= 1 << dice.roll(2),
                0 => operation.ghost.saw_yes ^= true,
                1 => operation.ghost.saw_no ^= true,
                2 => operation.ghost.done ^= true,
                _ if operation.registers.is_empty() => {}
                _ => {
                    let at = dice.roll(operation.registers.len());
                    let word = word(operation.registers[at], nodes, dice);
                    operation.registers[at] = word;
                }
            }
        }
        2 if nodes > 0 => {
            let node = &mut view.picture.nodes[dice.roll(nodes)];
            match dice.roll(6) {
                0 => node.now.private ^= true,
                1 => node.now.locked ^= true,
                2 => node.now.mark = [Mark::No, Mark::Yes, Mark::ByMe][dice.roll(3)],
                3 => node.values = Values(dice.roll(8) as u8),
                4 => node.class = Class::ALL[dice.roll(5)],
                _ => {
                    let id = NodeId(dice.roll(nodes) as u32);
                    node.now.link = if dice.roll(3) == 0 { To::Null } else { To::Node(id) };
                }
            }
        }
        _ if !view.picture.stretches.is_empty() => {
            let count = view.picture.stretches.len();
            let stretch = &mut view.picture.stretches[dice.roll(count)];
            match dice.roll(4) {
                0 => stretch.optional ^= true,
                1 => stretch.sorted ^= true,
                2 => stretch.values = Values(dice.roll(8) as u8),
                _ => {
                    let all: Vec<_> = stretch.attributes.iter().collect();
                    let gone = all[dice.roll(all.len())];
                    stretch.attributes = all.into_iter().filter(|a| *a != gone).collect();
                    if stretch.attributes.is_empty() {
                        stretch.attributes = stretch.attributes.with(gone.of_another());
                    }
                }
            }
        }
        _ => {}
    }
}

fn word(old: Word, nodes: usize, dice: &mut Dice) -> Word {
    match (old, dice.roll(3)) {
        (Word::Lock(_), _) => Word::Lock([Holder::Free, Holder::Mine, Holder::Other][dice.roll(3)]),
        (Word::Int(n), 0) => Word::Int(1 - n),
        (Word::Int(n), _) => Word::Own(n),
        (Word::Own(n), 0) => Word::Own(1 - n),
        (Word::Own(n), _) => Word::Int(n),
        (_, 0) => Word::Null,
        (Word::Node(_) | Word::Null, 1) if nodes > 0 => Word::Node(NodeId(dice.roll(nodes) as u32)),
        _ => Word::Unknown,
    }
}
