//! A world as bytes: column by column, as `hecs`' documentation has it for what programs read, in the format of `postcard`.

use std::any::TypeId;

use hecs::serialize::column::{
    DeserializeContext, SerializeContext, deserialize, deserialize_column, serialize,
    try_serialize, try_serialize_id,
};
use hecs::{Archetype, ColumnBatchBuilder, ColumnBatchType, World};
use serde::de::SeqAccess;
use serde::ser::SerializeTuple;
use serde::{Deserialize, Serialize};

use crate::peers::ecs::components::{Position, Rotation, Transform, Velocity};

/// Which component a column is of.
#[derive(Deserialize, Serialize)]
enum Name {
    Transform,
    Position,
    Rotation,
    Velocity,
}

struct Columns(Vec<Name>);

impl SerializeContext for Columns {
    fn component_count(&self, archetype: &Archetype) -> usize {
        let saved = [
            TypeId::of::<Transform>(),
            TypeId::of::<Position>(),
            TypeId::of::<Rotation>(),
            TypeId::of::<Velocity>(),
        ];
        let types = archetype.component_types();
        types.filter(|id| saved.contains(id)).count()
    }

    fn serialize_component_ids<S: SerializeTuple>(
        &mut self,
        archetype: &Archetype,
        mut out: S,
    ) -> Result<S::Ok, S::Error> {
        try_serialize_id::<Transform, _, _>(archetype, &Name::Transform, &mut out)?;
        try_serialize_id::<Position, _, _>(archetype, &Name::Position, &mut out)?;
        try_serialize_id::<Rotation, _, _>(archetype, &Name::Rotation, &mut out)?;
        try_serialize_id::<Velocity, _, _>(archetype, &Name::Velocity, &mut out)?;
        out.end()
    }

    fn serialize_components<S: SerializeTuple>(
        &mut self,
        archetype: &Archetype,
        mut out: S,
    ) -> Result<S::Ok, S::Error> {
        try_serialize::<Transform, _>(archetype, &mut out)?;
        try_serialize::<Position, _>(archetype, &mut out)?;
        try_serialize::<Rotation, _>(archetype, &mut out)?;
        try_serialize::<Velocity, _>(archetype, &mut out)?;
        out.end()
    }
}

impl DeserializeContext for Columns {
    fn deserialize_component_ids<'de, A: SeqAccess<'de>>(
        &mut self,
        mut seq: A,
    ) -> Result<ColumnBatchType, A::Error> {
        self.0.clear();
        let mut batch = ColumnBatchType::new();
        while let Some(name) = seq.next_element()? {
            match name {
                Name::Transform => batch.add::<Transform>(),
                Name::Position => batch.add::<Position>(),
                Name::Rotation => batch.add::<Rotation>(),
                Name::Velocity => batch.add::<Velocity>(),
            };
            self.0.push(name);
        }
        Ok(batch)
    }

    fn deserialize_components<'de, A: SeqAccess<'de>>(
        &mut self,
        entities: u32,
        mut seq: A,
        batch: &mut ColumnBatchBuilder,
    ) -> Result<(), A::Error> {
        for name in &self.0 {
            match name {
                Name::Transform => deserialize_column::<Transform, _>(entities, &mut seq, batch)?,
                Name::Position => deserialize_column::<Position, _>(entities, &mut seq, batch)?,
                Name::Rotation => deserialize_column::<Rotation, _>(entities, &mut seq, batch)?,
                Name::Velocity => deserialize_column::<Velocity, _>(entities, &mut seq, batch)?,
            }
        }
        Ok(())
    }
}

pub(super) fn save(world: &World) -> Vec<u8> {
    let mut serializer = postcard::Serializer {
        output: postcard::ser_flavors::StdVec::new(),
    };
    serialize(world, &mut Columns(Vec::new()), &mut serializer).expect("all of it can be saved");
    let bytes = postcard::ser_flavors::Flavor::finalize(serializer.output);
    bytes.expect("memory for it")
}

pub(super) fn load(bytes: &[u8]) -> World {
    let mut deserializer = postcard::Deserializer::from_bytes(bytes);
    deserialize(&mut Columns(Vec::new()), &mut deserializer).expect("what was saved")
}
