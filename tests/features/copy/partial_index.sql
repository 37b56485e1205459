CREATE TABLE c (id integer PRIMARY KEY, name text, live boolean);
CREATE UNIQUE INDEX c_name ON c (lower(name)) WHERE live;
COPY c FROM STDIN;
1	Ann	t
2	ANN	f
3	bob	t
\.
COPY c (name, id) FROM STDIN WITH (FORMAT csv);
Ann,4
\.
SELECT * FROM c ORDER BY id;
COPY c FROM STDIN;
5	eve	t
6	BOB	t
\.
SELECT id FROM c WHERE live AND lower(name) = 'bob';
COPY c TO STDOUT;
UPDATE c SET live = true WHERE id = 2;
