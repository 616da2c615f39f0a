//! The effect of one thread's step, as other threads see it: a small graph before the step and what
//! is written to it.
//!
//! Soundness rests on one discipline: every fact recorded here is a function of the concrete shared
//! state at the moment of the step (or of who holds what), or it is *don't know*. Facts about
//! values are left out, so that effects do not multiply with colours. Lost precision costs proofs,
//! never soundness; a recorded fact that is not guaranteed would make the prover miss interference.

use crate::own::colour_blind;
use crate::value::{Attr, Holder, Val, Values, attrs};
use crate::view::{Node, View};
use seriatim_lang::steps::Pc;

/// What a reference leads to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Target {
    /// Nothing.
    Null,
    /// This node of the effect.
    At(u8),
    /// A node that is not in the effect.
    Elsewhere,
    /// Don't know.
    Unknown,
}

/// What lies behind the node to which a shared variable points.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Behind {
    /// It points nowhere.
    NoNode,
    /// Nothing.
    Nothing,
    /// Something.
    Something,
    /// Don't know.
    Unknown,
}

/// What an effect says of the path from a node to another node of it, where several nodes are
/// unlinked at once: the first node of the effect on it, and all attributes that the nodes in
/// between can have. Law: in the state before the step, the link of the one node leads to the other
/// by nodes that have these attributes and are not in the effect.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PathConstraint {
    /// Where it leads.
    pub to: u8,
    /// What lies in between, as every thread sees it.
    pub attrs: u64,
}

impl PathConstraint {
    /// Those of the attributes that nodes on the path can have.
    pub fn of(self, set: u64) -> u64 {
        let fits = |a: &Attr| a.common().bit() & self.attrs != 0;
        attrs(set).filter(fits).fold(0, |set, a| set | a.bit())
    }
}

/// A node of an effect.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    /// Whether it was private to the acting thread before.
    pub fresh: bool,
    /// Its attribute, as the acting thread sees it (of a fresh node: after the step).
    pub attr: Attr,
    /// The shared variables from which it could be reached.
    pub reach: u32,
    /// Its link before the step (of a fresh node: after it).
    pub link: Target,
    /// The path that the step cut out, if it begins here and its nodes are not all in the effect.
    pub path: Option<PathConstraint>,
    /// Its values, without colours (of a fresh node only).
    pub values: Values,
}

/// The effect of a step.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Effect {
    /// The step.
    pub pc: Pc,
    /// The nodes that it concerns.
    pub places: Vec<Place>,
    /// Where the shared references pointed.
    pub references: Vec<Target>,
    /// The other shared variables before the step, as the acting thread sees them.
    pub scalars: Vec<Val>,
    /// What the acting thread knew about the shared references.
    pub outlook: Outlook,
    /// Links written.
    pub links: Vec<(u8, Target)>,
    /// Marks written.
    pub marks: Vec<(u8, bool)>,
    /// Values written, without colours.
    pub values: Vec<(u8, Values)>,
    /// Shared references written.
    pub moves: Vec<(u8, Target)>,
    /// Other shared variables written.
    pub stores: Vec<(u8, Val)>,
}

impl Effect {
    /// Whether this says the same as another one or less. Then it fits wherever the other one does,
    /// and what it leaves there describes what the other one leaves: with this one known, the other
    /// one adds nothing.
    pub fn is_weaker(&self, other: &Effect) -> bool {
        let target = |a: &Target, b: &Target| *a == Target::Unknown || a == b;
        let place = |(a, b): (&Place, &Place)| {
            (a.fresh, a.attr, a.reach, a.values) == (b.fresh, b.attr, b.reach, b.values)
                && target(&a.link, &b.link)
                && match (a.path, b.path) {
                    (None, _) => true,
                    (Some(a), Some(b)) => a.to == b.to && b.attrs & !a.attrs == 0,
                    (Some(_), None) => false,
                }
        };
        let mut behind = self.outlook.behind.iter().zip(&other.outlook.behind);
        self.places.len() == other.places.len()
            && self.places.iter().zip(&other.places).all(place)
            && self.references.iter().zip(&other.references).all(|(a, b)| target(a, b))
            && behind.all(|(a, b)| *a == Behind::Unknown || a == b)
            && (&self.scalars, &self.outlook.equal) == (&other.scalars, &other.outlook.equal)
            && (&self.links, &self.marks) == (&other.links, &other.marks)
            && self.values == other.values
            && (&self.moves, &self.stores) == (&other.moves, &other.stores)
    }

