-- What CREATE EXTENSION leaves in the catalogs: the interface, as users and dumps see it.

-- Everything but snowflake_advance() is for everyone. A symbol is what an installed extension's functions are
-- bound to: it can never be renamed.
SELECT p.oid::regprocedure AS function, regexp_replace(pg_get_function_result(p.oid), '^TABLE.*', 'TABLE') AS result,
    CASE provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END AS volatility,
    proisstrict AS strict,
    CASE proparallel WHEN 's' THEN 'safe' WHEN 'r' THEN 'restricted' ELSE 'unsafe' END AS parallel,
    prosecdef AS security_definer, proconfig AS settings, has_function_privilege('public', p.oid, 'EXECUTE') AS public,
    coalesce(obj_description(p.oid, 'pg_proc'), '') <> '' AS commented,
    CASE (SELECT lanname FROM pg_language AS l WHERE l.oid = prolang) WHEN 'c' THEN prosrc END AS symbol
FROM pg_depend AS d JOIN pg_proc AS p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
WHERE d.refclassid = 'pg_extension'::regclass AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'snowflake') AND d.deptype = 'e'
ORDER BY p.oid::regprocedure::text COLLATE "C";
SELECT p.oid::regprocedure AS function, proargnames AS arguments
FROM pg_proc AS p WHERE proname LIKE 'snowflake%' AND proargnames IS NOT NULL ORDER BY p.oid::regprocedure::text COLLATE "C";

-- There is nothing else but the table of the registry: no schema, and no type but those of its rows, which belong to the
-- extension from 17 on.
SELECT DISTINCT classid::regclass, CASE classid WHEN 'pg_class'::regclass THEN objid::regclass END AS relation FROM pg_depend
WHERE refclassid = 'pg_extension'::regclass AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'snowflake') AND deptype = 'e'
AND (classid <> 'pg_type'::regclass OR NOT EXISTS (SELECT FROM pg_type WHERE oid = objid AND (typrelid <> 0 OR typelem <> 0))) ORDER BY 1;

-- Everybody may read the registry, so that everybody may dump a database that has it.
SELECT attname, format_type(atttypid, atttypmod) AS type, attnotnull AS not_null, col_description(attrelid, attnum) AS comment
FROM pg_attribute WHERE attrelid = 'snowflake_nodes'::regclass AND attnum > 0 ORDER BY attnum;
SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'snowflake_nodes'::regclass AND contype <> 'n' ORDER BY conname;
SELECT privilege, has_table_privilege('public', 'snowflake_nodes', privilege) AS public
FROM unnest('{SELECT,INSERT,UPDATE,DELETE,TRUNCATE,REFERENCES,TRIGGER}'::text[]) AS privilege;
SELECT extconfig::regclass[], extcondition, obj_description('snowflake_nodes'::regclass, 'pg_class') AS comment
FROM pg_extension WHERE extname = 'snowflake';

SELECT extrelocatable, extversion = default_version AS newest, obj_description(e.oid, 'pg_extension') AS comment
FROM pg_extension AS e JOIN pg_available_extensions ON name = extname WHERE extname = 'snowflake';
SELECT superuser, trusted, relocatable, schema, requires FROM pg_available_extension_versions WHERE name = 'snowflake' AND installed;
SELECT error_of('ALTER EXTENSION snowflake SET SCHEMA pg_catalog');

-- Numbers are bigint arguments, so that one out of range meets the message of the function, not of a cast. Names and texts are texts.
SELECT p.oid::regprocedure AS function, pronargdefaults AS defaults FROM pg_proc AS p
WHERE proname LIKE 'snowflake%' AND (proargtypes::oid[] && ARRAY['int2'::regtype, 'int4'::regtype, 'text'::regtype]::oid[] OR pronargdefaults > 0)
ORDER BY p.oid::regprocedure::text COLLATE "C";
