//! Queries of every kind, each beside a plain sentence about rows that says what it must give.

use std::collections::BTreeMap;
use std::sync::Mutex;

use megachunk::prelude::*;
use megachunk::query::{QueryData, QueryFilter};

use crate::world_fragments::{
    Awake, Counted, Fused, Guard, Kind, Ledger, Matrix, Page, Small, Species, Switch, Tag, Team,
    Text, Weather,
};
use crate::world_naive::{Naive, Refusal};
use crate::world_row::Row;

/// A query type, and what it must give.
pub(crate) trait Probe {
    type Data: QueryData;
    type Filter: QueryFilter;

    /// What was lent, as numbers; writes what it lends for writing.
    fn seen(item: <Self::Data as QueryData>::Item<'_>) -> (Entity, Vec<u32>);

    /// The same of a row of the model; `None` if the query must not see it.
    fn expected(row: &mut Row) -> Option<Vec<u32>>;
}

macro_rules! probe {
    ($(#[$doc:meta])* $name:ident: $data:ty, $filter:ty,
        |$item:pat_param| $seen:expr, |$row:ident| $expected:expr) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $name;

        impl Probe for $name {
            type Data = $data;
            type Filter = $filter;

            fn seen($item: <$data as QueryData>::Item<'_>) -> (Entity, Vec<u32>) {
                $seen
            }

            fn expected($row: &mut Row) -> Option<Vec<u32>> {
                $expected
            }
        }
    };
}

/// An optional payload as a number.
fn maybe(payload: Option<u32>) -> u32 {
    payload.map_or(u32::MAX, |payload| payload / 2)
}

fn number(text: &Text) -> u32 {
    text.0.parse().unwrap()
}

probe!(Read: (Entity, &'static Small), (),
    |(e, small)| (e, vec![small.0]),
    |row| Some(vec![row.get(Kind::Small)?]));

probe!(Write: (Entity, &'static mut Small), Without<Tag>,
|(e, small)| {
    small.0 = small.0.wrapping_add(1);
    (e, vec![small.0])
},
|row| {
    let tagged = row.has(Kind::Tag);
    let small = row.get_mut(Kind::Small).filter(|_| !tagged)?;
    *small = small.wrapping_add(1);
    Some(vec![*small])
});

probe!(Maybe: (Entity, &'static Small, Option<&'static Text>, Has<Guard>), With<Tag>,
|(e, small, text, guard)| (e, vec![small.0, maybe(text.map(number)), guard.into()]),
|row| {
    let small = row.get(Kind::Small).filter(|_| row.has(Kind::Tag))?;
    Some(vec![small, maybe(row.get(Kind::Text)), row.has(Kind::Guard).into()])
});

probe!(OneOf: (Entity, Option<&'static Counted>), Any<(Small, Text, Guard)>,
|(e, counted)| (e, vec![maybe(counted.map(|c| c.value))]),
|row| {
    let any = row.has(Kind::Small) || row.has(Kind::Text) || row.has(Kind::Guard);
    any.then(|| vec![maybe(row.get(Kind::Counted))])
});

probe!(WriteMaybe: (Option<&'static mut Matrix>, Entity), With<Text>,
|(matrix, e)| {
    (e, vec![maybe(matrix.map(|matrix| {
        assert!(std::ptr::from_ref(matrix).addr().is_multiple_of(16));
        matrix.0 = matrix.0.map(|x| x.wrapping_mul(3));
        matrix.0[7]
    }))])
},
|row| {
    row.get(Kind::Text)?;
    let matrix = row.get_mut(Kind::Matrix);
    Some(vec![maybe(matrix.map(|payload| {
        *payload = payload.wrapping_mul(3);
        *payload
    }))])
});

probe!(Sharing: (Entity, Shared<Team>, &'static mut Switch), (),
|(e, team, switch)| {
    switch.0 = switch.0.wrapping_sub(1);
    (e, vec![team.number, switch.0.into()])
},
|row| {
    let team = row.get(Kind::Team)?;
    let on = row.is_on(Kind::Switch);
    let switch = row.get_mut(Kind::Switch).filter(|_| on)?;
    *switch = (*switch as u16).wrapping_sub(1).into();
    Some(vec![team, *switch])
});

probe!(SharingForEver: ((Entity, ConstShared<Species>), &'static Counted), (),
    |((e, species), counted)| (e, vec![species.0, counted.value]),
    |row| Some(vec![row.get(Kind::Species)?, row.get(Kind::Counted)?]));

probe!(OncePerChunk: (Entity, PerChunk<Weather>), (),
    |(e, _weather)| (e, Vec::new()),
    |row| row.get(Kind::Weather).map(|_| Vec::new()));

probe!(SwitchedOn: (Entity, &'static Switch), With<Awake>,
|(e, switch)| (e, vec![switch.0.into()]),
|row| {
    let both = row.is_on(Kind::Switch) && row.is_on(Kind::Awake);
    both.then(|| row.get(Kind::Switch).into_iter().collect())
});

probe!(SwitchedOff: (Entity, Option<&'static Switch>), Without<Switch>,
|(e, switch)| (e, vec![maybe(switch.map(|s| s.0.into()))]),
|row| {
    let off = !row.is_on(Kind::Switch);
    off.then(|| vec![maybe(row.get(Kind::Switch))])
});

probe!(SizeZero: (Entity, &'static mut Guard, &'static Tag), (),
    |(e, _, _)| (e, Vec::new()),
    |row| (row.has(Kind::Guard) && row.has(Kind::Tag)).then(Vec::new));

probe!(Pages: (&'static Page, Entity), (),
    |(page, e)| {
        assert!(std::ptr::from_ref(page).addr().is_multiple_of(4096));
        (e, vec![page.0])
    },
    |row| Some(vec![row.get(Kind::Page)?]));

/// How a query is run.
const WAYS: u8 = 6;

/// A query that is kept over many steps, and run on whatever world comes.
pub(crate) trait Kept {
    /// Runs it in one of several ways, and compares.
    fn run(&mut self, world: &mut World, model: &mut Naive, number: usize, way: u8);

    /// Whether it lends something for writing.
    fn writes(&self) -> bool;

    /// Runs it with a closure that burns the ledger's fuse.
    fn interrupt(&mut self, world: &mut World, ledger: &Ledger);

    /// Runs it on some entities, in one of several ways, and compares.
    fn run_in(
        &mut self,
        world: &mut World,
        model: &mut Naive,
        number: usize,
        way: u8,
        entities: &[Entity],
    );
}

struct KeptProbe<P: Probe>(Query<P::Data, P::Filter>);

impl<P: Probe> Kept for KeptProbe<P> {
    fn run(&mut self, world: &mut World, model: &mut Naive, number: usize, way: u8) {
        let name = std::any::type_name::<P>();
        let mut expected = BTreeMap::new();
        for (entity, row) in model.rows_mut(number) {
            expected.extend(P::expected(row).map(|values| (entity, values)));
        }
        assert_eq!(
            self.0.on(world).count(),
            expected.len(),
            "the count of {name}"
        );
        let mut seen: Vec<(Entity, Vec<u32>)> = Vec::new();
        match way % WAYS {
            0 => self.0.on(world).for_each(|item| seen.push(P::seen(item))),
            1 => seen.extend(self.0.on(world).iter().map(P::seen)),
            2 => {
                let all = Mutex::new(Vec::new());
                let mut run = self.0.on(world);
                run.par_for_each(|item| all.lock().unwrap().push(P::seen(item)));
                seen = all.into_inner().unwrap();
            }
            3 => {
                let mut once = world.query::<P::Data, P::Filter>().unwrap();
                once.for_each(|item| seen.push(P::seen(item)));
            }
            4 => {
                let mut once = world.query::<P::Data, P::Filter>().unwrap();
                seen.extend(once.iter().map(P::seen));
            }
            _ => {
                for &entity in &model.given {
                    if let Ok(item) = self.0.get_mut(world, entity) {
                        seen.push(P::seen(item));
                    }
                }
            }
        }
        assert_eq!(seen.len(), expected.len(), "{name} lends one twice");
        let seen: BTreeMap<_, _> = seen.into_iter().collect();
        assert_eq!(seen, expected, "{name}");
        assert_eq!(self.0.on(world).is_empty(), expected.is_empty());
        assert_eq!(self.0.on(world).single().is_some(), expected.len() == 1);
    }

    fn writes(&self) -> bool {
        // As the type says.
        std::any::type_name::<P::Data>().contains("&mut ")
    }

    fn interrupt(&mut self, world: &mut World, ledger: &Ledger) {
        self.0.on(world).for_each(|_| ledger.burn(Fused::Make));
    }

    fn run_in(
        &mut self,
        world: &mut World,
        model: &mut Naive,
        number: usize,
        way: u8,
        entities: &[Entity],
    ) {
        let name = std::any::type_name::<P>();
        // Who stands there twice is lent once by a collection, and as often as asked for by look-ups.
        let once = way % 4 < 2;
        let mut expected = Vec::new();
        let mut refused = Vec::new();
        let mut known = BTreeMap::new();
        for (at, &entity) in entities.iter().enumerate() {
            match model.row_mut(number, entity) {
                Ok(row) => {
                    if once && known.contains_key(&entity) {
                        continue;
                    }
                    known.insert(entity, ());
                    expected.extend(P::expected(row).map(|values| (entity, values)));
                }
                Err(refusal) => refused.push((at, refusal)),
            }
        }
        let mut seen: Vec<(Entity, Vec<u32>)> = Vec::new();
        let report = match way % 4 {
            0 => {
                let mut run = self.0.on(world);
                Some(run.for_each_in(entities, |item| seen.push(P::seen(item))))
            }
            1 => {
                let all = Mutex::new(Vec::new());
                let mut run = self.0.on(world);
                let report =
                    run.par_for_each_in(entities, |item| all.lock().unwrap().push(P::seen(item)));
                seen = all.into_inner().unwrap();
                Some(report)
            }
            2 => {
                let mut lookup = self.0.lookup_mut(world);
                for (at, &entity) in entities.iter().enumerate() {
                    match lookup.get_mut(entity) {
                        Ok(item) => seen.push(P::seen(item)),
                        Err(error) => refuses(&refused, at, &error),
                    }
                }
                None
            }
            _ => {
                let mut next = 0;
                let mut lookup = self.0.lookup_mut(world);
                lookup.get_each(entities, |at, item| {
                    assert_eq!(at, next, "the order of {name}");
                    next += 1;
                    match item {
                        Ok(item) => seen.push(P::seen(item)),
                        Err(error) => refuses(&refused, at, &error),
                    }
                });
                assert_eq!(next, entities.len());
                None
            }
        };
        if let Some(report) = report {
            let why = |(at, error): &(usize, WorldError)| (*at, Refusal::of(error));
            assert_eq!(report.refused.iter().map(why).collect::<Vec<_>>(), refused);
            assert_eq!(report.done, expected.len(), "{name}");
            // In the order in which they lie.
            expected.sort_unstable();
            seen.sort_unstable();
        }
        assert_eq!(seen, expected, "{name}");
    }
}

/// Whether a look-up was refused as it should: because of the handle, or else because the query does not see it.
fn refuses(refused: &[(usize, Refusal)], at: usize, error: &WorldError) {
    let known = refused.iter().find(|(refused, _)| *refused == at);
    let expected = known.map_or(Refusal::Missing, |(_, refusal)| *refusal);
    assert_eq!(Refusal::of(error), expected);
}

/// All queries, kept.
pub(crate) fn all(world: &World) -> Result<Vec<Box<dyn Kept>>, QueryError> {
    fn kept<P: Probe + 'static>(world: &World) -> Result<Box<dyn Kept>, QueryError> {
        Ok(Box::new(KeptProbe::<P>(Query::new(world)?)))
    }
    Ok(vec![
        kept::<Read>(world)?,
        kept::<Write>(world)?,
        kept::<Maybe>(world)?,
        kept::<OneOf>(world)?,
        kept::<WriteMaybe>(world)?,
        kept::<Sharing>(world)?,
        kept::<SharingForEver>(world)?,
        kept::<OncePerChunk>(world)?,
        kept::<SwitchedOn>(world)?,
        kept::<SwitchedOff>(world)?,
        kept::<SizeZero>(world)?,
        kept::<Pages>(world)?,
    ])
}

/// Looks for changes of one fragment, and knows what it saw last.
#[derive(Debug)]
pub(crate) struct Watch {
    changed: Query<(Entity, &'static Small), Changed<Small>>,
    last: BTreeMap<Entity, u32>,
}

impl Watch {
    pub(crate) fn new(world: &World) -> Result<Self, QueryError> {
        Ok(Self {
            changed: Query::new(world)?,
            last: BTreeMap::new(),
        })
    }

    /// Every entity whose value differs from what was seen last must be seen; others may, because a chunk
    /// changes as one. If nothing happens in between, nothing is seen.
    pub(crate) fn look(&mut self, world: &mut World, model: &Naive, number: usize) {
        let now: BTreeMap<Entity, u32> = model
            .rows(number)
            .filter_map(|(entity, row)| Some((entity, row.get(Kind::Small)?)))
            .collect();
        let mut seen = BTreeMap::new();
        self.changed.read(world).for_each(|(entity, small)| {
            seen.insert(entity, small.0);
        });
        for (entity, small) in &now {
            if self.last.get(entity) != Some(small) {
                assert_eq!(
                    seen.get(entity),
                    Some(small),
                    "the change of {entity} is not seen"
                );
            }
        }
        assert!(
            seen.iter()
                .all(|(entity, small)| now.get(entity) == Some(small))
        );
        self.last = now;
        assert_eq!(
            self.changed.read(world).count(),
            0,
            "a change is seen twice"
        );
    }
}

/// Whatever way a query is walked, it is in one order: that of rows.
fn orders(world: &mut World) {
    type Data = (Entity, Option<&'static Switch>);
    let mut all = world.query::<Data, ()>().unwrap();
    let mut by_for_each = Vec::new();
    all.for_each(|(entity, _)| by_for_each.push(entity));
    let by_iter: Vec<Entity> = all.iter().map(|(entity, _)| entity).collect();
    assert_eq!(by_for_each, by_iter);
    let mut by_chunk = Vec::new();
    let mut keys = Vec::new();
    all.for_each_chunk(|chunk, (entities, _)| {
        keys.push(chunk.sort_key());
        by_chunk.extend_from_slice(entities);
    });
    assert_eq!(by_for_each, by_chunk);
    assert!(keys.is_sorted_by(|one, two| one < two), "{keys:?}");
}

/// Runs a query chunk by chunk, and looks at each chunk as a whole.
pub(crate) fn chunks(world: &mut World, model: &mut Naive, number: usize) {
    type Data = (Entity, &'static mut Small, Option<&'static Matrix>);
    let mut seen = BTreeMap::new();
    let mut run = world.query::<Data, ()>().unwrap();
    run.for_each_chunk(|chunk, (entities, smalls, matrices)| {
        assert_eq!(chunk.entities(), entities);
        assert_eq!(
            (chunk.len(), smalls.len()),
            (entities.len(), entities.len())
        );
        for (at, &entity) in entities.iter().enumerate() {
            smalls[at].0 = smalls[at].0.rotate_left(1);
            let matrix = matrices.map(|matrices| matrices[at].0[15]);
            let team = chunk.shared::<Team>().map(|team| team.number);
            let weather = chunk.chunk_fragment::<Weather>().is_some();
            let before = seen.insert(entity, (smalls[at].0, matrix, team, weather));
            assert!(before.is_none(), "{entity} lies in two rows");
        }
    });
    let mut expected = BTreeMap::new();
    for (entity, row) in model.rows_mut(number) {
        let (matrix, team) = (row.get(Kind::Matrix), row.get(Kind::Team));
        let weather = row.has(Kind::Weather);
        if let Some(small) = row.get_mut(Kind::Small) {
            *small = small.rotate_left(1);
            expected.insert(entity, (*small, matrix, team, weather));
        }
    }
    assert_eq!(seen, expected);
    orders(world);
    for wanted in 0..3 {
        let team = crate::world_fragments::team(wanted);
        let count = model
            .rows(number)
            .filter(|(_, row)| row.get(Kind::Team) == Some(wanted))
            .count();
        let all = world.query::<Entity, ()>().unwrap();
        assert_eq!(all.sharing(&team).count(), count);
    }
}
