//! Structs that are defined at run time.

use std::sync::Arc;

use crate::fragment::info::{PlainValues, clone_bytes};
use crate::fragment::{
    DefinedStruct, FieldDefinition, FragmentDefinition, FragmentError, FragmentInfo,
    FragmentRegistry,
};

impl FragmentRegistry {
    /// Defines a fragment of plain data that is a struct with these fields: what a script, or a file that tells fragments,
    /// has in place of a Rust type. So its fields [are known](FragmentInfo::fields), only bytes are taken that are a value of
    /// each, and the handles in it are led to who is meant where entities are copied, or
    /// [loaded](crate::world::World::load_remapped). One with the name and the fields of one that is defined is that one:
    /// a script that is loaded again defines again what it has. O(fields).
    ///
    /// It is laid out as C does, and `repr(C)`: in this order, each field at the next byte that it can be aligned to. Bytes
    /// between fields, and behind the last, belong to the value, as those to which [`define_plain`](Self::define_plain) rounds
    /// a size up: they may be any, are hashed and saved, and are best written as zeros; none are there where fields go from the
    /// widest to the narrowest, and one fills what is left. A Rust struct that is [plain](crate::plain), with the same fields,
    /// is the same to a file: what one has saved the other loads. (If the type of a field has no shape, [`SHAPE`](crate::fragment::Plain::SHAPE)
    /// is 0, the struct has none either, and files take any struct of its size and alignment for it.)
    ///
    /// ```
    /// use megachunk::fragment::FieldDefinition;
    /// use megachunk::prelude::*;
    ///
    /// /// What a script has told of.
    /// fn grudge(registry: &FragmentRegistry) -> Result<FragmentId, FragmentError> {
    ///     let fields = [
    ///         FieldDefinition::of::<Entity>("against"),
    ///         FieldDefinition::of::<f32>("since"),
    ///         FieldDefinition::of::<bool>("forgiven"),
    ///         FieldDefinition::of::<u8>("_padding").array(3),
    ///     ];
    ///     Ok(registry.define_struct("grudge", &fields)?.id())
    /// }
    ///
    /// let mut world = World::new();
    /// let id = grudge(world.registry())?;
    /// let ant = world.create(())?;
    /// let (index, version) = (ant.index().to_ne_bytes(), ant.version().to_ne_bytes());
    /// let mut bytes = [index, version, 0.5_f32.to_ne_bytes(), [0; 4]].concat();
    /// let value = Value::from_bytes(world.registry(), id, &bytes)?;
    /// let bee = world.create_dynamic(value.into())?;
    /// // What is no `bool`, or no handle, is refused.
    /// bytes[12] = 7;
    /// assert!(Value::from_bytes(world.registry(), id, &bytes).is_err());
    ///
    /// // The same struct, as somebody writes it in Rust.
    /// #[derive(Clone, Copy)]
    /// #[repr(C)]
    /// struct Grudge { against: Entity, since: f32, forgiven: bool, _padding: [u8; 3] }
    /// megachunk::plain!(Grudge { against, since, forgiven, _padding });
    ///
    /// let universe = Universe::new();
    /// universe.registry().register_plain_as::<Grudge>("grudge")?;
    /// let loaded = World::from_snapshot(&world.to_snapshot(&Default::default())?, universe, &Default::default())?;
    /// assert_eq!(loaded.get::<Grudge>(bee)?.against, ant);
    /// assert_eq!(loaded.state_hash(&Default::default())?, world.state_hash(&Default::default())?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// - [`FragmentError::NameTaken`] if another fragment or a type is called so, and
    ///   [`FieldsOtherwise`](FragmentError::FieldsOtherwise) if a struct is that has other fields;
    /// - [`NoFields`](FragmentError::NoFields), [`FieldTwice`](FragmentError::FieldTwice), and
    ///   [`EmptyName`](FragmentError::EmptyName), also of a field;
    /// - [`TooLarge`](FragmentError::TooLarge) if no chunk is as large, or has as many bytes as an array has elements (also such
    ///   as have none), [`TooAligned`](FragmentError::TooAligned), and [`TooDeep`](FragmentError::TooDeep) if more than 64
    ///   structs and arrays that were defined lie in each other;
    /// - [`TooManyChecks`](FragmentError::TooManyChecks) if whether bytes are a value would be asked of more than four parts
    ///   for each byte of the largest chunk;
    /// - [`Unknown`](FragmentError::Unknown) and [`NotDefinedSo`](FragmentError::NotDefinedSo) of a field of a
    ///   [fragment](FieldDefinition::defined);
    /// - [`TooMany`](FragmentError::TooMany).
    pub fn define_struct(
        &self,
        name: &str,
        fields: &[FieldDefinition<'_>],
    ) -> Result<&FragmentInfo, FragmentError> {
        let new = Arc::new(DefinedStruct::of(name, fields, self)?);
        let definition = FragmentDefinition::new(name, new.layout()).clone_value(clone_bytes);
        let values = PlainValues::defined(Arc::clone(&new));
        let refused = match self.define_as(definition, Some(values)) {
            Err(error @ FragmentError::NameTaken { .. }) => error,
            other => return other,
        };
        // It may be that one, also if another thread has just defined it.
        let there = self.find(name);
        let Some((info, defined)) = there.and_then(|info| Some((info, info.defined()?))) else {
            return Err(refused);
        };
        match defined.first_other(&new) {
            None => Ok(info),
            Some(why) => Err(FragmentError::FieldsOtherwise {
                name: name.into(),
                why: why.into(),
            }),
        }
    }
}
