//! Expressions, by precedence: `||`, `&&`, comparison and `in`, `++`, `+ -`, `* / %`, prefix,
//! postfix. A call's `(` and an index's `[` stand on the line of what they apply to, since
//! statements need no `;`.

use super::{Parsed, Parser};
use crate::front::ast::*;
use crate::front::diagnostic::Diagnostic;
use crate::front::lexer::TokenKind;
use crate::front::span::Span;

/// The operators of each level of precedence, weakest first.
const LEVELS: [&[(&str, BinaryOp)]; 6] = [
    &[("||", BinaryOp::Or)],
    &[("&&", BinaryOp::And)],
    &[
        ("==", BinaryOp::Eq),
        ("!=", BinaryOp::Ne),
        ("<=", BinaryOp::Le),
        (">=", BinaryOp::Ge),
        ("<", BinaryOp::Lt),
        (">", BinaryOp::Gt),
        ("in", BinaryOp::In),
    ],
    &[("++", BinaryOp::Concat)],
    &[("+", BinaryOp::Add), ("-", BinaryOp::Sub)],
    &[("*", BinaryOp::Mul), ("/", BinaryOp::Div), ("%", BinaryOp::Rem)],
];

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.nested(|p| p.level(0))
    }

    /// An expression in which only `+ - * / %` occur outside brackets.
    pub(super) fn sum(&mut self) -> Parsed<Expr> {
        self.nested(|p| p.level(4))
    }

    fn level(&mut self, level: usize) -> Parsed<Expr> {
        let Some(operators) = LEVELS.get(level) else { return self.prefix() };
        let mut left = self.level(level + 1)?;
        let mut count = 0;
        while let Some((_, op)) = operators.iter().find(|(text, _)| self.is(text)) {
            count += 1;
            if count > 40 {
                return Err(Diagnostic::new(self.peek().span, "this expression is too long"));
            }
            self.bump();
            let right = self.level(level + 1)?;
            let span = left.span.to(right.span);
            left = self.make(ExprKind::Binary(*op, Box::new(left), Box::new(right)), span);
        }
        Ok(left)
    }

    fn prefix(&mut self) -> Parsed<Expr> {
        let token = self.peek();
        if (token.text == "-" || token.text == "+") && self.peek_after(1).text == "inf" {
            self.bump();
            let end = self.bump().span;
            let kind = if token.text == "-" { ExprKind::MinusInf } else { ExprKind::PlusInf };
            return Ok(self.make(kind, token.span.to(end)));
        }
        let op = match token.text {
            "!" => UnaryOp::Not,
            "-" => UnaryOp::Neg,
            _ => return self.postfix(),
        };
        self.nested(|p| {
            p.bump();
            let operand = p.prefix()?;
            let span = token.span.to(operand.span);
            Ok(p.make(ExprKind::Unary(op, Box::new(operand)), span))
        })
    }

    fn postfix(&mut self) -> Parsed<Expr> {
        let mut expr = self.primary()?;
        for _ in 0..20 {
            if self.eat(".") {
                expr = self.member(expr)?;
            } else if self.is("[") && self.peek().breaks == 0 {
                expr = self.index(expr)?;
            } else {
                return Ok(expr);
            }
        }
        Err(Diagnostic::new(self.peek().span, "this expression is too long"))
    }

    fn member(&mut self, of: Expr) -> Parsed<Expr> {
        if self.peek().kind == TokenKind::Int {
            let part = self.small_number()? as u32;
            let span = of.span.to(self.previous_span());
            return Ok(self.make(ExprKind::Part(Box::new(of), part), span));
        }
        let field = self.name("a field or a number")?;
        let span = of.span.to(field.span);
        Ok(self.make(ExprKind::Field(Box::new(of), field), span))
    }

    fn index(&mut self, of: Expr) -> Parsed<Expr> {
        self.expect("[")?;
        let low = if self.is("..") { None } else { Some(Box::new(self.expr()?)) };
        let kind = if self.eat("..") {
            let high = if self.is("]") { None } else { Some(Box::new(self.expr()?)) };
            ExprKind::Slice(Box::new(of.clone()), low, high)
        } else {
            match low {
                Some(index) => ExprKind::Index(Box::new(of.clone()), index),
                None => return Err(self.unexpected("an index")),
            }
        };
        self.expect("]")?;
        let span = of.span.to(self.previous_span());
        Ok(self.make(kind, span))
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let token = self.peek();
        let start = token.span;
        if token.kind == TokenKind::Int {
            let number = self.number()?;
            return Ok(self.make(ExprKind::Int(number), start));
        }
        if token.kind == TokenKind::Text {
            self.bump();
            return Ok(self.make(ExprKind::Text(unquoted(token.text)), start));
        }
        let simple = match token.text {
            "true" => Some(ExprKind::Bool(true)),
            "false" => Some(ExprKind::Bool(false)),
            "null" | "empty" | "none" => Some(ExprKind::Null),
            "self" => Some(ExprKind::SelfTid),
            "any" => Some(ExprKind::Any),
            _ => None,
        };
        if let Some(kind) = simple {
            self.bump();
            return Ok(self.make(kind, start));
        }
        let kind = match token.text {
            "(" => return self.parenthesised(),
            "[" => self.bracketed()?,
            "{" => {
                self.bump();
                ExprKind::Set(self.list("}", |p| p.expr())?)
            }
            "new" => self.allocation()?,
            "if" => self.conditional()?,
            _ if token.kind == TokenKind::Word => self.named()?,
            _ => return Err(self.unexpected("an expression")),
        };
        let span = start.to(self.previous_span());
        Ok(self.make(kind, span))
    }

    fn parenthesised(&mut self) -> Parsed<Expr> {
        let start: Span = self.expect("(")?;
        let mut parts = self.list(")", |p| p.expr())?;
        let span = start.to(self.previous_span());
        match parts.len() {
            0 => Err(Diagnostic::new(span, "expected an expression between the brackets")),
            1 => Ok(parts.remove(0)),
            _ => Ok(self.make(ExprKind::Tuple(parts), span)),
        }
    }

    fn bracketed(&mut self) -> Parsed<ExprKind> {
        self.expect("[")?;
        if self.eat("]") {
            return Ok(ExprKind::List(vec![]));
        }
        let first = self.expr()?;
        if self.eat(";") {
            let count = self.expr()?;
            self.expect("]")?;
            return Ok(ExprKind::Fill(Box::new(first), Box::new(count)));
        }
        let mut parts = vec![first];
        if self.eat(",") {
            parts.extend(self.list("]", |p| p.expr())?);
        } else {
            self.expect("]")?;
        }
        Ok(ExprKind::List(parts))
    }

    fn allocation(&mut self) -> Parsed<ExprKind> {
        self.expect("new")?;
        let name = self.name("the name of a struct")?;
        let mut fields = Vec::new();
        if self.is("{") && self.peek().breaks == 0 {
            self.bump();
            fields = self.list("}", |p| {
                let field = p.name("a field")?;
                if p.eat(":") {
                    return Ok((field, p.expr()?));
                }
                let value = p.make(ExprKind::Name(field.text.clone()), field.span);
                Ok((field, value))
            })?;
        }
        Ok(ExprKind::New(name, fields))
    }

    fn conditional(&mut self) -> Parsed<ExprKind> {
        self.expect("if")?;
        let cond = self.expr()?;
        self.expect("{")?;
        let then = self.expr()?;
        self.expect("}")?;
        self.expect("else")?;
        if self.is("if") {
            let otherwise = self.expr()?;
            return Ok(ExprKind::If(Box::new(cond), Box::new(then), Box::new(otherwise)));
        }
        self.expect("{")?;
        let otherwise = self.expr()?;
        self.expect("}")?;
        Ok(ExprKind::If(Box::new(cond), Box::new(then), Box::new(otherwise)))
    }

    fn named(&mut self) -> Parsed<ExprKind> {
        let name = self.name("an expression")?;
        if self.is("(") && self.peek().breaks == 0 {
            self.bump();
            return Ok(ExprKind::Call(name, self.list(")", |p| p.expr())?));
        }
        Ok(ExprKind::Name(name.text))
    }
}

/// What a text in quotation marks says: a backslash stands before a letter that is meant as it is.
fn unquoted(quoted: &str) -> String {
    let mut said = String::new();
    let mut letters = quoted[1..quoted.len() - 1].chars();
    while let Some(letter) = letters.next() {
        match letter == '\\' {
            true => said.extend(letters.next()),
            false => said.push(letter),
        }
    }
    said
}
