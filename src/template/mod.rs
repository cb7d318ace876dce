//! The template room: what a kind of entity is made of, said once, part by part.
//!
//! An [`EntityTrait`] is a part: it says to a [`BuildContext`] which fragments, tags, chunk and shared fragments
//! with which values an entity has that has the trait. A [`Template`] is what several traits have built together:
//! an archetype and initial values, of which any number of entities can be made. A [`TemplateBuilder`] puts traits
//! together in code.
#![cfg_attr(
    feature = "config",
    doc = "Files do it with the feature `config`: a [`TemplateRegistry`] loads, checks and reloads them. [What stands in
such a file](TemplateRegistry#files) is said there."
)]
#![cfg_attr(
    not(feature = "config"),
    doc = "Files do it with the feature `config`, which has a `TemplateRegistry`."
)]
//!
//! A [`Spawner`](spawner::Spawner) makes many of several kinds at once.
//!
//! Who inherits replaces: traits of the parents come first, and a trait of a child takes the place of its
//! parent's of the same class.

mod builder;
#[cfg(feature = "config")]
mod config;
mod context;
mod entity_trait;
mod error;
mod fault;
mod member;
mod parts;
pub mod spawner;
#[expect(clippy::module_inception, reason = "the noun of the room")]
mod template;
mod trait_error;

pub use builder::TemplateBuilder;
#[cfg(feature = "config")]
pub use config::{ConfigChanges, TemplateRegistry, TraitRegistry};
pub use context::BuildContext;
pub use entity_trait::EntityTrait;
pub use error::{ConfigPlace, TemplateError, TemplateErrors};
pub use fault::TemplateFault;
pub use template::Template;
pub use trait_error::TraitError;
