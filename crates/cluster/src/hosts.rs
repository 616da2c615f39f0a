//! The addresses of the processes of a cluster: a file with one `host:port` a line.
//!
//! What travels between the processes is not encrypted: whoever is on the way can read it. So
//! addresses must be of the loopback interface, unless the caller says that the network may be
//! used.

use seriatim_history::Outside;
use std::net::ToSocketAddrs;

/// Whether addresses may be of other machines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// This machine only.
    Loopback,
    /// Any network that the addresses name.
    Network,
}

/// The addresses that a text holds; blank lines and lines that begin with `#` do not count.
///
/// ```
/// use seriatim_cluster::hosts::{Reach, parse};
/// let hosts = parse("# two processes\n127.0.0.1:4001\n127.0.0.1:4002\n", Reach::Loopback);
/// assert_eq!(hosts.unwrap().len(), 2);
/// assert!(parse("192.0.2.1:4001\n", Reach::Loopback).unwrap_err().contains("line 1"));
/// ```
pub fn parse(text: &str, reach: Reach) -> Result<Vec<String>, String> {
    let mut addresses = Vec::new();
    for (line, number) in text.lines().map(str::trim).zip(1..) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let unresolved = |reason: String| {
            format!("line {number}: expected host:port, found `{}` ({reason})", Outside(line))
        };
        let resolved: Vec<_> =
            line.to_socket_addrs().map_err(|error| unresolved(error.to_string()))?.collect();
        if reach == Reach::Loopback && !resolved.iter().all(|address| address.ip().is_loopback()) {
            return Err(format!(
                "line {number}: {} is not of this machine; what travels is not encrypted, so this \
                 must be allowed with --open-network",
                Outside(line)
            ));
        }
        addresses.push(line.to_owned());
    }
    match addresses.is_empty() {
        true => Err("expected an address a line, as in 127.0.0.1:4001".to_owned()),
        false => Ok(addresses),
    }
}
