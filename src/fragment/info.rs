//! `FragmentInfo`: what is known of a fragment without its type.

use core::alloc::Layout;
use core::any::{TypeId, type_name};
use core::fmt;
use std::borrow::Cow;
#[cfg(not(loom))]
use std::sync::Arc;
use std::sync::OnceLock;

#[cfg(not(loom))]
use crate::entity::EntityMap;
use crate::fragment::{
    Fragment, FragmentError, FragmentKind, IsValue, MapEntities, Plain, PlainField, PlainVariant,
    SharedFragment,
};
use crate::sync::atomic::{AtomicU32, Ordering};

/// A fragment's number in its registry: below 65,535, in the order of registration.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FragmentId(u16);

impl FragmentId {
    /// The fragment with this number. Of use for tests and tables: a number that no registry gave out
    /// is refused wherever it is passed.
    ///
    /// ```
    /// use megachunk::fragment::FragmentId;
    ///
    /// assert_eq!(FragmentId::from_number(7).to_string(), "#7");
    /// ```
    #[must_use]
    pub const fn from_number(number: u16) -> Self {
        Self(number)
    }

    /// The number.
    #[inline(always)]
    #[must_use]
    pub const fn number(self) -> u16 {
        self.0
    }
}

impl fmt::Debug for FragmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The number, as errors show it: `#7`.
impl fmt::Display for FragmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// Drops `count` values that lie one behind the other.
pub type DropValues = unsafe fn(values: *mut u8, count: usize);
/// Clones the value at `from`, of `size` bytes, to `to`, which holds none.
pub type CloneValue = unsafe fn(from: *const u8, to: *mut u8, size: usize);
/// Writes a value for whoever debugs, as its [`Debug`](fmt::Debug) does; of a value without a size any address will do.
pub type DebugValue = unsafe fn(value: *const u8, f: &mut fmt::Formatter<'_>) -> fmt::Result;
/// Compares and hashes shared values.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(loom, expect(dead_code, reason = "models have no shared values"))]
pub(crate) struct SharedOps {
    pub(crate) equal: unsafe fn(*const u8, *const u8) -> bool,
    pub(crate) hash: unsafe fn(*const u8) -> u64,
}

/// How a value of a type comes to name other entities: a user's function, its type forgotten.
#[cfg(not(loom))]
#[derive(Clone)]
pub(crate) struct MapValue(Arc<MapAt>);

/// Changes the value at an address.
#[cfg(not(loom))]
type MapAt = dyn Fn(*mut u8, &EntityMap) + Send + Sync;

#[cfg(not(loom))]
impl MapValue {
    fn of<T: Fragment>(map: impl Fn(&mut T, &EntityMap) + Send + Sync + 'static) -> Self {
        let map = move |value: *mut u8, entities: &EntityMap| {
            // SAFETY: a value of this type, which nobody else has: see `apply`.
            map(unsafe { &mut *address::<T>(value) }, entities);
        };
        Self(Arc::new(map))
    }

    /// Changes the entities that a value names to those that they have become.
    ///
    /// # Safety
    /// `value` is one of the fragment that this is of, and nobody else has it.
    pub(crate) unsafe fn apply(&self, value: *mut u8, entities: &EntityMap) {
        (self.0)(value, entities);
    }
}

// Who holds one need not say in which state a closure of the user's is after a panic: that is theirs, as of all they share.
#[cfg(not(loom))]
impl core::panic::UnwindSafe for MapValue {}
#[cfg(not(loom))]
impl core::panic::RefUnwindSafe for MapValue {}

#[cfg(not(loom))]
impl fmt::Debug for MapValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MapValue")
    }
}

/// What can be asked for later than at the registration.
#[derive(Debug, Default)]
struct Extras {
    clone: OnceLock<CloneValue>,
    debug: OnceLock<DebugValue>,
    #[cfg(not(loom))]
    fill: OnceLock<crate::fragment::FillValues>,
    /// What leads over the entities that a value names which is not plain.
    #[cfg(not(loom))]
    map: OnceLock<MapValue>,
    /// What is known of how values are saved and hashed; the first that is said.
    saved: OnceLock<SavedAs>,
    /// Which one it is of those that can be switched off, from 1 on, in the order of that being said.
    /// 0: none. Changes once.
    enableable: AtomicU32,
}

