//! Archetypes, their groups, chunks and rows.

use crate::archetype::{Archetype, LONG_AGO, Mover, NOT_OPEN, begin, fold, place};
use crate::chunk::CHUNK_BYTES;
use crate::entity::Entity;
use crate::fragment::with_needs;
use crate::world::World;
use crate::world::bundles::NO_ARCHETYPE;
use crate::world::check::{FlawPlace, Found, Held};

impl World {
    /// Notes what is wrong with archetypes, and with what leads to them; what the world has.
    pub(super) fn check_archetypes(&self, found: &mut Found) -> Held {
        let mut held = Held::default();
        for (number, data) in (0..).zip(&self.archetypes) {
            let at = FlawPlace::Archetype(number);
            found.expect(data.number == number, at, || {
                format!("it believes to be archetype {}", data.number)
            });
            let known = self.by_composition.get(&data.ids);
            found.expect(known == Some(&number), at, || {
                format!("its composition leads to {known:?}")
            });
            found.expect(self.has_switches || data.enabled.is_empty(), at, || {
                "the world does not know that it can be switched".into()
            });
            self.check_composition(number, data, found);
            self.check_groups(number, data, found);
            self.check_edges(number, data, found);
            let mut entities = 0;
            for chunk in 0..data.chunks.len() as u32 {
                self.check_chunk(number, data, chunk, found);
                entities += data.chunks[chunk as usize].len as usize;
                held.chunks += data.chunks[chunk as usize].run.len() as usize;
            }
            found.expect(data.entities == entities, at, || {
                format!("it counts {} entities, and has {entities}", data.entities)
            });
            held.entities += entities;
        }
        let compositions = self.by_composition.len();
        found.expect(
            compositions == self.archetypes.len(),
            FlawPlace::World,
            || {
                format!(
                    "{compositions} compositions lead to {} archetypes",
                    self.archetypes.len()
                )
            },
        );
        self.check_lists(found);
        self.check_bundles(found);
        held
    }

    /// The fragments of an archetype, and where they lie.
    fn check_composition(&self, number: u32, data: &Archetype, found: &mut Found) {
        let at = FlawPlace::Archetype(number);
        found.expect(data.ids.is_sorted_by(|a, b| a < b), at, || {
            "its fragments are not in order, or stand there twice".into()
        });
        found.expect(data.set.iter().eq(data.ids.iter().copied()), at, || {
            "its set of fragments is not its list".into()
        });
        let ids = data.columns.iter().map(|column| column.id);
        let in_order = data.column_ids.is_sorted_by(|a, b| a < b)
            && data.enabled.is_sorted_by(|a, b| a.id < b.id)
            && data.chunk_values.is_sorted_by(|a, b| a.id < b.id)
            && data.shared.is_sorted_by(|a, b| a < b);
        found.expect(in_order && ids.eq(data.column_ids.iter().copied()), at, || {
            "its columns, or what else it has of its fragments, are not in the order of their numbers".into()
        });
        let drops = data.columns.iter().any(|column| column.drop.is_some());
        found.expect(drops == data.needs_drop, at, || {
            "it does not know whether its values must be dropped".into()
        });
        for &id in &*data.ids {
            // In order, each once: see `check_lists`.
            let list = self.having.of(id);
            let listed = list.binary_search_by_key(&number, |having| having.archetype);
            let right = listed.is_ok_and(|at| list[at] == data.having(id));
            found.expect(right, at, || {
                format!("queries do not know where {id:?} lies")
            });
        }
        // In the order of their offsets, arrays end before the next begins.
        let capacity = data.least_capacity;
        let mut arrays = vec![(0, capacity * size_of::<Entity>() as u32)];
        arrays.extend(data.columns.iter().map(|c| (c.offset, capacity * c.size)));
        let words = capacity.div_ceil(64);
        arrays.extend(data.enabled.iter().map(|bits| (bits.offset, 8 * words)));
        let once = data.chunk_values.iter();
        arrays.extend(once.map(|value| (value.offset, value.template.size() as u32)));
        arrays.retain(|&(_, bytes)| bytes > 0);
        arrays.sort_unstable();
        arrays.push((data.run * CHUNK_BYTES as u32, 0));
        let apart = arrays.is_sorted_by(|&(first, bytes), &(next, _)| first + bytes <= next);
        found.expect(apart, at, || format!("its arrays overlap: {arrays:?}"));
        let fit = fold::fit(&data.columns, data.fold_rows);
        found.expect(fit, at, || "its arrays overlap in a folded chunk".into());
    }

