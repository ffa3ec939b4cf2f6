#!/usr/bin/env bash
# What needs no test run. Usage: tools/check.sh [format|layers|size|words|headers|readme] [--fix]
#
#   format   clang-format 14 over all C++ (--fix formats in place); other versions format otherwise,
#            so without that version this check says that it was skipped
#   layers   includes point only backwards (check_layers.py)
#   size     file, function and line lengths, and the line budget (check_size.py)
#   words    no leftovers: to-do marks, commented-out code marks, conflict marks
#   headers  every header compiles alone (a target of the build)
#   readme   the commands and links of README.md, docs/ and tutorial/ exist (check_readme.py)
#
# clang-tidy is not among them: it takes several seconds a file, minutes for the whole tree; the
# compiler's -Wall -Wextra -Werror, the sanitizers and the checks above run always instead.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cpp_files() {
  python3 -c '
import sys; sys.path.insert(0, "tools")
import pathlib, tree
print(*(p for p in tree.files(pathlib.Path(".")) if p.suffix in tree.CPP), sep="\n")'
}

check_format() {
  local tool
  tool=$(command -v clang-format-14 || command -v clang-format || true)
  if [[ -z $tool ]] || ! "$tool" --version | grep -q 'version 14\.'; then
    echo "format: skipped, there is no clang-format 14"
    return 0
  fi
  local mode=(--dry-run -Werror)
  [[ ${1:-} == --fix ]] && mode=(-i)
  cpp_files | xargs -r -n 16 -P "$(nproc)" "$tool" "${mode[@]}" && echo "format: fine"
}

check_layers() { python3 tools/check_layers.py; }
check_size() { python3 tools/check_size.py; }
check_words() { python3 tools/check_words.py; }
check_readme() { python3 tools/check_readme.py; }

check_headers() {
  local build=${COCONET_BUILD:-build}
  if [[ ! -f $build/CMakeCache.txt ]]; then
    echo "headers: there is no build in $build; run make build first" >&2
    return 1
  fi
  cmake --build "$build" -j "$(nproc)" --target check_headers >"$build/check_headers.log" 2>&1 &&
    echo "headers: fine" && return 0
  cat "$build/check_headers.log"
  return 1
}

checks=(format layers size words headers readme)
if [[ $# -gt 0 ]]; then
  if [[ " ${checks[*]} " != *" $1 "* ]]; then
    echo "check.sh: no check '$1'; there are: ${checks[*]}" >&2
    exit 2
  fi
  "check_$1" "${@:2}"
  exit
fi

failed=()
for check in "${checks[@]}"; do
  "check_$check" || failed+=("$check")
done
if [[ ${#failed[@]} -gt 0 ]]; then
  echo "check.sh: failed: ${failed[*]}"
  exit 1
fi
