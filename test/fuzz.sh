#!/usr/bin/env bash
# Runs every fuzz target of the module with FUZZ (100000) inputs each, one after
# the other, and prints the events of `go test -json`. It counts inputs and not
# seconds, because go test may call an input that is cut off by the end of the
# time a failure.
set -euo pipefail

mapfile -t packages < <(git grep -l --untracked '^func Fuzz' -- '*_test.go' | xargs -n 1 dirname | sort -u | sed 's|^|./|')
go test -list '^Fuzz' "${packages[@]}" | awk '/^Fuzz/ { names[n++] = $1; next }
  $1 == "ok" { for (i = 0; i < n; i++) print $2, names[i] }
  { n = 0 }' | {
  failed=0
  while read -r package name; do
    go test -json -run "^$name\$" -fuzz "^$name\$" -fuzztime "${FUZZ:-100000}x" -fuzzminimizetime 5x "$package" </dev/null || failed=1
  done
  exit "$failed"
}
