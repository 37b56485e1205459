-- Rows without fields.
SELECT ROW() IS NULL AS a, ROW() IS NOT NULL AS b;
SELECT ROW() = ROW();
