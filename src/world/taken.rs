//! `TakenIn`: what a call brings that does not lie in columns, for as long as the call lasts.
//!
//! # Invariant
//! A call that is refused leaves nothing of what it was given: no shared value, and nothing that chunks begin with, be
//! it the world's or that of an archetype which nobody has come to. Moves between worlds keep that for the world that
//! entities were to come to.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::archetype::SharedId;
use crate::fragment::{FragmentId, Pile, Value};
use crate::panics::{Panicked, end_all, first, note, resume};
use crate::world::bundles::NO_ARCHETYPE;
use crate::world::{World, WorldError};

/// Values that a call has brought, and how the world was before.
#[derive(Debug)]
pub(crate) struct TakenIn {
    /// The numbers of shared values, in the order of their fragments.
    pub(crate) shared: Vec<(FragmentId, SharedId)>,
    /// What chunks of new archetypes began with, for each fragment that came with another value; the oldest first.
    replaced: Vec<(FragmentId, Option<Arc<Value>>)>,
    /// So many archetypes there were.
    archetypes: usize,
}

/// How the world was before a call that takes in the values of one bundle after the other, or before it knew a composition
/// in which entities come from another world.
#[derive(Debug)]
pub(crate) struct Before {
    templates: BTreeMap<FragmentId, Arc<Value>>,
    /// So many archetypes there were.
    archetypes: usize,
}

impl Before {
    /// The call is done: what its values have taken the place of goes.
    pub(crate) fn end(self, panicked: &mut Panicked) {
        end_all(panicked, self.templates.into_values());
    }
}

impl TakenIn {
    /// The numbers of the shared values, as groups are found by them.
    pub(crate) fn key(shared: &[(FragmentId, SharedId)]) -> Vec<SharedId> {
        shared.iter().map(|&(_, value)| value).collect()
    }
}

impl World {
    /// Takes in the values that do not lie in columns: templates of chunk fragments, for archetypes that are new,
    /// and shared values. Nobody uses them yet: what follows is to be done in [`sharing`](Self::sharing). If a user's
    /// `eq`, `hash` or `drop` panics, none is left behind.
    pub(crate) fn take_in(&mut self, values: Pile<Value>) -> TakenIn {
        let mut taken = self.nothing_taken();
        let mut panicked = None;
        for value in values.into_vec() {
            note(&mut panicked, || {
                let info = self.universe.registry().get(value.id());
                match info.filter(|info| info.shared_ops().is_some()) {
                    Some(info) => (taken.shared).push((info.id(), self.shared.intern(info, value))),
                    None => self.bring_template(&mut taken, Arc::new(value)),
                }
            });
        }
        taken.shared.sort_unstable();
        self.all_taken(taken, panicked)
    }

    /// Before a call takes something in.
    pub(crate) fn nothing_taken(&self) -> TakenIn {
        TakenIn {
            shared: Vec::new(),
            replaced: Vec::new(),
            archetypes: self.archetypes.len(),
        }
    }

    /// New archetypes begin with clones of this.
    pub(crate) fn bring_template(&mut self, taken: &mut TakenIn, value: Arc<Value>) {
        let id = value.id();
        let replaced = self.templates.insert(id, value);
        taken.replaced.push((id, replaced));
    }

    /// What was taken in; or all goes again, if users' code has panicked meanwhile.
    pub(crate) fn all_taken(&mut self, taken: TakenIn, mut panicked: Panicked) -> TakenIn {
        if panicked.is_none() {
            return taken;
        }
        self.put_out(taken, &mut panicked);
        resume(panicked);
        unreachable!("a panic goes on")
    }

    /// Does `work` with values that were taken in. Then those shared values go that no group has;
    /// and if it is refused or panics (a template's `clone` may), all the others, too.
    pub(crate) fn sharing<R>(
        &mut self,
        taken: TakenIn,
        work: impl FnOnce(&mut Self, &[(FragmentId, SharedId)]) -> Result<R, WorldError>,
    ) -> Result<R, WorldError> {
        let (mut result, mut panicked) = (Err(WorldError::Interrupted), None);
        note(&mut panicked, || result = work(self, &taken.shared));
        match result {
            Ok(_) => self.keep(taken, &mut panicked),
            Err(_) => self.put_out(taken, &mut panicked),
        }
        if panicked.is_some() {
            drop(result);
            resume(panicked);
            unreachable!("a panic goes on");
        }
        result
    }

