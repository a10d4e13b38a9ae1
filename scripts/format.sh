#!/usr/bin/env bash
# Formats all C++ and Go sources.
#   scripts/format.sh           rewrites files that are not formatted
#   scripts/format.sh --check   changes nothing; names such files and fails if there are any
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PATH:$PWD/.deps/go/bin"
if [ "${1:-}" = --check ]; then
  git ls-files '*.h' '*.cc' | xargs -P2 -n40 clang-format --dry-run -Werror
  unformatted=$(git ls-files '*.go' | xargs gofmt -l)
  [ -z "$unformatted" ] || { echo "gofmt would change: $unformatted"; exit 1; }
else
  git ls-files '*.h' '*.cc' | xargs clang-format -i
  git ls-files '*.go' | xargs gofmt -w
fi
