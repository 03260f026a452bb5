//! Replays the corpus of the fuzz targets (`make fuzz`), so that what the fuzzer has found stays found, on any
//! toolchain.

use std::fs;
use std::path::Path;

#[path = "../fuzz/targets/mod.rs"]
mod targets;

#[test]
fn every_entry_of_every_target() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for (name, run) in targets::TARGETS {
        let entries =
            fs::read_dir(corpus.join(name)).unwrap_or_else(|error| panic!("corpus of {name}: {error}"));
        let mut count = 0;
        for entry in entries {
            let path = entry.expect("the corpus can be read").path();
            let data = fs::read(&path).expect("the corpus can be read");
            // The failing entry is the last one printed.
            println!("{}", path.display());
            run(&data);
            count += 1;
        }
        assert!(count > 0, "the corpus of {name} is empty");
    }
}
