#!/usr/bin/env python3
"""Replays jobs over recorded traces of spot capacity, and over made-up ones, by all policies.

Prints rows {name, value, unit, goal} as JSON; scripts/bench.py runs it. The recorded traces lie in
../shared/data/spot-traces. Without this folder, only the made-up traces are replayed, and stderr says so.
"""
import json
import pathlib
import random
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SAILOR = ROOT / "build/bin/sailor"
TRACES = ROOT.parent / "shared/data/spot-traces"

JOB = """
apiVersion: sailor.dev/v1alpha1
kind: TrainingJob
metadata: {{name: {name}}}
spec:
  model: {{name: {name}}}
  training: {{globalBatchSize: {batch}, sequenceLength: 2048, microbatchSizes: [1, 2, 4, 8], precision: FP32, steps: 100000000}}
  data: {{format: Bytes, path: /data/text}}
  elasticity: {{redundancy: {redundancy}}}
  checkpoint: {{path: /checkpoints}}
  podTemplate: {{spec: {{containers: [{{name: trainer}}]}}}}
"""
POOL = """
apiVersion: sailor.dev/v1alpha1
kind: GpuPool
metadata: {{name: spot}}
spec: {{region: us-central1, zone: us-central1-a, accelerator: {accelerator}, provisioning: Spot, gpusPerNode: {gpus}, nodes: {nodes}, pricePerGpuHour: "1.00"}}
"""
V100, A100 = "nvidia-tesla-v100", "nvidia-tesla-a100"


def say(text):
    print(f"[bench] {text}", file=sys.stderr)


def row(name, value, unit="", goal=None):
    return {"name": name, "value": value, "unit": unit, "goal": goal}


def recorded_traces():
    """Returns (name, file, accelerator, nodes) of the recorded traces."""
    if not TRACES.is_dir():
        say(f"there is no folder {TRACES}: the recorded traces are skipped")
        return []
    short = {"availability_16-node_aws-08-27-2023_us-east-2b_v100_1": "us-east-2b", "availability_16-node_aws-08-27-2023_us-west-2a_v100_1": "us-west-2a",
             "preemption_4-node_aws-08-03-2023_us-east-1f_v100_1": "us-east-1f", "preemption_4-node_aws-08-03-2023_us-east-2a_v100_1": "us-east-2a"}
    a100 = [(path.stem, path, A100, 16) for path in sorted(TRACES.glob("a100_*.json"))]
    aws = [(short.get(path.stem, path.stem), path, V100, 4 if "4-node" in path.stem else 16) for path in sorted(TRACES.glob("[ap][vr]*.json"))]
    parcae = [("parcae_" + path.stem.removeprefix("trace_"), path, V100, 32) for path in sorted(TRACES.glob("parcae/*.txt"))]
    return a100 + aws + parcae


def made_up_trace(folder, name, seed, nodes, minutes, most_at_once):
    """Writes a trace in which up to `most_at_once` nodes come or go in some of the minutes."""
    draw, count, lines = random.Random(seed), nodes, ["seconds,nodes"]
    for minute in range(minutes):
        if draw.random() < 0.3:
            count = max(1, min(nodes, count + draw.randint(-most_at_once, most_at_once)))
        lines.append(f"{60 * minute},{count}")
    path = pathlib.Path(folder) / f"{name}.csv"
    path.write_text("\n".join(lines) + "\n")
    return name, path, V100, nodes


def frequent_losses(folder, seed, nodes=16, minutes=480, lifetime=1200, absence=300):
    """Writes a trace in which a node lives for 20 minutes in the mean, and is back after five."""
    draw, count, lines = random.Random(seed), nodes, ["seconds,nodes"]
    for sample in range(2 * minutes):
        lines.append(f"{30 * sample},{count}")
        lost = sum(draw.random() < 30 / lifetime for _ in range(count))
        count += sum(draw.random() < 30 / absence for _ in range(nodes - count)) - lost
    path = pathlib.Path(folder) / f"frequent-{seed}.csv"
    path.write_text("\n".join(lines) + "\n")
    return f"frequent losses, seed {seed}", path, A100, nodes


def counts_of(path):
    """Returns the numbers of nodes of a trace, in order."""
    text = path.read_text()
    if path.suffix == ".csv":
        return [int(line.split(",")[1]) for line in text.splitlines()[1:]]
    if path.suffix == ".json":
        trace = json.loads(text)
        return trace["data"] if isinstance(trace, dict) else [sample["GPUs"] for sample in trace]
    counts, nodes = [], set()
    for line in text.splitlines():
        _, verb, event = json.loads(line)
        nodes = nodes | set(event["nodes"]) if verb == "add" else nodes - set(event["nodes"]) if verb == "remove" else nodes
        counts.append(len(nodes))
    return counts


