//! `FragmentRegistry`: types and definitions → numbers.
//!
//! # State
//! * `infos`: number → fragment, or null. Written once, before the number is told to anybody.
//! * `roles`: a hash table of open addressing, type (in its role) → fragment, or null. An entry is set once, by a
//!   compare-and-swap from null, and never changes.
//! * `names`: another one, name → the first fragment that is called so: one that was defined, or a type's.
//! * `switches`: how many fragments can be switched off, and which one is about to be counted. First a fragment is
//!   written there as the next one, then its number into itself, then the count goes up: whoever comes between does the
//!   rest. So all that are counted have their numbers, and none is counted twice.
//! * `next`: the next number. A number can be lost (two threads register one type at once, the loser
//!   throws its own away); it is then never given out.
//!
//! # Invariant
//! The name of a type stands in `names` before the type stands in `roles`: who finds a type finds its name. A type
//! that stands in `names` only, some thread is about to enter into `roles`; who finds it by name does that for it.
//! A type that is given a name is not entered into `roles` where another fragment has come first in `names`. (Types that
//! are called so by themselves may be several, as of two versions of a crate, and come beside a given name, too.)
//!
//! # Linearization points
//! A type is registered when it stands in `roles`, a definition when it stands in `names`.
//!
//! Looking up is wait-free: a probe or two expected (four or five of those that come behind some thousand), never more than
//! the table has entries.
//! Registering and switching are lock-free. (What else can be said of a fragment later, that it is
//! plain or cloneable, is in a `OnceLock`: of two threads that say the same of one fragment at one
//! moment the second waits for the first, for the time of a few stores.) Nothing is ever taken out
//! before the registry is dropped, so a reference to a fragment lives as long as that.

mod definitions;
#[cfg(not(loom))]
mod requires;
#[cfg(not(loom))]
mod structs;
mod types;

use core::any::TypeId;
use core::hash::{Hash, Hasher};
use core::ptr;
use std::io;

#[cfg(not(loom))]
use smallvec::SmallVec;

pub use definitions::FragmentDefinition;

use crate::fragment::info::FragmentDraft;
use crate::fragment::{FragmentError, FragmentId, FragmentInfo, TypeInRole};
#[cfg(not(loom))]
use crate::fragment::{StateForm, refuse_type};
use crate::memory::Table;
use crate::panics::{Panicked, note, resume_alone};
use crate::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use crate::sync::mutant;
#[cfg(not(loom))]
use crate::sync::roster::Roster;

/// Fragments that a registry can hold.
const CAPACITY: usize = if cfg!(loom) { 4 } else { 65_535 };
/// Entries of each hash table: at most half of them are used.
const ENTRIES: usize = if cfg!(loom) { 8 } else { 1 << 17 };
/// The first entries of a table, 16 KiB of memory: a key is looked for there before it is anywhere else, so that the
/// registry of a universe with some hundred fragments takes four pages for each table, and not a page for each fragment.
const NEAR: usize = if cfg!(loom) { 2 } else { 1 << 11 };
/// How many of these a key is looked for in: each of them that is another fragment's is read, too, so few.
const NEAR_STEPS: usize = if cfg!(loom) { 1 } else { 3 };

/// All fragments that a family of worlds knows, each with its number.
///
/// Registering the same type again gives the same number. Any thread may register and look up at
/// any moment, without a lock: lock-free, but for what is said of a fragment by
/// [`register_clone`](Self::register_clone), [`register_plain`](Self::register_plain) and the
/// others of their kind. Of two threads that say the same of one fragment for the first time at one
/// moment, one waits until the other has stored it. 65,535 fragments at most; memory only for those
/// that there are, and eight pages for the first three hundred and most of the next thousand.
///
/// A fragment stays as long as the registry, which is its universe's, or that of several that are
/// [like](crate::world::Universe::like) each other: none is ever taken out, nor is its number given
/// again, whether or not an entity has it. So a script that is loaded again [finds](Self::find) under its name what it
/// has defined before, and defines only what is new: see [`define_plain`](Self::define_plain). One that makes up names as
/// it goes on comes to [`FragmentError::TooMany`].
///
/// ```
/// use megachunk::fragment::{FragmentKind, FragmentRegistry};
///
/// let registry = FragmentRegistry::new();
/// let speed = registry.register::<f32>()?;
/// assert_eq!(registry.register::<f32>()?.id(), speed.id());
/// assert_eq!((speed.kind(), speed.layout().size()), (FragmentKind::Fragment, 4));
/// # Ok::<(), megachunk::fragment::FragmentError>(())
/// ```
pub struct FragmentRegistry {
    infos: Table<AtomicPtr<FragmentInfo>>,
    roles: Table<AtomicPtr<FragmentInfo>>,
    names: Table<AtomicPtr<FragmentInfo>>,
    next: AtomicU32,
    /// Of how many fragments it was said that they can be switched off, and of which it is just being said: see
    /// [`switches`](super::switches).
    pub(super) switches: AtomicU64,
    /// Types whose values are part of a world's state outside of its entities, each there once.
    #[cfg(not(loom))]
    pub(super) states: Roster<StateForm>,
    /// Unique in the process: values remember which registry's fragment they are of.
    identity: u64,
}

