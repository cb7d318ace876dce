//! `Value`: one value of a fragment, its type forgotten.

use core::alloc::Layout;
use core::any::type_name;
use core::ptr::NonNull;

use crate::entity::EntityMap;
use crate::fragment::{
    CloneValue, ConstShared, DropValues, Fragment, FragmentError, FragmentId, FragmentInfo,
    FragmentRegistry, PerChunk, Plain, Shared, SharedFragment, Values, ValuesMut, takes,
};
use crate::panics::{Panicked, note};

/// Owns one value of a fragment whose type is known at run time only. Dropped, it drops the value.
///
/// ```
/// use core::alloc::Layout;
/// use megachunk::fragment::{FragmentRegistry, Value};
///
/// let registry = FragmentRegistry::new();
/// let health = registry.define_plain("health", Layout::new::<u32>())?.id();
/// let full = Value::from_bytes(&registry, health, &100_u32.to_ne_bytes())?;
/// assert_eq!(full.id(), health);
/// assert!(Value::from_bytes(&registry, health, &[1, 2, 3]).is_err());
/// let name = Value::new(&registry, String::from("ant"))?;
/// assert_eq!(registry.get(name.id()).unwrap().kind().to_string(), "fragment");
/// # Ok::<(), megachunk::fragment::FragmentError>(())
/// ```
#[derive(Debug)]
pub struct Value {
    id: FragmentId,
    /// The number of the registry that the fragment stands in.
    registry: u64,
    layout: Layout,
    drop: Option<DropValues>,
    clone: Option<CloneValue>,
    /// Dangling for a value of size zero.
    memory: NonNull<u8>,
}

// SAFETY: values of fragments are `Send`.
unsafe impl Send for Value {}
// SAFETY: values of fragments are `Sync`.
unsafe impl Sync for Value {}

impl Value {
    /// Moves a value out of `from`.
    ///
    /// # Safety
    /// `from` holds a value of the fragment, which the caller does not use again.
    pub(crate) unsafe fn take(info: &FragmentInfo, from: *const u8) -> Self {
        let layout = info.layout();
        let memory = allocate(layout);
        // SAFETY: as many bytes on both sides; the value moves.
        unsafe { from.copy_to_nonoverlapping(memory.as_ptr(), layout.size()) };
        Self {
            id: info.id(),
            registry: info.registry(),
            layout,
            drop: info.drop_values(),
            clone: info.value_clone(),
            memory,
        }
    }

    /// The value of a fragment, or tag, of this type, which is registered if need be.
    ///
    /// # Errors
    /// [`FragmentError::TooMany`].
    pub fn new<T: Fragment>(registry: &FragmentRegistry, value: T) -> Result<Self, FragmentError> {
        Ok(Self::of(registry.register::<T>()?, value))
    }

    /// Makes a value of a type that can be cloned: the fragment is [registered as
    /// such](FragmentRegistry::register_clone), so that a [`Prototype`](crate::world::Prototype)
    /// can hold the value.
    ///
    /// # Errors
    /// [`FragmentError::TooMany`].
    pub fn cloneable<T: Fragment + Clone>(
        registry: &FragmentRegistry,
        value: T,
    ) -> Result<Self, FragmentError> {
        Ok(Self::of(registry.register_clone::<T>()?, value))
    }

    /// A shared value.
    ///
    /// # Errors
    /// [`FragmentError::TooMany`].
    pub fn shared<T: SharedFragment>(
        registry: &FragmentRegistry,
        value: T,
    ) -> Result<Self, FragmentError> {
        Ok(Self::of(registry.register::<Shared<T>>()?, value))
    }

    /// A const shared value.
    ///
    /// # Errors
    /// [`FragmentError::TooMany`].
    pub fn const_shared<T: SharedFragment>(
        registry: &FragmentRegistry,
        value: T,
    ) -> Result<Self, FragmentError> {
        Ok(Self::of(registry.register::<ConstShared<T>>()?, value))
    }

    /// A chunk fragment: what the chunks of a new archetype begin with.
    ///
    /// # Errors
    /// [`FragmentError::TooMany`].
    pub fn per_chunk<T: Fragment + Clone>(
        registry: &FragmentRegistry,
        value: T,
    ) -> Result<Self, FragmentError> {
        Ok(Self::of(registry.register::<PerChunk<T>>()?, value))
    }

