#!/usr/bin/env python3
"""Invalid plans, jobs, clusters, profiles and measured runs: each is refused with file, field and remedy.

usage: bad_input_test.py SAILOR ROOT
"""

import copy
import json
import os
import unittest

from program import CLUSTER, INPUTS, JOB, ProgramTest, sailor

LAYERS = 26  # the layers of opt-350m


def layer_times(leave_out=None):
    layers = {str(i): [0.01, 0.02, 0.001] for i in range(LAYERS) if i != leave_out}
    return {"OPT-350": {gpu: {"1": {"1": layers}} for gpu in ("A100-40", "GH-96")}}


def layer_memory():
    layer = {"params_floats": 1e7, "act_mem_floats": 1e7, "act_output_floats": 1e6}
    return {"OPT-350": {"1": {str(i): dict(layer) for i in range(LAYERS)}}}


RUN = {
    "pipeline_list": [{"layers_per_stage": [list(range(LAYERS))], "tmp_per_stage": [[[[["GH-96", 1, "a-a-a"]], 1]]]}],
    "mbs": 1, "gbs": 4, "real": 0.2, "max_mem": 2e10,
}


def changed(document, path, value):
    """Returns a copy with the value at the path replaced. None removes the field."""
    result = copy.deepcopy(document)
    at = result
    for step in path[:-1]:
        at = at[step]
    if value is None:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return result


