//! `Attached`: what upper rooms keep with a world, one thing of each type, found without a lock.
//!
//! A [`Roster`] of things that are told apart by their types; its invariant says that a type stands in it once.
//! (The models `world_attached` are about such a roster.)

use core::any::{Any, TypeId};
use core::convert::Infallible;
use core::fmt;

use crate::panics::Panicked;
use crate::sync::roster::Roster;
use crate::world::check::{Found, Held};
use crate::world::waiting::Told;
use crate::world::{Pending, World};

/// Something that stays with a world, and hears when the world ends.
pub(crate) trait Attachment: Any + Send + Sync {
    /// The world ends.
    fn world_ends(&mut self);

    /// The world has ended: whether nobody else has this, so that it may go before the world's values do. It takes none of
    /// users' values with it, but what a recorder that was forgotten has; whose `drop` panics go nowhere, as ever.
    fn may_go(&mut self) -> bool {
        false
    }

    /// Gives memory back in which there is nothing; how many chunks.
    fn trim(&mut self) -> usize {
        0
    }

    /// Counts what waits in it to become part of the world; how many recorders are open, about, which may hold more: none only
    /// if all was counted that was recorded by who was opened before.
    fn count_pending(&self, _: &mut Pending) -> usize {
        0
    }

    /// Whether it is in the middle of a change of the world, which a closure has in its hands.
    fn is_at_work(&self) -> bool {
        false
    }

    /// The world goes back to this time: what waits in it is forgotten. Panics of users' `drop`s are noted.
    fn go_back(&mut self, _time: u64, _: &mut Panicked) {}

    /// The world has gone back, all but for this: what was recorded or sent for it before now, by whoever opened something before,
    /// is gone. Whether there was something: its `drop`s may have recorded more. Panics of those are noted.
    fn cut_off(&mut self, _: &mut Panicked) -> bool {
        false
    }

    /// What is called when the world has gone back, if something is: it changes nothing that the world goes back with, and
    /// does not panic.
    fn looks_again(&self) -> Option<fn(&mut World)> {
        None
    }

    /// Tells the world's time, and which signals wait for theirs.
    fn tell_waiting<'w>(&'w self, _: &'w World, _: &mut Told<'w>) {}

    /// Notes what is wrong with it; what it has of the universe.
    fn check(&self, found: &mut Found) -> Held;
}

/// The list.
#[derive(Default)]
pub(crate) struct Attached(Roster<One>);

/// A thing, and its type, which is asked for more often than the thing is called.
struct One {
    of: TypeId,
    value: Box<dyn Attachment>,
}

impl One {
    /// The thing as what it is, if it is that.
    #[inline]
    fn get<T: Attachment>(&self) -> Option<&T> {
        if self.of != TypeId::of::<T>() {
            return None;
        }
        (&*self.value as &dyn Any).downcast_ref()
    }
}

impl Attached {
    /// What there is of a type. Wait-free, O(attachments).
    pub(crate) fn get<T: Attachment>(&self) -> Option<&T> {
        self.0.iter().find_map(One::get)
    }

    /// What there is of a type, to change. O(attachments).
    pub(crate) fn get_mut<T: Attachment>(&mut self) -> Option<&mut T> {
        let mut all = self.0.iter_mut();
        let one = all.find(|one| one.of == TypeId::of::<T>())?;
        (&mut *one.value as &mut dyn Any).downcast_mut()
    }

    /// What there is of a type, made if there is none. Lock-free.
    pub(crate) fn get_or_attach<T: Attachment>(&self, make: impl FnOnce() -> T) -> &T {
        let attached = self.0.find_or_add(
            |one| one.of == TypeId::of::<T>(),
            || {
                Ok(One {
                    of: TypeId::of::<T>(),
                    value: Box::new(make()),
                })
            },
        );
        let Ok::<_, Infallible>((_, one)) = attached;
        match one.get() {
            Some(attached) => attached,
            None => unreachable!("it was found by its type"),
        }
    }

    /// Has all give memory back in which there is nothing; how many chunks.
    pub(crate) fn trim(&mut self) -> usize {
        self.0.iter_mut().map(|one| one.value.trim()).sum()
    }

    /// Says to all that the world goes back to this time.
    pub(crate) fn go_back(&mut self, time: u64, panicked: &mut Panicked) {
        self.0
            .iter_mut()
            .for_each(|one| one.value.go_back(time, panicked));
    }

    /// Says to all that what was recorded or sent before now is gone; whether there was something.
    pub(crate) fn cut_off(&mut self, panicked: &mut Panicked) -> bool {
        let cuts = self.0.iter_mut().map(|one| one.value.cut_off(panicked));
        // Each of them.
        cuts.fold(false, |some, more| some | more)
    }

    /// All that there is.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &dyn Attachment> {
        self.0.iter().map(|one| &*one.value)
    }

    /// Says to all that the world ends.
    pub(crate) fn end(&mut self) {
        self.0.iter_mut().for_each(|one| one.value.world_ends());
    }

    /// Lets those go that nobody else has of an ended world, as far as they keep no users' values.
    pub(crate) fn let_go(&mut self) {
        for one in self.0.iter_mut() {
            if one.value.may_go() {
                *one = One {
                    of: TypeId::of::<Gone>(),
                    value: Box::new(Gone),
                };
            }
        }
    }
}

/// In the place of what has gone before its world.
struct Gone;

impl Attachment for Gone {
    fn world_ends(&mut self) {}

    fn check(&self, _: &mut Found) -> Held {
        Held::default()
    }
}

impl fmt::Debug for Attached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Attached").field(&self.0).finish()
    }
}
