//! `Turns`: who follows whom in each repetition.

/// The order of some contenders, repetition after repetition: over all of them, everybody follows everybody else
/// equally often and has every place equally often, so that nobody always runs in the wake of the same.
///
/// A balanced Latin square (E. J. Williams, 1949: *Experimental Designs Balanced for the Estimation of Residual Effects
/// of Treatments*): of an even number of contenders as many repetitions are balanced, of an odd number twice as many. The
/// same in every run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turns(usize);

impl Turns {
    /// Turns of so many.
    pub(super) fn of(contenders: usize) -> Self {
        Self(contenders)
    }

    /// The order in a repetition.
    pub(super) fn order(self, repetition: usize) -> Vec<usize> {
        let Self(all) = self;
        // 0, 1, last, 2, last but one …: each step on the circle is another one. All others are that one turned round.
        let first = (0..all).map(|place| match place % 2 {
            0 => (all - place / 2) % all,
            _ => place.div_ceil(2),
        });
        let turned = first.map(|contender| (contender + repetition) % all);
        // Of an odd number each step comes twice, and others never: those are in the same orders read from the end.
        match all % 2 == 1 && repetition % 2 == 1 {
            true => turned.rev().collect(),
            false => turned.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each follows each, and how often each has each place.
    fn counts(contenders: usize, repetitions: usize) -> (Vec<Vec<usize>>, Vec<Vec<usize>>) {
        let none = vec![vec![0; contenders]; contenders];
        let (mut follows, mut places) = (none.clone(), none);
        for repetition in 0..repetitions {
            let order = Turns::of(contenders).order(repetition);
            assert_eq!(order.len(), contenders);
            for (place, &contender) in order.iter().enumerate() {
                places[contender][place] += 1;
            }
            for pair in order.windows(2) {
                follows[pair[1]][pair[0]] += 1;
            }
        }
        (follows, places)
    }

    #[test]
    fn everybody_follows_everybody_else_and_has_every_place_equally_often() {
        for contenders in 1..=12 {
            let each = if contenders % 2 == 0 { 1 } else { 2 };
            let (follows, places) = counts(contenders, contenders * each);
            for one in 0..contenders {
                for other in 0..contenders {
                    let expected = if one == other { 0 } else { each };
                    assert_eq!(follows[one][other], expected, "{contenders}: {one} {other}");
                    assert_eq!(places[one][other], each, "{contenders}: {one} at {other}");
                }
            }
        }
    }

    #[test]
    fn in_few_repetitions_nobody_follows_the_same_much_more_often_than_others() {
        for contenders in 2..=12 {
            for repetitions in [4, 9] {
                let (follows, _) = counts(contenders, repetitions);
                let most = follows.into_iter().flatten().max();
                let even = repetitions.div_ceil(contenders);
                assert!(
                    most <= Some(even + 1),
                    "{contenders}, {repetitions}: {most:?}"
                );
            }
        }
    }
}
