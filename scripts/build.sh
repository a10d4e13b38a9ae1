#!/usr/bin/env bash
# Builds everything into build/bin: the C++ programs, and at the same time the local Kubernetes. Skips what is done.
#   scripts/build.sh programs   what a user runs, and the local cluster with the demo
#   scripts/build.sh cpp        the C++ programs and their tests
#   scripts/build.sh            all of it
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build/log build/bin

say() { printf '[build] %s\n' "$*"; }

# build_cpp TARGET...
build_cpp() {
  say "C++: $*"
  [ -f build/dev/build.ninja ] || cmake --preset dev >build/log/configure.log || { cat build/log/configure.log; return 1; }
  export NINJA_STATUS='[build] C++ %f/%t, %e s: '
  # On a terminal ninja updates one line by itself. In a pipe, every twentieth of its lines is shown, and all other output.
  if [ -t 1 ]; then
    nice ninja -C build/dev -j2 "$@"
  else
    nice ninja -C build/dev -j2 "$@" 2>&1 | awk '/^\[build\] C\+\+ / { if (++lines % 20 != 1) next } { print; fflush() }'
  fi
}

programs=(sailor sailor-operator sailor-trainer)
case "${1:-all}" in
  programs) targets=("${programs[@]}") ;;
  cpp | all) targets=(all) ;;
  *) say "\"$1\" is unknown; use programs, cpp or nothing" >&2; exit 2 ;;
esac
if [ "${1:-all}" = cpp ]; then
  build_cpp "${targets[@]}"
  exit
fi

# Go and C++ share the two cores: while one links, the other compiles. The progress of the cluster is shown after C++.
scripts/build_cluster.sh >build/log/cluster.log 2>&1 &
cluster=$!
trap 'kill "$cluster" 2>/dev/null || true' EXIT
build_cpp "${targets[@]}"
if kill -0 "$cluster" 2>/dev/null; then say "waiting for the local Kubernetes (log: build/log/cluster.log)"; fi
tail -n +1 --follow --pid="$cluster" build/log/cluster.log 2>/dev/null || true
if ! wait "$cluster"; then
  say "building the local Kubernetes failed; see build/log/cluster.log"
  exit 1
fi
trap - EXIT
say "done: $(ls build/bin | tr '\n' ' ')"
