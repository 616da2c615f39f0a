//! What a source says must be what it seems to say. Orderings, atomics and functions are known by
//! their names, so that another meaning of such a name would be believed; a source with `cfg` is several
//! programs; and a destructor of a node runs where the translation only frees it.

use crate::boxes::DROP;
use crate::{Error, Result};
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{ImplItem, Item, ItemImpl, ItemStruct, UseTree};

const TYPES: [&str; 9] = [
    "Box",
    "CachePadded",
    "ManuallyDrop",
    "MaybeUninit",
    "Option",
    "Ordering",
    "Result",
    "Tagged",
    "UnsafeCell",
];
const FUNCTIONS: [&str; 6] = ["drop", "fence", "null_mut", "read", "spin_loop", "yield_now"];
/// Names of functions that the translation adds.
pub(crate) const HELPERS: [&str; 4] = [DROP, "present", "signed", "unsigned"];

/// Nesting of brackets that no object needs; a parser follows it as deep as it goes.
const DEEPEST: usize = 200;

/// Refuses a text whose brackets are nested too deeply.
pub(crate) fn must_be_shallow(rust: &str) -> Result<()> {
    let (mut depth, mut line) = (0_usize, 1);
    for letter in rust.chars() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '\n' => line += 1,
            _ => {}
        }
        if depth > DEEPEST {
            let message = format!("expected brackets nested at most {DEEPEST} levels deep");
            return Err(Error { line, column: 1, message });
        }
    }
    Ok(())
}

/// Refuses names with another meaning.
pub(crate) fn must_mean_what_it_says(file: &syn::File, object: &str) -> Result<()> {
    for item in &file.items {
        let is_conditional = item.to_token_stream().to_string().contains("# [cfg");
        let refuse = |message: &str| Err(Error::at(item.span(), message));
        match item {
            Item::Struct(_) | Item::Impl(_) | Item::Const(_) | Item::Use(_) if is_conditional => {
                return refuse("what depends on `cfg` cannot be imported");
            }
            Item::Struct(ItemStruct { ident, .. })
                if ident.to_string().starts_with("Atomic")
                    || TYPES.iter().any(|name| ident == name) =>
            {
                return refuse(&format!("expected another name than `{ident}`"));
            }
            Item::Use(import) if renames(&import.tree) => {
                return refuse("an import under another name cannot be imported");
            }
            Item::Fn(function) if FUNCTIONS.iter().any(|name| function.sig.ident == name) => {
                return refuse(&format!("expected another name than `{}`", function.sig.ident));
            }
            Item::Type(_) => return refuse("another name for a type cannot be imported"),
            Item::Impl(block) => must_be_plain(block, object)?,
            _ => {}
        }
    }
    Ok(())
}

/// A block of an `impl`: no constants of its own, no functions named like ours, no destructor of a
/// node.
fn must_be_plain(block: &ItemImpl, object: &str) -> Result<()> {
    let of = block.self_ty.to_token_stream().to_string();
    let is_of_object = of.split(' ').next() == Some(object);
    if let Some((_, path, _)) = &block.trait_ {
        let is_drop = path.segments.last().is_some_and(|segment| segment.ident == "Drop");
        if is_drop && !is_of_object {
            let message = "a destructor of a node cannot be imported";
            return Err(Error::at(block.span(), message));
        }
        return Ok(());
    }
    for item in &block.items {
        match item {
            ImplItem::Fn(function) => {
                let ident = &function.sig.ident;
                if HELPERS.iter().any(|name| ident == name) {
                    let message = format!("expected another name than `{ident}`");
                    return Err(Error::at(ident.span(), message));
                }
                if function.sig.receiver().is_some_and(|by| by.colon_token.is_some()) {
                    return Err(Error::at(function.sig.span(), "expected `&self`"));
                }
            }
            other => return Err(Error::at(other.span(), "expected a function")),
        }
    }
    Ok(())
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
