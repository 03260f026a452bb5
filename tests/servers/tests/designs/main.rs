//! Every design of the extension `sequencer` and of `snowflake`, side by side on real servers: what each is asked for,
//! what was measured, and that it is what the table in docs/designs.md says.
//!
//! | module | is |
//! |---|---|
//! | [`design`] | the designs, and what is expected of each |
//! | [`fleet`] | the servers they run on |
//! | [`measure`] | the measurements |
//! | [`table`] | what is written into the document |
//!
//! `make designs` writes the table anew. Without it, the test measures and compares only.

mod design;
mod fleet;
mod measure;
mod table;

use design::{Requirement, designs};
use fleet::Fleet;
use measure::Measured;

/// One test, since the figures want the machine to themselves. Each cell that is not as expected is named. Seen to fail
/// with every expectation turned into another.
#[test]
fn every_cell_of_the_table() {
    let mut fleet = Fleet::start();
    let designs = designs(fleet.coordinator.version_num());
    let mut measured: Vec<Measured> = designs.iter().map(|_| Measured::default()).collect();
    measure::ids_a_second(&fleet, &designs, &mut measured);
    measure::order(&fleet, &designs, &mut measured);
    measure::width(&fleet, &designs, &mut measured);
    measure::duplicates(&mut fleet, &designs, &mut measured);
    // Last, since the coordinator does not come back.
    measure::without_the_coordinator(&mut fleet, &designs, &mut measured);

    let mut wrong = Vec::new();
    for (design, measured) in designs.iter().zip(&measured) {
        for requirement in Requirement::ALL {
            let (expected, found) = (design.expected(requirement), measured.verdict(design, requirement));
            if found != expected {
                wrong.push(format!(
                    "{}: {requirement:?} is {found:?}, expected {expected:?}: {measured:?}",
                    design.name
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");

    let concurrent = measure::unrelated_events(&fleet);
    assert_eq!(concurrent, "concurrent", "two events that know nothing of each other");

    if let Some(document) = std::env::var_os("SNOWFLAKE_DESIGNS_IN") {
        table::write_into(document.as_ref(), &designs, &measured);
    }
}