def halves(path):
    """Returns how many drops of a trace take half the nodes or more at once."""
    counts = counts_of(path)
    return sum(2 * (before - after) >= before > after for before, after in zip(counts, counts[1:]))


def replay(folder, trace, model="opt-350m", batch=1024, redundancy="Auto", *flags, gpus=1):
    _, path, accelerator, nodes = trace
    job, cluster = pathlib.Path(folder) / "job.yaml", pathlib.Path(folder) / "cluster.yaml"
    job.write_text(JOB.format(name=model, batch=batch, redundancy=redundancy))
    cluster.write_text(POOL.format(accelerator=accelerator, nodes=nodes, gpus=gpus))
    command = [SAILOR, "replay", "-f", job, "--cluster", cluster, "--trace", path, "-o", "json", *flags]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def steps(replayed):
    return {name: figures["usefulSteps"] for name, figures in replayed["policies"].items()}


def rows_of_trace(folder, trace):
    """Where no drop takes half the nodes at once, the goals apply. Elsewhere the same is reported with peer replicas and without."""
    name, path = trace[:2]
    large_drops = halves(path)
    rows = []
    for redundancy in (["Peer", "None"] if large_drops else ["Auto"]):
        done = steps(replay(folder, trace, "opt-350m", 1024, redundancy, "--policy", "all"))
        say(f"{name}, redundancy {redundancy}, {large_drops} drops by half: " + ", ".join(f"{policy} {count:.0f}" for policy, count in done.items()))
        where = f"{name}, redundancy {redundancy}"
        lost = done["oracle"] - done["live"]
        goals = (None, None) if large_drops else (0.1, 0.25)
        rows.append(row(f"{where}: steps that live loses against the oracle", lost / done["oracle"], "", goals[0]))
        rows.append(row(f"{where}: what live loses, of what restart loses", lost / (done["oracle"] - done["restart"]), "", goals[1]))
        rows.append(row(f"{where}: steps that looking ahead costs live", 1 - done["live-ahead"] / done["live"], "", 0.02))
        rows.append(row(f"{where}: steps that looking ahead costs restart", 1 - done["restart-ahead"] / done["restart"], "", 0.02))
        rows += [row(f"{where}: steps of {policy}, of the oracle's", done[policy] / done["oracle"]) for policy in ("restart", "static", "varuna")]
    return rows


def rows_of_frequent_losses(folder):
    """OPT-13B on nodes of eight GPUs, with more state than moves within a notice. A goal is an upper limit: looking ahead saves a tenth at least."""
    rows = []
    for seed in (1, 2, 3):
        trace = frequent_losses(folder, seed)
        without, ahead = (replay(folder, trace, "opt-13b", 512, "Auto", "--policy", "live", "--look-ahead", choice, gpus=8)["steps"] for choice in ("off", "auto"))
        say(f"{trace[0]}: live {without:.0f}, live-ahead {ahead:.0f}")
        rows.append(row(f"{trace[0]}: steps of live, of live-ahead's", without / ahead, "", 0.9))
    return rows


def worst_case(folder):
    """A week in which the number of nodes changes every minute."""
    draw = random.Random(1)
    path = pathlib.Path(folder) / "worst.csv"
    counts, count = [], 64
    for _ in range(10081):
        counts.append(count)
        count = draw.choice([other for other in range(1, 65) if other != count])
    path.write_text("seconds,nodes\n" + "".join(f"{60 * i},{count}\n" for i, count in enumerate(counts)))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    replay(folder, ("worst", path, V100, 64), "opt-350m", 1024, "Auto", "--policy", "live")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return [row("replay of 10,080 changes over 64 nodes, processor time", seconds, "s", 10)]


def main():
    with tempfile.TemporaryDirectory() as folder:
        made_up = [made_up_trace(folder, "made up, calm", 1, 16, 1440, 1), made_up_trace(folder, "made up, lively", 2, 16, 1440, 4)]
        rows = [result for trace in recorded_traces() + made_up for result in rows_of_trace(folder, trace)]
        print(json.dumps(rows + rows_of_frequent_losses(folder) + worst_case(folder)))


if __name__ == "__main__":
    main()
