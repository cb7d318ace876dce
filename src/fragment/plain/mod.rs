//! `Plain`: values that are nothing but their bytes.

mod apply;
#[cfg(not(loom))]
mod defined;
#[cfg(not(loom))]
mod definition;
mod field;
mod field_type;
mod fields;
mod known;
mod shape;
mod variant;

use crate::entity::EntityMap;
use crate::fragment::Fragment;

#[cfg(not(loom))]
pub(super) use defined::DefinedStruct;
#[cfg(not(loom))]
pub use definition::FieldDefinition;
pub use field::PlainField;
#[doc(hidden)]
pub use field::{fields_name_entities, fields_take_any_bytes, is_field, map_field, plain_field};
#[doc(hidden)]
pub use fields::is_one_of;
#[cfg(not(loom))]
pub(crate) use shape::are_others;
#[doc(hidden)]
pub use shape::{enum_shape, struct_shape};
pub use variant::PlainVariant;
#[doc(hidden)]
pub use variant::plain_variants;

/// Says of some bytes whether they are a value: as many as a value has, at any alignment.
pub type IsValue = fn(bytes: &[u8]) -> bool;

/// Changes the entities that a value names to those that they have become. As many bytes as a value has, which are one,
/// at any alignment.
pub type MapEntities = fn(bytes: &mut [u8], entities: &EntityMap);

/// Values that are nothing but their bytes, so that they can be hashed, saved and loaded.
///
/// Implemented for integers, floats, `bool`, `char`, integers that are not zero (and `Option`s of
/// them), `()`, `PhantomData`, [`Entity`](crate::entity::Entity), and arrays of plain types;
/// [`plain!`](crate::plain) implements it for structs of plain types and for enums without fields,
/// without `unsafe`. `Option<Entity>` is not plain, because the bytes of `None` are not all
/// defined; [`Entity::PLACEHOLDER`](crate::entity::Entity::PLACEHOLDER) can stand for no entity.
///
/// Open: implement it for types of yours. What comes to it later is of use only to who gives it.
///
/// # Safety
/// No padding, no pointers. All bytes for which [`IS_VALUE`](Self::IS_VALUE) says yes are a valid
/// value, and it says the same of the same bytes; if it is `None`, any bytes are one.
/// [`MAP_ENTITIES`](Self::MAP_ENTITIES) leaves bytes where some were that are a valid value. Whatever
/// the type's fields promise each other, anybody can make such values, without a call of the type's
/// own. [`FIELDS`](Self::FIELDS) lie in a value one behind the other, if there are any.
///
/// ```
/// use megachunk::fragment::Plain;
///
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// struct Position { x: f32, y: f32 }
/// // SAFETY: two floats, without padding.
/// unsafe impl Plain for Position {}
///
/// #[derive(Clone, Copy)]
/// #[repr(transparent)]
/// struct Percent(u8);
/// // SAFETY: one byte. That it is at most 100 is no matter of safety; a snapshot with a larger one is refused.
/// unsafe impl Plain for Percent {
///     const IS_VALUE: Option<fn(&[u8]) -> bool> = Some(|bytes| bytes[0] <= 100);
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not known to be plain data",
    label = "not known to be nothing but its bytes",
    note = "`plain!` says so of a type of yours: a struct with its fields, in order, `plain!(Position {{ x, y }})`, an enum with its \
            variants, `plain!(enum Mood {{ Calm, Angry }})`, or a tag, `plain!(Asleep)`",
    note = "lists, text and references are none: `register_state_with` takes resources of any type, with functions of yours"
)]
pub unsafe trait Plain: Fragment + Copy {
    /// Which bytes are a value; `None` if any are.
    ///
    /// Asked where bytes become values, of each at least once (of a type without bytes once for all
    /// entities of a composition, if it has some): when a
    /// [snapshot](crate::world::World::load) is loaded, and in
    /// [`Value::from_bytes`](crate::fragment::Value::from_bytes); and when a world is
    /// [saved](crate::world::World::save), because what it refuses could not be loaded. Values of a
    /// type that has one are not lent to change as bytes or as another type, and no other values
    /// are lent as them. It should not panic: who loads or saves gets the panic, and nothing else
    /// has happened: no world has come, and a file is as it was.
    const IS_VALUE: Option<IsValue> = None;

