SELECT array_fill(0, ARRAY[3]), array_fill('a'::text, ARRAY[2], ARRAY[0]), array_fill(NULL::int, ARRAY[2]), array_fill(1, '{}');
SELECT array_fill(1, NULL);
SELECT array_fill(1, ARRAY[NULL]::int[]);
SELECT array_fill(1, ARRAY[2], NULL);
SELECT array_fill(1, ARRAY[2], ARRAY[1, 2]);
SELECT array_fill(1, ARRAY[-1]);
SELECT array_fill(1, ARRAY[0]), array_length(array_fill(false, ARRAY[5]), 1);
