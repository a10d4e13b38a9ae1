#!/usr/bin/env python3
"""Runs the commands of docs/cli.md, the README and docs/gke.md, and compares the flags with the help texts.

usage: docs_test.py SAILOR ROOT
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SAILOR = pathlib.Path(sys.argv.pop(1)).resolve()
ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
BLOCK = re.compile(r"^```sh(?: fails-with-(\d))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAG = re.compile(r"--[a-z][a-z-]+")
COMMANDS = ("plan", "simulate", "evaluate", "paper", "replay", "validate", "render")


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def help_of(command):
    return subprocess.run([SAILOR, command, "--help"], capture_output=True, text=True, check=True).stdout


class Docs(unittest.TestCase):
    def run_blocks(self, blocks):
        """Runs the blocks one after another in one folder, as a reader would."""
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(ROOT / "crds", os.path.join(folder, "crds"))
            os.makedirs(os.path.join(folder, "build"))
            os.symlink(SAILOR.parent, os.path.join(folder, "build/bin"))
            environment = {**os.environ, "PATH": f"{SAILOR.parent}:{os.environ['PATH']}"}
            for status, block in blocks:
                with self.subTest(block=block):
                    done = subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=folder, env=environment,
                                          capture_output=True, text=True, check=False)
                    self.assertEqual(done.returncode, int(status or 0), done.stderr)
                    self.assertEqual(done.stderr == "", done.returncode == 0, done.stderr)

    def test_every_block_of_the_command_line_runs(self):
        blocks = BLOCK.findall(text_of("docs/cli.md"))
        self.assertGreaterEqual(len(blocks), 6)
        self.run_blocks(blocks)

    def test_every_sailor_command_of_the_readme_and_of_the_guide_to_gke_runs(self):
        pages = [text_of("README.md"), text_of("docs/gke.md")]
        commands = [[line for line in page.splitlines() if line.startswith("build/bin/sailor ")] for page in pages]
        lines = sum(commands, [])
        self.assertGreaterEqual(len(commands[0]), 4)
        self.assertGreaterEqual(len(commands[1]), 1)
        self.run_blocks([("", line + "\n") for line in lines])

    def test_every_flag_is_described_and_every_described_flag_exists(self):
        flags = set().union(*(FLAG.findall(help_of(command)) for command in COMMANDS))
        flags -= {"--help", "--file", "--output"}
        self.assertEqual(set(FLAG.findall(text_of("docs/cli.md"))), flags)

    def test_every_command_is_described(self):
        overview = subprocess.run([SAILOR, "--help"], capture_output=True, text=True, check=True).stdout
        for command in COMMANDS:
            self.assertIn(f"`sailor {command}`", text_of("docs/cli.md"))
            self.assertRegex(overview, rf"(?m)^  {command} ")


if __name__ == "__main__":
    unittest.main()
