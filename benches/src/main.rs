//! The `megachunk` program with other crates' allocators added to `bench`, if built with `peers`.

fn main() -> std::process::ExitCode {
    megachunk::cli::main_with(&megachunk_benches::registry())
}
