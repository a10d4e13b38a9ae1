"""What the proof on a GPU has found: gpu-proof.json and a table.

A check is passed, failed, skipped (with the reason) or reported (a number without a limit). A step that runs again replaces
its checks in the file, so steps can run one by one.
"""
import datetime
import json
import pathlib


class Report:
    def __init__(self, file, machine):
        self.file = pathlib.Path(file)
        old = json.loads(self.file.read_text()) if self.file.exists() else {}
        is_same = old.get("machine") == machine
        self.content = {"machine": machine, "steps": old.get("steps", {}) if is_same else {}}

    def begin(self, step, what):
        self.step = self.content["steps"][step] = {"what": what, "date": datetime.datetime.now().isoformat(timespec="seconds"), "checks": []}

    def end(self, seconds):
        self.step["seconds"] = round(seconds, 1)
        self.file.write_text(json.dumps(self.content, indent=1) + "\n")

    def _add(self, name, outcome, **more):
        self.step["checks"].append({"name": name, "outcome": outcome, **more})

    def number(self, name, value, unit="", at_most=None, at_least=None):
        """A number within limits passes; without a limit it is only reported."""
        holds = (at_most is None or value <= at_most) and (at_least is None or value >= at_least)
        limits = {key: limit for key, limit in (("atMost", at_most), ("atLeast", at_least)) if limit is not None}
        self._add(name, "reported" if not limits else "passed" if holds else "failed", value=value, unit=unit, **limits)

    def holds(self, name, is_so, why=""):
        self._add(name, "passed" if is_so else "failed", **({"why": why} if why else {}))

    def fail(self, name, why):
        self._add(name, "failed", why=why)

    def skip(self, name, why):
        self._add(name, "skipped", why=why)

    def outcomes(self, steps):
        return [check["outcome"] for step in steps for check in self.content["steps"][step]["checks"]]

    def table(self):
        lines = ["| step | check | value | limit | outcome |", "|---|---|---|---|---|"]
        for name in sorted(self.content["steps"]):
            for check in self.content["steps"][name]["checks"]:
                lines.append(f"| {name} | {check['name']} | {value_of(check)} | {limit_of(check)} | {outcome_of(check)} |")
        return "\n".join(lines)


def value_of(check):
    return f"{check['value']:.4g} {check['unit']}".strip() if "value" in check else ""


def limit_of(check):
    limits = [f"{sign} {check[key]:g}" for key, sign in (("atLeast", ">="), ("atMost", "<=")) if key in check]
    return ", ".join(limits)


def outcome_of(check):
    outcome = f"**{check['outcome']}**" if check["outcome"] == "failed" else check["outcome"]
    why = check.get("why", "").split("\n")[0]
    return f"{outcome}: {why}" if why else outcome
