#!/usr/bin/env python3
"""Checks that the pages name what exists: links and their anchors, paths of files and folders, tests, names in code, and
the version.

Past decisions are never edited, so only their links are checked.

usage: docs_test.py ROOT
"""

import os
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
SOURCES = {".cc", ".h", ".go", ".py", ".sh", ".yaml", ".cmake"}
NOT_OURS = {".git", ".deps", "build"}
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"[\w./-]+\.(?:h|cc|py|go|sh|cmake|md|svg|yaml)")
TEST_NAME = re.compile(r"([A-Z]\w+)\.([A-Z]\w+)")
NAME = re.compile(r"[A-Za-z]\w*_\w+|\w*[a-z][A-Z]\w*")  # snake_case or camelCase: a name in code or in a manifest
OF_KUBERNETES = {"fsGroup", "podFailurePolicy", "runAsUser"}
TEST = re.compile(r"^TEST(?:_[FP])?\((\w+), (\w+)\)", re.MULTILINE)


def files_below(root):
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in NOT_OURS]
        yield from (pathlib.Path(folder, name).relative_to(root) for name in names)


FILES = sorted(files_below(ROOT))
FOLDERS = {parent for file in FILES for parent in file.parents}
PAGES = [file for file in FILES if file.suffix == ".md"]
TOP_FOLDERS = {file.parts[0] for file in FILES if len(file.parts) > 1}


def text_of(path):
    return (ROOT / path).read_text(encoding="utf-8")


def prose_of(page):
    return CODE_BLOCK.sub("", text_of(page))


def anchors_of(page):
    """Returns the anchors that GitHub makes of headings."""
    headings = re.findall(r"^#+ +(.*)$", prose_of(page), re.MULTILINE)
    words = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in words}


def is_path(quoted):
    begins_at_root = re.fullmatch(r"[\w./-]+/[\w./-]+", quoted) and quoted.split("/")[0] in TOP_FOLDERS
    return begins_at_root or FILE.fullmatch(quoted)


def is_named(quoted):
    """Whether a quoted path is that of a file or folder, from the root or by its last parts."""
    parts = pathlib.PurePath(quoted).parts
    return any(path.parts[-len(parts):] == parts for path in (*FILES, *FOLDERS))


def current_pages():
    return [page for page in PAGES if page.parts[:2] != ("docs", "decisions")]


class Docs(unittest.TestCase):
    def test_every_link_leads_to_a_file_and_a_heading(self):
        for page in PAGES:
            for link in LINK.findall(prose_of(page)):
                if "://" in link:
                    continue
                with self.subTest(page=str(page), link=link):
                    path, _, anchor = link.partition("#")
                    target = (ROOT / page.parent / path).resolve() if path else ROOT / page
                    self.assertTrue(target.exists(), "the file does not exist")
                    if anchor:
                        self.assertIn(anchor, anchors_of(target.relative_to(ROOT)))

    def test_every_quoted_path_exists(self):
        for page in current_pages():
            for quoted in QUOTED.findall(prose_of(page)):
                if is_path(quoted):
                    with self.subTest(page=str(page), path=quoted):
                        self.assertTrue(is_named(quoted), "no file or folder has this path")

    def test_every_quoted_test_exists(self):
        tests = {name for file in FILES if file.parts[0] == "tests" and file.suffix == ".cc" for name in TEST.findall(text_of(file))}
        for page in current_pages():
            for quoted in QUOTED.findall(prose_of(page)):
                if name := TEST_NAME.fullmatch(quoted):
                    with self.subTest(page=str(page), test=quoted):
                        self.assertIn(name.groups(), tests)

    def test_every_reason_has_an_entry_in_troubleshooting(self):
        reasons = re.findall(r'\{Reason::k\w+, "(\w+)"\}', text_of("operator/model/reason.cc"))
        self.assertGreater(len(reasons), 40)
        entries = set(QUOTED.findall("".join(re.findall(r"^\|.*$", text_of("docs/troubleshooting.md"), re.MULTILINE))))
        self.assertEqual([reason for reason in reasons if reason not in entries], [])

    def test_program_chart_and_changelog_have_one_version(self):
        places = {"CMakeLists.txt": r"project\(sailor VERSION (\S+)", "charts/sailor/Chart.yaml": r"^version: (\S+)", "CHANGELOG.md": r"^## (\S+)"}
        versions = {path: re.search(pattern, text_of(path), re.MULTILINE).group(1) for path, pattern in places.items()}
        versions["appVersion"] = re.search(r'^appVersion: "(\S+)"', text_of("charts/sailor/Chart.yaml"), re.MULTILINE).group(1)
        self.assertEqual(len(set(versions.values())), 1, versions)

    def test_every_quoted_name_exists(self):
        names = set()
        for file in FILES:
            if file.suffix in SOURCES:
                names.update(re.findall(r"\w+", text_of(file)))
        for page in current_pages():
            for quoted in QUOTED.findall(prose_of(page)):
                if NAME.fullmatch(quoted) and quoted not in OF_KUBERNETES:
                    with self.subTest(page=str(page), name=quoted):
                        self.assertTrue(quoted in names, "no source has this name")  # assertIn would print all names


if __name__ == "__main__":
    unittest.main()
