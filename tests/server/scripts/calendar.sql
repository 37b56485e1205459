create table room (id int primary key, name text);
create table booking (id int primary key, room int references room, from_t timestamp not null, to_t timestamp not null, who text, check (from_t < to_t));
insert into room values (1, 'red'), (2, 'blue');
create function no_overlap() returns trigger language plpgsql as $$
begin
  if exists (select 1 from booking b where b.room = new.room and b.id <> new.id and (b.from_t, b.to_t) overlaps (new.from_t, new.to_t)) then
    raise exception 'room % is taken', new.room using errcode = 'exclusion_violation', constraint = 'no_overlap', detail = format('%s to %s', new.from_t, new.to_t);
  end if;
  return new;
end $$;
create trigger bo before insert or update on booking for each row execute function no_overlap();
insert into booking values (1, 1, '2024-05-01 09:00', '2024-05-01 10:00', 'ann');
insert into booking values (2, 1, '2024-05-01 09:30', '2024-05-01 10:30', 'bob');
insert into booking values (3, 1, '2024-05-01 10:00', '2024-05-01 11:00', 'bob'), (4, 2, '2024-05-01 09:30', '2024-05-01 12:00', 'cy');
update booking set from_t = from_t - interval '1 hour' where id = 3;
update booking set to_t = to_t + interval '30 minutes' where id = 3 returning *;
insert into booking values (5, 2, '2024-05-02 10:00', '2024-05-02 09:00', 'x');
select r.name, b.who, b.to_t - b.from_t as len, extract(hour from b.from_t) h, to_char(b.from_t, 'Dy DD Mon YYYY HH24:MI') from room r left join booking b on b.room = r.id order by r.id, b.from_t;
select d::date, to_char(d, 'FMDay'), extract(isodow from d), (select count(*) from booking where from_t::date = d::date) from generate_series('2024-04-29'::timestamp, '2024-05-05', '1 day') d;
select age('2024-05-01'::timestamp, '2023-02-15'::timestamp), '2024-01-31'::date + interval '1 month', date '2024-02-28' + 2, '2024-03-01'::date - '2024-02-01'::date;
select date_trunc('week', from_t), count(*) from booking group by 1 order by 1;
select make_date(2024, 2, 29), make_interval(days => 3, hours => 4), justify_hours(interval '50 hours'), interval '1 year 2 months' * 1.5;
select room, sum(to_t - from_t) total, avg(to_t - from_t), min(from_t), max(to_t) from booking group by room order by room;
select who, from_t, lead(from_t) over (partition by room order by from_t) - to_t as gap from booking order by id;
select extract(epoch from interval '1 day 2 hours'), extract(week from date '2024-12-30'), extract(doy from date '2024-12-31'), date_part('quarter', date '2024-05-01');
select to_date('05/12/2024', 'MM/DD/YYYY'), to_timestamp('2024-05-01 13:14:15', 'YYYY-MM-DD HH24:MI:SS')::timestamp, '2024-05-01 13:14:15'::timestamp::time;
select timestamp '2024-05-01 12:00' at time zone 'Europe/Berlin' at time zone 'UTC', timestamptz '2024-10-27 01:30+00' at time zone 'Europe/Berlin';
select (date '2024-01-01', date '2024-02-01') overlaps (date '2024-01-15', interval '10 days');
select '2024-02-30'::date;
select now() - now(), current_date - current_date, pg_typeof(localtime);
select date_bin('15 minutes', from_t + interval '7 minutes', timestamp '2024-01-01') from booking order by id;
