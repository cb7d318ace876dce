//! Further operations: names, clones and copies to reserved ids, slices that change, roles that go, entities that are
//! named to queries, and queries that are known at run time only.

use std::collections::BTreeMap;
use std::sync::Arc;

use megachunk::fragment::FragmentId;
use megachunk::prelude::*;
use megachunk::query::{Access, QueryError};
use megachunk::world::SliceReport;

use crate::world_bulk::{id, kinds_in};
use crate::world_fragments::{
    Fused, Kind, Ledger, Small, Species, Team, Weather, WithShape, core_kinds_of, core_shape_of,
    gone_kinds_of, gone_shape_of, with_core, with_gone,
};
use crate::world_machine::Machine;
use crate::world_naive::{NAMES, Naive, Refusal};
use crate::world_required::needs;
use crate::world_row::Row;
use crate::world_same::{fused, same, same_report};

/// As [`WorldOp`](crate::world_ops::WorldOp), for its arguments too.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MoreOp {
    Name {
        pick: u16,
        which: u8,
    },
    Unname {
        pick: u16,
    },
    /// What new chunks begin with, of compositions that a filter matches.
    Template {
        which: u8,
        payload: u32,
    },
    /// A reserved entity becomes a clone of another one.
    BuildClone {
        pick: u16,
        of: u16,
        fuse: u8,
    },
    /// Many clones of one entity.
    CloneMany {
        pick: u16,
        len: u16,
        fuse: u8,
    },
    /// A reserved entity becomes a copy of a prototype.
    BuildCopy {
        pick: u16,
        kinds: u16,
        payload: u32,
        fuse: u8,
    },
    SwapSlice {
        pick: u16,
        len: u8,
        stride: u8,
        gone: u8,
        come: u8,
        payload: u32,
    },
    AddSliceDynamic {
        pick: u16,
        len: u8,
        stride: u8,
        kinds: u16,
        payload: u32,
    },
    RemoveSliceDynamic {
        pick: u16,
        len: u8,
        stride: u8,
        kinds: u16,
    },
    SwapSliceDynamic {
        pick: u16,
        len: u8,
        stride: u8,
        gone: u16,
        come: u16,
        payload: u32,
    },
    SwapDynamic {
        pick: u16,
        gone: u16,
        come: u16,
        payload: u32,
        fuse: u8,
    },
    RemoveRole {
        pick: u16,
        which: u8,
    },
    EnableDynamic {
        pick: u16,
        which: u8,
        on: bool,
    },
    /// Three entities are lent together.
    Disjoint {
        picks: [u16; 3],
        payload: u32,
    },
    /// To the other world.
    MoveOne {
        pick: u16,
        fuse: u8,
    },
    /// A query on entities that are named.
    QueryIn {
        which: u8,
        way: u8,
        pick: u16,
        len: u8,
        stride: u8,
    },
    /// A query for kinds that are known at run time only: which must be there, and which not.
    QueryDynamic {
        with: u16,
        without: u16,
        way: u8,
    },
    /// The run begins anew, in a universe where the bits of a number say which fragments require others.
    Require {
        which: u8,
    },
    /// What entities lack of what is required.
    AddRequired {
        fuse: u8,
    },
    /// One entity of a template, or so many.
    OfTemplate {
        kinds: u16,
        payload: u32,
        len: u16,
        fuse: u8,
    },
    /// So many copies of some entities as a group.
    Groups {
        pick: u16,
        len: u8,
        stride: u8,
        count: u8,
        fuse: u8,
    },
    /// The world changes, and goes back to a checkpoint, if it can.
    RollBack {
        pick: u16,
        kinds: u16,
        payload: u32,
    },
    /// The worlds are saved and loaded without some kinds, and with other options that the bits of a number say.
    Load {
        left_out: u16,
        how: u8,
    },
}

/// The kind that [`MoreOp::RemoveRole`] takes away.
fn role_kind(which: u8) -> Kind {
    [Kind::Team, Kind::Team, Kind::Species, Kind::Weather][usize::from(which % 4)]
}

fn any_kind(which: u8) -> Kind {
    Kind::ALL[usize::from(which) % Kind::ALL.len()]
}