    /// How a value comes to name other entities, when those that it names come back with new ids: see
    /// [`World::load_remapped`](crate::world::World::load_remapped). `None` if it names none.
    ///
    /// An [`Entity`](crate::entity::Entity) becomes what the map says, and
    /// [`Entity::PLACEHOLDER`](crate::entity::Entity::PLACEHOLDER) where it says nothing: the entity
    /// that it named does not come with the others. (Or it stays, if the map
    /// [says so](crate::entity::EntityMap::keeping_others); the placeholder always does.) Arrays
    /// and what [`plain!`](crate::plain) makes plain do this to each of their parts; a type that
    /// has handles and implements the trait by hand says how, or its handles stay, and may name
    /// whomever. Who loads asks again whether what comes out is a [value](Self::IS_VALUE). It
    /// should not panic: who loads gets the panic then, and nothing else has happened.
    ///
    /// ```
    /// use megachunk::entity::{Entity, EntityMap};
    /// use megachunk::fragment::{MapEntities, Plain};
    ///
    /// /// A handle, and since when they are neighbours.
    /// #[derive(Clone, Copy)]
    /// #[repr(C)]
    /// struct Neighbour { who: Entity, since: u64 }
    ///
    /// // SAFETY: a handle, of which one is made again, and a number, without padding.
    /// unsafe impl Plain for Neighbour {
    ///     const IS_VALUE: Option<fn(&[u8]) -> bool> =
    ///         Some(|bytes| Entity::IS_VALUE.is_none_or(|is_value| is_value(&bytes[..8])));
    ///     const MAP_ENTITIES: Option<MapEntities> = Some(|bytes: &mut [u8], entities: &EntityMap| {
    ///         if let Some(map) = Entity::MAP_ENTITIES {
    ///             map(&mut bytes[..8], entities);
    ///         }
    ///     });
    /// }
    /// ```
    const MAP_ENTITIES: Option<MapEntities> = None;

    /// A number that tells apart types whose values have as many bytes: a [snapshot](crate::world::World::save) remembers
    /// it, and values of another shape are refused when it is loaded ([`Layout`](crate::world::SnapshotError::Layout); of a type of the
    /// state, [`StateNotRead`](crate::world::SnapshotError::StateNotRead)). 0 if none is
    /// known, which is taken for any.
    ///
    /// [`plain!`](crate::plain) computes it of the names of the fields, in their order, and the shapes of their types (of an
    /// enum: the names and values of its variants), unless that of a field is not known. So fields that change places,
    /// that have other names, or whose types are others of the same size make another shape. What the type itself is called
    /// does not.
    ///
    /// Who implements the trait by hand may choose any number, and another one whenever the bytes come to mean something
    /// else.
    ///
    /// ```
    /// use megachunk::fragment::Plain;
    ///
    /// mod before {
    ///     #[derive(Clone, Copy)]
    ///     #[repr(C)]
    ///     pub struct Health { now: u32, most: u32 }
    ///     megachunk::plain!(Health { now, most });
    /// }
    ///
    /// #[derive(Clone, Copy)]
    /// #[repr(C)]
    /// struct Vigour { most: u32, now: u32 }
    /// megachunk::plain!(Vigour { most, now });
    ///
    /// assert_ne!(Vigour::SHAPE, before::Health::SHAPE);
    /// assert_ne!(f32::SHAPE, u32::SHAPE);
    /// ```
    const SHAPE: u64 = 0;

    /// Its fields, in the order in which they lie, if it is a struct that [`plain!`](crate::plain) has made plain; else
    /// none. Of a fragment: [`FragmentInfo::fields`](crate::fragment::FragmentInfo::fields).
    const FIELDS: &'static [PlainField] = &[];

    /// Its variants, in the order in which they were named, if it is an enum that [`plain!`](crate::plain) has made plain;
    /// else none. Of a fragment: [`FragmentInfo::variants`](crate::fragment::FragmentInfo::variants).
    ///
    /// ```
    /// use megachunk::fragment::Plain;
    ///
    /// #[derive(Clone, Copy)]
    /// #[repr(u8)]
    /// enum Mood { Calm, Angry = 7 }
    /// megachunk::plain!(enum Mood { Calm, Angry });
    ///
    /// let all: Vec<_> = Mood::VARIANTS.iter().map(|variant| (variant.name(), variant.bytes())).collect();
    /// assert_eq!(all, [("Calm", &[0][..]), ("Angry", &[7])]);
    /// assert!(u8::VARIANTS.is_empty());
    /// ```
    const VARIANTS: &'static [PlainVariant] = &[];

    /// How many elements it has, and what each is, if it is an array; else `None`. Of a fragment:
    /// [`FragmentInfo::elements`](crate::fragment::FragmentInfo::elements); of a field: [`PlainField::elements`].
    ///
    /// ```
    /// use megachunk::fragment::Plain;
    ///
    /// let (count, element) = <[f32; 3]>::ELEMENTS.expect("an array");
    /// assert_eq!((count, element.size(), element.type_name()), (3, 4, "f32"));
    /// assert!(f32::ELEMENTS.is_none());
    /// ```
    const ELEMENTS: Option<(usize, &'static PlainField)> = None;

    /// Whether a file that has such fragments tells the names of the variants, so that they are found where the enum has come
    /// to have others: so it is where an enum says [within which state](crate::processor::WithinState) somebody lives.
    #[doc(hidden)]
    const SAYS_VARIANTS: bool = false;
}
