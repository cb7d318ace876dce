//! `End`: that nobody wants what is left in a [`Pool`](super::pool) any more, said once, beside those who leave something.
//!
//! State: a word, 0 until it is said and 1 from then on; and the slots and lists of the pool.
//!
//! Operations, on `&self`: [`say`](End::say) writes the word, and then [sweeps](Pool::sweep) the pool; lock-free.
//! [`gives_back`](End::gives_back) puts a thing into the pool, and then asks; so does [`is_said`](End::is_said), wait-free.
//!
//! Invariant: what is given back the sweep has, or who has given it back learns that the end was said, and takes it. For the two
//! change one word, that of a slot or the head of a list, and one comes after the other there. If giving back is later, it
//! reads what the sweep has written, or what others have made of that by read-modify-writes, which go on with its
//! release sequence: so it comes after the sweep, and after the word. Those who take a thing to look whose it is, and put it
//! back, do not ask; but they are about to open one of their own, and ask when they give that back, whatever is in it, as do
//! those who find it meanwhile.
//!
//! Orderings: giving back is an Acquire and the sweep a Release for that, beside what they are in any pool. So there is no fence,
//! which each who records would pay for; who ends pays a read-modify-write for each slot, also of those in which nothing lies,
//! unless nobody else has the pool.

use super::atomic::{AtomicU32, Ordering};
use super::mutant;
use super::pool::{Lent, Pool, Taken};

/// Whether the end was said.
#[derive(Debug)]
pub struct End {
    said: AtomicU32,
}

impl End {
    /// It was not.
    #[must_use]
    pub fn new() -> Self {
        Self {
            said: AtomicU32::new(0),
        }
    }

    /// Whether it was said. `false` may be out of date when it is read. Wait-free.
    #[must_use]
    pub fn is_said(&self) -> bool {
        // Ordering: Acquire pairs with the Release in `say`, for who asks without having given anything back.
        self.said.load(Ordering::Acquire) == 1
    }

    /// Says it: all that nobody has, which is the caller's. Who has something gives it back and knows. `is_alone`: nobody but
    /// the caller can come to the pool any more, and what others did there the caller comes after, so that nothing is away,
    /// and slots in which nothing lies need no read-modify-write.
    #[must_use]
    pub fn say<'p, T>(&self, pool: &'p Pool<T>, is_alone: bool) -> Taken<'p, T> {
        // Ordering: Release pairs with the Acquire in `is_said`. (For who gives back the sweep is what it comes after.)
        self.said.store(1, Ordering::Release);
        match is_alone || mutant::active("end_passes_by_what_is_away") {
            true => pool.take_all(),
            false => pool.sweep(),
        }
    }

    /// Gives a thing back; whether the end was said, which may have missed it: then the caller takes all that there is.
    #[must_use]
    pub fn gives_back<T>(&self, thing: Lent<'_, T>) -> bool {
        let early = mutant::active("end_asked_before_giving_back").then(|| self.is_said());
        drop(thing);
        early.unwrap_or_else(|| self.is_said())
    }
}

impl Default for End {
    fn default() -> Self {
        Self::new()
    }
}
