#!/usr/bin/env python3
"""The labels of the images say what the libraries, the program, the chart and the build say.

usage: labels_test.py ROOT
"""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop(1)).resolve()


def found(pattern, file):
    match = re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
    assert match, f"{file} has no {pattern}"
    return match.group(1)


def label(name):
    return found(rf'\b{re.escape(name)}="([^"]*)"', "docker/Dockerfile")


class Labels(unittest.TestCase):
    def test_the_version_is_the_projects(self):
        self.assertEqual(label("org.opencontainers.image.version"), found(r"^project\(sailor VERSION (\S+)", "CMakeLists.txt"))

    def test_cuda_is_that_of_the_libraries_in_the_image(self):
        self.assertEqual(label("dev.sailor.cuda"), found(r"^nvidia-cuda-runtime==(\d+\.\d+)\.", "scripts/wheels.txt"))

    def test_the_oldest_driver_is_the_one_that_the_program_accepts(self):
        major = label("dev.sailor.cuda").split(".")[0]
        self.assertEqual(label("dev.sailor.oldest-driver"), found(rf"kDriverOfCuda{major} = (\d+)", "trainer/device/gpu_support.cc"))

    def test_the_least_compute_capability_is_the_one_by_which_the_operator_chooses_nodes(self):
        self.assertEqual(label("dev.sailor.min-compute-capability"), found(r'^ *minComputeCapability: "([^"]*)"', "charts/sailor/values.yaml"))


if __name__ == "__main__":
    unittest.main()
