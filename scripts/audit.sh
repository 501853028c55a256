#!/usr/bin/env bash
# Known weaknesses of the packages that are pinned, by pip-audit: scripts/audit.sh [FILE ...]
# The default is every file in locks/. Needs the network: the package index's list of weaknesses.
set -euo pipefail
cd "$(dirname "$0")/.."

files=("$@")
[ $# -gt 0 ] || files=(locks/*.txt)
uv=$(command -v .venv/bin/uv || command -v uv || true)
if [ -z "$uv" ]; then
  python3 -m pip install --quiet "uv>=0.9,<1"
  uv=$(command -v uv)
fi
for file in "${files[@]}"; do
  echo "audit: $file"
  # Pinned with digests, so nothing is resolved or installed. A package that cannot be looked up fails.
  "$uv" tool run --quiet --from "pip-audit>=2.9,<3" pip-audit --requirement "$file" --require-hashes \
    --disable-pip --strict --progress-spinner off
done
