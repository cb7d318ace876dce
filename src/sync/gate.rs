//! `Gate`: who is inside, for one thread that must not go on before they have left, and must not wait for those who
//! have never come.
//!
//! State: a word, `closed 1 | entries 31 | inside 32`, and the thread that made the gate, its
//! owner. It is made open, and closed once.
//!
//! Operations: on `&self`, wait-free, [`enter`](Gate::enter) counts an entry and one more inside,
//! and says whether the gate was open; [`leave`](Gate::leave) counts who had entered down, and the
//! last one wakes the owner. The owner's are [`look`](Gate::look), and [`close`](Gate::close), a
//! compare-and-swap against what it saw then, if nobody was inside.
//!
//! Invariant: nobody is inside when the gate is closed, and nobody comes in after that. Entries are
//! part of the word, so closing fails if somebody was inside between the look and the attempt: what
//! the owner found out meanwhile (that there is nothing to do) holds still. Closing is the
//! linearization point: who has not come until then never does.
//!
//! Orderings: leaving is a Release, looking an Acquire, so that the owner sees what was done
//! inside. Entering is Relaxed: who enters knows of the gate by what synchronises.

use core::fmt;

use super::atomic::{AtomicU64, Ordering};
use super::{mutant, thread};

/// A gate of the thread that made it.
pub struct Gate {
    state: AtomicU64,
    owner: thread::Thread,
}

const CLOSED: u64 = 1 << 63;
const ENTRY: u64 = 1 << 32;

/// What the owner has seen of a gate.
#[derive(Clone, Copy, Debug)]
pub struct View(u64);

impl View {
    /// Whether nobody was inside.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 as u32 == 0
    }
}

impl Gate {
    /// An open gate of the calling thread.
    #[must_use]
    #[expect(
        clippy::new_without_default,
        reason = "it is of a thread, which is nothing to default to"
    )]
    pub fn new() -> Self {
        Self {
            state: AtomicU64::new(0),
            owner: thread::current(),
        }
    }

    /// Goes inside: the number of the entry, from 0; `None` if the gate is closed.
    #[must_use]
    pub fn enter(&self) -> Option<u32> {
        // Ordering: Relaxed: see above. On a closed gate the counts mean nothing any more.
        let before = self.state.fetch_add(ENTRY | 1, Ordering::Relaxed);
        let is_open = before & CLOSED == 0 || mutant::active("gate_enters_closed");
        is_open.then_some((before >> 32) as u32)
    }

    /// Leaves. Each who has entered does that once.
    pub fn leave(&self) {
        // Ordering: Release pairs with the Acquire in `look`; others' counts continue its release sequence.
        let order = mutant::ordering("gate_leaves_relaxed", Ordering::Release);
        let before = self.state.fetch_sub(1, order);
        if before as u32 == 1 && !mutant::active("gate_wakes_nobody") {
            self.owner.unpark();
        }
    }

    /// The owner: who is inside now.
    #[must_use]
    pub fn look(&self) -> View {
        // Ordering: Acquire pairs with the Release in `leave`.
        let order = mutant::ordering("gate_looks_relaxed", Ordering::Acquire);
        View(self.state.load(order))
    }

    /// The owner: closes the gate; `false` if somebody was inside at this look, or has been since.
    #[must_use]
    pub fn close(&self, view: View) -> bool {
        if !view.is_empty() && !mutant::active("gate_closes_on_somebody") {
            return false;
        }
        let seen = match mutant::active("gate_forgets_entries") {
            true => self.look().0 & !u64::from(u32::MAX),
            false => view.0,
        };
        // Ordering: Relaxed: if it is still what the look has seen, that has acquired all of it.
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        let closed = self.state.compare_exchange(seen, CLOSED, success, failure);
        closed.is_ok()
    }

    /// Wakes the owner, if it sleeps.
    pub fn wake(&self) {
        self.owner.unpark();
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Ordering: Relaxed: a look for people.
        let state = self.state.load(Ordering::Relaxed);
        f.debug_struct("Gate")
            .field("closed", &(state & CLOSED != 0))
            .field("inside", &(state as u32))
            .finish()
    }
}