/// What an entry of a hash table is found by.
#[derive(Clone, Copy)]
enum Key<'a> {
    /// In `roles`.
    Role(TypeId),
    /// In `names`.
    Name(&'a str),
}

impl Key<'_> {
    #[inline]
    fn is_of(self, info: &FragmentInfo) -> bool {
        match self {
            Self::Role(role) => info.role() == Some(role),
            Self::Name(name) => info.name() == name,
        }
    }
}

impl FragmentRegistry {
    /// Fragments that a registry can hold.
    #[cfg(not(loom))]
    pub(crate) const CAPACITY: usize = CAPACITY;

    /// A registry without fragments.
    ///
    /// # Panics
    /// If the system has no 9 MiB of address space left.
    #[must_use]
    pub fn new() -> Self {
        match Self::try_new() {
            Ok(registry) => registry,
            Err(error) => panic!("no address space for a fragment registry: {error}"),
        }
    }

    /// A registry without fragments.
    ///
    /// # Errors
    /// What the system said, if it has no address space left.
    pub fn try_new() -> io::Result<Self> {
        Ok(Self {
            infos: Table::new(CAPACITY, 0)?,
            roles: Table::new(ENTRIES, 3 << 12)?,
            names: Table::new(ENTRIES, 5 << 12)?,
            next: AtomicU32::new(0),
            switches: AtomicU64::new(0),
            #[cfg(not(loom))]
            states: Roster::new(),
            identity: new_identity(),
        })
    }

    /// A type in one of its [roles](TypeInRole): `T` is the fragment, or tag, of that type, and
    /// [`PerChunk<T>`](crate::fragment::PerChunk), [`Shared<T>`](crate::fragment::Shared) and
    /// [`ConstShared<T>`](crate::fragment::ConstShared) are others. Bundles, queries and observers register what they name by
    /// themselves, but for tuples and references, which are [hardly ever meant](FragmentError::TupleNamed): these they know
    /// when they were registered here before, or by any other call of the registry.
    ///
    /// # Errors
    /// [`FragmentError::TooMany`].
    #[inline]
    pub fn register<R: TypeInRole>(&self) -> Result<&FragmentInfo, FragmentError> {
        match self.by_role(TypeId::of::<R>()) {
            Some(info) => Ok(info),
            None => R::register_in(self, None),
        }
    }

    /// The fragment of a draft that a type in a role stands for, with this name, if one is told.
    #[cold]
    pub(super) fn add_draft(
        &self,
        draft: FragmentDraft,
        name: Option<&str>,
    ) -> Result<&FragmentInfo, FragmentError> {
        match name {
            None => self.add(draft),
            Some(name) => self.add_named(draft.named(name)),
        }
    }

    /// The same, of a type that a bundle, a query or an observer names. One that is hardly ever meant is refused, if
    /// nobody has registered it before, who would have meant it.
    #[cfg(not(loom))]
    #[inline]
    pub(crate) fn register_met<R: TypeInRole>(&self) -> Result<&FragmentInfo, FragmentError> {
        match self.by_role(TypeId::of::<R>()) {
            Some(info) => Ok(info),
            None => self.add_met::<R>(),
        }
    }

    #[cfg(not(loom))]
    #[cold]
    fn add_met<R: TypeInRole>(&self) -> Result<&FragmentInfo, FragmentError> {
        refuse_type::<R>()?;
        R::register_in(self, None)
    }

    /// Its number, unique in the process.
    #[cfg(not(loom))]
    pub(crate) fn identity(&self) -> u64 {
        self.identity
    }

