#!/usr/bin/env python3
"""Tests what scripts/bench.py writes into the pages."""

import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import bench  # noqa: E402


class Page(unittest.TestCase):
    def test_a_row_with_a_goal_says_whether_it_holds(self):
        rows = [bench.row("plan", 0.25, "s", 0.3), bench.row("memory", 131, "MB", 100), bench.row("rate", 12365, "tokens/s")]
        self.assertEqual(bench.markdown(rows, "2026-11-22", "2 cores").splitlines()[4:],
                         ["| plan | 0.25 | s | 0.3 | yes |", "| memory | 131 | MB | 100 | **no** |", "| rate | 12,365 | tokens/s |  |  |"])

    def test_the_text_says_when_and_where_it_was_measured(self):
        self.assertEqual(bench.markdown([], "2026-11-22", "2 cores").splitlines()[0], "2026-11-22, on 2 cores.")

    def test_only_the_table_of_the_part_changes(self):
        (begin, end), other = bench.markers("pass"), "\n".join(bench.markers("scrape"))
        page = f"before\n{begin}\nold\n{end}\nafter\n{other}\n"
        self.assertEqual(bench.with_table(page, "pass", "new"), f"before\n{begin}\nnew\n{end}\nafter\n{other}\n")

    def test_writing_twice_is_the_same_as_writing_once(self):
        once = bench.with_table("\n".join(bench.markers("pass")) + "\n", "pass", "new")
        self.assertEqual(bench.with_table(once, "pass", "new"), once)

    def test_a_page_without_markers_is_an_error(self):
        with self.assertRaises(ValueError):
            bench.with_table("no markers", "pass", "new")

    def test_each_part_has_its_table_in_a_page(self):
        for part in bench.PARTS:
            bench.with_table(bench.page_of(part).read_text(), part, "new")

    def test_the_machine_is_described_without_its_name(self):
        self.assertRegex(bench.machine(), r"^\d+ cores \(.+\), \d+ GiB of memory$")


if __name__ == "__main__":
    unittest.main()
