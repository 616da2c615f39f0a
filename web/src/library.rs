//! What is built in: specifications and algorithms.

use serde::Serialize;
use seriatim::spec::catalogue;
use seriatim_services::services;

/// All of it.
#[derive(Serialize)]
pub struct Library {
    version: &'static str,
    specs: Vec<Spec>,
    services: Vec<Spec>,
    algorithms: Vec<Algorithm>,
}

#[derive(Serialize)]
struct Spec {
    name: &'static str,
    meaning: &'static str,
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
        algorithms: algorithms.collect(),
    }
}