class BadInput(ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # The cases below change the only stage of this plan, and its only replica.
        planned = json.loads(sailor("plan", *INPUTS, "-o", "json").stdout)
        plan = planned["plan"]
        only = {"pool": plan["stages"][0]["replicas"][0]["pool"], "tensorParallel": 1,
                "microbatches": plan["globalBatchSize"] // plan["microbatchSize"]}
        plan["stages"] = [{"layers": [0, LAYERS], "replicas": [only]}]
        cls.planned = json.dumps(planned)
        cls.plan = cls.write("plan.json", cls.planned)

    def test_an_invalid_plan_of_the_standard_input_is_refused_with_that_name(self):
        plan = json.dumps(changed(json.loads(self.planned), ["plan", "globalBatchSize"], 31))
        refused = sailor("simulate", *INPUTS, "--plan", "-", stdin=plan)
        self.assert_refused(refused, 2, "standard input: plan.globalBatchSize: it is 31")

    def test_an_unknown_execution_model_is_refused_with_the_names_of_those_that_are_known(self):
        self.assert_refused(sailor("plan", *INPUTS, "--execution", "deepsea"), 2, "--execution deepsea",
                            "default, trainer, sailor-paper, deepspeed, ")

    def test_an_invalid_plan_is_refused_with_its_field_and_a_remedy(self):
        plan = json.loads(self.planned)["plan"]
        replica = ("stages", 0, "replicas", 0)
        first = "plan.stages[0].replicas[0]."
        cases = [
            (("stages", 0, "layers"), [1, LAYERS], "plan.stages[0].layers: [1, 26)", "each once"),
            (("stages", 0, "layers"), [0, LAYERS - 1], "plan.stages[0].layers", "it must end at 26"),
            (("stages", 0, "layers"), [0, LAYERS + 1], "plan.stages[0].layers", "it must end at 26"),
            (("stages", 0, "layers"), [5, 0], "plan.stages[0].layers: [5, 0)", "each once"),
            (("stages", 0, "layers"), [-1, LAYERS], "plan.stages[0].layers: [-1, 26)", "each once"),
            (("stages", 0, "layers"), [0], "plan.stages[0].layers", "[first, last)"),
            (("stages",), [plan["stages"][0], plan["stages"][0]], "plan.stages[1].layers: [0, 26)", "each once"),
            (("stages",), [], "plan.stages", "at least one"),
            (("stages", 0, "replicas"), [], "plan.stages[0].replicas", "at least one"),
            ((*replica, "pool"), "us-central9-z/nvidia-l4/spot", first + "pool", "declare it"),
            ((*replica, "pool"), "us-central1-a/nvidia-z9/spot", first + "pool", "nvidia-z9"),
            ((*replica, "pool"), "us-central1-a", first + "pool", "zone/accelerator/spot"),
            ((*replica, "tensorParallel"), 0, first + "tensorParallel", "below 1"),
            ((*replica, "tensorParallel"), 2**31 - 1, first + "tensorParallel", "above 1024"),
            ((*replica, "microbatches"), 0, first + "microbatches", "below 1"),
            ((*replica, "microbatches"), -4, first + "microbatches", "below 1"),
            ((*replica, "microbatches"), None, first + "microbatches", "missing"),
            ((*replica, "microbatches"), 2**31 - 1, "plan.stages[0].replicas", "sum up to"),
            (("model",), "gpt2", "plan.model", "opt-350m"),
            (("globalBatchSize",), 17, "plan.globalBatchSize", "1024"),
            (("globalBatchSize",), 10**30, "plan.globalBatchSize"),
            (("microbatchSize",), 0, "plan.microbatchSize", "at least 1"),
            (("microbatchSize",), -1, "plan.microbatchSize", "at least 1"),
            (("microbatchSize",), 7, "plan.microbatchSize", "choose a divisor"),
            (("microbatchSize",), "four", "plan.microbatchSize", "wrong type"),
            (("activationCheckpointing",), "yes", "plan.activationCheckpointing", "wrong type"),
            (("sequenceParallelism",), 1, "plan.sequenceParallelism", "wrong type"),
            (("sequenceParallelism",), True, "plan.sequenceParallelism", "Never"),
            (("microBatchSize",), 4, "plan.microBatchSize: is not a field here; the fields are model, globalBatchSize, "),
            (("stages", 0, "layer"), [0, 1], "plan.stages[0].layer: is not a field here; the fields are layers, replicas"),
            ((*replica, "tensorparallel"), 2, first + "tensorparallel: is not a field here; the fields are pool, "),
        ]
        for path, value, *fragments in cases:
            with self.subTest(path=path, value=value):
                file = self.write("broken.json", json.dumps(changed(plan, path, value)))
                self.assert_refused(sailor("simulate", *INPUTS, "--plan", file), 2, "broken.json: ", *fragments)
        for text in ("", "{", "17", "[]"):
            with self.subTest(text=text):
                file = self.write("broken.json", text)
                self.assert_refused(sailor("simulate", *INPUTS, "--plan", file), 2, "broken.json: ")

    def test_a_misspelled_field_of_the_running_plan_is_refused(self):
        file = self.write("broken.json", json.dumps(changed(json.loads(self.planned), ["plan", "peerReplica"], True)))
        self.assert_refused(sailor("plan", *INPUTS, "--current", file), 2, "broken.json: plan.peerReplica: is not a field here")

    def assert_world_refused(self, job, cluster, *fragments):
        for command in (["simulate", "--plan", self.plan], ["plan"]):
            with self.subTest(command=command[0], fragments=fragments):
                files = ["-f", self.write("job.yaml", job), "--cluster", self.write("cluster.yaml", cluster)]
                self.assert_refused(sailor(*command, *files), 2, *fragments)

    def test_unknown_values_in_a_job_or_cluster_are_refused_with_line_and_field(self):
        with open(JOB, encoding="utf-8") as file:
            job = file.read()
        with open(CLUSTER, encoding="utf-8") as file:
            cluster = file.read()
        jobs = [
            ("  name: opt-350m", "  name: Opt_350m", "metadata.name", "lower-case letters"),
            ("{name: opt-350m}", "{name: opt-9}", "job.yaml:8: spec.model.name", "it has gpt2"),
            ("[nvidia-tesla-a100,", "[nvidia-z9,", "spec.resources.accelerators[0]", "the known accelerators are nvidia-tesla-t4"),
            ("globalBatchSize: 1024", "globalBatchSize: -4", "spec.training.globalBatchSize: -4 is below 1"),
            ("globalBatchSize: 1024", "globalBatchSize: 99999999999", "spec.training.globalBatchSize", "above"),
            ("sequenceLength: 2048", "sequenceLength: 4096", "spec.training.sequenceLength", "shorten"),
            ("[1, 2, 4, 8]", "[3]", "spec.training.microbatchSizes", "add a divisor"),
            ("FP32", "FP8", "spec.training.precision", "use one of"),
            ("maxGpus: 64", "maxGpus: -1", "spec.resources.maxGpus: -1 is below 1"),
            ('"1.20"', '"-1"', "spec.objective.maxCostPerIteration", "0 or more"),
        ]
        for before, after, *fragments in jobs:
            self.assert_world_refused(job.replace(before, after, 1), cluster, "job.yaml:", *fragments)
        clusters = [
            ('"3.67"', '"3.67"\n  gpu: {memoryGib: "80"}', "spec.gpu.teraflops: is missing"),
            ("gpusPerNode: 4", "gpusPerNode: -4", "spec.gpusPerNode: -4 is below 1"),
            ("gpusPerNode: 4", "gpusPerNode: 2000000000", "spec.gpusPerNode", "above 1024"),
            ("maxNodes: 8", "maxNodes: -1", "spec.maxNodes: -1 is below 0"),
            ("maxNodes: 8", "maxNodes: 2000000000", "spec.maxNodes", "above 1000000"),
            ('"3.67"', '"-3.67"', "spec.pricePerGpuHour", "0 or more"),
            ('"3.67"', '"inf"', "spec.pricePerGpuHour", "0 or more"),
        ]
        for before, after, *fragments in clusters:
            self.assert_world_refused(job, cluster.replace(before, after, 1), "cluster.yaml:", *fragments)
        first = cluster.split("\n---\n")[0]
        self.assert_world_refused(job, f"{first}\n---\n{first}", "cluster.yaml:", "metadata.name: GpuPool", "is declared twice")
        moved = first.replace("region: us-central1", "region: us-west1", 1).replace("{name: ", "{name: other-", 1)
        self.assert_world_refused(job, f"{first}\n---\n{moved}", "cluster.yaml:", "spec.region: GpuPools ", "in different regions")
        tiers = [
            ('{gigabytesPerSecond: "0"}', "spec.tiers.zone.gigabytesPerSecond", "a kilobyte per second"),
            ('{gigabytesPerSecond: "-1.4"}', "spec.tiers.zone.gigabytesPerSecond", "0 or more"),
            ('{gigabytesPerSecond: "1", latencyMicroseconds: -5}', "spec.tiers.zone.latencyMicroseconds", "a minute"),
            ('{gigabytesPerSecond: "1", latencyMicroseconds: 1000000000000}', "spec.tiers.zone.latencyMicroseconds", "a minute"),
        ]
        for tier, *fragments in tiers:
            network = f"\n---\napiVersion: sailor.dev/v1alpha1\nkind: NetworkModel\nspec: {{tiers: {{zone: {tier}}}}}\n"
            self.assert_world_refused(job, cluster + network, "cluster.yaml:", *fragments)

    def assert_profiles_refused(self, times, memory, *fragments):
        with self.subTest(fragments=fragments):
            self.write("artifact/layer_memory.json", json.dumps(memory))
            file = self.write("artifact/layer_times.json", times if isinstance(times, str) else json.dumps(times))
            folder = os.path.dirname(file)
            self.assert_refused(sailor("simulate", *INPUTS, "--plan", self.plan, "--profiles", folder), 2, *fragments)

    def test_a_profile_that_is_corrupt_or_lacks_what_is_asked_is_refused_with_its_field(self):
        third = ("OPT-350", "A100-40", "1", "1", "3")
        at = "layer_times.json: OPT-350.A100-40.1.1.3: "
        for value, *fragments in [
            ([-1, 1, 1], at + "-1 is not a number from 0 to 3600", "measure it again"),
            ([1e300, 1, 1], at + "1e+300 is not a number", "measure it again"),
            (["a", 1, 1], at + '"a" is not a number', "measure it again"),
            ([1, 1], at + "is not [forward, backward, update]", "measure it again"),
        ]:
            self.assert_profiles_refused(changed(layer_times(), third, value), layer_memory(), *fragments)
        self.assert_profiles_refused(layer_times(leave_out=7), layer_memory(), "layer_times.json: OPT-350.A100-40.1.1: ",
                                     "has 25 layers, but the model has 26", "measure it again")
        self.assert_profiles_refused(changed(layer_times(), ("OPT-350", "A100-40"), {}), layer_memory(),
                                     "layer_times.json: OPT-350.A100-40: has no times", "remove it")
        self.assert_profiles_refused('{"OPT-350": {', layer_memory(), "layer_times.json: is not valid JSON", "download it again")
        self.assert_profiles_refused({}, layer_memory(), "layer_times.json: has no times of any model", "measure one")
        of_layer = ("OPT-350", "1", "3")
        for path, value, *fragments in [
            (of_layer, None, "layer_memory.json: OPT-350.1: has 25 layers, but the model has 26"),
            ((*of_layer, "params_floats"), None, "layer_memory.json: OPT-350.1.3: has no params_floats"),
            ((*of_layer, "params_floats"), -5, "layer_memory.json: OPT-350.1.3.params_floats: -5 is not a number"),
            ((*of_layer, "params_floats"), 1e300, "layer_memory.json: OPT-350.1.3.params_floats: 1e+300 is not a number"),
        ]:
            self.assert_profiles_refused(layer_times(), changed(layer_memory(), path, value), *fragments)

    def test_a_model_profile_of_other_layers_than_its_model_is_refused_with_line_and_field(self):
        profile = self.write("profiles/short.yaml", """apiVersion: sailor.dev/v1alpha1
kind: ModelProfile
metadata: {name: short}
spec:
  model: opt-350m
  accelerator: nvidia-tesla-a100
  precision: FP32
  sequenceLength: 2048
  layers: 5
  times:
  - tensorParallel: 1
    microbatchSize: 1
    layers:
    - {first: 0, last: 5, forwardSeconds: "0.01", backwardSeconds: "0.02", updateSeconds: "0.001"}
""")
        folder = os.path.dirname(profile)
        self.assert_refused(sailor("simulate", *INPUTS, "--plan", self.plan, "--profiles", folder), 2,
                            "short.yaml:9: spec.layers: the profile has 5 layers, but opt-350m has 26", "measure it again")

    def evaluate(self, records):
        self.write("artifact/layer_memory.json", json.dumps(layer_memory()))
        profiles = os.path.dirname(self.write("artifact/layer_times.json", json.dumps(layer_times())))
        self.write("runs/OPT-350_good.json", json.dumps(RUN))
        runs = os.path.join(self.folder.name, "runs")
        for name in os.listdir(runs):
            if name != "OPT-350_good.json":
                os.remove(os.path.join(runs, name))
        for name, text in records.items():
            self.write(os.path.join("runs", name), text if isinstance(text, str) else json.dumps(text))
        return sailor("evaluate", runs, "--profiles", profiles, "-o", "json")

    def test_a_corrupt_measured_file_is_status_2_and_the_others_are_still_estimated(self):
        self.assertEqual(self.evaluate({}).returncode, 0)
        for record, *fragments in [
            ("{", "is not valid JSON", "download it again"),
            ({**RUN, "mbs": -1}, "mbs: -1 is not a whole number", "correct the record"),
            ({**RUN, "gbs": 0.5}, "gbs: 0.5 is not a whole number", "correct the record"),
            ({**RUN, "real": -1}, "real: -1 is not a number above 0", "correct the record"),
            ({**RUN, "max_mem": 1e300}, "max_mem: 1e+300 is not a number above 0", "correct the record"),
            (changed(RUN, ("gbs",), None), "gbs: is missing", "correct the record"),
            (changed(RUN, ("pipeline_list", 0, "tmp_per_stage"), 7), "tmp_per_stage", "correct the record"),
        ]:
            with self.subTest(fragments=fragments):
                done = self.evaluate({"OPT-350_bad.json": record})
                self.assert_sentence(done, 2, "1 of 2 records", "OPT-350_bad.json: ", *fragments)
                bad, good = json.loads(done.stdout)["runs"]
                self.assertIn(fragments[0], bad["reason"])
                self.assertGreater(good["time"]["estimated"], 0)

    def test_a_record_that_is_not_a_plan_is_reported_with_its_reason_and_is_not_an_error(self):
        over_nodes = changed(RUN, ("pipeline_list", 0, "tmp_per_stage", 0, 0, 0), [["GH-96", 4, "a-a-a"]] * 2)
        for name, record, reason in [
            ("OPT-350_gap.json", changed(RUN, ("pipeline_list", 0, "layers_per_stage", 0), [1, 2]), "each once"),
            ("OPT-350_nodes.json", over_nodes, "over several nodes"),
            ("OPT-350_gpu.json", changed(RUN, ("pipeline_list", 0, "tmp_per_stage", 0, 0, 0, 0, 0), "Z9"), "not a GPU"),
            ("nameless.json", RUN, "add OPT-350 or GPT-NEO to it"),
        ]:
            with self.subTest(name):
                done = self.evaluate({name: record})
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                runs = {run["file"]: run for run in json.loads(done.stdout)["runs"]}
                self.assertIn(reason, runs[name]["reason"])
                self.assertGreater(runs["OPT-350_good.json"]["time"]["estimated"], 0)

    def test_profiles_that_lack_a_measured_runs_gpu_are_bad_input(self):
        lacking = changed(RUN, ("pipeline_list", 0, "tmp_per_stage", 0, 0, 0, 0, 0), "RTX-3090")
        done = self.evaluate({"OPT-350_rtx.json": lacking})
        self.assert_sentence(done, 2, "artifact", "no profile of opt-350m on nvidia-rtx-3090", "measure one")

    def test_a_plan_that_does_not_fit_is_a_result_with_stage_need_and_limit(self):
        plan = json.loads(self.planned)["plan"]
        plan["microbatchSize"] = 16
        share = plan["globalBatchSize"] // 16 // 2
        plan["stages"][0]["replicas"] = [
            {"pool": "us-central1-b/nvidia-tesla-t4/spot", "tensorParallel": 1, "microbatches": share}] * 2
        done = sailor("simulate", *INPUTS, "--plan", self.write("large.json", json.dumps(plan)), "-o", "json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        estimate = json.loads(done.stdout)["estimate"]
        self.assertFalse(estimate["fits"])
        self.assertRegex(estimate["violations"][0],
                         r"\Astage 0: needs \d+\.\d GiB of memory on nvidia-tesla-t4, where plans may use 14\.\d of 15\.0 GiB\Z")
        self.assertGreater(estimate["peakMemoryBytes"][0], 16 * 2**30)
        table = sailor("simulate", *INPUTS, "--plan", self.write("large.json", json.dumps(plan)))
        self.assertEqual(table.returncode, 0)
        self.assertRegex(table.stdout, r"Fits\s+NO")


if __name__ == "__main__":
    unittest.main()
