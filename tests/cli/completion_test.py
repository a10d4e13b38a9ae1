#!/usr/bin/env python3
"""Completes commands in a real bash, and shows the man page. Takes the arguments SAILOR ROOT.

The commands and options that must appear are those that --help lists.
"""

import os
import pathlib
import re
import shutil
import subprocess
import unittest

from program import SAILOR, ProgramTest, sailor

# Completes the words, and prints what bash would offer. compopt works only while bash itself completes.
COMPLETE = """
compopt() { echo "compopt $2"; }
source <("$SAILOR" completion bash)
COMP_WORDS=("$SAILOR" "$@")
COMP_CWORD=$#
_sailor "$SAILOR" "${@: -1}" "${@: -2:1}"
printf '%s\\n' "${COMPREPLY[@]}"
"""
KUBECTL = """#!/bin/sh
printf '%s\\n' "$*" > "$(dirname "$0")/call"
printf 'trainingjob.sailor.dev/demo\\ntrainingjob.sailor.dev/other\\n'
"""
PLUGIN_COMPLETION = pathlib.Path(SAILOR).with_name("kubectl_complete-sailor")


def commands():
    """The names of the commands that --help lists."""
    return re.findall(r"(?m)^  ([a-z]+) ", sailor("--help").stdout.split("Subcommands:\n")[1])


def options_of(command):
    return set(re.findall(r"(?<![\w-])--?[A-Za-z][a-z-]*\b", " ".join(
        re.findall(r"(?mi)^  (-[^ ]+)", sailor(*command, "--help").stdout))))


class Completion(ProgramTest):
    def setUp(self):
        kubectl = pathlib.Path(self.write("bin/kubectl", KUBECTL))
        kubectl.chmod(0o755)
        self.environment = {**os.environ, "SAILOR": SAILOR, "PATH": f"{kubectl.parent}:{os.environ['PATH']}"}
        self.call = kubectl.parent / "call"

    def offered(self, *words):
        done = subprocess.run(["bash", "--norc", "-c", COMPLETE, "bash", *words], capture_output=True, text=True, check=True,
                              env=self.environment)
        self.assertEqual(done.stderr, "")
        return done.stdout.split("\n")[:-1]

    def test_bash_offers_every_command(self):
        self.assertGreater(len(commands()), 12)
        self.assertEqual(self.offered(""), commands())
        self.assertEqual(self.offered("rep"), ["replay"])

    def test_bash_offers_every_option_of_every_command(self):
        for command in commands():
            options = options_of([command])
            self.assertIn("--help", options)
            self.assertEqual({option for option in self.offered(command, "-") if len(option) > 1}, options, command)
        self.assertIn("--version", self.offered("--v"))

    def test_bash_offers_the_values_of_a_choice(self):
        self.assertEqual(self.offered("plan", "-o", ""), ["html", "json", "table", "yaml"])
        self.assertEqual(self.offered("plan", "--output", "=", "j"), ["json"])
        self.assertEqual(self.offered("plan", "--output", "="), ["html", "json", "table", "yaml"])
        self.assertEqual(self.offered("completion", ""), ["bash", "fish", "zsh"])

    def test_bash_offers_files_and_folders_where_an_option_takes_them(self):
        for words in (["plan", "-f", ""], ["validate", ""], ["validate", "a.yaml", ""], ["replay", "--trace", ""]):
            self.assertEqual(self.offered(*words), ["compopt default", ""], words)
        self.assertEqual(self.offered("plan", "--profiles", ""), ["compopt dirnames", ""])
        self.assertEqual(self.offered("plan", "--execution", "")[:2], ["compopt default", "default"])
        self.assertEqual(self.offered("plan", "--budget", ""), [""])

    def test_bash_offers_the_jobs_of_the_cluster(self):
        self.assertEqual(self.offered("explain", ""), ["demo", "other"])
        self.assertEqual(self.offered("logs", "-f", "-n", "team", "de"), ["demo"])
        self.assertEqual(self.call.read_text(encoding="utf-8"),
                         "--namespace=team get trainingjobs.sailor.dev -o name --request-timeout=2s\n")

    def test_without_a_cluster_no_job_is_offered(self):
        self.environment["PATH"] = os.environ["PATH"]
        self.write("bin/kubectl", "#!/bin/sh\necho 'connection refused' >&2\nexit 1\n")
        self.assertEqual(self.offered("explain", ""), [""])

    def test_kubectl_completes_the_words_of_the_plugin(self):
        done = subprocess.run([PLUGIN_COMPLETION, "top", "o"], capture_output=True, text=True, check=True, env=self.environment)
        self.assertEqual(done.stdout, "other\n:4\n")
        done = subprocess.run([PLUGIN_COMPLETION, "plan", "--output=j"], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout, "--output=json\n:4\n")

    def test_the_scripts_of_other_shells_are_valid_where_the_shell_is_installed(self):
        for shell in ("bash", "zsh", "fish"):
            script = self.write(f"script.{shell}", sailor("completion", shell).stdout)
            self.assertIn("__complete", pathlib.Path(script).read_text(encoding="utf-8"))
            if shutil.which(shell):
                subprocess.run([shell, "-n", script], check=True)

    def test_another_shell_is_refused(self):
        self.assert_refused(sailor("completion", "tcsh"), 2, "tcsh", "bash", "fish", "zsh", "sailor completion --help")
        self.assert_refused(sailor("completion"), 2, "sailor completion --help")


class Manual(ProgramTest):
    def setUp(self):
        self.page = self.write("sailor.1", sailor("manual").stdout)

    def test_the_man_page_has_every_command_and_option(self):
        text = sailor("manual").stdout.replace("\\-", "-").replace("\\fB", "").replace("\\fR", "")
        for command in commands():
            section = text.split(f".SS {command}\n")[1].split(".SS ")[0]
            for option in options_of([command]):
                self.assertRegex(section, rf"(?m)^(.*, )?{option}(,| |$)")

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_the_man_page_is_shown_without_warnings(self):
        done = subprocess.run(["groff", "-ww", "-man", "-Tutf8", self.page], capture_output=True, text=True, check=True)
        self.assertEqual(done.stderr, "")
        self.assertIn("plan training jobs over GPU pools", done.stdout)


if __name__ == "__main__":
    unittest.main()
