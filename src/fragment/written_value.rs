//! The written form of values: one of them, or some, as bytes that another process reads, whatever the kind of fragment.
//!
//! What a snapshot has of a value that lies in no column: of plain data its bytes, of what closures write its length and what
//! they gave, of a tag nothing. Each value says where it ends, if it is known what it is of.
//!
//! Must hold: the bytes that are written to, and those that are read from, are as before unless all went well.

use smallvec::SmallVec;

use crate::entity::EntityMap;
use crate::fragment::state::NO_VALUE;
use crate::fragment::{
    FragmentError, FragmentId, FragmentInfo, FragmentRegistry, Value, Values, WrittenForm,
    are_others,
};

/// Why a value is none where the entities that it names have become others.
const NO_VALUE_HERE: &str = "it is no value any more with the entities that are meant here, by its type's own `Plain::IS_VALUE`";

impl Values<'_> {
    /// Appends the written form of these values, one behind the other, for [`Value::read_from`]: what a list of what was
    /// done, a clipboard or a packet has of a value whose type is known at run time only. Of [one of
    /// them](Self::row) alone: `values.row(at)`. O(bytes), and what the closures do; wherever values are lent.
    ///
    /// It is what a [snapshot](crate::world::World::save) has of a value:
    ///
    /// - Of plain data its [bytes](Self::bytes), numbers in the order of bytes that this machine has.
    /// - Of a fragment that is [written](crate::fragment::FragmentRegistry::register_written_as) four bytes, the little end
    ///   first, that say how many follow, and then these, less than 4 GiB, as its closure gives them.
    /// - Of a tag nothing: that it is there is for the caller to say.
    ///
    /// Nor does it say of which fragment it is. A number stands for another fragment in another process: names tell, once for
    /// all values, and so may [shapes](FragmentInfo::expect_shape). A snapshot says all of that of itself: it is for whole
    /// worlds, or [some entities](crate::world::World::slice_to_snapshot) with all that they have.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let words = world.registry().register_written_as::<String, _, _>(
    ///     "words",
    ///     |words, bytes| bytes.extend(words.as_bytes()),
    ///     |bytes, _| String::from_utf8(bytes.to_vec()),
    /// )?;
    /// let words = words.id();
    /// let ant = world.create((String::from("ant"),))?;
    ///
    /// let mut before = Vec::new();
    /// world.get_dynamic(ant, words)?.write_to(&mut before)?;
    /// assert_eq!(before, *b"\x03\0\0\0ant");
    /// world.get_mut::<String>(ant)?.push_str("eater");
    /// // Undone. (Who has the fragment gets the value in place of its own.)
    /// let value = Value::read_from(world.registry(), words, &mut &before[..])?;
    /// world.add_dynamic(ant, value.into())?;
    /// assert_eq!(world.get::<String>(ant)?, "ant");
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// [`FragmentError::NoWrittenForm`]; [`FragmentError::NotWritten`] for a value that its closure refuses, or a plain one
    /// that could not be read, because it is [no value](crate::fragment::Plain::IS_VALUE). `bytes` are as before then.
    ///
    /// # Panics
    /// If the closure that writes them does, or the type's own `IS_VALUE`; `bytes` are as before then, too.
    #[doc(alias = "serialize")]
    pub fn write_to(self, bytes: &mut Vec<u8>) -> Result<(), FragmentError> {
        let (info, size) = (self.info(), self.info().layout().size());
        let not_written = |row, reason: &str| FragmentError::NotWritten {
            name: info.name().into(),
            row,
            reason: reason.into(),
        };
        if let Some(form) = info.written() {
            let (mut all, mut one) = (Vec::new(), Vec::new());
            for row in 0..self.len() {
                let value = self.as_ptr().wrapping_add(row * size);
                // SAFETY: one of the values of this fragment, lent to be read.
                let written = unsafe { form.write(value, &mut one) };
                written.map_err(|reason| not_written(row, &reason))?;
                // No closure that may fail comes behind the only one.
                let to = if self.len() == 1 {
                    &mut *bytes
                } else {
                    &mut all
                };
                WrittenForm::append(&one, to);
            }
            bytes.append(&mut all);
            return Ok(());
        }
        if !info.has_written_form() {
            return Err(info.no_written_form());
        }
        if !info.is_plain() {
            // Nothing but a name.
            return Ok(());
        }
        let values = self.bytes()?;
        let other = info.which_are_values();
        if let Some(row) = other.and_then(|which| which.first_other(values, size)) {
            return Err(not_written(row, NO_VALUE));
        }
        bytes.extend_from_slice(values);
        Ok(())
    }
}

