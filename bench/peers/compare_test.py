"""The comparison of answers and the figures of a report, without engines."""

import unittest

import compare


class CompareTest(unittest.TestCase):
    def test_rows_in_any_order(self):
        self.assertTrue(compare.same_answer([["a", "1.0"], ["b", "2"]], [["b", "2.00"], ["a", "1"]]))
        self.assertFalse(compare.same_answer([["a", "1"]], [["a", "1"], ["a", "1"]]))
        self.assertFalse(compare.same_answer([["a", "1"]], [["a", "1.01"]]))

    def test_numbers_within_tolerance(self):
        self.assertTrue(compare.same_answer([["0.3333333333333333"]], [["0.33333333333333333333"]]))
        self.assertTrue(compare.same_answer([["12345678901"]], [["12345678901.0"]]))
        self.assertFalse(compare.same_answer([["100.01"]], [["100.02"]]))

    def test_texts_and_nulls(self):
        self.assertTrue(compare.same_answer([["abc  ", None]], [["abc", ""]]))
        self.assertFalse(compare.same_answer([["abc"]], [["abd"]]))

    def test_report(self):
        answers = {"scyper": {"Q1": {"first": 2, "ms": 1, "rows": [["1"]]}, "Q2": {"error": "no"}},
                   "duckdb": {"Q1": {"first": 9, "ms": 4, "rows": [["2"]]}, "Q2": {"first": 1, "ms": 1, "rows": []}}}
        report = compare.compare(answers, ["Q1", "Q2"])
        self.assertEqual(report["wrong"], 1)
        self.assertEqual(report["failed"], 1)
        self.assertAlmostEqual(report["geomean_ratio"]["duckdb"], 0.25)
        self.assertEqual(report["queries"][1]["errors"], {"scyper": "no"})


if __name__ == "__main__":
    unittest.main()
