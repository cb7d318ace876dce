//! `Naive`: asks every entity anew.

use std::collections::{BTreeMap, BTreeSet};

use megachunk::index::RelationshipIndex;
use megachunk::prelude::*;

use crate::ChildOf;

/// Whom each source names, and who names each target.
pub(crate) struct Naive {
    targets: BTreeMap<Entity, Entity>,
    sources: BTreeMap<Entity, BTreeSet<Entity>>,
}

impl Naive {
    pub(crate) fn of(world: &World) -> Self {
        let mut this = Self {
            targets: BTreeMap::new(),
            sources: BTreeMap::new(),
        };
        // Switched off or not.
        let mut all = Query::<(Entity, &ChildOf)>::new(world).unwrap();
        all.read(world).for_each_chunk(|_, (entities, values)| {
            for (&entity, &ChildOf(target)) in entities.iter().zip(values) {
                this.targets.insert(entity, target);
                this.sources.entry(target).or_default().insert(entity);
            }
        });
        this
    }

    /// All that are below an entity, each after the one that it names.
    fn below(&self, start: Entity) -> Vec<Entity> {
        let mut found = vec![start];
        let mut at = 0;
        while at < found.len() {
            let sources = self.sources.get(&found[at]).into_iter().flatten();
            found.extend(sources.filter(|source| **source != start));
            at += 1;
        }
        found.split_off(1)
    }

    /// Panics if the index says something else.
    pub(crate) fn compare(&self, index: &RelationshipIndex<ChildOf>, worlds: &[World; 2]) {
        let nobody = Entity::PLACEHOLDER;
        assert_eq!(index.len(), self.targets.len());
        assert_eq!(index.is_empty(), self.targets.is_empty());
        for (&source, &target) in &self.targets {
            assert_eq!(index.target(source), Some(target));
        }
        let said: BTreeMap<Entity, Vec<Entity>> = (index.iter())
            .map(|(target, sources)| (target, sources.to_vec()))
            .collect();
        assert!(index.iter().map(|(target, _)| target).is_sorted());
        let known = self.sources.iter().filter(|(target, _)| **target != nobody);
        let expected = known.map(|(&target, all)| (target, all.iter().copied().collect()));
        assert_eq!(said, expected.collect());
        let of_nobody = self.sources.get(&nobody).into_iter().flatten();
        assert!(index.sources(nobody).iter().eq(of_nobody));
        let roots: BTreeSet<Entity> = index.roots().collect();
        let names_nobody = |target: &Entity| {
            let above = self.targets.get(target);
            above.is_none_or(|above| *above == nobody)
        };
        let expected = said.keys().copied().filter(names_nobody);
        assert_eq!(roots, expected.collect());
        for &target in said.keys().take(20) {
            let below: Vec<Entity> = index.descendants(target).collect();
            assert_eq!(below, self.below(target));
            let above: Vec<Entity> = index.ancestors(target).collect();
            let mut expected = Vec::new();
            let mut of = target;
            while let Some(&next) = self.targets.get(&of)
                && next != nobody
                && next != target
                && expected.len() < self.targets.len()
            {
                expected.push(next);
                of = next;
            }
            assert_eq!(above, expected);
        }
        let orphans: BTreeSet<Entity> = index.orphans().collect();
        let exists = |entity: Entity| worlds.iter().any(|world| world.exists(entity));
        let expected = (self.targets.iter())
            .filter(|&(_, &target)| target != nobody && !exists(target))
            .map(|(&source, _)| source);
        assert_eq!(orphans, expected.collect());
    }
}
