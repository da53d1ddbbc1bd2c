//! The stage of the C interface: the exported symbols, the test programs in C and C++, every sample of the catalogue,
//! the CMake package with the examples, and the programs of the documentation.

use super::stages::Extent;
use crate::capi::{self, Profile};
use crate::command::{program, run, run_and_read, say};
use crate::sdist::walk;
use crate::tree;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The folders and files that the stage depends on.
const FOLDERS: &[&str] = &["cpp", "crates/capi", "crates/forerun/src", "crates/forerun/tests/sample_calls", "tests/c"];
const FILES: &[&str] = &[
    "crates/array/src/dlpack.rs",
    "docs/c.md",
    "docs/catalogue.json",
    "docs/cpp.md",
    "tests/python/samples.json",
    "xtask/src/capi.rs",
    "xtask/src/test/capi.rs",
];

/// A compiler and its flags.
type Compiler = (&'static str, &'static [&'static str]);

/// A program in `tests/c`: name, source, compiler, and arguments.
type Program = (&'static str, &'static str, Compiler, &'static [&'static str]);

/// A page whose programs are compiled and run, the language of its blocks, and their compiler.
type Page = (&'static str, &'static str, Compiler);

const WARNINGS: &[&str] = &["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1", "-g", "-pthread"];
const C: Compiler = ("gcc", &["-std=c11", "-D_GNU_SOURCE"]);
const CPP_17: Compiler = ("g++", &["-std=c++17"]);
const CPP_20: Compiler = ("g++", &["-std=c++20"]);

const PROGRAMS: &[Program] = &[
    ("test", "test.c", C, &[]),
    ("fuzz", "fuzz.c", C, &["1", "20000"]),
    ("test-cpp17", "test.cpp", CPP_17, &[]),
    ("test-cpp20", "test.cpp", CPP_20, &[]),
];

const PAGES: &[Page] = &[("docs/c.md", "c", C), ("docs/cpp.md", "cpp", CPP_17)];

/// The files of the stage.
pub(super) fn covered() -> Result<BTreeSet<PathBuf>, String> {
    let mut found: BTreeSet<PathBuf> = FILES.iter().map(PathBuf::from).collect();
    FOLDERS.iter().try_for_each(|folder| walk(&tree::root(), Path::new(folder), &mut found))?;
    Ok(found)
}

/// Runs the stage. The long tests also run the programs under the address sanitizer, with more random calls.
pub(super) fn check(extent: Extent) -> Result<(), String> {
    capi::check_header()?;
    let package = capi::build(Profile::Dev)?;
    let stage = Stage { bin: package.join("bin"), package };
    fs::create_dir_all(&stage.bin).map_err(|e| e.to_string())?;
    stage.symbols()?;
    for (name, source, compiler, args) in PROGRAMS {
        stage.compile(name, &format!("tests/c/{source}"), *compiler, &[])?;
        run(&mut stage.program(name, args))?;
    }
    stage.conformance()?;
    stage.examples()?;
    stage.pages()?;
    if extent == Extent::Long {
        for (name, source, compiler, args) in PROGRAMS {
            let (name, args) = (format!("{name}-sanitized"), if args.is_empty() { args } else { &["7", "200000"][..] });
            stage.compile(&name, &format!("tests/c/{source}"), *compiler, &["-fsanitize=address,undefined"])?;
            run(&mut stage.program(&name, args))?;
        }
    }
    Ok(())
}

struct Stage {
    /// The installed package.
    package: PathBuf,
    /// The compiled programs.
    bin: PathBuf,
}

impl Stage {
    /// Compiles a program against the package.
    fn compile(&self, name: &str, source: &str, (compiler, flags): Compiler, more: &[&str]) -> Result<(), String> {
        let (include, lib) = (self.package.join("include"), self.package.join("lib"));
        let mut command = program(compiler, flags);
        command.args(WARNINGS).args(more).arg(format!("-I{}", include.display())).arg("-Itests/c").arg(source);
        command.arg(format!("-L{}", lib.display())).arg(format!("-Wl,-rpath,{}", lib.display()));
        run(command.args(["-lforerun", "-o", &self.bin.join(name).to_string_lossy()]))
    }

    fn program(&self, name: &str, args: &[&str]) -> std::process::Command {
        let mut command = program(self.bin.join(name), args);
        // For the files that it writes.
        command.current_dir(&self.bin);
        command
    }

    /// The shared library exports the functions of the header and nothing else, under a name with its version.
    fn symbols(&self) -> Result<(), String> {
        let library = self.package.join("lib/libforerun.so");
        let library = library.to_string_lossy();
        let (good, symbols) = run_and_read(&mut program("nm", &["--dynamic", "--defined-only", &library]))?;
        let exported: BTreeSet<&str> = symbols.lines().filter_map(|line| line.split_whitespace().last()).collect();
        let header = tree::read(&self.package.join("include/forerun.h"))?;
        let declared: BTreeSet<&str> = functions(&header).collect();
        if !good || exported != declared {
            let odd: Vec<_> = exported.symmetric_difference(&declared).collect();
            return Err(format!("exported or declared alone: {odd:?}"));
        }
        let (_, dynamic) = run_and_read(&mut program("readelf", &["--dynamic", &library]))?;
        if !dynamic.lines().any(|line| line.contains("SONAME") && line.contains("[libforerun.so.")) {
            return Err(format!("{library} has no name with a version"));
        }
        say!("{} functions", exported.len());
        Ok(())
    }

    /// Compares the results of every sample with Rust's.
    fn conformance(&self) -> Result<(), String> {
        let samples = self.bin.join("samples.txt");
        let output = super::programs::example("conformance", &[]).output().map_err(|e| e.to_string())?;
        if !output.status.success() {
            return Err(format!("conformance: {}", String::from_utf8_lossy(&output.stderr)));
        }
        fs::write(&samples, output.stdout).map_err(|e| e.to_string())?;
        self.compile("conformance", "tests/c/conformance.c", C, &[])?;
        run(&mut self.program("conformance", &[&samples.to_string_lossy()]))
    }

    /// Builds the examples with CMake from the package, and runs them.
    fn examples(&self) -> Result<(), String> {
        let build = self.bin.join("examples").to_string_lossy().into_owned();
        let prefix = format!("-DCMAKE_PREFIX_PATH={}", self.package.display());
        run(&mut program("cmake", &["-S", "cpp/examples", "-B", &build, &prefix]))?;
        run(&mut program("cmake", &["--build", &build]))?;
        run(&mut program("ctest", &["--test-dir", &build, "--output-on-failure"]))
    }

    /// Compiles and runs the programs of the documentation.
    fn pages(&self) -> Result<(), String> {
        for (page, language, compiler) in PAGES {
            let text = tree::read(&tree::root().join(page))?;
            let programs: Vec<&str> = blocks(&text, language).filter(|block| block.contains("int main(")).collect();
            if programs.is_empty() {
                return Err(format!("{page} has no program"));
            }
            for (number, block) in programs.iter().enumerate() {
                let name = format!("page-{language}-{number}");
                let source = self.bin.join(&name).with_extension(language);
                fs::write(&source, block).map_err(|e| e.to_string())?;
                self.compile(&name, &source.to_string_lossy(), *compiler, &[])?;
                run(&mut self.program(&name, &[]))?;
            }
        }
        Ok(())
    }
}

/// The functions that a header declares.
fn functions(header: &str) -> impl Iterator<Item = &str> {
    let plain =
        header.lines().filter(|line| !line.starts_with(['/', '#', ' ', '*']) && !line.contains("static inline"));
    plain.filter_map(|line| {
        let before = line.split_once('(')?.0;
        let name = before.rsplit([' ', '*']).next()?;
        name.starts_with("forerun_").then_some(name)
    })
}

/// The blocks of code of a page in this language.
fn blocks<'a>(page: &'a str, language: &'a str) -> impl Iterator<Item = &'a str> {
    let blocks = page.split("\n```").skip(1).step_by(2);
    blocks.filter_map(move |block| block.strip_prefix(language)?.strip_prefix('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_and_blocks_are_found() {
        let header = "// forerun_x(\nint32_t forerun_add(int a,\n                  int b);\nconst char *forerun_text(void);\n\
                      static inline int forerun_of(int a) {\n  forerun_call(a);\n}\n#define FORERUN_AT(x)\ntypedef int (*f)(int);";
        assert_eq!(functions(header).collect::<Vec<_>>(), ["forerun_add", "forerun_text"]);
        let page = "a\n```c\nint main(void);\n```\nb\n```cpp\nint x;\n```\n";
        assert_eq!(blocks(page, "c").collect::<Vec<_>>(), ["int main(void);"]);
        assert_eq!(blocks(page, "cpp").collect::<Vec<_>>(), ["int x;"]);
    }
}
