// Go's pgx against a node's PostgreSQL port: `pgx CONNECTION-STRING`, run by postgres_drivers.py. Each check says what it found; the exit
// code counts the failures. pgx asks for all that it can in binary format.
package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/big"
	"os"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
)

const patience = 120 * time.Second

var failures = 0

func expect(what string, condition bool, found ...any) {
	if condition {
		fmt.Println("ok    pgx: " + what)
		return
	}
	failures++
	fmt.Println("FAIL  pgx: "+what+":", fmt.Sprint(found...))
}

// The error with its SQLSTATE.
func expectError(what, state string, err error) *pgconn.PgError {
	var found *pgconn.PgError
	if !errors.As(err, &found) {
		expect(what, false, err)
		return &pgconn.PgError{}
	}
	expect(what, found.Code == state, found.Code, found.Message)
	return found
}

func must(err error) {
	if err != nil {
		fmt.Println("FAIL  pgx:", err)
		os.Exit(100)
	}
}

func checkModes(ctx context.Context, conn *pgx.Conn) {
	modes := []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec,
		pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol}
	for _, mode := range modes {
		var sum int
		var text string
		err := conn.QueryRow(ctx, "SELECT $1::integer + 1, $2::text || '!'", mode, 41, "it's").Scan(&sum, &text)
		expect("a query in mode "+mode.String(), err == nil && sum == 42 && text == "it's!", err, sum, text)
	}
	results, err := conn.PgConn().Exec(ctx, "SELECT 1; SELECT 2, 'x'").ReadAll()
	expect("a simple query of two statements", err == nil && len(results) == 2 && string(results[1].Rows[0][1]) == "x", err)
}

func checkTypes(ctx context.Context, conn *pgx.Conn) {
	_, err := conn.Exec(ctx, `CREATE TABLE pgx_types (id integer PRIMARY KEY, b boolean, i2 smallint, i8 bigint, f4 real, f8 double precision,
		n numeric(12,2), t text, v varchar(9), d date, ts timestamp, tz timestamptz, ti time, u uuid, by bytea, j jsonb, iv interval, ia integer[], ta text[])`)
	must(err)
	day := time.Date(2026, 2, 28, 0, 0, 0, 0, time.UTC)
	moment := time.Date(2026, 2, 28, 23, 59, 59, 999999000, time.UTC)
	number := pgtype.Numeric{Int: big.NewInt(-1250), Exp: -2, Valid: true}
	uuid := pgtype.UUID{Bytes: [16]byte{1, 2, 15: 255}, Valid: true}
	clock := pgtype.Time{Microseconds: 3723000004, Valid: true}
	interval := pgtype.Interval{Months: 14, Days: -3, Microseconds: 5, Valid: true}
	_, err = conn.Exec(ctx, "INSERT INTO pgx_types VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19)", 1, true, int16(-7),
		int64(1)<<62, float32(0.5), 0.1, number, "grüße", "", day, moment, moment, clock, uuid, []byte{0, 255}, map[string]any{"a": 1.5}, interval,
		[]int32{1, -2}, []string{"x", "", "y,\"z"})
	expect("a row of all types goes in", err == nil, err)
	_, err = conn.Exec(ctx, "INSERT INTO pgx_types (id) VALUES ($1)", 2)
	expect("and one of NULLs", err == nil, err)
	var (
		b, bn  *bool
		i2     int16
		i8     int64
		f4     float32
		f8     float64
		n, nn  pgtype.Numeric
		t, v   string
		d, ts  time.Time
		tz     time.Time
		ti     pgtype.Time
		u      pgtype.UUID
		by     []byte
		j      map[string]any
		iv     pgtype.Interval
		ia     []int32
		ta, tn []string
	)
	const columns = "SELECT b, i2, i8, f4, f8, n, t, v, d, ts, tz, ti, u, by, j, iv, ia, ta FROM pgx_types WHERE id = $1"
	rows, err := conn.Query(ctx, columns, 1)
	must(err)
	formats := map[int16]int{}
	for _, field := range rows.FieldDescriptions() {
		formats[field.Format]++
	}
	rows.Close()
	expect("results come in binary format", formats[1] >= 15, formats)
	err = conn.QueryRow(ctx, columns, 1).Scan(&b, &i2, &i8, &f4, &f8, &n, &t, &v, &d, &ts, &tz, &ti, &u, &by, &j, &iv, &ia, &ta)
	expect("they come back", err == nil && *b && i2 == -7 && i8 == 1<<62 && f4 == 0.5 && f8 == 0.1 && t == "grüße" && v == "" && d.Equal(day) &&
		ts.Equal(moment) && tz.Equal(moment) && ti == clock && u == uuid && bytes.Equal(by, []byte{0, 255}) && j["a"] == 1.5 && iv == interval &&
		reflect.DeepEqual(ia, []int32{1, -2}) && reflect.DeepEqual(ta, []string{"x", "", "y,\"z"}), err, b, i2, i8, f4, f8, t, d, ts, tz, ti, u, by, j, iv, ia, ta)
	text, _ := n.Value()
	expect("numerics", text == "-12.50", text)
	err = conn.QueryRow(ctx, "SELECT b, n, ta FROM pgx_types WHERE id = 2").Scan(&bn, &nn, &tn)
	expect("NULLs", err == nil && bn == nil && !nn.Valid && tn == nil, err)
	err = conn.QueryRow(ctx, "SELECT 'NaN'::numeric").Scan(&nn)
	expect("NaN", err == nil && nn.NaN, err, nn)
	var many []int32
	err = conn.QueryRow(ctx, "SELECT array_agg(id ORDER BY id) FROM pgx_types WHERE id = ANY($1)", []int32{1, 2, 3}).Scan(&many)
	expect("an array as a parameter", err == nil && len(many) == 2, err, many)
}

