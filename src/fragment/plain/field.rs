//! `PlainField`: a field of a struct that is plain, and what is asked of the bytes of all.
//!
//! `plain!` makes a table of them in the user's crate, a constant: what is asked of it with a fixed table is compiled for
//! that, as if each field had been written out.

use core::any::TypeId;
use std::borrow::Cow;

use crate::entity::EntityMap;
use crate::fragment::plain::field_type::FieldType;
use crate::fragment::plain::shape;
use crate::fragment::{Plain, PlainVariant};

/// A field of a type that is plain by [`plain!`](crate::plain), or of a struct that was
/// [defined](crate::fragment::FragmentRegistry::define_struct) at run time: for inspectors and scripts, which have a value's
/// bytes.
///
/// ```
/// use megachunk::prelude::*;
///
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// struct Position { x: f32, y: f32 }
/// megachunk::plain!(Position { x, y });
///
/// let registry = FragmentRegistry::new();
/// let fields = registry.register_plain::<Position>()?.fields();
/// let fields: Vec<_> = fields.iter().map(|field| (field.name(), field.offset(), field.size())).collect();
/// assert_eq!(fields, [("x", 0, 4), ("y", 4, 4)]);
/// # Ok::<(), FragmentError>(())
/// ```
///
/// With the types of fields, and the fields of these, an inspector shows an entity of which it knows nothing:
///
/// ```
/// use core::any::TypeId;
/// use megachunk::fragment::{PlainField, PlainVariant};
/// use megachunk::prelude::*;
///
/// /// A value, with what is known of its type.
/// fn value(of: Option<TypeId>, variants: &[PlainVariant], bytes: &[u8]) -> String {
///     if let Some(variant) = variants.iter().find(|variant| variant.bytes() == bytes) {
///         return format!(" = {}", variant.name());
///     }
///     match bytes.try_into() {
///         Ok(bytes) if of == Some(TypeId::of::<f32>()) => format!(" = {}", f32::from_ne_bytes(bytes)),
///         _ => format!(" = {bytes:x?}"),
///     }
/// }
///
/// /// The fields of a value, each in a line, and below it its own, or its elements.
/// fn show(page: &mut String, depth: usize, fields: &[PlainField], bytes: &[u8]) {
///     for field in fields {
///         let bytes = &bytes[field.offset()..][..field.size()];
///         let shown = match (field.fields(), field.elements()) {
///             ([], None) => value(field.value_type(), field.variants(), bytes),
///             _ => String::new(),
///         };
///         *page += &format!("{:1$}{2}: {3}{shown}\n", "", 2 * depth, field.name(), field.type_name());
///         // In what has no bytes nothing is to be seen, and there may be very much of it.
///         if bytes.is_empty() {
///             continue;
///         }
///         show(page, depth + 1, field.fields(), bytes);
///         if let Some((count, element)) = field.elements() {
///             for at in 0..count {
///                 let bytes = &bytes[at * element.size()..];
///                 show(page, depth + 1, std::slice::from_ref(element), bytes);
///             }
///         }
///     }
/// }
///
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// struct Point { x: f32, y: f32 }
/// megachunk::plain!(Point { x, y });
/// #[derive(Clone, Copy)]
/// #[repr(u32)]
/// enum Gait { Walk, Run }
/// megachunk::plain!(enum Gait { Walk, Run });
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// struct Going { to: Point, gait: Gait, speeds: [f32; 2] }
/// megachunk::plain!(Going { to, gait, speeds });
///
/// let mut world = World::new();
/// world.registry().register_plain_as::<Going>("going")?;
/// let going = Going { to: Point { x: 0.5, y: 2.0 }, gait: Gait::Run, speeds: [1.5, 3.0] };
/// let ant = world.create((going, String::from("ant")))?;
/// let mut page = String::new();
/// for info in world.fragments(ant)? {
///     page += &format!("{}\n", info.name());
///     // A `String` is not plain: what is known of it is its name, and how it is shown, if that was said.
///     if let Ok(bytes) = world.get_dynamic(ant, info.id())?.bytes() {
///         show(&mut page, 1, info.fields(), bytes);
///     }
/// }
/// let lines: Vec<_> = page.lines().collect();
/// assert_eq!(lines[0], "going");
/// assert!(lines[1].starts_with("  to: ") && lines[1].ends_with("Point"), "{page}");
/// assert_eq!(lines[2..4], ["    x: f32 = 0.5", "    y: f32 = 2"]);
/// assert!(lines[4].ends_with("Gait = Run"), "{page}");
/// assert_eq!(lines[5..8], ["  speeds: [f32; 2]", "    : f32 = 1.5", "    : f32 = 3"]);
/// # Ok::<(), WorldError>(())
/// ```
#[derive(Clone, Debug)]
pub struct PlainField {
    name: Cow<'static, str>,
    offset: usize,
    size: usize,
    /// Of the field with its name.
    shape: u64,
    of: FieldType,
}

impl PlainField {
    /// What it is called: `r#type` is `"type"`, and fields of a tuple are called by their numbers, `"0"`.
    #[must_use]
    pub const fn name(&self) -> &str {
        match &self.name {
            Cow::Borrowed(name) => name,
            Cow::Owned(name) => name.as_str(),
        }
    }

