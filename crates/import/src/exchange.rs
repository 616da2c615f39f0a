//! Compare-exchanges with their two arms, in all the ways in which Rust can ask for the outcome.

use crate::Result;
use crate::expression::{Exchange, Sign, bare};
use crate::shape::Shape;
use crate::statement::Body;
use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::{Block, Expr, Pat};

/// An arm of a compare-exchange: the name of what it is given, if it has one, and what it does.
pub(crate) struct Arm<'e> {
    pub name: Option<String>,
    pub part: Part<'e>,
}

pub(crate) enum Part<'e> {
    Nothing,
    Break,
    Expression(&'e Expr),
    Block(&'e Block),
}

impl<'e> Arm<'e> {
    pub fn new(part: Part<'e>) -> Self {
        Arm { name: None, part }
    }
}

impl Body<'_, '_> {
    /// An exchange whose outcome nobody looks at.
    pub(crate) fn ignored_exchange(&mut self, exchange: &Exchange, span: Span) -> Result<()> {
        self.exchange(exchange, Arm::new(Part::Nothing), Arm::new(Part::Nothing), (false, span))
    }

    /// The exchange of a condition that asks for its outcome, the name of what it gives, and whether
    /// the condition is that it fails.
    pub(crate) fn outcome_of(
        &self,
        condition: &Expr,
    ) -> Result<Option<(Exchange, Option<String>, bool)>> {
        match bare(condition) {
            Expr::Let(pattern) => {
                let (Some(exchange), Some((which, name))) =
                    (self.scope.exchange(&pattern.expr)?, outcome(&pattern.pat))
                else {
                    let expected = "`Ok(…)` or `Err(…)` of a compare-exchange";
                    return self.scope.refuse(pattern, expected);
                };
                Ok(Some((exchange, name, which == "Err")))
            }
            Expr::Unary(not) if matches!(not.op, syn::UnOp::Not(_)) => {
                let inner = self.outcome_of(&not.expr)?;
                Ok(inner.map(|(exchange, name, is_failure)| (exchange, name, !is_failure)))
            }
            Expr::MethodCall(call) if call.method == "is_ok" || call.method == "is_err" => {
                let exchange = self.scope.exchange(&call.receiver)?;
                Ok(exchange.map(|exchange| (exchange, None, call.method == "is_err")))
            }
            _ => Ok(None),
        }
    }

    pub(crate) fn match_exchange(&mut self, inner: &syn::ExprMatch, is_tail: bool) -> Result<()> {
        let Some(exchange) = self.scope.exchange(&inner.expr)? else {
            return self.scope.refuse(inner, "a `match` of a compare-exchange");
        };
        let (mut ok, mut err) = (None, None);
        for arm in &inner.arms {
            let slot = match outcome(&arm.pat) {
                Some((which, name)) if arm.guard.is_none() => {
                    Some((if which == "Ok" { &mut ok } else { &mut err }, name))
                }
                _ => None,
            };
            match slot {
                Some((slot @ None, name)) => {
                    *slot = Some(Arm { name, part: Part::Expression(&arm.body) });
                }
                _ => return self.scope.refuse(&arm.pat, "one arm `Ok(…)` and one `Err(…)`"),
            }
        }
        let (Some(ok), Some(err)) = (ok, err) else {
            return self.scope.refuse(inner, "an arm for `Ok` and one for `Err`");
        };
        self.exchange(&exchange, ok, err, (is_tail, inner.match_token.span()))
    }

    /// Writes a compare-exchange with its two arms.
    pub(crate) fn exchange(
        &mut self,
        exchange: &Exchange,
        ok: Arm<'_>,
        err: Arm<'_>,
        (is_tail, span): (bool, Span),
    ) -> Result<()> {
        // What is compared and put is looked at once, whatever becomes of it.
        let mut bound = exchange.clone();
        let mut now = None;
        if ok.name.is_some() || err.name.is_some() || exchange.is_weak {
            bound.old = self.bind(&exchange.old, "expected", exchange, span);
        }
        if err.name.is_some() || exchange.is_weak {
            bound.new = self.bind(&exchange.new, "replacement", exchange, span);
            now = Some(self.exchange_or_load(&bound, span));
        } else {
            self.out.open(&format!("if {} {{", bound.text()), span);
        }
        let old = bound.old.clone();
        self.arm(ok, &old, exchange, (is_tail, span))?;
        if !matches!(err.part, Part::Nothing) {
            self.out.turn("} else {");
            self.arm(err, now.as_deref().unwrap_or_default(), exchange, (is_tail, span))?;
        }
        self.out.close();
        Ok(())
    }

    /// Writes an arm, with the value that it is given under the name that it has there alone.
    fn arm(
        &mut self,
        arm: Arm<'_>,
        given: &str,
        exchange: &Exchange,
        (is_tail, span): (bool, Span),
    ) -> Result<()> {
        self.scope.names.enter();
        if let Some(name) = arm.name {
            let own = self.scope.names.declare(&name);
            self.out.line(&format!("let {own} = {given}"), span);
            self.scope.signs.insert(own, Sign::of(&exchange.shape));
        }
        match arm.part {
            Part::Nothing => {}
            Part::Break => self.out.unplaced("break"),
            Part::Block(block) => self.block(block, is_tail)?,
            Part::Expression(body) => match bare(body) {
                Expr::Tuple(unit) if unit.elems.is_empty() => {}
                _ => self.tail_or_statement(body, is_tail)?,
            },
        }
        self.scope.names.leave();
        Ok(())
    }

    /// A local of ours that holds a value of an atomic.
    fn bind(&mut self, text: &str, name: &str, exchange: &Exchange, span: Span) -> String {
        let own = self.scope.names.fresh(name);
        let kind = match &exchange.shape {
            shape @ (Shape::Node(_) | Shape::Tagged(_) | Shape::MaybeValue) => {
                format!(": {}", shape.text())
            }
            _ => String::new(),
        };
        self.out.line(&format!("let {own}{kind} = {text}"), span);
        own
    }

    /// Writes an exchange whose failure is a load, up to the block for its success, and gives the
    /// name of what was loaded.
    fn exchange_or_load(&mut self, exchange: &Exchange, span: Span) -> String {
        let Exchange { place, old, failure, is_weak, .. } = exchange;
        let now = self.bind(old, "now", exchange, span);
        let won = self.scope.names.fresh("won");
        self.out.unplaced(&format!("let {won} = false"));
        self.out.open_unplaced("choose {");
        // Where it fails here, nothing comes after it: how does not matter.
        let succeeding = Exchange { failure: "relaxed".to_owned(), ..exchange.clone() };
        self.out.line(&format!("{won} = {}", succeeding.text()), span);
        self.out.unplaced(&format!("assume {won}"));
        self.out.turn("or");
        self.out.line(&format!("{now} = load({place}, {failure})"), span);
        if !is_weak {
            self.out.unplaced(&format!("assume {now} != {old}"));
        }
        self.out.close();
        self.out.open_unplaced(&format!("if {won} {{"));
        now
    }
}

/// `Ok` or `Err`, and the name of what is inside.
fn outcome(pattern: &Pat) -> Option<(String, Option<String>)> {
    let Pat::TupleStruct(tuple) = pattern else { return None };
    let which = tuple.path.get_ident()?.to_string();
    if !matches!(which.as_str(), "Ok" | "Err") || tuple.elems.len() != 1 {
        return None;
    }
    match &tuple.elems[0] {
        Pat::Wild(_) => Some((which, None)),
        Pat::Ident(ident) if ident.subpat.is_none() => Some((which, Some(ident.ident.to_string()))),
        _ => None,
    }
}
