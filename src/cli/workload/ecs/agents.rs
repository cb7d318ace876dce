//! `update_mixed`: what the systems of `abeimler/ecs_benchmark` do in its rows "update systems, mixed entities", and what
//! comes of it.
//!
//! Three systems, one after the other: all that has a place and a heading moves; what has thoughts thinks; and what has
//! all three turns, every tenth time. A third of the entities has a place and a heading, a third thoughts besides, a third a
//! place and thoughts. As in the original the last system asks what it reads; numbers are whole, so that sums are exact.
//! Each contender has types of its own around these.

use super::Tally;

/// What an agent thinks of: more than one kind of number, as in the original.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thoughts {
    /// Counts to ten.
    pub count: u32,
    /// Grows.
    pub mood: f64,
    /// Every other time.
    pub is_awake: bool,
    /// The last random number: a xorshift generator's whole state.
    pub random: u32,
}

/// Where an agent begins.
#[must_use]
#[inline(always)]
pub const fn place(number: u32) -> [f32; 2] {
    [(number % 10) as f32, 4.0]
}

/// Where it goes to.
#[must_use]
#[inline(always)]
pub const fn heading() -> [f32; 2] {
    [1.0, -1.0]
}

/// What it thinks.
#[must_use]
#[inline(always)]
pub const fn thoughts(number: u32) -> Thoughts {
    Thoughts {
        count: number % 10,
        mood: 0.0,
        is_awake: true,
        random: number % 10 + 1,
    }
}

/// What the first system does.
#[inline(always)]
pub fn walk(place: &mut [f32; 2], heading: &[f32; 2]) {
    place[0] += heading[0];
    place[1] += heading[1];
}

/// What the second does.
#[inline(always)]
pub fn think(thoughts: &mut Thoughts) {
    thoughts.count = (thoughts.count + 1) % 10;
    thoughts.mood += 0.5;
    thoughts.is_awake = !thoughts.is_awake;
    let random = &mut thoughts.random;
    *random ^= *random << 13;
    *random ^= *random >> 17;
    *random ^= *random << 5;
}

/// What the third does.
#[inline(always)]
pub fn turn(place: &[f32; 2], heading: &mut [f32; 2], thoughts: &Thoughts) {
    if thoughts.count > 0 {
        return;
    }
    *heading = if place[0] > place[1] {
        let [along, across] = [thoughts.random % 19, thoughts.random % 20];
        [along as f32 - 9.0, across as f32 - 10.0]
    } else {
        [heading[1], heading[0]]
    };
}

/// What there is of the first and second coordinates of places, of the first of headings, and of the counts of thoughts,
/// after so many frames, with so many entities of each of the three sets.
pub(super) fn expected(of_each: u32, frames: u64) -> Vec<Tally> {
    let mut tallies = vec![Tally::default(); 4];
    // Ten ways to begin.
    for number in 0..of_each.min(10) {
        let count = (of_each - number).div_ceil(10) as usize;
        let mut add = |at: usize, value: f32| {
            tallies[at] = tallies[at].and(Tally {
                count,
                sum: f64::from(value) * count as f64,
            });
        };
        // The heading alone; with thoughts; thoughts and no heading.
        let (mut straight, mut bent, still) = (place(number), place(number), place(number));
        let (mut heading_of_bent, mut mind) = (heading(), thoughts(number));
        for _ in 0..frames {
            walk(&mut straight, &heading());
            walk(&mut bent, &heading_of_bent);
            think(&mut mind);
            turn(&bent, &mut heading_of_bent, &mind);
        }
        for place in [straight, bent, still] {
            add(0, place[0]);
            add(1, place[1]);
        }
        add(2, heading()[0]);
        add(2, heading_of_bent[0]);
        add(3, mind.count as f32);
        add(3, mind.count as f32);
    }
    tallies
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_are_the_same_after_ten_frames_but_for_mood_and_chance() {
        let mut mind = thoughts(7);
        (0..10).for_each(|_| think(&mut mind));
        assert_eq!((mind.count, mind.mood, mind.is_awake), (7, 5.0, true));
        assert_ne!(mind.random, thoughts(7).random);
    }

    #[test]
    fn who_counts_to_ten_turns_and_nobody_else() {
        let mind = Thoughts {
            count: 0,
            random: 19 * 20 + 3,
            ..thoughts(0)
        };
        let mut ahead = heading();
        turn(&[2.0, 1.0], &mut ahead, &mind);
        assert_eq!(ahead, [3.0 - 9.0, 3.0 - 10.0], "by chance");
        turn(&[1.0, 2.0], &mut ahead, &mind);
        assert_eq!(ahead, [-7.0, -6.0], "exchanged");
        turn(&[1.0, 2.0], &mut ahead, &Thoughts { count: 1, ..mind });
        assert_eq!(ahead, [-7.0, -6.0]);
    }

    #[test]
    fn what_is_expected_counts_every_entity() {
        let counts = |of_each| {
            let tallies = expected(of_each, 3).into_iter();
            tallies.map(|tally| tally.count).collect::<Vec<_>>()
        };
        assert_eq!(counts(27), [81, 81, 54, 54]);
        assert_eq!(counts(4), [12, 12, 8, 8]);
    }
}
