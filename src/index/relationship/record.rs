//! What processors record of trees: that whole ones are destroyed.

use crate::command::Commands;
use crate::entity::Entity;
use crate::index::relationship::{Relationship, RelationshipIndex};

impl<R: Relationship> RelationshipIndex<R> {
    /// Records that an entity and all its [descendants](Self::descendants) are destroyed, those who live, each after the
    /// one that it names; how many. So goes a whole tree in the middle of a frame, by any processor that has the index,
    /// without an exclusive one. O(descendants).
    ///
    /// The index says who they are as it was when it was updated last. Who has come to hang on one of them since is an
    /// [orphan](Self::orphans) then, and goes with those.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct ChildOf(Entity);
    ///
    /// impl Relationship for ChildOf {
    ///     fn target(&self) -> Entity {
    ///         self.0
    ///     }
    /// }
    ///
    /// let mut world = World::new();
    /// let parent = world.create(())?;
    /// let child = world.create((ChildOf(parent),))?;
    /// let mut children = RelationshipIndex::<ChildOf>::new(&world)?;
    /// children.update(&world);
    /// let mut commands = world.commands();
    /// assert_eq!(children.record_tree(&mut commands, parent), 2);
    /// drop(commands);
    /// assert_eq!(world.flush().destroyed, 2);
    /// assert!(!world.exists(child));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Who lives in another world is recorded as well, and [refused](crate::command::FlushReport::refused) by the flush.
    #[doc(alias = "despawn_recursive")]
    pub fn record_tree(&self, commands: &mut Commands<'_>, root: Entity) -> usize {
        let all = core::iter::once(root).chain(self.descendants(root));
        record(commands, all)
    }

    /// Records that all [orphans](Self::orphans) are destroyed, with their descendants: what
    /// [`destroy_orphans`](Self::destroy_orphans) does, by an ordinary processor, which no barrier keeps from running
    /// beside others. How many; each once. O(slots of targets), by blocks of 1,024, a look-up for each target, and
    /// O(n log n) for `n` that go.
    ///
    /// Once a frame, behind the processor that [updates](Self::update_from) the index: then what hangs on somebody who died
    /// before goes with the next flush, and all below it. In the order of handles. (Who has come to hang on somebody else
    /// since the update goes all the same: let nobody change whom others name in between.)
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct ChildOf(Entity);
    ///
    /// impl Relationship for ChildOf {
    ///     fn target(&self) -> Entity {
    ///         self.0
    ///     }
    /// }
    ///
    /// type Children = RelationshipIndex<ChildOf>;
    ///
    /// let mut world = World::new();
    /// let parent = world.create(())?;
    /// let child = world.create((ChildOf(parent),))?;
    /// let grandchild = world.create((ChildOf(child),))?;
    /// let children = Children::new(&world)?;
    /// world.resources_mut().insert(children);
    /// let mut schedule = Schedule::new();
    /// schedule
    ///     .add(processor("children", |children: &mut Children, run: QueryRun<(Entity, &ChildOf)>| {
    ///         children.update_from(&run);
    ///     }))
    ///     .add(
    ///         processor("orphans", |children: &Children, mut commands: Commands| {
    ///             children.record_orphans(&mut commands);
    ///         })
    ///         .after("children"),
    ///     );
    /// // Whoever destroys it, and however.
    /// world.commands().destroy(parent);
    /// world.flush();
    /// schedule.run(&mut world)?;
    /// assert!(!world.exists(child) && !world.exists(grandchild));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn record_orphans(&self, commands: &mut Commands<'_>) -> usize {
        let mut all: Vec<Entity> = self.orphans().collect();
        let mut at = 0;
        // Who names one that has died since the update is an orphan, and there already. So each comes once: it names one.
        while let Some(&entity) = all.get(at) {
            if commands.exists(entity) {
                all.extend(self.sources(entity));
            }
            at += 1;
        }
        all.sort_unstable();
        all.dedup();
        record(commands, all.into_iter())
    }
}

/// Records that those who live are destroyed; how many.
fn record(commands: &mut Commands<'_>, all: impl Iterator<Item = Entity>) -> usize {
    let mut count = 0;
    for entity in all {
        if commands.exists(entity) {
            commands.destroy(entity);
            count += 1;
        }
    }
    count
}
