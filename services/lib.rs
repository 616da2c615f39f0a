//! Models of services, as text: what a sequential etcd, a log with offsets, a lock with a lease
//! would answer.

#![forbid(unsafe_code)]

/// The model of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// Its name: `etcd`.
    pub name: &'static str,
    /// Its text in the algorithm language: one specification.
    pub source: &'static str,
}

static SERVICES: [Service; 14] = [
    Service { name: "accounts", source: include_str!("accounts.seri") },
    Service { name: "ack-queue", source: include_str!("ack_queue.seri") },
    Service { name: "dynamo", source: include_str!("dynamo.seri") },
    Service { name: "etcd", source: include_str!("etcd.seri") },
    Service { name: "etcd-history", source: include_str!("etcd_history.seri") },
    Service { name: "etcd-txn", source: include_str!("etcd_txn.seri") },
    Service { name: "fenced-log", source: include_str!("fenced_log.seri") },
    Service { name: "lease-lock", source: include_str!("lease_lock.seri") },
    Service { name: "object-store", source: include_str!("object_store.seri") },
    Service { name: "redis", source: include_str!("redis.seri") },
    Service { name: "s2", source: include_str!("s2.seri") },
    Service { name: "set-full", source: include_str!("set_full.seri") },
    Service { name: "zookeeper", source: include_str!("zookeeper.seri") },
    Service { name: "zookeeper-zxid", source: include_str!("zookeeper_zxid.seri") },
];

impl Service {
    /// What it is: the first line of its opening comment.
    pub fn summary(&self) -> &'static str {
        let first = self.source.lines().next().unwrap_or_default();
        first.trim_start_matches("//").trim()
    }
}

/// All services, by name.
///
/// ```
/// assert!(seriatim_services::services().any(|service| service.name == "etcd"));
/// ```
pub fn services() -> impl Iterator<Item = Service> {
    SERVICES.iter().copied()
}

/// The service of a name.
///
/// ```
/// assert!(seriatim_services::service("etcd").is_some());
/// ```
pub fn service(name: &str) -> Option<Service> {
    services().find(|service| service.name == name)
}
