#!/usr/bin/env bash
# Runs the proof on a GPU from the bundle that `make gpu-bundle` makes: run.sh [STEP...], see tests/gpu/proof.py.
# It needs a Python with PyTorch 2.11, whose libraries our programs use: PYTHON=/path/to/python, by default python3.
set -euo pipefail
bundle=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
find_torch='import importlib.metadata, importlib.util, pathlib
version = importlib.metadata.version("torch")
if not version.startswith("2.11."): raise SystemExit(f"PyTorch is {version}, but the programs are built for 2.11")
print(pathlib.Path(importlib.util.find_spec("torch").origin).parent)'
torch=$("$python" -c "$find_torch") || { echo "set PYTHON to a Python with PyTorch 2.11" >&2; exit 2; }
libraries=$bundle/lib:$torch/lib
for folder in "$torch"/../nvidia/*/lib; do libraries=$libraries:$folder; done
# GKE puts the driver's libraries here.
libraries=$libraries:/usr/local/nvidia/lib64
SAILOR_LIBRARIES=$libraries SAILOR_PYTHON=$python exec "$python" "$bundle/tests/gpu/proof.py" "$@"
