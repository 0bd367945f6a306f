#!/usr/bin/env bash
# Runs every fuzz target of the module for FUZZTIME (10s) each, one after the
# other, and prints the events of `go test -json`.
set -euo pipefail

go test -list '^Fuzz' ./... | awk '/^Fuzz/ { names[n++] = $1; next }
  $1 == "ok" { for (i = 0; i < n; i++) print $2, names[i] }
  { n = 0 }' | {
  failed=0
  while read -r package name; do
    go test -json -run "^$name\$" -fuzz "^$name\$" -fuzztime "${FUZZTIME:-10s}" -fuzzminimizetime 5x "$package" </dev/null || failed=1
  done
  exit "$failed"
}
