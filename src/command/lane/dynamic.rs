//! Entities and changes whose fragments are known at run time only are recorded.
//!
//! The same streams, payloads and ops as those of typed bundles, found by their fragments. What is created and changed
//! by type does not look here.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::create::entity_at;
use super::{FoundOp, Lane, NONE, Op, Way};
use crate::archetype::{Stock, place};
use crate::command::payload::{Payload, PayloadColumn};
use crate::command::stripes::Ids;
use crate::entity::Entity;
use crate::fragment::{
    DynamicBundle, FragmentError, FragmentId, FragmentKind, Pile, Value, none_twice,
};
use crate::panics::{refused, resume};
use crate::world::WorldError;

/// Ops and payloads that a lane keeps from flush to flush: if there are more, it forgets all of them, and learns anew
/// those that are still wanted. So compositions that come and go take no memory for ever.
const KEPT_OPS: usize = 256;

/// In the order of their numbers.
pub(super) type Ids8 = SmallVec<[FragmentId; 8]>;

/// Ops whose fragments are known at run time only.
#[derive(Debug, Default)]
pub(super) struct DynamicOps {
    /// By the fragments that go, those that come, and their shared values.
    change_of: HashMap<(Ids8, Ids8, u32), FoundOp>,
    switch_of: HashMap<(FragmentId, bool), u32>,
    /// By the fragments that have columns.
    payload_of: HashMap<Ids8, u32>,
}

/// A row that is empty: the way there, its private chunk, which one there.
type RowOf = (u32, u32, u32);

/// A bundle that is ready to be recorded.
struct Sorted {
    /// Of all its values.
    ids: Ids8,
    /// The values for columns, in the order of their fragments.
    columns: Pile<Value>,
    combo: u32,
    /// What the chunks of new archetypes begin with.
    templates: Pile<Value>,
}

impl DynamicOps {
    fn len(&self) -> usize {
        // Ops with shared values are forgotten in each flush, their payloads are not.
        self.change_of.len() + self.switch_of.len() + self.payload_of.len()
    }
}

impl Lane {
    /// Creates an entity in a private chunk, or builds one that is reserved.
    pub(in crate::command) fn create_dynamic(
        &mut self,
        bundle: DynamicBundle,
        reserved: Option<Entity>,
        ids: &mut Ids<'_>,
    ) -> Result<Entity, WorldError> {
        let sorted = self.sort(bundle)?;
        let room = self.room_of(&sorted, reserved, ids);
        let (entity, (way, private, row), stock) = match room {
            Ok(room) => room,
            Err(error) => return Err(refused(sorted, error)),
        };
        let Way {
            stream, offsets, ..
        } = &self.ways[way as usize];
        let stream = *stream;
        let chunk = &mut self.privates[private as usize].chunk;
        for (value, &offset) in sorted.columns.into_vec().into_iter().zip(offsets) {
            let to = chunk
                .array(offset)
                .wrapping_add(row as usize * value.size());
            // SAFETY: an empty row of the fragment's column; what has no size is nowhere.
            unsafe { value.move_to(to) };
        }
        // SAFETY: the row's, of which what comes by default is empty still.
        unsafe {
            stock.put(|offset| chunk.array(offset), row);
            chunk.handles().add(row as usize).write(entity);
        }
        chunk.len = row + 1;
        resume(self.take_templates(stream, sorted.templates));
        Ok(entity)
    }

    /// The entity of a bundle, and where it comes: way, private chunk, and row; and what comes there by default.
    fn room_of(
        &mut self,
        sorted: &Sorted,
        reserved: Option<Entity>,
        ids: &mut Ids<'_>,
    ) -> Result<(Entity, RowOf, Stock), WorldError> {
        let way = self.dynamic_way(sorted)?;
        // Users' code: before anything is there.
        let stock = self.ways[way as usize].fills.stock(1);
        let room = self.room(self.ways[way as usize].stream);
        let found = room.and_then(|(private, row)| {
            let place = place(self.privates[private as usize].chunk.run, row);
            let entity = entity_at(&self.universe, place, reserved, ids)?;
            Ok((entity, (way, private, row)))
        });
        match found {
            Ok((entity, row)) => Ok((entity, row, stock)),
            Err(error) => Err(refused(stock, error)),
        }
    }