    /// The value with these bytes, of a [plain](crate::fragment::Plain) fragment in whatever role: what
    /// a script has in its hands. As many as its [layout](FragmentInfo::layout) has, those included to which the size
    /// was rounded up when it was [defined](FragmentRegistry::define_plain). O(bytes).
    ///
    /// # Errors
    /// [`FragmentError::Unknown`], [`FragmentError::NotPlain`], [`FragmentError::WrongSize`],
    /// [`FragmentError::NotAValue`].
    pub fn from_bytes(
        registry: &FragmentRegistry,
        id: FragmentId,
        bytes: &[u8],
    ) -> Result<Self, FragmentError> {
        let info = registry.get(id).ok_or(FragmentError::Unknown { id })?;
        if !info.is_plain() {
            return Err(FragmentError::NotPlain {
                name: info.name().into(),
                kind: info.kind(),
            });
        }
        if bytes.len() != info.layout().size() {
            return Err(FragmentError::WrongSize {
                name: info.name().into(),
                size: info.layout().size(),
                align: info.layout().align(),
                given: bytes.len(),
            });
        }
        // SAFETY: as many bytes as a value has. If they are none, nobody sees it, and plain values are not dropped.
        let value = unsafe { Self::take(info, bytes.as_ptr()) };
        // SAFETY: bytes that were written above.
        let copied = unsafe { core::slice::from_raw_parts(value.memory.as_ptr(), bytes.len()) };
        // Of the copy: a snapshot's file may change at any time.
        if !info.is_value(copied) {
            return Err(FragmentError::NotAValue {
                name: info.name().into(),
                of: info.plain_type_name().unwrap_or_default(),
            });
        }
        Ok(value)
    }

    /// The value of a [plain](crate::fragment::Plain) fragment in whatever role that has the bytes
    /// of `value`: one that is this type, was [defined](FragmentRegistry::define_plain_as) for values
    /// of it, or for no type, and has as many bytes.
    ///
    /// ```
    /// use megachunk::fragment::{FragmentError, FragmentRegistry, Value};
    ///
    /// let registry = FragmentRegistry::new();
    /// let health = registry.register_plain_as::<i32>("health")?.id();
    /// assert!(Value::from_plain(&registry, health, 55_i32).is_ok());
    /// let refused = Value::from_plain(&registry, health, 55.0_f32).unwrap_err();
    /// assert!(matches!(refused, FragmentError::WrongType { .. }));
    /// # Ok::<(), FragmentError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`from_bytes`](Self::from_bytes), and [`FragmentError::WrongType`]: the fragment is another
    /// type, or was defined for values of one. Where its bytes are meant, they are taken from
    /// [`from_bytes`](Self::from_bytes).
    pub fn from_plain<T: Plain>(
        registry: &FragmentRegistry,
        id: FragmentId,
        value: T,
    ) -> Result<Self, FragmentError> {
        let first = (&raw const value).cast::<u8>();
        // SAFETY: a plain value is nothing but its bytes, without padding.
        let bytes = unsafe { core::slice::from_raw_parts(first, size_of::<T>()) };
        let new = Self::from_bytes(registry, id, bytes)?;
        match registry.get(id) {
            Some(info) if !takes::<T>(info) => Err(FragmentError::WrongType {
                name: info.name().into(),
                asked: type_name::<T>(),
                untyped: false,
            }),
            _ => Ok(new),
        }
    }

    /// The value of a fragment that is [written](FragmentRegistry::register_written_as) that some bytes are, or why they are
    /// none.
    pub(crate) fn read(
        info: &FragmentInfo,
        bytes: &[u8],
        entities: &EntityMap,
    ) -> Result<Self, String> {
        let Some(form) = info.written() else {
            unreachable!("it was said how its values are read")
        };
        let mut value = Self {
            id: info.id(),
            registry: info.registry(),
            layout: info.layout(),
            // There is none yet.
            drop: None,
            clone: info.value_clone(),
            memory: allocate(info.layout()),
        };
        // SAFETY: room for a value of the fragment.
        unsafe { form.read(bytes, entities, value.memory.as_ptr()) }?;
        value.drop = info.drop_values();
        Ok(value)
    }

