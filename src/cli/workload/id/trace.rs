//! `trace:<name>`: what real programs created and destroyed.

use std::sync::Arc;

use super::{IdContender, IdSession};
use crate::cli::measure::{Stopwatch, Subject};
use crate::cli::workload::{Parts, Unsupported};
use crate::trace::Trace;
use crate::trace::replay::{Exchange, Lane, Player, Replay, ReplayFault, ReplayLimit};

/// Replays a trace from beginning to end; what lives then is destroyed outside the timed span.
pub(super) struct Recorded<C> {
    contender: C,
    stage: Stage,
}

/// A trace, divided among the workers.
struct Stage {
    lanes: Parts<Lane>,
    exchange: Arc<Exchange>,
}

impl Stage {
    fn new(trace: &Trace, threads: usize) -> Result<Self, Unsupported> {
        let replay = Replay::new(trace, threads).map_err(|limit| {
            Unsupported::because(match limit {
                ReplayLimit::Objects => "has too many objects in hand",
                _ => "was not recorded on a number of threads that fits",
            })
        })?;
        let (lanes, exchange) = replay.into_lanes();
        let mut lanes = lanes.into_iter();
        Ok(Self {
            lanes: Parts::new(threads, |_| lanes.next().expect("a lane for each thread")),
            exchange,
        })
    }

    /// Plays the worker's lane and then drains it.
    fn play(&self, worker: usize, watch: &mut Stopwatch<'_>, player: &mut impl Player) {
        let mut lane = self.lanes.of(worker);
        let events = lane.len() as u64;
        let played = watch.time(0, events, || lane.play(player));
        watch.meet();
        if let Err(error) = played.and_then(|()| lane.drain(player)) {
            panic!("{error}");
        }
    }
}

impl<C: IdContender> Recorded<C> {
    pub(super) fn new(trace: &Trace, threads: usize) -> Result<Self, Unsupported> {
        Ok(Self {
            contender: C::fresh(),
            stage: Stage::new(trace, threads)?,
        })
    }
}

impl<C: IdContender> Subject for Recorded<C> {
    fn prepare(&self) {
        self.stage.exchange.reset();
    }

    fn repeat(&self, worker: usize, _rounds: u64, watch: &mut Stopwatch<'_>) {
        let mut player = Acting::<C>(self.contender.session());
        self.stage.play(worker, watch, &mut player);
    }

    fn is_fixed(&self) -> bool {
        true
    }
}

/// Plays through a contender's session.
struct Acting<'a, C: IdContender + 'a>(C::Session<'a>);

impl<C: IdContender> Player for Acting<'_, C> {
    #[inline(always)]
    fn create(&mut self) -> Result<u64, ReplayFault> {
        Ok(C::to_bits(self.0.create()))
    }

    #[inline(always)]
    fn destroy(&mut self, bits: u64) -> Result<(), ReplayFault> {
        assert!(self.0.destroy(C::from_bits(bits)), "a live id was refused");
        Ok(())
    }
}

/// Reads the events and keeps ids where a replay keeps them, and asks nobody: what the other
/// figures are net of.
pub(super) struct Rehearsal(Stage);

impl Rehearsal {
    pub(super) fn new(trace: &Trace, threads: usize) -> Result<Self, Unsupported> {
        Stage::new(trace, threads).map(Self)
    }
}

impl Subject for Rehearsal {
    fn prepare(&self) {
        self.0.exchange.reset();
    }

    fn repeat(&self, worker: usize, _rounds: u64, watch: &mut Stopwatch<'_>) {
        let mut player = Listening {
            created: 0,
            heard: 0,
        };
        self.0.play(worker, watch, &mut player);
        core::hint::black_box(player.heard);
    }

    fn is_fixed(&self) -> bool {
        true
    }
}

/// Hands out numbers and adds up those that come back. Two sums, so that neither waits for the
/// other: this must not take longer than the reading itself.
struct Listening {
    created: u64,
    heard: u64,
}

impl Player for Listening {
    #[inline(always)]
    fn create(&mut self) -> Result<u64, ReplayFault> {
        self.created += 1;
        Ok(self.created)
    }

    #[inline(always)]
    fn destroy(&mut self, bits: u64) -> Result<(), ReplayFault> {
        self.heard = self.heard.wrapping_add(bits);
        Ok(())
    }
}