/// What is known of a fragment: its name, role and size, and how to drop its values.
#[derive(Debug)]
#[cfg_attr(loom, expect(dead_code, reason = "models have no values"))]
#[doc(alias = "reflect")]
pub struct FragmentInfo {
    id: FragmentId,
    /// The number of the registry that it stands in, unique in the process.
    registry: u64,
    name: Cow<'static, str>,
    kind: FragmentKind,
    layout: Layout,
    drop: Option<DropValues>,
    /// The type, in its role (`Shared<T>` for a shared `T`); `None` if it was defined at run time.
    role: Option<TypeId>,
    shared: Option<SharedOps>,
    /// The type that the values are of, whatever the role; of one that was defined at run time if that was said.
    values_of: Option<TypeId>,
    extras: Extras,
}

/// A fragment that is to be registered: all but its number.
#[derive(Debug)]
pub(crate) struct FragmentDraft {
    pub(crate) name: Cow<'static, str>,
    pub(crate) kind: FragmentKind,
    pub(crate) layout: Layout,
    pub(crate) drop: Option<DropValues>,
    pub(crate) role: Option<RoleOfType>,
    pub(crate) shared: Option<SharedOps>,
    pub(crate) clone: Option<CloneValue>,
    pub(crate) debug: Option<DebugValue>,
    pub(crate) plain: Option<PlainValues>,
}

/// A type in a role.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoleOfType {
    /// The type, in its role: see [`FragmentInfo`].
    role: TypeId,
    /// The type itself.
    of: TypeId,
}

/// What is asked of bytes that are plain values.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(loom, expect(dead_code, reason = "models have no values"))]
struct PlainOps {
    /// What the type is called, if there is one.
    type_name: Option<fn() -> &'static str>,
    /// What says which bytes are a value, if not all are.
    is_value: Option<IsValue>,
    /// What changes the entities that a value names, if it can name some.
    map_entities: Option<MapEntities>,
    /// What tells apart types whose values have as many bytes; 0 if that is not known.
    shape: u64,
    /// The fields of the type, if they are known.
    fields: &'static [PlainField],
    /// Its variants, if it is an enum.
    variants: &'static [PlainVariant],
}

impl PlainOps {
    /// Whatever bytes there are.
    const ANY_BYTES: Self = Self {
        type_name: None,
        is_value: None,
        map_entities: None,
        shape: 0,
        fields: &[],
        variants: &[],
    };

    const fn of<T: Plain>() -> Self {
        Self {
            type_name: Some(type_name::<T>),
            is_value: T::IS_VALUE,
            map_entities: T::MAP_ENTITIES,
            shape: T::SHAPE,
            fields: T::FIELDS,
            variants: T::VARIANTS,
        }
    }
}

/// How values become bytes, and come back.
#[derive(Debug)]
enum SavedAs {
    /// They are nothing but their bytes; and what is asked of the type.
    Plain(PlainOps),
    /// As closures say.
    #[cfg(not(loom))]
    Written(crate::fragment::WrittenForm),
}

/// What values that are plain data are, of a fragment that no type stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlainValues {
    ops: PlainOps,
    /// The type that they are of, if it was said.
    of: Option<TypeId>,
}

impl PlainValues {
    /// Whatever bytes there are.
    pub(crate) const ANY_BYTES: Self = Self {
        ops: PlainOps::ANY_BYTES,
        of: None,
    };

    /// Values of a type.
    pub(crate) fn of<T: Plain>() -> Self {
        Self {
            ops: PlainOps::of::<T>(),
            of: Some(TypeId::of::<T>()),
        }
    }
}

