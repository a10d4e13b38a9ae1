#!/usr/bin/env bash
# Makes build/gpu-bundle: the proof on a GPU (tests/gpu) for a machine that has a GPU and PyTorch 2.11, but neither our
# packages nor a network. `make gpu-bundle` builds the programs first. Copy the folder there and start its run.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
bundle=build/gpu-bundle
limit_mib=60
torch=.deps/torch/torch/lib
libraries=$torch:.deps/torch/nvidia/cu13/lib:$(find .deps/cuda/nvidia -maxdepth 2 -name lib | tr '\n' ':')

rm -rf "$bundle"
mkdir -p "$bundle/lib"
cmake --install build/dev --component gpu-bundle --strip --prefix "$bundle" >/dev/null

# Debian's libraries of our programs. The C library and the loader have to be the machine's own.
LD_LIBRARY_PATH=$libraries ldd "$bundle"/bin/* | awk '$3 ~ "^/(usr/)?lib/" { print $3 }' | sort -u |
  grep -vE '/(libc|libm|libdl|librt|libpthread|libresolv|libutil|ld-linux[^/]*)\.so' | xargs cp -L -t "$bundle/lib"

for path in tests/gpu tests/support/agents.py tests/bench/pytorch_reference.py core/model/accelerators.json; do
  mkdir -p "$bundle/$(dirname "$path")"
  cp -r "$path" "$bundle/$path"
done
mv "$bundle/tests/gpu/run.sh" "$bundle/run.sh"
git rev-parse HEAD >"$bundle/commit"
find "$bundle" -name __pycache__ -prune -exec rm -r {} +

size=$(du -sm "$bundle" | cut -f1)
needs=$(objdump -T "$bundle"/bin/* "$bundle"/lib/* | grep -oE 'GLIBC_[0-9.]+' | sort -Vu | tail -n 1)
echo "[bundle] $bundle: $size MiB (at most $limit_mib), needs $needs and PyTorch $(cut -d' ' -f1 scripts/wheels.txt | grep ^torch==)"
[ "$size" -le "$limit_mib" ] || { echo "[bundle] it is larger than $limit_mib MiB" >&2; exit 1; }
