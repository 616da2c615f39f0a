//! How a certificate is read from text.
//!
//! The text has one line per entry; words are separated by blanks, the parts of an entry by ` | `.
//! The book describes it (`docs/certificates.md`). Reading is strict: whatever is not expected is
//! an error with its line.

use super::{Behind, Certificate, Effect, Place, Target};
use crate::content::Content;
use crate::heap_graph::{Face, HeapGraph, Node, Segment, SegmentId, To};
use crate::limits::{NODES, PLACES, WORDS};
use crate::number::{Fact, Numbers, Relation, is_number};
use crate::number_spec::MOST;
use crate::object::{Field, Object, Spec, hash};
use crate::path_constraint::PathConstraint;
use crate::record::Shape;
use crate::scalar::{Attribute, Attributes, Class, Holder, Mark, NodeId, RecordId, Scalar, Values};
use crate::sort::{Place as Spot, Reference, Told, ill_sorted};
use crate::state::{Ghost, Operation, Record, State, Window};
use seriatim_lang::steps::Pc;

/// The version of the format that this checker reads.
pub const VERSION: u32 = 1;

/// Why a text is no certificate of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Unreadable {
    /// It is no certificate at all.
    NoCertificate,
    /// It is of a version that this checker does not read.
    Version(String),
    /// It is of another program.
    OtherProgram(String),
    /// It is damaged: its sum is wrong, or its end is missing.
    Damaged,
    /// A line is not as expected.
    Line(u32, String),
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unreadable::NoCertificate => write!(f, "this is not a certificate"),
            Unreadable::Version(v) => {
                write!(f, "the certificate is of version {v}, this checker reads version {VERSION}")
            }
            Unreadable::OtherProgram(name) => write!(
                f,
                "the certificate is of another program, `{name}`, or of an earlier text of this one"
            ),
            Unreadable::Damaged => write!(f, "the certificate is damaged or incomplete"),
            Unreadable::Line(line, what) => write!(f, "line {line}: {what}"),
        }
    }
}

impl std::error::Error for Unreadable {}

type Read<T> = Result<T, String>;

/// Reads a certificate of an object.
pub fn read(text: &str, object: &Object) -> Result<Certificate, Unreadable> {
    let mut lines = text.lines();
    let version = lines.next().and_then(|l| l.strip_prefix("seriatim certificate "));
    match version {
        None => return Err(Unreadable::NoCertificate),
        Some(v) if v != VERSION.to_string() => return Err(Unreadable::Version(v.to_owned())),
        Some(_) => {}
    }
    let program = lines.next().unwrap_or_default();
    let Some((name, sum)) = program.strip_prefix("program ").and_then(|l| l.split_once(' ')) else {
        return Err(Unreadable::Damaged);
    };
    if sum != format!("{:016x}", object.hash()) {
        return Err(Unreadable::OtherProgram(name.to_owned()));
    }
    let body = text.strip_suffix('\n').and_then(|t| t.rsplit_once('\n'));
    let (body, end) = body.ok_or(Unreadable::Damaged)?;
    if end != end_of(body) {
        return Err(Unreadable::Damaged);
    }
    read_body(body, object)
}

/// The last line of a certificate with this body: a sum against accidents, not against forgers,
/// from whom the checks protect.
pub fn end_of(body: &str) -> String {
    format!("end {:016x}", hash(body))
}

fn read_body(body: &str, object: &Object) -> Result<Certificate, Unreadable> {
    let reader = Reader { object };
    let mut content = None;
    let mut certificate = (Vec::new(), Vec::new());
    let mut shapes = Vec::new();
    for (number, line) in body.lines().enumerate().skip(2) {
        let number = number as u32 + 1;
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let parts: Vec<Vec<&str>> =
            rest.split('|').map(|part| part.split_whitespace().collect()).collect();
        let failed = |what| Unreadable::Line(number, what);
        match word {
            "content" if content.is_some() => return Err(failed("a second content".to_owned())),
            "content" => content = Some(reader.content(&parts).map_err(failed)?),
            "view" => certificate.0.push((reader.view(&parts).map_err(failed)?, number)),
            "effect" => certificate.1.push((reader.effect(&parts).map_err(failed)?, number)),
            "shape" => shapes.push(reader.shape(&parts).map_err(failed)?),
            _ => return Err(failed(format!("`{word}` is no entry of a certificate"))),
        }
    }
    let content = content.ok_or(Unreadable::Line(3, "there is no line `content`".to_owned()))?;
    let (views, effects) = certificate;
    Ok(Certificate { content, views, effects, shapes })
}

