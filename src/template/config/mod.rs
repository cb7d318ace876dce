//! Entity configs: TOML files that say which traits, with which parameters, a kind of entity has.
//!
//! One file is one config; what stands in it is said [where users look](TemplateRegistry#files).
//!
//! A text goes through four steps: [`config`] parses it and lets its traits [read](reader) their
//! parameters, [`family`] looks at parents and doubles among all configs, [`rehearse`](registry)
//! builds each template once on trial, and then the registry takes over all of them, or none.

mod changes;
#[expect(clippy::module_inception, reason = "the noun of the room")]
mod config;
mod depth;
mod family;
mod generations;
mod lines;
mod reader;
mod registry;
mod source;
mod state;
mod trait_registry;

pub use changes::ConfigChanges;
pub use registry::TemplateRegistry;
pub use trait_registry::TraitRegistry;
