//! What a type is registered as, and what else is said of it.

use core::fmt::Debug;

#[cfg(not(loom))]
use crate::entity::EntityMap;
use crate::fragment::{
    Fragment, FragmentError, FragmentInfo, FragmentKind, FragmentRegistry, Plain, TypeInRole,
};
#[cfg(not(loom))]
use crate::panics::refused;

impl FragmentRegistry {
    /// The fragment of a type whose values can be cloned with their entity.
    ///
    /// # Errors
    /// [`FragmentError::TooMany`].
    pub fn register_clone<T: Fragment + Clone>(&self) -> Result<&FragmentInfo, FragmentError> {
        let info = self.register::<T>()?;
        info.set_clone::<T>();
        Ok(info)
    }

    /// The fragment of a type whose values name entities and are not plain, a list of handles for one: `map` changes the
    /// handles in a value to those that the entities [have become](EntityMap::get), wherever values are copied together with
    /// those that they name, in [groups](crate::world::Group). Any thread, at any time; the first function that is given
    /// stays. Values that are [plain](crate::fragment::Plain) are led over by what their type
    /// [says](crate::fragment::Plain::MAP_ENTITIES), if it says something, and else by this.
    ///
    /// A handle for which the map has no entry is another's, and stays. `map` may be called on any thread; if it panics,
    /// there is no copy.
    ///
    /// ```
    /// use megachunk::entity::{Entity, EntityMap};
    /// use megachunk::prelude::*;
    /// use megachunk::world::Group;
    ///
    /// #[derive(Clone)]
    /// struct Crew(Vec<Entity>);
    ///
    /// let mut world = World::new();
    /// world.registry().register_clone::<Crew>()?;
    /// world.registry().register_map_entities(|crew: &mut Crew, entities: &EntityMap| {
    ///     for who in &mut crew.0 {
    ///         *who = entities.get(*who).unwrap_or(*who);
    ///     }
    /// })?;
    /// let (cook, pilot) = (world.create(())?, world.create(())?);
    /// let ship = world.create((Crew(vec![pilot, cook]),))?;
    /// let group = Group::of(&world, &[ship, cook])?;
    /// let copy = world.create_groups(&group, 1)?;
    /// assert_eq!(world.get::<Crew>(copy[0])?.0, [pilot, copy[1]]);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// [`FragmentError::TooMany`].
    #[cfg(not(loom))]
    pub fn register_map_entities<T: Fragment>(
        &self,
        map: impl Fn(&mut T, &EntityMap) + Send + Sync + 'static,
    ) -> Result<&FragmentInfo, FragmentError> {
        let info = match self.register::<T>() {
            Ok(info) => info,
            Err(error) => return Err(refused(map, error)),
        };
        info.set_map(map);
        Ok(info)
    }

    /// A type in one of its [roles](TypeInRole) whose values whoever debugs can see, by their [`Debug`]: in [`World::describe`], the lines of an
    /// [`EntityView`](crate::world::EntityView), and what is [lent](crate::fragment::Values) of them. Any thread, at any
    /// time, also when there are values already; the first formatter that is given stays. It costs nothing until
    /// something is printed. Of a fragment that was defined at run time: [`show_plain_as`](Self::show_plain_as), or [in its definition](crate::fragment::FragmentDefinition::debug_value).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// #[derive(Debug)]
    /// struct Health { now: u32 }
    ///
    /// let mut world = World::new();
    /// let ant = world.create((Health { now: 7 },))?;
    /// let health = world.registry().register_debug::<Health>()?.id();
    /// assert!(format!("{:?}", world.get_dynamic(ant, health)?).ends_with("Health: Health { now: 7 }"));
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// [`World::describe`]: crate::world::World::describe
    ///
    /// # Errors
    /// [`FragmentError::TooMany`].
    #[doc(alias = "reflect")]
    pub fn register_debug<R: TypeInRole<Value: Debug>>(
        &self,
    ) -> Result<&FragmentInfo, FragmentError> {
        let info = self.register::<R>()?;
        info.set_debug::<R::Value>();
        Ok(info)
    }