struct Reader<'a> {
    object: &'a Object,
}

impl Reader<'_> {
    fn content(&self, parts: &[Vec<&str>]) -> Read<Content> {
        let [words] = parts else { return Err("one part expected".to_owned()) };
        let [root, begin, counted] = words[..] else {
            return Err("three words expected".to_owned());
        };
        let (root, more) = self.roots(root)?;
        match &self.object.cell {
            Some(cell) if cell.root == root => {}
            Some(_) => return Err("the content is the value of the cell".to_owned()),
            None if self.object.spec == Spec::Number => {}
            None if self.object.is_reference(root) => {}
            None => return Err("the content is reached from a reference".to_owned()),
        }
        let behind_dummy = match begin {
            "first" => false,
            "second" => true,
            _ => return Err("`first` or `second` expected".to_owned()),
        };
        let counts_marked = match counted {
            "all" => true,
            "unmarked" => false,
            _ => return Err("`all` or `unmarked` expected".to_owned()),
        };
        Ok(Content { root, more, behind_dummy, counts_marked })
    }

    /// Reads the variables of the content: of numbers, as many as the specification has, separated
    /// by commas, all different.
    fn roots(&self, text: &str) -> Read<(usize, [Option<usize>; MOST - 1])> {
        let names = text.split(',').map(|name| self.variable(name));
        let all: Vec<usize> = names.collect::<Read<_>>()?;
        let wanted = self.object.number_spec.as_ref().map_or(1, |spec| spec.initial.len());
        let twice = (1..all.len()).any(|at| all[..at].contains(&all[at]));
        match &all[..] {
            [root, others @ ..] if all.len() == wanted && !twice => {
                let mut more = [None; MOST - 1];
                more.iter_mut().zip(others).for_each(|(place, other)| *place = Some(*other));
                Ok((*root, more))
            }
            _ => Err("as many variables expected as the content has words".to_owned()),
        }
    }

    fn view(&self, parts: &[Vec<&str>]) -> Read<State> {
        let (who, shared, nodes, more) = match (parts, self.object.has_records()) {
            ([who, shared, nodes], false) => (who, shared, nodes, None),
            ([who, shared, nodes, records, own, window, numbers @ ..], true) => {
                (who, shared, nodes, Some((records, own, window, numbers)))
            }
            (_, false) => return Err("three parts expected".to_owned()),
            (_, true) => return Err("six or nine parts expected".to_owned()),
        };
        let shared: Vec<Scalar> = shared.iter().map(|w| scalar(w)).collect::<Read<_>>()?;
        if shared.len() != self.object.steps.shared.len() {
            return Err("not as many shared variables as the program has".to_owned());
        }
        let mut graph = HeapGraph { shared, ..HeapGraph::default() };
        at_most(NODES, nodes.len(), "nodes")?;
        for text in nodes {
            self.node(text, &mut graph)?;
        }
        graph.settle();
        let mut state = State { operation: self.operation(who)?, graph, ..State::default() };
        state.numerical = self.object.spec == Spec::Number;
        if let Some((records, own, window, numbers)) = more {
            state.numbers = self.numbers(numbers)?;
            at_most(NODES, records.len(), "records")?;
            state.records = records.iter().map(|text| record(text)).collect::<Read<_>>()?;
            state.own = own.iter().map(|text| scalar(text)).collect::<Read<_>>()?;
            state.window = self.window(window)?;
            if state.own.len() != self.object.own_elements() {
                return Err("not as many elements of arrays as a thread has".to_owned());
            }
        }
        let count = state.graph.nodes.len();
        let links = state.graph.nodes.iter().map(|n| n.now.link);
        let mut links = links.chain(state.graph.segments.iter().map(|s| s.to));
        if links.any(|to| matches!(to, To::Node(id) if id.0 as usize >= count)) {
            return Err("a link to a node that the view does not have".to_owned());
        }
        drop(links);
        match ill_sorted(self.object, &state) {
            None => Ok(state),
            Some(what) => Err(format!("{what} has no meaning in this view")),
        }
    }

    /// Reads `-`, or `mine|other METHOD ARGUMENTS CONTENT CONTROLS`.
    fn window(&self, words: &[&str]) -> Read<Option<Window>> {
        if words == ["-"] {
            return Ok(None);
        }
        let [whose, method, arguments, base, seen] = words else {
            return Err("`-` or an installed operation expected".to_owned());
        };
        let method = self.method(method)?;
        let mut bits = 0;
        for control in seen.split(',') {
            let control: u32 = number(control)?;
            bits |= 1u32.checked_shl(control).ok_or("a control variable has few values")?;
        }
        Ok(Some(Window {
            mine: flag(whose, "mine", "other")?,
            method: method as u32,
            arguments: self.arguments(method, arguments)?,
            base: scalar(base)?,
            seen: bits,
        }))
    }

    /// Reads `FACTS | MOMENTS | ANSWER`, where the content is numbers.
    fn numbers(&self, parts: &[Vec<&str>]) -> Read<Numbers> {
        let (facts, moments, answer) = match (parts, self.object.spec) {
            ([], spec) if spec != Spec::Number => return Ok(Numbers::default()),
            ([facts, moments, answer], Spec::Number) => (facts, moments, answer),
            _ => return Err("six parts expected, nine for a number".to_owned()),
        };
        let words = |text: &str| text.split(',').map(scalar).collect::<Read<Vec<Scalar>>>();
        let answer = match &answer[..] {
            ["-"] => None,
            ["null"] => Some(vec![]),
            [text] => Some(words(text)?),
            _ => return Err("an answer expected".to_owned()),
        };
        at_most(WORDS, facts.len().max(moments.len()), "facts or moments")?;
        Ok(Numbers {
            facts: facts.iter().map(|text| fact(text)).collect::<Read<_>>()?,
            moments: moments.iter().map(|text| self.moment(words(text)?)).collect::<Read<_>>()?,
            answer,
        })
    }

    /// A moment has as many words as the content.
    fn moment(&self, words: Vec<Scalar>) -> Read<Vec<Scalar>> {
        match &self.object.number_spec {
            Some(spec) if spec.initial.len() == words.len() => Ok(words),
            _ => Err("a moment has as many words as the content".to_owned()),
        }
    }

    fn method(&self, name: &str) -> Read<usize> {
        let found = self.object.steps.methods.iter().position(|m| m.name == name);
        found.ok_or(format!("there is no method `{name}`"))
    }

    /// Reads the arguments of a method, separated by commas; `?` if it has none.
    fn arguments(&self, method: usize, text: &str) -> Read<Vec<Scalar>> {
        let count = self.object.steps.methods[method].params.len();
        let scalars =
            text.split(',').filter(|_| count > 0).map(scalar).collect::<Read<Vec<_>>>()?;
        match scalars.len() == count && (count > 0 || text == "?") {
            true => Ok(scalars),
            false => Err(format!("`{text}` are not the arguments")),
        }
    }

    /// Reads the fields of a record that threads publish.
    fn shape(&self, parts: &[Vec<&str>]) -> Read<Shape> {
        match parts {
            [words] if words.len() == 1 => {
                let shape = fields(words[0])?;
                match shape.iter().all(|scalar| Spot::Field.admits(self.object, *scalar)) {
                    true => Ok(shape),
                    false => Err("a shape with a field that no record has".to_owned()),
                }
            }
            _ => Err("one word expected".to_owned()),
        }
    }

    fn operation(&self, who: &[&str]) -> Read<Option<Operation>> {
        let [pc, method, argument, ghost, registers @ ..] = who else {
            let idle = who == ["idle"];
            return if idle { Ok(None) } else { Err("`idle` or an operation expected".to_owned()) };
        };
        let pc = Pc(number(pc)?);
        let method = self.method(method)?;
        let code = &self.object.steps.methods[method];
        let rests = code.entry <= pc && pc < code.end;
        if !rests || !self.object.steps.code[pc.0 as usize].is_step() {
            return Err("no thread rests there in that method".to_owned());
        }
        let registers: Vec<Scalar> = registers.iter().map(|w| scalar(w)).collect::<Read<_>>()?;
        if registers.len() != self.object.steps.register_count() {
            return Err("not as many registers as the program has".to_owned());
        }
        let (arguments, ghost) = (self.arguments(method, argument)?, ghost_of(ghost)?);
        Ok(Some(Operation { pc, method: method as u32, arguments, ghost, registers }))
    }

    /// Reads `attribute:values:privacy:link` or the same with a segment,
    /// `…:attributes:values:may:order`.
    fn node(&self, text: &str, graph: &mut HeapGraph) -> Read<()> {
        let parts: Vec<&str> = text.split(':').collect();
        let [attribute, values, privacy, link, segment @ ..] = &parts[..] else {
            return Err(format!("`{text}` is no node"));
        };
        let Attribute { class, mark, locked } = self.attribute(attribute)?;
        let private = flag(privacy, "private", "public")?;
        let mut link = match scalar(link)? {
            Scalar::Null => To::Null,
            Scalar::Node(id) => To::Node(id),
            Scalar::Unknown => To::Outside,
            _ => return Err(format!("`{text}` has no link")),
        };
        match segment {
            [] => {}
            [attributes, values, may, order] => {
                let attributes = self.attributes(attributes)?;
                let optional = flag(may, "optional", "some")?;
                let sorted = flag(order, "sorted", "any")?;
                let values = self.values(values)?;
                graph.segments.push(Segment { attributes, values, optional, sorted, to: link });
                link = To::Segment(SegmentId(graph.segments.len() as u32 - 1));
            }
            _ => return Err(format!("`{text}` is no node")),
        }
        let now = Face { link, mark, locked, private };
        let (values, before) = (self.values(values)?, Some(now));
        graph.draw(Node { class, values, overwritten: None, before, now });
        Ok(())
    }

    fn attribute(&self, text: &str) -> Read<Attribute> {
        let mut letters = text.chars();
        let class = letters.next().and_then(class).ok_or(format!("`{text}` is no attribute"))?;
        let class = if self.object.has(Field::Key) { class } else { Class::MinusInf };
        let (mark, locked) = match letters.as_str() {
            "" => (Mark::No, false),
            "m" => (Mark::Yes, false),
            "M" => (Mark::ByMe, false),
            "L" => (Mark::No, true),
            "mL" => (Mark::Yes, true),
            "ML" => (Mark::ByMe, true),
            _ => return Err(format!("`{text}` is no attribute")),
        };
        Ok(Attribute { class, mark, locked })
    }

    /// Reads attributes such as `<,<m`.
    fn attributes(&self, text: &str) -> Read<Attributes> {
        text.split(',').map(|a| self.attribute(a)).collect()
    }

    /// Reads a set of values such as `01n`, or `-` for none; nodes without a value all hold the
    /// same.
    fn values(&self, text: &str) -> Read<Values> {
        let mut set = 0;
        for letter in text.chars().filter(|_| text != "-") {
            set |=
                1 << "01n".find(letter).ok_or_else(|| format!("`{text}` is no set of values"))?;
        }
        Ok(if self.object.has(Field::Value) { Values(set) } else { Values::NULL })
    }

    fn variable(&self, name: &str) -> Read<usize> {
        let found = self.object.steps.shared.iter().position(|s| s.name == name);
        found.ok_or(format!("there is no shared variable `{name}`"))
    }

    fn reference(&self, name: &str) -> Read<Reference> {
        let variable = self.variable(name)?;
        Reference::of(self.object, variable).ok_or(format!("`{name}` is no reference to a node"))
    }

    fn effect(&self, parts: &[Vec<&str>]) -> Read<Effect> {
        let [places, references, scalars, outlook, writes] = parts else {
            return Err("five parts expected".to_owned());
        };
        if self.object.list.is_none() {
            return Err("an effect where the checker collects them from the steps".to_owned());
        }
        at_most(PLACES, places.len(), "places")?;
        at_most(WORDS, outlook.len().max(writes.len()), "facts or writes")?;
        let places = places.iter().map(|p| self.place(p)).collect::<Read<Vec<_>>>()?;
        let count = self.object.steps.shared.len();
        let mut effect = Effect {
            references: vec![Target::Unknown; count],
            scalars: vec![Told::NOTHING; count],
            behind: vec![Behind::Unknown; count],
            equal: vec![],
            links: vec![],
            marks: vec![],
            values: vec![],
            moves: vec![],
            stores: vec![],
            places,
        };
        let past = |p: &Place| matches!(p.link, Target::At(q) if q >= effect.places.len());
        if effect.places.iter().any(past) {
            return Err("a place that the effect does not have".to_owned());
        }
        for (number, place) in effect.places.iter().enumerate() {
            let to = place.path.map(|path| path.to);
            let old = |place: usize| effect.places.get(place).is_some_and(|p| !p.fresh);
            if to.is_some_and(|to| place.fresh || to == number || !old(to)) {
                return Err("a path leads from an old place to another old place".to_owned());
            }
            if place.fresh && place.reach != 0 {
                return Err("a fresh place that could be reached before the step".to_owned());
            }
        }
        for text in references {
            let (variable, target) = pair(text, "=")?;
            effect.references[self.reference(variable)?.variable()] = effect.target(target)?;
        }
        for text in scalars {
            let (variable, value) = pair(text, "=")?;
            let (variable, scalar) = (self.variable(variable)?, scalar(value)?);
            match Spot::Before(variable).admits(self.object, scalar) {
                true => effect.scalars[variable] = Told::by_actor(scalar),
                false => return Err(format!("`{text}` has no meaning here")),
            }
        }
        outlook.iter().try_for_each(|text| self.outlook(text, &mut effect))?;
        writes.iter().try_for_each(|text| self.written(text, &mut effect))?;
        match effect.writes_twice() {
            false => Ok(effect),
            true => Err("something is written twice".to_owned()),
        }
    }

    fn place(&self, text: &str) -> Read<Place> {
        let parts: Vec<&str> = text.split(':').collect();
        let [fresh, attribute, reach, link, values, path @ ..] = &parts[..] else {
            return Err(format!("`{text}` is no place"));
        };
        let variables = reach.split(',').filter(|v| !v.is_empty());
        let variables = variables.map(|v| self.variable(v)).collect::<Read<Vec<_>>>()?;
        Ok(Place {
            fresh: flag(fresh, "fresh", "old")?,
            attribute: self.attribute(attribute)?,
            reach: variables.iter().fold(0, |bits, v| bits | 1 << v),
            link: target(link)?,
            values: self.values(values)?,
            path: self.path(path)?,
        })
    }

    /// Reads `p2:<m,=m`, or nothing.
    fn path(&self, parts: &[&str]) -> Read<Option<PathConstraint>> {
        let (to, between) = match parts {
            [] => return Ok(None),
            [to, between] => (target(to)?, self.attributes(between)?),
            _ => return Err(format!("`{}` is no path", parts.join(":"))),
        };
        let Target::At(to) = to else { return Err("a path leads to a place".to_owned()) };
        match between.iter().all(|a| a == a.of_another()) {
            true => Ok(Some(PathConstraint { to, between })),
            false => Err("a path tells what everybody can see".to_owned()),
        }
    }

    /// Reads `head>some`, `head>none`, `head>null`, `head==tail` or `head!=tail`.
    fn outlook(&self, text: &str, effect: &mut Effect) -> Read<()> {
        if let Ok((variable, behind)) = pair(text, ">") {
            effect.behind[self.reference(variable)?.variable()] = match behind {
                "some" => Behind::Something,
                "none" => Behind::Nothing,
                "null" => Behind::NoNode,
                _ => return Err(format!("`{text}` is no outlook")),
            };
            return Ok(());
        }
        let ((a, b), equal) = match pair(text, "==") {
            Ok(both) => (both, true),
            Err(_) => (pair(text, "!=")?, false),
        };
        effect.equal.push((self.reference(a)?, self.reference(b)?, equal));
        Ok(())
    }

    /// Reads `p0.link=p1`, `p0.mark=yes`, `p0.value=01`, `head=p1` or `guard=free`.
    fn written(&self, text: &str, effect: &mut Effect) -> Read<()> {
        let (what, value) = pair(text, "=")?;
        match what.split_once('.') {
            Some((place, "link")) => {
                let place = effect.written_place(place)?;
                match effect.target(value)? {
                    target @ (Target::Null | Target::At(_)) => effect.links.push((place, target)),
                    _ => return Err(format!("`{text}` does not tell what is written")),
                }
            }
            Some((place, "mark")) => {
                let place = effect.written_place(place)?;
                effect.marks.push((place, flag(value, "yes", "no")?));
            }
            Some((place, "value")) => {
                let place = effect.written_place(place)?;
                effect.values.push((place, self.values(value)?));
            }
            _ => {
                let variable = self.variable(what)?;
                match Reference::of(self.object, variable) {
                    Some(reference) => effect.moves.push((reference, effect.target(value)?)),
                    None => {
                        let scalar = scalar(value)?;
                        if !Spot::Written(variable).admits(self.object, scalar) {
                            return Err(format!("`{text}` is nothing that a step can write"));
                        }
                        effect.stores.push((variable, Told::by_actor(scalar)));
                    }
                }
            }
        }
        Ok(())
    }
}

