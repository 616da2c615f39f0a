//! Changes views at random, as long as the checker takes them to cover the state that they stand
//! for.

use super::Dice;
use seriatim_certify::cover::covers;
use seriatim_certify::heap_graph::To;
use seriatim_certify::scalar::{Class, Holder, Mark, NodeId, Scalar, Values};
use seriatim_certify::state::State;

/// A view that covers the state as far as the checker can tell, and how many changes were tried.
pub fn forge(state: &State, dice: &mut Dice, tries: usize) -> (State, usize) {
    // Nodes that nobody names go back into segments, or there would be no end.
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
    let nodes = view.graph.nodes.len();
    match dice.roll(4) {
        0 => {
            let shared = &mut view.graph.shared;
            let at = dice.roll(shared.len());
            shared[at] = scalar(shared[at], nodes, dice);
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
                    let scalar = scalar(operation.registers[at], nodes, dice);
                    operation.registers[at] = scalar;
                }
            }
        }
        2 if nodes > 0 => {
            let node = &mut view.graph.nodes[dice.roll(nodes)];
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
        _ if !view.graph.segments.is_empty() => {
            let count = view.graph.segments.len();
            let segment = &mut view.graph.segments[dice.roll(count)];
            match dice.roll(4) {
                0 => segment.optional ^= true,
                1 => segment.sorted ^= true,
                2 => segment.values = Values(dice.roll(8) as u8),
                _ => {
                    let all: Vec<_> = segment.attributes.iter().collect();
                    let gone = all[dice.roll(all.len())];
                    segment.attributes = all.into_iter().filter(|a| *a != gone).collect();
                    if segment.attributes.is_empty() {
                        segment.attributes = segment.attributes.with(gone.of_another());
                    }
                }
            }
        }
        _ => {}
    }
}

fn scalar(old: Scalar, nodes: usize, dice: &mut Dice) -> Scalar {
    match (old, dice.roll(3)) {
        (Scalar::Lock(_), _) => {
            Scalar::Lock([Holder::Free, Holder::Mine, Holder::Other][dice.roll(3)])
        }
        (Scalar::Int(n), 0) => Scalar::Int(1 - n),
        (Scalar::Int(n), _) => Scalar::Own(n),
        (Scalar::Own(n), 0) => Scalar::Own(1 - n),
        (Scalar::Own(n), _) => Scalar::Int(n),
        (_, 0) => Scalar::Null,
        (Scalar::Node(_) | Scalar::Null, 1) if nodes > 0 => {
            Scalar::Node(NodeId(dice.roll(nodes) as u32))
        }
        _ => Scalar::Unknown,
    }
}
