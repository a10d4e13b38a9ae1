"""Step A: the programs find their libraries, the tests pass, and a worker whose GPU is missing refuses to train."""
import json
import os
import re
import shutil
import time
import xml.etree.ElementTree

import agents

REFUSES_WITHIN_S = 30


def run(machine, report):
    check_libraries(machine, report)
    report.holds("the program names its collectives", {"gloo", "nccl"} <= set(machine.capabilities["collectives"]))
    run_tests(machine, report)
    run_sanitizer(machine, report)
    hide_gpu(machine, report)


def check_libraries(machine, report):
    for name in ("sailor-trainer-gpu", "trainer_gpu_test", "sailor"):
        lines = machine.run(["ldd", machine.program(name)]).stdout.splitlines()
        missing = [line.strip() for line in lines if "not found" in line]
        report.holds(f"{name} finds its libraries", not missing, "; ".join(missing))


def run_tests(machine, report):
    """The tests compute on the GPU if there is one. Each says why it skips."""
    file = machine.folder / "tests.xml"
    machine.run([machine.program("trainer_gpu_test"), f"--gtest_output=xml:{file}"], check=False)
    for case in xml.etree.ElementTree.parse(file).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        failures, skipped = case.findall("failure"), case.find("skipped")
        if skipped is not None:
            report.skip(name, (skipped.get("message") or skipped.text or "").strip().split("\n")[-1])
        else:
            report.holds(name, not failures, "; ".join(failure.get("message", "") for failure in failures))


def run_sanitizer(machine, report):
    name = "compute-sanitizer finds nothing"
    sanitizer = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not machine.has_gpu:
        return report.skip(name, "no GPU")
    if not os.path.exists(sanitizer):
        return report.skip(name, "this machine has no compute-sanitizer")
    test = [machine.program("trainer_gpu_test"), "--gtest_filter=Gpu.*"]
    done = machine.run([sanitizer, "--tool", "memcheck", "--error-exitcode", "9", *test], check=False)
    summary = re.findall(r"ERROR SUMMARY: .*", done.stdout + done.stderr)
    report.holds(name, done.returncode == 0, summary[-1] if summary else done.stdout[-300:])


def hide_gpu(machine, report):
    """The sentence has to reach the report in the termination log, from which the operator takes it into the job."""
    with machine.agent(device="gpu", CUDA_VISIBLE_DEVICES="") as agent:
        began = time.monotonic()
        status = agent.wait_for_exit()
        seconds = time.monotonic() - began
    sentence = json.loads(agent.termination_log.read_text())["workers"][0]["message"]
    report.number("a worker without its GPU ends", seconds, "s", at_most=REFUSES_WITHIN_S)
    report.holds("its pod fails", status == 1, f"status {status}")
    report.holds("it names the GPU and the driver that is needed", "GPU 0" in sentence and "driver" in sentence, sentence)
