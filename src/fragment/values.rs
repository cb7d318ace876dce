//! `Values`, `ValuesMut`: values of a fragment whose type is asked for where they are used.
//!
//! Who makes one (a query, a world) has the pointer, the length and the right to lend; here only the type
//! is checked, against the registry, before anything is read.

use core::alloc::Layout;
use core::any::{TypeId, type_name};
use core::fmt;
use core::marker::PhantomData;

use smallvec::SmallVec;

use crate::entity::EntityMap;
use crate::fragment::{Fragment, FragmentError, FragmentInfo, Plain, Printed, Value};

/// One or more values of a fragment, one behind the other, to read.
///
/// Ask for them as their type, as another plain type of the same size, or as bytes: each is checked, O(1).
///
/// `{:?}` shows up to eight of them, if it was said how ([`register_debug`](crate::fragment::FragmentRegistry::register_debug));
/// of plain data the first 16 bytes of each, else.
///
/// ```
/// use megachunk::prelude::*;
///
/// let mut world = World::new();
/// let id = world.registry().register_plain::<u32>()?.id();
/// let ant = world.create((7_u32,))?;
/// let values = world.get_dynamic(ant, id)?;
/// assert_eq!(values.value::<u32>()?, &7);
/// assert_eq!(values.plain::<[u16; 2]>()?.len(), 1);
/// assert_eq!(values.bytes()?, 7_u32.to_ne_bytes());
/// assert!(values.value::<f32>().is_err());
/// # Ok::<(), WorldError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Values<'w> {
    info: &'w FragmentInfo,
    first: *const u8,
    len: usize,
    _lent: PhantomData<&'w [u8]>,
}

// SAFETY: lends values of a fragment, which are `Sync`, as `&[T]` does.
unsafe impl Send for Values<'_> {}
// SAFETY: as above.
unsafe impl Sync for Values<'_> {}

impl<'w> Values<'w> {
    /// `len` values that begin at `first`.
    ///
    /// # Safety
    /// There are as many values of the fragment, one at least, and nobody writes them for `'w`.
    pub(crate) unsafe fn new(info: &'w FragmentInfo, first: *const u8, len: usize) -> Self {
        Self {
            info,
            first: address(info, first.cast_mut()),
            len,
            _lent: PhantomData,
        }
    }

