-- snowflake_adopt(): an integer column becomes bigint DEFAULT snowflake_next(), by ordinary DDL.
--
-- It runs with the caller's rights, and does nothing that the caller could not do by hand. What would stop a statement,
-- or every insert afterwards, is looked for before the first statement, in a dry run as well: in the catalogs, and by
-- parsing the expressions that ALTER TABLE is going to parse again. Unless it is a dry run, each table is locked before
-- its catalog rows are read, so that no foreign key or view comes in between.
--
-- Expressions of a table are its owner's code. They are evaluated, and statements that evaluate them are planned, only
-- when every table concerned is known to be the current user's own.
--
-- A statement finds a table by its name, and whoever owns a schema can rename it between two statements. So nothing is
-- done for a caller who could become that owner, unless that is a superuser or the caller; and no function of the
-- extension is called by its name.
CREATE FUNCTION snowflake_adopt_before(table_name regclass, column_name name, dry_run boolean, fresh_id bigint)
RETURNS SETOF text
VOLATILE STRICT PARALLEL UNSAFE LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp
-- Where a policy would hide rows from the question for the maximum, that fails.
SET row_security = off
AS $adopt$
DECLARE
    next_function CONSTANT oid := (
        SELECT p.oid FROM pg_extension AS e
        JOIN pg_depend AS d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'
        JOIN pg_proc AS p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
        WHERE extname = 'snowflake' AND proname = 'snowflake_next' AND pronargs = 0);
    default_text CONSTANT text := (
        SELECT format('%I.snowflake_next()', nspname) FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = pronamespace
        WHERE p.oid = next_function);
    my_id CONSTANT oid := quote_ident(current_user)::regrole;
    server_version CONSTANT integer := current_setting('server_version_num');
    -- The columns that hold these numbers: the one to adopt, then those that reference it, each as the topmost table
    -- of its partition or inheritance tree and the column's name. Grows while it is gone through.
    tables regclass[] := ARRAY[table_name];
    columns name[] := ARRAY[column_name];
    n integer := 0;
    here regclass;
    here_column name;
    widen boolean;
    -- The tree of the table at hand, topmost first, and the column's number in each.
    members regclass[];
    numbers smallint[];
    target_members regclass[];
    -- All trees together: the table, the column's number, and whether its type changes.
    trees oid[] := '{}';
    tree_numbers smallint[] := '{}';
    tree_widened boolean[] := '{}';
    -- What cannot live with another type, and what takes no new id, in words.
    obstacles text[] := '{}';
    refusals text[] := '{}';
    widened regclass[] := '{}';
    widened_columns name[] := '{}';
    statements text[] := '{}';
    changes_default boolean;
    -- The tables of the tree into which a new row can be routed.
    reached oid[] := ARRAY[table_name::oid];
    this record;
    key record;
    fresh name;
    words text;
    accepts boolean;
    reached_before integer;
    old_type oid;
    new_type oid;
    highest bigint;
    lowest bigint;
    next_id bigint;
    -- The SQLSTATEs of errors that are not the fault of the expression that was evaluated.
    not_its_fault CONSTANT text := '^(40|53|55P03|57|58|XX)';
    -- What snowflake_audit() takes for no id: numbers of the first hour after the epoch, 3600000 ms << 22.
    first_id CONSTANT bigint := 15099494400000;
