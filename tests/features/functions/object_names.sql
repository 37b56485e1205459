CREATE TABLE items (id integer PRIMARY KEY, name text NOT NULL, price numeric(12,3) CHECK (price >= 0), code char(3) DEFAULT 'abc');
CREATE UNIQUE INDEX items_lower ON items (lower(name)) WHERE price < 2;
CREATE TABLE orders (o_id integer PRIMARY KEY, item integer REFERENCES items (id) ON DELETE CASCADE);
CREATE SCHEMA store;
CREATE TABLE store.shelf (id integer PRIMARY KEY);
COMMENT ON TABLE items IS 'what is sold';
COMMENT ON COLUMN items.price IS 'without tax';
SELECT 'items'::regclass, 'store.shelf'::regclass::text, 'integer'::regtype, 'pg_class'::regclass;
SELECT 'nothing'::regclass;
SELECT 'nothing'::regtype;
SELECT to_regclass('nothing'), to_regclass('items'), to_regtype('nothing'), to_regnamespace('store');
SELECT relname FROM pg_class WHERE oid = 'items'::regclass;
SELECT attname, atttypid::regtype, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute
  WHERE attrelid = 'items'::regclass AND attnum > 0 ORDER BY attnum;
SELECT conname, contype, conrelid::regclass, conkey, pg_get_constraintdef(oid) FROM pg_constraint
  WHERE conrelid IN ('items'::regclass, 'orders'::regclass) ORDER BY conname;
SELECT indexrelid::regclass, indisunique, pg_get_indexdef(indexrelid), pg_get_expr(indpred, indrelid) FROM pg_index
  WHERE indrelid = 'items'::regclass ORDER BY indisprimary;
SELECT adnum, pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'items'::regclass;
SELECT obj_description('items'::regclass, 'pg_class'), col_description('items'::regclass, 3), obj_description('orders'::regclass, 'pg_class');
SELECT pg_table_is_visible('items'::regclass), pg_table_is_visible('store.shelf'::regclass);
SELECT count(*) FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid WHERE t.relname = 'orders' AND c.confrelid = 'items'::regclass;
CREATE FUNCTION columns_of(t text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  list text := '';
  a record;
BEGIN
  FOR a IN SELECT attname, format_type(atttypid, atttypmod) AS kind FROM pg_attribute WHERE attrelid = t::regclass AND attnum > 0 ORDER BY attnum LOOP
    list := list || a.attname || ' ' || a.kind || '; ';
  END LOOP;
  RETURN list;
END $$;
SELECT columns_of('items'), columns_of('store.shelf');
