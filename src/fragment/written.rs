//! `WrittenForm`: how values of a fragment that are more than their bytes become bytes, and values again.
//!
//! As a [`StateForm`](crate::fragment::StateForm) is for values that are no entity's. These lie in columns: they are written
//! from where they are, and read to where they are to be.

use core::fmt;
use core::panic::{RefUnwindSafe, UnwindSafe};
use std::error::Error;

use crate::entity::EntityMap;
use crate::fragment::info::address;
use crate::fragment::state::{Reason, with_causes};
use crate::fragment::{
    Fragment, FragmentError, FragmentInfo, FragmentKind, FragmentRegistry, StateWritten,
    TypeInRole, WrittenRole,
};

type Write = dyn Fn(*const u8, &mut Vec<u8>) -> Result<(), Reason> + Send + Sync;
type Read = dyn Fn(&[u8], &EntityMap, *mut u8) -> Result<(), Reason> + Send + Sync;

/// What was said of how values of a fragment are written and read.
pub(crate) struct WrittenForm {
    write: Box<Write>,
    read: Box<Read>,
}

// A value of the user's that two closures have, which any thread may call: one of them that has panicked leaves it as any
// other call leaves what many have.
impl UnwindSafe for WrittenForm {}
impl RefUnwindSafe for WrittenForm {}

impl WrittenForm {
    /// Bytes of the length that stands before a value that lies in no column.
    pub(crate) const LENGTH: usize = size_of::<u32>();

    /// Appends what was [written](Self::write) of a value that lies in no column, behind its length.
    pub(crate) fn append(written: &[u8], bytes: &mut Vec<u8>) {
        // No value is longer: see `write`.
        bytes.extend((written.len() as u32).to_le_bytes());
        bytes.extend(written);
    }

    /// What was [appended](Self::append), and what is behind it; `None` if the bytes end before.
    pub(crate) fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
        let (length, left) = bytes.split_first_chunk()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        left.split_at_checked(length)
    }

    fn new<T, W, E>(
        write: impl Fn(&T, &mut Vec<u8>) -> W + Send + Sync + 'static,
        read: impl Fn(&[u8], &EntityMap) -> Result<T, E> + Send + Sync + 'static,
    ) -> Self
    where
        T: Fragment,
        W: StateWritten,
        E: Into<Reason>,
    {
        Self {
            write: Box::new(move |value, bytes| {
                // SAFETY: of `Self::write`.
                let value = unsafe { &*address::<T>(value.cast_mut()) };
                write(value, bytes).into_result()
            }),
            read: Box::new(move |bytes, entities, to| {
                let value = read(bytes, entities).map_err(Into::into)?;
                // SAFETY: of `Self::read`.
                unsafe { address::<T>(to).write(value) };
                Ok(())
            }),
        }
    }

    /// Writes a value to `bytes`, which are none when it begins; or why it cannot be written.
    ///
    /// # Safety
    /// A value of the fragment that was given this form, which nobody changes meanwhile.
    pub(crate) unsafe fn write(&self, value: *const u8, bytes: &mut Vec<u8>) -> Result<(), String> {
        bytes.clear();
        (self.write)(value, bytes).map_err(|reason| with_causes(&*reason))?;
        match u32::try_from(bytes.len()) {
            Ok(_) => Ok(()),
            Err(_) => Err(format!("it has {} bytes, which are 4 GiB", bytes.len())),
        }
    }

    /// Makes a value of some bytes, which names the entities that are meant, or says why there is none. Where it is to be,
    /// there is one only if that is `Ok`.
    ///
    /// # Safety
    /// Room for a value of the fragment that was given this form.
    pub(crate) unsafe fn read(
        &self,
        bytes: &[u8],
        entities: &EntityMap,
        to: *mut u8,
    ) -> Result<(), String> {
        (self.read)(bytes, entities, to).map_err(|reason| with_causes(&*reason))
    }
}

impl fmt::Debug for WrittenForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WrittenForm").finish_non_exhaustive()
    }
}

