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

-- There is nothing else.
SELECT classid::regclass, count(*) FROM pg_depend AS d
WHERE d.refclassid = 'pg_extension'::regclass AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'sequencer') AND d.deptype = 'e'
GROUP BY 1;
SELECT extconfig, extrelocatable, extversion = (SELECT extversion FROM pg_extension WHERE extname = 'snowflake') AS same_version
FROM pg_extension WHERE extname = 'sequencer';
SELECT superuser, trusted, relocatable, schema, requires FROM pg_available_extension_versions WHERE name = 'sequencer' AND installed;
-- snowflake goes with it only where it is asked to.
SELECT error_of('DROP EXTENSION snowflake');

-- It is trusted, in a schema of one's own, and its functions belong to a superuser.
CREATE ROLE regress_snowflake_owner;
SELECT format('GRANT CREATE ON DATABASE %I TO regress_snowflake_owner', current_database()) \gexec
DROP EXTENSION sequencer;
SET ROLE regress_snowflake_owner;
CREATE SCHEMA ids;
CREATE EXTENSION sequencer SCHEMA ids;
CREATE SEQUENCE ids.mine INCREMENT 2 START 2;
SELECT ids.sequencer_range_next('ids.mine') AS number;
SELECT DISTINCT rolsuper FROM pg_proc JOIN pg_roles ON pg_roles.oid = proowner WHERE pronamespace = 'ids'::regnamespace;
DROP SCHEMA ids CASCADE;
RESET ROLE;
DROP OWNED BY regress_snowflake_owner;
DROP ROLE regress_snowflake_owner;
