//! Maps that are ready to be used, by name.

/// A ready map.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadyMap {
    /// Its name: `etcd-report`.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

const READY: [ReadyMap; 6] = [
    ReadyMap { name: "antithesis-csv", text: include_str!("../ready/antithesis-csv.toml") },
    ReadyMap { name: "elle", text: include_str!("../ready/elle.toml") },
    ReadyMap { name: "etcd-report", text: include_str!("../ready/etcd-report.toml") },
    ReadyMap { name: "jepsen-json", text: include_str!("../ready/jepsen-json.toml") },
    ReadyMap { name: "porcupine-json", text: include_str!("../ready/porcupine-json.toml") },
    ReadyMap { name: "s2", text: include_str!("../ready/s2.toml") },
];

/// All ready maps, by name.
///
/// ```
/// for ready in seriatim_map::ready_maps() {
///     assert!(seriatim_map::Map::parse(ready.name, ready.text).is_ok());
/// }
/// ```
pub fn ready_maps() -> impl Iterator<Item = ReadyMap> {
    READY.into_iter()
}

/// The ready map of a name.
pub fn ready_map(name: &str) -> Option<ReadyMap> {
    ready_maps().find(|ready| ready.name == name)
}
