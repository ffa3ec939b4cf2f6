#!/usr/bin/env bash
# Sets up this machine, builds, and runs the programs of examples/ on real data.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
tools/install.sh
exec make --no-print-directory demo
