SELECT sum(*) FROM (VALUES (1)) v(a);
SELECT max(*) FROM (VALUES (1)) v(a);
SELECT string_agg(*) FROM (VALUES (1)) v(a);
SELECT json_agg(*) FROM (VALUES (1)) v(a);
-- state only: the message says more
SELECT jsonb_object_agg(*) FROM (VALUES (1)) v(a);
SELECT array_agg(*) FROM (VALUES (1)) v(a);
SELECT corr(*) FROM (VALUES (1)) v(a);
SELECT bool_and(*) FROM (VALUES (1)) v(a);
SELECT sum(*) OVER () FROM (VALUES (1)) v(a);
SELECT mode(*) WITHIN GROUP (ORDER BY a) FROM (VALUES (1)) v(a);
SELECT percentile_cont(*) WITHIN GROUP (ORDER BY a) FROM (VALUES (1)) v(a);
SELECT rank(*) WITHIN GROUP (ORDER BY a) FROM (VALUES (1)) v(a);
SELECT sum(*) FILTER (WHERE a > 0) FROM (VALUES (1)) v(a);
SELECT count(*) FROM (VALUES (1)) v(a) HAVING sum(*) > 1;
SELECT count(*) FROM (VALUES (1)) v(a) ORDER BY min(*);
