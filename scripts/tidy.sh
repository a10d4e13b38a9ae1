#!/usr/bin/env bash
# clang-tidy on the C++ sources that changed against a revision, or on all of them.
#   scripts/tidy.sh [REVISION]
set -euo pipefail
cd "$(dirname "$0")/.."
patterns=('planner/*.cc' 'simulator/*.cc' 'operator/*.cc' 'trainer/*.cc' ':!trainer/comm/nccl.cc') # that one needs CUDA
if [ $# -gt 0 ]; then
  mapfile -t sources < <(git diff --name-only --diff-filter=d "$1" -- "${patterns[@]}")
else
  mapfile -t sources < <(git ls-files -- "${patterns[@]}")
fi
[ "${#sources[@]}" -gt 0 ] || { echo "[tidy] no C++ source changed"; exit 0; }
echo "[tidy] ${#sources[@]} files"
# A configuration of its own, in which nothing is built: clang cannot read the precompiled headers of g++.
cmake --preset dev -B build/tidy -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON --log-level=WARNING >/dev/null
printf '%s\n' "${sources[@]}" | xargs -P2 -n1 clang-tidy --quiet -p build/tidy
