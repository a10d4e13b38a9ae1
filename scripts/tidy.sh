#!/usr/bin/env bash
# clang-tidy on the C++ sources that changed against a revision, or on all of them.
#   scripts/tidy.sh [REVISION]
set -euo pipefail
cd "$(dirname "$0")/.."
modules=('planner/*.cc' 'simulator/*.cc' 'operator/*.cc' 'trainer/*.cc')
if [ $# -gt 0 ]; then
  mapfile -t sources < <(git diff --name-only --diff-filter=d "$1" -- "${modules[@]}")
else
  mapfile -t sources < <(git ls-files "${modules[@]}")
fi
[ "${#sources[@]}" -gt 0 ] || { echo "[tidy] no C++ source changed"; exit 0; }
echo "[tidy] ${#sources[@]} files"
printf '%s\n' "${sources[@]}" | xargs -P2 -n1 clang-tidy-19 --quiet -p build/dev
