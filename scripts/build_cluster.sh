#!/bin/sh
# Builds all Go programs into build/bin: the local Kubernetes (sailor-cluster, kubectl), helm and the demo. Go's cache skips
# what is built already.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
bin=$root/build/bin
kubernetes=$(sed -n 's|.*k8s.io/kubernetes v|v|p' "$root/tests/go.mod")
helm=$(sed -n 's|.*helm.sh/helm/v3 \(v[^ ]*\).*|\1|p' "$root/tests/tools/helm/go.mod")

# Without cgo the programs are static, and need no C compiler.
export CGO_ENABLED=0 GOFLAGS=-buildvcs=false GOTOOLCHAIN=local

# new_enough GO: succeeds if the program exists and is at least as new as the newest go.mod requires.
new_enough() {
    have=$("$1" env GOVERSION 2>/dev/null | sed 's/^go//; s/[^0-9.].*//') || return 1
    want=$(sed -n 's/^go //p' "$root/tests/go.mod" "$root/tests/tools/helm/go.mod" | sort -V | tail -n 1)
    [ -n "$have" ] && [ "$(printf '%s\n%s\n' "$want" "$have" | sort -V | head -n 1)" = "$want" ]
}

find_go() {
    for candidate in go "$root/.deps/go/bin/go"; do
        if new_enough "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    echo "building the local Kubernetes needs Go $want or newer, in PATH or in .deps/go: run scripts/setup.sh" >&2
    exit 1
}

# show_progress TOTAL WHAT: shows the packages that `go build -v` names while it compiles them, and passes on other output.
show_progress() {
    compiled=0
    while IFS= read -r line; do
        case $line in
        '' | *[!A-Za-z0-9./_~-]*) # no package
            printf '%s\n' "$line"
            continue
            ;;
        esac
        compiled=$((compiled + 1))
        if [ -t 2 ]; then
            printf '\r  %s: %d of %d packages' "$2" "$compiled" "$1"
        elif [ $((compiled % 200)) -eq 0 ]; then
            printf '  %s: %d of %d packages\n' "$2" "$compiled" "$1"
        fi
    done >&2
    if [ -t 2 ] && [ "$compiled" -gt 0 ]; then echo >&2; fi
}

# build WHAT FOLDER LDFLAGS OUTPUT PACKAGE: builds the package in the module of the folder.
build() {
    total=$(cd "$2" && "$go" list -deps "$5" | wc -l)
    # The status of the build bypasses the pipe, on descriptor 4.
    status=$({
        { (cd "$2" && "$go" build -v -ldflags "-s -w $3" -o "$4" "$5" 2>&1) && echo 0 >&4 || echo 1 >&4; } | show_progress "$total" "$1"
    } 4>&1)
    if [ "$status" -ne 0 ]; then
        echo "building $1 failed; the errors are above" >&2
        exit 1
    fi
}

go=$(find_go)
mkdir -p "$bin"
echo "building the local Kubernetes (sailor-cluster, kubectl, helm) and the demo: 6 to 11 minutes the first time on 2 cores, seconds later"
version=k8s.io/component-base/version # what the API server and the kubelets report
build "Kubernetes $kubernetes" "$root/tests" \
    "-X $version.gitVersion=$kubernetes -X $version.gitMajor=1 -X $version.gitMinor=34 -X $version.gitTreeState=clean" \
    "$bin/" ./cluster/cmd/...
ln -sf sailor-cluster "$bin/kubectl"
build "the demo" "$root/tests" "" "$bin/sailor-demo" ./demo
build "the benchmark" "$root/tests" "" "$bin/sailor-bench" ./bench
build "helm $helm" "$root/tests/tools/helm" "-X helm.sh/helm/v3/internal/version.version=$helm" "$bin/helm" helm.sh/helm/v3/cmd/helm
echo "built sailor-cluster, kubectl, helm and sailor-demo in $bin"
