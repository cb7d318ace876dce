//! Commands that do the same to neighbouring rows are found.

use crate::archetype::Row;
use crate::command::flush::Part;
use crate::command::flush::ops::Ops;
use crate::command::flush::sweep::Run;
use crate::command::log::Word;
use crate::entity::Entity;
use crate::world::World;

/// Commands in a run, on average, from which on runs are worth it; and so many shorter ones do no harm.
const LEAST: usize = 4;
const SHORT: usize = 16;

/// Entities that are looked at in one go. What is looked at in vain, of the next ones, is no more than that.
const STEP: usize = 32;

/// The runs of some commands, in their order; `None` if one's entity does not lie in the world, or if hardly any are
/// neighbours.
pub(super) fn runs(world: &World, ops: &Ops<'_>, part: &Part<'_>) -> Option<Vec<Run>> {
    let mut runs = Vec::new();
    let mut values = part.rows();
    let (mut words, mut entities) = (part.log.words, part.log.entities);
    while let Some(&entity) = entities.first() {
        let (archetype, Row { chunk, row }) = world.locate(entity)?;
        let there = world.archetypes[archetype as usize].chunks[chunk as usize].entities();
        let there = &there[row as usize..];
        if there.first() != Some(&entity) {
            return None;
        }
        let more = words[1..].iter();
        let of_one = 1 + more.take_while(|word| !word.is_for_another()).count();
        let count = follow(there, entities, words, of_one);
        let first = runs.len();
        let before = (of_one > 1).then(|| values.clone());
        for &word in &words[..of_one] {
            let op = part.op(word);
            let payload = ops.payload_of[op as usize];
            let at = values.next(payload);
            values.skip(payload, 1);
            let has_values = ops.all[op as usize].has_values();
            runs.push(Run {
                archetype,
                chunk,
                first: row,
                count: count as u32,
                op,
                at: if has_values { at } else { 0 },
                step: u32::from(has_values),
            });
        }
        match before {
            None => values.skip(ops.payload_of[part.op(words[0]) as usize], count as u32 - 1),
            Some(before) => {
                for (run, &word) in runs[first..].iter_mut().zip(words) {
                    let payload = ops.payload_of[part.op(word) as usize];
                    run.step *= values.next(payload).wrapping_sub(before.next(payload));
                }
                values.repeat(&before, count as u32 - 1);
            }
        }
        (words, entities) = (&words[of_one * count..], &entities[count..]);
        let done = part.log.words.len() - words.len();
        if runs.len() > SHORT + done / LEAST {
            return None;
        }
    }
    Some(runs)
}

/// How many rows, one after the other, get the commands that the first one gets: so many of the words are its.
#[inline]
fn follow(there: &[Entity], entities: &[Entity], words: &[Word], of_one: usize) -> usize {
    let most = there.len().min(entities.len()).min(words.len() / of_one);
    let mut count = 1;
    while count < most {
        let step = (most - count).min(STEP);
        let rows = count..count + step;
        let rows = common(&there[rows.clone()], &entities[rows]);
        let from = count * of_one;
        let next = &words[from..from + rows * of_one];
        // The same as one row before.
        let words = common(next, &words[from - of_one..]);
        count += words / of_one;
        if words < step * of_one {
            break;
        }
    }
    // The last one may have more commands than the others.
    let ends = words.get(count * of_one);
    if count > 1 && ends.is_some_and(|word| !word.is_for_another()) {
        count -= 1;
    }
    count
}

/// How many of the first elements are the same.
#[inline]
fn common<T: Copy + Eq>(a: &[T], b: &[T]) -> usize {
    let (a, b) = (&a[..a.len().min(b.len())], &b[..a.len().min(b.len())]);
    let eights = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0);
    // Without a branch for each: eight are compared in a few instructions.
    let same = |(a, b): &(&[T; 8], &[T; 8])| (0..8).fold(true, |same, at| same & (a[at] == b[at]));
    let same = 8 * eights.take_while(same).count();
    let rest = a[same..].iter().zip(&b[same..]);
    same + rest.take_while(|(a, b)| a == b).count()
}
