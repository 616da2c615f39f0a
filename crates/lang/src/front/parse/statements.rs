//! Statements and blocks. A statement ends where its grammar ends; `;` is optional.

use super::{Parsed, Parser};
use crate::front::ast::*;
use crate::front::diagnostic::Diagnostic;
use crate::front::lexer::TokenKind;

impl Parser<'_> {
    pub(super) fn block(&mut self) -> Parsed<Block> {
        self.nested(|p| {
            p.expect("{")?;
            let mut body = Vec::new();
            while p.eat(";") {}
            while !p.eat("}") {
                if p.peek().kind == TokenKind::End {
                    return Err(p.unexpected("`}`"));
                }
                body.push(p.statement()?);
                while p.eat(";") {}
            }
            Ok(body)
        })
    }

    fn statement(&mut self) -> Parsed<Stmt> {
        let mut lin = Vec::new();
        while self.is("@") {
            lin.push(self.annotation()?);
        }
        let start = self.peek().span;
        let kind = self.statement_kind()?;
        Ok(Stmt { kind, span: start.to(self.previous_span()), lin })
    }

    fn annotation(&mut self) -> Parsed<Lin> {
        let start = self.expect("@")?;
        if !self.is("lin") {
            return Err(self.unexpected("`lin`").hint("the only annotation is `@lin`"));
        }
        self.bump();
        let mut lin = Lin { cond: None, help: None, span: start };
        if self.is("(") && self.peek().breaks == 0 {
            self.bump();
            if self.is("help") && self.peek_after(1).text != ")" {
                self.bump();
                lin.help = Some(self.expr()?);
                if self.eat(",") {
                    lin.cond = Some(self.expr()?);
                }
            } else {
                lin.cond = Some(self.expr()?);
            }
            self.expect(")")?;
        }
        lin.span = start.to(self.previous_span());
        Ok(lin)
    }

    fn statement_kind(&mut self) -> Parsed<StmtKind> {
        let token = self.peek();
        if token.kind == TokenKind::Label {
            return self.labelled();
        }
        match token.text {
            "let" => self.let_statement(),
            "if" => self.if_statement(),
            "while" | "loop" => self.loop_statement(None),
            "for" => {
                self.bump();
                let binding = Binding { name: self.name("a name")?, id: self.fresh() };
                self.expect("in")?;
                let collection = self.expr()?;
                Ok(StmtKind::For(binding, collection, self.block()?))
            }
            "repeat" => {
                self.bump();
                let count = self.expr()?;
                Ok(StmtKind::Repeat(count, self.block()?))
            }
            "break" => {
                self.bump();
                Ok(StmtKind::Break(self.optional_label()))
            }
            "continue" => {
                self.bump();
                Ok(StmtKind::Continue(self.optional_label()))
            }
            "return" => self.return_statement(),
            "atomic" => {
                self.bump();
                Ok(StmtKind::Atomic(self.block()?))
            }
            "choose" => self.choose_statement(),
            "or" => Err(Diagnostic::new(token.span, "`or` stands inside of `choose`")
                .hint("the branches share one pair of braces: `choose { … or … }`")),
            "assume" | "await" => {
                self.bump();
                Ok(StmtKind::Assume(self.expr()?))
            }
            "assert" => {
                self.bump();
                Ok(StmtKind::Assert(self.expr()?))
            }
            _ => self.expression_statement(),
        }
    }

    fn labelled(&mut self) -> Parsed<StmtKind> {
        let token = self.bump();
        let label = Name { text: token.text.to_string(), span: token.span };
        self.expect(":")?;
        if !self.is("loop") && !self.is("while") {
            return Err(self.unexpected("`loop` or `while` after the label"));
        }
        self.loop_statement(Some(label))
    }

    fn optional_label(&mut self) -> Option<Name> {
        let token = self.peek();
        if token.kind != TokenKind::Label || token.breaks > 0 {
            return None;
        }
        self.bump();
        Some(Name { text: token.text.to_string(), span: token.span })
    }

    fn let_statement(&mut self) -> Parsed<StmtKind> {
        self.expect("let")?;
        let pattern = if self.eat("(") {
            let parts = self.list(")", |p| {
                if p.eat("_") {
                    return Ok(None);
                }
                Ok(Some(Binding { name: p.name("a name or `_`")?, id: p.fresh() }))
            })?;
            Pattern::Tuple(parts)
        } else {
            Pattern::Bind(Binding { name: self.name("a name")?, id: self.fresh() })
        };
        let ty = if self.eat(":") { Some(self.type_expr()?) } else { None };
        self.expect("=")?;
        Ok(StmtKind::Let(pattern, ty, self.expr()?))
    }

    fn if_statement(&mut self) -> Parsed<StmtKind> {
        self.nested(|p| {
            p.expect("if")?;
            let cond = p.expr()?;
            let then = p.block()?;
            let mut otherwise = Vec::new();
            if p.eat("else") {
                if p.is("if") {
                    let start = p.peek().span;
                    let kind = p.if_statement()?;
                    let span = start.to(p.previous_span());
                    otherwise.push(Stmt { kind, span, lin: vec![] });
                } else {
                    otherwise = p.block()?;
                }
            }
            Ok(StmtKind::If(cond, then, otherwise))
        })
    }

    fn loop_statement(&mut self, label: Option<Name>) -> Parsed<StmtKind> {
        if self.eat("loop") {
            return Ok(StmtKind::Loop(label, self.block()?));
        }
        self.expect("while")?;
        let cond = self.expr()?;
        Ok(StmtKind::While(label, cond, self.block()?))
    }

    fn return_statement(&mut self) -> Parsed<StmtKind> {
        self.expect("return")?;
        let next = self.peek();
        let bare =
            next.breaks > 0 || matches!(next.text, "}" | ";" | "or") || next.kind == TokenKind::End;
        if bare {
            return Ok(StmtKind::Return(None));
        }
        Ok(StmtKind::Return(Some(self.expr()?)))
    }

    fn choose_statement(&mut self) -> Parsed<StmtKind> {
        self.nested(|p| {
            p.expect("choose")?;
            p.expect("{")?;
            let mut branches = vec![Vec::new()];
            while !p.eat("}") {
                if p.peek().kind == TokenKind::End {
                    return Err(p.unexpected("`}`"));
                }
                if p.eat("or") {
                    branches.push(Vec::new());
                    continue;
                }
                let statement = p.statement()?;
                branches.last_mut().into_iter().for_each(|b| b.push(statement.clone()));
                while p.eat(";") {}
            }
            Ok(StmtKind::Choose(branches))
        })
    }

    fn expression_statement(&mut self) -> Parsed<StmtKind> {
        let start = self.peek().span;
        if self.eat("_") {
            self.expect("=")?;
            return Ok(StmtKind::Assign(vec![None], self.expr()?));
        }
        if self.is("(")
            && let Some(targets) = self.tuple_targets()?
        {
            return Ok(StmtKind::Assign(targets, self.expr()?));
        }
        let target = self.expr()?;
        if self.eat("=") {
            return Ok(StmtKind::Assign(vec![Some(target)], self.expr()?));
        }
        if !matches!(target.kind, ExprKind::Call(..)) {
            let span = start.to(self.previous_span());
            return Err(Diagnostic::new(span, "this expression does nothing")
                .label("neither an assignment nor a call")
                .hint("assign it, call something, or delete it"));
        }
        Ok(StmtKind::Expr(target))
    }

    /// `(a, _, b.c) =`, or `None` (with nothing consumed) if it is something else.
    fn tuple_targets(&mut self) -> Parsed<Option<Vec<Option<Expr>>>> {
        let (at, id) = (self.at, self.next_id);
        self.expect("(")?;
        let targets = self.list(")", |p| if p.eat("_") { Ok(None) } else { p.expr().map(Some) })?;
        if targets.len() > 1 && self.eat("=") {
            return Ok(Some(targets));
        }
        (self.at, self.next_id) = (at, id);
        Ok(None)
    }
}
