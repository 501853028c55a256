# Shared by run and nightly (sourced): sections, Debian packages, tests of one marker, the count at the end.
set -euo pipefail
exec </dev/null
export DEBIAN_FRONTEND=noninteractive
results=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$results"' EXIT

section() { printf '\n=== %s (%ss)\n' "$*" "$SECONDS"; }

# Debian packages, where we may install them: as root, or with a sudo that asks nothing.
install_packages() {
  local as_root=()
  command -v apt-get >/dev/null || return 1
  if [ "$(id -u)" != 0 ]; then
    sudo -n true 2>/dev/null || return 1
    as_root=(sudo)
  fi
  "${as_root[@]}" apt-get update -qq || true
  "${as_root[@]}" apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# have_package COMMAND PACKAGE...: true where the command is there, or its packages can be installed.
have_package() {
  command -v "$1" >/dev/null || install_packages "${@:2}"
}

# Start something beside what follows, which needs one core: beside NAME COMMAND...; `finish NAME` waits for it and shows what
# it printed.
declare -A started
beside() {
  "${@:2}" >"$results/$1.log" 2>&1 &
  started[$1]=$!
}
finish() {
  local status=0
  wait "${started[$1]}" || status=$?
  cat "$results/$1.log"
  return $status
}

# Run the tests of one marker, if there are any, with what they need: run_marked MARKER COMMAND PACKAGE...
# What is marked slow or long besides is for the night.
run_marked() {
  local marker=$1 files
  files=$(grep -rlE --include='*.py' "mark\.$marker\b" tests | tr '\n' ' ') || return 0
  section "tests marked $marker"
  if ! have_package "${@:2}"; then
    echo "skipped: $2 is not here, and ${*:3} cannot be installed"
    return 0
  fi
  make test PYTEST_ARGS="-n 0 -m '$marker and not (slow or long)' --junitxml=$results/$marker.xml $files"
}

# Every Debian package that tests need, one after the other: apt has one lock.
install_all() {
  local status=0
  have_package chromium chromium || status=1
  have_package virtuoso-t virtuoso-opensource-7 || status=1
  have_package sbatch slurm-wlm munge || status=1
  return $status
}

if [ "$(id -u)" = 0 ] && ! python3 -c 'import ensurepip' 2>/dev/null; then
  install_packages python3-venv || true
fi

# Print how many tests passed, failed and were skipped, over all runs.
count_tests() {
  .venv/bin/python - "$results" <<'PY'
import sys
from pathlib import Path
from xml.etree import ElementTree

total = failed = skipped = 0
for report in Path(sys.argv[1]).glob("*.xml"):
    for suite in ElementTree.parse(report).iter("testsuite"):
        total += int(suite.get("tests", 0))
        failed += int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        skipped += int(suite.get("skipped", 0))
print(f"{total - failed - skipped} passed, {failed} failed, {skipped} skipped")
PY
}
