//! `Seat`: the place where a thread begins to look for chunks, so that threads that meet go apart.
//!
//! As long as a thread meets nobody it looks from the first place on, which keeps what is in use together. A
//! thread that lost a claim to another goes to a part of its own, and there goes on for a while. Without that,
//! threads that take many chunks at one time follow each other from mega-chunk to mega-chunk, and each waits
//! for the line that the others write.
//!
//! Where a thread looks first decides nothing but speed: a search goes everywhere.

use crate::sync::geometry::MEGACHUNKS;

/// Mega-chunks of a thread's part: the masks of so many are two lines, which processors fetch together.
#[cfg(not(loom))]
const PART: u32 = 16;
/// Mega-chunks of a thread's part.
#[cfg(loom)]
const PART: u32 = 1;
/// Parts side by side whose hints of the next level are one line: 64 mega-chunks a word. Who frees a run of which the
/// hints said that there is none writes there, too.
#[cfg(not(loom))]
const NEAR: u32 = 32;
/// Parts side by side whose hints are near each other.
#[cfg(loom)]
const NEAR: u32 = 1;
/// Threads that get parts far from each other, and from where they met.
#[cfg(not(loom))]
const PARTS: u32 = MEGACHUNKS / PART / NEAR - 1;
/// Threads that get parts far from each other.
#[cfg(loom)]
const PARTS: u32 = 64;
/// Requests that begin in the part, until one begins at the first place again: what has become free there shall not
/// lie idle.
const STAY: u32 = 256;

/// Where one thread begins to look.
#[derive(Debug)]
pub(crate) struct Seat {
    place: u32,
    /// So many requests begin there still.
    left: u32,
}

impl Seat {
    pub(crate) const fn new() -> Self {
        Self { place: 0, left: 0 }
    }

    /// Where the search of the next request begins.
    pub(crate) fn first_place(&mut self) -> u32 {
        if self.left == 0 {
            return 0;
        }
        self.left -= 1;
        self.place
    }

    /// The thread, which has this number, met another one at a place.
    ///
    /// It does not go further, and does not stay longer, for being met beyond its part.
    pub(crate) fn go_apart(&mut self, met_at: u32, ordinal: u32) {
        if self.left > 0 && met_at / PART != self.place / PART {
            return;
        }
        let number = ordinal % (PARTS * NEAR);
        let part = met_at / PART + NEAR * (1 + number % PARTS) + number / PARTS;
        self.place = part * PART % MEGACHUNKS;
        if self.left == 0 {
            self.left = STAY;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn threads_that_met_begin_apart_and_come_back_in_the_end() {
        for met_at in [0, 5, 1_000, MEGACHUNKS - 1] {
            let mut seats = [(); (PARTS * NEAR) as usize].map(|()| Seat::new());
            for (ordinal, seat) in (1..).zip(&mut seats) {
                assert_eq!(seat.first_place(), 0);
                seat.go_apart(met_at, ordinal);
            }
            let mut places: Vec<u32> = seats.iter_mut().map(Seat::first_place).collect();
            places.sort_unstable();
            assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= PART));
            assert!(places.iter().all(|&place| place < MEGACHUNKS));
            assert!(places.iter().all(|&place| place / PART != met_at / PART));

            let [seat, ..] = &mut seats;
            for met_at in 1..STAY {
                assert_eq!(seat.first_place(), seat.place);
                let before = seat.place;
                if seat.left > 0 && met_at / PART != before / PART {
                    seat.go_apart(met_at, 1);
                    assert_eq!(seat.place, before);
                }
            }
            assert_eq!(seat.first_place(), 0);
        }
    }
}
