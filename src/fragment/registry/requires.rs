//! It is said that a fragment requires another.

use crate::fragment::required::Maker;
use crate::fragment::{
    Fragment, FragmentError, FragmentId, FragmentInfo, FragmentKind, FragmentRegistry, Value,
};
use crate::panics::refused;

impl FragmentRegistry {
    /// Says that whoever comes to have an `Owner` comes to have a `Needed` with it, its
    /// [`default`](Default::default): [`require_with`](Self::require_with).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Sprite(u32);
    /// #[derive(Debug, Default, PartialEq)]
    /// struct Transform(f32);
    ///
    /// let mut world = World::new();
    /// world.registry().require::<Sprite, Transform>()?;
    /// let tree = world.create((Sprite(7),))?;
    /// assert_eq!(world.get::<Transform>(tree)?, &Transform(0.0));
    /// let house = world.create((Sprite(8), Transform(2.0)))?;
    /// assert_eq!(world.get::<Transform>(house)?, &Transform(2.0));
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// As there.
    #[doc(alias = "With")]
    #[doc(alias = "register_required_components")]
    pub fn require<Owner: Fragment, Needed: Fragment + Default>(
        &self,
    ) -> Result<(), FragmentError> {
        self.require_with::<Owner, Needed>(Needed::default)
    }

    /// Says that whoever comes to have an `Owner` comes to have a `Needed` with it, which `make` makes: in one move, in
    /// whatever way the owner comes. By a creation, a batch, a copy of a prototype, a template or a group; by
    /// [`add`](crate::world::World::add) and what else changes entities, one, a slice or all that match; by a recorded
    /// command; with types or with numbers. To observers it comes as the owner does.
    ///
    /// * A value that comes with the owner is taken, and one that the entity has is kept: `make` is not called then.
    /// * What is required may require more. A cycle is no fault. Of several owners that come together the one that is
    ///   nearest to the fragment says how it is made: an owner that comes itself before one that is required; among those
    ///   that are equally near, the one that was registered first (so whoever wants the same each time registers types on
    ///   one thread). Said again of the same two, the first `make` stays.
    /// * It is about what comes. Who loses the owner keeps what came with it; who has the owner may lose what it needs: by [`remove`](crate::world::World::remove), or
    ///   if a [`swap`](crate::world::World::swap) names it as going. It comes back when the owner is added again. (To refuse
    ///   it would make the removal of one fragment depend on all others.) And what is copied as it is has what it had: a
    ///   [clone](crate::world::World::clone_entity), an entity that moves to another world, or a world that is loaded. What
    ///   a file from before lacks is added by [`add_required`](crate::world::World::add_required).
    /// * Both are fragments or tags. Shared and const shared values, and those of chunks, neither require nor are required: a
    ///   type that is also used so is meant as a fragment here. (What all chunks that match begin with is a
    ///   [rule](crate::world::World::set_chunk_rule).)
    /// * Prototypes and templates say of themselves what they were given; their copies have more.
    /// * It is said for all worlds of the [universe](crate::world::Universe), before any of them, or a recorder, has met the
    ///   owner in what comes: from then on it is settled what it requires.
    ///
    /// `make` is called on any thread that creates entities or flushes, once for each value, and should give equal values:
    /// in which order it is called is nobody's to know. If it panics, the call that needed the value goes on with the panic,
    /// and no entity has a part of a change. A call for one entity has changed nothing; a batch or copies are not created; of
    /// a slice, of all that match and of [`add_required`](crate::world::World::add_required) some are done, whole runs of
    /// them, and the others are as they were; of a flush the entities at hand are
    /// [refused](crate::world::WorldError::Interrupted) their change, and the others get theirs.
    ///
    /// Any thread; lock-free. Where nothing is required it costs nothing; where something is, what comes with others is made
    /// beside the chunk and copied there; for a [batch](crate::world::World::create_batch) it is made in its rows. Recorded
    /// bundles whose entities come with more than they name are created one by one.
    /// Chunks whose entities all get the owner, of a call or a flush, stay as they are if what comes with it has no size (a
    /// tag); else their entities are copied.
    /// As in Bevy (required components) and flecs (`With`).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// struct Player;
    /// struct Health(u32);
    ///
    /// let mut world = World::new();
    /// world.registry().require_with::<Player, Health>(|| Health(100))?;
    /// let hero = world.create(())?;
    /// world.add(hero, (Player,))?;
    /// assert_eq!(world.get::<Health>(hero)?.0, 100);
    /// // Too late: it is settled what a player comes with.
    /// assert!(world.registry().require_with::<Player, u8>(|| 0).is_err());
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// [`FragmentError::RequiredLate`] if an owner has come already, and what it requires is settled without this;
    /// [`FragmentError::TooMany`].
    pub fn require_with<Owner: Fragment, Needed: Fragment>(
        &self,
        make: impl Fn() -> Needed + Send + Sync + 'static,
    ) -> Result<(), FragmentError> {
        let both = self.register::<Owner>();
        let both = both.and_then(|owner| Ok((owner, self.register::<Needed>()?)));
        match both {
            Ok((owner, needed)) => Self::require_made(owner, needed, Maker::of(make)),
            Err(error) => Err(refused(make, error)),
        }
    }

