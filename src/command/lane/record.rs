//! Commands are recorded, with their values.

use core::any::TypeId;
use core::iter::successors;
use core::marker::PhantomData;
use std::sync::Arc;

use super::{Called, Combo, FoundOp, Lane, NONE, Op, OpKey, Template};
use crate::archetype::Draft;
use crate::command::log::Word;
use crate::command::payload::{Payload, PayloadColumn};
use crate::entity::Entity;
use crate::fragment::{
    Bundle, Fragment, FragmentError, FragmentId, FragmentRegistry, Given, Need, Pile, Value,
    refused_bundle, with_needs,
};
use crate::panics::{Panicked, note, refused, resume};
use crate::world::{World, WorldError, end_shared};

/// What the op that switches a fragment is found by.
pub(super) struct Turned<T, const ON: bool>(PhantomData<fn(T)>);

/// So many of the last combinations are compared before one is looked for by its hash.
const RECENT_COMBOS: u32 = 4;

/// Says of a bundle type which fragments it has.
type IdsOf = fn(&FragmentRegistry, &mut Vec<FragmentId>) -> Result<(), FragmentError>;
/// Finds, or makes, the payload of a bundle type with these fragments.
type MakePayload = fn(&mut Lane, &[FragmentId]) -> u32;

impl Lane {
    /// Records that an entity dies.
    #[inline(always)]
    pub(in crate::command) fn destroy(&mut self, entity: Entity) {
        self.log.push(entity, super::DESTROY, &self.payloads);
    }

    /// Records that fragments go and others come.
    #[inline(always)]
    pub(in crate::command) fn change<Gone: Bundle, Come: Bundle>(
        &mut self,
        entity: Entity,
        come: Come,
    ) -> Result<(), WorldError> {
        if Come::HAS_VALUES {
            return self.change_with_values::<Gone, Come>(entity, come);
        }
        let of = TypeId::of::<(Gone, Come)>();
        let found = match self.recent_ops.get(of) {
            Some(found) => Ok(found),
            _ => self.find_op::<Gone, Come>(OpKey { of, combo: NONE }),
        };
        match found {
            Ok(found) => {
                self.record(entity, found, come);
                Ok(())
            }
            Err(error) => Err(refused_bundle(come, error)),
        }
    }

    /// The same, where values come along that are not for columns.
    #[cold]
    #[inline(never)]
    fn change_with_values<Gone: Bundle, Come: Bundle>(
        &mut self,
        entity: Entity,
        come: Come,
    ) -> Result<(), WorldError> {
        let mut come = Given::new(come);
        let mut templates = Pile::new();
        let combo = self.take_values(&mut *come, &mut templates);
        let of = TypeId::of::<(Gone, Come)>();
        let found = combo.and_then(|combo| self.find_op::<Gone, Come>(OpKey { of, combo }));
        match found {
            Ok(found) => self.record(entity, found, come.into_bundle()),
            Err(error) => return Err(refused((come, templates), error)),
        }
        resume(self.take_templates(NONE, templates));
        Ok(())
    }

    /// Records a command.
    #[inline(always)]
    fn record<Come: Bundle>(
        &mut self,
        entity: Entity,
        FoundOp { op, payload }: FoundOp,
        come: Come,
    ) {
        if Come::LEN > 0 {
            // Not later: what fails is to fail before the command is there.
            self.payloads[payload as usize].next();
        }
        self.log.push(entity, op, &self.payloads);
        if Come::LEN > 0 {
            // SAFETY: it is there, of this type, and was asked for its next row.
            unsafe { self.payloads.get_unchecked_mut(payload as usize).add(come) };
        }
    }

    #[inline(always)]
    fn find_op<Gone: Bundle, Come: Bundle>(&mut self, key: OpKey) -> Result<FoundOp, WorldError> {
        let payload: Option<MakePayload> = match Come::LEN {
            0 => None,
            _ => Some(Self::payload::<Come>),
        };
        self.look_up_op(key, [Gone::ids, Come::ids], payload)
    }

