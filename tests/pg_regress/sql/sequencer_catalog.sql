-- What CREATE EXTENSION sequencer leaves in the catalogs, as catalog.sql has it for snowflake.
CREATE EXTENSION sequencer;

SELECT p.oid::regprocedure AS function, regexp_replace(pg_get_function_result(p.oid), '^TABLE.*', 'TABLE') AS result,
    CASE provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END AS volatility,
    proisstrict AS strict,
    CASE proparallel WHEN 's' THEN 'safe' WHEN 'r' THEN 'restricted' ELSE 'unsafe' END AS parallel,
    prosecdef AS security_definer, proconfig AS settings, has_function_privilege('public', p.oid, 'EXECUTE') AS public,
    coalesce(obj_description(p.oid, 'pg_proc'), '') <> '' AS commented,
    CASE (SELECT lanname FROM pg_language AS l WHERE l.oid = prolang) WHEN 'c' THEN prosrc END AS symbol
FROM pg_depend AS d JOIN pg_proc AS p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
WHERE d.refclassid = 'pg_extension'::regclass AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'sequencer') AND d.deptype = 'e'
ORDER BY p.oid::regprocedure::text COLLATE "C";
SELECT p.oid::regprocedure AS function, proargnames AS arguments
FROM pg_depend AS d JOIN pg_proc AS p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
WHERE d.refclassid = 'pg_extension'::regclass AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'sequencer') AND d.deptype = 'e'
AND proargnames IS NOT NULL ORDER BY p.oid::regprocedure::text COLLATE "C";

SELECT c.oid::regclass AS relation, relowner::regrole::text = current_user AS ours, obj_description(c.oid, 'pg_class') AS comment,
    has_table_privilege('public', c.oid, 'SELECT') AS read, has_table_privilege('public', c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE') AS write
FROM pg_depend AS d JOIN pg_class AS c ON d.classid = 'pg_class'::regclass AND d.objid = c.oid
WHERE d.refclassid = 'pg_extension'::regclass AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'sequencer') AND d.deptype = 'e'
ORDER BY c.oid::regclass::text COLLATE "C";
SELECT extconfig::regclass[], extrelocatable, extversion = (SELECT extversion FROM pg_extension WHERE extname = 'snowflake') AS same_version
FROM pg_extension WHERE extname = 'sequencer';
SELECT superuser, trusted, relocatable, schema, requires FROM pg_available_extension_versions WHERE name = 'sequencer' AND installed;
-- snowflake goes with it only where it is asked to.
SELECT error_of('DROP EXTENSION snowflake');

-- It is trusted, in a schema of one's own, and its tables belong to whoever created it.
CREATE ROLE regress_snowflake_owner;
SELECT format('GRANT CREATE ON DATABASE %I TO regress_snowflake_owner', current_database()) \gexec
DROP EXTENSION sequencer;
SET ROLE regress_snowflake_owner;
CREATE SCHEMA ids;
CREATE EXTENSION sequencer SCHEMA ids;
SELECT ids.snowflake_range_create('mine', 2), ids.snowflake_range_next('mine') AS number;
SELECT ids.snowflake_vector_configure(2), ids.snowflake_vector_next() AS id;
SELECT DISTINCT relname, relowner::regrole FROM pg_class WHERE relnamespace = 'ids'::regnamespace AND relkind = 'r' ORDER BY 1;
-- What runs with its owner's rights runs with theirs, not with a superuser's.
SELECT DISTINCT proowner::regrole FROM pg_proc WHERE pronamespace = 'ids'::regnamespace AND prosecdef;
DROP EXTENSION sequencer;
DROP SCHEMA ids;
RESET ROLE;
DROP OWNED BY regress_snowflake_owner;
DROP ROLE regress_snowflake_owner;
