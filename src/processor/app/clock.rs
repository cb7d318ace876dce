//! `Clock`: when a world's ticks are due.

use core::time::Duration;

/// How a world's ticks follow the time that passes outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[doc(alias = "FixedUpdate")]
pub enum Rate {
    /// One tick a frame, as long as the frame.
    EveryFrame,
    /// Ticks of the same length: none in a short frame, several in a long one.
    Fixed {
        /// The length of a tick. If it is [zero](Duration::ZERO), each frame is one tick, whatever `catch_up` says, and
        /// the world's time stands still: no delayed signal arrives.
        step: Duration,
        /// Ticks in a frame at most: what is due beyond them is dropped, so that a world that is too slow does
        /// not fall ever further behind. If it is 0, the world never ticks, but for those that are asked for in a
        /// pause, and all that is due is dropped.
        catch_up: u32,
    },
}

impl Rate {
    /// A fixed number of ticks in a second of the world's time, at most 8 of them in a frame. A tick takes whole nanoseconds,
    /// rounded down: sixty of 16,666,666 ns are 40 ns less than a second, so there is one more in about five days.
    ///
    /// # Panics
    /// If it is 0, or more than a billion: a tick takes a nanosecond at least.
    #[must_use]
    pub fn per_second(ticks: u32) -> Self {
        assert!(
            ticks > 0,
            "a world ticks at least once a second, or every frame"
        );
        assert!(
            ticks <= 1_000_000_000,
            "a world ticks a billion times a second at most, not {ticks}"
        );
        Self::Fixed {
            step: Duration::from_secs(1) / ticks,
            catch_up: 8,
        }
    }
}

/// When a world's ticks are due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    rate: Rate,
    /// What has passed and was not ticked.
    left: Duration,
    pub(super) paused: bool,
    /// Ticks that were asked for while it is paused.
    asked: u32,
}

/// The ticks of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) ticks: u32,
    pub(super) step: Duration,
    /// What is dropped.
    pub(super) dropped: Duration,
}

impl Clock {
    pub(super) fn new(rate: Rate) -> Self {
        Self {
            rate,
            left: Duration::ZERO,
            paused: false,
            asked: 0,
        }
    }

    /// From now on at this rate.
    pub(super) fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
        self.left = Duration::ZERO;
    }

    pub(super) fn rate(&self) -> Rate {
        self.rate
    }

    /// How much of the next tick has passed.
    pub(super) fn fraction(&self) -> f32 {
        match self.rate {
            Rate::Fixed { step, .. } if !step.is_zero() => {
                let fraction = self.left.div_duration_f32(step);
                // A nanosecond before the end of a second is nearer to 1 than to any number below.
                fraction.min(1.0 - f32::EPSILON / 2.0)
            }
            _ => 0.0,
        }
    }

    /// What is due after so much time.
    pub(super) fn pass(&mut self, elapsed: Duration) -> Due {
        let asked = core::mem::take(&mut self.asked);
        let mut dropped = Duration::ZERO;
        let (mut ticks, step) = match self.rate {
            Rate::EveryFrame => (u32::from(!self.paused), elapsed),
            Rate::Fixed { step, .. } if step.is_zero() => (u32::from(!self.paused), step),
            Rate::Fixed { step, catch_up } => {
                if !self.paused {
                    self.left = self.left.saturating_add(elapsed);
                }
                let due = self.left.as_nanos() / step.as_nanos();
                let ticks = due.min(u128::from(catch_up)) as u32;
                let rest = self.left.as_nanos() % step.as_nanos();
                let over = (due - u128::from(ticks)) * step.as_nanos();
                if !self.paused {
                    self.left = nanoseconds(rest);
                    dropped = nanoseconds(over);
                }
                (if self.paused { 0 } else { ticks }, step)
            }
        };
        if self.paused {
            ticks = asked;
        }
        Due {
            ticks,
            step,
            dropped,
        }
    }

    /// Goes on. Ticks that were asked for and have not come are forgotten.
    pub(super) fn resume(&mut self) {
        self.paused = false;
        self.asked = 0;
    }

    /// Asks for ticks, if it is paused.
    pub(super) fn ask(&mut self, ticks: u32) {
        if self.paused {
            self.asked = self.asked.saturating_add(ticks);
        }
    }

    /// How long it takes until the next tick is due: nothing if each frame is one, for ever if it is paused and none
    /// is asked for.
    pub(super) fn until_next(&self) -> Duration {
        match self.rate {
            _ if self.paused && self.asked == 0 => Duration::MAX,
            Rate::Fixed { step, .. } if !self.paused => step.saturating_sub(self.left),
            _ => Duration::ZERO,
        }
    }
}

