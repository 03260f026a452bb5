-- From 0.1.0 to 0.2.0.
--
-- Objects that are in use are changed in place, CREATE OR REPLACE and the like: defaults, indexes and views depend on
-- them, and sessions generate meanwhile.

-- Nobody is to run this by hand.
\echo Use "ALTER EXTENSION snowflake UPDATE TO '0.2.0'" to load this file. \quit