impl Effect {
    /// Whether one thing is written twice.
    fn writes_twice(&self) -> bool {
        fn repeats<K: PartialEq, T>(all: &[(K, T)]) -> bool {
            (1..all.len()).any(|i| all[..i].iter().any(|(key, _)| *key == all[i].0))
        }
        repeats(&self.links)
            || repeats(&self.marks)
            || repeats(&self.values)
            || repeats(&self.moves)
            || repeats(&self.stores)
    }

    fn target(&self, text: &str) -> Read<Target> {
        match target(text)? {
            Target::At(place) if place >= self.places.len() => Err(format!("no place `{text}`")),
            target => Ok(target),
        }
    }

    /// A place that is written. Of a fresh node, the place itself tells what it holds after the
    /// step.
    fn written_place(&self, text: &str) -> Read<usize> {
        match self.target(text)? {
            Target::At(place) if !self.places[place].fresh => Ok(place),
            _ => Err(format!("`{text}` is no place that others could see before the step")),
        }
    }
}

fn at_most(most: usize, count: usize, what: &str) -> Read<()> {
    if count <= most { Ok(()) } else { Err(format!("more than {most} {what}")) }
}

fn pair<'t>(text: &'t str, by: &str) -> Read<(&'t str, &'t str)> {
    text.split_once(by).ok_or_else(|| format!("`{text}` has no `{by}`"))
}

