-- snowflake_adopt(): an integer column becomes bigint DEFAULT snowflake_next(), by ordinary DDL.
--
-- It runs with the caller's rights, and does nothing that the caller could not do by hand. All that can be told from
-- the catalogs is refused before the first statement. Unless it is a dry run, each table is locked before its catalog
-- rows are read, so that no foreign key or view comes in between.
CREATE FUNCTION snowflake_adopt(table_name regclass, column_name name, dry_run boolean DEFAULT false)
RETURNS SETOF text
VOLATILE STRICT PARALLEL UNSAFE LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
-- Where a policy would hide rows from the question for the maximum, that fails.
SET row_security = off
AS $adopt$
DECLARE
    default_text CONSTANT text := '@extschema@.snowflake_next()';
    -- The columns that hold these numbers: the one to adopt, then those that reference it, each as the topmost table
    -- of its partition or inheritance tree and the column's name. Grows while it is gone through.
    tables regclass[] := ARRAY[table_name];
    columns name[] := ARRAY[column_name];
    n integer := 0;
    here regclass;
    here_column name;
    -- The tree of the table at hand, topmost first, and the column's number in each.
    members regclass[];
    numbers smallint[];
    target_members regclass[];
    widen boolean;
    -- What cannot live with another type, in words.
    obstacles text[] := '{}';
    widened regclass[] := '{}';
    widened_columns name[] := '{}';
    statements text[] := '{}';
    this record;
    highest bigint;
    next_id bigint;
