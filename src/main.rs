//! The `megachunk` program.

fn main() -> std::process::ExitCode {
    megachunk::cli::main()
}
