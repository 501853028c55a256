#!/usr/bin/env bash
# Fetch the libraries that the report embeds into eval/report/assets, or say that they are as vendored.
# scripts/vendor_assets.sh fetches; scripts/vendor_assets.sh --check compares checksums, offline.
# To take a newer release: change its version and both checksums here, run this, run the browser tests.
set -euo pipefail
cd "$(dirname "$0")/.."

# cytoscape.js, MIT licence, https://js.cytoscape.org
name=cytoscape
version=3.34.4
package_sha256=0d02363d99d805ce8d91fdecab7b2a8cb91ee280d67f309ce44c161d117b4679
file_sha256=081591ab735b2b6a3b31a3c60f8f3a3e2fee8c92939e0c7820ad1208571b6cd8
file=eval/report/assets/$name.min.js

verify() { printf '%s  %s\n' "$1" "$2" | sha256sum --check --quiet -; }

if [ "${1:-}" != --check ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  npm pack --silent --pack-destination "$folder" "$name@$version" >/dev/null
  verify "$package_sha256" "$folder/$name-$version.tgz"
  tar -xzf "$folder/$name-$version.tgz" -C "$folder"
  cp "$folder/package/dist/$name.min.js" "$file"
  cp "$folder/package/LICENSE" "eval/report/assets/$name.LICENSE"
fi
verify "$file_sha256" "$file"
echo "$file is $name $version (sha256 $file_sha256)"
