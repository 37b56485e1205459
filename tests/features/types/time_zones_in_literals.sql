SELECT 'T10:11'::time, '10:11:12x+05:30'::time, '2020-01-01 10:11 Europe/Berlin'::time, '10:11:12.1234567'::time, '1:2:3'::time, '040506-08'::time, '12:30 AM'::time, '12:30 PM'::time;
SELECT '10:11 Europe/Berlin'::time;
SELECT 'Jan 1 2020 10:00'::time;
SELECT '2020-01-01T10:11:12Z'::time;
SELECT 'epoch'::time;
SELECT '13:30 PM'::time;
SELECT timestamptz '2020-01-01 12:00Z' AT TIME ZONE 'UTC+3', timestamptz '2020-01-01 12:00Z' AT TIME ZONE '+03', timestamptz '2020-01-01 12:00Z' AT TIME ZONE 'XYZ-05:30', timestamptz '2020-01-01 12:00Z' AT TIME ZONE 'EST5EDT';
SELECT '2020-01-01 10:11:12 GMT+5'::timestamptz, '2020-01-01 10:11:12 Etc/GMT+5'::timestamptz, '2020-07-01 10:00 MET'::timestamptz;
SELECT 'J2451187 04:05'::timestamptz, '19990108 040506 UTC'::timestamptz, 'Mon Jan 6 10:00:00 2020 EST'::timestamptz, '2050-07-01 12:00 Europe/London'::timestamptz;