func checkStatements(ctx context.Context, conn *pgx.Conn) {
	_, err := conn.Exec(ctx, "CREATE TABLE pgx_rows (id integer PRIMARY KEY, name text NOT NULL)")
	must(err)
	prepared, err := conn.Prepare(ctx, "add", "INSERT INTO pgx_rows VALUES ($1, $2) RETURNING id")
	expect("a prepared statement", err == nil && len(prepared.ParamOIDs) == 2 && prepared.ParamOIDs[0] == pgtype.Int4OID && len(prepared.Fields) == 1, err, prepared)
	var id int
	for i := 1; i <= 3; i++ {
		err = conn.QueryRow(ctx, "add", i, "row").Scan(&id)
		expect("runs again", err == nil && id == i, err, id)
	}
	expect("is deallocated", conn.Deallocate(ctx, "add") == nil)
	tag, err := conn.Exec(ctx, "UPDATE pgx_rows SET name = name || $1", "!")
	expect("a tag", err == nil && tag.String() == "UPDATE 3" && tag.RowsAffected() == 3, err, tag)

	batch := &pgx.Batch{}
	for i := 10; i < 60; i++ {
		batch.Queue("INSERT INTO pgx_rows VALUES ($1, $2)", i, "batch")
	}
	batch.Queue("SELECT count(*) FROM pgx_rows WHERE name = $1", "batch").QueryRow(func(row pgx.Row) error { return row.Scan(&id) })
	err = conn.SendBatch(ctx, batch).Close()
	expect("a batch", err == nil && id == 50, err, id)
	batch = &pgx.Batch{}
	batch.Queue("SELECT 1")
	batch.Queue("INSERT INTO pgx_rows VALUES (1, 'twice')")
	batch.Queue("SELECT 2")
	expectError("an error in a batch", "23505", conn.SendBatch(ctx, batch).Close())
	expect("the connection goes on", conn.QueryRow(ctx, "SELECT 3").Scan(&id) == nil && id == 3)

	_, err = conn.Exec(ctx, "CREATE PROCEDURE pgx_add(p_id integer, INOUT p_n integer) AS $$ BEGIN INSERT INTO pgx_rows VALUES (p_id, 'called'); "+
		"RAISE NOTICE 'added %', p_id; p_n := p_n * 2; END $$ LANGUAGE plpgsql")
	must(err)
	err = conn.QueryRow(ctx, "CALL pgx_add($1, $2)", 100, 21).Scan(&id)
	expect("a procedure with INOUT", err == nil && id == 42, err, id)
	expect("its notice", strings.Contains(strings.Join(notices, "|"), "added 100"), notices)
}

