create table account (id int primary key, owner text not null, balance numeric(12,2) not null default 0, constraint no_debt check (balance >= 0));
create table entry (id int generated always as identity, acc int not null references account, amount numeric(12,2) not null, note text, at timestamp default '2024-01-01');
insert into account values (1, 'ann', 100), (2, 'bob', 50), (3, 'cy', 0);
create function transfer(src int, dst int, amt numeric) returns numeric language plpgsql as $$
declare left_over numeric;
begin
  if amt <= 0 then raise exception 'bad amount %', amt using errcode = '22023', hint = 'positive only'; end if;
  update account set balance = balance - amt where id = src returning balance into left_over;
  if not found then raise exception no_data_found using message = format('no account %s', src); end if;
  update account set balance = balance + amt where id = dst;
  if not found then raise exception 'no account %', dst using errcode = 'P0002'; end if;
  insert into entry (acc, amount, note) values (src, -amt, 'to ' || dst), (dst, amt, 'from ' || src);
  return left_over;
end $$;
select transfer(1, 2, 30);
select transfer(1, 2, 300);
select transfer(9, 2, 1);
select transfer(1, 9, 1);
select transfer(1, 2, -5);
select * from account order by id;
select acc, amount, note from entry order by id;
do $$
declare s text; m text; d text; h text; c text; t text; cn text;
begin
  perform transfer(2, 1, 1000);
exception when check_violation then
  get stacked diagnostics s = returned_sqlstate, m = message_text, d = pg_exception_detail, h = pg_exception_hint, cn = constraint_name, t = table_name, c = column_name;
  raise notice '% | % | % | % | % | % | %', s, m, d, h, cn, t, c;
end $$;
do $$ begin perform transfer(1, 2, 0); exception when others then raise notice '% %', sqlstate, sqlerrm; end $$;
create procedure close_day(inout n int default 0) language plpgsql as $$
declare r record;
begin
  for r in select acc, sum(amount) s from entry group by acc order by acc loop
    n := n + 1;
    raise notice 'acc % moved %', r.acc, r.s;
  end loop;
end $$;
call close_day();
call close_day(10);
begin;
select transfer(2, 3, 10);
savepoint a;
select transfer(2, 3, 1000);
rollback to a;
select transfer(2, 3, 20);
commit;
select id, balance, sum(balance) over (order by id) run from account order by id;
select acc, amount, sum(amount) over (partition by acc order by id) from entry order by id;
select acc, sum(amount) from entry group by rollup (acc) order by acc nulls last;
update account set balance = balance * 1.015;
select * from account order by id;
select round(avg(balance), 2), min(balance), max(balance), stddev(balance)::numeric(10,3), percentile_cont(0.5) within group (order by balance) from account;
lock table account in share mode;