fn nanoseconds(nanoseconds: u128) -> Duration {
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn ticks(clock: &mut Clock, milliseconds: u32) -> u32 {
        clock.pass(MS * milliseconds).ticks
    }

    #[test]
    fn a_fixed_rate_catches_up_and_carries_the_rest() {
        let mut clock = Clock::new(Rate::Fixed {
            step: MS * 10,
            catch_up: 4,
        });
        let frames = [4, 4, 4, 25, 3, 0, 10];
        let run = frames.map(|frame| ticks(&mut clock, frame));
        assert_eq!(run, [0, 0, 1, 2, 1, 0, 1]);
        assert_eq!(clock.fraction(), 0.0);
        ticks(&mut clock, 1_005);
        assert_eq!(clock.fraction(), 0.5, "what is dropped does not count");
        clock.paused = true;
        ticks(&mut clock, 3);
        assert_eq!(clock.fraction(), 0.5);
        assert_eq!(Clock::new(Rate::EveryFrame).fraction(), 0.0);
        let mut slow = Clock::new(Rate::per_second(1));
        slow.pass(Duration::from_nanos(999_999_999));
        assert!(slow.fraction() < 1.0);
    }

    #[test]
    fn what_cannot_be_caught_up_is_dropped() {
        let mut clock = Clock::new(Rate::Fixed {
            step: MS * 10,
            catch_up: 4,
        });
        let due = clock.pass(MS * 95);
        assert_eq!((due.ticks, due.dropped), (4, MS * 50));
        assert_eq!(ticks(&mut clock, 4), 0, "five of the rest, and four");
        assert_eq!(ticks(&mut clock, 1), 1);
    }

    #[test]
    fn a_tick_takes_a_nanosecond_at_least() {
        let fastest = Rate::Fixed {
            step: Duration::from_nanos(1),
            catch_up: 8,
        };
        assert_eq!(Rate::per_second(1_000_000_000), fastest);
        for ticks in [0, 1_000_000_001, u32::MAX] {
            assert!(std::panic::catch_unwind(|| Rate::per_second(ticks)).is_err());
        }
    }

    #[test]
    fn ticks_of_no_length_come_once_a_frame_and_take_no_time() {
        let mut clock = Clock::new(Rate::Fixed {
            step: Duration::ZERO,
            catch_up: 0,
        });
        let frame = Due {
            ticks: 1,
            step: Duration::ZERO,
            dropped: Duration::ZERO,
        };
        for milliseconds in [0, 1, 500] {
            assert_eq!(clock.pass(MS * milliseconds), frame);
        }
    }

    #[test]
    fn a_clock_that_catches_up_nothing_drops_all_that_is_due() {
        let mut clock = Clock::new(Rate::Fixed {
            step: MS * 10,
            catch_up: 0,
        });
        let due = clock.pass(MS * 25);
        assert_eq!((due.ticks, due.dropped), (0, MS * 20));
        assert_eq!(clock.pass(MS * 5).dropped, MS * 10, "with the rest");
        clock.paused = true;
        clock.ask(2);
        assert_eq!(ticks(&mut clock, 25), 2);
    }

    #[test]
    fn a_paused_clock_ticks_when_it_is_asked_only() {
        for rate in [Rate::EveryFrame, Rate::per_second(100)] {
            let mut clock = Clock::new(rate);
            clock.paused = true;
            assert_eq!(ticks(&mut clock, 500), 0);
            clock.ask(3);
            assert_eq!(ticks(&mut clock, 500), 3);
            assert_eq!(ticks(&mut clock, 500), 0);
            clock.resume();
            assert_eq!(
                ticks(&mut clock, 10),
                1,
                "what passed in the pause is not caught up"
            );
        }
    }

    #[test]
    fn a_clock_that_runs_is_asked_for_nothing() {
        let mut clock = Clock::new(Rate::EveryFrame);
        clock.ask(7);
        clock.paused = true;
        clock.ask(1);
        assert_eq!(ticks(&mut clock, 0), 1);
    }

    #[test]
    fn a_paused_clock_waits_for_ever_unless_it_is_asked() {
        for (rate, left) in [
            (Rate::EveryFrame, Duration::ZERO),
            (Rate::per_second(100), MS * 6),
        ] {
            let mut clock = Clock::new(rate);
            clock.pass(MS * 4);
            assert_eq!(clock.until_next(), left);
            clock.paused = true;
            assert_eq!(clock.until_next(), Duration::MAX);
            clock.ask(1);
            assert_eq!(clock.until_next(), Duration::ZERO);
            clock.pass(MS * 4);
            assert_eq!(clock.until_next(), Duration::MAX);
            clock.resume();
            assert_eq!(clock.until_next(), left);
        }
    }
}
