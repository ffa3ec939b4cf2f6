#!/usr/bin/env bash
# Installs what building and testing needs, by apt. Does nothing, and needs no network, when all of
# it is there. For Debian 12, Ubuntu 24.04 and newer.
set -euo pipefail

# Compiler and build; then the libraries (docs/building.md says what each is for).
required=(
  g++ make cmake ninja-build python3 python3-dev python3-venv
  libfmt-dev nlohmann-json3-dev libcli11-dev libgtest-dev libgmock-dev
  libdnnl-dev librandom123-dev
)
# Done without, if the distribution does not have them.
optional=(ccache clang-format-14)

installed() {
  [[ "$(dpkg-query -W -f='${Status}' "$1" 2>/dev/null)" == "install ok installed" ]]
}

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  echo "install.sh: no apt on this machine; install the equivalents of: ${required[*]}" >&2
  exit 1
fi

missing=()
for package in "${required[@]}"; do
  installed "$package" || missing+=("$package")
done
# Optional packages alone are no reason to ask the network.
if [[ ${#missing[@]} -eq 0 ]]; then
  echo "install.sh: everything needed is installed"
  exit 0
fi

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    echo "install.sh: run as root, or install sudo; missing: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o Dpkg::Use-Pty=0 "$@"
}

apt update
for package in "${optional[@]}"; do
  installed "$package" && continue
  if apt-cache show "$package" >/dev/null 2>&1; then
    missing+=("$package")
  else
    echo "install.sh: $package is not in this distribution; going on without it"
  fi
done
for package in "${missing[@]}"; do
  if ! apt-cache show "$package" >/dev/null 2>&1; then
    echo "install.sh: apt knows no $package; on Ubuntu it needs the 'universe' component" >&2
    exit 1
  fi
done
echo "install.sh: installing ${missing[*]}"
apt install --yes --no-install-recommends "${missing[@]}"
echo "install.sh: installed ${missing[*]}"
