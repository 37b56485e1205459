#!/usr/bin/env python3
"""What SQLAlchemy's Inspector finds in a database, as JSON. Usage: postgres_reflection.py CONNINFO (postgres_tools.py)"""
import json
import sys
import urllib.parse

import sqlalchemy


def main():
    where = dict(part.split("=", 1) for part in sys.argv[1].split())
    url = "postgresql+psycopg://" + where["user"] + "@/" + where["dbname"] + "?" + urllib.parse.urlencode(
        {name: where[name] for name in ("host", "port") if name in where})
    engine = sqlalchemy.create_engine(url, isolation_level="AUTOCOMMIT")
    found = {}
    with engine.connect() as connection:
        inspector = sqlalchemy.inspect(connection)
        found["schemas"] = sorted(inspector.get_schema_names())
        for schema in (None, "store"):
            names = sorted(inspector.get_table_names(schema))
            found[f"{schema} tables"] = names
            found[f"{schema} views"] = sorted(inspector.get_view_names(schema))
            found[f"{schema} sequences"] = sorted(inspector.get_sequence_names(schema))
            for table in names + found[f"{schema} views"]:
                for what in ("columns", "pk_constraint", "foreign_keys", "indexes", "unique_constraints", "check_constraints",
                             "table_comment"):
                    name = what if what in ("pk_constraint", "table_comment") else what
                    value = getattr(inspector, "get_" + name)(table, schema=schema)
                    found[f"{table} {what}"] = sorted(value, key=str) if isinstance(value, list) and what != "columns" else value
        found["enums"] = inspector.get_enums()
        found["materialised views"] = inspector.get_materialized_view_names()
        found["has"] = [inspector.has_table("items"), inspector.has_table("nothing"), inspector.has_sequence("numbers"),
                        inspector.has_schema("store"), inspector.has_index("items", "items_name")]
        found["multi"] = sorted(str(key) for key in inspector.get_multi_columns())
        metadata = sqlalchemy.MetaData()
        metadata.reflect(connection, views=True)
        found["reflected"] = sorted((table.name, [(column.name, str(column.type), column.nullable) for column in table.columns])
                                    for table in metadata.tables.values())
    json.dump(found, sys.stdout, default=str)


if __name__ == "__main__":
    main()