    /// The same, of types of which the rest is said by values: compiled once, and not for each pair of them.
    #[cold]
    #[inline(never)]
    fn look_up_op(
        &mut self,
        key: OpKey,
        [gone_ids, come_ids]: [IdsOf; 2],
        payload: Option<MakePayload>,
    ) -> Result<FoundOp, WorldError> {
        let op = match self.op_of.get(&key) {
            Some(&op) => op,
            None => {
                let registry = self.universe.registry();
                let mut gone = Vec::new();
                gone_ids(registry, &mut gone)?;
                gone.sort_unstable();
                self.refuse_twice(&gone)?;
                let mut ids = Vec::new();
                come_ids(registry, &mut ids)?;
                let mut sorted = ids.clone();
                sorted.sort_unstable();
                self.refuse_twice(&sorted)?;
                let needs = self.checked_needs(&gone, &sorted)?;
                let payload = payload.map_or(NONE, |payload| payload(self, &ids));
                let op = self.push_op(Op::Change {
                    gone: gone.into(),
                    come: sorted.into(),
                    needs,
                    payload,
                    combo: key.combo,
                });
                self.op_of.insert(key, op);
                op
            }
        };
        Ok(self.remember(key, op))
    }

    /// What comes by default with fragments that come, and does not go in the same move.
    pub(super) fn checked_needs(
        &self,
        gone: &[FragmentId],
        come: &[FragmentId],
    ) -> Result<Box<[Need]>, FragmentError> {
        let registry = self.universe.registry();
        let needs = registry.needs_without(come, gone);
        // Too large for any chunk: said here, not by the flush.
        match needs.is_empty() {
            true => Draft::new(registry, come, 1, self.cut.enableable)?,
            false => Draft::new(registry, &with_needs(come, &needs), 1, self.cut.enableable)?,
        };
        Ok(needs.into())
    }

    /// The payload of a bundle type with these fragments.
    fn payload<B: Bundle>(&mut self, ids: &[FragmentId]) -> u32 {
        if let Some(&payload) = self.payload_of.get(&TypeId::of::<B>()) {
            return payload;
        }
        let registry = self.universe.registry();
        let columns = ids[..B::LEN].iter().map(|&id| match registry.get(id) {
            Some(info) => PayloadColumn::new(id, info.layout(), info.drop_values()),
            None => unreachable!("a bundle registers its fragments"),
        });
        self.add_payload(TypeId::of::<B>(), Payload::new(columns.collect()))
    }

    fn add_payload(&mut self, of: TypeId, payload: Payload) -> u32 {
        self.payloads.push(payload);
        let number = self.payloads.len() as u32 - 1;
        self.payload_of.insert(of, number);
        number
    }

    /// Records that a fragment is switched.
    #[inline(always)]
    pub(in crate::command) fn switch<T: Fragment>(
        &mut self,
        entity: Entity,
        on: bool,
    ) -> Result<(), WorldError> {
        let of = match on {
            true => TypeId::of::<Turned<T, true>>(),
            false => TypeId::of::<Turned<T, false>>(),
        };
        let FoundOp { op, .. } = match self.recent_ops.get(of) {
            Some(found) => found,
            None => self.find_switch::<T>(OpKey { of, combo: NONE }, on)?,
        };
        self.log.push(entity, op, &self.payloads);
        Ok(())
    }

    #[cold]
    #[inline(never)]
    fn find_switch<T: Fragment>(&mut self, key: OpKey, on: bool) -> Result<FoundOp, WorldError> {
        let op = match self.op_of.get(&key) {
            Some(&op) => op,
            None => {
                let info = self.universe.registry().of::<T>();
                let Some(info) = info.filter(|info| info.is_enableable()) else {
                    let name = core::any::type_name::<T>().into();
                    return Err(WorldError::NotEnableable { name });
                };
                let op = self.switch_numbered(info.id(), on);
                self.op_of.insert(key, op);
                op
            }
        };
        Ok(self.remember(key, op))
    }

    /// A new op that switches a fragment.
    pub(super) fn switch_numbered(&mut self, id: FragmentId, on: bool) -> u32 {
        self.push_op(Op::Switch { id, on })
    }

