//! Declarations: constants, nodes, the object with its shared variables and its initial state.

use crate::boxes::DROP;
use crate::client::write_client;
use crate::epoch::without_epochs;
use crate::expression::Sign;
use crate::fallible::Fallible;
use crate::meaning::{HELPERS, must_be_shallow, must_mean_what_it_says};
use crate::names::{self, Names};
use crate::output::Output;
use crate::shape::{Field, Shape, last_segment, type_name};
use crate::statement::Body;
use crate::{Error, Result};
use quote::ToTokens;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use syn::spanned::Spanned;
use syn::{Fields, FnArg, ImplItem, ImplItemFn, Item, ItemImpl, ItemStruct, Pat, ReturnType, Type};

/// What is known of a source.
pub(crate) struct Source {
    /// The type parameter, or the type that stands for opaque data.
    pub data: Vec<String>,
    /// The fields of the object.
    pub shared: HashMap<String, Field>,
    /// The fields of nodes, by the names of their structs.
    pub nodes: BTreeMap<String, Vec<(String, Field)>>,
    /// The constants, and whether their types have signs.
    pub constants: HashMap<String, Sign>,
    /// The functions that others may call, with the types of their results.
    pub functions: HashMap<String, Option<Type>>,
    /// Whether pointers have tags.
    pub has_tags: bool,
    /// The functions of ours that are used.
    helpers: RefCell<BTreeSet<&'static str>>,
}

/// What the source does not say.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// A type of numbers that stands for opaque data, such as `u32`.
    pub value: Option<String>,
    /// The methods that each thread may call, if not all may call all. The last ones are for all
    /// remaining threads.
    pub roles: Vec<Vec<String>>,
}