impl Machine {
    /// Whether an operation is refused, or only reads, or is about nobody. A name is no change, and what new chunks begin
    /// with is none.
    pub(crate) fn more_does_nothing(&self, op: MoreOp) -> bool {
        let row = |entity| self.model.row(self.at, entity);
        let picked = |pick| self.pick(pick).map(row);
        let refused = |pick| picked(pick).is_none_or(|row| row.is_err());
        let lacks = |entity, kinds: &[Kind]| match row(entity) {
            Ok(row) => !kinds.iter().any(|&kind| row.has(kind)),
            Err(_) => true,
        };
        let picked_lacks = |pick, kind| self.pick(pick).is_none_or(|one| lacks(one, &[kind]));
        let all_refused = |pick, len, stride| {
            let entities = self.slice(pick, len, stride);
            entities.into_iter().all(|entity| row(entity).is_err())
        };
        match op {
            MoreOp::Name { .. } | MoreOp::Unname { .. } | MoreOp::Template { .. } => true,
            MoreOp::Require { .. } => true,
            MoreOp::OfTemplate { .. } | MoreOp::RollBack { .. } | MoreOp::Load { .. } => false,
            MoreOp::AddRequired { .. } => {
                let lacks = |row: &Row| {
                    let kinds: Vec<Kind> = row.kinds().collect();
                    let needs = needs(self.model.required, &kinds, &[]);
                    needs.iter().any(|&(kind, _)| !row.has(kind))
                };
                !self.model.rows(self.at).any(|(_, row)| lacks(row))
            }
            MoreOp::Groups {
                pick,
                len,
                stride,
                count,
                ..
            } => count == 0 || all_refused(pick, len, stride),
            MoreOp::BuildClone { pick, of, .. } => {
                !matches!(picked(pick), Some(Err(Refusal::NotBuilt))) || refused(of)
            }
            MoreOp::BuildCopy { pick, .. } => !matches!(picked(pick), Some(Err(Refusal::NotBuilt))),
            MoreOp::CloneMany { pick, len, .. } => len == 0 || refused(pick),
            MoreOp::SwapDynamic { pick, .. } | MoreOp::MoveOne { pick, .. } => refused(pick),
            MoreOp::SwapSlice {
                pick, len, stride, ..
            }
            | MoreOp::AddSliceDynamic {
                pick, len, stride, ..
            }
            | MoreOp::SwapSliceDynamic {
                pick, len, stride, ..
            } => all_refused(pick, len, stride),
            MoreOp::RemoveSliceDynamic {
                pick,
                len,
                stride,
                kinds,
            } => {
                let (entities, kinds) = (self.slice(pick, len, stride), kinds_in(kinds));
                entities.into_iter().all(|entity| lacks(entity, &kinds))
            }
            MoreOp::RemoveRole { pick, which } => picked_lacks(pick, role_kind(which)),
            MoreOp::EnableDynamic { pick, which, .. } => {
                let kind = any_kind(which);
                !kind.is_enableable() || picked_lacks(pick, kind)
            }
            MoreOp::Disjoint { picks, .. } => {
                let picked = picks.map(|pick| self.pick(pick));
                let [Some(a), Some(b), Some(c)] = picked else {
                    return true;
                };
                self.model.disjoint(self.at, [a, b, c]).is_err()
            }
            MoreOp::QueryIn {
                which,
                pick,
                len,
                stride,
                ..
            } => {
                let writes = self.queries[usize::from(which) % self.queries.len()].writes();
                !writes || all_refused(pick, len, stride)
            }
            MoreOp::QueryDynamic { .. } => {
                let mut rows = self.model.rows(self.at);
                !rows.any(|(_, row)| row.has(Kind::Small))
            }
        }
    }