BEGIN
    SELECT c.relkind, c.reloftype, c.oid < 16384 AS system, a.attnum, a.attidentity, a.attgenerated, a.attinhcount,
            a.atttypid, format_type(a.atttypid, a.atttypmod) AS type
        INTO this
        FROM pg_class AS c
        LEFT JOIN pg_attribute AS a
            ON a.attrelid = c.oid AND a.attname = column_name AND a.attnum > 0 AND NOT a.attisdropped
        WHERE c.oid = table_name;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'relation with OID % does not exist', table_name::oid USING ERRCODE = 'undefined_table';
    END IF;
    IF this.relkind NOT IN ('r', 'p') THEN
        RAISE EXCEPTION '% is not a table', table_name
            USING ERRCODE = 'wrong_object_type',
                DETAIL = format('It is: %s.', pg_describe_object('pg_class'::regclass, table_name, 0)),
                HINT = 'Only ordinary and partitioned tables have columns that can be adopted.';
    END IF;
    IF this.system THEN
        RAISE EXCEPTION '% is a system catalog', table_name
            USING ERRCODE = 'insufficient_privilege', HINT = 'Name a table of yours.';
    END IF;
    IF this.attnum IS NULL THEN
        RAISE EXCEPTION 'column "%" of relation % does not exist', column_name, table_name
            USING ERRCODE = 'undefined_column', HINT = 'The name is taken as it is written, upper case included.';
    END IF;
    IF this.atttypid NOT IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype) THEN
        RAISE EXCEPTION 'column "%" of table % has type %', column_name, table_name, this.type
            USING ERRCODE = 'datatype_mismatch', HINT = 'Only smallint, integer and bigint columns can be adopted.';
    END IF;
    IF this.attgenerated <> '' THEN
        RAISE EXCEPTION 'column "%" of table % is a generated column', column_name, table_name
            USING ERRCODE = 'invalid_column_definition', DETAIL = 'A generated column has no default.',
                HINT = 'Drop its expression first: ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION.';
    END IF;
    IF this.attinhcount > 0 THEN
        RAISE EXCEPTION 'column "%" of table % is inherited', column_name, table_name
            USING ERRCODE = 'invalid_table_definition',
                DETAIL = format('It comes from %s.', (SELECT string_agg(inhparent::regclass::text, ', ' ORDER BY inhseqno)
                    FROM pg_inherits WHERE inhrelid = table_name)),
                HINT = 'Adopt the column of the topmost table; those below follow.';
    END IF;
    IF NOT dry_run AND current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'snowflake_adopt must run at READ COMMITTED, got %', upper(current_setting('transaction_isolation'))
            USING ERRCODE = 'invalid_transaction_state',
                DETAIL = 'At another level, the present maximum may be hidden from the transaction.',
                HINT = 'Begin the transaction with BEGIN ISOLATION LEVEL READ COMMITTED.';
    END IF;

    -- Which columns have to be widened, and what stands in the way. A column that is bigint already is gone through as
    -- well: what references it may not be.
    WHILE n < cardinality(tables) LOOP
        n := n + 1;
        here := tables[n];
        here_column := columns[n];
        widen := EXISTS (SELECT FROM pg_attribute WHERE attrelid = here AND attname = here_column
            AND atttypid IN ('smallint'::regtype, 'integer'::regtype));
        IF widen OR n = 1 THEN
            IF NOT EXISTS (SELECT FROM pg_class WHERE oid = here AND pg_has_role(relowner, 'USAGE')) THEN
                RAISE EXCEPTION 'must be owner of table %', here
                    USING ERRCODE = 'insufficient_privilege',
                        DETAIL = CASE n WHEN 1 THEN 'Its columns are altered.' ELSE
                            format('Its column "%s" references the column to adopt, and has to be widened as well.', here_column) END,
                        HINT = 'Call snowflake_adopt as a role that owns all tables concerned.';
            END IF;
            IF NOT dry_run THEN
                EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', here);
            END IF;
        END IF;
        WITH RECURSIVE tree (member, depth) AS (
            SELECT here::oid, 0
            UNION ALL
            SELECT inhrelid, depth + 1 FROM tree JOIN pg_inherits ON inhparent = member
        ), once AS (
            SELECT member, min(depth) AS depth FROM tree GROUP BY member
        )
        SELECT array_agg(member::regclass ORDER BY depth, member), array_agg(attnum ORDER BY depth, member)
            INTO members, numbers
            FROM once JOIN pg_attribute ON attrelid = member AND attname = here_column;
        IF n = 1 THEN
            target_members := members;
        END IF;

        IF widen THEN
            widened := widened || here;
            widened_columns := widened_columns || here_column;
            SELECT obstacles || coalesce(array_agg(words ORDER BY words), '{}') INTO obstacles FROM (
                -- Views, rules, triggers, policies, generated columns, publications and functions.
                SELECT CASE
                        WHEN r.rulename = '_RETURN' THEN pg_describe_object('pg_class'::regclass, r.ev_class, 0)
                        WHEN g.oid IS NOT NULL THEN 'generated ' || pg_describe_object('pg_class'::regclass, g.adrelid, g.adnum)
                        ELSE pg_describe_object(d.classid, d.objid, d.objsubid)
                    END AS words
                    FROM unnest(members, numbers) AS m (member, number)
                    JOIN pg_depend AS d
                        ON d.refclassid = 'pg_class'::regclass AND d.refobjid = member AND d.refobjsubid = number
                    LEFT JOIN pg_rewrite AS r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
                    LEFT JOIN pg_attrdef AS g
                        ON d.classid = 'pg_attrdef'::regclass AND g.oid = d.objid AND (g.adrelid, g.adnum) <> (member, number)
                    LEFT JOIN pg_trigger AS t ON d.classid = 'pg_trigger'::regclass AND t.oid = d.objid AND NOT t.tgisinternal
                    WHERE r.oid IS NOT NULL OR g.oid IS NOT NULL OR t.oid IS NOT NULL
                        OR d.classid IN ('pg_policy'::regclass, 'pg_publication_rel'::regclass, 'pg_proc'::regclass)
                UNION
                -- A partition key: PostgreSQL keeps its columns with the table.
                SELECT format('partition key of table %s', member)
                    FROM unnest(members, numbers) AS m (member, number)
                    JOIN pg_depend AS d
                        ON d.classid = 'pg_class'::regclass AND d.objid = member AND d.objsubid = number
                        AND d.refclassid = 'pg_class'::regclass AND d.refobjid = member AND d.refobjsubid = 0
                    WHERE d.deptype = 'i'
                UNION
                -- Columns of the table's row type.
                SELECT pg_describe_object('pg_class'::regclass, a.attrelid, a.attnum)
                    FROM unnest(members) AS member
                    JOIN pg_class AS c ON c.oid = member
                    JOIN pg_type AS t ON t.oid = c.reltype
                    JOIN pg_attribute AS a ON a.atttypid IN (t.oid, t.typarray) AND NOT a.attisdropped
                    JOIN pg_class AS user_of ON user_of.oid = a.attrelid AND user_of.relkind IN ('r', 'm', 'p')
                UNION
                SELECT format('%s, whose columns a type prescribes', pg_describe_object('pg_class'::regclass, oid, 0))
                    FROM pg_class WHERE oid = ANY (members) AND reloftype <> 0
                UNION
                SELECT pg_describe_object('pg_class'::regclass, oid, 0)
                    FROM pg_class WHERE oid = ANY (members) AND relkind = 'f'
                UNION
                SELECT format('%s, which inherits the column from elsewhere too', pg_describe_object('pg_class'::regclass, member, 0))
                    FROM unnest(members) AS member JOIN pg_attribute ON attrelid = member AND attname = here_column
                    WHERE attinhcount > (SELECT count(*) FROM pg_inherits WHERE inhrelid = member AND inhparent = ANY (members))
            ) AS obstacle;
        END IF;

        -- What references the column, by the same place in the two lists of a foreign key, from the top of its tree.
        FOR this IN
            WITH RECURSIVE up (relation, name, inherited) AS (
                SELECT f.conrelid, a.attname, a.attinhcount > 0
                    FROM unnest(members, numbers) AS m (member, number)
                    JOIN pg_constraint AS f ON f.contype = 'f' AND f.confrelid = member
                    CROSS JOIN LATERAL unnest(f.confkey, f.conkey) AS k (referenced, referencing)
                    JOIN pg_attribute AS a ON a.attrelid = f.conrelid AND a.attnum = k.referencing
                    WHERE k.referenced = number
                UNION
                SELECT i.inhparent, up.name, a.attinhcount > 0
                    FROM up
                    JOIN pg_inherits AS i ON up.inherited AND i.inhrelid = relation
                    JOIN pg_attribute AS a ON a.attrelid = i.inhparent AND a.attname = up.name
            )
            SELECT relation::regclass, up.name, format_type(a.atttypid, a.atttypmod) AS type,
                    t.typtype = 'd' AND (
                        WITH RECURSIVE base (type) AS (
                            SELECT t.typbasetype
                            UNION ALL
                            SELECT b.typbasetype FROM base JOIN pg_type AS b ON b.oid = base.type AND b.typtype = 'd'
                        ) SELECT bool_or(type IN ('smallint'::regtype, 'integer'::regtype)) FROM base
                    ) AS narrow_domain
                FROM up
                JOIN pg_attribute AS a ON a.attrelid = relation AND a.attname = up.name
                JOIN pg_type AS t ON t.oid = a.atttypid
                WHERE NOT inherited
                ORDER BY relation::regclass::text COLLATE "C", a.attnum
        LOOP
            IF this.narrow_domain THEN
                obstacles := obstacles || format('column %s of table %s, which references it and has the domain %s',
                    this.name, this.relation, this.type);
            END IF;
            IF NOT EXISTS (SELECT FROM unnest(tables, columns) AS q (t, c) WHERE t = this.relation AND c = this.name) THEN
                tables := tables || this.relation;
                columns := columns || this.name;
            END IF;
        END LOOP;
    END LOOP;

    SELECT f.confrelid::regclass AS other INTO this
        FROM pg_constraint AS f JOIN pg_attribute AS a ON a.attrelid = f.conrelid AND a.attnum = ANY (f.conkey)
        WHERE f.contype = 'f' AND f.conrelid = ANY (target_members) AND a.attname = column_name LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'column "%" of table % references table %', column_name, table_name, this.other
            USING ERRCODE = 'feature_not_supported', DETAIL = 'Its values come from there.',
                HINT = 'Adopt the column that is referenced; this one is widened with it.';
    END IF;
    IF cardinality(obstacles) > 0 THEN
        RAISE EXCEPTION 'cannot widen column "%" of table % to bigint', column_name, table_name
            USING ERRCODE = 'feature_not_supported',
                DETAIL = format('These stand in the way: %s.', array_to_string(obstacles, '; ')),
                HINT = 'Drop what can be created again, in one transaction with snowflake_adopt. For the rest see docs/existing-tables.md.';
    END IF;

    -- From 17 on a partition has its parent's identity.
    SELECT statements || coalesce(array_agg(format('ALTER TABLE %s ALTER COLUMN %I DROP IDENTITY', member, column_name) ORDER BY place), '{}')
        INTO statements
        FROM unnest(target_members) WITH ORDINALITY AS m (member, place)
        JOIN pg_attribute AS a ON a.attrelid = member AND a.attname = column_name AND a.attidentity <> ''
        JOIN pg_class AS c ON c.oid = member
        WHERE NOT (c.relispartition AND current_setting('server_version_num')::integer >= 170000);
    -- Each table is written anew once, the referenced before the referencing.
    SELECT statements || coalesce(array_agg(format('ALTER TABLE %s %s', t, actions) ORDER BY first), '{}')
        INTO statements
        FROM (
            SELECT t, min(place) AS first, string_agg(format('ALTER COLUMN %I TYPE bigint', c), ', ' ORDER BY place) AS actions
            FROM unnest(widened, widened_columns) WITH ORDINALITY AS w (t, c, place) GROUP BY t
        ) AS by_table;
    IF EXISTS (
        SELECT FROM unnest(target_members) AS member
            JOIN pg_attribute AS a ON a.attrelid = member AND a.attname = column_name
            LEFT JOIN pg_attrdef AS d ON d.adrelid = member AND d.adnum = a.attnum
            -- It is shown without its schema where that is pg_catalog.
            WHERE coalesce(pg_get_expr(d.adbin, d.adrelid), '') NOT IN (default_text, 'snowflake_next()')
    ) THEN
        statements := statements || format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT %s', table_name, column_name, default_text);
        EXECUTE format('SELECT max(%I) FROM %s', column_name, table_name) INTO highest;
        next_id := @extschema@.snowflake_next();
        IF highest >= next_id THEN
            RAISE EXCEPTION 'column "%" of table % has the value %, which is not below the next snowflake id, %',
                    column_name, table_name, highest, next_id
                USING ERRCODE = 'object_not_in_prerequisite_state',
                    DETAIL = 'Ids from now on would be lower than those in the table, and could meet them.',
                    HINT = format('If it is a snowflake id, call snowflake_advance(%s) first. If it is not, give the row another value.', highest);
        END IF;
    END IF;
    -- A serial's sequence, unless something outside of this column's defaults has it.
    SELECT statements || coalesce(array_agg(format('DROP SEQUENCE %s', s.objid::regclass) ORDER BY place), '{}')
        INTO statements
        FROM unnest(target_members) WITH ORDINALITY AS m (member, place)
        JOIN pg_attribute AS a ON a.attrelid = member AND a.attname = column_name
        JOIN pg_depend AS s ON s.classid = 'pg_class'::regclass AND s.deptype = 'a'
            AND s.refclassid = 'pg_class'::regclass AND s.refobjid = member AND s.refobjsubid = a.attnum
        JOIN pg_class AS c ON c.oid = s.objid AND c.relkind = 'S'
        WHERE NOT EXISTS (
            SELECT FROM pg_depend AS d
                LEFT JOIN pg_attrdef AS own ON d.classid = 'pg_attrdef'::regclass AND own.oid = d.objid
                    AND own.adrelid = ANY (target_members::oid[])
                    AND own.adnum = (SELECT attnum FROM pg_attribute WHERE attrelid = own.adrelid AND attname = column_name)
                WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = s.objid AND d.deptype <> 'i' AND own.oid IS NULL
        );

    FOR n IN 1 .. cardinality(statements) LOOP
        IF NOT dry_run THEN
            EXECUTE statements[n];
        END IF;
        RETURN NEXT statements[n];
    END LOOP;
END
$adopt$;
