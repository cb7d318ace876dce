//! Programs of several steps, at once and recorded.

use megachunk::command::Commands;
use megachunk::prelude::*;

use super::{Depth, Drawn, Other, Sprite, Transform, world};

#[test]
fn several_commands_do_what_they_would_do_one_after_the_other() {
    /// What is done to an entity.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Add,
        AddPlaced,
        Remove,
        RemoveDepth,
        RemoveOwner,
        Swap,
        SwapOwner,
    }
    use Step::*;
    const STEPS: [Step; 7] = [
        Add,
        AddPlaced,
        Remove,
        RemoveDepth,
        RemoveOwner,
        Swap,
        SwapOwner,
    ];
    fn at_once(world: &mut World, ant: Entity, step: Step) {
        match step {
            Add => world.add(ant, (Sprite(1),)).unwrap(),
            AddPlaced => world.add(ant, (Sprite(2), Transform(9))).unwrap(),
            Remove => _ = world.remove::<(Transform,)>(ant).unwrap(),
            RemoveDepth => _ = world.remove::<(Depth,)>(ant).unwrap(),
            RemoveOwner => _ = world.remove::<(Sprite,)>(ant).unwrap(),
            Swap => world.swap::<(Transform,), _>(ant, (Sprite(3),)).unwrap(),
            SwapOwner => world.swap::<(Sprite,), _>(ant, (Transform(4),)).unwrap(),
        }
    }
    fn recorded(commands: &mut Commands<'_>, ant: Entity, step: Step) {
        match step {
            Add => commands.add(ant, (Sprite(1),)),
            AddPlaced => commands.add(ant, (Sprite(2), Transform(9))),
            Remove => commands.remove::<(Transform,)>(ant),
            RemoveDepth => commands.remove::<(Depth,)>(ant),
            RemoveOwner => commands.remove::<(Sprite,)>(ant),
            Swap => commands.swap::<(Transform,), _>(ant, (Sprite(3),)),
            SwapOwner => commands.swap::<(Sprite,), _>(ant, (Transform(4),)),
        }
        .unwrap();
    }
    /// An ant of each composition.
    fn ants(world: &mut World) -> Vec<Entity> {
        let ants = [
            world.create((Other(0),)),
            world.create((Other(1), Transform(5))),
            world.create((Other(2), Sprite(5))),
            world.create((Other(3), Sprite(6), Transform(6), Depth(6))),
            world.create((Other(4), Sprite(7))),
        ];
        let ants = ants.map(Result::unwrap);
        world.remove::<(Transform,)>(ants[4]).unwrap();
        ants.into()
    }
    let [mut one, mut other] = [world(true), world(true)];
    let mut all = [Vec::new(), Vec::new()];
    let mut programs: Vec<Vec<Step>> = Vec::new();
    for a in STEPS {
        for b in STEPS {
            programs.push(vec![a, b]);
            programs.extend(STEPS.map(|c| vec![a, b, c]));
        }
    }
    for _ in &programs {
        all[0].push(ants(&mut one));
        all[1].push(ants(&mut other));
    }
    for (ants, program) in all[0].iter().zip(&programs) {
        for &ant in ants {
            program
                .iter()
                .for_each(|&step| at_once(&mut one, ant, step));
        }
    }
    let mut few = other.commands();
    for (ants, program) in all[1].iter().zip(&programs) {
        for &ant in ants {
            program
                .iter()
                .for_each(|&step| recorded(&mut few, ant, step));
        }
    }
    drop(few);
    assert!(other.flush().is_clean());
    one.check().unwrap();
    other.check().unwrap();
    for ((ants, program), others) in all[0].iter().zip(&programs).zip(&all[1]) {
        for (&ant, &bee) in ants.iter().zip(others) {
            let what = |world: &World, ant| {
                (
                    world.get::<Sprite>(ant).copied().ok(),
                    world.get::<Transform>(ant).copied().ok(),
                    world.get::<Depth>(ant).copied().ok(),
                    world.has::<Drawn>(ant).unwrap(),
                )
            };
            let kind = one.get::<Other>(ant).unwrap().0;
            assert_eq!(what(&other, bee), what(&one, ant), "{program:?} of {kind}");
        }
    }
}