    /// How the values of a bundle get into their stream.
    fn dynamic_way(&mut self, sorted: &Sorted) -> Result<u32, WorldError> {
        let key = (sorted.ids.clone(), sorted.combo);
        match self.dynamic_way_of.get(&key) {
            Some(&way) => Ok(way),
            None => self.new_dynamic_way(key, sorted),
        }
    }

    #[cold]
    #[inline(never)]
    fn new_dynamic_way(&mut self, key: (Ids8, u32), sorted: &Sorted) -> Result<u32, WorldError> {
        let columns: Ids8 = sorted.columns.iter().map(Value::id).collect();
        let way = self.push_way(&sorted.ids, &columns, sorted.combo)?;
        self.dynamic_way_of.insert(key, way);
        Ok(way)
    }

    /// Records that fragments come.
    pub(in crate::command) fn add_dynamic(
        &mut self,
        entity: Entity,
        bundle: DynamicBundle,
    ) -> Result<(), WorldError> {
        self.change_dynamic(entity, &[], bundle)
    }

    /// Records that fragments go, in the order of their numbers, and others come.
    pub(in crate::command) fn change_dynamic(
        &mut self,
        entity: Entity,
        gone: &[FragmentId],
        bundle: DynamicBundle,
    ) -> Result<(), WorldError> {
        let sorted = self.sort(bundle)?;
        let fragments: Ids8 = sorted.columns.iter().map(Value::id).collect();
        let gone = Ids8::from_slice(gone);
        let found = match self.change_among(gone, &sorted.ids, &fragments, sorted.combo) {
            Ok(found) => found,
            Err(error) => return Err(refused(sorted, error)),
        };
        self.record_values(entity, found, sorted.columns);
        resume(self.take_templates(NONE, sorted.templates));
        Ok(())
    }

    /// Records that fragments go.
    pub(in crate::command) fn remove_dynamic(
        &mut self,
        entity: Entity,
        fragments: &[FragmentId],
    ) -> Result<(), WorldError> {
        let gone = self.sort_gone(fragments)?;
        let found = self.change_among(gone, &[], &[], NONE)?;
        self.record_values(entity, found, Pile::new());
        Ok(())
    }

    /// Records that fragments go, which were named in whatever order, and others come.
    pub(in crate::command) fn swap_dynamic(
        &mut self,
        entity: Entity,
        gone: &[FragmentId],
        come: DynamicBundle,
    ) -> Result<(), WorldError> {
        match self.sort_gone(gone) {
            Ok(gone) => self.change_dynamic(entity, &gone, come),
            Err(error) => Err(refused(come, error.into())),
        }
    }

    /// Fragments that go, in the order of their numbers.
    fn sort_gone(&self, fragments: &[FragmentId]) -> Result<Ids8, FragmentError> {
        let registry = self.universe.registry();
        for &id in fragments {
            registry.get(id).ok_or(FragmentError::Unknown { id })?;
        }
        let mut gone = Ids8::from_slice(fragments);
        gone.sort_unstable();
        none_twice(registry, &gone)?;
        Ok(gone)
    }

    /// Records that a fragment is switched on or off.
    pub(in crate::command) fn switch_dynamic(
        &mut self,
        entity: Entity,
        id: FragmentId,
        on: bool,
    ) -> Result<(), WorldError> {
        let op = match self.dynamic.switch_of.get(&(id, on)) {
            Some(&op) => op,
            None => {
                let info = self.universe.registry().get(id);
                let info = info.ok_or(FragmentError::Unknown { id })?;
                if !info.is_enableable() {
                    let name = info.name().into();
                    return Err(WorldError::NotEnableable { name });
                }
                let op = self.switch_numbered(id, on);
                self.dynamic.switch_of.insert((id, on), op);
                op
            }
        };
        self.log.push(entity, op, &self.payloads);
        Ok(())
    }

