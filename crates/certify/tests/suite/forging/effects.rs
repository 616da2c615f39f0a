//! Writes effects: an honest one for a step, and dishonest ones that the checker still takes for
//! it.

use super::Dice;
use seriatim_certify::Object;
use seriatim_certify::certificate::{self, Effect};
use seriatim_certify::effect::describes;
use seriatim_certify::heap_graph::{HeapGraph, Item, Time, To};
use seriatim_certify::scalar::{Attribute, Class, Holder, Mark, NodeId, Scalar, Values};

/// Writes effects for one step.
pub struct Pen<'a> {
    pub object: &'a Object,
    pub header: &'a [String],
    pub graph: &'a HeapGraph,
}

/// What stands in effects.
const WORDS: [&str; 32] = [
    "?",
    "null",
    "elsewhere",
    "p0",
    "p1",
    "p2",
    "free",
    "mine",
    "other",
    "mine:0",
    "mine:1",
    "0",
    "1",
    "2",
    "yes",
    "no",
    "some",
    "none",
    "old",
    "fresh",
    "-",
    "<",
    "=",
    ">",
    "m",
    "M",
    "L",
    "01",
    "n",
    "==",
    "!=",
    "p0.link=null",
];

impl Pen<'_> {
    /// An effect that describes the step, and how many changes were tried.
    pub fn write(&self, dice: &mut Dice, tries: usize) -> (Effect, usize) {
        let honest = self.honest();
        let mut line = honest.clone();
        let mut best = self.read(&line).unwrap_or_else(|| panic!("unreadable: {honest}"));
        assert!(describes(&best, self.graph), "{honest} for {:?}", self.graph);
        for _ in 0..tries {
            let changed = self.changed(&line, dice);
            if let Some(effect) = self.read(&changed).filter(|e| describes(e, self.graph)) {
                (line, best) = (changed, effect);
            }
        }
        (best, tries)
    }

    fn read(&self, line: &str) -> Option<Effect> {
        let lines = [self.header, &[line.to_owned()]].concat();
        let read = certificate::read(&crate::common::sealed(&lines), self.object).ok()?;
        Some(read.effects.into_iter().next()?.0)
    }

    /// The line with something else in one place, without something, or with something more.
    fn changed(&self, line: &str, dice: &mut Dice) -> String {
        let mut parts: Vec<Vec<String>> = line["effect ".len()..]
            .split('|')
            .map(|part| part.split_whitespace().map(str::to_owned).collect())
            .collect();
        let part = dice.roll(parts.len());
        let at = dice.roll(parts[part].len() + 1);
        let new = self.word(part, dice);
        match (parts[part].get_mut(at), dice.roll(4)) {
            (None, _) => parts[part].push(new),
            (Some(_), 0) => drop(parts[part].remove(at)),
            (Some(old), 1) => *old = new,
            (Some(old), _) => {
                // One of the pieces of the word.
                let ends: Vec<usize> = old
                    .char_indices()
                    .filter(|(_, c)| ":=.,><!".contains(*c))
                    .map(|(i, _)| i)
                    .collect();
                let start = ends.get(dice.roll(ends.len() + 1)).map_or(0, |i| i + 1);
                let end = ends.iter().find(|i| **i >= start).copied().unwrap_or(old.len());
                let piece = WORDS[dice.roll(WORDS.len())];
                *old = format!("{}{piece}{}", &old[..start], &old[end..]);
            }
        }
        let parts: Vec<String> = parts.iter().map(|part| part.join(" ")).collect();
        format!("effect {}", parts.join(" | "))
    }

    /// A word as it could stand in a part.
    fn word(&self, part: usize, dice: &mut Dice) -> String {
        let shared = &self.object.steps.shared;
        let variable = |dice: &mut Dice| shared[dice.roll(shared.len())].name.clone();
        let piece = |dice: &mut Dice| WORDS[dice.roll(WORDS.len())];
        match part {
            0 => {
                let reach = if dice.roll(2) == 0 { String::new() } else { variable(dice) };
                let age = ["old", "fresh"][dice.roll(2)];
                let attribute = ["<", "<m", "<M", "<L", "=", "=m", ">", "-", "+"][dice.roll(9)];
                format!("{age}:{attribute}:{reach}:{}:01", piece(dice))
            }
            1 | 2 => format!("{}={}", variable(dice), piece(dice)),
            3 => {
                let sign = ["==", "!=", ">"][dice.roll(3)];
                let other = if sign == ">" { piece(dice).to_owned() } else { variable(dice) };
                format!("{}{sign}{other}", variable(dice))
            }
            _ => match dice.roll(4) {
                0 => format!("p{}.link={}", dice.roll(3), piece(dice)),
                2 => format!("p{}.value={}", dice.roll(3), ["0", "1", "01", "01n"][dice.roll(4)]),
                1 => format!("p{}.mark={}", dice.roll(3), ["yes", "no"][dice.roll(2)]),
                _ => format!("{}={}", variable(dice), piece(dice)),
            },
        }
    }

    /// What happened.
    fn honest(&self) -> String {
        let graph = self.graph;
        let places = self.places();
        let target = |to: To| match to {
            To::Null => "null".to_owned(),
            To::Node(id) => match places.iter().position(|p| *p == id) {
                Some(place) => format!("p{place}"),
                None => "elsewhere".to_owned(),
            },
            To::Segment(_) | To::Outside => "?".to_owned(),
        };
        let to = |scalar: Scalar| match scalar {
            Scalar::Node(id) => target(To::Node(id)),
            _ => "null".to_owned(),
        };
        let texts = places.iter().map(|id| self.place(*id, &target));
        let mut parts: [Vec<String>; 5] = [texts.collect(), vec![], vec![], vec![], vec![]];
        for (place, id) in places.iter().enumerate().filter(|(_, id)| !self.is_fresh(**id)) {
            let (before, now) = (graph.node(*id).before.expect("old"), graph.node(*id).now);
            if before.link != now.link {
                parts[4].push(format!("p{place}.link={}", target(now.link)));
            }
            if before.mark.is_set() != now.mark.is_set() {
                let mark = if now.mark.is_set() { "yes" } else { "no" };
                parts[4].push(format!("p{place}.mark={mark}"));
            }
            let held = graph.node(*id);
            if held.overwritten.is_some_and(|before| before != held.values) {
                parts[4].push(format!("p{place}.value={}", values(held.values)));
            }
        }
        for (variable, slot) in self.object.steps.shared.iter().enumerate() {
            let (was, is) = (graph.shared_before[variable], graph.shared[variable]);
            let name = &slot.name;
            if self.object.is_reference(variable) {
                parts[1].push(format!("{name}={}", to(was)));
                parts[4].extend((was != is).then(|| format!("{name}={}", to(is))));
            } else if self.object.array(variable).is_none() {
                parts[2].push(format!("{name}={}", scalar(was)));
                parts[4].extend((was != is).then(|| format!("{name}={}", scalar(is))));
            }
        }
        format!("effect {}", parts.map(|part| part.join(" ")).join(" | "))
    }

    fn is_fresh(&self, id: NodeId) -> bool {
        let node = self.graph.node(id);
        !node.now.private && node.before.is_none_or(|face| face.private)
    }

    /// Nodes that appeared or changed, and those to which something leads now that did not.
    fn places(&self) -> Vec<NodeId> {
        let graph = self.graph;
        let changed = |id: &NodeId| {
            let node = graph.node(*id);
            let seen = node.before.filter(|face| !face.private);
            let differs = seen.is_some_and(|face| {
                face.link != node.now.link || face.mark.is_set() != node.now.mark.is_set()
            });
            let written = node.overwritten.is_some_and(|before| before != node.values);
            self.is_fresh(*id) || differs || written
        };
        let mut places: Vec<NodeId> = graph.ids().filter(changed).collect();
        let links = places.iter().map(|id| graph.link(*id, Time::Now));
        let moved = graph.shared.iter().zip(&graph.shared_before).filter(|(is, was)| is != was);
        let moved = moved.filter_map(|(is, _)| match is {
            Scalar::Node(id) => Some(To::Node(*id)),
            _ => None,
        });
        let targets: Vec<To> = links.chain(moved).collect();
        for target in targets {
            if let To::Node(id) = target
                && !places.contains(&id)
            {
                places.push(id);
            }
        }
        places
    }

    fn place(&self, id: NodeId, target: &dyn Fn(To) -> String) -> String {
        let (graph, node) = (self.graph, self.graph.node(id));
        if self.is_fresh(id) {
            let (looks, link) = (attribute(node.attribute(&node.now)), target(node.now.link));
            return format!("fresh:{looks}::{link}:{}", values(node.values));
        }
        let before = node.before.expect("old");
        let reach = graph.reach(Item::Node(id), Time::Before);
        let names = self.object.steps.shared.iter().enumerate();
        let names = names.filter(|(v, _)| reach >> v & 1 == 1).map(|(_, slot)| slot.name.as_str());
        let (names, looks) =
            (names.collect::<Vec<_>>().join(","), attribute(node.attribute(&before)));
        format!("old:{looks}:{names}:{}:-", target(before.link))
    }
}

fn attribute(attribute: Attribute) -> String {
    let class = match attribute.class {
        Class::MinusInf => '-',
        Class::Below => '<',
        Class::Tracked => '=',
        Class::Above => '>',
        Class::PlusInf => '+',
    };
    let mark = match attribute.mark {
        Mark::No => "",
        Mark::Yes => "m",
        Mark::ByMe => "M",
    };
    format!("{class}{mark}{}", if attribute.locked { "L" } else { "" })
}

fn values(values: Values) -> String {
    let letters = "01n".chars().enumerate().filter(|(i, _)| values.0 >> i & 1 == 1);
    let text: String = letters.map(|(_, letter)| letter).collect();
    if text.is_empty() { "-".to_owned() } else { text }
}

fn scalar(scalar: Scalar) -> String {
    match scalar {
        Scalar::Lock(Holder::Free) => "free".to_owned(),
        Scalar::Lock(Holder::Mine) => "mine".to_owned(),
        Scalar::Lock(Holder::Other) => "other".to_owned(),
        Scalar::Int(number) => number.to_string(),
        Scalar::Own(number) => format!("mine:{number}"),
        Scalar::Null => "null".to_owned(),
        _ => "?".to_owned(),
    }
}
