//! `slotmap` 1.1 behind a `Mutex`: what most programs would reach for.

use std::sync::{Mutex, MutexGuard};

use megachunk::cli::workload::id::{Abilities, IdContender, IdSession};
use megachunk::entity::Place;
use slotmap::{DefaultKey, Key, KeyData, SlotMap};

/// Where an id lies that has no place: the last there is, which no workload uses.
const NOWHERE: Place = match Place::new(Place::CHUNKS - 1, Place::ROWS - 1) {
    Some(place) => place,
    None => unreachable!(),
};

/// A locked map from ids to places: eight bytes a slot.
pub(crate) struct SlotmapMutex(Mutex<SlotMap<DefaultKey, Place>>);

impl IdContender for SlotmapMutex {
    type Id = DefaultKey;
    type Session<'a> = Session<'a>;

    const NAME: &'static str = "slotmap+Mutex";
    const ABILITIES: Abilities = Abilities {
        batches: true,
        exists: true,
        places: true,
        limit: None,
    };

    fn fresh() -> Self {
        Self(Mutex::new(SlotMap::new()))
    }

    fn session(&self) -> Session<'_> {
        Session(&self.0)
    }

    fn placeholder() -> DefaultKey {
        DefaultKey::null()
    }

    #[inline(always)]
    fn to_bits(key: DefaultKey) -> u64 {
        key.data().as_ffi()
    }

    #[inline(always)]
    fn from_bits(bits: u64) -> DefaultKey {
        KeyData::from_ffi(bits).into()
    }
}

/// One lock a call, a batch takes it once.
pub(crate) struct Session<'a>(&'a Mutex<SlotMap<DefaultKey, Place>>);

impl Session<'_> {
    #[inline(always)]
    fn lock(&self) -> MutexGuard<'_, SlotMap<DefaultKey, Place>> {
        self.0.lock().expect("nobody panics under this lock")
    }
}

impl IdSession for Session<'_> {
    type Id = DefaultKey;

    #[inline(always)]
    fn create(&mut self) -> DefaultKey {
        self.lock().insert(NOWHERE)
    }

    #[inline(always)]
    fn destroy(&mut self, key: DefaultKey) -> bool {
        self.lock().remove(key).is_some()
    }

    fn create_slice(&mut self, out: &mut [DefaultKey]) {
        let mut map = self.lock();
        map.reserve(out.len());
        out.fill_with(|| map.insert(NOWHERE));
    }

    fn destroy_slice(&mut self, keys: &[DefaultKey]) -> usize {
        let mut map = self.lock();
        keys.iter()
            .filter(|&&key| map.remove(key).is_some())
            .count()
    }

    #[inline(always)]
    fn exists(&mut self, key: DefaultKey) -> bool {
        self.lock().contains_key(key)
    }

    #[inline(always)]
    fn locate(&mut self, key: DefaultKey) -> Option<Place> {
        let place = self.lock().get(key).copied();
        place.filter(|&place| place != NOWHERE)
    }

    #[inline(always)]
    fn publish(&mut self, key: DefaultKey, place: Place) -> bool {
        self.lock().get_mut(key).map(|old| *old = place).is_some()
    }
}
