//! The subcommand: its arguments, and that what it writes compiles.

use super::*;

/// What is said to arguments after `program`.
fn parsed(arguments: &[&str]) -> Result<Args, clap::Error> {
    let all = ["program"].iter().chain(arguments);
    let matches = subcommand().command.try_get_matches_from(all)?;
    Args::from_arg_matches(&matches)
}

#[test]
fn arguments_are_what_help_says_and_what_means_nothing_alone_is_refused() {
    subcommand().command.debug_assert();
    let args = parsed(&["--out", "x"]).unwrap();
    assert_eq!(args.store, Store::ALL);
    assert_eq!((args.fragments, args.queries, args.systems), (40, 60, 30));
    for refused in [
        &["--out", "x", "--fragments", "7"][..],
        &["--out", "x", "--repetitions", "3"],
        &["--out", "x", "--json", "y"],
        &["--out", "x", "--at-most", "1"],
        &["--out", "x", "--measure", "--instances"],
        &["--out", "x", "--store", "bevy"],
        &[],
    ] {
        assert!(parsed(refused).is_err(), "{refused:?}");
    }
}

#[test]
fn queries_that_do_not_fit_are_an_error_of_that_argument() {
    let args = parsed(&["--out", "x", "--queries", "10", "--systems", "20"]).unwrap();
    let refused = run(&args).unwrap_err();
    assert_eq!(refused.exit_code(), 2);
    assert!(refused.to_string().starts_with("--queries: "), "{refused}");
}

#[test]
#[ignore = "compiles the library anew, and other stores: minutes"]
fn what_is_written_compiles_and_does_the_same_for_each_store() {
    let out = std::env::temp_dir().join(format!("megachunk-programs-{}", std::process::id()));
    let path = out.to_str().unwrap();
    let shape = ["--fragments", "11", "--queries", "14", "--systems", "7"];
    let measure = ["--out", path, "--measure", "--repetitions", "1"];
    run(&parsed(&[&shape[..], &measure].concat()).unwrap()).unwrap();
    let count = [
        "--store",
        "megachunk",
        "--out",
        path,
        "--instances",
        "--at-most",
    ];
    let counted = |most| run(&parsed(&[&shape[..], &count, &[most]].concat()).unwrap());
    counted("10000000").unwrap();
    let many = counted("10").unwrap_err();
    assert!(many.to_string().contains("more than 10"), "{many}");
    std::fs::remove_dir_all(&out).unwrap();
}
