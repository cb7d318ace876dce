//! `Lights`: which edges are shut at this moment.

use super::network::{Control, Network};

/// Which edges of a network are shut at this moment: a resource that one processor sets and cars read.
#[derive(Debug, Default)]
pub(crate) struct Lights {
    shut: Vec<bool>,
}

/// A crossing's turn: one direction, then the other, in seconds.
const TURN: f32 = 30.0;
/// At the end of each half nobody has green.
const CLEAR: f32 = 2.5;
/// How often people cross at a zebra, and for how long.
const ZEBRA: [f32; 2] = [24.0, 5.0];

impl Lights {
    /// Sets all for a moment, in seconds. O(edges).
    pub(crate) fn set(&mut self, network: &Network, seconds: f32) {
        let shut = |edge: &super::network::Edge| {
            // Crossings are not all at the same point of their turn.
            let offset = (edge.to.wrapping_mul(0x9e37_79b9) >> 16) as f32 / 65_536.0;
            match edge.control {
                Control::Free => false,
                Control::Lights { group } => {
                    let at = offset.mul_add(TURN, seconds) % TURN;
                    let half = TURN / 2.0;
                    let green = f32::from(group) * half;
                    !(green..green + half - CLEAR).contains(&at)
                }
                Control::Zebra => offset.mul_add(ZEBRA[0], seconds) % ZEBRA[0] < ZEBRA[1],
            }
        };
        self.shut.clear();
        self.shut.extend(network.edges.iter().map(shut));
    }

    pub(crate) fn is_shut(&self, edge: u32) -> bool {
        self.shut[edge as usize]
    }
}