impl FragmentDraft {
    /// `T` in the role that `R` names.
    fn of<R: 'static, T: Fragment>(kind: FragmentKind) -> Self {
        Self {
            name: type_name::<T>().into(),
            kind,
            layout: Layout::new::<T>(),
            drop: core::mem::needs_drop::<T>().then_some(drop_values::<T>),
            role: Some(RoleOfType {
                role: TypeId::of::<R>(),
                of: TypeId::of::<T>(),
            }),
            shared: None,
            clone: None,
            debug: None,
            plain: None,
        }
    }

    /// `T` as a fragment of its own, or a tag.
    pub(crate) fn fragment<T: Fragment>() -> Self {
        let kind = if size_of::<T>() == 0 {
            FragmentKind::Tag
        } else {
            FragmentKind::Fragment
        };
        Self::of::<T, T>(kind)
    }

    /// `T` as a chunk fragment.
    pub(crate) fn chunk<T: Fragment + Clone>() -> Self {
        Self {
            clone: Some(clone_value::<T>),
            ..Self::of::<crate::fragment::PerChunk<T>, T>(FragmentKind::Chunk)
        }
    }

    /// `T` as a shared fragment.
    pub(crate) fn shared<T: SharedFragment>() -> Self {
        Self {
            shared: Some(shared_ops::<T>()),
            ..Self::of::<crate::fragment::Shared<T>, T>(FragmentKind::Shared)
        }
    }

    /// `T` as a const shared fragment.
    pub(crate) fn const_shared<T: SharedFragment>() -> Self {
        Self {
            shared: Some(shared_ops::<T>()),
            ..Self::of::<crate::fragment::ConstShared<T>, T>(FragmentKind::ConstShared)
        }
    }

    /// The type that stands for it, in its role.
    pub(crate) fn role(&self) -> Option<TypeId> {
        self.role.map(|role| role.role)
    }

    /// The same with another name than the type's.
    pub(crate) fn named(self, name: &str) -> Self {
        Self {
            name: String::from(name).into(),
            ..self
        }
    }

    /// The fragment with its number, and that of its registry.
    pub(crate) fn numbered(self, number: u16, registry: u64) -> FragmentInfo {
        let (extras, role) = (Extras::default(), self.role());
        if let Some(clone) = self.clone {
            let _ = extras.clone.set(clone);
        }
        if let Some(debug) = self.debug {
            let _ = extras.debug.set(debug);
        }
        if let Some(plain) = self.plain {
            let _ = extras.saved.set(SavedAs::Plain(plain.ops));
        }
        FragmentInfo {
            id: FragmentId(number),
            registry,
            name: self.name,
            kind: self.kind,
            layout: self.layout,
            drop: self.drop,
            role,
            shared: self.shared,
            values_of: match self.role {
                Some(role) => Some(role.of),
                None => self.plain.and_then(|plain| plain.of),
            },
            extras,
        }
    }
}

unsafe fn drop_values<T>(values: *mut u8, count: usize) {
    // SAFETY: the caller passes `count` values of this type.
    unsafe { core::ptr::slice_from_raw_parts_mut(address::<T>(values), count).drop_in_place() };
}

unsafe fn clone_value<T: Clone>(from: *const u8, to: *mut u8, _size: usize) {
    // SAFETY: the caller passes a value of this type, and room for one.
    unsafe { address::<T>(to).write((*address::<T>(from.cast_mut())).clone()) };
}

unsafe fn debug_value<T: fmt::Debug>(value: *const u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    // SAFETY: the caller passes a value of this type, which nobody writes meanwhile.
    unsafe { &*address::<T>(value.cast_mut()) }.fmt(f)
}

/// Where a value is. Those without a size have no place in a chunk: any aligned address will do.
#[inline(always)]
pub(super) fn address<T>(value: *mut u8) -> *mut T {
    if size_of::<T>() == 0 {
        core::ptr::without_provenance_mut(align_of::<T>())
    } else {
        value.cast()
    }
}

/// Clones a value that is nothing but its bytes.
pub(crate) unsafe fn clone_bytes(from: *const u8, to: *mut u8, size: usize) {
    // SAFETY: the caller passes a value of `size` bytes, and room for one.
    unsafe { from.copy_to_nonoverlapping(to, size) };
}

fn shared_ops<T: SharedFragment>() -> SharedOps {
    unsafe fn equal<T: Eq>(a: *const u8, b: *const u8) -> bool {
        // SAFETY: the caller passes two values of this type.
        unsafe { *a.cast::<T>() == *b.cast::<T>() }
    }
    unsafe fn hash<T: core::hash::Hash>(value: *const u8) -> u64 {
        use core::hash::Hasher;
        // Without a random seed: the same program does the same in every run.
        let mut hasher = std::hash::DefaultHasher::new();
        // SAFETY: the caller passes a value of this type.
        unsafe { &*value.cast::<T>() }.hash(&mut hasher);
        hasher.finish()
    }
    SharedOps {
        equal: equal::<T>,
        hash: hash::<T>,
    }
}

impl FragmentInfo {
    /// The fragment's number.
    #[inline(always)]
    #[must_use]
    pub fn id(&self) -> FragmentId {
        self.id
    }