    /// The fragment with this number.
    #[must_use]
    pub fn get(&self, id: FragmentId) -> Option<&FragmentInfo> {
        let at = usize::from(id.number());
        if at >= CAPACITY {
            return None;
        }
        // Ordering: Acquire pairs with the Release in `number`.
        let info = self.infos.get(at).load(Ordering::Acquire);
        // SAFETY: null, or a fragment that lives as long as the registry.
        unsafe { info.as_ref() }
    }

    /// The fragment that was defined with this name, or whose type was given it; else the first whose type is called
    /// so. O(1) expected.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&FragmentInfo> {
        let first = self.by_key(Key::Name(name))?;
        let Some(role) = first.role() else {
            return Some(first);
        };
        let entered = self.by_role(role);
        if mutant::active("fragment_name_is_enough") {
            return Some(first);
        }
        let info = entered.unwrap_or_else(|| self.enter(Key::Role(role), first));
        // Of two threads that register one type with two names, one leaves its name behind: nothing is called so.
        (info.name() == name).then_some(info)
    }

    /// The fragment of a type in one of its [roles](TypeInRole), if it is registered. Wait-free.
    ///
    /// ```
    /// use megachunk::fragment::{FragmentRegistry, Shared};
    ///
    /// let registry = FragmentRegistry::new();
    /// let shared = registry.register::<Shared<u32>>()?;
    /// assert_eq!(registry.of::<Shared<u32>>().unwrap().id(), shared.id());
    /// assert!(registry.of::<u32>().is_none());
    /// # Ok::<(), megachunk::fragment::FragmentError>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn of<R: TypeInRole>(&self) -> Option<&FragmentInfo> {
        self.by_role(TypeId::of::<R>())
    }

    /// The same of a type that may not be one that can have the role.
    #[cfg(not(loom))]
    #[inline]
    pub(crate) fn of_role<R: 'static>(&self) -> Option<&FragmentInfo> {
        self.by_role(TypeId::of::<R>())
    }

    /// All fragments, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &FragmentInfo> {
        self.numbered().filter(|info| self.is_entered(info))
    }

    /// All that have a number, also those of threads that came second.
    fn numbered(&self) -> impl Iterator<Item = &FragmentInfo> {
        // Ordering: Relaxed: `get` sees to the rest.
        let numbers = self.next.load(Ordering::Relaxed).min(CAPACITY as u32);
        (0..numbers as u16).filter_map(|number| self.get(FragmentId::from_number(number)))
    }

    /// Whether a fragment is the one of its key, and not that of a thread that came second.
    fn is_entered(&self, info: &FragmentInfo) -> bool {
        let key = info.role().map_or(Key::Name(info.name()), Key::Role);
        let entered = self.by_key(key);
        entered.is_some_and(|entered| ptr::eq(entered, info))
    }

    #[inline]
    fn table(&self, key: Key<'_>) -> &Table<AtomicPtr<FragmentInfo>> {
        match key {
            Key::Role(_) => &self.roles,
            Key::Name(_) => &self.names,
        }
    }

    /// Where the fragment of a key stands in its table.
    #[inline]
    fn entry(&self, key: Key<'_>) -> Option<(usize, &FragmentInfo)> {
        self.entry_from(key, Way::of(key))
    }

    /// The same, from an entry on before which it does not stand.
    fn entry_from(&self, key: Key<'_>, mut way: Way) -> Option<(usize, &FragmentInfo)> {
        loop {
            let at = way.entry();
            // Ordering: Acquire pairs with the Release in `enter`.
            let info = self.table(key).get(at).load(Ordering::Acquire);
            // SAFETY: null, or a fragment that lives as long as the registry.
            let info = unsafe { info.as_ref() }?;
            if key.is_of(info) {
                return Some((at, info));
            }
            way = way.next();
        }
    }

    #[inline]
    fn by_key(&self, key: Key<'_>) -> Option<&FragmentInfo> {
        self.entry(key).map(|(_, info)| info)
    }

    /// Inlined where it stands in the first entry, as nearly all do where fragments are some hundred.
    #[inline(always)]
    fn by_role(&self, role: TypeId) -> Option<&FragmentInfo> {
        let key = Key::Role(role);
        let way = Way::of(key);
        // Ordering: Acquire pairs with the Release in `enter`.
        let info = self.roles.get(way.entry()).load(Ordering::Acquire);
        // SAFETY: null, or a fragment that lives as long as the registry.
        let info = unsafe { info.as_ref() }?;
        if key.is_of(info) {
            return Some(info);
        }
        self.by_role_from(role, way.next())
    }

    #[cold]
    #[inline(never)]
    fn by_role_from(&self, role: TypeId, way: Way) -> Option<&FragmentInfo> {
        self.entry_from(Key::Role(role), way).map(|(_, info)| info)
    }

    /// The fragment of a draft that a type stands for: the one that is registered, or a new one.
    #[cold]
    fn add(&self, draft: FragmentDraft) -> Result<&FragmentInfo, FragmentError> {
        let role = draft.role().expect("a type stands for the draft");
        if let Some(info) = self.by_role(role) {
            return Ok(info);
        }
        let new = self.number(draft)?;
        if mutant::active("fragment_role_first") {
            self.enter(Key::Role(role), new);
        }
        self.enter(Key::Name(new.name()), new);
        Ok(self.enter(Key::Role(role), new))
    }

    /// The fragment of a type that was given a name: the one that is registered so, or a new one. The type must not be
    /// registered with another name, nor the name be another fragment's.
    #[cold]
    fn add_named(&self, draft: FragmentDraft) -> Result<&FragmentInfo, FragmentError> {
        let (role, name) = (draft.role(), draft.name.clone());
        refuse_empty(&name)?;
        let key = Key::Role(role.expect("a type stands for the draft"));
        let taken = || FragmentError::NameTaken {
            name: (&*name).into(),
        };
        let info = match self.by_key(key).or_else(|| self.find(&name)) {
            Some(info) if info.role() == role => info,
            Some(_) => return Err(taken()),
            None => {
                let new = self.number(draft)?;
                let named = self.enter(Key::Name(&name), new);
                if named.role() != role && !mutant::active("fragment_name_of_two_types") {
                    return Err(taken());
                }
                self.enter(key, new)
            }
        };
        match info.name() == name {
            true => Ok(info),
            false => Err(FragmentError::NamedOtherwise {
                name: info.name().into(),
                asked: (&*name).into(),
            }),
        }
    }

    /// Enters a fragment under one of its keys; the one that stands there, which may be another: one that is called so
    /// too, or that of a thread that came first. The number of a fragment that is not entered stays unused.
    fn enter<'a>(&'a self, key: Key<'_>, new: &'a FragmentInfo) -> &'a FragmentInfo {
        let mut way = Way::of(key);
        loop {
            // Ordering: Release publishes the fragment to `entry`; Acquire to read the one that is there.
            match self.table(key).get(way.entry()).compare_exchange(
                ptr::null_mut(),
                ptr::from_ref(new).cast_mut(),
                mutant::ordering("fragment_enter_relaxed", Ordering::AcqRel),
                Ordering::Acquire,
            ) {
                Ok(_) => return new,
                Err(there) => {
                    // SAFETY: not null, so a fragment that lives as long as the registry.
                    let there = unsafe { &*there };
                    if key.is_of(there) {
                        return there;
                    }
                    way = way.next();
                }
            }
        }
    }

    /// Gives a draft the next number.
    fn number(&self, draft: FragmentDraft) -> Result<&FragmentInfo, FragmentError> {
        // Ordering: only uniqueness matters. Beyond the capacity the counter stays where it is but for
        // threads that ask at the same moment.
        let is_full = self.next.load(Ordering::Relaxed) as usize >= CAPACITY;
        let number = match is_full {
            true => CAPACITY,
            false => self.next.fetch_add(1, Ordering::Relaxed) as usize,
        };
        if number >= CAPACITY {
            let name = draft.name.into();
            return Err(FragmentError::TooMany {
                name,
                limit: CAPACITY,
            });
        }
        let info = Box::into_raw(Box::new(draft.numbered(number as u16, self.identity)));
        // Ordering: Release pairs with the Acquire in `get`.
        self.infos.get(number).store(info, Ordering::Release);
        // SAFETY: from a box; it is freed with the registry only.
        Ok(unsafe { &*info })
    }
}

