#!/usr/bin/env bash
# Sets up this machine, builds, and runs every test and check; ends with ctest's summary.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
tools/install.sh
exec make --no-print-directory test
