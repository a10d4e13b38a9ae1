#!/usr/bin/env python3
"""The program as users and scripts run it: exit statuses, output streams and helpful messages.

usage: command_line_test.py SAILOR ROOT
"""

import json
import os
import pty
import re
import subprocess
import time
import unittest

from program import CLUSTER, INPUTS, JOB, ROOT, SAILOR, ProgramTest, sailor

COMMANDS = ("plan", "simulate", "evaluate", "paper", "replay", "validate", "render")


class CommandLine(ProgramTest):
    def one_pool(self):
        """Inputs of the job with the pool of T4 alone, whose plans are found in an instant."""
        with open(CLUSTER, encoding="utf-8") as cluster:
            (pool,) = (pool for pool in cluster.read().split("\n---\n") if "nvidia-tesla-t4" in pool)
        return ["-f", JOB, "--cluster", self.write("t4.yaml", pool)]

    def test_help_is_a_result_and_names_every_command(self):
        done = sailor("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for command in COMMANDS:
            self.assertIn(f"\n  {command} ", done.stdout)
            self.assertEqual(sailor(command, "--help").returncode, 0)

    def test_usage_errors_say_where_help_is(self):
        self.assert_refused(sailor(), 2, "sailor --help")
        self.assert_refused(sailor("plna"), 2, "plna", "sailor --help")
        self.assert_refused(sailor("plan", "-f", JOB), 2, "--cluster is required", "sailor plan --help")
        self.assert_refused(sailor("plan", *INPUTS, "--spce", "flow"), 2, "--spce")
        self.assert_refused(sailor("plan", *INPUTS, "-o", "xml"), 2, "xml", "html", "json", "table", "yaml")
        self.assert_refused(sailor("plan", *INPUTS, "--space", "any"), 2, "any", "flow", "paper")
        self.assert_refused(sailor("evaluate", "runs", "--profiles", "p", "-o", "html"), 2, "json", "table")
        self.assert_refused(sailor("plan", *INPUTS, "--budget"), 2, "--budget: has no value; give one; see `sailor plan --help`")
        self.assert_refused(sailor("plan", *INPUTS, "--budget", "1", "--budget", "2"), 2, "--budget: is given more than once; give it once")

    def test_a_plan_that_costs_nothing_has_no_share_of_its_cost(self):
        with open(CLUSTER, encoding="utf-8") as cluster:
            free = re.sub(r'(pricePerGpuHour): "[0-9.]+"', r'\1: "0"', cluster.read().split("\n---\n")[0])  # one pool, so no traffic
        done = sailor("plan", "-f", JOB, "--cluster", self.write("free.yaml", free))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no plan can cost less than $0 per iteration\n", done.stdout)
        self.assertNotIn("nan", done.stdout)

    def test_numbers_out_of_range_are_refused(self):
        for budget in ("0", "-1", "nan", "inf", "1e9", "soon"):
            self.assert_refused(sailor("plan", *INPUTS, "--budget", budget), 2, "--budget")
            self.assert_refused(sailor("replay", *INPUTS, "--trace", "t", "--restart-seconds", budget), 2,
                                "--restart-seconds")
        for degree in ("0", "-4", "1.5", "many"):
            self.assert_refused(sailor("plan", *INPUTS, "--max-tensor-parallel", degree), 2, "--max-tensor-parallel")
        for seed in ("-1", "9223372036854775808", "99999999999999999999999"):
            self.assert_refused(sailor("replay", *INPUTS, "--trace", "t", "--seed", seed), 2, "--seed", "not in range 0 to 9223372036854775807")

    def test_empty_values_are_refused(self):
        for option in ("--profiles", "--execution", "--current"):
            self.assert_refused(sailor("plan", *INPUTS, option, ""), 2, f"{option}: is empty; give a value, or omit it")
        self.assert_refused(sailor("plan", "-f", "", "--cluster", CLUSTER), 2, "--file: is empty")
        self.assert_refused(sailor("validate", JOB, ""), 2, "is empty")
        self.assert_refused(sailor("top", "--namespace="), 2, "--namespace")

    def test_files_that_cannot_be_read_are_named(self):
        for flags in (["-f", "nowhere.yaml", "--cluster", CLUSTER], ["-f", JOB, "--cluster", "nowhere.yaml"],
                      [*INPUTS, "--profiles", "nowhere.yaml"], [*INPUTS, "--current", "nowhere.yaml"]):
            self.assert_refused(sailor("plan", *flags), 2, "nowhere.yaml")
        self.assert_refused(sailor("simulate", *INPUTS, "--plan", self.folder.name), 2, self.folder.name)
        self.assert_refused(sailor("plan", "-f", CLUSTER, "--cluster", JOB), 2)

    def test_a_running_plan_that_the_job_does_not_ask_for_any_more_cannot_stay(self):
        with open(JOB, encoding="utf-8") as file:
            job = file.read()
        halved = self.write("halved.yaml", job.replace("globalBatchSize: 1024", "globalBatchSize: 512"))
        done = sailor("plan", "-f", halved, "--cluster", CLUSTER, "--current", self.plan)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Note: the running plan (--current) cannot stay, and only tells which GPUs hold which state: "
                      "plan.globalBatchSize: it is 1024, but the job has 512", done.stdout)
        other = self.write("other.yaml", job.replace("{name: opt-350m}", "{name: gpt2}").replace("2048", "1024"))
        self.assert_refused(sailor("plan", "-f", other, "--cluster", CLUSTER, "--current", self.plan), 2,
                            "plan.json: is a plan of opt-350m, but the job trains gpt2")

    def test_a_plan_that_the_planner_would_not_choose_gets_a_note(self):
        with open(JOB, encoding="utf-8") as file:
            job = file.read()
        self.assertNotIn("would not choose", sailor("simulate", *INPUTS, "--plan", self.plan).stdout)
        size = json.loads(self.planned)["plan"]["microbatchSize"]
        others = [each for each in (1, 2, 4, 8) if each != size]
        cases = [("[1, 2, 4, 8]", str(others), f"microbatchSize {size} is none of the job's {', '.join(map(str, others))}"),
                 ('"1.20"', '"0.0001"', "per iteration, over the limit of $0.0001")]
        for before, after, reason in cases:
            changed = self.write("changed.yaml", job.replace(before, after, 1))
            done = sailor("simulate", "-f", changed, "--cluster", CLUSTER, "--plan", self.plan)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"Note: the planner would not choose this plan: ", done.stdout)
            self.assertIn(reason, done.stdout)

    def test_standard_input_is_a_file_once(self):
        with open(JOB, encoding="utf-8") as job:
            text = job.read()
        from_input = sailor("plan", "-f", "-", "--cluster", CLUSTER, "-o", "json", stdin=text)
        self.assertEqual(from_input.returncode, 0, from_input.stderr)
        self.assertEqual(json.loads(from_input.stdout)["plan"], json.loads(self.planned)["plan"])
        simulated = sailor("simulate", *INPUTS, "--plan", "-", "-o", "json", stdin=self.planned)
        self.assertEqual(json.loads(simulated.stdout)["estimate"], json.loads(self.planned)["estimate"])
        self.assert_refused(sailor("plan", "-f", "-", "--cluster", "-", stdin=text), 2, "standard input")
        self.assert_refused(sailor("simulate", "-f", "-", "--cluster", CLUSTER, "--plan", "-", stdin=text), 2,
                            "standard input")
        self.assert_refused(sailor("simulate", *INPUTS, "--plan", "-", stdin="nonsense"), 2, "standard input")
        self.assertEqual(sailor("validate", "-", stdin=text).returncode, 0)
        self.assert_refused(sailor("validate", "-", "-", stdin=text), 2, "standard input")
        self.assert_refused(sailor("simulate", *INPUTS, "--plan", self.plan, "--timeline", "-"), 2, "name a file")
        self.assert_refused(sailor("plan", "-f", "-", "--cluster", CLUSTER, stdin="{}"), 2, "standard input: has 0 TrainingJobs")
        self.assert_refused(sailor("plan", *INPUTS, "--current", "-", "--execution", "-", stdin=text), 2, "- is given twice")

    def test_a_trace_may_be_the_standard_input_and_begin_with_a_byte_order_mark(self):
        replay = ["replay", *self.one_pool(), "--policy", "static", "-o", "json"]
        trace = "\ufeffseconds,nodes\r\n0,8\r\n600,3\r\n"
        done = sailor(*replay, "--trace", "-", stdin=trace)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, sailor(*replay, "--trace", self.write("trace.csv", trace)).stdout)
        self.assert_refused(sailor(*replay, "--trace", "-", stdin="nonsense"), 2, "standard input: line 1, column 1")
        self.assert_refused(sailor(*replay, "--trace", "-", "--prices", "us-central1-b/nvidia-tesla-t4/spot=-", stdin=trace), 2,
                            "- is given twice")

    def test_a_pair_of_a_zone_without_pool_gets_a_note(self):
        with open(CLUSTER, encoding="utf-8") as file:
            cluster = file.read()
        pair = "---\napiVersion: sailor.dev/v1alpha1\nkind: NetworkModel\nmetadata: {name: ours}\nspec:\n  pairs:\n  - "
        mistyped = self.write("pairs.yaml", cluster + pair +
                              '{from: us-central1-a, to: us-centrall-b, gigabytesPerSecond: "1"}\n')
        for command in (["plan", *INPUTS[:2]], ["simulate", *INPUTS[:2], "--plan", self.plan]):
            done = sailor(*command, "--cluster", mistyped)
            self.assertIn("Note: NetworkModel: no pool is in zone us-centrall-b, so the pair of us-central1-a and "
                          "us-centrall-b has no effect", done.stdout, done.stderr)
        empty = self.write("pairs.yaml", cluster + pair + "{from: us-central1-a, to: us-central1-b}\n")
        self.assert_refused(sailor("plan", *INPUTS[:2], "--cluster", empty), 2, "the pair says nothing of the link")

    def test_every_format_is_what_it_says(self):
        page = sailor("plan", *INPUTS, "-o", "html").stdout
        self.assertTrue(page.startswith("<!DOCTYPE html>"))
        json.loads(sailor("render", *INPUTS, "-o", "json").stdout)
        self.assertIn("iterationSeconds:", sailor("simulate", *INPUTS, "--plan", self.plan, "-o", "yaml").stdout)
        self.assertTrue(
            sailor("simulate", *INPUTS, "--plan", self.plan, "-o", "html").stdout.startswith("<!DOCTYPE html>"))

    def test_no_feasible_plan_is_status_3_with_the_reason(self):
        quickstart = (ROOT / "crds/examples/quickstart.yaml").read_text(encoding="utf-8")
        only_l4 = self.write("l4.yaml", quickstart.replace(", nvidia-tesla-t4", ""))  # the cluster has none
        for command in ("plan", "render"):
            self.assert_refused(sailor(command, "-f", only_l4, "--cluster", CLUSTER), 3, "nvidia-l4")

    # A job loses four of its sixteen A100, and gets V100 in another zone.
    def test_if_every_pause_outlasts_the_plan_the_shortest_is_chosen(self):
        def pool(zone, accelerator, nodes):
            return {"apiVersion": "sailor.dev/v1alpha1", "kind": "GpuPool", "metadata": {"name": f"{zone}-{accelerator}"},
                    "spec": {"region": "r0", "zone": zone, "accelerator": accelerator, "provisioning": "OnDemand",
                             "gpusPerNode": 4, "nodes": nodes, "maxNodes": nodes, "pricePerGpuHour": "3"}}

        def plan(pools, *arguments):
            cluster = self.write("cluster.yaml", "\n---\n".join(json.dumps(one) for one in pools))
            return sailor("plan", "-f", job, "--cluster", cluster, "-o", "json", *arguments).stdout

        job = self.write("job.yaml", json.dumps({
            "apiVersion": "sailor.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "large"},
            "spec": {"model": {"name": "opt-2.7b"}, "data": {"format": "Tokens", "path": "/data/*.bin"},
                     "training": {"globalBatchSize": 256, "sequenceLength": 1024, "precision": "BF16", "steps": 1000},
                     "objective": {"type": "MaxThroughput"}}}))
        current = self.write("current.json", plan([pool("r0-0", "nvidia-tesla-a100", 4)]))
        after = [pool("r0-0", "nvidia-tesla-a100", 3), pool("r0-1", "nvidia-tesla-v100", 4)]
        pauses = [json.loads(plan(after, "--current", current, "--lifetime", lifetime))["pauseSeconds"]
                  for lifetime in ("1", "3")]
        self.assertLess(pauses[1], 3)
        self.assertEqual(pauses[0], pauses[1])

    def test_a_replay_says_which_trace_is_wrong(self):
        trace = self.write("trace.json", '{"metadata": {"gap_seconds": 600}, "data": [8, 3]}')
        pool = "us-central1-b/nvidia-tesla-t4/spot"
        replay = ["replay", *INPUTS, "--trace"]
        self.assert_refused(sailor(*replay, trace), 2, "unclear which pool", pool)
        self.assert_refused(sailor(*replay, f"{pool}=nowhere.json"), 2, "nowhere.json")
        self.assert_refused(sailor(*replay, f"{pool}={self.folder.name}"), 2, self.folder.name)
        self.assert_refused(sailor(*replay, f"{pool}={self.write('bad.json', '[]')}"), 2, "bad.json: line 1, column 1")
        self.assert_refused(sailor(*replay, f"us-west9-z/nvidia-l4/spot={trace}"), 2, "us-west9-z/nvidia-l4/spot",
                            "add it to the cluster")
        self.assert_refused(sailor(*replay, f"{pool}={trace}", "--trace", f"{pool}={trace}"), 2, "two files")
        report = json.loads(sailor(*replay, f"{pool}={trace}", "-o", "json").stdout)
        self.assertEqual(report["policy"], "live-ahead")
        self.assertEqual(report["seconds"]["total"], 1200)
        # Of the GPUs that the job may use. The nodes that leave at 600 s are known to leave 15 s before.
        self.assertEqual([(period["from"], period["availableGpus"]) for period in report["periods"]], [(0, 64), (585, 44)])
        self.assertIn("seed 1", report["notes"][0])

    def test_a_replay_accepts_waits_of_no_time(self):
        trace = self.write("trace.csv", "seconds,nodes\n0,8\n600,3\n1200,8\n")
        replay = ["replay", *INPUTS, "--trace", f"us-central1-b/nvidia-tesla-t4/spot={trace}", "-o", "json"]
        seconds = json.loads(sailor(*replay, "--planning-seconds", "0", "--node-start-seconds", "0").stdout)["lostSeconds"]
        self.assertEqual(seconds["planning"], 0)
        for option in ("--planning-seconds", "--node-start-seconds", "--notice-seconds"):
            for refused in ("-1", "nan", "inf", "1e9", "soon"):
                self.assert_refused(sailor(*replay, option, refused), 2, option)

    def test_a_replay_of_all_policies_compares_them(self):
        trace = self.write("trace.csv", "seconds,nodes\n0,8\n600,3\n1200,8\n")
        arguments = ["replay", *self.one_pool(), "--trace", f"us-central1-b/nvidia-tesla-t4/spot={trace}", "--policy", "all"]
        policies = json.loads(sailor(*arguments, "-o", "json").stdout)["policies"]
        self.assertEqual(set(policies), {"live", "live-ahead", "restart", "restart-ahead", "static", "varuna", "oracle"})
        self.assertEqual(max(policies, key=lambda name: policies[name]["usefulSteps"]), "oracle")
        for figures in policies.values():
            self.assertGreater(figures["dollars"], 0)
            self.assertIn("starting", figures["lostSeconds"])
        self.assertIn("OF ORACLE", sailor(*arguments).stdout)

    def test_a_replay_of_all_policies_says_when_each_of_them_has_completed_the_job(self):
        trace = self.write("trace.csv", "seconds,nodes\n0,2\n600,8\n100000,8\n")
        job = self.write("short.yaml", (ROOT / "crds/examples/opt-350m.yaml").read_text().replace("steps: 10000", "steps: 100"))
        arguments = ["replay", "-f", job, *INPUTS[2:], "--trace", f"us-central1-b/nvidia-tesla-t4/spot={trace}", "--policy", "all"]
        policies = json.loads(sailor(*arguments, "-o", "json").stdout)["policies"]
        for figures in policies.values():
            self.assertTrue(figures["done"])
            self.assertAlmostEqual(figures["seconds"], min(other["seconds"] for other in policies.values()), delta=200)
        self.assertIn(" TIME ", sailor(*arguments).stdout)

    def test_a_replay_looks_ahead_where_the_policy_can(self):
        trace = self.write("trace.csv", "seconds,nodes\n" + "".join(f"{300 * i},{8 - i % 2}\n" for i in range(40)))
        replay = ["replay", *self.one_pool(), "--trace", f"us-central1-b/nvidia-tesla-t4/spot={trace}", "-o", "json"]
        for policy in ("live", "restart"):
            for choice, name in (("off", policy), ("on", f"{policy}-ahead"), ("auto", f"{policy}-ahead")):
                report = json.loads(sailor(*replay, "--policy", policy, "--look-ahead", choice).stdout)
                self.assertEqual(report["policy"], name)
        with open(JOB, encoding="utf-8") as job:
            text = job.read()
        for choice, name in (("'Off'", "live"), ("'On'", "live-ahead")):
            own = self.write("own.yaml", f"{text}  elasticity: {{lookAhead: {choice}}}\n")
            own_replay = [argument if argument != JOB else own for argument in replay]
            self.assertEqual(json.loads(sailor(*own_replay).stdout)["policy"], name)
        self.assert_refused(sailor(*replay, "--policy", "static", "--look-ahead", "on"), 2, "--look-ahead", "static")
        policies = json.loads(sailor(*replay, "--policy", "all", "--look-ahead", "off").stdout)["policies"]
        self.assertEqual(set(policies), {"live", "restart", "static", "varuna", "oracle"})

    def test_a_replay_takes_prices_over_time(self):
        trace = self.write("trace.json", '{"metadata": {"gap_seconds": 600}, "data": [8, 8]}')
        pool = "us-central1-b/nvidia-tesla-t4/spot"
        replay = ["replay", *self.one_pool(), "--trace", f"{pool}={trace}", "-o", "json", "--prices"]
        dear = self.write("dear.json", '[{"Time": 0, "Price": 100}]')
        cheap = self.write("cheap.json", '[{"Time": 0, "Price": 1}]')
        cost = [json.loads(sailor(*replay, f"{pool}={file}").stdout)["cost"] for file in (dear, cheap)]
        self.assertGreater(cost[0], cost[1])
        bad = self.write("bad.json", '[{"Time": 0, "Price": -1}]')
        self.assert_refused(sailor(*replay, f"{pool}={bad}"), 2, "bad.json: line 1, column 23")

    def test_a_result_that_cannot_be_written_is_no_success(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([SAILOR, "plan", *INPUTS], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot be written", done.stderr)

    def test_a_pipe_gets_neither_colours_nor_progress(self):
        done = sailor("plan", *INPUTS)
        self.assertEqual(done.stderr, "")
        self.assertNotIn("\x1b", done.stdout)

    def test_the_name_of_the_kubectl_plugin_works(self):
        plugin = os.path.join(os.path.dirname(SAILOR), "kubectl-sailor")
        done = subprocess.run([plugin, "--version"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, sailor("--version").stdout))

    def at_a_terminal(self, *arguments):
        """Runs a command whose standard error is a pseudo-terminal. Returns what it wrote there, and its seconds."""
        ours, theirs = pty.openpty()
        start = time.monotonic()
        done = subprocess.run([SAILOR, *arguments], stdout=subprocess.PIPE, stderr=theirs, text=True, check=False)
        seconds = time.monotonic() - start
        os.close(theirs)
        self.assertEqual(done.returncode, 0)
        self.assertIn("Plan ", done.stdout)
        try:
            written = os.read(ours, 1000)
        except OSError:  # nothing was written, so the terminal ends at once
            written = b""
        os.close(ours)
        return written, seconds

    def test_quick_work_at_a_terminal_shows_no_progress(self):
        for _ in range(20):  # on a busy machine a run may take the second after which progress is shown
            written, seconds = self.at_a_terminal("plan", *INPUTS, "--budget", "0.2")
            if seconds < 1:
                self.assertEqual(written, b"")
                return
        self.skipTest("each of twenty runs took more than the second after which progress is shown")


if __name__ == "__main__":
    unittest.main()
