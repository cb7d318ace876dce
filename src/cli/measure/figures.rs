//! `Figures`: least, middle and most of some repetitions.

/// Least, middle and most of some measurements.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Figures {
    /// The least.
    pub min: f64,
    /// The middle one; of an even number, the mean of the middle two.
    pub median: f64,
    /// The most.
    pub max: f64,
}

impl Figures {
    /// The figures of `values`; `None` if there are none.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 {
            sorted[middle]
        } else {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        };
        Some(Self { min, median, max })
    }

    /// What is left of each after `overhead`: less than nothing, where that was taken from too little.
    #[must_use]
    pub fn minus(self, overhead: f64) -> Self {
        Self {
            min: self.min - overhead,
            median: self.median - overhead,
            max: self.max - overhead,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_is_the_mean_of_the_middle_two() {
        let figures = Figures::of(&[4.0, 1.0, 2.0, 3.0]).unwrap();
        assert_eq!((figures.min, figures.median, figures.max), (1.0, 2.5, 4.0));
        assert_eq!(Figures::of(&[]), None);
    }

    #[test]
    fn what_is_left_may_be_less_than_nothing() {
        let figures = Figures::of(&[1.0, 2.0, 4.0]).unwrap();
        let net = figures.minus(2.0);
        assert_eq!((net.min, net.median, net.max), (-1.0, 0.0, 2.0));
    }
}
