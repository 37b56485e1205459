SELECT bool_and(NULL), bool_or('t'), every('false');
SELECT bool_and('nonsense');
SELECT sum(NULL);
SELECT avg('1');
SELECT bit_and(NULL);
SELECT stddev('1'), var_pop(NULL), max('a'), min(NULL), count(NULL), count('x');
SELECT string_agg('a', ','), array_agg('x'), string_agg('\x61'::bytea, ',');
