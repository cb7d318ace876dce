//! `FragmentInfo`: what is known of a fragment without its type.

mod draft;
mod extras;
mod functions;
mod id;
#[cfg(not(loom))]
mod map_value;
mod of_bytes;
mod saved_as;

use core::alloc::Layout;
use core::any::TypeId;
use std::borrow::Cow;

use crate::fragment::{FragmentKind, PlainField, PlainVariant, Required};
use crate::sync::atomic::Ordering;

use extras::Extras;
use saved_as::{PlainOps, SavedAs};

pub(crate) use draft::FragmentDraft;
#[cfg(not(loom))]
pub(super) use functions::address;
pub use functions::{CloneValue, DebugValue, DropValues};
pub(crate) use functions::{SharedOps, clone_bytes};
pub use id::FragmentId;
#[cfg(not(loom))]
pub(crate) use map_value::MapValue;
#[cfg(not(loom))]
pub(crate) use of_bytes::{MapPlain, WhichAreValues};
pub(crate) use saved_as::PlainValues;

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
    /// let words = registry.register_written_as::<String, _, _>(
    ///     "words",
    ///     |words, bytes| bytes.extend(words.as_bytes()),
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

    /// Whether its values become bytes, and values again: they are plain, or written, or nothing but a name. (A value of a
    /// type, or one whose end is told to somebody, may mean something, even without bytes: only its owner may make one.)
    #[cfg(not(loom))]
    pub(crate) fn has_written_form(&self) -> bool {
        self.is_plain() || self.is_written() || self.is_name()
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
    /// use megachunk::fragment::{FragmentRegistry, Shared};
    ///
    /// let registry = FragmentRegistry::new();
    /// assert_eq!(registry.register::<Shared<u8>>()?.value_type(), Some(TypeId::of::<u8>()));
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
        self.which_are_values().is_none_or(|which| which.has(bytes))
    }

    /// What says which bytes are a value, if not all are. The fragment is plain.
    #[cfg(not(loom))]
    pub(crate) fn which_are_values(&self) -> Option<&WhichAreValues> {
        self.plain()?.is_value.as_ref()
    }

    /// What the type of its values is called, if it is plain and they are of one.
    #[cfg(not(loom))]
    pub(crate) fn plain_type_name(&self) -> Option<&'static str> {
        self.plain()?.type_name.map(|name| name())
    }

    /// What changes the entities that a value names, if it can name some. The fragment is plain.
    #[cfg(not(loom))]
    pub(crate) fn map_entities(&self) -> Option<&MapPlain> {
        self.plain()?.map_entities.as_ref()
    }

    /// The struct that it was [defined](crate::fragment::FragmentRegistry::define_struct) as, if it was.
    #[cfg(not(loom))]
    pub(crate) fn defined(&self) -> Option<&std::sync::Arc<crate::fragment::DefinedStruct>> {
        self.plain()?.defined.as_ref()
    }

    /// The [shape](crate::fragment::Plain::SHAPE) of the type of its values, to be compared with that of a type; 0 if that is
    /// not known, as of one that was defined by its layout alone, or if it is not plain. O(1).
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
    /// [`plain!`](crate::plain) has made so, or if it was [defined](crate::fragment::FragmentRegistry::define_struct) as one; else
    /// none. For inspectors and scripts, which have a value's
    /// [bytes](crate::fragment::Values::bytes): [`PlainField`] has an example. O(1).
    #[must_use]
    pub fn fields(&self) -> &[PlainField] {
        #[cfg(not(loom))]
        if let Some(defined) = self.defined() {
            return defined.fields();
        }
        self.plain().map_or(&[], |plain| plain.fields)
    }

    /// How many elements a value has, and what each is, if it is plain and its type an array: see [`PlainField::elements`].
    /// O(1).
    ///
    /// ```
    /// use megachunk::fragment::FragmentRegistry;
    ///
    /// let registry = FragmentRegistry::new();
    /// let ring = registry.define_plain_as::<[u16; 6]>("ring")?;
    /// let (count, element) = ring.elements().expect("an array");
    /// assert_eq!((count, element.size(), element.type_name()), (6, 2, "u16"));
    /// # Ok::<(), megachunk::fragment::FragmentError>(())
    /// ```
    #[must_use]
    pub fn elements(&self) -> Option<(usize, &PlainField)> {
        self.plain()?.elements
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

    /// The variants whose names files tell: those of a type that [says so](crate::fragment::Plain::SAYS_VARIANTS).
    #[cfg(not(loom))]
    pub(crate) fn told_variants(&self) -> &'static [PlainVariant] {
        match self.plain() {
            Some(plain) if plain.says_variants => plain.variants,
            _ => &[],
        }
    }

    /// What comes with it.
    pub(crate) fn required(&self) -> &Required {
        &self.extras.required
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
}