    /// What is known of the fragment.
    #[must_use]
    pub fn info(self) -> &'w FragmentInfo {
        self.info
    }

    /// How many values; one at least.
    #[expect(clippy::len_without_is_empty, reason = "there is one at least")]
    #[must_use]
    pub fn len(self) -> usize {
        self.len
    }

    /// The values as their type.
    ///
    /// # Errors
    /// [`FragmentError::WrongType`].
    #[inline]
    pub fn slice<T: Fragment>(self) -> Result<&'w [T], FragmentError> {
        check_type::<T>(self.info)?;
        // SAFETY: values of this type, by the contract of `new`.
        Ok(unsafe { core::slice::from_raw_parts(self.first.cast(), self.len) })
    }

    /// The first value as its type.
    ///
    /// # Errors
    /// As for [`slice`](Self::slice).
    #[inline]
    pub fn value<T: Fragment>(self) -> Result<&'w T, FragmentError> {
        Ok(&self.slice::<T>()?[0])
    }

    /// The values of a plain fragment as another plain type of the same size: for those that were defined
    /// at run time.
    ///
    /// # Errors
    /// [`FragmentError::NotPlain`], [`FragmentError::WrongSize`], [`FragmentError::WrongAlign`];
    /// [`FragmentError::NotAnyBytesAre`] if some bytes are no `T`, unless that is what the values are.
    pub fn plain<T: Plain>(self) -> Result<&'w [T], FragmentError> {
        if is_type::<T>(self.info) {
            return self.slice();
        }
        check_plain::<T>(self.info)?;
        // SAFETY: values of this size and alignment, without padding, and any bytes are a `T`.
        Ok(unsafe { core::slice::from_raw_parts(self.first.cast(), self.len) })
    }

    /// The bytes of the values of a plain fragment.
    ///
    /// # Errors
    /// [`FragmentError::NotPlain`].
    pub fn bytes(self) -> Result<&'w [u8], FragmentError> {
        check_bytes(self.info)?;
        let bytes = self.len * self.info.layout().size();
        // SAFETY: plain values are nothing but their bytes, without padding.
        Ok(unsafe { core::slice::from_raw_parts(self.first, bytes) })
    }

    /// One of them alone: the value at this place, of so many as [there are](Self::len); `None` behind the last. O(1).
    ///
    /// ```
    /// use megachunk::fragment::Values;
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let awake = world.registry().register_plain::<bool>()?.id();
    /// world.create_batch([(true,), (false,)])?;
    /// let mut query = DynamicQuery::builder(&world).read(awake).build()?;
    /// query.read(&world)?.for_each_chunk(|mut chunk| {
    ///     let column: Values<'_> = chunk.read(awake).expect("it was asked for");
    ///     let second = column.row(1).expect("there are two");
    ///     assert_eq!((second.len(), second.bytes()), (1, Ok(&[0][..])));
    ///     assert!(column.row(2).is_none());
    /// });
    /// # Ok::<(), WorldError>(())
    /// ```
    #[must_use]
    pub fn row(self, at: usize) -> Option<Self> {
        if at >= self.len {
            return None;
        }
        let first = self.first.wrapping_add(at * self.info.layout().size());
        // SAFETY: one of the values, by the contract of `new`.
        Some(unsafe { Self::new(self.info, first, 1) })
    }

    /// A clone of the first value, which lives on its own, if values of the fragment can be cloned: what an editor keeps of a
    /// value before it changes that, to [put it back](crate::world::World::add_dynamic), and what it puts into its clipboard.
    /// `None` if not: see [`Value::try_clone`]. O(what the type's `clone` does).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let id = world.registry().register_clone::<String>()?.id();
    /// let ant = world.create((String::from("ant"),))?;
    /// let before = world.get_dynamic(ant, id)?.to_value().expect("a `String` can be cloned");
    /// world.get_mut::<String>(ant)?.push_str("eater");
    /// // Undone. (Who has the fragment gets the value in place of its own.)
    /// world.add_dynamic(ant, before.into())?;
    /// assert_eq!(world.get::<String>(ant)?, "ant");
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Panics
    /// If the type's `clone` does.
    #[must_use]
    pub fn to_value(self) -> Option<Value> {
        self.info.value_clone()?;
        // SAFETY: a value of the fragment, which can be cloned, and is lent for `'w`.
        Some(unsafe { Value::clone_of(self.info, self.first) })
    }

    /// Where the first value lies. To read there is for those who know what was defined.
    #[must_use]
    pub fn as_ptr(self) -> *const u8 {
        self.first
    }
}

/// One or more values of a fragment, one behind the other, to change. See [`Values`].
///
/// ```
/// use core::alloc::Layout;
/// use megachunk::prelude::*;
///
/// let mut world = World::new();
/// let health = world.registry().define_plain("health", Layout::new::<u32>())?.id();
/// let full = Value::from_bytes(world.registry(), health, &100_u32.to_ne_bytes())?;
/// let ant = world.create_dynamic(DynamicBundle::new().with(full))?;
/// world.get_dynamic_mut(ant, health)?.plain::<u32>()?[0] -= 30;
/// assert_eq!(world.get_dynamic(ant, health)?.plain::<u32>()?, [70]);
/// # Ok::<(), WorldError>(())
/// ```
pub struct ValuesMut<'w> {
    info: &'w FragmentInfo,
    first: *mut u8,
    len: usize,
    _lent: PhantomData<&'w mut [u8]>,
}

// SAFETY: lends values of a fragment, which are `Send`, as `&mut [T]` does.
unsafe impl Send for ValuesMut<'_> {}
// SAFETY: lends values to be written only by value; `&` of it reads them, which are `Sync`, for whoever debugs.
unsafe impl Sync for ValuesMut<'_> {}

impl<'w> ValuesMut<'w> {
    /// `len` values that begin at `first`.
    ///
    /// # Safety
    /// There are as many values of the fragment, one at least, and nobody else has them for `'w`.
    pub(crate) unsafe fn new(info: &'w FragmentInfo, first: *mut u8, len: usize) -> Self {
        Self {
            info,
            first: address(info, first),
            len,
            _lent: PhantomData,
        }
    }

