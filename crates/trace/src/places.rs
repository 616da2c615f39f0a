//! Variables and fields as the source declares them.
//!
//! The machine knows scalars only: of `link: (Node, bool)` it has the slots `link.0` and `link.1`,
//! of `items: [value; 3]` three. Whoever reads a run knows the declaration: a tuple is one value,
//! `(#2, false)`, and the element of an array is called `items[0]`.

use seriatim_lang::program::EnumInfo;
use seriatim_lang::steps::{Slot, Steps};
use seriatim_lang::types::{Length, Type};

/// What the slots of a machine belong to.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// The shared variables.
    pub shared: Vec<Place>,
    /// The fields of each struct.
    pub structs: Vec<Vec<Place>>,
}

/// A variable or a field.
#[derive(Debug)]
pub(crate) struct Place {
    /// Its name.
    pub name: String,
    /// Its first slot.
    pub first: usize,
    /// How its slots hang together.
    pub shape: Shape,
}

/// How the slots of a place hang together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Scalar,
    /// One of the names of an enum.
    Variant(Vec<String>),
    Tuple(Vec<Shape>),
    Array(Box<Shape>, usize),
}

impl Places {
    /// The places of a program. A text that cannot be read declares nothing: then slots keep the
    /// names that the machine has for them.
    pub fn of(steps: &Steps, source: &str) -> Places {
        let Ok(program) = seriatim_lang::check(source) else { return Places::default() };
        let known = Known { threads: steps.threads.len(), enums: &program.facts.enums };
        let variable = |name: &str| program.shared.iter().find(|v| v.name == name).map(|v| &v.ty);
        let shared = grouped(&steps.shared, known, &variable);
        let structs = steps.structs.iter().map(|layout| {
            let declared = program.facts.structs.iter().find(|s| s.name == layout.name);
            let field = |name: &str| {
                declared?.fields.iter().find(|field| field.name == name).map(|field| &field.ty)
            };
            grouped(&layout.slots, known, &field)
        });
        Places { structs: structs.collect(), shared }
    }
}

/// What a type does not say itself.
#[derive(Clone, Copy)]
struct Known<'p> {
    threads: usize,
    enums: &'p [EnumInfo],
}

/// The slots of each place together.
fn grouped<'t>(
    slots: &[Slot],
    known: Known<'_>,
    declared: &dyn Fn(&str) -> Option<&'t Type>,
) -> Vec<Place> {
    let mut places = Vec::new();
    let mut first = 0;
    while first < slots.len() {
        let name = whole(&slots[first].name);
        let same = |slot: &&Slot| whole(&slot.name) == name;
        let width = slots[first..].iter().take_while(same).count();
        let shape = declared(name).map(|ty| Shape::of(ty, known).filled(width));
        let shape = shape.filter(|shape| shape.width() == width).unwrap_or(match width {
            1 => Shape::Scalar,
            _ => Shape::Tuple(vec![Shape::Scalar; width]),
        });
        places.push(Place { name: name.to_owned(), first, shape });
        first += width;
    }
    places
}

/// The name of what a slot is a part of: `link` of `link.1`.
pub(crate) fn whole(slot: &str) -> &str {
    match slot.rsplit_once('.') {
        Some((whole, part)) if part.bytes().all(|byte| byte.is_ascii_digit()) => whole,
        _ => slot,
    }
}

impl Place {
    /// The part of a place that is some of its slots, and what follows the place's name in the name
    /// of that part: `[2]` of an array, `.1` of a tuple that is taken apart.
    pub fn part(&self, slot: usize, width: usize) -> (String, &Shape) {
        let (mut name, mut shape, mut offset) = (self.name.clone(), &self.shape, slot - self.first);
        // `offset` counts from the first slot of `shape`, which holds all slots that are asked for.
        while shape.width() > width {
            let holds = |(first, part): &(usize, &Shape)| offset < first + part.width();
            let Some((index, (first, part))) = shape.parts().enumerate().find(|(_, p)| holds(p))
            else {
                break;
            };
            name += &shape.index(index);
            (shape, offset) = (part, offset - first);
        }
        (name, shape)
    }
}

impl Shape {
    fn of(ty: &Type, known: Known<'_>) -> Shape {
        match ty {
            Type::Enum(of) => Shape::Variant(known.enums[of.0 as usize].variants.clone()),
            Type::Opt(some) if matches!(**some, Type::Enum(_)) => Shape::of(some, known),
            Type::Tuple(parts) => {
                Shape::Tuple(parts.iter().map(|part| Shape::of(part, known)).collect())
            }
            Type::Array(element, length) => {
                let count = match length {
                    Length::Fixed(count) => *count as usize,
                    Length::Threads => known.threads,
                };
                Shape::Array(Box::new(Shape::of(element, known)), count)
            }
            _ => Shape::Scalar,
        }
    }

    /// An array as long as its slots: a constant of the text may have been set to another number.
    fn filled(self, width: usize) -> Shape {
        match self {
            Shape::Array(element, _) => {
                let count = width / element.width().max(1);
                Shape::Array(element, count)
            }
            shape => shape,
        }
    }

    pub fn width(&self) -> usize {
        match self {
            Shape::Scalar | Shape::Variant(_) => 1,
            Shape::Tuple(parts) => parts.iter().map(Shape::width).sum(),
            Shape::Array(element, count) => element.width() * count,
        }
    }

    /// The parts of a tuple, the elements of an array, each with where it begins.
    fn parts(&self) -> impl Iterator<Item = (usize, &Shape)> {
        let parts: Vec<&Shape> = match self {
            Shape::Scalar | Shape::Variant(_) => vec![],
            Shape::Tuple(parts) => parts.iter().collect(),
            Shape::Array(element, count) => vec![element; *count],
        };
        parts.into_iter().scan(0, |first, part| {
            let begins = *first;
            *first += part.width();
            Some((begins, part))
        })
    }

    /// What follows the name of a place in that of one of its parts.
    pub fn index(&self, part: usize) -> String {
        match self {
            Shape::Array(..) => format!("[{part}]"),
            _ => format!(".{part}"),
        }
    }
}

/// Slots of a machine, and what they hold.
#[derive(Clone, Copy)]
pub(crate) struct Held<'s> {
    pub slots: &'s [Slot],
    pub words: &'s [i32],
}

impl<'s> Held<'s> {
    /// So many slots from one on.
    pub fn range(self, first: usize, width: usize) -> Held<'s> {
        let end = first + width;
        Held { slots: &self.slots[first..end], words: &self.words[first..end] }
    }

    /// The parts of what has this shape: their numbers, their shapes, what they hold.
    pub fn parts<'p>(self, shape: &'p Shape) -> impl Iterator<Item = (usize, &'p Shape, Held<'s>)> {
        let parts = shape.parts().enumerate();
        parts.map(move |(index, (first, part))| (index, part, self.range(first, part.width())))
    }
}