impl FragmentRegistry {
    /// Registers a type in one of its [roles](TypeInRole) whose values are more than their bytes (a text, a list, an enum with fields, what
    /// has a foreign type in it), with a [name of its own](Self::register_plain_as), and says how they are written and read:
    /// so entities that have it are [saved](crate::world::World::save), [hashed](crate::world::World::state_hash),
    /// [compared](crate::world::World::differences) and [loaded](crate::world::World::load) as others are.
    ///
    /// `write` appends the bytes of a value, which the file delimits, or says why it [cannot](StateWritten); `read` gets them,
    /// and makes a value that is the same, or says why there is none. The map tells `read` [who has become
    /// whom](EntityMap::apply), for handles in the value; where ids are the old ones it keeps them all.
    ///
    /// What `write` gives is what is hashed and compared: it must be the same for equal values, on any thread. (That of a
    /// `HashMap` is in another order each time: sort it.) The two are called by many threads at once, `write` for each value
    /// once a save or a hash, before the first byte of a file is written: all bytes that it gives are kept until the file is
    /// whole. If one of them panics, so does whoever saves, hashes or loads: no world and no file has changed, and values that
    /// were read until then end.
    ///
    /// A file knows no fields of such a type, nor its size. Older forms of its values `read` knows itself (a first byte that
    /// is a version does), and [nothing is converted](crate::world::LoadOptions::convert) for it. A fragment that files have as
    /// plain data, and that is written now, or the other way round, [is refused](crate::world::SnapshotError::WrittenOtherwise):
    /// the old type stays registered under the name that files have, and the new one has another.
    ///
    /// The first that is said of a type stays. Not for tags, nor for chunk fragments: these are plain or left out. Plain data
    /// stays quicker by far: it is copied as it lies. That values can be [cloned](Self::register_clone) is said beside this.
    ///
    /// # What is shared
    ///
    /// Of a [shared](crate::fragment::Shared) or [const shared](crate::fragment::ConstShared) fragment a value is written
    /// once, however many entities have it, and values that come out of a file and are equal are one.
    ///
    /// Of a file `read` is called for those values alone that somebody has who comes: who made the file cannot have it make
    /// any number of values beside. If those that come would have more bytes, by the size of the type, than values that lie
    /// in no chunk [may have](crate::world::LoadOptions::convert), the load is
    /// [refused](crate::world::SnapshotError::ConvertedTooLarge). What a value of yours has on the heap nobody counts: that is
    /// for `read` to see to.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// /// What somebody is about to do.
    /// #[derive(Debug, PartialEq)]
    /// enum Order { Idle, Follow(Entity), Say(String) }
    ///
    /// fn register(universe: &Universe) -> Result<(), WorldError> {
    ///     universe.registry().register_written_as::<Order, _, _>(
    ///         "order",
    ///         |order, bytes| {
    ///             // A version of the form, for who reads it later; and which variant it is.
    ///             bytes.push(1);
    ///             match order {
    ///                 Order::Idle => bytes.push(0),
    ///                 Order::Follow(whom) => {
    ///                     bytes.push(1);
    ///                     bytes.extend(whom.to_bits().to_le_bytes());
    ///                 }
    ///                 Order::Say(words) => {
    ///                     bytes.push(2);
    ///                     bytes.extend(words.as_bytes());
    ///                 }
    ///             }
    ///         },
    ///         |bytes, entities| match bytes {
    ///             [1, 0] => Ok(Order::Idle),
    ///             [1, 1, whom @ ..] => {
    ///                 let bits = whom.try_into().map(u64::from_le_bytes).map_err(|_| "half a handle")?;
    ///                 let mut whom = Entity::try_from_bits(bits).ok_or("no entity is followed")?;
    ///                 entities.apply(&mut whom);
    ///                 Ok(Order::Follow(whom))
    ///             }
    ///             [1, 2, words @ ..] => {
    ///                 let words = std::str::from_utf8(words).map_err(|_| "no words")?;
    ///                 Ok(Order::Say(words.into()))
    ///             }
    ///             _ => Err("no such order"),
    ///         },
    ///     )?;
    ///     Ok(())
    /// }
    ///
    /// let mut world = World::new();
    /// register(world.universe())?;
    /// let ant = world.create((Order::Say("here".into()),))?;
    /// let bee = world.create((Order::Follow(ant),))?;
    /// let saved = world.to_snapshot(&Default::default())?;
    /// let universe = world.universe();
    /// let (copy, come) = World::from_snapshot_remapped(&saved, universe, &Default::default(), &Default::default())?;
    /// let [ant, bee] = [ant, bee].map(|entity| come.get(entity).unwrap());
    /// assert_eq!(copy.get::<Order>(ant)?, &Order::Say("here".into()));
    /// assert_eq!(copy.get::<Order>(bee)?, &Order::Follow(ant));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`register_plain_as`](Self::register_plain_as); [`FragmentError::SavedOtherwise`] if it is registered as plain
    /// data; [`FragmentError::WrongKind`] if it is a tag, a fragment of a type without a size. (A chunk fragment is an error
    /// of the compiler, whose role is no [`WrittenRole`]:)
    ///
    /// ```compile_fail,E0277
    /// # use megachunk::prelude::*;
    /// # let world = World::new();
    /// let write = |words: &String, bytes: &mut Vec<u8>| bytes.extend(words.as_bytes());
    /// let read = |_: &[u8], _: &megachunk::entity::EntityMap| Err("no words");
    /// let _ = world.registry().register_written_as::<PerChunk<String>, _, _>("words", write, read);
    /// ```
    #[doc(alias = "serialize")]
    #[doc(alias = "serde")]
    pub fn register_written_as<R, W, E>(
        &self,
        name: &str,
        write: impl Fn(&R::Value, &mut Vec<u8>) -> W + Send + Sync + 'static,
        read: impl Fn(&[u8], &EntityMap) -> Result<R::Value, E> + Send + Sync + 'static,
    ) -> Result<&FragmentInfo, FragmentError>
    where
        R: TypeInRole<Role: WrittenRole>,
        W: StateWritten,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        if let FragmentKind::Tag = R::KIND {
            return Err(FragmentError::WrongKind {
                name: name.into(),
                is: FragmentKind::Tag,
                wanted: FragmentKind::Fragment,
            });
        }
        R::register_in(self, Some(name))?.set_written(WrittenForm::new(write, read))
    }
}
