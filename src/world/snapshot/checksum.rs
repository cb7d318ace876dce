//! `Checksum`: XXH64, as published, with seed 0; so that a damaged file is known for one.
//!
//! Fast enough (32 bytes a round, four lanes) that a disk is slower, in a page of code, without a crate. It is
//! no protection against somebody who means it: the reader checks the structure as well.
//!
//! Source: Yann Collet, the xxHash specification, version 0.1.1.

const P1: u64 = 0x9e37_79b1_85eb_ca87;
const P2: u64 = 0xc2b2_ae3d_27d4_eb4f;
const P3: u64 = 0x1656_67b1_9e37_79f9;
const P4: u64 = 0x85eb_ca77_c2b2_ae63;
const P5: u64 = 0x27d4_eb2f_1656_67c5;

/// Bytes of a round.
const STRIPE: usize = 32;

/// A checksum of bytes that come in pieces.
#[derive(Clone, Debug)]
pub(super) struct Checksum {
    lanes: [u64; 4],
    /// Bytes that wait for a stripe to be full.
    rest: [u8; STRIPE],
    waiting: usize,
    len: u64,
}

impl Checksum {
    /// Of no bytes yet.
    pub(super) fn new() -> Self {
        Self {
            lanes: [P1.wrapping_add(P2), P2, 0, P1.wrapping_neg()],
            rest: [0; STRIPE],
            waiting: 0,
            len: 0,
        }
    }

    /// Of these bytes.
    pub(super) fn of(bytes: &[u8]) -> u64 {
        let mut checksum = Self::new();
        checksum.add(bytes);
        checksum.finish()
    }

    /// Adds bytes.
    pub(super) fn add(&mut self, mut bytes: &[u8]) {
        self.len += bytes.len() as u64;
        if self.waiting > 0 {
            let (taken, left) = bytes.split_at(bytes.len().min(STRIPE - self.waiting));
            self.rest[self.waiting..self.waiting + taken.len()].copy_from_slice(taken);
            self.waiting += taken.len();
            bytes = left;
            if self.waiting < STRIPE {
                return;
            }
            let rest = self.rest;
            self.stripe(&rest);
            self.waiting = 0;
        }
        let (stripes, rest) = bytes.as_chunks::<STRIPE>();
        for stripe in stripes {
            self.stripe(stripe);
        }
        self.rest[..rest.len()].copy_from_slice(rest);
        self.waiting = rest.len();
    }

    #[inline(always)]
    fn stripe(&mut self, stripe: &[u8; STRIPE]) {
        let (words, _) = stripe.as_chunks::<8>();
        for (lane, word) in self.lanes.iter_mut().zip(words) {
            *lane = round(*lane, u64::from_le_bytes(*word));
        }
    }

    /// The checksum of all bytes that were added.
    pub(super) fn finish(&self) -> u64 {
        let mut hash = if self.len < STRIPE as u64 {
            P5
        } else {
            let [a, b, c, d] = self.lanes;
            let mut hash = a
                .rotate_left(1)
                .wrapping_add(b.rotate_left(7))
                .wrapping_add(c.rotate_left(12))
                .wrapping_add(d.rotate_left(18));
            for lane in self.lanes {
                hash = (hash ^ round(0, lane)).wrapping_mul(P1).wrapping_add(P4);
            }
            hash
        };
        hash = hash.wrapping_add(self.len);
        let (words, rest) = self.rest[..self.waiting].as_chunks::<8>();
        for word in words {
            hash ^= round(0, u64::from_le_bytes(*word));
            hash = hash.rotate_left(27).wrapping_mul(P1).wrapping_add(P4);
        }
        let (words, rest) = rest.as_chunks::<4>();
        for word in words {
            hash ^= u64::from(u32::from_le_bytes(*word)).wrapping_mul(P1);
            hash = hash.rotate_left(23).wrapping_mul(P2).wrapping_add(P3);
        }
        for &byte in rest {
            hash ^= u64::from(byte).wrapping_mul(P5);
            hash = hash.rotate_left(11).wrapping_mul(P1);
        }
        avalanche(hash)
    }
}

#[inline(always)]
fn round(lane: u64, word: u64) -> u64 {
    lane.wrapping_add(word.wrapping_mul(P2))
        .rotate_left(31)
        .wrapping_mul(P1)
}

/// Spreads each bit over all.
#[inline(always)]
pub(super) fn avalanche(mut hash: u64) -> u64 {
    hash = (hash ^ (hash >> 33)).wrapping_mul(P2);
    hash = (hash ^ (hash >> 29)).wrapping_mul(P3);
    hash ^ (hash >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published values for seed 0.
    #[test]
    fn the_checksum_is_the_published_one() {
        assert_eq!(Checksum::of(b""), 0xef46_db37_51d8_e999);
        assert_eq!(Checksum::of(b"a"), 0xd24e_c4f1_a98c_6e5b);
        assert_eq!(Checksum::of(b"abc"), 0x44bc_2cf5_ad77_0999);
        let long = b"Nobody inspects the spammish repetition";
        assert_eq!(Checksum::of(long), 0xfbce_a83c_8a37_8bf1);
    }

    #[test]
    fn pieces_give_the_checksum_of_the_whole() {
        let bytes: Vec<u8> = (0..200_u8).collect();
        for cut in 0..bytes.len() {
            let mut checksum = Checksum::new();
            checksum.add(&bytes[..cut]);
            checksum.add(&bytes[cut..cut]);
            checksum.add(&bytes[cut..]);
            assert_eq!(checksum.finish(), Checksum::of(&bytes), "cut at {cut}");
        }
    }
}