impl Value {
    /// Reads the value of a fragment that `bytes` begin with, in its [written form](Values::write_to), and leaves what is
    /// behind it. Handles in it mean whom they meant: it was written in this universe. (One that was not:
    /// [`read_from_remapped`](Self::read_from_remapped).) O(bytes of the value), and what the closure does; any thread.
    ///
    /// Who wants no more than one looks whether bytes are left. The value goes to an entity by
    /// [`add_dynamic`](crate::world::World::add_dynamic), of [recorders](crate::command::Commands::add_dynamic), too, as any
    /// other does.
    ///
    /// ```
    /// use megachunk::prelude::*;
    ///
    /// let mut world = World::new();
    /// let registry = world.registry();
    /// let (health, awake) = (registry.register_plain::<u32>()?.id(), registry.register_plain::<bool>()?.id());
    /// let ant = world.create((7_u32, true))?;
    /// let mut copied = Vec::new();
    /// for id in [health, awake] {
    ///     world.get_dynamic(ant, id)?.write_to(&mut copied)?;
    /// }
    ///
    /// let mut left = &copied[..];
    /// let values = [health, awake].map(|id| Value::read_from(world.registry(), id, &mut left));
    /// assert!(left.is_empty());
    /// let bee = world.create_dynamic(values.into_iter().collect::<Result<_, _>>()?)?;
    /// assert_eq!((world.get::<u32>(bee)?, world.get::<bool>(bee)?), (&7, &true));
    ///
    /// // From somewhere else.
    /// let refused = Value::read_from(world.registry(), awake, &mut &[2][..]).unwrap_err();
    /// assert!(refused.to_string().starts_with("the bytes at byte 0 are no bool"));
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// [`FragmentError::Unknown`], [`FragmentError::NoWrittenForm`]; [`FragmentError::NotRead`] if the bytes end before the
    /// value does, or are no value. `bytes` are as before then, and nothing was made.
    ///
    /// # Panics
    /// If the closure that reads it does, or the type's own [`IS_VALUE`](crate::fragment::Plain::IS_VALUE); `bytes` are as
    /// before then, too.
    #[doc(alias = "deserialize")]
    pub fn read_from(
        registry: &FragmentRegistry,
        id: FragmentId,
        bytes: &mut &[u8],
    ) -> Result<Self, FragmentError> {
        Self::read_next(registry, id, bytes, None)
    }

    /// The same with a value of another universe, whose handles come to name those that are meant here, as in
    /// [`World::load_remapped`](crate::world::World::load_remapped): in plain data those for whom the map has no entry name
    /// nobody then, unless it [keeps others](EntityMap::keeping_others); what a closure reads gets the map. O(bytes of the
    /// value).
    ///
    /// ```
    /// use megachunk::entity::EntityMap;
    /// use megachunk::prelude::*;
    ///
    /// let mut server = World::new();
    /// let target = server.registry().register_plain_as::<Entity>("target")?.id();
    /// let bee = server.create(())?;
    /// let ant = server.create((bee,))?;
    /// let mut packet = Vec::new();
    /// server.get_dynamic(ant, target)?.write_to(&mut packet)?;
    ///
    /// let mut client = World::new();
    /// let target = client.registry().register_plain_as::<Entity>("target")?.id();
    /// client.create_batch([(1_u8,), (2,)])?;
    /// let (mut here, known) = (EntityMap::default(), client.create(())?);
    /// here.insert(bee, known);
    /// let value = Value::read_from_remapped(client.registry(), target, &mut &packet[..], &here)?;
    /// let copy = client.create_dynamic(value.into())?;
    /// assert_eq!(client.get::<Entity>(copy)?, &known);
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// As for [`read_from`](Self::read_from); [`FragmentError::NotRead`] also if it is no value with the entities that are
    /// meant here: its type [wants](crate::fragment::Plain::IS_VALUE) somebody to be named who is not in the map.
    ///
    /// # Panics
    /// As for [`read_from`](Self::read_from), and if the type's own
    /// [`MAP_ENTITIES`](crate::fragment::Plain::MAP_ENTITIES) does.
    pub fn read_from_remapped(
        registry: &FragmentRegistry,
        id: FragmentId,
        bytes: &mut &[u8],
        entities: &EntityMap,
    ) -> Result<Self, FragmentError> {
        Self::read_next(registry, id, bytes, Some(entities))
    }

    /// Without a map handles stay.
    fn read_next(
        registry: &FragmentRegistry,
        id: FragmentId,
        bytes: &mut &[u8],
        entities: Option<&EntityMap>,
    ) -> Result<Self, FragmentError> {
        let info = registry.get(id).ok_or(FragmentError::Unknown { id })?;
        let (value, left) = if info.is_written() {
            read_written(info, bytes, entities)?
        } else if info.is_plain() {
            read_plain(registry, info, bytes, entities)?
        } else if info.has_written_form() {
            // SAFETY: a name, of whose values nobody sees anything, and none is dropped: it has no bytes.
            (unsafe { Self::take(info, bytes.as_ptr()) }, *bytes)
        } else {
            return Err(info.no_written_form());
        };
        *bytes = left;
        Ok(value)
    }
}

