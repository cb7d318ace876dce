//! The `megachunk` program with `program`, and, if built with `peers`, with other crates' allocators added to `bench`.

fn main() -> std::process::ExitCode {
    megachunk::cli::main_and(
        &megachunk_benches::registry(),
        &[megachunk_benches::program()],
    )
}
