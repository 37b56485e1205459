CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE c (id integer PRIMARY KEY, m mood DEFAULT 'ok', ms mood[]);
COPY c FROM STDIN;
1	happy	{sad,ok}
2	\N	\N
\.
COPY c (id) FROM STDIN;
3
\.
COPY c (id, m) FROM STDIN WITH (FORMAT csv);
4,bad
\.
COPY c TO STDOUT;
COPY (SELECT m, id FROM c ORDER BY m) TO STDOUT WITH (FORMAT csv, HEADER);
SELECT * FROM c ORDER BY id;
