-- What CREATE EXTENSION leaves in the catalogs: the interface, as users and dumps see it.

-- Everything but snowflake_advance() is for everyone. A symbol is what an installed extension's functions are
-- bound to: it can never be renamed.
SELECT p.oid::regprocedure AS function, regexp_replace(pg_get_function_result(p.oid), '^TABLE.*', 'TABLE') AS result,
    CASE provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END AS volatility,
    proisstrict AS strict,
    CASE proparallel WHEN 's' THEN 'safe' WHEN 'r' THEN 'restricted' ELSE 'unsafe' END AS parallel,
    prosecdef AS security_definer, proconfig AS settings, has_function_privilege('public', p.oid, 'EXECUTE') AS public,
    coalesce(obj_description(p.oid, 'pg_proc'), '') <> '' AS commented, prosrc AS symbol
FROM pg_depend AS d JOIN pg_proc AS p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
WHERE d.refclassid = 'pg_extension'::regclass AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'snowflake') AND d.deptype = 'e'
ORDER BY p.oid::regprocedure::text COLLATE "C";
SELECT p.oid::regprocedure AS function, proargnames AS arguments
FROM pg_proc AS p WHERE proname LIKE 'snowflake%' AND proargnames IS NOT NULL ORDER BY p.oid::regprocedure::text COLLATE "C";

-- There is nothing else: no table, no type, no schema.
SELECT DISTINCT classid::regclass FROM pg_depend
WHERE refclassid = 'pg_extension'::regclass AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'snowflake') AND deptype = 'e';

SELECT extrelocatable, extversion = default_version AS newest, obj_description(e.oid, 'pg_extension') AS comment
FROM pg_extension AS e JOIN pg_available_extensions ON name = extname WHERE extname = 'snowflake';
SELECT superuser, trusted, relocatable, schema, requires FROM pg_available_extension_versions WHERE name = 'snowflake' AND installed;
SELECT error_of('ALTER EXTENSION snowflake SET SCHEMA pg_catalog');

-- Numbers are bigint arguments, so that one out of range meets the message of the function, not of a cast. Only what is a
-- text is a text.
SELECT p.oid::regprocedure AS function FROM pg_proc AS p
WHERE proname LIKE 'snowflake%' AND (proargtypes::oid[] && ARRAY['int2'::regtype, 'int4'::regtype, 'text'::regtype]::oid[] OR pronargdefaults > 0);
