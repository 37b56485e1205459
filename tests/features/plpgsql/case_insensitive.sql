create or replace function MixedCase(A int, "B" int) returns int language PLPGSQL as $$
declare
  Total INT := 0;
  "Quoted" int := 1;
begin
  for I in 1..A loop TOTAL := total + i; end loop;
  return Total + "B" + "Quoted";
end $$;
select mixedcase(3, 10), MIXEDCASE(1, 1);
select "MixedCase"(1, 2);