    /// The type's name, or the one that it was registered or defined with.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it was given its name, and is not called by its type's path.
    #[cfg(not(loom))]
    pub(crate) fn is_named(&self) -> bool {
        matches!(self.name, Cow::Owned(_))
    }

    /// What it is, for those who know it by its name: what was defined, or which type has the name.
    #[cfg(not(loom))]
    pub(crate) fn origin(&self) -> String {
        let of = self.plain_type_name();
        match (self.role, self.is_named(), of) {
            (None, _, Some(of)) => format!("one that was defined at run time, with values of {of}"),
            (None, _, None) => "one that was defined at run time".into(),
            (Some(_), true, Some(of)) => format!("the type {of}, which was given the name"),
            (Some(_), true, None) => "a type that was given the name".into(),
            (Some(_), false, _) => "a type whose path it is".into(),
        }
    }

    /// The role.
    #[must_use]
    pub fn kind(&self) -> FragmentKind {
        self.kind
    }

    /// Size and alignment of a value, in bytes.
    #[inline(always)]
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// How values are dropped; `None` if they need not be.
    #[inline(always)]
    #[must_use]
    pub fn drop_values(&self) -> Option<DropValues> {
        self.drop
    }

    /// How a value is cloned; `None` unless that was [registered](crate::fragment::FragmentRegistry::register_clone).
    #[must_use]
    pub fn clone_value(&self) -> Option<CloneValue> {
        self.extras.clone.get().copied()
    }

    /// How a value that lies alone is cloned; `None` if there [may be no second one](Self::may_be_doubled).
    #[cfg(not(loom))]
    pub(crate) fn value_clone(&self) -> Option<CloneValue> {
        match self.clone_value() {
            // Plain values are `Copy`, and there is nothing to a name that would have to be cloned.
            None if self.is_plain() || self.is_name() => Some(clone_bytes),
            clone => clone,
        }
    }

    /// How a value is written for whoever debugs; `None` unless that was
    /// [registered](crate::fragment::FragmentRegistry::register_debug).
    #[must_use]
    pub fn debug_value(&self) -> Option<DebugValue> {
        self.extras.debug.get().copied()
    }

    /// How many clones of a value are made at once; `None` if it has no type, or cannot be cloned.
    #[cfg(not(loom))]
    pub(crate) fn fill_values(&self) -> Option<crate::fragment::FillValues> {
        self.extras.fill.get().copied()
    }

    /// What leads over the entities that a value names, if a function was
    /// [registered](crate::fragment::FragmentRegistry::register_map_entities) for the type.
    #[cfg(not(loom))]
    pub(crate) fn map_value(&self) -> Option<&MapValue> {
        self.extras.map.get()
    }

