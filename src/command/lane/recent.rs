//! `Recent`: what a recorder was asked for of late, by type or prototype: loops ask for the same few again and again.
//!
//! Must hold: what is kept for a type is what the lane's maps say of it.

use core::hash::{Hash, Hasher};

use crate::hashers::TypeHasher;

/// Places. Of four types each has its own two times out of three; who shares one with another asks the lane's
/// map each time they take turns.
const PLACES: usize = 16;

/// The last answer for each of a few types, or whatever is as good a hash of itself: each has one place, and whoever
/// came last has it.
#[derive(Debug)]
pub(super) struct Recent<K, T>([Option<(K, T)>; PLACES]);

impl<K: Copy + Eq + Hash, T: Copy> Recent<K, T> {
    pub(super) fn new() -> Self {
        Self([None; PLACES])
    }

    /// The answer for a type, if it is still there.
    #[inline(always)]
    pub(super) fn get(&self, of: K) -> Option<T> {
        match self.0[slot_of(of) % PLACES] {
            Some((known, answer)) if known == of => Some(answer),
            _ => None,
        }
    }

    /// Keeps the answer for a type.
    pub(super) fn keep(&mut self, of: K, answer: T) {
        self.0[slot_of(of) % PLACES] = Some((of, answer));
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.0.fill(None);
    }
}

/// A type's place, modulo their number: some bits of its own number, which are as good as random.
#[inline(always)]
pub(super) fn slot_of(of: impl Hash) -> usize {
    let mut hasher = TypeHasher::default();
    of.hash(&mut hasher);
    hasher.finish() as usize
}

#[cfg(test)]
mod tests {
    use core::any::TypeId;

    use super::*;

    #[test]
    fn an_answer_is_its_types_own() {
        fn keep<T: 'static>(recent: &mut Recent<TypeId, usize>, number: usize) {
            recent.keep(TypeId::of::<T>(), number);
            assert_eq!(recent.get(TypeId::of::<T>()), Some(number));
        }
        fn get<T: 'static>(recent: &Recent<TypeId, usize>, number: usize) -> usize {
            let found = recent.get(TypeId::of::<T>());
            assert!(found.is_none_or(|found| found == number));
            usize::from(found.is_some())
        }
        macro_rules! arrays {
            ($do:ident, $recent:expr) => {
                [
                    $do::<[u8; 0]>($recent, 0),
                    $do::<[u8; 1]>($recent, 1),
                    $do::<[u8; 2]>($recent, 2),
                    $do::<[u8; 3]>($recent, 3),
                    $do::<[u8; 4]>($recent, 4),
                    $do::<[u8; 5]>($recent, 5),
                    $do::<[u8; 6]>($recent, 6),
                    $do::<[u8; 7]>($recent, 7),
                    $do::<[u8; 8]>($recent, 8),
                    $do::<[u8; 9]>($recent, 9),
                    $do::<[u8; 10]>($recent, 10),
                    $do::<[u8; 11]>($recent, 11),
                    $do::<[u8; 12]>($recent, 12),
                    $do::<[u8; 13]>($recent, 13),
                    $do::<[u8; 14]>($recent, 14),
                    $do::<[u8; 15]>($recent, 15),
                    $do::<[u8; 16]>($recent, 16),
                    $do::<[u8; 17]>($recent, 17),
                ]
            };
        }
        let mut recent = Recent::new();
        let _ = arrays!(keep, &mut recent);
        let found = arrays!(get, &recent);
        assert!((1..=PLACES).contains(&found.iter().sum()));
        recent.clear();
        assert_eq!(arrays!(get, &recent), [0; 18]);
    }
}