    /// [`sharing`](Self::sharing) of work that is done although users' code may have panicked in
    /// it, observers' for one: such a panic goes on in the end, before those of values that go.
    pub(crate) fn sharing_told<R>(
        &mut self,
        taken: TakenIn,
        work: impl FnOnce(&mut Self, &[(FragmentId, SharedId)]) -> Result<(R, Panicked), WorldError>,
    ) -> Result<R, WorldError> {
        let (mut result, mut told, mut panicked) = (None, None, None);
        note(&mut panicked, || {
            result = Some(self.sharing(taken, |world, shared| {
                let (done, of_work) = work(world, shared)?;
                told = of_work;
                Ok(done)
            }));
        });
        resume(first(told, panicked));
        match result {
            Some(result) => result,
            None => unreachable!("a panic has gone on"),
        }
    }

    /// [`sharing`](Self::sharing) of a shared value.
    pub(crate) fn sharing_one<R>(
        &mut self,
        shared: (FragmentId, SharedId),
        work: impl FnOnce(&mut Self) -> Result<R, WorldError>,
    ) -> Result<R, WorldError> {
        let mut taken = self.nothing_taken();
        taken.shared.push(shared);
        self.sharing(taken, |world, _| work(world))
    }

    fn let_shared_go(&mut self, shared: &[(FragmentId, SharedId)]) {
        for &(_, value) in shared {
            self.shared.release_unused(value);
        }
    }

    /// The call is done: what its values have taken the place of goes, and those that nobody has come to use.
    pub(crate) fn keep(&mut self, taken: TakenIn, panicked: &mut Panicked) {
        self.let_shared_go(&taken.shared);
        let replaced = taken.replaced.into_iter();
        end_all(panicked, replaced.filter_map(|(_, value)| value));
    }

    /// The call is refused: the world is made what it was before the values came.
    #[cold]
    pub(crate) fn put_out(&mut self, taken: TakenIn, panicked: &mut Panicked) {
        if !taken.replaced.is_empty() {
            self.forget_unused(taken.archetypes, panicked);
        }
        for (id, before) in taken.replaced.into_iter().rev() {
            let own = match before {
                Some(before) => self.templates.insert(id, before),
                None => self.templates.remove(&id),
            };
            note(panicked, || drop(own));
        }
        self.let_shared_go(&taken.shared);
    }

    /// How the world is before several bundles come, or entities of another world. O(chunk fragments that it knows).
    pub(crate) fn before(&self) -> Before {
        Before {
            templates: self.templates.clone(),
            archetypes: self.archetypes.len(),
        }
    }

    /// The call is refused, and its entities have gone again: new chunks begin with what they began with before.
    #[cold]
    pub(crate) fn put_back(&mut self, before: Before, panicked: &mut Panicked) {
        self.forget_unused(before.archetypes, panicked);
        let brought = core::mem::replace(&mut self.templates, before.templates);
        end_all(panicked, brought.into_values());
    }

    /// Forgets the archetypes from this one on, unless somebody has come to them. No query has seen them, also
    /// none that the world remembers: nobody but the values has had a turn since they came.
    fn forget_unused(&mut self, from: usize, panicked: &mut Panicked) {
        let new = &self.archetypes[from..];
        if new.is_empty() || new.iter().any(|data| data.entities > 0) {
            return;
        }
        for archetype in from as u32..self.archetypes.len() as u32 {
            self.archetypes[archetype as usize].trim(&self.universe, self.number);
            self.settle_groups(archetype);
        }
        let gone = self.archetypes.split_off(from);
        for data in gone.iter().rev() {
            self.by_composition.remove(&data.ids);
            data.ids.iter().for_each(|&id| self.having.pop(id));
        }
        for data in &mut self.archetypes {
            data.edges.keep_below(from as u32);
        }
        for info in &mut self.bundles.infos {
            if info.archetype >= from as u32 {
                info.archetype = NO_ARCHETYPE;
            }
            info.completed
                .take_if(|completed| completed.archetype >= from as u32);
        }
        self.composition_version += 1;
        gone.into_iter()
            .for_each(|mut data| data.end(&self.universe, self.number, panicked));
    }
}

#[cfg(test)]
mod tests;
