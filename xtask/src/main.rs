//! `cargo xtask <verb>`: the entry point for building, checking and demonstrating the project.
//!
//! Plain standard Rust without dependencies, so that it compiles in seconds on a bare machine. It knows the structure
//! of the workspace, not the internals of a crate.

mod bench;
mod capi;
mod command;
mod families;
mod generated;
mod notices;
mod planted;
mod python;
mod release;
mod rust_text;
mod sdist;
mod site;
mod supply;
mod test;
mod tidy;
mod tree;
mod wheel;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <verb>

  test [--quick | --long]   everything that must be green; ends with `N passed, N failed`
                              --quick  one engine mode, no slow tests, kernel sources or models
                              --long   also stages that passed with these sources; adds a release build, ignored
                                       tests, a million tasks, long fuzzing, sanitizers
  tidy                      checks the invariants that follow from the text of the sources
  planted [PART]            breaks the invariants one by one, in a copy, and reports whether their checks
                            fail; with PART, only faults whose invariant, file or command contains it
  supply                    checks the licences and origins of the dependencies against deny.toml
  gen [--check]             writes the generated files, or only compares them
  wheel [--release | --sdist | --only-for PYTHON]
                            builds the wheel into target/wheels: optimised, for this machine
                              --release  as it is published: with link-time optimisation
                              --sdist    packs the sources instead; fails when a file is missing from them
                              --only-for PYTHON  as published, for one interpreter: CPython 3.10; into target/wheels-one
  capi [--release]          builds the C library with its headers, for pkg-config and CMake: with debug assertions
                            into target/c-dev, optimised into target/c
  tour [ARGS...]            builds, installs and shows what Forerun does; writes forerun-tour.html
                              --quick  less of everything; --report PATH, --no-report
  docs [--serve]            builds the documentation site into target/site; fails when a link leads nowhere
                              --serve  serves it on this machine instead, and follows changes
  release --dry-run         checks what a release needs: versions, changelog, packages, licences, the wheel's platform
  bench [NAME] [ARGS...]    runs one benchmark, or lists them";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args.as_slice() {
        ["test"] => test::run(test::Extent::Normal),
        ["test", "--quick"] => test::run(test::Extent::Quick),
        ["test", "--long"] => test::run(test::Extent::Long),
        ["tidy"] => tidy::run(),
        ["planted"] => planted::run(""),
        ["planted", part] => planted::run(part),
        ["supply"] => supply::check(),
        ["gen"] => generated::write_all(&tree::root()).and_then(|()| capi::write_header()),
        ["gen", "--check"] => generated::check(&tree::root()).and_then(|()| capi::check_header()),
        ["capi"] => capi::build(capi::Profile::Dev).map(drop),
        ["capi", "--release"] => capi::build(capi::Profile::Release).map(drop),
        ["wheel"] => wheel::build(wheel::Profile::Local).map(drop),
        ["wheel", "--release"] => wheel::build(wheel::Profile::Published).map(drop),
        ["wheel", "--sdist"] => sdist::build(),
        ["wheel", "--only-for", python] => wheel::build_only_for(python).map(drop),
        ["tour", rest @ ..] => wheel::tour(rest),
        ["docs"] => site::build(),
        ["docs", "--serve"] => site::serve(),
        ["release", "--dry-run"] => release::rehearse(),
        ["bench"] => bench::list(),
        ["bench", name, rest @ ..] => bench::run(name, rest),
        [] | ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        _ => Err(format!("unknown arguments: {}\n\n{USAGE}", args.join(" "))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            // A verb that ends with a report has already printed everything.
            if !message.is_empty() {
                eprintln!("xtask: {message}");
            }
            ExitCode::FAILURE
        }
    }
}