    pub(crate) fn step_of_more(&mut self, op: MoreOp) {
        match op {
            MoreOp::Name { pick, which } => self.name(pick, which),
            MoreOp::Unname { pick } => {
                if let Some(entity) = self.pick(pick) {
                    let real = self.worlds[self.at].remove_name(entity);
                    same(real, self.model.unname(self.at, entity), "remove_name");
                }
            }
            MoreOp::Template { which, payload } => self.set_template(which, payload),
            MoreOp::BuildClone { pick, of, fuse } => self.build_clone(pick, of, fuse),
            MoreOp::CloneMany { pick, len, fuse } => self.clone_many(pick, len, fuse),
            MoreOp::BuildCopy {
                pick,
                kinds,
                payload,
                fuse,
            } => self.build_copy(pick, kinds, payload, fuse),
            MoreOp::SwapSlice {
                pick,
                len,
                stride,
                gone,
                come,
                payload,
            } => self.swap_slice(&self.slice(pick, len, stride), gone, come, payload),
            MoreOp::AddSliceDynamic {
                pick,
                len,
                stride,
                kinds,
                payload,
            } => self.add_slice_dynamic(&self.slice(pick, len, stride), kinds, payload),
            MoreOp::RemoveSliceDynamic {
                pick,
                len,
                stride,
                kinds,
            } => self.remove_slice_dynamic(&self.slice(pick, len, stride), kinds),
            MoreOp::SwapSliceDynamic {
                pick,
                len,
                stride,
                gone,
                come,
                payload,
            } => self.swap_slice_dynamic(&self.slice(pick, len, stride), gone, come, payload),
            MoreOp::SwapDynamic {
                pick,
                gone,
                come,
                payload,
                fuse,
            } => self.swap_dynamic(pick, gone, come, payload, fuse),
            MoreOp::RemoveRole { pick, which } => self.remove_role(pick, which),
            MoreOp::EnableDynamic { pick, which, on } => self.enable_dynamic(pick, which, on),
            MoreOp::Disjoint { picks, payload } => self.disjoint(picks, payload),
            MoreOp::MoveOne { pick, fuse } => self.move_one(pick, fuse),
            MoreOp::QueryIn {
                which,
                way,
                pick,
                len,
                stride,
            } => {
                let entities = self.slice(pick, len, stride);
                let which = usize::from(which) % self.queries.len();
                let world = &mut self.worlds[self.at];
                self.queries[which].run_in(world, &mut self.model, self.at, way, &entities);
            }
            MoreOp::QueryDynamic { with, without, way } => self.query_dynamic(with, without, way),
            MoreOp::Require { which } => self.require(which),
            MoreOp::AddRequired { fuse } => self.add_required(fuse),
            MoreOp::OfTemplate {
                kinds,
                payload,
                len,
                fuse,
            } => self.create_of_template(kinds, payload, len, fuse),
            MoreOp::Groups {
                pick,
                len,
                stride,
                count,
                fuse,
            } => self.create_groups(&self.slice(pick, len, stride), count, fuse),
            MoreOp::RollBack {
                pick,
                kinds,
                payload,
            } => self.roll_back(pick, kinds, payload),
            MoreOp::Load { left_out, how } => self.load(left_out, how),
        }
    }

    // --- Names -------------------------------------------------------------------------------------

    fn name(&mut self, pick: u16, which: u8) {
        let Some(entity) = self.pick(pick) else {
            return;
        };
        let which = usize::from(which) % NAMES.len();
        let real = self.worlds[self.at].set_name(entity, NAMES[which]);
        same(real, self.model.name(self.at, entity, which), "set_name");
    }

    /// Compares who has which name.
    pub(crate) fn compare_names(&self) {
        for at in 0..crate::world_machine::WORLDS {
            for (which, name) in NAMES.into_iter().enumerate() {
                let expected = self.model.named(at, which);
                let world = &self.worlds[at];
                assert_eq!(
                    world.find_by_name(name),
                    expected.first().copied(),
                    "{name:?}"
                );
                assert_eq!(world.named(name).collect::<Vec<_>>(), expected, "{name:?}");
            }
            assert_eq!(self.worlds[at].find_by_name("nobody"), None);
        }
    }

    // --- Clones and copies -------------------------------------------------------------------------

    fn build_clone(&mut self, pick: u16, of: u16, fuse: u8) {
        let (Some(entity), Some(of)) = (self.pick(pick), self.pick(of)) else {
            return;
        };
        let world = &mut self.worlds[self.at];
        match fused(&self.ledger, fuse, || world.build_clone(entity, of)) {
            Ok(real) => same(
                real,
                self.model.build_clone(self.at, entity, of),
                "build_clone",
            ),
            Err(fused) => assert_eq!(fused, Fused::Clone),
        }
    }

