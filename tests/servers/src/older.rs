//! A version older than the one under test, made from its install script: some statements are missing.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cluster::Cluster;
use crate::paths;

/// A version that can be installed, with an upgrade script to the newest. Dropped, both files are removed.
pub struct OlderVersion {
    /// Its name, which no other version has.
    pub name: String,
    /// The C functions that it lacks.
    pub lacks: Vec<String>,
    files: [PathBuf; 2],
}

impl OlderVersion {
    /// Lacks the statements of the install script that contain one of these texts. The upgrade script is those
    /// statements.
    ///
    /// # Panics
    /// If no statement contains one of the texts.
    pub fn without(cluster: &Cluster, extension: &str, texts: &[&str]) -> Self {
        let newest = newest_version(cluster, extension);
        let directory = cluster.run("pg_config", &["--sharedir"]);
        let directory = Path::new(directory.trim()).join("extension");
        let script = directory.join(format!("{extension}--{newest}.sql"));
        let script = fs::read_to_string(&script).expect("the extension is installed");
        for text in texts {
            assert!(script.contains(text), "{text} is not in {extension}--{newest}.sql");
        }
        // A function's body falls into several pieces, which stay together unless it contains such a text.
        let is_missing = |piece: &&str| texts.iter().any(|text| piece.contains(text));
        let (missing, kept): (Vec<&str>, Vec<&str>) = script.split_inclusive(";\n").partition(is_missing);
        let symbol =
            |piece: &&str| Some(piece.split_once("'MODULE_PATHNAME', '")?.1.split_once('\'')?.0.to_owned());
        let lacks = missing.iter().filter_map(symbol).collect();

        let name = format!("older-{}", paths::unique_name());
        let files = [format!("{extension}--{name}.sql"), format!("{extension}--{name}--{newest}.sql")]
            .map(|file| directory.join(file));
        for (file, pieces) in files.iter().zip([kept, missing]) {
            fs::write(file, pieces.concat()).expect("the test's installation is the caller's own");
        }
        Self { name, lacks, files }
    }
}

impl Drop for OlderVersion {
    fn drop(&mut self) {
        for file in &self.files {
            let _ = fs::remove_file(file);
        }
    }
}

/// The version that `CREATE EXTENSION` installs.
pub fn newest_version(cluster: &Cluster, extension: &str) -> String {
    let query = "SELECT default_version FROM pg_available_extensions WHERE name = $1::text";
    cluster.connect("postgres").query_one(query, &[&extension]).expect("it is available").get(0)
}