    /// A new op: its number.
    pub(super) fn push_op(&mut self, op: Op) -> u32 {
        let number = self.ops.len();
        assert!(
            number <= Word::LAST_OP as usize,
            "2 billion kinds of commands in one recorder's memory"
        );
        self.ops.push(op);
        number as u32
    }

    /// Records that a closure runs.
    pub(in crate::command) fn call<F: FnOnce(&mut World) -> Called + Send + 'static>(
        &mut self,
        run: F,
    ) {
        let of = TypeId::of::<F>();
        let FoundOp { op, payload } = match self.recent_ops.get(of) {
            Some(found) => found,
            None => self.find_call::<F>(OpKey { of, combo: NONE }),
        };
        let row = self.payloads[payload as usize].next();
        // A part of its own.
        self.log.begin();
        self.log.push(Entity::PLACEHOLDER, op, &self.payloads);
        let payload = &mut self.payloads[payload as usize];
        // SAFETY: room for one more closure.
        unsafe { payload.columns[0].row(row).cast::<F>().write(run) };
        payload.push();
        self.log.begin();
    }

    #[cold]
    #[inline(never)]
    fn find_call<F: FnOnce(&mut World) -> Called + Send + 'static>(
        &mut self,
        key: OpKey,
    ) -> FoundOp {
        /// # Safety
        /// `from` holds an `F`, which nobody uses again.
        unsafe fn call<F: FnOnce(&mut World) -> Called>(
            from: *mut u8,
            world: &mut World,
        ) -> Called {
            // SAFETY: the caller's.
            let run = unsafe { from.cast::<F>().read() };
            run(world)
        }
        /// # Safety
        /// `count` values of `F` from `values` on, which nobody uses again.
        unsafe fn drop_closures<F>(values: *mut u8, count: usize) {
            // SAFETY: the caller's.
            unsafe {
                core::ptr::slice_from_raw_parts_mut(values.cast::<F>(), count).drop_in_place()
            };
        }
        let op = match self.op_of.get(&key) {
            Some(&op) => op,
            None => {
                let column = PayloadColumn::new(
                    // A closure is no fragment, and nobody asks.
                    FragmentId::from_number(u16::MAX),
                    core::alloc::Layout::new::<F>(),
                    Some(drop_closures::<F>),
                );
                let payload = self.add_payload(TypeId::of::<F>(), Payload::new(vec![column]));
                let op = self.push_op(Op::Call {
                    payload,
                    call: call::<F>,
                });
                self.op_of.insert(key, op);
                op
            }
        };
        self.remember(key, op)
    }

    fn remember(&mut self, key: OpKey, op: u32) -> FoundOp {
        let payload = match self.ops[op as usize] {
            Op::Change { payload, .. } | Op::Call { payload, .. } => payload,
            Op::Destroy | Op::Switch { .. } => NONE,
        };
        let found = FoundOp { op, payload };
        if key.combo == NONE {
            self.recent_ops.keep(key.of, found);
        }
        found
    }

    /// Takes the values out of a bundle that are not for columns: the combination of its shared ones, and what chunks
    /// begin with, which is the lane's when the call is done.
    #[cold]
    pub(super) fn take_values<B: Bundle>(
        &mut self,
        bundle: &mut B,
        templates: &mut Pile<Value>,
    ) -> Result<u32, WorldError> {
        let mut values = Pile::new();
        let universe = Arc::clone(&self.universe);
        let registry = universe.registry();
        // SAFETY: the first time, of a bundle that was given to go into an entity.
        let taken = unsafe { bundle.take_values(registry, &mut |_, value| values.push(value)) };
        match taken {
            Ok(()) => Ok(self.part_values(values, templates)),
            Err(error) => Err(refused(values, error.into())),
        }
    }

    /// The combination of those values that are shared; the others are templates.
    pub(super) fn part_values(&mut self, values: Pile<Value>, templates: &mut Pile<Value>) -> u32 {
        let registry = self.universe.registry();
        let is_shared = |value: &Value| {
            registry
                .get(value.id())
                .is_some_and(|i| i.shared_ops().is_some())
        };
        let (shared, others): (Vec<Value>, Vec<Value>) =
            values.into_vec().into_iter().partition(is_shared);
        *templates = others.into();
        let mut shared = Pile::from(shared);
        if shared.is_empty() {
            return NONE;
        }
        shared.sort_by_key(Value::id);
        match self.known_combo(shared.iter()) {
            Some(known) => {
                // Where there is nobody to give a panic to, as in a world.
                shared.into_vec().into_iter().for_each(end_shared);
                known
            }
            None => {
                // Before they leave the pile: users' code.
                let hash = self.hash_of(shared.iter());
                self.add_combo(hash, shared.into_vec().into_iter().map(Arc::new).collect())
            }
        }
    }

    /// Keeps what the chunks of new archetypes begin with: that of a stream, which is its first entity's, or, for
    /// [`NONE`], all to which the open recorder's changes lead, which begin with what was said last.
    pub(super) fn take_template(&mut self, stream: u32, value: Arc<Value>) {
        let next = self.templates.len() as u32;
        let said = self.log.len() as u32;
        let at = *self.template_of.entry((stream, value.id())).or_insert(next);
        match self.templates.get_mut(at as usize) {
            None => self.templates.push(Template {
                segment: self.segments.len() as u32,
                stream,
                said,
                value,
            }),
            Some(known) if stream == NONE => {
                known.said = said;
                drop(core::mem::replace(&mut known.value, value));
            }
            Some(_) => {}
        }
    }

    /// The same, of a call that is done; what the drops of those panicked with whose place they take, or which come too
    /// late.
    #[cold]
    pub(super) fn take_templates(&mut self, stream: u32, templates: Pile<Value>) -> Panicked {
        let mut panicked = None;
        for template in templates.into_vec() {
            note(&mut panicked, || {
                self.take_template(stream, Arc::new(template))
            });
        }
        panicked
    }

    /// The combination of these shared values, which are in the order of their fragments, if it was met before: one of
    /// the last few, or one that is found by the values' hash.
    pub(super) fn known_combo<'v>(
        &self,
        shared: impl ExactSizeIterator<Item = &'v Value> + Clone,
    ) -> Option<u32> {
        let all = self.combos.len() as u32;
        let recent = all.saturating_sub(RECENT_COMBOS);
        let is = |&known: &u32| self.is_combo(known, shared.clone());
        if let Some(known) = (recent..all).rev().find(is) {
            return Some(known);
        }
        if recent == 0 {
            return None;
        }
        let last = self.combo_of.get(&self.hash_of(shared.clone()));
        let before = |&known: &u32| Some(self.combos.get(known as usize)?.before);
        successors(last.copied(), before)
            .take_while(|&known| known != NONE)
            .find(is)
    }

    fn is_combo<'v>(&self, known: u32, shared: impl ExactSizeIterator<Item = &'v Value>) -> bool {
        let registry = self.universe.registry();
        let values = &self.combos[known as usize].values;
        values.len() == shared.len()
            && values.iter().zip(shared).all(|(a, b)| {
                let ops = registry.get(a.id()).and_then(|info| info.shared_ops());
                // SAFETY: values of the same shared fragment.
                a.id() == b.id()
                    && ops.is_some_and(|ops| unsafe { (ops.equal)(a.as_ptr(), b.as_ptr()) })
            })
    }

    pub(super) fn hash_of<'v>(&self, shared: impl Iterator<Item = &'v Value>) -> u64 {
        let registry = self.universe.registry();
        shared.fold(0, |hash: u64, value| {
            let ops = registry.get(value.id()).and_then(|info| info.shared_ops());
            // SAFETY: a value of this fragment.
            let own = ops.map_or(0, |ops| unsafe { (ops.hash)(value.as_ptr()) });
            hash.rotate_left(7) ^ own.wrapping_add(u64::from(value.id().number()))
        })
    }

    /// A new combination of shared values, which have this hash.
    pub(super) fn add_combo(&mut self, hash: u64, values: Vec<Arc<Value>>) -> u32 {
        let number = self.combos.len() as u32;
        let before = self.combo_of.insert(hash, number).unwrap_or(NONE);
        self.combos.push(Combo { values, before });
        number
    }
}
