//! `FragmentDefinition`: fragments for which no type stands.

use core::ptr;

use super::{Key, refuse_empty};
use crate::fragment::info::{FragmentDraft, PlainValues, clone_bytes};
use crate::fragment::{
    CloneValue, DebugValue, DropValues, FragmentError, FragmentInfo, FragmentKind,
    FragmentRegistry, Plain,
};

/// A fragment that is defined at run time, by a tool or a script, for
/// [`define`](FragmentRegistry::define). Each call here is O(1).
///
/// ```
/// use core::alloc::Layout;
/// use megachunk::fragment::{FragmentDefinition, FragmentRegistry};
///
/// /// Objects of a script, by their numbers.
/// unsafe fn let_go(values: *mut u8, count: usize) {
///     // SAFETY: so many values of the definition's layout, which is that of `u32`.
///     let numbers = unsafe { core::slice::from_raw_parts(values.cast::<u32>(), count) };
///     numbers.iter().for_each(|number| println!("object {number} is let go"));
/// }
///
/// let registry = FragmentRegistry::new();
/// let object = FragmentDefinition::new("object", Layout::new::<u32>()).drop_values(let_go);
/// // SAFETY: `let_go` reads values of this layout, from any thread.
/// let object = unsafe { registry.define(object) }?;
/// assert!(object.drop_values().is_some() && object.clone_value().is_none());
/// # Ok::<(), megachunk::fragment::FragmentError>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "a definition does nothing until it is given to a registry"]
pub struct FragmentDefinition<'a> {
    name: &'a str,
    layout: core::alloc::Layout,
    drop: Option<DropValues>,
    clone: Option<CloneValue>,
    debug: Option<DebugValue>,
}

impl<'a> FragmentDefinition<'a> {
    /// A fragment whose values are neither dropped, cloned nor shown.
    ///
    /// The name is what it is called in errors, and by which it is [found](FragmentRegistry::find). The layout is size and
    /// alignment of a value: a size that is no multiple of the alignment is rounded up to one, as those of types are. Of
    /// size zero it is a tag.
    pub const fn new(name: &'a str, layout: core::alloc::Layout) -> Self {
        Self {
            name,
            layout,
            drop: None,
            clone: None,
            debug: None,
        }
    }

    /// How values are dropped, which need be.
    pub const fn drop_values(mut self, drop: DropValues) -> Self {
        self.drop = Some(drop);
        self
    }

    /// How a value is cloned.
    pub const fn clone_value(mut self, clone: CloneValue) -> Self {
        self.clone = Some(clone);
        self
    }

    /// How a value is written for whoever debugs.
    pub const fn debug_value(mut self, debug: DebugValue) -> Self {
        self.debug = Some(debug);
        self
    }
}

impl FragmentRegistry {
    /// Defines a fragment of plain data that no type stands for: so many bytes, to be hashed, saved and
    /// cloned byte by byte. A size that is no multiple of the alignment is rounded up to one, as those of types are: 5
    /// bytes, aligned to 4, are 8. Of size zero it is a tag. O(1) expected, however many there are.
    ///
    /// Nothing is known of what is in them: of a struct whose fields are known [`define_struct`](Self::define_struct) makes more.
    ///
    /// It stays as long as the universe, as one of 65,535 at most. A script that is loaded again [finds](Self::find) it
    /// and uses it; one of another layout needs another name.
    ///
    /// ```
    /// use core::alloc::Layout;
    /// use megachunk::fragment::FragmentRegistry;
    ///
    /// let registry = FragmentRegistry::new();
    /// let health = registry.define_plain("health", Layout::new::<u32>())?;
    /// assert_eq!(registry.find("health").unwrap().id(), health.id());
    /// assert!(registry.define_plain("health", Layout::new::<u64>()).is_err());
    ///
    /// // What a script asks for, however often it is loaded.
    /// let of_script = |name: &str, layout: Layout| match registry.find(name) {
    ///     Some(known) if known.layout() == layout => Ok(known.id()),
    ///     _ => registry.define_plain(name, layout).map(|new| new.id()),
    /// };
    /// for _ in 0..100_000 {
    ///     assert_eq!(of_script("health", Layout::new::<u32>())?, health.id());
    /// }
    /// # Ok::<(), megachunk::fragment::FragmentError>(())
    /// ```
    ///
    /// # Errors
    /// [`FragmentError::NameTaken`], also if a type is called so; [`FragmentError::EmptyName`];
    /// [`FragmentError::TooMany`].
    pub fn define_plain(
        &self,
        name: &str,
        layout: core::alloc::Layout,
    ) -> Result<&FragmentInfo, FragmentError> {
        let definition = FragmentDefinition::new(name, layout).clone_value(clone_bytes);
        self.define_as(definition, Some(PlainValues::ANY_BYTES))
    }

