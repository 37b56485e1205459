#!/usr/bin/env python3
"""ScyPer from Python in five minutes.

Start a node (scyperd, or `scyper playground --elect` for three), then: quickstart.py [HOST:PORT[,HOST:PORT...]]
"""
import sys
from decimal import Decimal

import scyper

SCHEMA = """
DROP TABLE IF EXISTS payment;
DROP TABLE IF EXISTS account;
CREATE TABLE account (id integer PRIMARY KEY, owner text NOT NULL, balance numeric(12,2) NOT NULL CHECK (balance >= 0));
CREATE TABLE payment (id bigint PRIMARY KEY, account integer NOT NULL REFERENCES account, amount numeric(12,2) NOT NULL);
CREATE OR REPLACE FUNCTION pay(p_id bigint, p_account integer, p_amount numeric) RETURNS numeric AS $$
DECLARE
  left_over numeric(12,2);
BEGIN
  UPDATE account SET balance = balance - p_amount WHERE id = p_account RETURNING balance INTO left_over;
  INSERT INTO payment VALUES (p_id, p_account, p_amount);
  RETURN left_over;
END $$ LANGUAGE plpgsql;
"""


def main() -> None:
    # 1. Connect. Of a cluster name some nodes: the primary is found, and found again after a failover.
    with scyper.connect(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:7400") as db:
        db.execute(SCHEMA)

        # 2. Transactions. Each call is one, and is done once, also when the primary dies in the middle of it.
        db.call("INSERT INTO account VALUES ($1, $2, $3)", 1, "Ada", Decimal("100.00"))
        print("left over:", db.call("SELECT pay($1, $2, $3)", 1, 1, Decimal("2.50")).scalar())

        # Many of them: in batches on one stream.
        with db.pipeline() as pipeline:
            answers = [pipeline.call("SELECT pay($1, $2, $3)", 100 + i, 1, Decimal("0.10")) for i in range(500)]
        print("left over:", answers[-1].result().scalar())

        # 3. Errors are PEP 249's classes and have PostgreSQL's SQLSTATE.
        try:
            db.call("SELECT pay($1, $2, $3)", 2, 1, Decimal("1000.00"))
        except scyper.IntegrityError as error:
            print("refused:", error.sqlstate, error.message)

        # 4. Queries run on a snapshot beside the transactions. The receipt says what the answer was computed from.
        with db.query("SELECT count(*), sum(amount) FROM payment WHERE amount < $1", Decimal("1.00")) as rows:
            print("small payments:", rows.one(), "up to LSN", rows.receipt.lsn, "on", rows.receipt.node)

        # Who can do with older data says so, and gets a snapshot that is there already.
        relaxed = db.query("SELECT max(id) FROM payment", freshness=scyper.Staleness(5.0))
        print("newest payment:", relaxed.scalar(), f"({relaxed.receipt.age_ms:.0f} ms old)")

        # 5. A session pins a snapshot: its queries agree with each other, whatever is committed meanwhile.
        with db.session() as session:
            before = session.query("SELECT balance FROM account WHERE id = 1").scalar()
            db.call("SELECT pay($1, $2, $3)", 3, 1, Decimal("1.00"))
            print("still the same:", session.query("SELECT balance FROM account WHERE id = 1").scalar() == before)

        # 6. Columns go to Arrow and pandas as they come (pip install 'scyper[pandas]').
        try:
            table = db.query("SELECT id, amount FROM payment ORDER BY id").arrow()
        except scyper.InterfaceError as error:
            print(error.message)
        else:
            print("as Arrow:", table.num_rows, "rows,", table.schema.field("amount").type)


if __name__ == "__main__":
    main()