    /// Whether its values are plain data, which may be hashed and saved byte by byte.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.plain().is_some()
    }

    /// Whether it was [said](crate::fragment::FragmentRegistry::register_written_as) how its values, which are more than
    /// their bytes, are written and read. O(1).
    ///
    /// ```
    /// use megachunk::fragment::FragmentRegistry;
    ///
    /// let registry = FragmentRegistry::new();
    /// let words = registry.register_written_as(
    ///     "words",
    ///     |words: &String, bytes| bytes.extend(words.as_bytes()),
    ///     |bytes, _| String::from_utf8(bytes.to_vec()),
    /// )?;
    /// assert!(words.is_written() && !words.is_plain());
    /// # Ok::<(), megachunk::fragment::FragmentError>(())
    /// ```
    #[cfg(not(loom))]
    #[must_use]
    pub fn is_written(&self) -> bool {
        self.written().is_some()
    }

    /// How its values are written and read, if that was said.
    #[cfg(not(loom))]
    pub(crate) fn written(&self) -> Option<&crate::fragment::WrittenForm> {
        match self.extras.saved.get()? {
            SavedAs::Plain(_) => None,
            SavedAs::Written(form) => Some(form),
        }
    }

    /// What is asked of its values, if they are plain.
    fn plain(&self) -> Option<&PlainOps> {
        match self.extras.saved.get()? {
            SavedAs::Plain(plain) => Some(plain),
            #[cfg(not(loom))]
            SavedAs::Written(_) => None,
        }
    }

    /// The type that its values are of, whatever their role; `None` if it was defined at run time without
    /// [one](crate::fragment::FragmentRegistry::define_plain_as). By it an editor finds what it shows values of a type with.
    /// O(1).
    ///
    /// ```
    /// use core::any::TypeId;
    /// use megachunk::fragment::FragmentRegistry;
    ///
    /// let registry = FragmentRegistry::new();
    /// assert_eq!(registry.register_shared::<u8>()?.value_type(), Some(TypeId::of::<u8>()));
    /// assert_eq!(registry.define_plain_as::<f32>("speed")?.value_type(), Some(TypeId::of::<f32>()));
    /// # Ok::<(), megachunk::fragment::FragmentError>(())
    /// ```
    #[must_use]
    pub fn value_type(&self) -> Option<TypeId> {
        self.values_of
    }

    /// Whether bytes, as many as a value has, are one. The fragment is plain.
    #[cfg(not(loom))]
    pub(crate) fn is_value(&self, bytes: &[u8]) -> bool {
        self.which_are_values()
            .is_none_or(|is_value| is_value(bytes))
    }

    /// What says which bytes are a value, if not all are. The fragment is plain.
    #[cfg(not(loom))]
    pub(crate) fn which_are_values(&self) -> Option<IsValue> {
        self.plain()?.is_value
    }

    /// What the type of its values is called, if it is plain and they are of one.
    #[cfg(not(loom))]
    pub(crate) fn plain_type_name(&self) -> Option<&'static str> {
        self.plain()?.type_name.map(|name| name())
    }

    /// What changes the entities that a value names, if it can name some. The fragment is plain.
    #[cfg(not(loom))]
    pub(crate) fn map_entities(&self) -> Option<MapEntities> {
        self.plain()?.map_entities
    }

    /// The [shape](Plain::SHAPE) of the type of its values, to be compared with that of a type; 0 if that is not known, as of
    /// one that was defined by its layout alone, or if it is not plain. O(1).
    ///
    /// ```
    /// use megachunk::entity::Entity;
    /// use megachunk::fragment::{FragmentRegistry, Plain};
    ///
    /// let registry = FragmentRegistry::new();
    /// let target = registry.define_plain_as::<Entity>("target")?;
    /// let health = registry.register_plain_as::<u64>("health")?;
    /// assert!(target.shape() == Entity::SHAPE && health.shape() != Entity::SHAPE);
    /// # Ok::<(), megachunk::fragment::FragmentError>(())
    /// ```
    #[cfg(not(loom))]
    #[must_use]
    pub fn shape(&self) -> u64 {
        self.plain().map_or(0, |plain| plain.shape)
    }

    /// The fields of a value, in the order in which they lie, if it is plain and its type a struct that
    /// [`plain!`](crate::plain) has made so; else none. For inspectors and scripts, which have a value's
    /// [bytes](crate::fragment::Values::bytes): [`PlainField`] has an example. O(1).
    #[must_use]
    pub fn fields(&self) -> &'static [PlainField] {
        self.plain().map_or(&[], |plain| plain.fields)
    }

    /// The variants, if it is plain and its type an enum that [`plain!`](crate::plain) has made so; else none. O(1).
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// #[derive(Clone, Copy)]
    /// #[repr(u8)]
    /// enum Mood { Calm, Angry = 7 }
    /// megachunk::plain!(enum Mood { Calm, Angry });
    ///
    /// let mut world = World::new();
    /// let mood = world.registry().register_plain::<Mood>()?;
    /// let (id, variants) = (mood.id(), mood.variants());
    /// assert_eq!(variants[1].name(), "Angry");
    /// // What a menu of an editor does.
    /// let ant = world.create((Mood::Calm,))?;
    /// world.get_dynamic_mut(ant, id)?.set_bytes(variants[1].bytes())?;
    /// assert!(matches!(world.get::<Mood>(ant)?, Mood::Angry));
    /// # Ok::<(), WorldError>(())
    /// ```
    #[must_use]
    pub fn variants(&self) -> &'static [PlainVariant] {
        self.plain().map_or(&[], |plain| plain.variants)
    }

    /// Whether it can be switched off and on for each entity.
    #[must_use]
    pub fn is_enableable(&self) -> bool {
        // Ordering: Acquire pairs with the Release in `set_enableable`: who sees this asks for the count after it was
        // begun, and finds it in it.
        self.extras.enableable.load(Ordering::Acquire) != 0
    }

    /// Whether it is one of the first `count` that can be: the answer for a count that the registry gave is always the
    /// same.
    pub(crate) fn is_enableable_among(&self, count: u32) -> bool {
        // Ordering: Relaxed: who has the count has seen the numbers that are in it.
        let number = self.extras.enableable.load(Ordering::Relaxed);
        (1..=count).contains(&number)
    }

    /// Whether there may be a second value where there is one, for all that is known: it can be cloned, or it is
    /// nothing but a name. A value of a type may mean something, even without bytes: only the type's owner may make
    /// another.
    #[cfg(not(loom))]
    pub(crate) fn may_be_doubled(&self) -> bool {
        self.is_name() || self.clone_value().is_some()
    }

    /// Whether it is nothing but a name: a tag of no type, of which nothing is called when it goes.
    #[cfg(not(loom))]
    pub(crate) fn is_name(&self) -> bool {
        self.kind == FragmentKind::Tag && self.role.is_none() && self.drop.is_none()
    }

    #[inline]
    pub(crate) fn role(&self) -> Option<TypeId> {
        self.role
    }

    /// The number of its registry, unique in the process.
    #[cfg(not(loom))]
    pub(crate) fn registry(&self) -> u64 {
        self.registry
    }

    #[cfg(not(loom))]
    pub(crate) fn shared_ops(&self) -> Option<SharedOps> {
        self.shared
    }

    pub(crate) fn set_clone<T: Clone>(&self) {
        let _ = self.extras.clone.set(clone_value::<T>);
        #[cfg(not(loom))]
        let _ = self
            .extras
            .fill
            .set(crate::fragment::fill::fill_values::<T>);
    }

    /// Values, which are `T`s, are written by its `Debug` from now on, if nobody has said otherwise.
    pub(crate) fn set_debug<T: fmt::Debug>(&self) {
        let _ = self.extras.debug.set(debug_value::<T>);
    }

    /// Values, which are `T`s, come to name others by `map`, if nobody has said otherwise.
    #[cfg(not(loom))]
    pub(crate) fn set_map<T: Fragment>(
        &self,
        map: impl Fn(&mut T, &EntityMap) + Send + Sync + 'static,
    ) {
        let _ = self.extras.map.set(MapValue::of(map));
    }

    /// Its values, which are `T`s, are plain data from now on, unless something else was said of how they are saved.
    pub(crate) fn set_plain<T: Plain>(&self) -> Result<(), FragmentError> {
        let _ = self.extras.saved.set(SavedAs::Plain(PlainOps::of::<T>()));
        self.expect_saved(self.is_plain())
    }

    /// Its values are written and read in this form from now on, unless something else was said of how they are saved.
    #[cfg(not(loom))]
    pub(crate) fn set_written(
        &self,
        form: crate::fragment::WrittenForm,
    ) -> Result<(), FragmentError> {
        let _ = self.extras.saved.set(SavedAs::Written(form));
        self.expect_saved(self.is_written())
    }

    fn expect_saved(&self, so: bool) -> Result<(), FragmentError> {
        match so {
            true => Ok(()),
            false => Err(FragmentError::SavedOtherwise {
                name: (&*self.name).into(),
                is_plain: self.is_plain(),
            }),
        }
    }

    pub(crate) fn set_enableable(&self, number: u32) {
        // Ordering: Release, see `is_enableable`.
        self.extras.enableable.store(number, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    std::thread_local! {
        /// The bits of all addresses that were seen.
        static SEEN: Cell<usize> = const { Cell::new(0) };
    }

    fn see(wide: &Wide) {
        SEEN.set(SEEN.get() | core::ptr::from_ref(wide).addr());
    }

    #[repr(align(4096))]
    struct Wide;

    impl Clone for Wide {
        fn clone(&self) -> Self {
            see(self);
            Self
        }
    }

    impl Drop for Wide {
        fn drop(&mut self) {
            see(self);
        }
    }

    #[test]
    fn values_without_a_size_are_aligned_where_they_are_cloned_and_dropped() {
        let mut memory = [0_u8; 2];
        let [from, to] = &mut memory;
        // SAFETY: values without a size are anywhere.
        unsafe {
            clone_value::<Wide>(from, to, 0);
            drop_values::<Wide>(to, 3);
        }
        assert_eq!(SEEN.get() % 4096, 0);
        assert_ne!(SEEN.get(), 0);
    }
}
