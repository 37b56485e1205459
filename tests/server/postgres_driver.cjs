// node-postgres against a node: postgres_drivers.py runs it with NODE_PATH set. Usage: node postgres_driver.cjs PORT
"use strict";
const pg = require("pg");

const port = Number(process.argv[2]);
const where = { host: "127.0.0.1", port, user: "node", database: "scyper" };
let failures = 0;

function expect(what, condition, found) {
  if (!condition) failures += 1;
  console.log((condition ? "ok    " : "FAIL  ") + "node-postgres: " + what + (condition ? "" : ": " + JSON.stringify(found)));
}

async function errorOf(work) {
  try {
    await work();
    return {};
  } catch (error) {
    return error;
  }
}

async function checkValues(client) {
  await client.query("CREATE TABLE node_values (id integer PRIMARY KEY, t text, n numeric(12,3), b bigint, f double precision, o boolean, " +
    "d date, z timestamptz, u uuid, j jsonb, y bytea, a text[], i integer[])");
  const made = new Date(Date.UTC(2024, 1, 29, 12, 30, 15, 250));
  const row = [1, "snö", "12345678.125", "9007199254740993", -0.5, true, "1999-12-31", made, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    { k: [1, null] }, Buffer.from([0, 255]), ["a", null, "c,d"], [1, 2]];
  const places = row.map((_, k) => "$" + (k + 1)).join(", ");
  const put = await client.query("INSERT INTO node_values VALUES (" + places + ")", row);
  expect("a row goes in", put.command === "INSERT" && put.rowCount === 1, put);
  const got = (await client.query("SELECT *, d::text AS day FROM node_values WHERE id = $1", [1])).rows[0];
  expect("texts and numbers", got.t === "snö" && got.n === "12345678.125" && got.b === "9007199254740993" && got.f === -0.5, got);
  expect("booleans, dates, times", got.o === true && got.day === "1999-12-31" && got.z.getTime() === made.getTime(), got);
  expect("uuid, jsonb, bytea", got.u === row[8] && JSON.stringify(got.j) === '{"k":[1,null]}' && row[10].equals(got.y), got);
  expect("arrays", JSON.stringify([got.a, got.i]) === JSON.stringify([row[11], row[12]]), got);
  const binary = await client.query({ text: "SELECT id, t, b, f, o FROM node_values", binary: true });
  expect("binary results", binary.rows[0].id === 1 && String(binary.rows[0].b) === "9007199254740993" && binary.rows[0].f === -0.5, binary.rows[0]);
}

async function checkStatements(client) {
  for (let k = 0; k < 3; k += 1) {
    const named = await client.query({ name: "by-id", text: "SELECT t FROM node_values WHERE id = $1", values: [1] });
    expect("named statement " + k, named.rows[0].t === "snö", named.rows);
  }
  const several = await client.query("SELECT 1 AS a; SELECT 2 AS b");
  expect("several statements", several.length === 2 && several[1].rows[0].b === 2, several);
  const broken = await errorOf(() => client.query("INSERT INTO node_values (id) VALUES (1)"));
  expect("errors have code, detail, constraint's table", broken.code === "23505" && broken.detail === "Key (id)=(1) already exists.", broken);
  const wrong = await errorOf(() => client.query("SELECT nothing FROM node_values"));
  expect("errors have positions", wrong.code === "42703" && wrong.position === "8", wrong);
  expect("the connection lives", (await client.query("SELECT 4 AS x")).rows[0].x === 4);
}

async function checkTransactions(client) {
  await client.query("BEGIN READ ONLY");
  const read = await client.query("SELECT count(*) AS n FROM node_values");
  const refused = await errorOf(() => client.query("DELETE FROM node_values"));
  expect("a read-only block", read.rows[0].n === "1" && refused.code === "25006", refused);
  await client.query("ROLLBACK");
  await client.query("BEGIN");
  await client.query("DECLARE c CURSOR FOR SELECT g FROM generate_series(1, 5) g");
  const two = await client.query("FETCH 2 FROM c");
  const rest = await client.query("FETCH ALL FROM c");
  await client.query("COMMIT");
  expect("cursors", two.rows.length === 2 && rest.rows.length === 3, [two.rows, rest.rows]);
}

async function checkCancel(client) {
  const slow = client.query("SELECT count(*) FROM generate_series(1, 30000) a, generate_series(1, 30000) b, generate_series(1, 30000) c");
  let isOver = false;
  const ended = errorOf(() => slow).finally(() => { isOver = true; });
  while (!isOver) { // until it has hit
    const other = new pg.Client(where);
    other.processID = client.processID;
    other.connection.on("error", () => {});
    await new Promise((done) => {
      other.connection.on("connect", () => other.connection.cancel(client.processID, client.secretKey));
      other.connection.on("end", done);
      other.connection.connect(port, "127.0.0.1");
    });
    await new Promise((done) => setTimeout(done, 100));
  }
  const error = await ended;
  expect("CancelRequest", error.code === "57014", error);
  expect("the connection lives after it", (await client.query("SELECT 5 AS x")).rows[0].x === 5);
}

async function main() {
  const client = new pg.Client(where);
  await client.connect();
  const notices = [];
  client.on("notice", (notice) => notices.push(notice.message));
  await checkValues(client);
  await checkStatements(client);
  await checkTransactions(client);
  await checkCancel(client);
  await client.query("DO $$ BEGIN RAISE NOTICE 'hello'; END $$");
  expect("notices", notices.includes("hello"), notices);
  await client.end();
  const pool = new pg.Pool({ ...where, max: 3 });
  const answers = await Promise.all([1, 2, 3, 4, 5, 6].map((k) => pool.query("SELECT $1::integer AS x", [k])));
  expect("a pool", answers.every((answer, k) => answer.rows[0].x === k + 1), answers);
  await pool.end();
}

main().catch((error) => { console.log("FAIL  node-postgres: " + error.stack); failures += 1; }).finally(() => process.exit(failures));
