create table w (id serial primary key, t text, c char(4), v varchar(6), ts timestamptz, d date, i interval, n numeric, f float8, b bytea, u uuid, j jsonb, a int[]); insert into w (t, c, v, ts, d, i, n, f, b, u, j, a) values ('héllo', 'ab', 'xyz', '2024-03-10 12:00:00+01', '2024-02-29', '1 year 2 mons 3 days 04:05:06.789', 12345.6789, 1.5e10, '\x00ff10', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{"a": [1, {"b": null}]}', '{1,NULL,3}'), (null, null, null, null, null, null, null, null, null, null, null, null), ('', '', '', 'infinity', '-infinity', '-1 day', 'NaN', 'NaN', '', '00000000-0000-0000-0000-000000000000', '[]', '{}');
select * from w order by id; select to_json(w) from w order by id; select w::text from w order by id; select row_to_json(r) from (select id, t, n from w) r order by id; copy w to stdout; copy w to stdout (format csv, header); copy (select t, c || '|', j from w order by id) to stdout with (format csv, force_quote *, null 'NIL'); copy w (t, v) from stdin;
tab\tx	abc
\N	\\
\.
select t, v from w where id > 3 order by id; copy w (t, d) from stdin csv;
"a,""q""",2024-01-01
,
\.
select t, t is null, d from w where id > 5 order by id; copy w (v) from stdin;
toolongvalue
\.
copy w (d) from stdin;
notadate
\.
copy w (id) from stdin;
1
\.
select max(t), min(d), max(ts), sum(n), avg(f), count(a) from w; select t || c || v, length(c), c = 'ab', v < 'xzz', coalesce(t, 'nil') from w order by id limit 3; select d + 1, d - date '2024-01-01', ts at time zone 'UTC', extract(epoch from i), i * 2, i + interval '1 day', n::int, round(n, 1), f::numeric, b || '\x01', encode(b, 'hex'), j -> 'a' -> 1 -> 'b', a[1], array_length(a, 1) from w where id = 1; select n + 1, n > 1, n = 'NaN', f = f, ts > now(), d < '1900-01-01', isfinite(d), a || 1, j || '[1]' from w where id = 3; select t, n from w order by n desc nulls last, t limit 3; select distinct on (t is null) t is null, id from w order by 1, id desc; select id from w where t in ('', 'héllo') or c = '    ' order by id; select substring(t, 2, 3), left(t, -1), right(t, 2), position('l' in t), overlay(t placing 'E' from 2), upper(t), initcap(t), reverse(t), md5(t), t ~ 'h.l', t like 'h_l%', replace(t, 'l', 'L'), translate(t, 'hlo', 'HL'), lpad(t, 8, '*'), repeat(t, 2), ascii(t), split_part(t, 'l', 1), regexp_replace(t, '[aeiou]', '#', 'g') from w where id = 1; update w set t = t || '!', c = 'zzzz', v = left(v || '123456789', 6), n = n * 2, a = a || 7, j = coalesce(j, '{}') || '{"z": 1}' where id <= 3 returning id, t, c, v, n, a, j; select json_object_agg(id, t order by id) from w where t is not null; select format('%s|%I|%L', t, t, t) from w where id = 1; select count(*) from w where w is null; select id from w where (t, c) is not distinct from (null, null) order by id; select greatest(d, '2024-01-01'), least(n, 5), nullif(v, '') from w order by id limit 2; select string_agg(coalesce(t, '-'), '/' order by id) from w; select id, t from w where t collate "C" > 'a' order by t collate "C" desc; select array_agg(t order by t nulls first) from w;
