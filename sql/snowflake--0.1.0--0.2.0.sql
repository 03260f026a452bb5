-- From 0.1.0 to 0.2.0.
--
-- Objects that are in use are changed in place, CREATE OR REPLACE and the like: defaults, indexes and views depend on
-- them, and sessions generate meanwhile.

-- Nobody is to run this by hand.
\echo Use "ALTER EXTENSION snowflake UPDATE TO '0.2.0'" to load this file. \quit

-- Causality: ids that are greater than one from another server.
CREATE FUNCTION snowflake_observe("id" bigint) RETURNS void
STRICT VOLATILE PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_observe_wrapper';
CREATE FUNCTION snowflake_next("after" bigint) RETURNS bigint
VOLATILE PARALLEL SAFE LANGUAGE c AS 'MODULE_PATHNAME', 'snowflake_next_after_wrapper';
-- They move the generator of the whole server.
REVOKE ALL ON FUNCTION snowflake_observe(bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION snowflake_next(bigint) FROM PUBLIC;
COMMENT ON FUNCTION snowflake_next(bigint) IS
    'the next snowflake id, greater than the given one, whichever server made that';
COMMENT ON FUNCTION snowflake_observe(bigint) IS
    'makes every snowflake id from now on greater than the given one, whichever server made that';