    /// A type in one of its [roles](TypeInRole) whose values are plain data: they can be cloned, hashed and saved byte by
    /// byte.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let world = World::new();
    /// world.registry().register_plain::<u32>()?;
    /// world.registry().register_plain::<Shared<u32>>()?;
    /// world.registry().register_plain::<PerChunk<u32>>()?;
    /// # Ok::<(), FragmentError>(())
    /// ```
    ///
    /// Files know it by [`type_name`](core::any::type_name), with the path, which goes with a rename or a move, and which the
    /// standard library does not promise to be the same of another compiler: where files are to last, give it a name of its
    /// own by [`register_plain_as`](Self::register_plain_as).
    ///
    /// # Errors
    /// [`FragmentError::SavedOtherwise`] if it was said how its values are
    /// [written](Self::register_written_as); [`FragmentError::TooMany`].
    pub fn register_plain<R: TypeInRole<Value: Plain>>(
        &self,
    ) -> Result<&FragmentInfo, FragmentError> {
        set_plain::<R::Value>(self.register::<R>()?)
    }

    /// Registers a type in one of its [roles](TypeInRole) whose values are plain data, with a name of its own, by which it is
    /// known in [snapshots](crate::world::World::save) and [found](Self::find): one that stays when the type is renamed, or
    /// moved to another module. To be called before anything uses the type; the same again is no error. A name is one
    /// fragment's: of a type that is used in several roles each role gets its own. Of files that were saved before it
    /// had one, it is the type's path that must be given, to the type as it was then, [if its fields have
    /// changed](crate::world::World::load).
    ///
    /// ```
    /// use megachunk::fragment::FragmentRegistry;
    ///
    /// #[derive(Clone, Copy)]
    /// struct Health(u32);
    /// megachunk::plain!(Health { 0 });
    ///
    /// let registry = FragmentRegistry::new();
    /// let health = registry.register_plain_as::<Health>("game.health")?;
    /// assert_eq!(registry.find("game.health").unwrap().id(), health.id());
    /// assert_eq!(registry.of::<Health>().unwrap().id(), health.id());
    /// # Ok::<(), megachunk::fragment::FragmentError>(())
    /// ```
    ///
    /// # Errors
    /// [`FragmentError::NameTaken`] if another fragment is called so, of a type or not, or was to be when another thread
    /// registered its type with another name first (then nothing will be called so);
    /// [`FragmentError::NamedOtherwise`] if the type is registered with another name already;
    /// [`FragmentError::SavedOtherwise`] if it was said how its values are [written](Self::register_written_as);
    /// [`FragmentError::EmptyName`]; [`FragmentError::TooMany`].
    pub fn register_plain_as<R: TypeInRole<Value: Plain>>(
        &self,
        name: &str,
    ) -> Result<&FragmentInfo, FragmentError> {
        set_plain::<R::Value>(R::register_in(self, Some(name))?)
    }

    /// The fragment of a type that can be switched off and on for each entity without a move.
    /// Archetypes that were made before with this fragment do not know of it, nor do recorders that
    /// are open: call it first. Entities of such an archetype have it on for ever, to switch it is
    /// an error ([`NotEnableable`](crate::world::WorldError::NotEnableable)), and queries for its
    /// switch ([`Enabled`](crate::query::Enabled)) pass them by.
    ///
    /// Loops over whole chunks of a query that asks for it or excludes it are lent rows where it is off, too: have a look
    /// at them ([`QueryRun::for_each_chunk`](crate::query::QueryRun::for_each_chunk)).
    ///
    /// # Errors
    /// [`FragmentError::TooMany`].
    #[doc(alias = "IEnableableComponent")]
    pub fn register_enableable<T: Fragment>(&self) -> Result<&FragmentInfo, FragmentError> {
        let info = self.register::<T>()?;
        self.enable(info);
        Ok(info)
    }
}

/// Values of the fragment, which are `T`s, are plain data from now on.
fn set_plain<T: Plain>(info: &FragmentInfo) -> Result<&FragmentInfo, FragmentError> {
    info.set_plain::<T>()?;
    // What chunks begin with is cloned in any case, and what is shared never.
    if matches!(info.kind(), FragmentKind::Fragment | FragmentKind::Tag) {
        info.set_clone::<T>();
    }
    Ok(info)
}
