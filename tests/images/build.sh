#!/usr/bin/env bash
# Builds images of docker/Dockerfile from the sources, without a registry and without a daemon, and unpacks them:
#   tests/images/build.sh FOLDER TARGET...
# The file system of a target becomes FOLDER/TARGET, its configuration FOLDER/TARGET.json. Needs root, and what
# `scripts/setup.sh images` installs. The base image is made of Debian's packages, with the certificates and pip's settings of this
# machine, so that downloads work behind its proxy. FOLDER/store keeps the layers for the next time.
set -euo pipefail
folder=$(realpath -m "$1")
shift
cd "$(dirname "$0")/../.."
base=docker.io/library/debian:12-slim
mkdir -p "$folder"

say() { printf '[images] %s\n' "$*"; }
buildah() { STORAGE_DRIVER=overlay command buildah --root "$folder/store" --runroot "$folder/run" "$@"; }

# Containers are only means to an end here. None is left, nor a mount of one, however this ends.
trap 'buildah rm --all >/dev/null 2>&1 || true' EXIT

make_base() {
  local sources=/etc/apt/sources.list.d/debian.sources hooks=() container
  [ -e "$sources" ] || sources=/etc/apt/sources.list
  [ ! -e /etc/pip.conf ] || hooks+=(--customize-hook='copy-in /etc/pip.conf /etc')
  say "making the base image of Debian's packages"
  mmdebstrap --quiet --variant=minbase --include=ca-certificates \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --customize-hook='copy-in /usr/local/share/ca-certificates /usr/local/share' \
    --customize-hook='chroot "$1" update-ca-certificates >/dev/null' \
    "${hooks[@]}" bookworm "$folder/base.tar" "$sources"
  container=$(buildah from scratch)
  buildah add --quiet "$container" "$folder/base.tar" / >/dev/null
  buildah commit --quiet --rm "$container" "$base" >/dev/null
  rm "$folder/base.tar"
}

# unpack TARGET: the file system and the configuration of an image that was built
unpack() {
  local container
  container=$(buildah from --pull=never "sailor-$1")
  rm -rf "${folder:?}/$1"
  cp -a "$(buildah mount "$container")" "$folder/$1"
  buildah inspect --type image "sailor-$1" |
    python3 -c 'import json, sys; json.dump(json.load(sys.stdin)["OCIv1"]["config"], sys.stdout)' >"$folder/$1.json"
  buildah rm "$container" >/dev/null
}

[ -n "$(buildah images --quiet --filter "reference=$base")" ] || make_base
for target in "$@"; do
  say "building $target"
  buildah bud --quiet --layers --isolation chroot --pull=never --build-arg "REVISION=$(git rev-parse HEAD)" \
    -f docker/Dockerfile --target "$target" -t "sailor-$target" . >"$folder/$target.log" 2>&1 ||
    { tail -n 40 "$folder/$target.log"; say "building $target failed; $folder/$target.log has all of it"; exit 1; }
  unpack "$target"
done
say "ready"