    /// The byte of the value at which it begins.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// Its bytes.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.size
    }

    /// What its type is called: with its path, as [`type_name`](core::any::type_name) says it, which another compiler may
    /// write in another way. One that was [defined](crate::fragment::FragmentRegistry::define_struct) at run time is called
    /// what it was called there, and an array of such `"[name; 3]"`.
    #[must_use]
    pub fn type_name(&self) -> &str {
        self.of.name()
    }

    /// Its type; `None` if it is one that was defined at run time.
    #[must_use]
    pub fn value_type(&self) -> Option<TypeId> {
        self.of.type_id()
    }

    /// The fields of its type, if that is a struct that [`plain!`](crate::plain) has made plain, or that was
    /// [defined](crate::fragment::FragmentRegistry::define_struct), in the order in which they lie, and as far from where the
    /// field begins as they say; else none, as of a number, an enum and an [array](Self::elements).
    #[must_use]
    pub fn fields(&self) -> &[Self] {
        self.of.fields()
    }

    /// The variants of its type, if that is an enum that [`plain!`](crate::plain) has made plain; else none.
    #[must_use]
    pub fn variants(&self) -> &'static [PlainVariant] {
        self.of.variants()
    }

    /// How many elements it has, and what each is, if its type is an array: they lie one behind the other from where the
    /// field begins, each as many bytes as the [size](Self::size) of the one that is told, which stands for all. It has no
    /// name, and its offset is 0. `None` if it is none.
    ///
    /// ```
    /// use megachunk::fragment::Plain;
    ///
    /// #[derive(Clone, Copy)]
    /// #[repr(C)]
    /// struct Point { x: i16, y: i16 }
    /// megachunk::plain!(Point { x, y });
    /// #[derive(Clone, Copy)]
    /// #[repr(C)]
    /// struct Path { corners: [Point; 3] }
    /// megachunk::plain!(Path { corners });
    ///
    /// let (count, corner) = Path::FIELDS[0].elements().expect("an array");
    /// assert_eq!((count, corner.size(), corner.fields()[1].name()), (3, 4, "y"));
    /// // Where the second corner's `y` is in a value.
    /// assert_eq!(Path::FIELDS[0].offset() + corner.size() + corner.fields()[1].offset(), 6);
    /// ```
    #[must_use]
    pub fn elements(&self) -> Option<(usize, &Self)> {
        self.of.elements()
    }

    pub(super) const fn shape(&self) -> u64 {
        self.shape
    }

    /// What is known of its type.
    #[cfg(not(loom))]
    pub(super) fn of(&self) -> &FieldType {
        &self.of
    }

    /// One of a struct that is defined at run time. The name is as it is written, `r#type`.
    #[cfg(not(loom))]
    pub(super) fn defined(name: &str, offset: usize, of: FieldType) -> Self {
        Self {
            name: String::from(without_r(name)).into(),
            offset,
            size: of.layout().size(),
            shape: shape::of_field(name, of.shape()),
            of,
        }
    }

    /// The element that stands for all of an array of `T`s.
    pub(super) const fn element<T: Plain>() -> Self {
        Self::known::<T>("", 0)
    }

    const fn known<T: Plain>(name: &'static str, offset: usize) -> Self {
        Self {
            name: Cow::Borrowed(without_r(name)),
            offset,
            size: size_of::<T>(),
            shape: shape::of_field(name, T::SHAPE),
            of: FieldType::of::<T>(),
        }
    }
}

/// A field, whose type is plain. The type comes with a pointer to the field: what a closure returns by value is coerced,
/// and a field of type `!`, which has no values, to whatever the compiler falls back to.
#[doc(hidden)]
#[must_use]
pub const fn plain_field<S, T: Plain>(
    name: &'static str,
    offset: usize,
    _: fn(&S) -> *const T,
) -> PlainField {
    PlainField::known::<T>(name, offset)
}

/// A name as it is spoken; the shape has it as it is written, as files have had it always.
pub(super) const fn without_r(name: &str) -> &str {
    match name.as_bytes() {
        [b'r', b'#', ..] => name.split_at(2).1,
        _ => name,
    }
}

/// Whether any bytes are values of these fields.
#[doc(hidden)]
#[must_use]
pub const fn fields_take_any_bytes(fields: &[PlainField]) -> bool {
    let mut at = 0;
    while at < fields.len() {
        if !fields[at].of.takes_any_bytes() {
            return false;
        }
        at += 1;
    }
    true
}

/// Whether a value of these fields can name entities.
#[doc(hidden)]
#[must_use]
pub const fn fields_name_entities(fields: &[PlainField]) -> bool {
    let mut at = 0;
    while at < fields.len() {
        if fields[at].of.names_entities() {
            return true;
        }
        at += 1;
    }
    false
}

/// Whether the bytes of a value are one as far as this field goes.
#[doc(hidden)]
#[inline(always)]
#[must_use]
pub fn is_field(field: &PlainField, bytes: &[u8]) -> bool {
    field.of.is_value(&bytes[field.offset..][..field.size])
}

/// Changes the entities that this field names of a value that bytes are.
#[doc(hidden)]
#[inline(always)]
pub fn map_field(field: &PlainField, bytes: &mut [u8], entities: &EntityMap) {
    (field.of).map(&mut bytes[field.offset..][..field.size], entities);
}
