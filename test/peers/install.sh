#!/usr/bin/env bash
# Installs what the checks and the outer tests need into .peers, each part at
# a pinned version and only when it is not there yet.
#
#   test/peers/install.sh PART...      the parts are npm, go, a2a, staticcheck, browser
set -euo pipefail

GO_SDK=v1.8.0
STATICCHECK=v0.8.2 # released as 2026.2.2

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
peers=$(cd "$here/../.." && pwd)/.peers
mkdir -p "$peers/bin"

# once PART WANTED COMMAND runs COMMAND unless PART was installed as WANTED.
once() {
  local stamp=$peers/.$1.stamp
  if [[ -f $stamp && $(<"$stamp") == "$2" ]]; then return; fi
  rm -f "$stamp"
  "${@:3}"
  echo "$2" >"$stamp"
}

# The bundler that the inspector brings along for its web page is replaced by
# a package of a few lines: nothing here uses it, and it is a binary for each
# platform, not all of which can be had everywhere.
install_npm() {
  cp "$here/package.json" "$here/package-lock.json" "$peers/"
  (cd "$peers" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null)
}

install_go() {
  local sdk=github.com/modelcontextprotocol/go-sdk/conformance
  GOBIN=$peers/bin go install "$sdk/everything-server@$GO_SDK" "$sdk/everything-client@$GO_SDK"
}

install_a2a() {
  (cd "$here/a2a-cli" && go build -o "$peers/bin/a2a" github.com/a2aproject/a2a-go/v2/cmd/a2a)
}

install_staticcheck() {
  GOBIN=$peers/bin go install "honnef.co/go/tools/cmd/staticcheck@$STATICCHECK"
}

# The browser is the system's own.
install_browser() {
  if command -v chromium >/dev/null; then return; fi
  local root=()
  if ((EUID != 0)); then root=(sudo); fi
  "${root[@]}" apt-get update -qq
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium >/dev/null
}

for part in "$@"; do
  case $part in
    npm) once npm "$(cat "$here/package.json" "$here/package-lock.json" | sha256sum)" install_npm ;;
    go) once go "$GO_SDK $(go env GOVERSION)" install_go ;;
    a2a) once a2a "$(cat "$here/a2a-cli/go.mod" "$here/a2a-cli/go.sum" | sha256sum) $(go env GOVERSION)" install_a2a ;;
    staticcheck) once staticcheck "$STATICCHECK $(go env GOVERSION)" install_staticcheck ;;
    browser) install_browser ;;
    *)
      echo "install.sh: no part is called $part; there are npm, go, a2a, staticcheck and browser" >&2
      exit 2
      ;;
  esac
done