/// A number that no registry had before, nor who else has one of these.
pub(crate) fn new_identity() -> u64 {
    // Not one of the sync room's: it is no part of the protocol.
    static NEXT: core::sync::atomic::AtomicU64 = core::sync::atomic::AtomicU64::new(0);
    // Ordering: only uniqueness matters.
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The entries that a key may stand in, in the order in which it is looked for: always the same ones.
///
/// Must hold: none is passed by that is empty, so that whoever finds one knows that the key is not there. From
/// [`NEAR_STEPS`] on it comes past all that are not near, half of which are empty. (Of the near ones none may be: who
/// came past them, too, would walk a long way.)
#[derive(Clone, Copy)]
struct Way {
    hash: usize,
    step: usize,
}

impl Way {
    #[inline]
    fn of(key: Key<'_>) -> Self {
        let hash = hash_of(key);
        Self { hash, step: 0 }
    }

    #[inline]
    fn entry(self) -> usize {
        let at = self.hash.wrapping_add(self.step);
        match self.step < NEAR_STEPS {
            true => at % NEAR,
            false => NEAR + at % (ENTRIES - NEAR),
        }
    }

    #[inline]
    fn next(self) -> Self {
        let step = self.step + 1;
        Self { step, ..self }
    }
}

/// Where the search for a type or a name begins.
#[inline]
fn hash_of(key: Key<'_>) -> usize {
    /// A type's number is a hash already: take it as it comes.
    struct Bits(u64);
    impl Hasher for Bits {
        fn write(&mut self, bytes: &[u8]) {
            // Nothing is lost: each step can be undone.
            for &byte in bytes {
                let bits = self.0.rotate_left(5) ^ u64::from(byte);
                self.0 = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            }
        }
        fn write_u64(&mut self, bits: u64) {
            self.0 ^= bits;
        }
        fn finish(&self) -> u64 {
            self.0
        }
    }
    let mut bits = Bits(0);
    match key {
        Key::Role(role) => role.hash(&mut bits),
        Key::Name(name) => {
            bits.write(name.as_bytes());
            // The higher a bit, the more of the name it depends on.
            bits.0 ^= bits.0 >> 47;
        }
    }
    bits.finish() as usize
}

impl FragmentRegistry {
    /// A registry without fragments on the memory of this one; `None` if it has so many that a new one costs
    /// less.
    #[cfg(not(loom))]
    pub(crate) fn recycle(mut self) -> Option<Self> {
        const MANY: usize = 256;
        let numbers = self.numbers();
        if numbers > MANY {
            return None;
        }
        // All entries first: to find one, those before it must be there.
        let entries = |key: fn(&FragmentInfo) -> Option<Key<'_>>| -> SmallVec<[usize; 16]> {
            let entries = self.numbered().filter_map(|info| self.entry(key(info)?));
            entries.map(|(entry, _)| entry).collect()
        };
        let roles = entries(|info| info.role().map(Key::Role));
        let names = entries(|info| Some(Key::Name(info.name())));
        for entry in roles {
            self.roles.clear(entry..entry + 1);
        }
        for entry in names {
            self.names.clear(entry..entry + 1);
        }
        let panicked = self.drop_infos();
        self.infos.clear(0..numbers);
        self.next = AtomicU32::new(0);
        resume_alone(panicked);
        self.switches = AtomicU64::new(0);
        self.states = Roster::new();
        self.identity = new_identity();
        Some(self)
    }

    /// Numbers that were given out; for who has the registry to itself.
    fn numbers(&self) -> usize {
        // Ordering: Acquire is not needed, here and below: to have it to oneself comes after everybody. Kept.
        (self.next.load(Ordering::Acquire) as usize).min(CAPACITY)
    }

    /// Drops the fragments, each once; whoever calls it sees to it that nobody finds them afterwards. What is known of them
    /// may hold what panics when it is dropped.
    fn drop_infos(&mut self) -> Panicked {
        let mut panicked = None;
        for number in 0..self.numbers() {
            let info = (self.infos.get(number)).swap(core::ptr::null_mut(), Ordering::AcqRel);
            if !info.is_null() {
                // SAFETY: every fragment came from `Box::into_raw`, stood in `infos` once, and `&mut
                // self` says that nobody uses any.
                note(&mut panicked, || drop(unsafe { Box::from_raw(info) }));
            }
        }
        panicked
    }
}

impl Drop for FragmentRegistry {
    fn drop(&mut self) {
        resume_alone(self.drop_infos());
    }
}

impl Default for FragmentRegistry {
    fn default() -> Self {
        Self::new()
    }
}

/// Nobody could say in an error, a config or a file whom an empty name means.
fn refuse_empty(name: &str) -> Result<(), FragmentError> {
    match name {
        "" => Err(FragmentError::EmptyName),
        _ => Ok(()),
    }
}

impl core::fmt::Debug for FragmentRegistry {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_map()
            .entries(self.iter().map(|info| (info.id(), info.name())))
            .finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