/// Translates a source.
///
/// `file` is its name, for a comment; `spec` the specification that the object is to refine.
pub fn import(rust: &str, file: &str, spec: &str, options: &Options) -> Result<String> {
    if rust.len() > MOST {
        let message = format!("expected at most {MOST} bytes, found {}", rust.len());
        return Err(Error { line: 1, column: 1, message });
    }
    must_be_shallow(rust)?;
    // Operators nest without brackets, and parsing follows.
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .stack_size(STACK)
            .spawn_scoped(scope, || translate(rust, file, spec, options))
            .map_err(|error| Error { line: 1, column: 1, message: format!("no thread: {error}") })?
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The longest source, in bytes, and the stack that its nesting may need.
const MOST: usize = 128 << 10;
const STACK: usize = 1 << 30;

fn translate(rust: &str, file: &str, spec: &str, options: &Options) -> Result<String> {
    let mut parsed = syn::parse_file(rust)
        .map_err(|error| Error::at(error.span(), format!("this is not Rust: {error}")))?;
    let rewritten = without_epochs(&mut parsed);
    let parsed = parsed;
    let implementation = object_of(&parsed)?;
    let name = type_name(&implementation.self_ty)?;
    must_mean_what_it_says(&parsed, &name)?;
    let mut source = Source::new(implementation, options.value.as_deref());
    source.has_tags = rewritten.has_tags;
    source.declare(&parsed.items, &name)?;

    let mut out = Output::default();
    out.unplaced(&format!(
        "// The object `{name}` of {}; numbers at the ends of lines are its lines.",
        one_line(file)
    ));
    out.unplaced(&format!("object {} : {spec}", snake(&name)));
    source.write_declarations(&parsed.items, &name, &mut out)?;
    source.write_initial_state(implementation, &mut out)?;
    for function in methods(implementation).filter(|function| !is_constructor(function)) {
        out.blank();
        if is_shared(function) {
            Body::write(&source, function, &mut out)?;
        } else {
            let text = format!("// Left out, as it does not take `&self`: {}", function.sig.ident);
            out.line(&text, function.span());
        }
    }
    write_left_out(&parsed, &name, &mut out);
    if let Some(span) = rewritten.destroys {
        let text = "// Left out: nodes are destroyed later; that nobody can reach them then is not checked";
        out.blank();
        out.line(text, span);
    }
    source.write_helpers(&mut out);
    out.blank();
    let (threads, client) = write_client(implementation, &options.roles, &mut out)?;
    out.unplaced(&format!(
        "expect explore(threads: {threads}, values: 2, {client}memory: rc20, operations: {}) holds",
        source.operations(&parsed.items)
    ));
    Ok(out.text())
}

/// Says which traits of the object are not looked at.
fn write_left_out(file: &syn::File, object: &str, out: &mut Output) {
    for item in &file.items {
        let Item::Impl(ItemImpl { trait_: Some((_, path, _)), self_ty, .. }) = item else {
            continue;
        };
        let has_methods = matches!(item, Item::Impl(block) if methods(block).any(is_shared));
        if has_methods && type_name(self_ty).is_ok_and(|name| name == object) {
            out.blank();
            let name = path.to_token_stream().to_string();
            out.line(&format!("// Left out, as it belongs to a trait: {name}"), item.span());
        }
    }
}

/// Whether a function can be called by several threads at once.
pub(crate) fn is_shared(function: &ImplItemFn) -> bool {
    let receiver = function.sig.receiver();
    receiver.is_some_and(|by| by.reference.is_some() && by.mutability.is_none())
}

fn one_line(file: &str) -> String {
    file.chars().filter(|character| !character.is_control()).collect()
}

fn snake(name: &str) -> String {
    let mut snake = String::new();
    for (at, letter) in name.chars().enumerate() {
        if letter.is_uppercase() && at > 0 {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    names::plain(&snake)
}

pub(crate) fn methods(implementation: &ItemImpl) -> impl Iterator<Item = &ImplItemFn> {
    implementation.items.iter().filter_map(|item| match item {
        ImplItem::Fn(function) => Some(function),
        _ => None,
    })
}

pub(crate) fn is_public(function: &ImplItemFn) -> bool {
    !matches!(function.vis, syn::Visibility::Inherited)
}

fn is_constructor(function: &ImplItemFn) -> bool {
    function.sig.receiver().is_none() && function.sig.ident == "new"
}

/// The one block of methods of the one object.
fn object_of(file: &syn::File) -> Result<&ItemImpl> {
    let has_methods = |item: &&ItemImpl| {
        item.trait_.is_none()
            && methods(item)
                .any(|function| is_public(function) && function.sig.receiver().is_some())
    };
    let blocks: Vec<&ItemImpl> = file
        .items
        .iter()
        .filter_map(|item| if let Item::Impl(block) = item { Some(block) } else { None })
        .filter(has_methods)
        .collect();
    match blocks[..] {
        [block] => Ok(block),
        [] => Err(Error::at(file.span(), "expected an `impl` with a `pub fn` that takes `&self`")),
        [_, second, ..] => Err(Error::at(
            second.span(),
            "expected one object: a second `impl` with a `pub fn` that takes `&self`",
        )),
    }
}

impl Source {
    fn new(implementation: &ItemImpl, value: Option<&str>) -> Self {
        let parameters = implementation.generics.type_params();
        let mut data: Vec<String> = parameters.map(|param| param.ident.to_string()).collect();
        data.extend(value.map(str::to_owned));
        Source {
            data,
            shared: HashMap::new(),
            nodes: BTreeMap::new(),
            constants: HashMap::new(),
            functions: methods(implementation)
                .filter(|function| !is_public(function) && is_shared(function))
                .map(|function| (function.sig.ident.to_string(), result_of(function)))
                .collect(),
            has_tags: false,
            helpers: RefCell::default(),
        }
    }

    /// Calls a function of ours.
    pub fn helped(&self, helper: &'static str, argument: &str) -> String {
        self.helpers.borrow_mut().insert(helper);
        format!("{helper}({argument})")
    }

    fn write_helpers(&self, out: &mut Output) {
        for helper in self.helpers.borrow().iter() {
            out.blank();
            let owned = self.drop_function();
            let (why, text) = match *helper {
                DROP => ("// A box is dropped, with what it owns.", owned.as_str()),
                "present" => (
                    "// What is taken for data must be there.",
                    "fn present(v: value) -> value { return v }",
                ),
                "signed" => (
                    "// A number that leaves these bounds is out of range.",
                    "fn signed(n: int -128..127) -> int -128..127 { return n }",
                ),
                _ => (
                    "// A number without a sign that leaves these bounds is out of range.",
                    "fn unsigned(n: int 0..127) -> int 0..127 { return n }",
                ),
            };
            out.unplaced(why);
            text.lines().for_each(|line| out.unplaced(line));
        }
    }

    /// What cannot be the name of a local.
    pub fn taken(&self) -> HashSet<String> {
        let shared = self.shared.keys().map(|name| names::plain(name));
        let functions = self.functions.keys().map(|name| names::plain(name));
        let others = self.constants.keys().chain(self.nodes.keys()).cloned();
        let helpers = HELPERS.iter().map(|name| (*name).to_owned());
        shared.chain(functions).chain(others).chain(helpers).collect()
    }

    fn declare(&mut self, items: &[Item], object: &str) -> Result<()> {
        for item in items {
            if let Item::Struct(structure) = item
                && structure.ident != object
                && !matches!(structure.fields, Fields::Unit)
            {
                self.nodes.insert(structure.ident.to_string(), Vec::new());
            }
        }
        for item in items {
            match item {
                Item::Const(constant) => {
                    let sign =
                        self.shape(&constant.ty).map_or(Sign::Unknown, |(s, _)| Sign::of(&s));
                    self.constants.insert(constant.ident.to_string(), sign);
                }
                // A struct without fields is a name for an error.
                Item::Struct(structure) if matches!(structure.fields, Fields::Unit) => {}
                Item::Struct(structure) => {
                    let fields = self.fields(structure)?;
                    if structure.ident == object {
                        self.shared = fields.into_iter().collect();
                    } else {
                        self.nodes.insert(structure.ident.to_string(), fields);
                    }
                }
                _ => {}
            }
        }
        let object = items.iter().find(|item| matches!(item, Item::Struct(s) if s.ident == object));
        self.must_own_in_rows(object.map_or_else(proc_macro2::Span::call_site, Spanned::span))
    }

    fn fields(&self, structure: &ItemStruct) -> Result<Vec<(String, Field)>> {
        let Fields::Named(named) = &structure.fields else {
            return Err(Error::at(structure.span(), "expected a struct with named fields"));
        };
        let mut fields = Vec::new();
        for field in &named.named {
            let name = field.ident.as_ref().expect("the fields are named").to_string();
            if last_segment(&field.ty).is_some_and(|segment| segment.ident == "PhantomData") {
                continue;
            }
            let (shape, is_atomic) = self.shape(&field.ty)?;
            let collides =
                |(other, _): &(String, Field)| names::plain(other) == names::plain(&name);
            if fields.iter().any(collides) {
                return Err(Error::at(field.span(), "expected names that differ by more than `_`"));
            }
            fields.push((name, Field { shape, is_atomic }));
        }
        Ok(fields)
    }

    /// How many operations a thread should make at least: what is an array must be filled and used
    /// again.
    fn operations(&self, items: &[Item]) -> usize {
        let constant = |name: &str| {
            let mut constants = items.iter().filter_map(|item| match item {
                Item::Const(constant) if constant.ident == name => Some(&constant.expr),
                _ => None,
            });
            constants.next().map(|value| value.to_token_stream().to_string())
        };
        let lengths = self.shared.values().filter_map(|field| match &field.shape {
            Shape::Array(_, length) => {
                constant(length).unwrap_or_else(|| length.clone()).parse().ok()
            }
            _ => None,
        });
        lengths.map(|length: usize| length.saturating_add(1)).max().unwrap_or(0).clamp(2, 4)
    }

    /// A field of some node; those of one name must be alike in all structs.
    pub fn node_field(&self, name: &str) -> Option<&Field> {
        let mut found = self.nodes.values().flatten().filter(|(field, _)| field == name);
        let first = &found.next()?.1;
        found.all(|(_, field)| field == first).then_some(first)
    }

    fn write_declarations(&self, items: &[Item], object: &str, out: &mut Output) -> Result<()> {
        for item in items {
            match item {
                Item::Const(constant) => {
                    let value = constant.expr.to_token_stream().to_string();
                    let digits = value.trim_end_matches("usize").trim_end_matches('_');
                    if digits.is_empty() || !digits.chars().all(|digit| digit.is_ascii_digit()) {
                        return Err(Error::at(constant.expr.span(), "expected a number"));
                    }
                    let (name, value) = (&constant.ident, digits);
                    out.line(&format!("const {name} = {value}"), constant.span());
                }
                Item::Struct(structure) if matches!(structure.fields, Fields::Unit) => {}
                Item::Struct(structure) if structure.ident != object => {
                    let fields: Vec<String> = self.nodes[&structure.ident.to_string()]
                        .iter()
                        .map(|(name, field)| {
                            let plain = if field.is_atomic { "" } else { "plain " };
                            format!("{plain}{}: {}", names::plain(name), field.shape.text())
                        })
                        .collect();
                    let text = format!("struct {} {{ {} }}", structure.ident, fields.join(", "));
                    out.line(&text, structure.span());
                }
                Item::Enum(other) => return Err(refused(other.span(), "an enum")),
                Item::Static(other) => return Err(refused(other.span(), "a static")),
                Item::Macro(other) => return Err(refused(other.span(), "a macro")),
                Item::Mod(other) if !is_test(&other.attrs) => {
                    return Err(refused(other.span(), "a module"));
                }
                // Imports, other traits' implementations, functions that are not called: what is
                // used of them is refused where it is used.
                _ => {}
            }
        }
        Ok(())
    }

    /// The shared variables as the constructor leaves them.
    fn write_initial_state(&self, implementation: &ItemImpl, out: &mut Output) -> Result<()> {
        let missing =
            || Error::at(implementation.span(), "expected a constructor `fn new() -> Self`");
        let constructor =
            methods(implementation).find(|f| is_constructor(f)).ok_or_else(missing)?;
        if let Some(parameter) = constructor.sig.inputs.first() {
            return Err(Error::at(parameter.span(), "expected a constructor without parameters"));
        }
        let (setup, fields) = Body::constructor(self, constructor)?;
        let is_simple = setup.is_empty();
        let mut assigned = Vec::new();
        for (name, (value, span)) in &fields {
            let Some(field) = self.shared.get(name) else { continue };
            let plain = if field.is_atomic { "" } else { "plain " };
            let kind = field.shape.text();
            let own = names::plain(name);
            let is_late = !is_simple && matches!(field.shape, Shape::Node(_) | Shape::Owner(_));
            let first = if is_late { "null" } else { value.as_str() };
            out.line(&format!("{plain}var {own}: {kind} = {first}"), *span);
            if is_late {
                assigned.push((format!("{own} = {value}"), *span));
            }
        }
        if !is_simple {
            out.open_unplaced("init {");
            for (text, span) in setup.iter().chain(&assigned) {
                out.line(text, *span);
            }
            out.close();
        }
        Ok(())
    }

    /// The parameters and the result of a function.
    pub fn signature(
        &self,
        function: &ImplItemFn,
        names: &mut Names,
    ) -> Result<(Vec<String>, String)> {
        let mut parameters = Vec::new();
        for input in &function.sig.inputs {
            let FnArg::Typed(typed) = input else { continue };
            let Pat::Ident(ident) = &*typed.pat else {
                return Err(Error::at(typed.span(), "expected the name of a parameter"));
            };
            let (shape, _) = self.shape(&typed.ty)?;
            let shape = stays(shape, &typed.ty)?;
            let name = names.declare(&ident.ident.to_string());
            parameters.push(format!("{name}: {}", shape.text()));
        }
        let result = match &function.sig.output {
            ReturnType::Default => String::new(),
            ReturnType::Type(_, kind) if matches!(&**kind, Type::Tuple(t) if t.elems.is_empty()) => {
                String::new()
            }
            ReturnType::Type(_, kind) => match Fallible::of(self, function)? {
                Some(result) => format!(" -> {}", result.text()),
                None => match stays(self.shape(kind)?.0, kind)? {
                    Shape::Number { .. } => " -> int".to_owned(),
                    // Data that is a number is empty at first, and so may be what is returned.
                    Shape::Value if self.is_number(kind) => " -> value?".to_owned(),
                    shape => format!(" -> {}", shape.text()),
                },
            },
        };
        Ok((parameters, result))
    }
}

/// Who calls a method owns no node of the object.
fn stays(shape: Shape, kind: &Type) -> Result<Shape> {
    match shape {
        Shape::Owner(_) => Err(Error::at(kind.span(), "expected no box of a node in a signature")),
        shape => Ok(shape),
    }
}

fn refused(span: proc_macro2::Span, what: &str) -> Error {
    Error::at(span, format!("{what} cannot be imported"))
}

fn result_of(function: &ImplItemFn) -> Option<Type> {
    match &function.sig.output {
        ReturnType::Default => None,
        ReturnType::Type(_, kind) => Some((**kind).clone()),
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("cfg"))
}
