#!/usr/bin/env bash
# Runs clang-tidy on the C++ sources. trainer/comm/nccl.cc is checked only after `make gpu`.
#   scripts/tidy.sh                     all sources
#   scripts/tidy.sh --changed SECONDS   sources that changed, or whose header changed, since the merge base with origin/main;
#                                       those with most changed lines first, and none is started after SECONDS. Where HEAD is
#                                       origin/main: since HEAD~20. SAILOR_TIDY_BASE names another revision.
set -euo pipefail
cd "$(dirname "$0")/.."
say() { printf '[tidy] %s\n' "$*"; }

# Without the precompiled headers, which are g++'s, and which would hide it if a file does not include what it uses.
options=(-DSAILOR_PRECOMPILE=OFF -DSAILOR_UNITY=OFF)
[ ! -d .deps/cuda ] || options+=(-DSAILOR_WITH_CUDA=ON)
cmake --preset dev -B build/tidy "${options[@]}" >/dev/null

base_revision() {
  local base
  if [ -n "${SAILOR_TIDY_BASE:-}" ]; then echo "$SAILOR_TIDY_BASE"; return; fi
  base=$(git merge-base HEAD origin/main 2>/dev/null || true)
  if [ -z "$base" ] || [ "$base" = "$(git rev-parse HEAD)" ]; then
    base=$(git rev-parse --verify --quiet HEAD~20 || git hash-object -t tree /dev/null)
  fi
  echo "$base"
}

# Paths that changed since the revision, the one with most changed lines first; a header stands for its source.
changed_since() {
  git diff --numstat --no-renames --diff-filter=d "$1" -- '*.h' '*.cc' |
    sort -k1,1nr | cut -f3 | sed 's/\.h$/.cc/' | awk '!seen[$0]++'
}

# Keeps the paths of files that build/tidy compiles, without the tests.
compiled() {
  grep -v '^tests/' | while read -r file; do
    ! grep -qF "\"file\": \"$PWD/$file\"" build/tidy/compile_commands.json || echo "$file"
  done
}

limit_s=1000000
if [ "${1:-}" = --changed ]; then
  limit_s=$2
  base=$(base_revision)
  mapfile -t sources < <(changed_since "$base" | compiled)
  say "${#sources[@]} sources changed since $(git rev-parse --short "$base")"
else
  mapfile -t sources < <(git ls-files '*.cc' | compiled)
  say "${#sources[@]} sources"
fi
[ "${#sources[@]}" -gt 0 ] || exit 0

# libstdc++ 12 deprecates a function that its own stable_sort calls; g++ checks our code for such calls, with -Werror.
export deadline=$(($(date +%s) + limit_s))
check() {
  if [ "$(date +%s)" -ge "$deadline" ]; then
    printf '[tidy] not checked, the time is up: %s\n' "$1"
  else
    # clang does not know the parameters of GCC's garbage collection.
    .deps/tidy/clang_tidy/data/bin/clang-tidy --quiet -p build/tidy --extra-arg=-Wno-deprecated-declarations \
      --extra-arg=-Wno-unused-command-line-argument "$1" 2>&1 | { grep -v 'warnings generated\.$' || true; }
  fi
}
export -f check
export SHELLOPTS  # pipefail in check
printf '%s\n' "${sources[@]}" | xargs -P2 -I{} bash -c 'check {}'