var notices []string

func checkErrors(ctx context.Context, conn *pgx.Conn) {
	_, err := conn.Exec(ctx, "INSERT INTO pgx_rows VALUES ($1, $2)", 1, "again")
	found := expectError("a duplicate key", "23505", err)
	expect("its detail", found.Detail == "Key (id)=(1) already exists.", found.Detail)
	_, err = conn.Exec(ctx, "INSERT INTO pgx_rows VALUES (7)")
	expectError("NULL where it may not be", "23502", err)
	_, err = conn.Exec(ctx, "SELECT 1 +")
	found = expectError("a syntax error", "42601", err)
	expect("its position", found.Position == 11, found.Position)
	_, err = conn.Exec(ctx, "SELECT 1 / $1::integer", 0)
	expectError("an error when it runs", "22012", err)
	_, err = conn.Exec(ctx, "INSERT INTO pgx_rows VALUES ($1, 'x')", int64(1)<<40)
	expect("a number that the type does not hold", err != nil, err)
	rows, _ := conn.Query(ctx, "SELECT 1 / (1000 - i) FROM generate_series(1, 2000) g(i)")
	for rows.Next() {
	}
	expectError("an error behind rows", "22012", rows.Err())
}

func checkTransactions(ctx context.Context, conn *pgx.Conn) {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	must(err)
	var before, after int
	expect("a block reads", tx.QueryRow(ctx, "SELECT count(*) FROM pgx_rows").Scan(&before) == nil)
	_, err = tx.Exec(ctx, "DELETE FROM pgx_rows")
	expectError("and does not write", "25006", err)
	expect("it rolls back", tx.Rollback(ctx) == nil)
	tx, err = conn.Begin(ctx)
	must(err)
	tag, err := tx.Exec(ctx, "DELETE FROM pgx_rows")
	expect("a block writes", err == nil && tag.RowsAffected() == int64(before), err, tag)
	must(tx.Rollback(ctx))
	tx, err = conn.Begin(ctx)
	must(err)
	nested, err := tx.Begin(ctx)
	must(err)
	_, err = nested.Exec(ctx, "SELECT nothing")
	expectError("an error in a savepoint", "42703", err)
	must(nested.Rollback(ctx))
	expect("is forgiven", tx.QueryRow(ctx, "SELECT count(*) FROM pgx_rows").Scan(&after) == nil && after == before && tx.Commit(ctx) == nil)
}

func checkRows(ctx context.Context, conn *pgx.Conn) {
	rows, err := conn.Query(ctx, "SELECT i, i::text FROM generate_series(1, 100000) g(i)")
	must(err)
	sum := 0
	for rows.Next() {
		var i int
		var text string
		must(rows.Scan(&i, &text))
		sum += i
	}
	expect("100,000 rows", rows.Err() == nil && sum == 5000050000, rows.Err(), sum)
	type named struct {
		ID   int
		Name string
	}
	rows, _ = conn.Query(ctx, "SELECT id, name FROM pgx_rows WHERE id <= 3 ORDER BY id")
	found, err := pgx.CollectRows(rows, pgx.RowToStructByName[named])
	expect("rows to structs", err == nil && len(found) == 3 && found[2] == named{3, "row!"}, err, found)
}

