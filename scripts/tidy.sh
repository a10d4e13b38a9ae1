#!/usr/bin/env bash
# clang-tidy on the C++ sources that changed against a revision, or on all of them, as far as build/dev compiles them:
# trainer/comm/nccl.cc only after `make gpu`.
#   scripts/tidy.sh [REVISION]
set -euo pipefail
cd "$(dirname "$0")/.."
modules=('core/*.cc' 'planner/*.cc' 'simulator/*.cc' 'report/*.cc' 'operator/*.cc' 'trainer/*.cc' 'cli/*.cc')
compiled() {
  while read -r file; do
    ! grep -qF "\"file\": \"$PWD/$file\"" build/dev/compile_commands.json || echo "$file"
  done
}
if [ $# -gt 0 ]; then
  mapfile -t sources < <(git diff --name-only --diff-filter=d "$1" -- "${modules[@]}" | compiled)
else
  mapfile -t sources < <(git ls-files "${modules[@]}" | compiled)
fi
[ "${#sources[@]}" -gt 0 ] || { echo "[tidy] no C++ source changed"; exit 0; }
echo "[tidy] ${#sources[@]} files"
# libstdc++ 12 deprecates a function that its own stable_sort calls; for ours g++ looks, with -Werror. The precompiled
# header is g++'s, which clang passes over.
printf '%s\n' "${sources[@]}" | xargs -P2 -n1 clang-tidy-19 --quiet -p build/dev --extra-arg=-Wno-deprecated-declarations --extra-arg=-Wno-ignored-gch