    /// Defines a fragment of plain data, as [`define_plain`](Self::define_plain) does, whose values are of a type that another
    /// program has, by its [shape](Plain::SHAPE) there (0: not known): files that are saved here have it, so that a type that
    /// has changed is still refused where it is known, and files with another shape are refused here. It is for tools that
    /// open a file and save it again, and is all that is known of the type: which bytes are a value, and which of them are
    /// handles, is not (fragments of handles alone are [defined as such](Self::define_plain_as)).
    ///
    /// ```
    /// use core::alloc::Layout;
    /// use megachunk::fragment::{FragmentRegistry, Plain};
    ///
    /// let registry = FragmentRegistry::new();
    /// let health = registry.define_plain_shaped("health", Layout::new::<u32>(), u32::SHAPE)?;
    /// assert_eq!(health.shape(), u32::SHAPE);
    /// assert_eq!(registry.define_plain("mana", Layout::new::<u32>())?.shape(), 0);
    /// # Ok::<(), megachunk::fragment::FragmentError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`define_plain`](Self::define_plain).
    pub fn define_plain_shaped(
        &self,
        name: &str,
        layout: core::alloc::Layout,
        shape: u64,
    ) -> Result<&FragmentInfo, FragmentError> {
        let definition = FragmentDefinition::new(name, layout).clone_value(clone_bytes);
        self.define_as(definition, Some(PlainValues::of_shape(shape)))
    }

    /// Defines one more plain fragment whose values are `T`s, under a name of its own: there may be several fragments of
    /// handles, say. They are lent as that type, and only bytes are taken that are
    /// [values](Plain::IS_VALUE) of it. Of a type without a size it is a tag. O(1) expected.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let target = world.registry().define_plain_as::<Entity>("ai.target")?.id();
    /// let (ant, bee) = (world.create(())?, world.create(())?);
    /// let value = Value::from_plain(world.registry(), target, bee)?;
    /// world.add_dynamic(ant, DynamicBundle::new().with(value))?;
    /// assert_eq!(world.get_dynamic(ant, target)?.plain::<Entity>()?, [bee]);
    /// world.get_dynamic_mut(ant, target)?.plain::<Entity>()?[0] = ant;
    /// assert_eq!(world.get_dynamic(ant, target)?.value::<Entity>()?, &ant);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`define_plain`](Self::define_plain).
    pub fn define_plain_as<T: Plain>(&self, name: &str) -> Result<&FragmentInfo, FragmentError> {
        let layout = core::alloc::Layout::new::<T>();
        let definition = FragmentDefinition::new(name, layout).clone_value(clone_bytes);
        self.define_as(definition, Some(PlainValues::of::<T>()))
    }

    /// Defines a fragment that no type stands for; a new one with each call, which stays as long as the universe. O(1)
    /// expected.
    ///
    /// # Errors
    /// [`FragmentError::NameTaken`], also if a type is called so; [`FragmentError::EmptyName`];
    /// [`FragmentError::TooMany`].
    ///
    /// # Safety
    /// The functions of the definition do what [`DropValues`], [`CloneValue`] and [`DebugValue`] say, for values of the
    /// layout, from any thread.
    pub unsafe fn define(
        &self,
        definition: FragmentDefinition<'_>,
    ) -> Result<&FragmentInfo, FragmentError> {
        self.define_as(definition, None)
    }

    /// Of two threads that define one name at once, one wins.
    pub(super) fn define_as(
        &self,
        definition: FragmentDefinition<'_>,
        plain: Option<PlainValues>,
    ) -> Result<&FragmentInfo, FragmentError> {
        refuse_empty(definition.name)?;
        let taken = || FragmentError::NameTaken {
            name: definition.name.into(),
        };
        if self.find(definition.name).is_some() {
            return Err(taken());
        }
        let kind = if definition.layout.size() == 0 {
            FragmentKind::Tag
        } else {
            FragmentKind::Fragment
        };
        let new = self.number(FragmentDraft {
            name: String::from(definition.name).into(),
            kind,
            layout: definition.layout.pad_to_align(),
            drop: definition.drop,
            role: None,
            shared: None,
            clone: definition.clone,
            debug: definition.debug,
            plain,
        })?;
        if ptr::eq(self.enter(Key::Name(new.name()), new), new) {
            Ok(new)
        } else {
            Err(taken())
        }
    }
}