    /// What is known of the fragment.
    #[must_use]
    pub fn info(&self) -> &'w FragmentInfo {
        self.info
    }

    /// How many values; one at least.
    #[expect(clippy::len_without_is_empty, reason = "there is one at least")]
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The values, to read, for as long as this is borrowed: so who knows only bytes can look at those of which not all bytes
    /// are a value, a `bool`, a handle, an enum, which are [not lent](Self::bytes) to be changed as such. O(1).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let awake = world.registry().register_plain::<bool>()?.id();
    /// let ant = world.create((true,))?;
    /// let value = world.get_dynamic_mut(ant, awake)?;
    /// let turned = [1 - value.read().bytes()?[0]];
    /// value.set_bytes(&turned)?;
    /// assert_eq!(world.get::<bool>(ant)?, &false);
    /// # Ok::<(), WorldError>(())
    /// ```
    #[must_use]
    pub fn read(&self) -> Values<'_> {
        // SAFETY: the contract of `new`; nobody writes them while this is borrowed.
        unsafe { Values::new(self.info, self.first, self.len) }
    }

    /// The same values, for as long as this is borrowed: most calls take the values away, and these stay. O(1).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let awake = world.registry().register_plain::<bool>()?.id();
    /// let ant = world.create((true,))?;
    /// let mut value = world.get_dynamic_mut(ant, awake)?;
    /// assert!(value.reborrow().set_bytes(&[7]).is_err());
    /// value.set_bytes(&[0])?;
    /// # Ok::<(), WorldError>(())
    /// ```
    #[must_use]
    pub fn reborrow(&mut self) -> ValuesMut<'_> {
        // SAFETY: the contract of `new`; nobody has them by this while it is borrowed.
        unsafe { ValuesMut::new(self.info, self.first, self.len) }
    }

    /// One of them alone, for as long as this is borrowed: the value at this place, of so many as [there are](Self::len);
    /// `None` behind the last. O(1).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let awake = world.registry().register_plain::<bool>()?.id();
    /// let both: Vec<Entity> = world.create_batch([(true,), (true,)])?.iter(&world).collect();
    /// let mut query = DynamicQuery::builder(&world).write(awake).build()?;
    /// query.on(&mut world)?.for_each_chunk(|mut chunk| {
    ///     let mut column = chunk.write(awake).expect("it was asked for");
    ///     let second = column.row(1).expect("there are two");
    ///     second.set_bytes(&[0]).expect("a `bool`");
    /// });
    /// assert_eq!((world.get::<bool>(both[0])?, world.get::<bool>(both[1])?), (&true, &false));
    /// # Ok::<(), WorldError>(())
    /// ```
    #[must_use]
    pub fn row(&mut self, at: usize) -> Option<ValuesMut<'_>> {
        if at >= self.len {
            return None;
        }
        let first = self.first.wrapping_add(at * self.info.layout().size());
        // SAFETY: one of the values, by the contract of `new`; nobody has them by this while it is borrowed.
        Some(unsafe { ValuesMut::new(self.info, first, 1) })
    }

    /// The values as their type.
    ///
    /// # Errors
    /// [`FragmentError::WrongType`].
    #[inline]
    pub fn slice<T: Fragment>(self) -> Result<&'w mut [T], FragmentError> {
        check_type::<T>(self.info)?;
        // SAFETY: values of this type, by the contract of `new`.
        Ok(unsafe { core::slice::from_raw_parts_mut(self.first.cast(), self.len) })
    }

    /// The first value as its type.
    ///
    /// # Errors
    /// As for [`slice`](Self::slice).
    #[inline]
    pub fn value<T: Fragment>(self) -> Result<&'w mut T, FragmentError> {
        Ok(&mut self.slice::<T>()?[0])
    }

    /// The values of a plain fragment as another plain type of the same size.
    ///
    /// # Errors
    /// As for [`Values::plain`]; [`FragmentError::NotAnyBytes`] also if some bytes are no value of the fragment.
    pub fn plain<T: Plain>(self) -> Result<&'w mut [T], FragmentError> {
        if is_type::<T>(self.info) {
            return self.slice();
        }
        check_plain::<T>(self.info)?;
        check_any_bytes(self.info)?;
        // SAFETY: as in `Values::plain`; whatever is written is a value.
        Ok(unsafe { core::slice::from_raw_parts_mut(self.first.cast(), self.len) })
    }

    /// The bytes of the values of a plain fragment.
    ///
    /// # Errors
    /// [`FragmentError::NotPlain`]; [`FragmentError::NotAnyBytes`] if some bytes are no value.
    pub fn bytes(self) -> Result<&'w mut [u8], FragmentError> {
        check_bytes(self.info)?;
        check_any_bytes(self.info)?;
        let bytes = self.len * self.info.layout().size();
        // SAFETY: as in `Values::bytes`; whatever is written is a value.
        Ok(unsafe { core::slice::from_raw_parts_mut(self.first, bytes) })
    }

    /// Gives the values of a plain fragment these bytes, as many as all of them have, if each is a value: what
    /// [`Value::from_bytes`] asks. Of a type of which not all bytes are a value, [`bytes`](Self::bytes) lends none to be
    /// changed; these are looked at first. All are written, or none. O(bytes).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let id = world.registry().register_plain_as::<bool>("awake")?.id();
    /// let ant = world.create((true,))?;
    /// world.get_dynamic_mut(ant, id)?.set_bytes(&[0])?;
    /// assert_eq!(world.get::<bool>(ant)?, &false);
    /// let refused = world.get_dynamic_mut(ant, id)?.set_bytes(&[2]).unwrap_err();
    /// assert!(matches!(refused, FragmentError::NotAValue { .. }));
    /// assert_eq!(world.get::<bool>(ant)?, &false);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// [`FragmentError::NotPlain`], [`FragmentError::WrongSize`], [`FragmentError::NotAValue`].
    ///
    /// # Panics
    /// If the type's own [`Plain::IS_VALUE`] does; nothing is written then.
    pub fn set_bytes(self, bytes: &[u8]) -> Result<(), FragmentError> {
        check_bytes(self.info)?;
        let layout = self.info.layout();
        if bytes.len() != self.len * layout.size() {
            return Err(FragmentError::WrongSize {
                name: self.info.name().into(),
                size: self.len * layout.size(),
                align: layout.align(),
                given: bytes.len(),
            });
        }
        let Some(which) = self.info.which_are_values() else {
            self.write(bytes);
            return Ok(());
        };
        // Of a copy, as in `Value::from_bytes`.
        let copy: SmallVec<[u8; 64]> = bytes.into();
        if which.first_other(&copy, layout.size()).is_some() {
            return Err(FragmentError::NotAValue {
                name: self.info.name().into(),
                of: self.info.plain_type_name().unwrap_or_default(),
            });
        }
        self.write(&copy);
        Ok(())
    }

    /// Writes values of a plain fragment: all of them.
    fn write(self, bytes: &[u8]) {
        debug_assert_eq!(bytes.len(), self.len * self.info.layout().size());
        // SAFETY: as many bytes as the values have, lent to be written by nobody else; who calls has seen that they are values,
        // which are not dropped where they are replaced.
        unsafe {
            self.first
                .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
    }

    /// Replaces the entities that values of a plain fragment name by what they have become, as [`EntityMap::apply`] does with
    /// one whose type is known, and those that values of another one name by the function that was
    /// [registered](crate::fragment::FragmentRegistry::register_map_entities) for its type; whether they can name any. Once per
    /// value: a new handle may be another's old one. (What closures write is also led over [as it is
    /// read](Value::read_from_remapped).)
    ///
    /// If the type's own [`Plain::MAP_ENTITIES`] panics, that value and those behind it are as before; if such a function does,
    /// that value is as it has left it.
    ///
    /// ```
    /// use megachunk::entity::EntityMap;
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let target = world.registry().define_plain_as::<Entity>("target")?.id();
    /// let (there, here) = (world.create(())?, world.create(())?);
    /// let named = Value::from_plain(world.registry(), target, there)?;
    /// let ant = world.create_dynamic(DynamicBundle::new().with(named))?;
    /// let known: EntityMap = [(there, here)].into_iter().collect();
    /// assert!(world.get_dynamic_mut(ant, target)?.map_entities(&known)?);
    /// assert_eq!(world.get_dynamic(ant, target)?.value::<Entity>()?, &here);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// [`FragmentError::NotPlain`], if no function was registered for its type either.
    pub fn map_entities(self, entities: &EntityMap) -> Result<bool, FragmentError> {
        let size = self.info.layout().size();
        let Some(map) = self.info.map_entities() else {
            // What a plain type says itself goes before, as in groups.
            let Some(map) = self.info.map_value() else {
                return check_bytes(self.info).map(|()| false);
            };
            for row in 0..self.len {
                // SAFETY: one of the values, of the type that the function is for, and lent to nobody else.
                unsafe { map.apply(self.first.wrapping_add(row * size), entities) };
            }
            return Ok(true);
        };
        // What is changed is a copy, until it is a value again.
        let mut copy = vec![0; size];
        for row in 0..self.len {
            // SAFETY: one of the values, which are nothing but their bytes, without padding, and lent to nobody else.
            let value =
                unsafe { core::slice::from_raw_parts_mut(self.first.add(row * size), size) };
            copy.copy_from_slice(value);
            map.apply(&mut copy, entities);
            value.copy_from_slice(&copy);
        }
        Ok(true)
    }

    /// Where the first value lies. To write there is for those who know what was defined.
    #[must_use]
    pub fn as_ptr(&mut self) -> *mut u8 {
        self.first
    }
}

