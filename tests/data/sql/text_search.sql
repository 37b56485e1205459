-- Text search: the types, their operators and functions, configurations, and columns.
SELECT 'a:1A fat:2 cat:3B,5'::tsvector, 'b a '' c d'' ''it''''s'''::tsvector;

SELECT 'a & (b | !c) <-> d:*AB <3> e'::tsquery, ''::tsvector;

SELECT 'a:3A b:2a'::tsvector || 'ba:1234 a:1B', 'a'::tsquery && 'b | c', 'a'::tsquery || 'b', !!'a & b'::tsquery, 'a'::tsquery <-> 'b';

SELECT 'a:0'::tsvector;

SELECT ' '' '::tsvector;

SELECT 'a &'::tsquery;

SELECT 'a <-> '::tsquery;

SELECT 'a <20000> b'::tsquery;

SELECT ':a'::tsquery;

SELECT 'fat cat sat'::tsvector @@ 'fat & sat', 'fat:1 cat:2'::tsvector @@ 'fat <-> cat', 'fat & cat'::tsquery @@ 'fat'::tsvector;

SELECT 'a b'::tsquery;

SELECT x FROM (VALUES ('b:2'::tsvector), ('a:1'), ('a:1A'), ('a'), ('c b a')) v (x) ORDER BY x;

SELECT x FROM (VALUES ('b'::tsquery), ('a & b'), ('a | b'), ('!a'), ('a <-> b'), ('a <2> b')) v (x) ORDER BY x;

SELECT strip('a:1 b:2'), length('a:1 b'::tsvector), setweight('a:1,2 b:3'::tsvector, 'C'), setweight('a:1 b:3'::tsvector, 'B', '{b}');

SELECT ts_delete('a:1 b:2 c:3'::tsvector, 'b'), ts_delete('a:1 b:2 c:3'::tsvector, ARRAY['a', 'c']), ts_filter('a:1A b:2B c:3'::tsvector, '{a,b}');

SELECT tsvector_to_array('c:1 a b'::tsvector), array_to_tsvector(ARRAY['b', 'a', 'b']);

SELECT * FROM unnest('a:1 b:2A,3 c'::tsvector);

SELECT numnode('a & b | c'::tsquery), querytree('a & !b'::tsquery), querytree('!a'::tsquery), tsquery_phrase('a', 'b', 3);

SELECT 'a & b'::tsquery @> 'a'::tsquery, 'a'::tsquery <@ 'a | b'::tsquery;

SELECT ts_rewrite('a & b & c'::tsquery, 'a & c'::tsquery, 'd | e'::tsquery), ts_rewrite('a & b'::tsquery, 'a'::tsquery, to_tsquery('c'));

SELECT ts_rank('a:1 b:3A c:5'::tsvector, 'a & b'), ts_rank('a:1 b:3'::tsvector, 'a | b'), ts_rank_cd('a:1 b:3A c:5'::tsvector, 'a & c');

SELECT to_tsvector('english', 'The Fat Rats ate 3.5 foo-bar cheeses at http://example.com/a?b=1, mail me@example.org');

SELECT to_tsvector('simple', 'The Fat Rats'), to_tsvector('german', 'Die Häuser der Städte'), to_tsvector('russian', 'большие cats');

SELECT to_tsvector('The quick dogs') @@ to_tsquery('dog & quick'), 'the dogs run' @@ 'dog', 'dogs' @@ to_tsquery('dog');

SELECT to_tsquery('english', 'the & Fat:A & rats:*'), plainto_tsquery('english', 'The Fat Rats'), phraseto_tsquery('english', 'The Fat of Rats');

SELECT websearch_to_tsquery('english', 'fat "black cats" or -dogs');

SELECT to_tsvector('english', '{"a": ["The cats", 5], "b": "dogs"}'::jsonb), json_to_tsvector('english', '{"a": "cats", "b": 123}'::json, '["key", "numeric"]');

SELECT ts_headline('english', 'The most common type of search is to find all documents containing given query terms', to_tsquery('query & terms'), 'MaxWords=5, MinWords=2');

SELECT * FROM ts_parse('default', 'foo-bar 1.2.3 -5 <b>x</b> &amp; /usr/lib');

SELECT * FROM ts_debug('english', 'The brightest supernovaes');

SELECT count(*) FROM ts_token_type('default');

SELECT ts_lexize('english_stem', 'stars'), ts_lexize('english_stem', 'a'), get_current_ts_config();

SELECT cfgname FROM pg_ts_config ORDER BY 1;

CREATE TABLE docs (id integer PRIMARY KEY, body text, v tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED, q tsquery);

INSERT INTO docs (id, body, q) VALUES (1, 'Fat cats eat rats', 'cat'), (2, 'A dog sleeps', 'cat | dog'), (3, NULL, NULL);

SELECT id, v FROM docs WHERE v @@ to_tsquery('english', 'cats & rats') ORDER BY id;

SELECT id, v @@ q, q FROM docs ORDER BY id;

SELECT id, ts_rank(v, plainto_tsquery('english', 'dogs')) FROM docs ORDER BY id;

SELECT DISTINCT v FROM docs ORDER BY v NULLS LAST;

CREATE INDEX docs_v ON docs (v);

UPDATE docs SET body = 'cats and dogs' WHERE id = 3;

SELECT id FROM docs WHERE v = to_tsvector('english', 'a dog sleeps');

SELECT array_agg(v ORDER BY id) FROM docs;