BEGIN
    SELECT c.relkind, c.oid < 16384 AS system, pg_is_other_temp_schema(c.relnamespace) AS elsewhere,
            a.attnum, a.attgenerated, a.attinhcount, a.atttypid, format_type(a.atttypid, a.atttypmod) AS type
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
    IF this.elsewhere THEN
        RAISE EXCEPTION '% is a temporary table of another session', table_name
            USING ERRCODE = 'feature_not_supported', HINT = 'Adopt its column in that session.';
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

    -- Which columns have to be widened. A column that is bigint already is gone through as well: what references it may
    -- not be. This reads catalogs and nothing else.
    WHILE n < cardinality(tables) LOOP
        n := n + 1;
        here := tables[n];
        here_column := columns[n];
        FOR look IN 1 .. 2 LOOP
            widen := EXISTS (SELECT FROM pg_attribute WHERE attrelid = here AND attname = here_column
                AND atttypid IN ('smallint'::regtype, 'integer'::regtype));
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
            EXIT WHEN NOT (widen OR n = 1);
            -- Changing the type checks foreign keys anew, in both directions, by a query that is planned with the
            -- indexes of the table at the other end.
            SELECT c.oid::regclass AS relation, pg_get_userbyid(relowner) AS owner INTO this
                FROM pg_class AS c
                WHERE relowner <> my_id AND (c.oid = ANY (members::oid[]) OR widen AND EXISTS (
                    SELECT FROM unnest(members, numbers) AS m (member, number) JOIN pg_constraint AS f ON f.contype = 'f'
                        AND (f.confrelid = member AND number = ANY (f.confkey) AND f.conrelid = c.oid
                            OR f.conrelid = member AND number = ANY (f.conkey) AND f.confrelid = c.oid)))
                ORDER BY c.oid <> here, c.oid LIMIT 1;
            IF FOUND THEN
                RAISE EXCEPTION 'must be owner of table %', this.relation
                    USING ERRCODE = 'insufficient_privilege',
                        DETAIL = format('It belongs to role %I. Its code, such as CHECK constraints and index expressions, would run with your rights.',
                            this.owner),
                        HINT = CASE WHEN pg_has_role(this.owner, CASE WHEN server_version >= 160000 THEN 'SET' ELSE 'MEMBER' END)
                            THEN format('Run SET ROLE %I first. All tables concerned must have one owner.', this.owner)
                            ELSE 'Call snowflake_adopt as the role that owns all tables concerned.' END;
            END IF;
            SELECT nspname, rolname AS owner INTO this
                FROM (SELECT relnamespace AS schema_id FROM pg_class WHERE oid = ANY (members::oid[])
                    UNION SELECT pronamespace FROM pg_proc WHERE oid = next_function) AS used
                JOIN pg_namespace AS n ON n.oid = schema_id
                JOIN pg_roles AS r ON r.oid = CASE n.nspowner WHEN 'pg_database_owner'::regrole
                    THEN (SELECT datdba FROM pg_database WHERE datname = current_database()) ELSE n.nspowner END
                WHERE NOT rolsuper AND r.oid <> my_id
                    AND (pg_has_role(current_user, r.oid, 'MEMBER') OR pg_has_role(session_user, r.oid, 'MEMBER'))
                ORDER BY nspname LIMIT 1;
            IF FOUND THEN
                RAISE EXCEPTION 'schema "%" belongs to role "%"', this.nspname, this.owner
                    USING ERRCODE = 'insufficient_privilege',
                        DETAIL = 'Its owner could rename it meanwhile, and have code of theirs run with your rights.',
                        HINT = format('Connect as the role that owns the table, or give the schema to that role or to a superuser: ALTER SCHEMA %I OWNER TO ...',
                            this.nspname);
            END IF;
            EXIT WHEN look = 2 OR dry_run;
            EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', here);
        END LOOP;
        IF n = 1 THEN
            target_members := members;
        END IF;
        IF widen THEN
            widened := widened || here;
            widened_columns := widened_columns || here_column;
        END IF;
        trees := trees || members::oid[];
        tree_numbers := tree_numbers || numbers;
        tree_widened := tree_widened || array_fill(widen, ARRAY[cardinality(members)]);

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
                    -- A domain of bigint can hold ids. Any other type but an integer one was implicitly an integer.
                    a.atttypid NOT IN ('smallint'::regtype, 'integer'::regtype) AND NOT EXISTS (
                        WITH RECURSIVE base (type) AS (
                            SELECT a.atttypid
                            UNION ALL
                            SELECT b.typbasetype FROM base JOIN pg_type AS b ON b.oid = base.type AND b.typtype = 'd'
                        ) SELECT FROM base WHERE base.type = 'bigint'::regtype
                    ) AS narrow
                FROM up
                JOIN pg_attribute AS a ON a.attrelid = relation AND a.attname = up.name
                WHERE NOT inherited
                ORDER BY relation::regclass::text COLLATE "C", a.attnum
        LOOP
            IF this.narrow THEN
                obstacles := obstacles || format('column %s of table %s, which references it and has the type %s',
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

    -- What stands in the way as the catalogs tell it.
    WITH RECURSIVE altered (relation, number) AS (
        SELECT u.relation, u.number FROM unnest(trees, tree_numbers, tree_widened) AS u (relation, number, changes) WHERE changes
    ), identity_sequence (oid) AS (
        -- It goes with the identity.
        SELECT d.objid FROM unnest(target_members) AS member
            JOIN pg_attribute AS a ON a.attrelid = member AND a.attname = column_name
            JOIN pg_depend AS d ON d.classid = 'pg_class'::regclass AND d.deptype = 'i'
                AND d.refclassid = 'pg_class'::regclass AND d.refobjid = member AND d.refobjsubid = a.attnum
            JOIN pg_class AS c ON c.oid = d.objid AND c.relkind = 'S'
    ), row_type (type) AS (
        SELECT c.reltype FROM altered JOIN pg_class AS c ON c.oid = relation
        UNION
        -- Arrays, domains and ranges of it, and the row types of relations without rows of their own that use it.
        SELECT coalesce(c.reltype, d.objid)
            FROM row_type
            JOIN pg_depend AS d ON d.refclassid = 'pg_type'::regclass AND d.refobjid = row_type.type
            LEFT JOIN pg_class AS c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
                AND c.relkind IN ('v', 'c', 'f') AND c.reltype <> 0
            WHERE d.classid = 'pg_type'::regclass OR c.oid IS NOT NULL
    ), found (classid, objid, objsubid, rebuilt) AS (
        -- ALTER TABLE drops and makes again what is rebuilt; nothing else that depends on the column may exist.
        SELECT d.classid, d.objid, d.objsubid, coalesce(
                i.indrelid IN (SELECT relation FROM altered) OR s.stxrelid IN (SELECT relation FROM altered)
                OR con.contype = 'f' OR con.conrelid IN (SELECT relation FROM altered), false)
            FROM altered
            JOIN pg_depend AS d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = relation AND d.refobjsubid = number
            LEFT JOIN pg_class AS c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
            LEFT JOIN pg_index AS i ON d.classid = 'pg_class'::regclass AND i.indexrelid = d.objid
            LEFT JOIN pg_statistic_ext AS s ON d.classid = 'pg_statistic_ext'::regclass AND s.oid = d.objid
            LEFT JOIN pg_constraint AS con ON d.classid = 'pg_constraint'::regclass AND con.oid = d.objid
            LEFT JOIN pg_attrdef AS own ON d.classid = 'pg_attrdef'::regclass AND own.oid = d.objid
                AND (own.adrelid, own.adnum) = (relation, number)
            LEFT JOIN pg_trigger AS t ON d.classid = 'pg_trigger'::regclass AND t.oid = d.objid
            -- A partition's trigger is its parent's.
            WHERE own.oid IS NULL AND c.relkind IS DISTINCT FROM 'S' AND coalesce(t.tgparentid, 0) = 0
        UNION
        -- The index of a constraint depends on that and not on the column.
        SELECT 'pg_class'::regclass, con.conindid, 0, true
            FROM altered JOIN pg_constraint AS con ON con.conrelid = relation AND number = ANY (con.conkey)
            WHERE con.contype IN ('p', 'u', 'x') AND con.conindid <> 0
        UNION
        SELECT 'pg_class'::regclass, oid, 0, true FROM identity_sequence
        UNION
        SELECT 'pg_class'::regclass, a.attrelid, a.attnum, false
            FROM row_type
            JOIN pg_attribute AS a ON a.atttypid = row_type.type AND NOT a.attisdropped
            JOIN pg_class AS c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p', 'm', 'i', 'I')
    ), walk (classid, objid, objsubid, named) AS (
        SELECT o.*, NOT rebuilt
            FROM found CROSS JOIN LATERAL (
                SELECT CASE WHEN r.oid IS NULL THEN classid ELSE 'pg_class'::regclass END,
                        coalesce(r.ev_class, objid), objsubid
                    FROM (VALUES (1)) AS one
                    LEFT JOIN pg_rewrite AS r ON classid = 'pg_rewrite'::regclass AND r.oid = objid AND r.rulename = '_RETURN'
            ) AS o
        UNION
        -- What depends on those, at any depth. A part of an object, as a view's row type, is gone through unnamed.
        SELECT CASE WHEN r.oid IS NULL THEN d.classid ELSE 'pg_class'::regclass END,
                coalesce(r.ev_class, d.objid), d.objsubid, d.deptype = 'n'
            FROM walk
            JOIN pg_depend AS d ON d.refclassid = walk.classid AND d.refobjid = walk.objid
                AND (walk.objsubid = 0 OR d.refobjsubid = walk.objsubid) AND d.deptype IN ('n', 'a', 'i')
            LEFT JOIN pg_rewrite AS r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid AND r.rulename = '_RETURN'
            -- A foreign key depends on the index it refers to, and is rebuilt with that.
            WHERE NOT EXISTS (SELECT FROM pg_constraint AS f
                WHERE d.classid = 'pg_constraint'::regclass AND f.oid = d.objid AND f.contype = 'f')
    )
    SELECT obstacles || coalesce(array_agg(obstacle ORDER BY obstacle COLLATE "C"), '{}') INTO obstacles FROM (
        SELECT CASE WHEN a.attgenerated <> '' THEN 'generated ' || pg_describe_object('pg_class'::regclass, g.adrelid, g.adnum)
                ELSE pg_describe_object(classid, objid, objsubid) END AS obstacle
            FROM walk
            LEFT JOIN pg_attrdef AS g ON classid = 'pg_attrdef'::regclass AND g.oid = objid
            LEFT JOIN pg_attribute AS a ON a.attrelid = g.adrelid AND a.attnum = g.adnum
            WHERE named
        UNION
        -- PostgreSQL keeps the columns of a partition key with the table.
        SELECT format('partition key of table %s', relation::regclass)
            FROM altered
            JOIN pg_depend AS d
                ON d.classid = 'pg_class'::regclass AND d.objid = relation AND d.objsubid = number
                AND d.refclassid = 'pg_class'::regclass AND d.refobjid = relation AND d.refobjsubid = 0
            WHERE d.deptype = 'i'
        UNION
        SELECT format('%s, whose columns a type prescribes', pg_describe_object('pg_class'::regclass, oid, 0))
            FROM pg_class WHERE oid IN (SELECT relation FROM altered) AND reloftype <> 0
        UNION
        SELECT pg_describe_object('pg_class'::regclass, oid, 0)
            FROM pg_class WHERE oid IN (SELECT relation FROM altered) AND relkind = 'f'
        UNION
        SELECT format('%s, which inherits the column from elsewhere too', pg_describe_object('pg_class'::regclass, relation, 0))
            FROM altered JOIN pg_attribute ON attrelid = relation AND attnum = number
            WHERE attinhcount > (SELECT count(*) FROM pg_inherits WHERE inhrelid = relation AND inhparent IN (SELECT relation FROM altered))
        UNION
        -- It would be made again as a valid one, from rows that may not allow it.
        SELECT format('%s, which is invalid', pg_describe_object('pg_class'::regclass, indexrelid, 0))
            FROM pg_index WHERE indrelid IN (SELECT relation FROM altered) AND NOT indisvalid
        UNION
        -- A foreign key to a column of another type, to which bigint may not be converted implicitly.
        SELECT pg_describe_object('pg_constraint'::regclass, f.oid, 0)
            FROM altered
            JOIN pg_constraint AS f ON f.contype = 'f' AND f.conrelid = relation
            CROSS JOIN LATERAL unnest(f.confkey, f.conkey) AS k (referenced, referencing)
            JOIN pg_attribute AS a ON a.attrelid = f.confrelid AND a.attnum = k.referenced
            WHERE k.referencing = number AND a.atttypid NOT IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype)
                AND NOT EXISTS (SELECT FROM pg_cast WHERE castsource = 'bigint'::regtype AND casttarget = a.atttypid AND castcontext = 'i')
        UNION
        -- From 18 on NOT NULL is a constraint, and one of the child's own is made again under its name, after the
        -- parent's has come to the child under another.
        SELECT pg_describe_object('pg_constraint'::regclass, own.oid, 0)
            FROM altered
            JOIN pg_constraint AS own ON own.contype = 'n' AND own.conrelid = relation AND number = ANY (own.conkey) AND own.conislocal
            JOIN pg_inherits ON inhrelid = relation
            JOIN altered AS parent ON parent.relation = inhparent
            JOIN pg_constraint AS theirs ON theirs.contype = 'n' AND theirs.conrelid = inhparent
                AND parent.number = ANY (theirs.conkey) AND NOT theirs.connoinherit AND theirs.conname <> own.conname
    ) AS named;

    changes_default := EXISTS (
        SELECT FROM unnest(target_members) AS member
            JOIN pg_attribute AS a ON a.attrelid = member AND a.attname = column_name
            LEFT JOIN pg_attrdef AS d ON d.adrelid = member AND d.adnum = a.attnum
            -- It is shown without its schema where that is pg_catalog.
            WHERE coalesce(pg_get_expr(d.adbin, d.adrelid), '') NOT IN (default_text, 'snowflake_next()'));

    IF changes_default AND cardinality(obstacles) = 0 THEN
        next_id := fresh_id;
        -- Where a new row can go. Of a table without any partition nothing is known: it took no rows before.
        FOREACH here IN ARRAY target_members LOOP
            CONTINUE WHEN here <> ALL (reached);
            reached_before := cardinality(reached);
            -- The partition key, if it is this column, begins with it, or is one expression of it.
            SELECT p.partstrat, p.partnatts, CASE
                    WHEN p.partattrs[0] = a.attnum AND (p.partnatts = 1 OR p.partstrat = 'r') THEN quote_ident(column_name)
                    WHEN p.partattrs[0] = 0 AND p.partnatts = 1 THEN pg_get_expr(p.partexprs, here)
                END AS expression
                INTO key
                FROM pg_attribute AS a LEFT JOIN pg_partitioned_table AS p ON p.partrelid = here AND p.partstrat IN ('l', 'r')
                WHERE a.attrelid = here AND a.attname = column_name;
            FOR this IN
                SELECT inhrelid, coalesce(pg_get_expr(relpartbound, inhrelid), 'DEFAULT') AS bound
                    FROM pg_inherits JOIN pg_class AS c ON c.oid = inhrelid WHERE inhparent = here
            LOOP
                accepts := true;
                IF key.expression IS NOT NULL AND this.bound <> 'DEFAULT' THEN
                    BEGIN
                        EXECUTE format('SELECT bool_or(%s) FROM (SELECT g AS %I FROM generate_series($1, $1 + 999) AS g) AS new',
                            CASE
                                WHEN key.partstrat = 'l' THEN format('(%s) %s', key.expression,
                                    regexp_replace(this.bound, '^FOR VALUES ', ''))
                                ELSE (SELECT coalesce(string_agg(format('(%s) %s %s', key.expression, operator, value), ' AND '), 'true')
                                    FROM (SELECT CASE WHEN key.partnatts = 1
                                            THEN regexp_match(this.bound, '^FOR VALUES FROM \((.*)\) TO \((.*)\)$')
                                            ELSE regexp_match(this.bound, '^FOR VALUES FROM \((MINVALUE|''?-?\d+''?),.* TO \((MAXVALUE|''?-?\d+''?),')
                                        END AS ends) AS bounds,
                                    LATERAL (VALUES ('>=', ends[1]), ('<', ends[2])) AS v (operator, value)
                                    WHERE value NOT IN ('MINVALUE', 'MAXVALUE'))
                            END, column_name)
                            USING next_id INTO accepts;
                    EXCEPTION
                        WHEN undefined_column THEN
                            -- The expression is one of other columns as well.
                            accepts := true;
                        WHEN OTHERS THEN
                            IF SQLSTATE ~ not_its_fault THEN
                                RAISE;
                            END IF;
                            accepts := false;
                    END;
                END IF;
                IF accepts THEN
                    reached := reached || this.inhrelid;
                END IF;
            END LOOP;
            IF cardinality(reached) = reached_before AND EXISTS (SELECT FROM pg_inherits WHERE inhparent = here) THEN
                refusals := refusals || format('the partitions of table %s', here);
            END IF;
        END LOOP;
    END IF;

    -- The expressions: each that ALTER TABLE parses again is parsed here with bigint, and evaluated for the rows that
    -- are there if it does more than compare and calculate; each that an insert evaluates is evaluated for new ids.
    FOR this IN
        WITH relation AS (
            SELECT u.relation, c.relname, CASE c.relkind WHEN 'p' THEN '' ELSE 'ONLY ' END AS only,
                    array_to_string(array_agg(number) FILTER (WHERE changes), '|') AS changing,
                    array_agg(a.attname) FILTER (WHERE next_id IS NOT NULL
                        AND (u.relation = ANY (reached) OR u.relation <> ALL (target_members::oid[]) OR a.attname <> column_name)) AS taking
                FROM unnest(trees, tree_numbers, tree_widened) AS u (relation, number, changes)
                JOIN pg_class AS c ON c.oid = u.relation AND c.relowner = my_id
                JOIN pg_attribute AS a ON a.attrelid = u.relation AND a.attnum = number
                GROUP BY u.relation, c.relname, c.relkind
        ), expression AS (
            SELECT r.relation, r.relname, CASE WHEN con.connoinherit THEN 'ONLY ' ELSE '' END AS only, r.changing, r.taking,
                    'check' AS kind, 'pg_constraint'::regclass AS class, con.oid AS object, pg_get_expr(conbin, conrelid) AS text,
                    NULL AS predicate, conbin::text AS tree, convalidated AS of_rows,
                    NULL::oid AS method, NULL::oid AS opclass, NULL::oid AS exclusion
                FROM relation AS r JOIN pg_constraint AS con ON con.conrelid = r.relation AND con.contype = 'c'
                -- What a child has from its parent is the parent's. From 18 on a constraint may be there and not be enforced.
                WHERE (con.coninhcount = 0 OR con.conislocal) AND coalesce((to_jsonb(con) ->> 'conenforced')::boolean, true)
            UNION ALL
            SELECT r.*, 'key', CASE WHEN con.oid IS NULL THEN 'pg_class'::regclass ELSE 'pg_constraint' END,
                    coalesce(con.oid, indexrelid), pg_get_indexdef(indexrelid, place::integer, false), pg_get_expr(indpred, indrelid),
                    CASE attribute WHEN 0 THEN indexprs::text ELSE format('{VAR :varattno %s }', attribute) END, true,
                    c.relam, k.opclass, con.conexclop[place]
                FROM relation AS r JOIN pg_index AS i ON indrelid = r.relation JOIN pg_class AS c ON c.oid = indexrelid
                CROSS JOIN LATERAL unnest(indkey::smallint[], indclass::oid[]) WITH ORDINALITY AS k (attribute, opclass, place)
                LEFT JOIN pg_constraint AS con ON con.conindid = indexrelid AND con.contype IN ('p', 'u', 'x')
                WHERE place <= indnkeyatts AND NOT c.relispartition
            UNION ALL
            SELECT r.*, 'predicate', CASE WHEN con.oid IS NULL THEN 'pg_class'::regclass ELSE 'pg_constraint' END,
                    coalesce(con.oid, indexrelid), pg_get_expr(indpred, indrelid), NULL, indpred::text, true, NULL, NULL, NULL
                FROM relation AS r JOIN pg_index ON indrelid = r.relation JOIN pg_class AS c ON c.oid = indexrelid
                LEFT JOIN pg_constraint AS con ON con.conindid = indexrelid AND con.contype = 'x'
                WHERE indpred IS NOT NULL AND NOT c.relispartition
            UNION ALL
            SELECT r.*, 'statistics', 'pg_statistic_ext', s.oid, e, NULL, stxexprs::text, false, NULL, NULL, NULL
                FROM relation AS r JOIN pg_statistic_ext AS s ON stxrelid = r.relation
                CROSS JOIN LATERAL unnest(pg_get_statisticsobjdef_expressions(s.oid)) AS e
            UNION ALL
            SELECT r.*, CASE attgenerated WHEN '' THEN 'default' ELSE 'generated' END, 'pg_attrdef', d.oid,
                    CASE attgenerated WHEN '' THEN pg_get_expr(adbin, adrelid)
                        ELSE format('(%s)::%s', pg_get_expr(adbin, adrelid), format_type(atttypid, atttypmod)) END,
                    NULL, adbin::text, false, NULL, NULL, NULL
                FROM relation AS r JOIN pg_attrdef AS d ON adrelid = r.relation
                JOIN pg_attribute AS a ON attrelid = adrelid AND attnum = adnum
                WHERE attgenerated = 's' OR attgenerated = '' AND adnum::text = ANY (string_to_array(r.changing, '|'))
            UNION ALL
            SELECT r.*, 'domain', 'pg_class', a.attrelid, format('%I::%s', attname, format_type(atttypid, atttypmod)), NULL,
                    '', false, NULL, NULL, NULL
                FROM relation AS r JOIN pg_attribute AS a ON attrelid = r.relation AND attname = ANY (r.taking)
                JOIN pg_type AS t ON t.oid = atttypid AND typtype = 'd'
        )
        SELECT e.*, replace(pg_describe_object(class, object, 0), 'default value for column', e.kind || ' column') AS name,
                -- 0 is the whole row.
                tree ~ (':varattno (0|' || e.changing || ') ') AS of_widened, tree ~ ':varattno 0 ' AS of_row,
                own_code, own_code OR tree ~ ':varattno 0 ' OR EXISTS (
                    SELECT FROM regexp_matches(tree, '\{(\w+)', 'g') AS m WHERE m[1] NOT IN ('VAR', 'CONST', 'OPEXPR', 'DISTINCTEXPR',
                        'SCALARARRAYOPEXPR', 'BOOLEXPR', 'NULLTEST', 'BOOLEANTEST', 'RELABELTYPE', 'ARRAY', 'ARRAYEXPR', 'COALESCE', 'COALESCEEXPR')
                ) OR EXISTS (
                    SELECT FROM regexp_matches(tree, ':opno (\d+)', 'g') AS m JOIN pg_operator AS o ON o.oid = m[1]::oid
                        WHERE oprname NOT IN ('=', '<>', '<', '<=', '>', '>=', '+', '-', '*', '/', '%')
                ) AS computes,
                EXISTS (
                    SELECT FROM regexp_matches(tree, ':funcid (\d+)', 'g') AS m JOIN pg_proc AS f ON f.oid = m[1]::oid AND f.oid >= 16384
                        JOIN pg_proc AS other ON (other.proname, other.pronamespace) = (f.proname, f.pronamespace) AND other.oid <> f.oid
                        WHERE f.provariadic <> 0 OR other.provariadic <> 0
                            OR int4range(f.pronargs - f.pronargdefaults, f.pronargs, '[]')
                                && int4range(other.pronargs - other.pronargdefaults, other.pronargs, '[]')
                ) OR EXISTS (
                    SELECT FROM regexp_matches(tree, ':opno (\d+)', 'g') AS m JOIN pg_operator AS f ON f.oid = m[1]::oid AND f.oid >= 16384
                        JOIN pg_operator AS other ON other.oid <> f.oid
                            AND (other.oprname, other.oprnamespace, other.oprkind) = (f.oprname, f.oprnamespace, f.oprkind)
                ) AS overloaded,
                attributes.*
            FROM expression AS e
            CROSS JOIN LATERAL (SELECT coalesce(bool_or(m[1]::oid >= 16384), false) AS own_code
                FROM regexp_matches(tree, ':(?:funcid|opno|resulttype) (\d+)', 'g') AS m) AS code
            -- The columns: as they are and as they will be, and their values as they will be.
            CROSS JOIN LATERAL (
                SELECT string_agg(format('NULL::%s AS %I', type, attname), ', ') AS old_nulls,
                        string_agg(format('NULL::%s AS %I', CASE WHEN changes THEN 'bigint' ELSE type END, attname), ', ') AS new_nulls,
                        string_agg(format('%I.%I%s AS %2$I', e.relname, attname, CASE WHEN changes THEN '::bigint' END), ', ') AS new_values
                    FROM (SELECT attname, format_type(atttypid, atttypmod) AS type, attnum::text = ANY (string_to_array(e.changing, '|')) AS changes
                        FROM pg_attribute WHERE attrelid = e.relation AND NOT attisdropped AND (attnum > 0 OR attname = 'tableoid')) AS a
            ) AS attributes
            ORDER BY pg_describe_object(class, object, 0) COLLATE "C", kind, text
    LOOP
        -- All indexes of a table are built anew with it, so that code in any of them is run.
        IF this.kind IN ('check', 'key', 'predicate', 'statistics', 'default')
            AND this.changing IS NOT NULL AND (this.of_widened OR this.kind = 'default' OR this.own_code AND this.kind IN ('key', 'predicate'))
        THEN
            words := NULL;
            BEGIN
                -- A type without a value: nothing is evaluated.
                EXECUTE format('SELECT pg_typeof(CASE WHEN false THEN %s END) FROM (SELECT %s) AS %I', this.text, this.old_nulls, this.relname)
                    INTO old_type;
                EXECUTE format('SELECT pg_typeof(CASE WHEN false THEN %s END) FROM (SELECT %s) AS %I', this.text, this.new_nulls, this.relname)
                    INTO new_type;
                IF this.overloaded AND this.of_widened THEN
                    words := 'calls an overloaded function or operator';
                ELSIF this.kind = 'default' AND new_type >= 16384 AND NOT EXISTS (SELECT FROM pg_cast
                    WHERE castsource = new_type AND casttarget = 'bigint'::regtype AND castcontext IN ('i', 'a')) THEN
                    words := format('has type %s, which cannot be assigned to bigint', format_type(new_type, NULL));
                ELSIF this.kind = 'key' AND new_type <> old_type AND NOT EXISTS (
                    SELECT FROM pg_opclass AS old JOIN pg_opclass AS new ON new.opcmethod = this.method
                            -- The default one stays the default one. Any other is named in the definition.
                            AND (new.oid = old.oid OR new.opcdefault AND old.opcdefault AND old.opcintype IN (old_type, 'anyarray'::regtype))
                            AND (new.opcintype = new_type OR new.opcintype = 'anyarray'::regtype
                                AND EXISTS (SELECT FROM pg_type WHERE typarray = new_type))
                        WHERE old.oid = this.opclass AND (this.exclusion IS NULL OR EXISTS (
                            SELECT FROM pg_amop AS m JOIN pg_operator AS o ON o.oid = m.amopopr
                                JOIN pg_operator AS was ON was.oid = this.exclusion AND (was.oprname, was.oprnamespace) = (o.oprname, o.oprnamespace)
                                WHERE m.amopfamily = new.opcfamily AND m.amoppurpose = 's'
                                    AND m.amoplefttype = new.opcintype AND m.amoprighttype = new.opcintype))
                ) THEN
                    words := format('its operator class does not take %s', format_type(new_type, NULL));
                ELSIF this.of_rows AND this.computes THEN
                    EXECUTE format('SELECT EXISTS (SELECT FROM %s%s AS %I WHERE (%s) AND %s)', this.only, this.relation::regclass, this.relname,
                        coalesce(this.predicate, 'true'), format(CASE this.kind WHEN 'check'
                            THEN '(SELECT (%1$s) FROM (SELECT %2$s) AS %3$I) IS FALSE'
                            ELSE '(%1$s)::text IS DISTINCT FROM (SELECT (%1$s)::text FROM (SELECT %2$s) AS %3$I)' END,
                            this.text, this.new_values, this.relname))
                        INTO accepts;
                    IF accepts THEN
                        words := 'gives another result for a bigint';
                    END IF;
                END IF;
            EXCEPTION WHEN OTHERS THEN
                IF SQLSTATE ~ not_its_fault THEN
                    RAISE;
                END IF;
                words := left(SQLERRM, 100);
            END;
            IF words IS NOT NULL THEN
                obstacles := obstacles || format('%s (%s)', this.name, words);
            END IF;
        END IF;
        IF this.kind NOT IN ('statistics', 'default') THEN
            FOREACH fresh IN ARRAY coalesce(this.taking, '{}') LOOP
                CONTINUE WHEN this.of_row AND this.changing IS NOT NULL;
                BEGIN
                    EXECUTE format('SELECT coalesce(%s, true) FROM %s AS %I WHERE (%s)',
                        -- Of a whole row the other columns are not known, so that only an error tells.
                        format(CASE WHEN this.kind = 'check' AND NOT this.of_row THEN 'bool_and((%s) IS NOT FALSE)'
                            ELSE 'count((%s)::text) >= 0' END, this.text),
                        CASE WHEN this.of_row THEN format('jsonb_populate_record(NULL::%s, jsonb_build_object(%L, $1))', this.relation::regclass, fresh)
                            ELSE format('(SELECT g AS %I FROM generate_series($1, $1 + 999) AS g)', fresh) END,
                        this.relname, coalesce(this.predicate, 'true'))
                        USING next_id INTO accepts;
                EXCEPTION
                    WHEN undefined_column THEN
                        -- It is one of other columns as well.
                        accepts := true;
                    WHEN OTHERS THEN
                        IF SQLSTATE ~ not_its_fault THEN
                            RAISE;
                        END IF;
                        accepts := this.of_row AND SQLSTATE <> '22003';
                END;
                IF NOT accepts THEN
                    refusals := refusals || CASE this.kind
                        WHEN 'domain' THEN format('the type in %s of column %s of %s', this.text, fresh, this.name)
                        ELSE this.name END;
                END IF;
            END LOOP;
        END IF;
    END LOOP;

    IF cardinality(obstacles) > 0 THEN
        RAISE EXCEPTION 'cannot adopt column "%" of table %', column_name, table_name
            USING ERRCODE = 'feature_not_supported',
                DETAIL = format('These stand in the way: %s.', array_to_string(obstacles, '; ')),
                HINT = 'Drop what can be created again, in one transaction with snowflake_adopt. For the rest see docs/existing-tables.md.';
    END IF;
    IF cardinality(refusals) > 0 THEN
        RAISE EXCEPTION 'column "%" of table % would not take snowflake ids such as %', column_name, table_name, next_id
            USING ERRCODE = 'object_not_in_prerequisite_state',
                DETAIL = format('These refuse it: %s.', array_to_string(refusals, '; ')),
                HINT = 'Before snowflake_adopt, add a partition that takes new ids, or drop what refuses them.';
    END IF;

    -- From 17 on a partition has its parent's identity.
    SELECT statements || coalesce(array_agg(format('ALTER TABLE %s ALTER COLUMN %I DROP IDENTITY', member, column_name) ORDER BY place), '{}')
        INTO statements
        FROM unnest(target_members) WITH ORDINALITY AS m (member, place)
        JOIN pg_attribute AS a ON a.attrelid = member AND a.attname = column_name AND a.attidentity <> ''
        JOIN pg_class AS c ON c.oid = member
        WHERE NOT (c.relispartition AND server_version >= 170000);
    -- Each table is written anew once, the referenced before the referencing.
    SELECT statements || coalesce(array_agg(format('ALTER TABLE %s %s', t, actions) ORDER BY first), '{}')
        INTO statements
        FROM (
            SELECT t, min(place) AS first, string_agg(format('ALTER COLUMN %I TYPE bigint', c), ', ' ORDER BY place) AS actions
            FROM unnest(widened, widened_columns) WITH ORDINALITY AS w (t, c, place) GROUP BY t
        ) AS by_table;
    IF changes_default THEN
        statements := statements || format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT %s', table_name, column_name, default_text);
        EXECUTE format('SELECT max(%1$I), min(%1$I) FROM %2$s', column_name, table_name) INTO highest, lowest;
        IF highest >= next_id THEN
            RAISE EXCEPTION 'column "%" of table % has the value %, which is not below the next snowflake id, %',
                    column_name, table_name, highest, next_id
                USING ERRCODE = 'object_not_in_prerequisite_state',
                    DETAIL = 'Ids from now on would be lower than those in the table, and could meet them.',
                    HINT = format('If it was stored a moment ago, try again. If it is a snowflake id of another server, call snowflake_advance(%s) first. If it is not, give the row another value.', highest);
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
        )
        -- That of an extension cannot be dropped alone.
        AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.classid = 'pg_class'::regclass AND d.objid = s.objid AND d.deptype = 'e');

    FOR n IN 1 .. cardinality(statements) LOOP
        IF NOT dry_run THEN
            EXECUTE statements[n];
        END IF;
        RETURN NEXT statements[n];
    END LOOP;
    IF changes_default THEN
        IF NOT dry_run AND NOT EXISTS (
            SELECT FROM pg_attrdef AS a JOIN pg_depend AS d ON d.classid = 'pg_attrdef'::regclass AND d.objid = a.oid
                AND d.refclassid = 'pg_proc'::regclass AND d.refobjid = next_function
            WHERE adrelid = table_name AND adnum = (SELECT attnum FROM pg_attribute WHERE attrelid = table_name AND attname = column_name))
        THEN
            RAISE EXCEPTION 'schema of the extension snowflake was renamed while column "%" of table % was adopted', column_name, table_name
                USING ERRCODE = 'serialization_failure', HINT = 'Try again.';
        END IF;
        IF lowest < first_id THEN
            -- A comment, so that the lines remain a script. No name is in it, which could have a line break.
            RETURN NEXT format('-- The table has rows with numbers below %s, which are no ids. Every snowflake_min_id(...) is above them: '
                'a DELETE of old ids deletes them too, unless its condition has id >= %1$s.', first_id);
        END IF;
    END IF;
END
$adopt$;