/// `first`, or for a tag an address that any slice of it may have.
fn address(info: &FragmentInfo, first: *mut u8) -> *mut u8 {
    if info.layout().size() == 0 {
        core::ptr::without_provenance_mut(info.layout().align())
    } else {
        first
    }
}

/// Whether a fragment's values are of type `T`, in the role that the fragment has, or because it was defined so.
pub(crate) fn is_type<T: Fragment>(info: &FragmentInfo) -> bool {
    // Also all values of a plain fragment that was defined so: whatever bytes they come from are looked at.
    info.value_type() == Some(TypeId::of::<T>())
}

/// Whether a plain fragment's values are of type `T`, or of none, so that any type of as many bytes will do.
pub(crate) fn takes<T: Fragment>(info: &FragmentInfo) -> bool {
    is_type::<T>(info) || info.value_type().is_none()
}

fn check_type<T: Fragment>(info: &FragmentInfo) -> Result<(), FragmentError> {
    if is_type::<T>(info) {
        return Ok(());
    }
    Err(FragmentError::WrongType {
        name: info.name().into(),
        asked: type_name::<T>(),
        untyped: is_meant_as::<T>(info),
    })
}

/// Whether a fragment is plain data of no type that may be meant as a `T`: whether that is plain is not known here.
fn is_meant_as<T: Fragment>(info: &FragmentInfo) -> bool {
    let is_of_a_type = info.value_type().is_some();
    let (layout, asked) = (info.layout(), Layout::new::<T>());
    let fits = layout.size() == asked.size() && layout.align() >= asked.align();
    info.is_plain() && !is_of_a_type && fits && !core::mem::needs_drop::<T>()
}

