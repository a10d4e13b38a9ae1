#!/usr/bin/env python3
"""Runs the commands for jobs of a cluster with a kubectl that answers from files. Takes the arguments SAILOR ROOT.

tests/e2e runs them with a real cluster.
"""

import re
import subprocess
import unittest

from fake_kubectl import PLAN, STATUS, KubectlTest, job
from program import SAILOR


class JobsOfACluster(KubectlTest):
    def test_top_shows_speed_and_cost_of_each_job(self):
        done = self.sailor("top")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        heading, row = done.stdout.splitlines()
        self.assertEqual(heading.split(), ["NAME", "STATE", "GPUS", "STEP", "LEFT", "TOKENS/S", "OF", "PLAN", "USEFUL", "$/H", "SPENT"])
        # 300 steps of 12,000 tokens are left, at 8,000 tokens per second.
        self.assertEqual(row.split(), ["demo", "Running", "4", "100/400", "7.5", "min", "8,000", "80", "%", "90", "%", "0.88", "$0.12"])

    def test_a_job_without_gpus_costs_nothing_and_the_sum_leaves_it_out(self):
        progress = {name: value for name, value in STATUS["progress"].items() if name != "dollarsPerHour"}
        suspended = {**STATUS, "state": "Suspended", "progress": progress,
                     "conditions": [{"type": "Suspended", "status": "True", "reason": "Suspended", "message": "It is suspended."}]}
        self.answer("jobs.json", {"kind": "List", "items": [job(), job("other", suspended)]})
        done = self.sailor("top")
        self.assertRegex(done.stdout, r"other +Suspended +- +100/400 +- +- +- +90 % +- +\$0.12\n")
        self.assertTrue(done.stdout.endswith("\n2 jobs, 4 GPUs, $0.88 per hour\n"), done.stdout)

    def test_top_of_all_namespaces_names_them(self):
        done = self.sailor("top", "-A")
        self.assertIn("NAMESPACE", done.stdout)
        self.assertIn("team", done.stdout)
        self.assertIn("--all-namespaces", self.calls()[0])

    def test_top_without_jobs_says_so(self):
        self.answer("jobs.json", {"kind": "List", "items": []})
        self.assertIn("no TrainingJobs in this namespace", self.sailor("top").stdout)

    def test_a_job_without_status_is_shown(self):
        self.answer("jobs.json", {"kind": "List", "items": [job(status={})]})
        self.assertIn("demo", self.sailor("top").stdout)
        self.answer("jobs.json", job(status={}))
        self.assertIn("not seen by an operator yet", self.sailor("explain", "demo").stdout)

    def test_explain_says_what_the_job_does_and_where_time_and_money_went(self):
        self.answer("jobs.json", job())
        done = self.sailor("explain", "demo")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for part in ("team/demo: Running", "4 GPUs train.", "Straggler: GPU 0 of node a takes 4.0 times", "100/400, loss 2.5 (5.5 at first)",
                     "80 % of the 10,000 that are planned", "$0.88 per hour, $0.12 so far", "90 % of 5 min", "20 s starting",
                     "stage 0, layers 0-5", "nvidia-tesla-t4 in us-west1-b, spot", "NodePreempted: Node b is taken back."):
            self.assertIn(part, done.stdout)

    def test_explain_warns_of_pools_that_are_not_used_as_the_operator_does(self):
        self.answer("jobs.json", job(status={**STATUS, "unpricedPools": ["us-west1-b/gpu-x/spot"],
                                             "poolsWithoutKernels": ["us-west1-b/gpu-y/spot"]}))
        text = self.sailor("explain", "demo").stdout
        self.assertIn("Warning   The nodes of us-west1-b/gpu-x/spot are not used: their price is not known. "
                      "Declare a GpuPool with pricePerGpuHour.\n", text)
        self.assertIn("Warning   The nodes of us-west1-b/gpu-y/spot are not used: the trainer's image has no kernels", text)

    def test_explain_without_the_plan_still_explains(self):
        self.answer("jobs.json", job())
        self.answer("plan.json", "{}")
        done = self.sailor("explain", "demo")
        self.assertEqual(done.returncode, 0)
        self.assertNotIn("stage 0", done.stdout)

    def test_history_has_a_row_for_each_change(self):
        self.answer("jobs.json", job())
        rows = self.sailor("history", "demo").stdout.splitlines()
        self.assertEqual(len(rows), 2)
        self.assertRegex(rows[1], r"2026-11-26T03:10:00Z +1 to 2 +8 to 4 +2.5 s +500 ms +1 +NodePreempted +Node b")

    def test_history_says_what_it_does_not_know(self):
        first = STATUS["rescales"][0]
        unknown = {key: first[key] for key in first if key not in ("stoppedSeconds", "stepsLost")}
        interrupted = {key: unknown[key] for key in unknown if key != "seconds"} | {"interrupted": True}
        self.answer("jobs.json", job(status=STATUS | {"rescales": [interrupted, unknown]}))
        rows = self.sailor("history", "demo").stdout.splitlines()
        self.assertRegex(rows[1], r"8 to 4 +interrupted +- +- +NodePreempted")
        self.assertRegex(rows[2], r"8 to 4 +2.5 s +- +- +NodePreempted")

    def test_logs_of_all_workers_are_in_the_order_of_their_times(self):
        self.answer("jobs.json", job())
        lines = self.sailor("logs", "demo").stdout.splitlines()
        self.assertEqual([line.split()[-1] for line in lines], ["first", "second", "third", "fourth"])

    def test_logs_of_the_other_workers_are_shown_while_a_pod_starts(self):
        self.answer("jobs.json", job())
        self.answer("starting", "")
        for flags in ([], ["--follow"]):
            done = self.sailor("logs", "demo", *flags)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn('pod "demo-2" is waiting to start', done.stdout)
            self.assertIn("fourth", done.stdout)

    def test_logs_of_a_job_without_pods_say_why_there_are_none(self):
        waiting = {"state": "Waiting", "conditions": [{"type": "Planned", "status": "False", "reason": "WaitingForCapacity",
                                                       "message": "no GPU is free."}]}
        self.answer("jobs.json", job(status=waiting))
        self.answer("selected.json", {"kind": "List", "items": []})
        for flags in ([], ["--follow"]):
            done = self.sailor("logs", "demo", *flags)
            self.assertEqual((done.returncode, done.stdout), (
                0, "Job team/demo has no pods, so it has no logs. It is Waiting. WaitingForCapacity: no GPU is free.\n"))

    def test_logs_of_a_job_with_a_long_name_are_found_by_the_label_of_its_pods(self):
        self.answer("jobs.json", job("a" * 60))
        self.assertIn("first", self.sailor("logs", "a" * 60).stdout)
        selectors = re.findall(r"job-name=(\S+)", "\n".join(self.calls()))
        self.assertEqual({len(name) for name in selectors}, {48}, "pods have a label with the shortened name")

    def test_suspend_and_resume_set_the_field(self):
        self.answer("jobs.json", {**job(), "spec": {"checkpoint": {"path": "/checkpoints"}}})
        self.assertEqual(self.sailor("suspend", "demo", "-n", "team").stdout, "trainingjob.sailor.dev/demo patched\n")
        self.assertEqual(self.sailor("resume", "demo", "--context", "gke").returncode, 0)
        suspend, _, resume, _ = self.calls()
        self.assertIn('--namespace=team patch trainingjobs.sailor.dev demo --type=merge --patch={"spec":{"suspend":true}}', suspend)
        self.assertIn('--context=gke patch trainingjobs.sailor.dev demo --type=merge --patch={"spec":{"suspend":false}}', resume)

    def test_suspend_warns_if_the_job_will_begin_again_because_it_has_no_checkpoint(self):
        self.answer("jobs.json", job())
        done = self.sailor("suspend", "demo")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"patched\nWarning: job demo has no spec.checkpoint.path, .* begins again at step 0 when")
        ended = [{"type": "Complete", "status": "True", "reason": "Complete", "message": "All steps are done."}]
        self.answer("jobs.json", job(status={**STATUS, "conditions": ended}))
        self.assertNotIn("Warning", self.sailor("suspend", "demo").stdout)

    def test_suspend_and_resume_say_that_they_change_nothing_of_a_job_that_has_ended(self):
        failed = [{"type": "Failed", "status": "True", "reason": "TrainerFailed", "message": "The loss is nan."}]
        ended = job(status={**STATUS, "state": "Failed", "conditions": failed})
        self.answer("jobs.json", ended)
        no_effect = "Job demo has ended (state Failed), so this changes nothing."
        self.assertTrue(self.sailor("suspend", "demo").stdout.endswith(f"patched\n{no_effect}\n"))
        self.assertTrue(self.sailor("resume", "demo").stdout.endswith(f"{no_effect} To train on, create another job.\n"))
        self.answer("jobs.json", {**ended, "spec": {"checkpoint": {"path": "/checkpoints"}}})
        self.assertIn("with spec.checkpoint.resumeFrom.job: demo it begins with the state of this one.", self.sailor("resume", "demo").stdout)

    def test_a_job_of_another_controller_is_said_to_be_left_to_it(self):
        self.answer("jobs.json", {**job(status={}), "spec": {"managedBy": "kueue.x-k8s.io/multikueue"}})
        self.assertIn("left to the controller kueue.x-k8s.io/multikueue, which spec.managedBy names",
                      self.sailor("explain", "demo").stdout)

    def test_what_is_no_name_of_a_job_is_a_usage_error(self):
        for command in ("top", "explain", "history", "logs", "suspend", "resume"):
            for name in ("Demo", "a/b", "", "-.-"):
                self.assert_refused(self.sailor(command, "--", name), 2, "is invalid: expected a name", f"sailor {command} --help")
        self.assertFalse((self.home / "calls").exists(), "kubectl is not asked")

    def test_what_kubectl_says_is_the_error(self):
        self.assert_refused(self.sailor("explain", "missing"), 2, "kubectl get trainingjobs.sailor.dev missing", "not found")

    def test_the_log_of_kubectl_is_no_part_of_an_error(self):
        done = self.sailor("explain", "unreachable")
        self.assert_refused(done, 1, "kubectl get trainingjobs.sailor.dev unreachable -o json: The connection to the server a:6443 was")
        self.assertNotIn("memcache.go", done.stderr)

    def test_what_the_user_may_not_see_is_refused_as_bad_input(self):
        self.assert_refused(self.sailor("top", forbidden="trainingjobs"), 2, "Forbidden")

    def test_without_kubectl_the_remedy_is_named(self):
        done = subprocess.run([SAILOR, "top"], capture_output=True, text=True, check=False, env={"PATH": "/nonexistent"})
        self.assert_refused(done, 1, "running kubectl", "install it")


if __name__ == "__main__":
    unittest.main()
