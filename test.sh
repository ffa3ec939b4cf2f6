#!/usr/bin/env bash
# Sets up this machine, builds, and runs every test and check; ends with ctest's summary.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
tools/install.sh
# Of the Python package; with `torch` behind it PyTorch too. Without a network the rest is tested.
tools/python.sh || echo "test.sh: no environment for the Python package; its tests are left out"
exec make --no-print-directory test
