#!/usr/bin/env python3
"""Tests what scripts/bench.py writes into docs/measurements.md."""

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

    def test_only_the_text_between_the_markers_changes(self):
        page = f"before\n{bench.BEGIN}\nold\n{bench.END}\nafter\n"
        self.assertEqual(bench.between_markers(page, "new"), f"before\n{bench.BEGIN}\nnew\n{bench.END}\nafter\n")

    def test_writing_twice_is_the_same_as_writing_once(self):
        page = f"{bench.BEGIN}\n{bench.END}\n"
        once = bench.between_markers(page, "new")
        self.assertEqual(bench.between_markers(once, "new"), once)

    def test_a_page_without_markers_is_an_error(self):
        with self.assertRaises(ValueError):
            bench.between_markers("no markers", "new")

    def test_the_pages_of_the_project_have_the_markers(self):
        for page in ["measurements.md", *bench.PAGES.values()]:
            bench.between_markers((ROOT / "docs" / page).read_text(), "new")

    def test_the_machine_is_described_without_its_name(self):
        self.assertRegex(bench.machine(), r"^\d+ cores \(.+\), \d+ GiB of memory$")


if __name__ == "__main__":
    unittest.main()