    /// Records a command with its values, which are those of the op's payload.
    fn record_values(
        &mut self,
        entity: Entity,
        FoundOp { op, payload }: FoundOp,
        values: Pile<Value>,
    ) {
        let Some(row) = self.payloads.get_mut(payload as usize).map(Payload::next) else {
            return self.log.push(entity, op, &self.payloads);
        };
        self.log.push(entity, op, &self.payloads);
        let payload = &mut self.payloads[payload as usize];
        debug_assert_eq!(payload.columns.len(), values.len());
        for (column, value) in payload.columns.iter().zip(values.into_vec()) {
            // SAFETY: room for one more row, which is empty.
            unsafe { value.move_to(column.row(row)) };
        }
        payload.push();
    }

    /// The op of fragments that go and come; of those, `columns` have values in columns.
    fn change_among(
        &mut self,
        gone: Ids8,
        come: &[FragmentId],
        columns: &[FragmentId],
        combo: u32,
    ) -> Result<FoundOp, WorldError> {
        let key = (gone, Ids8::from_slice(come), combo);
        if let Some(&found) = self.dynamic.change_of.get(&key) {
            return Ok(found);
        }
        let needs = self.checked_needs(&key.0, come)?;
        let payload = match columns {
            [] => NONE,
            _ => self.payload_among(columns)?,
        };
        let op = self.push_op(Op::Change {
            gone: key.0.as_slice().into(),
            come: come.into(),
            needs,
            payload,
            combo,
        });
        let found = FoundOp { op, payload };
        self.dynamic.change_of.insert(key, found);
        Ok(found)
    }

    /// The payload of these fragments.
    fn payload_among(&mut self, columns: &[FragmentId]) -> Result<u32, WorldError> {
        if let Some(&payload) = self.dynamic.payload_of.get(columns) {
            return Ok(payload);
        }
        let registry = self.universe.registry();
        let column = |&id: &FragmentId| {
            let info = registry.get(id).ok_or(FragmentError::Unknown { id })?;
            Ok(PayloadColumn::new(id, info.layout(), info.drop_values()))
        };
        let all: Result<Vec<PayloadColumn>, FragmentError> = columns.iter().map(column).collect();
        self.payloads.push(Payload::new(all?));
        let payload = self.payloads.len() as u32 - 1;
        self.dynamic.payload_of.insert(columns.into(), payload);
        Ok(payload)
    }

    /// Sorts a bundle's values, and puts aside what does not lie in columns.
    fn sort(&mut self, mut bundle: DynamicBundle) -> Result<Sorted, WorldError> {
        let registry = self.universe.registry();
        let ids = match bundle.sort(registry) {
            Ok(ids) => ids,
            Err(error) => return Err(refused(bundle, error.into())),
        };
        let has_column = |value: &Value| {
            let kind = registry.get(value.id()).map(|info| info.kind());
            matches!(kind, Some(FragmentKind::Fragment | FragmentKind::Tag))
        };
        let (columns, others): (Vec<Value>, Vec<Value>) =
            bundle.values.into_vec().into_iter().partition(has_column);
        let columns = Pile::from(columns);
        let mut templates = Pile::new();
        let combo = match others.is_empty() {
            true => NONE,
            false => self.part_values(others.into(), &mut templates),
        };
        Ok(Sorted {
            ids: ids.into(),
            columns,
            combo,
            templates,
        })
    }

    /// A flush is over: forgets ops with shared values, whose numbers are forgotten.
    pub(super) fn forget_dynamic_combos(&mut self) {
        self.dynamic.change_of.retain(|key, _| key.2 == NONE);
    }

    /// The numbers of ops that stay, to be changed.
    pub(super) fn dynamic_ops_mut(&mut self) -> impl Iterator<Item = &mut u32> {
        let changes = self.dynamic.change_of.values_mut();
        changes
            .map(|found| &mut found.op)
            .chain(self.dynamic.switch_of.values_mut())
    }

    /// Whether there are more of the ops that are found here than are kept.
    pub(super) fn has_many_dynamic_ops(&self) -> bool {
        self.dynamic.len() > KEPT_OPS
    }

    /// Forgets all ops and payloads, if there are many of those that are found here. Nothing is recorded.
    pub(super) fn forget_dynamic_ops(&mut self) {
        if self.has_many_dynamic_ops() {
            self.dynamic = DynamicOps::default();
            self.recent_ops.clear();
            self.op_of.clear();
            self.payload_of.clear();
            self.payloads.clear();
            self.ops.truncate(1);
        }
    }
}
