//! Links the `kennel` binary statically, at a fixed address, where the C library's archives are installed.
//!
//! Every task costs two forks of this image, and every `kennel run` an exec of it: without a dynamic loader it starts a
//! quarter faster and has half as many mappings to copy; without relocations its tables stay clean pages of the file, which
//! no fork has to copy, and a cold call takes a third less processor time. The price is an address that is not random; the
//! code that it would protect is safe Rust. Where an archive is missing, or the target is not Linux with
//! glibc on this very machine, nothing is done and the binary is linked as usual.
#![expect(clippy::disallowed_methods, reason = "a build script asks the compiler")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The libraries that std names on the linker's command line.
const LIBRARIES: [&str; 7] = ["c", "m", "dl", "pthread", "rt", "util", "gcc_eh"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=KENNEL_LINK");
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let native = variable("HOST") == variable("TARGET");
    let glibc = variable("CARGO_CFG_TARGET_OS") == "linux" && variable("CARGO_CFG_TARGET_ENV") == "gnu";
    if !native || !glibc || variable("KENNEL_LINK") == "dynamic" {
        return;
    }
    let Some(archives) = LIBRARIES.iter().map(|name| archive(name)).collect::<Option<Vec<PathBuf>>>() else {
        return;
    };
    let directory = PathBuf::from(variable("OUT_DIR"));
    if stand_ins(&directory, &archives).is_ok() {
        // For the binary only: a test that found the stand-ins but is linked dynamically would have two C libraries.
        println!("cargo:rustc-link-arg-bins=-L{}", directory.display());
        println!("cargo:rustc-link-arg-bins=-static");
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}

/// Where the C compiler finds `libNAME.a`.
fn archive(name: &str) -> Option<PathBuf> {
    let found = Command::new("cc").arg(format!("-print-file-name=lib{name}.a")).output().ok()?;
    let path = PathBuf::from(String::from_utf8(found.stdout).ok()?.trim());
    (path.is_absolute() && path.is_file()).then_some(path)
}

/// rustc asks for shared libraries by name; linker scripts of those names lead to the archives instead.
fn stand_ins(directory: &Path, archives: &[PathBuf]) -> std::io::Result<()> {
    for (name, archive) in LIBRARIES.iter().zip(archives) {
        // The unwinder is libgcc_s when shared and libgcc_eh, which needs libc again, when not.
        let (name, text) = match *name {
            "gcc_eh" => ("gcc_s", format!("INPUT ( {} -lc )\n", archive.display())),
            name => (name, format!("INPUT ( {} )\n", archive.display())),
        };
        std::fs::write(directory.join(format!("lib{name}.so")), text)?;
    }
    Ok(())
}