    /// Leaves out what lies on paths between nodes; says whether there was something to leave out.
    pub fn forget_paths(&mut self) -> bool {
        let paths = self.places.iter_mut().filter_map(|place| place.path.take());
        paths.count() > 0
    }
}

fn is_reference(v: Val) -> bool {
    matches!(v, Val::Null | Val::Node(_))
}

/// What a view knows about the shared references.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Outlook {
    /// What lies behind each of them.
    pub behind: Vec<Behind>,
    /// Which pairs of them are equal.
    pub equal: Vec<bool>,
}

impl Outlook {
    /// The outlook of a view.
    pub fn of(view: &View) -> Outlook {
        let one = |global: &Val| match global.node().map(|n| &view.nodes[n]) {
            None => Behind::NoNode,
            Some(node) if node.to != Val::Null => Behind::Something,
            Some(node) if node.segment.is_empty() => Behind::Nothing,
            Some(node) if node.segment.optional => Behind::Unknown,
            Some(_) => Behind::Something,
        };
        let g: Vec<Val> = view.globals.iter().copied().filter(|v| is_reference(*v)).collect();
        let pairs = (0..g.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
        Outlook {
            behind: view.globals.iter().map(one).collect(),
            equal: pairs.map(|(a, b)| g[a] == g[b]).collect(),
        }
    }

    /// Whether two views of one state can have these outlooks.
    pub fn agrees(&self, other: &Outlook) -> bool {
        let same = |(a, b): (&Behind, &Behind)| {
            let known = *a != Behind::Unknown && *b != Behind::Unknown;
            let nodes = (*a == Behind::NoNode) == (*b == Behind::NoNode);
            nodes && (!known || a == b)
        };
        self.behind.iter().zip(&other.behind).all(same) && self.equal.iter().eq(&other.equal)
    }
}

struct Changes {
    links: Vec<usize>,
    marks: Vec<usize>,
    values: Vec<usize>,
    globals: Vec<usize>,
}

impl Changes {
    fn between(before: &View, after: &View) -> Changes {
        let public = |n: &usize| !before.nodes[*n].private;
        let differs = |n: &usize, what: &dyn Fn(&Node) -> (Val, bool)| {
            what(&before.nodes[*n]) != what(&after.nodes[*n])
        };
        let nodes = 0..before.nodes.len();
        let links = nodes.clone().filter(public).filter(|n| differs(n, &|x| (x.to, false)));
        let marks = nodes.clone().filter(public);
        let marks = marks.filter(|n| differs(n, &|x| (Val::Null, x.attr.marked())));
        let values = nodes.filter(public);
        let values = values.filter(|n| before.nodes[*n].values != after.nodes[*n].values);
        let globals = 0..before.globals.len();
        Changes {
            links: links.collect(),
            marks: marks.collect(),
            values: values.collect(),
            globals: globals.filter(|g| before.globals[*g] != after.globals[*g]).collect(),
        }
    }