func checkCopy(ctx context.Context, conn *pgx.Conn) {
	_, err := conn.Exec(ctx, "CREATE TABLE pgx_copy (id bigint PRIMARY KEY, t text)")
	must(err)
	rows, err := conn.CopyFrom(ctx, pgx.Identifier{"pgx_copy"}, []string{"id", "t"}, pgx.CopyFromRows([][]any{{1, "one"}, {2, nil}, {3, ""}}))
	expect("CopyFrom, which is COPY in binary format", err == nil && rows == 3, rows, err)
	var ones int
	must(conn.QueryRow(ctx, "SELECT sum(id) FROM pgx_copy WHERE t = 'one' OR t IS NULL OR t = ''").Scan(&ones))
	expect("its rows", ones == 6, ones)
	_, err = conn.CopyFrom(ctx, pgx.Identifier{"pgx_copy"}, []string{"id"}, pgx.CopyFromRows([][]any{{4}, {1}}))
	expectError("CopyFrom of a duplicate key", "23505", err)
	tag, err := conn.PgConn().CopyFrom(ctx, strings.NewReader("9001\tx\n9002\t\\N\n"), "COPY pgx_copy (id, t) FROM STDIN")
	expect("COPY of text", err == nil && tag.String() == "COPY 2", tag, err)
	_, err = conn.PgConn().CopyFrom(ctx, strings.NewReader("9003\n9001\n"), "COPY pgx_copy (id) FROM STDIN")
	expectError("COPY of a duplicate key", "23505", err)
	var out bytes.Buffer
	tag, err = conn.PgConn().CopyTo(ctx, &out, "COPY (SELECT id, t FROM pgx_copy WHERE id > 9000 ORDER BY id) TO STDOUT")
	expect("COPY TO", err == nil && out.String() == "9001\tx\n9002\t\\N\n" && tag.RowsAffected() == 2, err, out.String())
}

func checkPool(ctx context.Context, target string) {
	config, err := pgxpool.ParseConfig(target)
	must(err)
	config.MaxConns = 4
	pool, err := pgxpool.NewWithConfig(ctx, config)
	must(err)
	defer pool.Close()
	_, err = pool.Exec(ctx, "CREATE TABLE pgx_count (id integer PRIMARY KEY, n integer NOT NULL)")
	must(err)
	_, err = pool.Exec(ctx, "INSERT INTO pgx_count VALUES (1, 0)")
	must(err)
	var group sync.WaitGroup
	for i := 0; i < 20; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for j := 0; j < 10; j++ {
				_, err := pool.Exec(ctx, "UPDATE pgx_count SET n = n + $1 WHERE id = 1", 1)
				must(err)
			}
		}()
	}
	group.Wait()
	var n int
	expect("a pool", pool.QueryRow(ctx, "SELECT n FROM pgx_count").Scan(&n) == nil && n == 200 && pool.Stat().TotalConns() <= 4, n)
	short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	_, err = pool.Exec(short, "SELECT count(*) FROM generate_series(1, 100000) a(i), generate_series(1, 100000) b(j) WHERE i + j < 0")
	cancel()
	expect("a query that its context ends", err != nil && (pgconn.Timeout(err) || errors.Is(err, context.DeadlineExceeded)), err)
	expect("the pool goes on", pool.QueryRow(ctx, "SELECT 1").Scan(&n) == nil && n == 1)
	db, err := sql.Open("pgx", target)
	must(err)
	defer db.Close()
	expect("database/sql", db.QueryRowContext(ctx, "SELECT n FROM pgx_count WHERE id = $1", 1).Scan(&n) == nil && n == 200, n)
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	config, err := pgx.ParseConfig(os.Args[1])
	must(err)
	config.OnNotice = func(_ *pgconn.PgConn, notice *pgconn.Notice) { notices = append(notices, notice.Message) }
	conn, err := pgx.ConnectConfig(ctx, config)
	must(err)
	defer conn.Close(ctx)
	for _, check := range []func(context.Context, *pgx.Conn){checkModes, checkTypes, checkStatements, checkErrors, checkTransactions, checkRows, checkCopy} {
		check(ctx, conn)
	}
	checkPool(ctx, os.Args[1])
	if failures > 100 {
		failures = 100
	}
	os.Exit(failures)
}
