//! SQL that the documents show, for tests that run it where the documents cannot.

/// The block of SQL in docs/designs.md that contains a text.
///
/// # Panics
/// Where there is none.
pub fn sql_of_designs(containing: &str) -> &'static str {
    let document = include_str!("../../../docs/designs.md");
    let blocks = document.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("sql\n"));
    let mut found = blocks.filter(|block| block.contains(containing));
    found.next().unwrap_or_else(|| panic!("docs/designs.md does not show {containing}"))
}
