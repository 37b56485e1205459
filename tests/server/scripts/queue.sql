create type jstate as enum ('ready', 'running', 'done', 'failed');
create table job (id bigint generated always as identity primary key, kind text not null, payload jsonb, state jstate not null default 'ready', tries int not null default 0, run_at timestamp not null default '2024-01-01', err text);
create index on job (run_at) where state = 'ready';
insert into job (kind, payload, run_at) select case when i % 3 = 0 then 'mail' else 'pdf' end, jsonb_build_object('n', i), timestamp '2024-01-01' + i * interval '1 minute' from generate_series(1, 9) i;
begin;
select id, kind from job where state = 'ready' and run_at <= '2024-01-01 00:05' order by run_at limit 2 for update skip locked;
update job set state = 'running', tries = tries + 1 where id in (select id from job where state = 'ready' order by run_at limit 2 for update skip locked) returning id, state, tries;
commit;
with next as (select id from job where state = 'ready' order by run_at desc limit 1 for update skip locked) update job j set state = 'running' from next n where n.id = j.id returning j.*;
create function work(k text) returns setof job language plpgsql as $$
declare j job;
begin
  for j in select * from job where kind = k and state = 'ready' order by id loop
    begin
      if (j.payload->>'n')::int % 2 = 0 then raise exception 'even %', j.payload->>'n'; end if;
      update job set state = 'done' where id = j.id returning * into j;
    exception when raise_exception then
      update job set state = 'failed', err = sqlerrm, tries = tries + 1 where id = j.id returning * into j;
    end;
    return next j;
  end loop;
end $$;
select id, kind, state, err from work('pdf');
select id, state, tries, err from work('mail');
select state, count(*), array_agg(id order by id) from job group by state order by state;
select kind, state, count(*) from job group by grouping sets ((kind), (state), ()) order by kind nulls last, state nulls last;
select max(state), min(state) from job;
select id from job where state > 'running' order by state desc, id;
update job set state = 'nope' where id = 1;
delete from job using (select id from job where state = 'done') d where job.id = d.id;
select enum_range(null::jstate), enum_first(null::jstate), 'done'::jstate > 'ready'::jstate;
select coalesce(err, '-') e, count(*) over () from job order by id;
merge into job using (values (1, 'x'), (100, 'y')) v(i, k) on id = i when matched and state = 'running' then update set kind = k when matched then delete when not matched then insert (kind) values (k);
select kind, state from job order by id;
select extract(epoch from max(run_at) - min(run_at)) from job;