fn flag(text: &str, yes: &str, no: &str) -> Read<bool> {
    match text {
        _ if text == yes => Ok(true),
        _ if text == no => Ok(false),
        _ => Err(format!("`{text}` is neither `{yes}` nor `{no}`")),
    }
}

fn number<N: std::str::FromStr>(text: &str) -> Read<N> {
    text.parse().map_err(|_| format!("`{text}` is no number"))
}

fn class(letter: char) -> Option<Class> {
    "-<=>+".find(letter).map(|i| Class::ALL[i])
}

fn target(text: &str) -> Read<Target> {
    Ok(match text {
        "null" => Target::Null,
        "elsewhere" => Target::Elsewhere,
        "?" => Target::Unknown,
        _ => match text.strip_prefix('p') {
            Some(place) => Target::At(number(place)?),
            None => return Err(format!("`{text}` is no target")),
        },
    })
}

fn scalar(text: &str) -> Read<Scalar> {
    let rest = text.get(1..).unwrap_or_default();
    Ok(match text {
        "?" => Scalar::Unknown,
        "null" => Scalar::Null,
        "free" => Scalar::Lock(Holder::Free),
        "mine" => Scalar::Lock(Holder::Mine),
        "other" => Scalar::Lock(Holder::Other),
        "v0" => Scalar::Value(0),
        "v1" => Scalar::Value(1),
        _ if text.starts_with('#') => Scalar::Node(NodeId(number(rest)?)),
        _ if text.starts_with('r') => Scalar::Record(RecordId(number(rest)?)),
        _ if text.starts_with('n') => unknown_number(rest)?,
        _ if text.starts_with('t') => match number(rest)? {
            name @ 0..64 => Scalar::Thread(name),
            _ => return Err(format!("`{text}` is one thread too many")),
        },
        _ if text.starts_with('k') && rest.len() == 1 => Scalar::Key(
            rest.chars().next().and_then(class).ok_or(format!("`{text}` is no scalar"))?,
        ),
        _ => match text.strip_prefix("mine:") {
            Some(value) => Scalar::Own(number(value)?),
            None => Scalar::Int(number(text)?),
        },
    })
}