    /// Moves a value of a fragment out of `from`: for values of fragments that were
    /// [defined](FragmentRegistry::define) at run time and are not plain.
    ///
    /// # Errors
    /// [`FragmentError::Unknown`]; then the value is still the caller's.
    ///
    /// # Safety
    /// `from` holds a value of the fragment, at any alignment, which the caller does not use again.
    pub unsafe fn from_raw(
        registry: &FragmentRegistry,
        id: FragmentId,
        from: *const u8,
    ) -> Result<Self, FragmentError> {
        let info = registry.get(id).ok_or(FragmentError::Unknown { id })?;
        // SAFETY: the caller's.
        Ok(unsafe { Self::take(info, from) })
    }

    /// `value`, of the type that `info` stands for.
    fn of<T: Fragment>(info: &FragmentInfo, value: T) -> Self {
        let value = core::mem::ManuallyDrop::new(value);
        // SAFETY: a value of this fragment, which is not used or dropped again.
        unsafe { Self::take(info, (&raw const value).cast()) }
    }

    /// Whether its fragment stands in this registry: a number means something else in another one.
    pub(crate) fn is_of(&self, info: &FragmentInfo) -> bool {
        self.id == info.id() && self.registry == info.registry()
    }

    /// Whether it can be cloned.
    pub(crate) fn can_be_cloned(&self) -> bool {
        self.clone.is_some()
    }

    /// Moves the value to a place that holds none.
    ///
    /// # Safety
    /// Room for a value of the fragment.
    pub(crate) unsafe fn move_to(mut self, to: *mut u8) {
        // SAFETY: as many bytes on both sides; the value moves, and only its memory is freed here.
        unsafe {
            self.memory
                .as_ptr()
                .copy_to_nonoverlapping(to, self.layout.size());
        }
        self.drop = None;
    }

    /// The fragment that it is a value of.
    #[must_use]
    pub fn id(&self) -> FragmentId {
        self.id
    }

    /// Lends the value, its type checked when it is asked for. O(1).
    ///
    /// ```
    /// use megachunk::fragment::{FragmentRegistry, Value};
    ///
    /// let registry = FragmentRegistry::new();
    /// let mut name = Value::new(&registry, String::from("ant"))?;
    /// name.lend_mut(&registry)?.value::<String>()?.push('s');
    /// assert_eq!(name.lend(&registry)?.value::<String>()?, "ants");
    /// # Ok::<(), megachunk::fragment::FragmentError>(())
    /// ```
    ///
    /// # Errors
    /// [`FragmentError::OtherUniverse`] for a value of another registry.
    pub fn lend<'a>(&'a self, registry: &'a FragmentRegistry) -> Result<Values<'a>, FragmentError> {
        let info = self.info(registry)?;
        // SAFETY: one value of the fragment, which nobody writes while it is borrowed.
        Ok(unsafe { Values::new(info, self.as_ptr(), 1) })
    }

