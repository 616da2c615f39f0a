//! Declarations: constants, nodes, the object with its shared variables and its initial state.

use crate::names::{self, Names};
use crate::output::Output;
use crate::statement::Body;
use crate::{Error, Result};
use quote::ToTokens;
use std::collections::HashMap;
use syn::spanned::Spanned;
use syn::{
    Expr, Fields, FnArg, ImplItem, ImplItemFn, Item, ItemImpl, ItemStruct, Pat, ReturnType, Type,
    UseTree,
};

/// What a field or a variable holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Value,
    MaybeValue,
    Bool,
    Number { signed: bool },
    Node(String),
    Array(Box<Shape>, String),
}

/// A field.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub shape: Shape,
    pub is_atomic: bool,
}

impl Shape {
    /// Its type in the language. What is shared may be empty at first.
    pub fn text(&self) -> String {
        match self {
            Shape::Value => "value".to_owned(),
            Shape::MaybeValue => "value?".to_owned(),
            Shape::Bool => "bool".to_owned(),
            Shape::Number { signed: true } => "int -128..127".to_owned(),
            Shape::Number { signed: false } => "int 0..127".to_owned(),
            Shape::Node(name) => format!("{name}?"),
            Shape::Array(of, length) => format!("[{}; {length}]", of.text()),
        }
    }
}

/// What is known of a source.
pub(crate) struct Source {
    /// The type parameter, or the type that stands for opaque data.
    pub data: Vec<String>,
    /// The fields of the object.
    pub shared: HashMap<String, Field>,
    /// The fields of nodes, by the names of their structs.
    pub nodes: HashMap<String, Vec<(String, Field)>>,
    pub constants: Vec<String>,
    pub functions: Vec<String>,
    /// Whether a compare-exchange may fail for no reason.
    pub may_fail: std::cell::Cell<bool>,
    /// Whether a number is checked not to be negative.
    pub has_unsigned: std::cell::Cell<bool>,
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
    // Parsing follows the nesting of the source, which may be as deep as it is long.
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
    let parsed = syn::parse_file(rust)
        .map_err(|error| Error::at(error.span(), format!("this is not Rust: {error}")))?;
    let implementation = object_of(&parsed)?;
    let name = type_name(&implementation.self_ty)?;
    must_mean_what_it_says(&parsed)?;
    let mut source = Source::new(implementation, options.value.as_deref());
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
    if source.may_fail.get() {
        out.blank();
        out.unplaced("// A weak compare-exchange may fail for no reason.");
        out.unplaced("fn attempt() -> bool { choose { return true or return false } }");
    }
    if source.has_unsigned.get() {
        out.blank();
        out.unplaced(
            "// A number without a sign must not become negative: that would be out of range.",
        );
        out.unplaced("fn unsigned(n: int) -> int 0..127 { return n }");
    }
    out.blank();
    let (threads, client) = write_client(implementation, &options.roles, &mut out)?;
    out.unplaced(&format!(
        "expect explore(threads: {threads}, values: 2, {client}memory: rc20, operations: {}) holds",
        source.operations(&parsed.items)
    ));
    Ok(out.text())
}

/// Writes the client in which each thread has a role, and gives the number of threads.
fn write_client(
    implementation: &ItemImpl,
    roles: &[Vec<String>],
    out: &mut Output,
) -> Result<(usize, &'static str)> {
    let Some(last) = roles.len().checked_sub(1) else { return Ok((2, "")) };
    out.open_unplaced("client roles {");
    for (at, role) in roles.iter().enumerate() {
        let calls: Result<Vec<String>> =
            role.iter().map(|name| any_call(implementation, name)).collect();
        let rest = if at == last { " * rest" } else { "" };
        let calls = calls?.join(" or ");
        let calls = if role.len() == 1 { calls } else { format!("choose {{ {calls} }}") };
        out.unplaced(&format!("thread role{}{rest} {{ loop {{ {calls} }} }}", at + 1));
    }
    out.close();
    out.blank();
    Ok((roles.len().max(2), "client: roles, "))
}

/// A call of a method with any arguments.
fn any_call(implementation: &ItemImpl, name: &str) -> Result<String> {
    let is_meant = |function: &&ImplItemFn| {
        function.sig.ident == name && is_public(function) && is_shared(function)
    };
    let missing = || {
        Error::at(
            implementation.span(),
            format!("expected a `pub fn {name}(&self, …)`, for a role"),
        )
    };
    let function = methods(implementation).find(is_meant).ok_or_else(missing)?;
    let parameters = function.sig.inputs.len() - 1;
    Ok(format!("{}({})", names::plain(name), vec!["any"; parameters].join(", ")))
}

