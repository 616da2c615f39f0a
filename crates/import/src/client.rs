//! The client: who calls what.

use crate::declaration::{is_public, is_shared, methods};
use crate::output::Output;
use crate::{Error, Result};
use syn::spanned::Spanned;
use syn::{ImplItemFn, ItemImpl};

/// Writes the client in which each thread has a role, and gives the number of threads.
pub(crate) fn write_client(
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
    Ok(format!("{}({})", name, vec!["any"; parameters].join(", ")))
}
