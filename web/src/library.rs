//! What is built in: specifications, isolation levels, maps and algorithms.

use serde::Serialize;
use seriatim::levels::PER_KEY;
use seriatim::map::ready_maps;
use seriatim::spec::catalogue;
use seriatim::transactions::Level;
use seriatim_services::services;

/// All of it.
#[derive(Serialize)]
pub struct Library {
    version: &'static str,
    specs: Vec<Spec>,
    services: Vec<Spec>,
    levels: Vec<&'static str>,
    maps: Vec<ReadyMap>,
    algorithms: Vec<Algorithm>,
}

#[derive(Serialize)]
struct Spec {
    name: &'static str,
    meaning: &'static str,
}

/// A map for a known format, to be used or to start one's own from.
#[derive(Serialize)]
struct ReadyMap {
    name: &'static str,
    text: &'static str,
}

#[derive(Serialize)]
struct Algorithm {
    name: &'static str,
    meaning: &'static str,
    source: &'static str,
}

/// What is built in.
pub fn library() -> Library {
    let specs = catalogue().map(|entry| Spec { name: entry.name, meaning: entry.meaning });
    let services =
        services().map(|service| Spec { name: service.name, meaning: service.summary() });
    let algorithms = seriatim::algorithms().map(|algorithm| Algorithm {
        name: algorithm.name,
        meaning: algorithm.summary(),
        source: algorithm.source,
    });
    Library {
        version: env!("CARGO_PKG_VERSION"),
        specs: specs.collect(),
        services: services.collect(),
        levels: Level::ALL.iter().map(|level| level.name()).chain([PER_KEY]).collect(),
        maps: ready_maps().map(|map| ReadyMap { name: map.name, text: map.text }).collect(),
        algorithms: algorithms.collect(),
    }
}