    /// The lists by which queries find archetypes name each once, in order.
    fn check_lists(&self, found: &mut Found) {
        let mut listed = 0;
        for list in self.having.lists() {
            listed += list.len();
            let ordered = list.is_sorted_by(|a, b| a.archetype < b.archetype);
            found.expect(ordered, FlawPlace::World, || {
                "a list of archetypes that have a fragment is not in order".into()
            });
        }
        let there: usize = self.archetypes.iter().map(|data| data.ids.len()).sum();
        found.expect(listed == there, FlawPlace::World, || {
            format!("queries know {listed} fragments of archetypes, and there are {there}")
        });
    }

    /// What is remembered of bundles is so.
    fn check_bundles(&self, found: &mut Found) {
        let (count, numbers) = (self.bundles.count(), self.bundles.infos.len());
        found.expect(count == numbers, FlawPlace::World, || {
            format!("{numbers} numbers of bundles are given to {count}")
        });
        for info in &self.bundles.infos {
            if let Some(completed) = &info.completed {
                let needs = self.registry().needs(&info.sorted);
                let ids = with_needs(&info.sorted, &needs);
                let known = self.by_composition.get(ids.as_slice()) == Some(&completed.archetype);
                let known = known && info.archetype == NO_ARCHETYPE;
                found.expect(known, FlawPlace::World, || {
                    format!("a bundle's entities do not come to {}", completed.archetype)
                });
            }
            if info.archetype == NO_ARCHETYPE {
                continue;
            }
            let known = self.by_composition.get(&info.sorted) == Some(&info.archetype);
            found.expect(known, FlawPlace::World, || {
                format!("a bundle's archetype is not {}", info.archetype)
            });
            if known {
                let offsets: Vec<u32> = self.offsets_in(info.archetype, &info.ids);
                found.expect(
                    offsets == *info.offsets,
                    FlawPlace::Archetype(info.archetype),
                    || "a bundle's values are not sent to its columns".into(),
                );
            }
        }
    }

    /// Groups are known by their keys as long as they have chunks.
    fn check_groups(&self, archetype: u32, data: &Archetype, found: &mut Found) {
        let at = FlawPlace::Archetype(archetype);
        let mut chunks = vec![0; data.groups.len()];
        let mut rooms = vec![0; data.groups.len()];
        let mut idle_times = vec![0; data.groups.len()];
        for &group in &data.idle_groups {
            match idle_times.get_mut(group as usize) {
                Some(times) => *times += 1,
                None => found.expect(false, at, || format!("there is no idle group {group}")),
            }
        }
        for (number, chunk) in (0..).zip(&data.chunks) {
            match chunks.get_mut(chunk.group as usize) {
                Some(count) => {
                    *count += 1;
                    rooms[chunk.group as usize] += data.unfolded_capacity(chunk) as usize;
                }
                None => found.expect(
                    false,
                    FlawPlace::Chunk {
                        archetype,
                        chunk: number,
                    },
                    || format!("there is no group {}", chunk.group),
                ),
            }
        }
        for (number, group) in (0..).zip(&data.groups) {
            let here = FlawPlace::Group {
                archetype,
                group: number,
            };
            let count = chunks[number as usize];
            found.expect(group.chunks == count, here, || {
                format!("it counts {} chunks, and has {count}", group.chunks)
            });
            let room = rooms[number as usize];
            found.expect(group.capacity == room, here, || {
                format!("it counts room for {}, and has {room}", group.capacity)
            });
            let named = data.group_of.get(&group.key) == Some(&number);
            let idle = idle_times[number as usize];
            let right = match (data.shared.is_empty(), count) {
                (true, _) => !named && idle == 0 && group.key.is_empty() && number == 0,
                (false, 0) => !named && idle == 1 && group.key.is_empty(),
                (false, _) => named && idle == 0 && group.key.len() == data.shared.len(),
            };
            found.expect(right, here, || {
                format!("with {count} chunks it is named: {named}, idle: {idle} times")
            });
            for (&id, &value) in data.shared.iter().zip(&group.key) {
                found.expect(self.shared.id_of(value) == Some(id), here, || {
                    format!("its value of {id:?} is not there")
                });
            }
            for (position, &chunk) in (0..).zip(&group.open) {
                let listed = data.chunks.get(chunk as usize);
                let right = listed.is_some_and(|c| c.open_at == position && c.group == number);
                found.expect(right, here, || {
                    format!("its list of chunks with room names chunk {chunk}, which is not so")
                });
            }
        }
        let moved = data.movers.is_empty() || Mover::move_all(&data.movers, data);
        found.expect(moved, at, || "what moves its rows loses a column".into());
        found.expect(data.retired_keys.is_empty(), at, || {
            "the values of a group that has gone were not let go".into()
        });
        let groups = match data.shared.is_empty() {
            true => 1,
            false => data.group_of.len() + data.idle_groups.len(),
        };
        found.expect(groups == data.groups.len(), at, || {
            format!("it has {} groups, and knows {groups}", data.groups.len())
        });
    }

