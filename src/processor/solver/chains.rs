//! `Chains`: who touched what last, on a walk along the line.

/// "Nobody."
const NOBODY: u32 = u32::MAX;

/// For each thing that can be touched, its number counting from 0, the last one that wrote it and those that
/// read it since.
#[derive(Debug, Default)]
pub(super) struct Chains {
    chains: Vec<Chain>,
    /// Chains that were touched on another walk are empty.
    walk: u64,
}

#[derive(Debug, Default)]
struct Chain {
    walk: u64,
    writer: u32,
    readers: Vec<u32>,
}

impl Chains {
    /// Begins a walk: nothing has been touched.
    pub(super) fn begin(&mut self) {
        self.walk += 1;
    }

    /// Something, which is not earlier than those before, touches a thing. `after` is told what it has to come after:
    /// of those that it conflicts with the last ones, which come after all others themselves.
    #[inline]
    pub(super) fn touch(
        &mut self,
        thing: usize,
        who: u32,
        write: bool,
        mut after: impl FnMut(u32),
    ) {
        if thing >= self.chains.len() {
            self.chains.resize_with(thing + 1, Chain::default);
        }
        let chain = &mut self.chains[thing];
        if chain.walk != self.walk {
            chain.walk = self.walk;
            chain.writer = NOBODY;
            chain.readers.clear();
        }
        let Chain {
            writer, readers, ..
        } = chain;
        // One may touch a thing twice: with two queries.
        if *writer == who {
            return;
        }
        if write {
            let others = readers.iter().copied().filter(|&reader| reader != who);
            let mut read = false;
            for reader in others {
                after(reader);
                read = true;
            }
            if !read && *writer != NOBODY {
                after(*writer);
            }
            readers.clear();
            *writer = who;
        } else if readers.last() != Some(&who) {
            if *writer != NOBODY {
                after(*writer);
            }
            readers.push(who);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who comes after whom, if they touch one thing in this order; the second says who writes.
    fn edges(touches: &[(u32, bool)]) -> Vec<(u32, u32)> {
        let mut chains = Chains::default();
        chains.begin();
        let mut edges = Vec::new();
        for &(who, write) in touches {
            chains.touch(3, who, write, |earlier| edges.push((earlier, who)));
        }
        edges
    }

    #[test]
    fn a_writer_comes_after_all_readers_since_the_last_writer() {
        let touches = [(0, true), (1, false), (2, false), (3, true), (4, true)];
        assert_eq!(edges(&touches), [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)]);
    }

    #[test]
    fn readers_do_not_wait_for_readers() {
        assert_eq!(edges(&[(0, false), (1, false), (2, false)]), []);
    }

    #[test]
    fn nobody_waits_for_himself() {
        let touches = [(0, true), (1, false), (1, true), (1, false), (2, false)];
        assert_eq!(edges(&touches), [(0, 1), (0, 1), (1, 2)]);
    }

    #[test]
    fn a_new_walk_forgets() {
        let mut chains = Chains::default();
        for walk in 0..3 {
            chains.begin();
            chains.touch(0, walk, true, |_| panic!("nobody was there"));
        }
    }
}
