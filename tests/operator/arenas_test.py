"""What the operator's process does with memory. Usage: arenas_test.py SAILOR_OPERATOR"""

import subprocess
import sys
import tempfile
import unittest

OPERATOR = sys.argv.pop(1)
ARENA = 64 << 20  # bytes; each arena but the first begins at a multiple of its size
NO_SERVER = ("{current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], "
             "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}], users: [{name: u, user: {token: t}}]}")


def arenas_beside_the_first(process):
    with open(f"/proc/{process.pid}/maps", encoding="utf-8") as maps:
        regions = [line.split() for line in maps]
    return sum(len(region) == 5 and region[1] == "rw-p" and int(region[0].split("-")[0], 16) % ARENA == 0 for region in regions)


class Arenas(unittest.TestCase):
    def test_all_threads_share_two_arenas(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as kubeconfig:
            kubeconfig.write(NO_SERVER)
            kubeconfig.flush()
            with subprocess.Popen([OPERATOR, "--trainer-image", "i", "--kubeconfig", kubeconfig.name], stderr=subprocess.PIPE,
                                  text=True) as process:
                try:
                    failed = [line for line, _ in zip(process.stderr, range(8)) if "watch failed" in line]
                    self.assertGreater(len(failed), 3, "the threads of the watches have not all run")
                    self.assertLess(arenas_beside_the_first(process), 2)
                finally:
                    process.terminate()


if __name__ == "__main__":
    unittest.main()