    /// The nodes that an effect must name.
    fn footprint(&self, before: &View, after: &View, fresh: &[usize]) -> Vec<usize> {
        let mut nodes: Vec<usize> = self.links.clone();
        let mut add = |v: Val| {
            if let Some(n) = v.node()
                && !nodes.contains(&n)
            {
                nodes.push(n);
            }
        };
        for g in &self.globals {
            add(before.globals[*g]);
        }
        for n in &self.links {
            add(before.nodes[*n].to);
        }
        for n in self.marks.iter().chain(&self.values) {
            add(Val::Node(*n as u8));
        }
        for n in &self.links {
            add(after.nodes[*n].to);
        }
        for g in &self.globals {
            add(after.globals[*g]);
        }
        for n in fresh {
            add(Val::Node(*n as u8));
            add(after.nodes[*n].to);
        }
        nodes
    }
}

/// The effect of a step between two views that number their nodes alike, or `None` if others see
/// nothing of it. `fresh` are the nodes that it published.
pub fn effect(pc: Pc, before: &View, after: &View, fresh: &[usize]) -> Option<Effect> {
    let changes = Changes::between(before, after);
    let nodes = [&changes.links, &changes.marks, &changes.values];
    if nodes.iter().all(|changed| changed.is_empty()) && changes.globals.is_empty() {
        return None;
    }
    let footprint = changes.footprint(before, after, fresh);
    let index = |n: usize| footprint.iter().position(|f| *f == n).map(|i| i as u8);
    let target = |v: Val| match v.node() {
        None => Target::Null,
        Some(n) => index(n).map_or(Target::Elsewhere, Target::At),
    };
    let link = |node: &Node| match node.segment {
        segment if segment.is_empty() => target(node.to),
        segment if segment.optional => Target::Unknown,
        _ => Target::Elsewhere,
    };
    let reach = before.reach();
    let place = |n: &usize| {
        let fresh = fresh.contains(n);
        let node = if fresh { &after.nodes[*n] } else { &before.nodes[*n] };
        let values = if fresh { colour_blind(node.values) } else { 0 };
        let link = link(node);
        let known = fresh || matches!(link, Target::Null | Target::At(_));
        let path = if known { None } else { cut_out(before, after, &footprint, *n) };
        Place { fresh, attr: node.attr, reach: reach[*n], link, path, values }
    };
    let number = |n: usize| index(n).unwrap_or(u8::MAX);
    let (moves, stores): (Vec<usize>, Vec<usize>) =
        changes.globals.iter().partition(|g| is_reference(after.globals[**g]));
    Some(Effect {
        pc,
        places: footprint.iter().map(place).collect(),
        references: before.globals.iter().map(|v| target(*v)).collect(),
        scalars: before
            .globals
            .iter()
            .map(|v| if is_reference(*v) { Val::Dead } else { *v })
            .collect(),
        outlook: Outlook::of(before),
        links: changes.links.iter().map(|n| (number(*n), target(after.nodes[*n].to))).collect(),
        marks: changes.marks.iter().map(|n| (number(*n), after.nodes[*n].attr.marked())).collect(),
        values: changes
            .values
            .iter()
            .map(|n| (number(*n), colour_blind(after.nodes[*n].values)))
            .collect(),
        moves: moves.iter().map(|g| (*g as u8, target(after.globals[*g]))).collect(),
        stores: stores.iter().map(|g| (*g as u8, after.globals[*g])).collect(),
    })
}

/// The path from the node `from` to the next node of the footprint, if some link or shared variable
/// led to `from` before the step and leads to that node after it.
fn cut_out(
    before: &View,
    after: &View,
    footprint: &[usize],
    from: usize,
) -> Option<PathConstraint> {
    let (to, attrs) = first_on_path(before, from, &|n| footprint.contains(&n))?;
    let skips = |old: Val, new: Val| old.node() == Some(from) && new.node() == Some(to);
    let links = before.nodes.iter().zip(&after.nodes).any(|(b, a)| skips(b.to, a.to));
    let globals = before.globals.iter().zip(&after.globals).any(|(b, a)| skips(*b, *a));
    let index = footprint.iter().position(|f| *f == to)?;
    (links || globals).then_some(PathConstraint { to: index as u8, attrs })
}

/// The first node behind `from` that is wanted, and the attributes of all nodes before it, as every
/// thread sees them.
pub fn first_on_path(
    view: &View,
    from: usize,
    wanted: &dyn Fn(usize) -> bool,
) -> Option<(usize, u64)> {
    let (mut at, mut between) = (from, 0);
    for _ in 0..=view.nodes.len() {
        let node = &view.nodes[at];
        between |= attrs(node.segment.attrs).fold(0, |set, a| set | a.common().bit());
        let next = node.to.node()?;
        if wanted(next) {
            return Some((next, between));
        }
        between |= view.nodes[next].attr.common().bit();
        at = next;
    }
    None
}

/// Whether a shared variable can look like `acting` to the acting thread and like `mine` to another
/// one.
pub fn scalars_agree(acting: Val, mine: Val) -> bool {
    match (acting, mine) {
        (Val::Lock(Holder::Mine), Val::Lock(mine)) => mine == Holder::Other,
        (Val::Lock(Holder::Other), Val::Lock(mine)) => mine != Holder::Free,
        (Val::Lock(Holder::Free), Val::Lock(mine)) => mine == Holder::Free,
        // Two operations cannot both have changed it last.
        (Val::Own(_), Val::Own(_)) => false,
        (Val::Dead, _) => true,
        (acting, mine) => acting.plain() == mine.plain(),
    }
}

/// What another thread sees of a shared variable that the acting thread has just written.
pub fn as_seen_by_others(written: Val) -> Val {
    match written {
        Val::Lock(Holder::Mine) => Val::Lock(Holder::Other),
        other => other.plain(),
    }
}
