//! `World::describe`: what there is to be said of any handle.

use core::fmt;
use std::sync::Arc;

use crate::entity::{Entity, EntityFault, Place};
use crate::world::{EntityView, World};

/// A handle, and the world that is asked about it. It is looked up when it is printed.
struct Described<'w> {
    world: &'w World,
    entity: Entity,
}

/// What an entity is to a world.
enum Standing<'w> {
    /// It lives in it.
    Here(EntityView<'w>),
    /// A recorder of the world has created it.
    Recorded,
    /// It has an id, and nothing else yet.
    Reserved,
    /// It lives in another world.
    In(u16),
    /// A recorder of another world has created it.
    RecordedFor(u16),
    /// It is on its way to a row, or from one, at this moment.
    Between,
    /// It does not live.
    Dead(EntityFault),
}

impl World {
    /// What became of an entity, whichever it is: for whoever debugs, and for messages. It never fails, and is looked up
    /// when it is printed: O(1) then, and O(fragments) if it lives here. Without an allocation; any thread; wait-free.
    ///
    /// * It lives here: what its [view](Self::entity) says. `{:#}` writes its values, too.
    /// * It is reserved, was recorded for this world and comes with the next flush, or lives in another world of the
    ///   universe, of which the [number](Self::number) is said.
    /// * It is destroyed, or was never created: that, and who has its slot now. A dead entity's name is said as long as the
    ///   world [keeps](Self::set_name) it.
    ///
    /// A handle of another universe is not known from one of this: it is taken for the one that has its bits here.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let queen = world.create((2.5_f32,))?;
    /// world.set_name(queen, "queen")?;
    /// assert_eq!(world.describe(queen).to_string(), format!("{queen} \"queen\": f32"));
    /// world.destroy(queen)?;
    /// let says = world.describe(queen).to_string();
    /// assert_eq!(says, format!("{queen} \"queen\": destroyed; nobody has its slot"));
    /// # Ok::<(), WorldError>(())
    /// ```
    pub fn describe(&self, entity: Entity) -> impl fmt::Display + '_ {
        Described {
            world: self,
            entity,
        }
    }

    /// Which of its universe's worlds it is: no other one that lives has the number; one that is made later may. O(1).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use megachunk::prelude::*;
    ///
    /// let universe = Arc::new(Universe::new());
    /// let (mut land, sea) = (World::of(&universe)?, World::of(&universe)?);
    /// let crab = land.create(())?;
    /// let says = sea.describe(crab).to_string();
    /// assert_eq!(says, format!("{crab}: lives in world {} of the universe", land.number()));
    /// # Ok::<(), WorldError>(())
    /// ```
    #[must_use]
    pub fn number(&self) -> u16 {
        self.number
    }

    /// Calls the world so, for people: by this name the library's [events](crate#what-it-tells) say which world they are of,
    /// and `{:?}` of it. Without a label it is its [number](Self::number). No two need differ; snapshots do not have it.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// assert_eq!(world.label(), None);
    /// world.set_label("server");
    /// assert_eq!(world.label(), Some("server"));
    /// assert!(format!("{world:?}").contains("server"));
    /// ```
    pub fn set_label(&mut self, label: impl Into<Arc<str>>) {
        let label = label.into();
        self.seat.set_label(Arc::clone(&label));
        self.label = Some(label);
    }

    /// What it [is called](Self::set_label).
    #[must_use]
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    fn standing(&self, entity: Entity) -> Standing<'_> {
        if let Ok(view) = self.entity(entity) {
            return Standing::Here(view);
        }
        let place = match self.universe.index().locate(entity) {
            Err(error) => return Standing::Dead(error.fault),
            Ok(None) => return Standing::Reserved,
            Ok(Some(Place::LEAVING | Place::COMING)) => return Standing::Between,
            Ok(Some(place)) => place,
        };
        let owner = self.universe.directory().owner(place);
        match owner.private_of() {
            Some((world, _)) if world == self.number => Standing::Recorded,
            Some((world, _)) => Standing::RecordedFor(world),
            None if owner.is_nobodys() => Standing::Between,
            None => Standing::In(owner.world()),
        }
    }
}

impl Described<'_> {
    /// The handle, with the name by which this world knows it, if it does.
    fn print_handle(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.entity)?;
        match self.world.names.of(self.entity) {
            Some(name) => write!(f, " {name:?}: "),
            None => f.write_str(": "),
        }
    }

    /// Who has the slot of a handle that is not alive.
    fn print_holder(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let holder = self.world.universe.index().at(self.entity.index());
        let standing = holder.map(|entity| (entity, self.world.standing(entity)));
        match standing {
            // It may have died before it was looked at.
            None | Some((_, Standing::Dead(_))) => f.write_str("; nobody has its slot"),
            Some((_, Standing::Here(view))) => write!(f, "; its slot has {view}"),
            Some((entity, standing)) => {
                f.write_str("; its slot has ")?;
                let holder = Self { entity, ..*self };
                holder.print_away(&standing, f)
            }
        }
    }

    /// What is said of an entity that is alive and not here.
    fn print_away(&self, standing: &Standing<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match standing {
            // This world may know it by a name, which need not be its own where it lives.
            Standing::In(world) => {
                write!(f, "{}: lives in world {world} of the universe", self.entity)
            }
            Standing::RecordedFor(world) => {
                write!(
                    f,
                    "{}: recorded for world {world} of the universe",
                    self.entity
                )
            }
            other => {
                self.print_handle(f)?;
                f.write_str(match other {
                    Standing::Reserved => "reserved, not built yet",
                    Standing::Recorded => "recorded, comes with the next flush",
                    _ => "coming or going at this moment",
                })
            }
        }
    }
}

impl fmt::Display for Described<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fault = match self.world.standing(self.entity) {
            Standing::Here(view) => return view.fmt(f),
            Standing::Dead(fault) => fault,
            away => return self.print_away(&away, f),
        };
        self.print_handle(f)?;
        match fault {
            EntityFault::OutOfRange if self.entity == Entity::PLACEHOLDER => {
                f.write_str("nobody, the placeholder")
            }
            EntityFault::OutOfRange => f.write_str("never created: no slot has this index"),
            EntityFault::Destroyed => {
                f.write_str("destroyed")?;
                self.print_holder(f)
            }
            EntityFault::NeverCreated | EntityFault::AlreadyBuilt => {
                f.write_str("never created")?;
                self.print_holder(f)
            }
        }
    }
}
