create schema audit;
create table audit.log (n bigint generated always as identity, tab text, op text, old jsonb, new jsonb, who text);
create function audit.f() returns trigger language plpgsql security definer as $$
begin
  if tg_op = 'DELETE' then
    insert into audit.log (tab, op, old) values (tg_table_schema || '.' || tg_table_name, tg_op, to_jsonb(old));
    return old;
  elsif tg_op = 'UPDATE' then
    if old is not distinct from new then return null; end if;
    insert into audit.log (tab, op, old, new) select tg_relname, tg_op, jsonb_object_agg(o.key, o.value), jsonb_object_agg(o.key, n.value) from jsonb_each(to_jsonb(old)) o join jsonb_each(to_jsonb(new)) n using (key) where o.value is distinct from n.value;
    return new;
  end if;
  insert into audit.log (tab, op, new) values (tg_table_name, tg_op, to_jsonb(new));
  return new;
end $$;
create table a (id int primary key, v text, w numeric);
create table b (k text primary key, d date);
create trigger t1 after insert or update or delete on a for each row execute function audit.f();
create trigger t2 after insert or update or delete on b for each row execute function audit.f();
insert into a values (1, 'x', 1.50), (2, 'y', null);
update a set v = v || '!' where id = 1;
update a set w = w;
update a set id = 3, v = null where id = 2;
insert into b values ('k', '2024-01-01') on conflict (k) do nothing;
insert into b values ('k', '2024-01-02') on conflict (k) do update set d = excluded.d;
delete from a where id = 1;
select n, tab, op, old, new from audit.log order by n;
create table c (like a including all);
create trigger t3 after insert on c referencing new table as nt for each statement execute function audit.f();
create function audit.g() returns trigger language plpgsql as $$
begin
  execute format('insert into audit.log (tab, op, new) select %L, tg, to_jsonb(n) from nt n, (values (%L)) x(tg)', tg_table_name, tg_op);
  return null;
end $$;
drop trigger t3 on c;
create trigger t4 after insert on c referencing new table as nt for each statement execute function audit.g();
insert into c select i, 'r' || i, i from generate_series(1, 3) i;
select tab, op, new from audit.log where tab = 'c' order by n;
alter table a disable trigger t1;
update a set v = 'quiet';
alter table a enable trigger t1;
delete from a;
select op, count(*) from audit.log group by op order by op;
select tgname, tgenabled from pg_trigger where not tgisinternal order by 1;
insert into a values (9, 'after', 1);
