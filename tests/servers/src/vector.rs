//! A vector clock in a table, as docs/designs.md shows it.

/// Statements that make one of so many nodes: `event()` returns the id of an event, `observe(id)` returns nothing.
pub fn vector_clock(nodes: u32) -> String {
    format!(
        "CREATE TABLE clock_of_vectors (counters bigint[] NOT NULL);
         INSERT INTO clock_of_vectors VALUES (sequencer_vector_zero({nodes}));
         CREATE FUNCTION event() RETURNS bigint LANGUAGE sql BEGIN ATOMIC
             UPDATE clock_of_vectors SET counters = sequencer_vector_tick(counters)
                 RETURNING sequencer_vector_id(counters);
         END;
         CREATE FUNCTION observe(id bigint) RETURNS void LANGUAGE sql BEGIN ATOMIC
             UPDATE clock_of_vectors SET counters = sequencer_vector_merge(counters, id);
         END"
    )
}
