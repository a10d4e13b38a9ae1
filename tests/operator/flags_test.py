"""The flags of the operator's program, and how it refuses them. Usage: flags_test.py SAILOR_OPERATOR"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

OPERATOR = sys.argv.pop(1)


def operator(*arguments):
    return subprocess.run([OPERATOR, *arguments], capture_output=True, text=True, check=False, timeout=60)


class Flags(unittest.TestCase):
    def assert_refused(self, done, *fragments):
        self.assertEqual(done.returncode, 2, done.stderr)
        for fragment in fragments:
            self.assertIn(fragment, done.stderr)

    def test_a_missing_flag_is_named(self):
        self.assert_refused(operator(), "--trainer-image is required")

    def test_an_unknown_flag_is_named(self):
        self.assert_refused(operator("--trainer-image", "i", "--sail"), "--sail")

    def test_a_compute_capability_that_is_none_is_refused(self):
        self.assert_refused(operator("--trainer-image", "i", "--min-compute-capability", "sm_70"), "sm_70", "such as 7.5")

    def test_empty_values_are_refused(self):
        self.assert_refused(operator("--trainer-image", ""), "--trainer-image: is empty; give a value\n")
        for option in ("--kubeconfig", "--metrics-address", "--health-address", "--callback-address", "--status-address",
                       "--namespaces", "--network-model", "--lease-name", "--ca-secret"):
            with self.subTest(option):
                done = operator("--trainer-image", "i", option, "", "--kubeconfig", "/does/not/exist")
                self.assert_refused(done, f"{option}: is empty; give a value, or omit it")

    def test_a_folder_is_not_taken_for_a_kubeconfig(self):
        self.assert_refused(operator("--trainer-image", "i", "--kubeconfig", "/tmp"), "reading the kubeconfig: cannot read /tmp; is it a file?")

    def test_a_kubeconfig_without_a_ca_says_what_it_lacks(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("{current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], "
                       "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}], users: [{name: u, user: {token: t}}]}")
            file.flush()
            done = operator("--trainer-image", "i", "--kubeconfig", file.name)
        self.assert_refused(done, "the cluster has no certificate-authority; name a file")

    def test_the_last_of_two_values_counts(self):
        done = operator("--trainer-image", "i", "--log-level", "info", "--log-level", "debug", "--kubeconfig", "/does/not/exist")
        self.assert_refused(done, "/does/not/exist")

    def test_an_installation_without_a_cluster_is_not_checked(self):
        self.assert_refused(operator("--trainer-image", "i", "--check", "--kubeconfig", "/does/not/exist"), "/does/not/exist")

    def test_help_is_no_error(self):
        done = operator("--help")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("--trainer-image", done.stdout)

    def test_its_version_is_that_of_the_chart(self):
        chart = (pathlib.Path(__file__).parents[2] / "charts/sailor/Chart.yaml").read_text(encoding="utf-8")
        done = operator("--version")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"\nversion: {done.stdout}", chart)


if __name__ == "__main__":
    unittest.main()
