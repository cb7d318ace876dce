//! `Projection`: degrees to metres.

use super::extract::Extract;

/// A plane that touches the earth in the middle of the streets: right to a metre or so for a city, to some
/// metres for a small country.
#[derive(Clone, Copy, Debug)]
pub(super) struct Projection {
    middle: [f64; 2],
    /// Metres a degree, to the north and to the east.
    metres: [f64; 2],
}

impl Projection {
    /// `None` if there are no streets.
    pub(super) fn of(extract: &Extract) -> Option<Self> {
        let ways = extract.ways.iter().filter(|way| way.is_street());
        let places = ways.flat_map(|way| way.nodes.iter().filter_map(|id| extract.nodes.get(id)));
        let (mut low, mut high) = ([f64::MAX; 2], [f64::MIN; 2]);
        for place in places {
            for axis in 0..2 {
                low[axis] = low[axis].min(place[axis]);
                high[axis] = high[axis].max(place[axis]);
            }
        }
        (low[0] <= high[0]).then(|| {
            let middle = [(low[0] + high[0]) / 2.0, (low[1] + high[1]) / 2.0];
            Self {
                middle,
                metres: [110_574.0, 111_320.0 * middle[0].to_radians().cos()],
            }
        })
    }

    /// East and north of the middle, in metres.
    pub(super) fn place(&self, [latitude, longitude]: [f64; 2]) -> [f32; 2] {
        [
            ((longitude - self.middle[1]) * self.metres[1]) as f32,
            ((latitude - self.middle[0]) * self.metres[0]) as f32,
        ]
    }
}
