//! `Sources`: who names whom, both ways.

use crate::entity::Entity;
use crate::index::lists::Lists;
use crate::index::relationship::by_target::ByTarget;
use crate::sync::geometry::SLOTS;

/// Sources by their targets. The placeholder is the target of those that name nobody.
// Not generic, so that it is compiled once, with what it calls, and not in each program by itself.
#[derive(Debug)]
pub(super) struct Sources(Lists<Entity, ByTarget>);

impl Sources {
    pub(super) fn new() -> Self {
        Self(Lists::new(ByTarget::new()))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whom a source names.
    pub(super) fn target(&self, source: Entity) -> Option<Entity> {
        self.0.key(source).copied()
    }

    /// Who names a target, in the order of handles.
    pub(super) fn of(&self, target: Entity) -> &[Entity] {
        self.0.entities(&target)
    }

    /// Each target that is named, with who names it, in the order of handles.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Entity, &[Entity])> {
        let targets = self.0.finder().iter();
        targets.map(|(target, list)| (target, self.0.get(list)))
    }

    /// Notes whom a source names.
    pub(super) fn set(&mut self, source: Entity, target: Entity) {
        // A handle that no entity can have names nobody.
        let is_slot = target.index() < SLOTS;
        let target = if is_slot { target } else { Entity::PLACEHOLDER };
        self.0.set(source, &target);
    }

    /// Forgets a source, if it is one.
    pub(super) fn remove(&mut self, source: Entity) {
        self.0.remove(source);
    }

    pub(super) fn settle(&mut self) {
        self.0.settle();
    }
}
