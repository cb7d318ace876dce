//! What a recorder leaves to the flush: closures, and what is asked for when their turn comes.

use crate::command::Commands;
use crate::command::lane::Called;
use crate::entity::Entity;
use crate::query::{DynamicFilter, DynamicQuery, QueryError, QueryFilter, Requirements};
use crate::world::{World, WorldError};

impl Commands<'_> {
    /// Records that a closure gets the world, after all commands before and before all after. It may
    /// record commands, and even flush, also by running a schedule: sixteen flushes deep, the outermost among them. One that
    /// would lie deeper does nothing and says that it is [unfinished](crate::command::FlushReport::unfinished), and from then on so
    /// does every other flush inside the outermost one; those under way do what they have in hand and leave the rest to the
    /// next one.
    /// (If it puts another world in the place of its own, what was to come after it is dropped.)
    ///
    /// What a flush merges and shares out among threads ends before a closure and begins anew behind it: closures are
    /// better recorded one after the other than each between other commands.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let mut commands = world.commands();
    /// let queen = commands.create((1_u8,))?;
    /// // Entities are named by the world.
    /// commands.defer(move |world| {
    ///     world.set_name(queen, "queen").expect("it was created before");
    /// });
    /// drop(commands);
    /// world.flush();
    /// assert_eq!(world.find_by_name("queen"), Some(queen));
    /// # Ok::<(), WorldError>(())
    /// ```
    pub fn defer(&mut self, run: impl FnOnce(&mut World) + Send + 'static) {
        self.lane.call(|world: &mut World| {
            run(world);
            Called::Closure
        });
    }

    /// The same of a closure that can be refused, which the flush reports then.
    pub(crate) fn defer_checked(
        &mut self,
        run: impl FnOnce(&mut World) -> Result<(), WorldError> + Send + 'static,
    ) {
        self.lane.call(|world: &mut World| match run(world) {
            Ok(()) => Called::Closure,
            Err(error) => Called::Refused(Entity::PLACEHOLDER, error),
        });
    }

    /// Records that all entities are destroyed which a filter matches when its turn comes: after all commands before, so
    /// that what these change counts, and before all after. It is what
    /// [`World::matching`]`::<Filter>()?.`[`destroy`](crate::query::QueryChange::destroy)`()` is then, as a
    /// [closure](Self::defer): of that kind they say what it costs. All has [changed](crate::query::Changed) to it. Entities that
    /// recorders create live at once, and those that a flush has begun with are matched, also where they were recorded
    /// behind this.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Bullet;
    /// struct Wall;
    ///
    /// let mut world = World::new();
    /// let _ = world.create_batch((0..100).map(|n| (Bullet, n as f32)))?;
    /// world.create((Wall,))?;
    /// let mut commands = world.commands();
    /// commands.destroy_matching::<With<Bullet>>()?;
    /// drop(commands);
    /// assert_eq!(world.flush().destroyed, 100);
    /// assert_eq!(world.count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Query::new`](crate::query::Query::new), at once; then nothing is recorded.
    #[doc(alias = "despawn")]
    #[doc(alias = "DestroyEntity")]
    pub fn destroy_matching<Filter: QueryFilter + 'static>(&mut self) -> Result<(), QueryError> {
        Requirements::of_filter::<Filter>(self.lane.universe.registry())?;
        self.lane.call(|world| match world.matching::<Filter>() {
            Ok(matching) => Called::Destroyed(matching.destroy()),
            Err(error) => Called::Refused(Entity::PLACEHOLDER, error.into()),
        });
        Ok(())
    }

    /// The same of a filter that is put together at run time: [`DynamicQuery::change`](crate::query::DynamicQuery::change) and
    /// [`destroy`](crate::query::DynamicChange::destroy) when its turn comes. As [`destroy_matching`](Self::destroy_matching).
    ///
    /// ```
    /// use megachunk::prelude::*;
    /// use megachunk::query::DynamicFilter;
    ///
    /// let mut world = World::new();
    /// let bullet = world.registry().register::<u8>()?.id();
    /// let kept = world.registry().register::<char>()?.id();
    /// let _ = world.create_batch((0..100_u8).map(|n| (n,)))?;
    /// world.create((1_u8, 'k'))?;
    /// let mut commands = world.commands();
    /// commands.destroy_matching_dynamic(DynamicFilter::new().with(bullet).without(kept))?;
    /// drop(commands);
    /// assert_eq!(world.flush().destroyed, 100);
    /// assert_eq!(world.count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`FragmentError::Unknown`](crate::fragment::FragmentError::Unknown), or [`QueryError::Contradiction`], at once; then
    /// nothing is recorded.
    pub fn destroy_matching_dynamic(&mut self, filter: DynamicFilter) -> Result<(), QueryError> {
        let registry = self.lane.universe.registry();
        let requirements = filter.requirements(registry)?;
        requirements.check(registry)?;
        self.lane.call(move |world| {
            let mut query = DynamicQuery::asking(world, requirements);
            match query.change(world) {
                Ok(matching) => Called::Destroyed(matching.destroy()),
                Err(error) => Called::Refused(Entity::PLACEHOLDER, error.into()),
            }
        });
        Ok(())
    }
}
