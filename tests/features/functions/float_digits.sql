-- extra_float_digits: the shortest text that reads back, or so many digits less.
SELECT 0.1::float8 + 0.2::float8, 1::float8 / 3, 1::float4 / 3, 1e20::float8 / 3;
SET extra_float_digits = 0;
SELECT 0.1::float8 + 0.2::float8, 1::float8 / 3, 1::float4 / 3, 1e20::float8 / 3, 1e15::float8, 1e14::float8, 0.0001::float4, 0.00001::float4;
SELECT (1::float8 / 3)::text, to_json(1::float8 / 3), ARRAY[1::float8 / 3], concat(1::float4 / 3);
SET extra_float_digits = -3;
SELECT 0.1::float8 + 0.2::float8, 1::float8 / 3, 1::float4 / 3, 'NaN'::float8, '-Infinity'::float4, '-0'::float8;
SET extra_float_digits = -15;
SELECT 1234.5::float8, 1234.5::float4;
SET extra_float_digits = 3;
SELECT 0.1::float8 + 0.2::float8, 1::float4 / 3;
RESET extra_float_digits;
SELECT 1::float8 / 3;