fn check_bytes(info: &FragmentInfo) -> Result<(), FragmentError> {
    if info.is_plain() {
        return Ok(());
    }
    Err(FragmentError::NotPlain {
        name: info.name().into(),
        kind: info.kind(),
    })
}

/// Whether whatever bytes are written to values of a plain fragment, they are values.
fn check_any_bytes(info: &FragmentInfo) -> Result<(), FragmentError> {
    if info.which_are_values().is_none() {
        return Ok(());
    }
    Err(FragmentError::NotAnyBytes {
        name: info.name().into(),
    })
}

/// Whether a plain fragment's values are `T`s, or can be seen as such.
pub(super) fn check_seen_as<T: Plain>(info: &FragmentInfo) -> Result<(), FragmentError> {
    match info.is_plain() && is_type::<T>(info) {
        true => Ok(()),
        false => check_plain::<T>(info),
    }
}

/// Whether a fragment's values can be seen as values of `T`.
fn check_plain<T: Plain>(info: &FragmentInfo) -> Result<(), FragmentError> {
    check_bytes(info)?;
    if T::IS_VALUE.is_some() {
        return Err(FragmentError::NotAnyBytesAre {
            name: info.name().into(),
            asked: type_name::<T>(),
        });
    }
    let layout = info.layout();
    if layout.size() != size_of::<T>() {
        return Err(FragmentError::WrongSize {
            name: info.name().into(),
            size: layout.size(),
            align: layout.align(),
            given: size_of::<T>(),
        });
    }
    if layout.align() < align_of::<T>() {
        return Err(FragmentError::WrongAlign {
            name: info.name().into(),
            align: layout.align(),
            asked: type_name::<T>(),
        });
    }
    Ok(())
}

impl Values<'_> {
    /// The values, as whoever debugs sees them.
    pub(crate) fn printed(&self) -> Printed<'_> {
        // SAFETY: the contract of `new`.
        unsafe { Printed::new(self.info, self.first, self.len) }
    }
}

impl fmt::Debug for Values<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_counted(self.printed(), f, self.info, self.len)
    }
}

impl fmt::Debug for ValuesMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.read().fmt(f)
    }
}

/// How many there are, of what, and the first of them.
fn write_counted(
    printed: Printed<'_>,
    f: &mut fmt::Formatter<'_>,
    info: &FragmentInfo,
    len: usize,
) -> fmt::Result {
    write!(f, "{len} × {}", info.name())?;
    if !printed.has_something_to_say() {
        return Ok(());
    }
    f.write_str(": ")?;
    fmt::Debug::fmt(&printed, f)
}