    /// Says that whoever comes to have a fragment comes to have a clone of this value with it:
    /// [`require_with`](Self::require_with) of fragments that are known at run time only.
    ///
    /// ```
    /// use core::alloc::Layout;
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let registry = world.registry();
    /// let sprite = registry.define_plain("sprite", Layout::new::<u32>())?.id();
    /// let depth = registry.define_plain("depth", Layout::new::<u8>())?.id();
    /// registry.require_value(sprite, Value::from_bytes(registry, depth, &[3])?)?;
    /// let tree = Value::from_bytes(registry, sprite, &7_u32.to_ne_bytes())?;
    /// let tree = world.create_dynamic(tree.into())?;
    /// assert_eq!(world.get_dynamic(tree, depth)?.plain::<u8>()?, [3]);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// As there; [`FragmentError::Unknown`]; [`FragmentError::OtherUniverse`]; [`FragmentError::WrongKind`] for what does
    /// not lie in rows, and [`FragmentError::NotCloneable`] for a value that cannot be cloned.
    pub fn require_value(&self, owner: FragmentId, value: Value) -> Result<(), FragmentError> {
        match self.check_value(owner, &value) {
            Ok((owner, needed)) => Self::require_made(owner, needed, Maker::cloning(value)),
            Err(error) => Err(refused(value, error)),
        }
    }

    fn check_value(
        &self,
        owner: FragmentId,
        value: &Value,
    ) -> Result<(&FragmentInfo, &FragmentInfo), FragmentError> {
        let id = value.id();
        let needed = self.get(id).filter(|info| value.is_of(info));
        let needed = needed.ok_or(FragmentError::OtherUniverse { id })?;
        let owner = self
            .get(owner)
            .ok_or(FragmentError::Unknown { id: owner })?;
        for info in [owner, needed] {
            if !matches!(info.kind(), FragmentKind::Fragment | FragmentKind::Tag) {
                return Err(FragmentError::WrongKind {
                    name: info.name().into(),
                    is: info.kind(),
                    wanted: FragmentKind::Fragment,
                });
            }
        }
        match value.can_be_cloned() {
            true => Ok((owner, needed)),
            false => Err(FragmentError::NotCloneable {
                name: needed.name().into(),
            }),
        }
    }

    fn require_made(
        owner: &FragmentInfo,
        needed: &FragmentInfo,
        maker: Maker,
    ) -> Result<(), FragmentError> {
        let added = owner.required().add(needed.id(), maker);
        added.map_err(|_| FragmentError::RequiredLate {
            owner: owner.name().into(),
            needed: needed.name().into(),
        })
    }

    /// What a fragment requires [directly](Self::require_with), in the order of their numbers. Any thread, at any time;
    /// O(those, and a sort of them).
    ///
    /// ```
    /// use megachunk::fragment::FragmentRegistry;
    ///
    /// let registry = FragmentRegistry::new();
    /// registry.require::<u8, f32>()?;
    /// let (owner, needed) = (registry.of::<u8>().unwrap(), registry.of::<f32>().unwrap());
    /// assert_eq!(registry.required_by(owner.id()), [needed.id()]);
    /// # Ok::<(), megachunk::fragment::FragmentError>(())
    /// ```
    #[must_use]
    pub fn required_by(&self, owner: FragmentId) -> Vec<FragmentId> {
        let entries = self.get(owner).map(|info| info.required().iter());
        let mut ids: Vec<_> = entries
            .into_iter()
            .flatten()
            .map(|entry| entry.needed)
            .collect();
        ids.sort_unstable();
        ids
    }
}
