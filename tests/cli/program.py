"""Runs the program under test and checks its refusals. Takes the arguments SAILOR ROOT from the command line."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SAILOR = str(pathlib.Path(sys.argv.pop(1)).resolve())
ROOT = pathlib.Path(sys.argv.pop(1)).resolve()
JOB = str(ROOT / "crds/examples/opt-350m.yaml")
CLUSTER = str(ROOT / "crds/examples/cluster.yaml")
INPUTS = ["-f", JOB, "--cluster", CLUSTER]


def sailor(*arguments, stdin=""):
    return subprocess.run([SAILOR, *arguments], input=stdin, capture_output=True, text=True, check=False)


class ProgramTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.planned = sailor("plan", *INPUTS, "-o", "json").stdout
        cls.plan = cls.write("plan.json", cls.planned)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def write(cls, name, text):
        path = os.path.join(cls.folder.name, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def assert_sentence(self, done, status, *fragments):
        """Checks the status and that standard error is one sentence with the fragments."""
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertRegex(done.stderr, r"\Asailor: .*\n\Z")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for fragment in fragments:
            self.assertIn(fragment, done.stderr)

    def assert_refused(self, done, status, *fragments):
        """Also checks that standard output is empty."""
        self.assert_sentence(done, status, *fragments)
        self.assertEqual(done.stdout, "")