    fn clone_many(&mut self, pick: u16, len: u16, fuse: u8) {
        let Some(entity) = self.pick(pick) else {
            return;
        };
        let world = &mut self.worlds[self.at];
        // It ends when no fuse burns any more.
        let mut kept = None;
        let created = fused(&self.ledger, fuse, || {
            let prototype = kept.insert(Prototype::of(world, entity)?);
            let batch = world.create_copies(prototype, len.into())?;
            Ok::<Vec<Entity>, WorldError>(batch.to_vec(world))
        });
        let Ok(created) = created else { return };
        match (created, self.model.copied(self.at, entity)) {
            (Ok(entities), Ok(row)) => {
                assert_eq!(entities.len(), usize::from(len));
                for new in entities {
                    self.model.enter_clone(self.at, new, row);
                }
            }
            (Err(error), Err(refusal)) => assert_eq!(Refusal::of(&error), refusal),
            (real, expected) => panic!("clones: {real:?}, not {expected:?}"),
        }
    }

    fn build_copy(&mut self, pick: u16, kinds: u16, payload: u32, fuse: u8) {
        let Some(entity) = self.pick(pick) else {
            return;
        };
        let Some((prototype, kinds)) = self.prototype(kinds, payload) else {
            return;
        };
        let world = &mut self.worlds[self.at];
        let built = fused(&self.ledger, fuse, || world.build_copy(entity, &prototype));
        self.settle_build(built, entity, &kinds, payload);
    }

    // --- Changes -----------------------------------------------------------------------------------

