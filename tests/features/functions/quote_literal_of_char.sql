CREATE TABLE q (c char(6), v varchar(6), t text);
INSERT INTO q VALUES ('a', 'a ', 'a '), ('it''s', 'b\c', ''), (NULL, NULL, NULL), ('', '', ' ');
SELECT quote_literal(c), quote_nullable(c), quote_literal(v), quote_nullable(t) FROM q ORDER BY t;
SELECT quote_literal('x '::char(3)), quote_nullable(NULL::char(3)), quote_literal(12), format('%L', c) FROM q ORDER BY c;
