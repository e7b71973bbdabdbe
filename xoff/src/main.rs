//! The binary `xoff`.

use std::process::ExitCode;

use clap::Parser;
use xoff::commands::Arguments;
use xoff::heap::Heap;

#[global_allocator]
static HEAP: Heap = Heap;

fn main() -> ExitCode {
    ExitCode::from(Arguments::parse().execute().code())
}
