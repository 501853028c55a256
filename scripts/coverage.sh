#!/usr/bin/env bash
# Which lines the default tests reach: scripts/coverage.sh [PYTEST ARGUMENTS]
# Writes build/coverage/ (text and XML); fewer than LEAST percent fail (90).
set -euo pipefail
cd "$(dirname "$0")/.."
exec </dev/null

[ -x .venv/bin/python ] || make setup
.venv/bin/python -c "import pytest_cov" 2>/dev/null || .venv/bin/pip install --quiet "pytest-cov>=6,<8"
mkdir -p build/coverage
export OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive COVERAGE_FILE=build/coverage/data
packages=(--cov=graphwalker --cov=data_pipeline --cov=training --cov=eval)
.venv/bin/python -m pytest -n auto --dist loadfile "${packages[@]}" \
  --cov-report=xml:build/coverage/coverage.xml --cov-report=term:skip-covered \
  --cov-fail-under="${LEAST:-90}" "$@" | tee build/coverage/report.txt