/// The value that bytes begin with, of a fragment that closures write, and what is behind it.
fn read_written<'b>(
    info: &FragmentInfo,
    bytes: &'b [u8],
    entities: Option<&EntityMap>,
) -> Result<(Value, &'b [u8]), FragmentError> {
    let as_they_are;
    let entities = match entities {
        Some(entities) => entities,
        None => {
            as_they_are = EntityMap::default().keeping_others();
            &as_they_are
        }
    };
    let Some((value, left)) = WrittenForm::split(bytes) else {
        let (what, size, count) = match bytes.split_first_chunk() {
            Some((size, left)) => ("it", u32::from_le_bytes(*size) as usize, left.len()),
            None => ("its length", WrittenForm::LENGTH, bytes.len()),
        };
        return Err(ends_early(info, what, size, count));
    };
    match Value::read(info, value, entities) {
        Ok(value) => Ok((value, left)),
        Err(reason) => Err(not_read(info, WrittenForm::LENGTH, &reason)),
    }
}

/// The value that bytes begin with, of a plain fragment, and what is behind it.
fn read_plain<'b>(
    registry: &FragmentRegistry,
    info: &FragmentInfo,
    bytes: &'b [u8],
    entities: Option<&EntityMap>,
) -> Result<(Value, &'b [u8]), FragmentError> {
    let size = info.layout().size();
    let Some((value, left)) = bytes.split_at_checked(size) else {
        return Err(ends_early(info, "it", size, bytes.len()));
    };
    let Some((map, entities)) = info.map_entities().zip(entities) else {
        let value = as_value(registry, info, value, NO_VALUE)?;
        return Ok((value, left));
    };
    let mut mapped: SmallVec<[u8; 64]> = value.into();
    if !info.is_value(&mapped) {
        return Err(not_read(info, 0, NO_VALUE));
    }
    map.apply(&mut mapped, entities);
    // A type may want more of a value than that it names somebody.
    let value = as_value(registry, info, &mapped, NO_VALUE_HERE)?;
    Ok((value, left))
}

/// The value that as many bytes are as one has; `otherwise` says why they are none.
fn as_value(
    registry: &FragmentRegistry,
    info: &FragmentInfo,
    bytes: &[u8],
    otherwise: &str,
) -> Result<Value, FragmentError> {
    let value = Value::from_bytes(registry, info.id(), bytes);
    value.map_err(|error| match error {
        FragmentError::NotAValue { .. } => not_read(info, 0, otherwise),
        other => other,
    })
}

#[cold]
fn ends_early(info: &FragmentInfo, what: &str, size: usize, left: usize) -> FragmentError {
    let reason =
        format!("they end before the value does: {what} has {size} bytes, and {left} are left");
    not_read(info, 0, &reason)
}

#[cold]
fn not_read(info: &FragmentInfo, at: usize, reason: &str) -> FragmentError {
    FragmentError::NotRead {
        name: info.name().into(),
        at,
        reason: reason.into(),
    }
}

impl FragmentInfo {
    /// Whether values that were written of a fragment with this [shape](Self::shape) can be values of this one: the two are
    /// the same, or one of them is 0, not known. Who writes says it once, with the fragment's name: in the head of a file, or
    /// when a client comes. So a struct with other fields is told, and not taken for one with these because it has as many
    /// bytes, as in a [snapshot](crate::world::World::load). O(1), any thread.
    ///
    /// Of what closures write the shape is 0: older forms are for them to know. Where it is not known of plain data, the
    /// [layouts](Self::layout) are to be compared. It says nothing of the order of bytes.
    ///
    /// ```
    /// use megachunk::fragment::FieldDefinition;
    /// use megachunk::prelude::*;
    ///
    /// let there = FragmentRegistry::new();
    /// let fields = ["x", "y"].map(FieldDefinition::of::<f32>);
    /// let spot = there.define_struct("spot", &fields)?;
    /// let (name, shape) = (spot.name(), spot.shape());
    ///
    /// let here = FragmentRegistry::new();
    /// here.define_struct(name, &["y", "x"].map(FieldDefinition::of::<f32>))?;
    /// let refused = here.find(name).unwrap().expect_shape(shape).unwrap_err();
    /// assert_eq!(refused.to_string(), "the fields of spot are others than where its values were written");
    /// # Ok::<(), FragmentError>(())
    /// ```
    ///
    /// # Errors
    /// [`FragmentError::ShapedOtherwise`], for plain data where closures write it here, too.
    pub fn expect_shape(&self, there: u64) -> Result<(), FragmentError> {
        let (here, is_written) = (self.shape(), self.is_written());
        match are_others(there, here) || (is_written && there != 0) {
            false => Ok(()),
            true => Err(FragmentError::ShapedOtherwise {
                name: self.name().into(),
                there,
                here,
                is_written,
            }),
        }
    }

    /// The error that says that nobody has said how its values become bytes.
    fn no_written_form(&self) -> FragmentError {
        FragmentError::NoWrittenForm {
            name: self.name().into(),
            kind: self.kind(),
        }
    }
}