/// Reads `private:FIELDS` or `public:FIELDS`.
fn record(text: &str) -> Read<Record> {
    let (privacy, data) = pair(text, ":")?;
    let private = flag(privacy, "private", "public")?;
    Ok(Record { fields: fields(data)?, private, was_private: private })
}

/// Reads `n0:less:n1+2`, or the same with `atleast` or `differs`.
fn fact(text: &str) -> Read<Fact> {
    let parts: Vec<&str> = text.split(':').collect();
    let [first, relation, second] = parts[..] else { return Err(format!("`{text}` is no fact")) };
    let relation = match relation {
        "less" => Relation::Less,
        "atleast" => Relation::AtLeast,
        "differs" => Relation::Differ,
        _ => return Err(format!("`{text}` is no fact")),
    };
    let (first, second) = (scalar(first)?, scalar(second)?);
    match is_number(first) && is_number(second) {
        true => Ok(Fact { first, relation, second }),
        false => Err(format!("`{text}` is no fact")),
    }
}

/// Reads `0+3`: a base and an offset, both small.
fn unknown_number(text: &str) -> Read<Scalar> {
    let (base, offset) = pair(text, "+")?;
    match (number(base)?, number(offset)?) {
        (base @ 0..256u32, offset @ -100_000..100_000i32) => Ok(Scalar::Number(base, offset)),
        _ => Err(format!("`n{text}` is too large")),
    }
}

/// Reads scalars that are separated by commas.
fn fields(text: &str) -> Read<Vec<Scalar>> {
    text.split(',').map(scalar).collect()
}

/// Reads `-` or a list such as `yes,no,done,got0`.
fn ghost_of(text: &str) -> Read<Ghost> {
    let mut ghost = Ghost::default();
    for part in text.split(',').filter(|p| *p != "-") {
        match part {
            "yes" => ghost.saw_yes = true,
            "no" => ghost.saw_no = true,
            "first0" => ghost.firsts |= 1,
            "first1" => ghost.firsts |= 2,
            "done" => ghost.done = true,
            "got0" => ghost.got = Some(Scalar::Value(0)),
            "got1" => ghost.got = Some(Scalar::Value(1)),
            "gotnull" => ghost.got = Some(Scalar::Null),
            "gotno" => ghost.got = Some(Scalar::Int(0)),
            "gotyes" => ghost.got = Some(Scalar::Int(1)),
            _ => return Err(format!("`{text}` does not say what an operation has seen")),
        }
    }
    Ok(ghost)
}
