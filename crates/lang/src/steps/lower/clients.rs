//! Clients: what the threads call. The most general client calls any method with any arguments, for
//! ever.

use super::{Lower, Lowered};
use crate::front::ast::*;
use crate::front::diagnostic::Diagnostic;
use crate::front::program::*;
use crate::front::span::Span;
use crate::steps::*;

impl Lower<'_> {
    pub(super) fn clients(&mut self, client: Option<&str>) -> Lowered<Vec<ThreadCode>> {
        self.in_client = true;
        let chosen = match client {
            None => None,
            Some(name) => Some(self.find_client(name)?),
        };
        let threads = match chosen {
            None => {
                let entry = self.most_general()?;
                vec![ThreadCode { entry, role: 0 }; self.threads as usize]
            }
            Some(client) => self.roles(&client)?,
        };
        self.in_client = false;
        self.locals.clear();
        Ok(threads)
    }

    fn find_client(&self, name: &str) -> Lowered<ClientInfo> {
        let found = self.program.clients.iter().find(|c| c.name == name);
        found.cloned().ok_or_else(|| {
            let known: Vec<_> = self.program.clients.iter().map(|c| c.name.as_str()).collect();
            Diagnostic::new(Span::default(), format!("there is no client `{name}`"))
                .hint(format!("the clients are: {}", known.join(", ")))
        })
    }

    fn most_general(&mut self) -> Lowered<Pc> {
        let entry = self.here();
        let again = self.label();
        self.place_label(again);
        let starts: Vec<_> = self.program.methods.iter().map(|_| self.label()).collect();
        self.emit(Op::Choose(starts.iter().map(|l| Pc(l.0)).collect()))?;
        for (index, method) in self.program.methods.iter().enumerate() {
            self.place_label(starts[index]);
            let mut args = Vec::new();
            for param in &method.params {
                let reg = self.registers(&param.name, &param.ty);
                for (i, kind) in self.kinds(&param.ty).into_iter().enumerate() {
                    let dst = Reg(reg.0 + i as u32);
                    self.emit(Op::Any { dst, kind })?;
                    args.push(Ex::Reg(dst));
                }
            }
            self.emit(Op::Invoke { method: index as u32, args, dst: None })?;
            self.jump(again)?;
        }
        Ok(entry)
    }

    fn roles(&mut self, client: &ClientInfo) -> Lowered<Vec<ThreadCode>> {
        let fixed: u32 = client.roles.iter().filter_map(|r| r.count).sum();
        let open = client.roles.iter().any(|r| r.count.is_none());
        if fixed > self.threads || (!open && fixed != self.threads) {
            let message = format!("the client `{}` has {fixed} threads", client.name);
            return Err(Diagnostic::new(Span::default(), message)
                .hint(format!("explore with threads: {fixed}")));
        }
        let mut threads = Vec::new();
        for (role, info) in client.roles.iter().enumerate() {
            let entry = self.here();
            self.block(&info.body)?;
            self.emit(Op::End)?;
            let count = info.count.unwrap_or(self.threads - fixed);
            let code = ThreadCode { entry, role: role as u32 };
            threads.extend((0..count).map(|_| code));
        }
        threads.truncate(self.threads as usize);
        Ok(threads)
    }

    /// The client calls a method.
    pub(super) fn invoke(
        &mut self,
        expr: &Expr,
        method: u32,
        args: &[Expr],
        dst: Option<Reg>,
    ) -> Lowered<()> {
        let info = &self.program.methods[method as usize];
        let mut values = Vec::new();
        for (arg, param) in args.iter().zip(&info.params) {
            values.extend(self.coerced(arg, &param.ty)?);
        }
        self.span = expr.span;
        self.emit(Op::Invoke { method, args: values, dst })
    }
}