/// Whether an import gives something another name.
fn renames(tree: &UseTree) -> bool {
    match tree {
        UseTree::Rename(rename) => rename.rename != "_",
        UseTree::Path(path) => renames(&path.tree),
        UseTree::Group(group) => group.items.iter().any(renames),
        UseTree::Name(_) | UseTree::Glob(_) => false,
    }
}

/// Whether a function can be called by several threads at once.
fn is_shared(function: &ImplItemFn) -> bool {
    let receiver = function.sig.receiver();
    receiver.is_some_and(|by| by.reference.is_some() && by.mutability.is_none())
}

/// A source with `cfg` is several programs, and one with names of the standard library for its own
/// types says something else than it seems to.
fn must_mean_what_it_says(file: &syn::File) -> Result<()> {
    const KNOWN: [&str; 6] =
        ["Box", "CachePadded", "ManuallyDrop", "MaybeUninit", "Option", "UnsafeCell"];
    const FUNCTIONS: [&str; 6] = ["drop", "fence", "null_mut", "read", "spin_loop", "yield_now"];
    for item in &file.items {
        let is_conditional = item.to_token_stream().to_string().contains("# [cfg");
        match item {
            Item::Struct(_) | Item::Impl(_) | Item::Const(_) if is_conditional => {
                return Err(Error::at(item.span(), "what depends on `cfg` cannot be imported"));
            }
            Item::Struct(ItemStruct { ident, .. })
                if ident.to_string().starts_with("Atomic")
                    || KNOWN.iter().any(|name| ident == name) =>
            {
                return Err(Error::at(
                    item.span(),
                    format!("expected another name than `{ident}`"),
                ));
            }
            Item::Use(import) if renames(&import.tree) => {
                return Err(Error::at(
                    import.span(),
                    "an import under another name cannot be imported",
                ));
            }
            Item::Fn(function) if FUNCTIONS.iter().any(|name| function.sig.ident == name) => {
                let ident = &function.sig.ident;
                return Err(Error::at(
                    ident.span(),
                    format!("expected another name than `{ident}`"),
                ));
            }
            Item::Type(alias) => return Err(refused(alias.span(), "another name for a type")),
            _ => {}
        }
    }
    Ok(())
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

fn methods(implementation: &ItemImpl) -> impl Iterator<Item = &ImplItemFn> {
    implementation.items.iter().filter_map(|item| match item {
        ImplItem::Fn(function) => Some(function),
        _ => None,
    })
}

pub(crate) fn is_public(function: &ImplItemFn) -> bool {
    matches!(function.vis, syn::Visibility::Public(_))
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

fn type_name(kind: &Type) -> Result<String> {
    match kind {
        Type::Path(path) if path.qself.is_none() => {
            let last = path.path.segments.last().expect("a path has a segment");
            Ok(last.ident.to_string())
        }
        _ => Err(Error::at(kind.span(), "expected the name of a struct")),
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
            nodes: HashMap::new(),
            constants: Vec::new(),
            functions: methods(implementation)
                .map(|function| function.sig.ident.to_string())
                .collect(),
            may_fail: std::cell::Cell::new(false),
            has_unsigned: std::cell::Cell::new(false),
        }
    }

    fn declare(&mut self, items: &[Item], object: &str) -> Result<()> {
        for item in items {
            match item {
                Item::Const(constant) => self.constants.push(constant.ident.to_string()),
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
        Ok(())
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
            fields.push((name, Field { shape, is_atomic }));
        }
        Ok(fields)
    }

    /// What a type holds, and whether it is atomic.
    pub fn shape(&self, kind: &Type) -> Result<(Shape, bool)> {
        match kind {
            Type::Paren(inner) => self.shape(&inner.elem),
            Type::Ptr(pointer) => Ok((Shape::Node(type_name(&pointer.elem)?), false)),
            Type::Array(array) => {
                let (of, is_atomic) = self.shape(&array.elem)?;
                let length = self.length(&array.len)?;
                Ok((Shape::Array(Box::new(of), length), is_atomic))
            }
            _ => self.named_shape(kind),
        }
    }

    fn length(&self, length: &Expr) -> Result<String> {
        let text = length.to_token_stream().to_string();
        let is_number = !text.is_empty() && text.chars().all(|letter| letter.is_ascii_digit());
        if is_number || self.constants.contains(&text) {
            return Ok(text);
        }
        Err(Error::at(length.span(), "expected a number or a constant as the length of an array"))
    }

    fn named_shape(&self, kind: &Type) -> Result<(Shape, bool)> {
        let unknown = || {
            Error::at(
                kind.span(),
                format!(
                    "`{}` is none of the types that can be imported: atomics, `*mut Node<T>`, `UnsafeCell<_>`, \
                     `MaybeUninit<T>`, `Option<T>`, `T`, numbers, `bool`, and arrays of them",
                    kind.to_token_stream()
                ),
            )
        };
        let segment = last_segment(kind).ok_or_else(unknown)?;
        let name = segment.ident.to_string();
        if self.data.contains(&name) {
            return Ok((Shape::Value, false));
        }
        let inner = || argument(segment).ok_or_else(unknown);
        match name.as_str() {
            "AtomicPtr" => Ok((Shape::Node(type_name(inner()?)?), true)),
            "AtomicBool" => Ok((Shape::Bool, true)),
            "bool" => Ok((Shape::Bool, false)),
            "UnsafeCell" | "CachePadded" => self.shape(inner()?),
            "MaybeUninit" | "ManuallyDrop" | "Option" => match self.shape(inner()?)? {
                (Shape::Value, false) => Ok((Shape::MaybeValue, false)),
                _ => Err(unknown()),
            },
            _ => self.number(&name).ok_or_else(unknown),
        }
    }

    /// A type of numbers, atomic or not; atomic data may be empty.
    fn number(&self, name: &str) -> Option<(Shape, bool)> {
        let atomic = name.strip_prefix("Atomic").map(str::to_lowercase);
        let is_atomic = atomic.is_some();
        let plain = atomic.unwrap_or_else(|| name.to_owned());
        if is_atomic && self.data.contains(&plain) {
            return Some((Shape::MaybeValue, true));
        }
        Some((Shape::Number { signed: number_type(&plain)? }, is_atomic))
    }

    fn is_number(&self, kind: &Type) -> bool {
        let name = last_segment(kind).map(|segment| segment.ident.to_string());
        name.is_some_and(|name| number_type(&name).is_some())
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

    /// Whether a field of some node is atomic; nodes must agree.
    pub fn node_field(&self, name: &str) -> Option<bool> {
        let mut found = self.nodes.values().flatten().filter(|(field, _)| field == name);
        let is_atomic = found.next()?.1.is_atomic;
        found.all(|(_, field)| field.is_atomic == is_atomic).then_some(is_atomic)
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
            let is_late = !is_simple && matches!(field.shape, Shape::Node(_));
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
            let name = names.declare(&ident.ident.to_string());
            parameters.push(format!("{name}: {}", shape.text()));
        }
        let result = match &function.sig.output {
            ReturnType::Default => String::new(),
            ReturnType::Type(_, kind) if matches!(&**kind, Type::Tuple(t) if t.elems.is_empty()) => {
                String::new()
            }
            ReturnType::Type(_, kind) => match self.shape(kind)?.0 {
                Shape::Number { .. } => " -> int".to_owned(),
                // Data that is a number is empty at first, and so may be what is returned.
                Shape::Value if self.is_number(kind) => " -> value?".to_owned(),
                shape => format!(" -> {}", shape.text()),
            },
        };
        Ok((parameters, result))
    }
}

fn refused(span: proc_macro2::Span, what: &str) -> Error {
    Error::at(span, format!("{what} cannot be imported"))
}

/// Whether a type of numbers has a sign.
fn number_type(name: &str) -> Option<bool> {
    const SIZES: [&str; 6] = ["size", "8", "16", "32", "64", "128"];
    match name.split_at_checked(1)? {
        ("i", size) if SIZES.contains(&size) => Some(true),
        ("u", size) if SIZES.contains(&size) => Some(false),
        _ => None,
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| attribute.path().is_ident("cfg"))
}

fn last_segment(kind: &Type) -> Option<&syn::PathSegment> {
    match kind {
        Type::Path(path) if path.qself.is_none() => path.path.segments.last(),
        _ => None,
    }
}

fn argument(segment: &syn::PathSegment) -> Option<&Type> {
    let syn::PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    arguments.args.iter().find_map(|argument| match argument {
        syn::GenericArgument::Type(kind) => Some(kind),
        _ => None,
    })
}
