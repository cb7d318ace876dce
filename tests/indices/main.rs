//! Indices: who names whom, and who has which value, beside naive ones that are made anew each time.

#![cfg(feature = "world")]
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters as users do"
)]

mod descend;
mod history;
mod log;
mod naive;
mod trees;
mod values;

use megachunk::index::Relationship;
use megachunk::prelude::*;

#[derive(Clone, Copy)]
#[repr(transparent)]
struct ChildOf(Entity);

megachunk::plain!(ChildOf { 0 });

impl Relationship for ChildOf {
    fn target(&self) -> Entity {
        self.0
    }
}
