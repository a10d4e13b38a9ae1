"""Step G: a profile that is measured here, and the simulator's step beside the measured one."""
import json

import agents
import models
import speed

SIMULATED_WELL = (0.9, 1.1)


def run(machine, report):
    for name in ("350M", "1B LLaMA") if machine.has_gpu else models.SPEED_ON_CPU:
        job = speed.job_of(machine, name)
        measured = speed.our_step(machine, job)
        estimated = simulated(machine, job)
        report.number(f"{name}: measured step", measured, "s")
        least, most = SIMULATED_WELL if machine.has_gpu else (None, None)
        report.number(f"{name}: simulated step over the measured one", estimated / measured, "x", at_most=most, at_least=least)
    if not machine.has_gpu:
        report.skip("limits of the simulated step", "no GPU: other work of this machine affects both numbers")


def simulated(machine, job):
    folder = machine.folder / job.model["name"]
    profiles = folder / "profiles"
    profiles.mkdir(parents=True, exist_ok=True)
    accelerator = (machine.accelerator() or {"accelerator": agents.STAND_IN})["accelerator"]
    write_job(folder / "job.yaml", job)
    profile = [machine.program("sailor-trainer-gpu"), "profile", "--job", folder / "job.yaml", "--accelerator", accelerator,
               "--device", machine.device, "--seconds", "4"]
    (profiles / "profile.yaml").write_text(machine.run(profile, NVIDIA_TF32_OVERRIDE="").stdout)
    pool = {"apiVersion": "sailor.dev/v1alpha1", "kind": "GpuPool", "metadata": {"name": "here"},
            "spec": {"region": "local", "zone": "local-a", "accelerator": accelerator, "provisioning": "OnDemand", "gpusPerNode": 1,
                     "maxNodes": 1, "pricePerGpuHour": "1"}}
    (folder / "cluster.yaml").write_text(json.dumps(pool))
    text = json.dumps(agents.plan(job, agents.one_worker(job))).replace(agents.STAND_IN, accelerator)
    (folder / "plan.json").write_text(text)
    simulate = [machine.program("sailor"), "simulate", "-f", folder / "job.yaml", "--cluster", folder / "cluster.yaml", "--profiles",
                profiles, "--plan", folder / "plan.json", "--execution", "trainer", "-o", "json"]
    return json.loads(machine.run(simulate).stdout)["estimate"]["iterationSeconds"]


def write_job(file, job):
    spec = {"model": {"config": job.model}, "training": job.training(), "data": {"format": "Tokens", "path": "/unused.bin"},
            "objective": {"type": "MaxThroughput"}}
    manifest = {"apiVersion": "sailor.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "job"}, "spec": spec}
    file.write_text(json.dumps(manifest))  # JSON is YAML