    fn swap_slice(&mut self, entities: &[Entity], gone: u8, come: u8, payload: u32) {
        struct Swap<'a>(&'a mut World, &'a Arc<Ledger>, &'a [Entity], u8, u32);
        struct Come<'a, G>(Swap<'a>, std::marker::PhantomData<G>);
        impl WithShape for Swap<'_> {
            type Out = SliceReport;
            fn with<G: Bundle>(self, _: fn(u32, &Arc<Ledger>) -> G) -> SliceReport {
                with_core(self.3, Come::<G>(self, std::marker::PhantomData))
            }
        }
        impl<G: Bundle> WithShape for Come<'_, G> {
            type Out = SliceReport;
            fn with<B: Bundle>(self, make: fn(u32, &Arc<Ledger>) -> B) -> SliceReport {
                let Swap(world, ledger, entities, _, payload) = self.0;
                world.swap_slice::<G, B>(entities, |at| {
                    make(payload.wrapping_add(at as u32), ledger)
                })
            }
        }
        let (gone, come) = (gone_shape_of(gone), core_shape_of(come));
        let kinds = core_kinds_of(come);
        self.note_weathers(kinds, payload, entities.len() as u32);
        let (world, ledger) = (&mut self.worlds[self.at], &self.ledger);
        let report = with_gone(gone, Swap(world, ledger, entities, come, payload));
        let expected = entities.iter().zip(0..).map(|(&entity, n)| {
            let payload = payload.wrapping_add(n);
            let swapped = self
                .model
                .swap(self.at, entity, gone_kinds_of(gone), kinds, payload);
            swapped.map(|()| true)
        });
        same_report(&report, &expected.collect::<Vec<_>>());
    }

    fn ids(&self, kinds: &[Kind]) -> Vec<FragmentId> {
        let registry = self.universe.registry();
        kinds.iter().map(|&kind| id(kind, registry)).collect()
    }

    fn add_slice_dynamic(&mut self, entities: &[Entity], kinds: u16, payload: u32) {
        let Some((prototype, kinds)) = self.prototype(kinds, payload) else {
            return;
        };
        let report = self.worlds[self.at].add_slice_dynamic(entities, &prototype);
        let added = |&entity| {
            let added = self.model.add(self.at, entity, &kinds, payload);
            added.map(|()| true)
        };
        let expected: Vec<_> = entities.iter().map(added).collect();
        same_report(&report.unwrap(), &expected);
    }

    fn remove_slice_dynamic(&mut self, entities: &[Entity], kinds: u16) {
        let kinds = kinds_in(kinds);
        let ids = self.ids(&kinds);
        let report = self.worlds[self.at].remove_slice_dynamic(entities, &ids);
        let report = match (report, Naive::can_create(&kinds)) {
            (Ok(report), Ok(())) => report,
            (Err(error), expected) => return assert_eq!(Err(Refusal::of(&error)), expected),
            (Ok(_), Err(refusal)) => panic!("removed in spite of {refusal:?}"),
        };
        let removed = |&entity| self.model.remove(self.at, entity, &kinds);
        let expected: Vec<_> = entities.iter().map(removed).collect();
        same_report(&report, &expected);
    }

    fn swap_slice_dynamic(&mut self, entities: &[Entity], gone: u16, come: u16, payload: u32) {
        let Some((prototype, kinds)) = self.prototype(come, payload) else {
            return;
        };
        let gone = kinds_in(gone);
        let ids = self.ids(&gone);
        let report = self.worlds[self.at].swap_slice_dynamic(entities, &ids, &prototype);
        let report = match (report, Naive::can_create(&gone)) {
            (Ok(report), Ok(())) => report,
            (Err(error), expected) => return assert_eq!(Err(Refusal::of(&error)), expected),
            (Ok(_), Err(refusal)) => panic!("swapped in spite of {refusal:?}"),
        };
        let swapped = |&entity| {
            let swapped = self.model.swap(self.at, entity, &gone, &kinds, payload);
            swapped.map(|()| true)
        };
        let expected: Vec<_> = entities.iter().map(swapped).collect();
        same_report(&report, &expected);
    }

    fn swap_dynamic(&mut self, pick: u16, gone: u16, come: u16, payload: u32, fuse: u8) {
        let Some(entity) = self.pick(pick) else {
            return;
        };
        let (gone, come) = (kinds_in(gone), kinds_in(come));
        let ids = self.ids(&gone);
        let bundle = self.dynamic_bundle(&come, payload);
        let (world, ledger) = (&mut self.worlds[self.at], &self.ledger);
        let swapped = fused(ledger, fuse, || world.swap_dynamic(entity, &ids, bundle));
        self.settle(swapped, "swap_dynamic", |model, at| {
            model.row(at, entity)?;
            Naive::can_change(&gone, &come)?;
            model.swap(at, entity, &gone, &come, payload)
        });
    }

    fn remove_role(&mut self, pick: u16, which: u8) {
        let Some(entity) = self.pick(pick) else {
            return;
        };
        let world = &mut self.worlds[self.at];
        let real = match which % 4 {
            0 => world.remove::<Shared<Team>>(entity),
            1 => world.remove::<Shared<Team>>(entity),
            2 => world.remove::<ConstShared<Species>>(entity),
            _ => world.remove::<PerChunk<Weather>>(entity),
        };
        let expected = self.model.remove(self.at, entity, &[role_kind(which)]);
        same(real, expected, "remove_role");
    }

    fn enable_dynamic(&mut self, pick: u16, which: u8, on: bool) {
        let Some(entity) = self.pick(pick) else {
            return;
        };
        let kind = any_kind(which);
        let id = id(kind, self.universe.registry());
        let world = &mut self.worlds[self.at];
        let real = world.set_enabled_dynamic(entity, id, on);
        if real.is_ok() {
            assert_eq!(world.is_enabled_dynamic(entity, id).unwrap(), on);
        }
        let expected = self.model.enable(self.at, entity, kind, on);
        same(real, expected, "set_enabled_dynamic");
    }

    fn disjoint(&mut self, picks: [u16; 3], payload: u32) {
        let picked = picks.map(|pick| self.pick(pick));
        let [Some(a), Some(b), Some(c)] = picked else {
            return;
        };
        let entities = [a, b, c];
        let world = &mut self.worlds[self.at];
        let real = world.get_disjoint_mut::<Small, 3>(entities);
        let real = real.map(|smalls| {
            for (small, n) in smalls.into_iter().zip(0..) {
                *small = Small(payload.wrapping_add(n));
            }
        });
        let expected = self.model.disjoint(self.at, entities).map(|()| {
            for (&entity, n) in entities.iter().zip(0..) {
                let payload = payload.wrapping_add(n);
                let set = self.model.set(self.at, entity, Kind::Small, payload);
                assert_eq!(set, Ok(()));
            }
        });
        same(real, expected, "get_disjoint_mut");
    }

    fn move_one(&mut self, pick: u16, fuse: u8) {
        let Some(entity) = self.pick(pick) else {
            return;
        };
        let (at, ledger) = (self.at, Arc::clone(&self.ledger));
        let (world, other) = self.both();
        match fused(&ledger, fuse, || world.move_to(other, entity)) {
            Ok(real) => same(real, self.model.emigrate(at, entity), "move_to"),
            // It is where it was.
            Err(fused) => assert_eq!(fused, Fused::Clone),
        }
    }

    // --- Queries -----------------------------------------------------------------------------------

    fn query_dynamic(&mut self, with: u16, without: u16, way: u8) {
        let (with, without) = (kinds_in(with & 0x7fff), kinds_in(without & 0x7fff));
        let (ids, not) = (self.ids(&with), self.ids(&without));
        let small = id(Kind::Small, self.universe.registry());
        let world = &mut self.worlds[self.at];
        let mut builder = DynamicQuery::builder(world).optional(small, Access::Write);
        for &id in ids.iter().filter(|&&id| id != small) {
            builder = builder.with(id);
        }
        if with.contains(&Kind::Small) {
            builder = builder.with(small);
        }
        for &id in &not {
            builder = builder.without(id);
        }
        let contradicts = with.iter().any(|kind| without.contains(kind));
        let mut query = match builder.build() {
            Ok(query) => {
                assert!(!contradicts, "{with:?} without {without:?}");
                query
            }
            Err(error) => {
                assert!(matches!(error, QueryError::Contradiction { .. }), "{error}");
                return assert!(contradicts, "{with:?} without {without:?}: {error}");
            }
        };
        let mut expected = BTreeMap::new();
        for (entity, row) in self.model.rows_mut(self.at) {
            // Of what may be there one must be, unless something is asked for.
            let some = !with.is_empty() || row.has(Kind::Small);
            let all = with.iter().all(|&kind| row.is_on(kind));
            if some && all && !without.iter().any(|&kind| row.is_on(kind)) {
                if let Some(small) = row.get_mut(Kind::Small) {
                    *small = small.wrapping_add(3);
                }
                expected.insert(entity, row.get(Kind::Small));
            }
        }
        let mut seen: Vec<(Entity, Option<u32>)> = Vec::new();
        let mut run = query.on(world).unwrap();
        let mut each = |mut chunk: megachunk::query::DynamicChunk<'_>| {
            let (entities, rows) = (chunk.entities(), chunk.rows());
            let mut smalls = chunk
                .write(small)
                .ok()
                .map(|smalls| smalls.slice::<Small>().unwrap());
            for row in rows {
                let value = smalls.as_mut().map(|smalls| {
                    smalls[row].0 = smalls[row].0.wrapping_add(3);
                    smalls[row].0
                });
                seen.push((entities[row], value));
            }
        };
        match way % 3 {
            0 => run.for_each_chunk(each),
            1 => {
                for &entity in &self.model.given {
                    if let Ok(chunk) = run.get_mut(entity) {
                        assert_eq!(chunk.entities(), [entity]);
                        each(chunk);
                    }
                }
            }
            _ => {
                let given = &self.model.given;
                let report = run.for_each_in(given, each);
                let refused: Vec<_> = report.refused.iter().map(|(at, _)| *at).collect();
                let not_here = |at: &usize| self.model.row(self.at, given[*at]).is_err();
                let expected: Vec<_> = (0..given.len()).filter(not_here).collect();
                assert_eq!(refused, expected);
                assert_eq!(report.done, seen.len());
            }
        }
        let count = seen.len();
        let seen: BTreeMap<_, _> = seen.into_iter().collect();
        assert_eq!(
            (count, seen),
            (expected.len(), expected.clone()),
            "{with:?} without {without:?}"
        );
        drop(run);
        let mut run = query.on(world).unwrap();
        assert_eq!(run.count(), expected.len());
        assert_eq!(run.is_empty(), expected.is_empty());
        assert_eq!(run.single().is_some(), expected.len() == 1);
        let entities: std::collections::BTreeSet<Entity> = run.entities().collect();
        assert!(entities.iter().eq(expected.keys()));
    }
}