    /// The ways to other archetypes carry or end each column.
    fn check_edges(&self, number: u32, data: &Archetype, found: &mut Found) {
        for edge in data.edges.iter() {
            let Some(target) = self.archetypes.get(edge.target as usize) else {
                found.expect(false, FlawPlace::Archetype(number), || {
                    format!("an edge leads to archetype {}", edge.target)
                });
                continue;
            };
            // Both in the order of the columns.
            let (mut carried, mut ended) = (edge.carried.iter(), edge.ended.iter().peekable());
            let all = data.columns.iter().all(|column| {
                if ended.next_if(|ended| ended.id == column.id).is_some() {
                    return true;
                }
                let there = target.seek_column(column.id).map(|at| &target.columns[at]);
                let (Some(there), Some(carry)) = (there, carried.next()) else {
                    return false;
                };
                (carry.from, carry.to, carry.size) == (column.offset, there.offset, column.size)
            });
            let none_else = carried.next().is_none() && ended.next().is_none();
            found.expect(all && none_else, FlawPlace::Archetype(number), || {
                format!("an edge to archetype {} loses a column", edge.target)
            });
        }
    }

    fn check_chunk(&self, archetype: u32, data: &Archetype, position: u32, found: &mut Found) {
        let chunk = &data.chunks[position as usize];
        let at = FlawPlace::Chunk {
            archetype,
            chunk: position,
        };
        let times = chunk.run.len() / data.run;
        let whole = data.columns.iter().filter(|column| column.size > 0);
        let refit = chunk.refit().map(|refit| {
            let mut offsets: Vec<u32> = whole.map(|column| column.offset).collect();
            offsets.sort_unstable();
            refit.offsets() == offsets && data.enabled.is_empty() && data.chunk_values.is_empty()
        });
        let folded = || {
            chunk.run.len() == 1
                && chunk.capacity == data.fold_rows
                && !chunk.is_full()
                && chunk.base == fold::begin(&self.universe, chunk.run)
                && data.columns.iter().all(|column| {
                    let array = chunk.array(column.offset).addr() - chunk.base.addr().get();
                    array as u32 == fold::folded(column.offset)
                })
        };
        let cut_out = || {
            chunk.run.len().is_multiple_of(data.run)
                && chunk.capacity == data.least_capacity * times
                && chunk.array(1) == chunk.base.as_ptr().wrapping_add(times as usize)
                && chunk.base == begin(&self.universe, chunk.run, data.staggered)
        };
        let right = match chunk.is_folded() {
            true => refit.is_none() && folded(),
            false => refit.unwrap_or_else(cut_out),
        };
        found.expect(right, at, || {
            format!("it is not cut out as the archetype's are: {chunk:?}")
        });
        found.expect(chunk.len <= chunk.capacity, at, || {
            format!("{} entities in room for {}", chunk.len, chunk.capacity)
        });
        let open = data.groups.get(chunk.group as usize).and_then(|group| {
            let at = group.open.get(chunk.open_at as usize)?;
            Some(*at == position)
        });
        let listed = open == Some(true);
        found.expect(
            match listed {
                true => !chunk.is_full(),
                false => {
                    let is_filled = chunk.is_folded() || chunk.opens_with(chunk.len);
                    !is_filled && chunk.open_at == NOT_OPEN
                }
            },
            at,
            || {
                format!(
                    "with {} entities it is in the list of chunks with room: {listed}",
                    chunk.len
                )
            },
        );
        for sub in 0..chunk.named() {
            let owner = self.universe.directory().owner_of(chunk.run.first() + sub);
            let mine = owner.world() == self.number
                && owner.archetype() == archetype
                && owner.position() == position
                && owner.sub() == sub;
            found.expect(mine, at, || {
                format!("the directory says of its part {sub}: {owner:?}")
            });
        }
        let now = self.stamp();
        let columns = (0..data.columns.len()).map(|column| chunk.version(column));
        let versions = columns.chain([chunk.order_version, chunk.filled_version]);
        for version in versions {
            found.expect(now.wrapping_sub(version) <= LONG_AGO, at, || {
                format!("version {version} is not before {now}")
            });
        }
        // The entity's place names one row, so that no entity lies in two.
        for (row, &entity) in (0..).zip(chunk.entities()) {
            let there = self.universe.index().place_of(entity);
            let here = place(chunk.run, row);
            found.expect(
                there == Some(here),
                FlawPlace::Row {
                    archetype,
                    chunk: position,
                    row,
                    entity,
                },
                || match self.universe.exists(entity) {
                    true => format!("its place is {there:?}, and it lies at {here:?}"),
                    false => "it does not live".into(),
                },
            );
        }
    }
}
