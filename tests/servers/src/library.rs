//! The library's file, replaced while servers run.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cluster::Cluster;

/// The installed library. Dropped, the file is as it was.
pub struct Library {
    path: PathBuf,
    original: Vec<u8>,
}

impl Library {
    /// The one that a server runs.
    pub fn of(cluster: &Cluster) -> Self {
        let directory = cluster.run("pg_config", &["--pkglibdir"]);
        let path = Path::new(directory.trim()).join("snowflake.so");
        let original = fs::read(&path).expect("the extension is installed");
        Self { path, original }
    }

    /// Another file with the same code.
    pub fn replace_by_another_build(&self) {
        // What follows the end of an object file is not read.
        self.replace(&[&self.original[..], b"another build"].concat());
    }

    /// A library that lacks these C functions, as an older one would. Only for tests that run alone: it is every
    /// server's that starts now.
    ///
    /// # Panics
    /// Where it has none of this name.
    pub fn replace_by_one_without(&self, functions: &[String]) {
        let mut library = self.original.clone();
        for function in functions {
            // Its name becomes another of the same length, wherever it stands with its end.
            let name = [function.as_bytes(), b"\0"].concat();
            let places: Vec<usize> =
                (0..library.len() - name.len()).filter(|&at| library[at..].starts_with(&name)).collect();
            assert!(!places.is_empty(), "the library has no {function}");
            for at in places {
                library[at + function.len() - 1] = b'_';
            }
        }
        self.replace(&library);
    }

    /// Puts back what was there.
    pub fn restore(&self) {
        self.replace(&self.original);
    }

    /// As installing does it: a new file in the place of the old one, which stays for those who have it mapped.
    fn replace(&self, content: &[u8]) {
        let new = self.path.with_extension("new");
        fs::write(&new, content).expect("the test's installation is the caller's own");
        fs::set_permissions(&new, fs::metadata(&self.path).expect("it is there").permissions())
            .expect("ours");
        fs::rename(&new, &self.path).expect("ours");
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        self.restore();
    }
}