    /// Lends the value to change, its type checked when it is asked for. O(1).
    ///
    /// # Errors
    /// As for [`lend`](Self::lend).
    pub fn lend_mut<'a>(
        &'a mut self,
        registry: &'a FragmentRegistry,
    ) -> Result<ValuesMut<'a>, FragmentError> {
        let info = self.info(registry)?;
        // SAFETY: one value of the fragment, and `&mut self` lends nothing else meanwhile.
        Ok(unsafe { ValuesMut::new(info, self.as_ptr(), 1) })
    }

    /// Another value like it, if values of its fragment can be cloned, as was known when it was made: of a fragment that is
    /// [registered as such](FragmentRegistry::register_clone), of plain data in whatever role, or
    /// [defined](FragmentRegistry::define) with a function that does it. `None` if not: [`cloneable`](Self::cloneable) makes
    /// values that can. O(what the type's `clone` does).
    ///
    /// What a redo needs, say: the bundle of values goes into the world, and a clone of each stays in the list of what was
    /// done.
    ///
    /// ```
    /// use megachunk::fragment::{FragmentRegistry, Value};
    ///
    /// struct Secret;
    ///
    /// let registry = FragmentRegistry::new();
    /// let name = Value::cloneable(&registry, String::from("ant"))?;
    /// let twin = name.try_clone().expect("a `String` can be cloned, and that was said");
    /// drop(name);
    /// assert_eq!(twin.lend(&registry)?.value::<String>()?, "ant");
    /// assert!(Value::new(&registry, Secret)?.try_clone().is_none());
    /// # Ok::<(), megachunk::fragment::FragmentError>(())
    /// ```
    ///
    /// # Panics
    /// If the type's `clone` does; the value is as before.
    #[must_use]
    pub fn try_clone(&self) -> Option<Self> {
        self.is_cloneable().then(|| self.duplicate())
    }

    /// What its registry knows of its fragment.
    fn info<'a>(&self, registry: &'a FragmentRegistry) -> Result<&'a FragmentInfo, FragmentError> {
        let info = registry.get(self.id).filter(|info| self.is_of(info));
        info.ok_or(FragmentError::OtherUniverse { id: self.id })
    }

    /// Whether it can be cloned: that it may was said before the value was made.
    pub(crate) fn is_cloneable(&self) -> bool {
        self.clone.is_some()
    }

    /// Bytes of the value.
    pub(crate) fn size(&self) -> usize {
        self.layout.size()
    }

    /// Where it lies.
    #[inline]
    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.memory.as_ptr()
    }

    /// Clones the value to a place that holds none.
    ///
    /// # Safety
    /// Room for a value of the fragment, which can be cloned.
    pub(crate) unsafe fn clone_to(&self, to: *mut u8) {
        match self.clone {
            // SAFETY: the caller's; the value is of this type.
            Some(clone) => unsafe { clone(self.memory.as_ptr(), to, self.layout.size()) },
            None => unreachable!("fragments without a clone function are not templates"),
        }
    }

    /// Another value, equal to this one, of a fragment that can be cloned.
    pub(crate) fn duplicate(&self) -> Self {
        // SAFETY: room for a value of this fragment.
        unsafe { self.duplicate_by(|to| self.clone_to(to)) }
    }

    /// Another value of this fragment, which `clone` writes to where it is told.
    ///
    /// # Safety
    /// `clone` writes one, or panics.
    pub(crate) unsafe fn duplicate_by(&self, clone: impl FnOnce(*mut u8)) -> Self {
        let memory = allocate(self.layout);
        let copy = Self {
            id: self.id,
            registry: self.registry,
            layout: self.layout,
            drop: None,
            clone: self.clone,
            memory,
        };
        // If `clone` panics, `copy` frees the memory and drops nothing.
        clone(memory.as_ptr());
        Self {
            drop: self.drop,
            memory: core::mem::ManuallyDrop::new(copy).memory,
            id: self.id,
            registry: self.registry,
            layout: self.layout,
            clone: self.clone,
        }
    }

    /// A clone of a value that lies elsewhere.
    ///
    /// # Safety
    /// `from` holds a value of the fragment, which can be cloned.
    pub(crate) unsafe fn clone_of(info: &FragmentInfo, from: *const u8) -> Self {
        let layout = info.layout();
        let mut new = Self {
            id: info.id(),
            registry: info.registry(),
            layout,
            drop: None,
            clone: info.value_clone(),
            memory: allocate(layout),
        };
        match new.clone {
            // SAFETY: the caller's, and room for a value. If `clone` panics, `new` frees it and drops nothing.
            Some(clone) => unsafe { clone(from, new.as_ptr(), layout.size()) },
            None => unreachable!("it can be cloned"),
        }
        new.drop = info.drop_values();
        new
    }

    /// Drops a value of the same fragment that lies elsewhere.
    ///
    /// # Safety
    /// `at` holds a value of this fragment, which nobody uses again.
    pub(crate) unsafe fn drop_at(&self, at: *mut u8) -> Panicked {
        let mut panicked = None;
        if let Some(drop) = self.drop {
            // SAFETY: the caller's.
            note(&mut panicked, || unsafe { drop(at, 1) });
        }
        panicked
    }
}

fn allocate(layout: Layout) -> NonNull<u8> {
    if layout.size() == 0 {
        return NonNull::without_provenance(
            core::num::NonZeroUsize::new(layout.align()).expect("an alignment is not zero"),
        );
    }
    // SAFETY: the size is not zero.
    let memory = unsafe { std::alloc::alloc(layout) };
    NonNull::new(memory).unwrap_or_else(|| std::alloc::handle_alloc_error(layout))
}

impl Drop for Value {
    fn drop(&mut self) {
        struct Free(NonNull<u8>, Layout);
        impl Drop for Free {
            fn drop(&mut self) {
                if self.1.size() > 0 {
                    // SAFETY: from `alloc` with this layout.
                    unsafe { std::alloc::dealloc(self.0.as_ptr(), self.1) };
                }
            }
        }
        // Also if the value's own drop panics.
        let _free = Free(self.memory, self.layout);
        if let Some(drop) = self.drop {
            // SAFETY: the value is owned, and ends here.
            unsafe { drop(self.memory.as_ptr(), 1) };
        }
    }
}
