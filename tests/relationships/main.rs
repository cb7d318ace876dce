//! Relationships: who names whom, beside a naive index that is made anew each time.
#![expect(
    elided_lifetimes_in_paths,
    reason = "closures name their parameters as users do"
)]

mod history;
mod naive;
mod trees;

use megachunk::prelude::*;
use megachunk::relationship::Relationship;

#[derive(Clone, Copy)]
#[repr(transparent)]
struct ChildOf(Entity);

megachunk::plain!(ChildOf { 0 });

impl Relationship for ChildOf {
    fn target(&self) -> Entity {
        self.0
    }
}
