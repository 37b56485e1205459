-- Abbreviations whose meaning has changed, and zones that have a history.
SELECT '2013-06-01 12:00 MSK'::timestamptz, '2015-06-01 12:00 MSK'::timestamptz, '2005-01-01 12:00 MSK'::timestamptz, '2005-06-01 12:00 MSD'::timestamptz;
SELECT '2012-06-01 12:00+00'::timestamptz AT TIME ZONE 'MSK', '2016-06-01 12:00+00'::timestamptz AT TIME ZONE 'msk', '1985-06-01 12:00+00'::timestamptz AT TIME ZONE 'MSD';
SELECT '2011-03-27 00:00 MSK'::timestamptz, '2014-10-26 01:30 MSK'::timestamptz, timestamp '2014-10-26 01:00' AT TIME ZONE 'MSK';
SELECT '1991-01-01 00:00 VET'::timestamptz, '2010-01-01 00:00 VET'::timestamptz, '2020-01-01 00:00 VET'::timestamptz;
SELECT '2024-01-01 12:00 NOVT'::timestamptz, '2008-01-01 12:00 NOVT'::timestamptz, '2000-01-01 ART'::timestamptz, '2000-01-01 ARST'::timestamptz;
SELECT '2024-01-01 12:00 EST'::timestamptz, '2024-07-01 12:00 EST'::timestamptz, '2024-07-01 12:00 CEST'::timestamptz;
SELECT '1850-01-01 00:00'::timestamp AT TIME ZONE 'Europe/Moscow', '1900-01-01 00:00+00'::timestamptz AT TIME ZONE 'America/New_York', '0044-03-15 00:00+00 BC'::timestamptz AT TIME ZONE 'Europe/Berlin';
SELECT '2100-07-01 00:00+00'::timestamptz AT TIME ZONE 'Europe/Berlin', '12345-07-01 00:00+00'::timestamptz AT TIME ZONE 'America/New_York', '294000-01-01 00:00+00'::timestamptz AT TIME ZONE 'Europe/Berlin';
SET timezone = 'Europe/Moscow';
SELECT '2011-03-27 02:30'::timestamptz, '2014-10-26 01:30'::timestamptz, '1919-05-31 23:30'::timestamptz, '1850-01-01'::timestamptz, '294276-12-31 12:00'::timestamptz, '4713-01-01 BC'::timestamptz;
RESET timezone;
SELECT count(*), count(*) FILTER (WHERE is_dst) > 40 FROM pg_timezone_abbrevs;
SELECT abbrev, utc_offset, is_dst FROM pg_timezone_abbrevs WHERE abbrev IN ('MSK', 'CEST', 'EST', 'NOVT', 'UTC', 'NZDT') ORDER BY abbrev;
