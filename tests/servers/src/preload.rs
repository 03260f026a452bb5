//! Small libraries in C, compiled here and preloaded into a server.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::{paths, process};

/// The library that is made of `src/NAME.c`: compiled by the first caller of each test program.
pub fn library(name: &'static str) -> PathBuf {
    static COMPILED: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());
    let library = paths::base_dir().join(format!("{name}.so"));
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if compiled.insert(name) {
        let new = paths::base_dir().join(format!("{name}-{}.so", paths::unique_name()));
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/{name}.c"));
        process::run(
            Command::new("cc").args(["-O1", "-shared", "-fPIC"]).arg(source).args(["-ldl", "-o"]).arg(&new),
        );
        // Renamed, so that nobody loads half a library.
        fs::rename(&new, &library).expect("the directory is ours");
    }
    library
}
