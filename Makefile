# Every door into building and testing Answerback; `make help` lists them.
# Each installs what it needs, and its last line is its summary.

.DEFAULT_GOAL := check
SHELL         := bash
.SHELLFLAGS   := -euo pipefail -c
MAKEFLAGS     += --no-print-directory

BIN     := $(CURDIR)/bin/answerback
PEERS   := $(CURDIR)/.peers
OUT     := .out
TAGS    := browser,conformance,crash,e2e,matrix,worlds
RUNS    ?= 1
VERSION ?= $(shell git describe --tags --dirty 2>/dev/null || echo dev)

# Compiling takes longer than testing, so all is compiled in one of two ways:
# with the race detector, which the linters then look at as well, or as it is
# released. Linters spend a third of their time collecting garbage, if let.
flags    = $(shell go env GOFLAGS)
racy     = GOGC=400 GOFLAGS="$(flags) -race"
released = CGO_ENABLED=0 GOFLAGS="$(flags) -trimpath"

install = @$(released) test/peers/install.sh
summary = @$(released) go build -o bin/summary ./test/summary && bin/summary
# What the outer tests are told about their surroundings.
outer   = $(released) ANSWERBACK_BIN=$(BIN) ANSWERBACK_PEERS=$(PEERS)

.PHONY: check
check: ## Format, vet, staticcheck and race tests: what every change must pass (the default)
	$(install) staticcheck
	@bad=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	  if [ -n "$$bad" ]; then echo "not formatted, run gofmt -w on:"; echo "$$bad"; exit 1; fi
	@$(racy) go vet -tags $(TAGS) ./...
	@$(racy) $(PEERS)/bin/staticcheck -tags $(TAGS) ./...
	$(summary) -name check -out $(OUT)/check.json -- go test -json -race -shuffle=on -vet=off -parallel 4 -timeout 8m ./...

.PHONY: build
build: binary ## Build the binary into bin/
	@echo "build: bin/answerback $(VERSION)"

.PHONY: binary
binary:
	@$(released) go build -ldflags '-s -w -X main.version=$(VERSION)' -o $(BIN) ./cmd/answerback

.PHONY: conformance
conformance: binary ## The MCP conformance suite through the gateway; RUNS=10 repeats it
	$(install) npm go
	$(summary) -name conformance -out $(OUT)/conformance.json -- env $(outer) \
	  go test -json -tags conformance -count $(RUNS) -timeout 60m ./test/conformance/...

.PHONY: e2e
e2e: binary ## Real clients and servers through the gateway, and many; the rest of the end-to-end tests is in check
	$(install) npm go a2a
	$(summary) -name e2e -out $(OUT)/e2e.json -- env $(outer) \
	  go test -json -tags e2e -run '^(TestPeers|TestReference|TestPlanted|TestThousand|TestTenThousand|TestAttackUnderLoad)' -count $(RUNS) -timeout 20m ./test/e2e ./internal/backend/mcp

.PHONY: matrix
matrix: binary ## Every real client at every real server; the table goes to docs/compatibility.md
	$(install) npm a2a
	$(summary) -name matrix -out $(OUT)/matrix.json -- env $(outer) \
	  ANSWERBACK_TABLE=$(CURDIR)/docs/compatibility.md ANSWERBACK_TEXT=$(CURDIR)/$(OUT)/matrix.txt \
	  bash -c 'go test -json -tags matrix -count $(RUNS) -parallel 4 -timeout 10m ./test/matrix/...; \
	    code=$$?; cat $(OUT)/matrix.txt >&2; exit $$code'

.PHONY: browser
browser: binary ## People answering in Chromium, signed in with a real OpenID provider; pictures go to .out/browser
	$(install) npm browser
	$(summary) -name browser -out $(OUT)/browser.json -- env $(outer) ANSWERBACK_SHOTS=$(CURDIR)/$(OUT)/browser \
	  go test -json -tags browser -count $(RUNS) -parallel 3 -timeout 10m ./test/browser

.PHONY: images
images: binary ## The browser tests, writing their accessibility trees and the pictures in docs/images anew
	$(install) npm browser
	@rm -f docs/images/*.png
	$(summary) -name images -out $(OUT)/images.json -- env $(outer) ANSWERBACK_SHOTS=$(CURDIR)/$(OUT)/browser \
	  go test -json -tags browser -count 1 -parallel 3 -timeout 15m ./test/browser -update

.PHONY: crash
crash: ## Kills, power cuts, disk faults and planted bugs; needs root and /dev/fuse
	$(install) npm
	$(summary) -name crash -out $(OUT)/crash.json -- env $(outer) go test -json -tags crash,plant -count $(RUNS) -timeout 10m ./test/crash/... ./internal/journal/natsjournal

.PHONY: worlds
worlds: ## Whole situations from seeds, with faults; needs root and /dev/fuse. WORLDS and WORLDS_FROM say which, SCRIPT=FILE replays one
	$(summary) -name worlds -out $(OUT)/worlds.json -- env $(released) WORLDS_SCRIPT=$(abspath $(SCRIPT)) \
	  go test -json -tags worlds,crash -count $(RUNS) -parallel 10 -timeout 60m ./test/worlds

.PHONY: fuzz
fuzz: ## Every fuzz target with FUZZ (100000) inputs each
	$(summary) -name fuzz -out $(OUT)/fuzz.json -- env $(released) test/fuzz.sh

.PHONY: bench
bench: binary ## Forms against their floors; the gateway beside a bare reverse proxy and beside none; the tables go to .out
	@mkdir -p $(OUT)
	@go test -count 1 -run '^TestSpeedFloors$$' -bench '^Benchmark(Validate|Compile)$$' -v ./form | tee $(OUT)/bench-forms.txt
	@go run ./bench -gateway $(BIN) -out $(OUT)/bench.md

.PHONY: docs
docs: binary ## Regenerate the configuration reference, its JSON schema, and the reference of the form language
	@$(BIN) check --reference >docs/configuration.md
	@$(BIN) check --schema >docs/config.schema.json
	@$(released) go run ./form/formdoc docs/forms.md
	@echo "docs: wrote docs/configuration.md, docs/config.schema.json and docs/forms.md"

.PHONY: rows
rows: ## The pages of evidence against the seeds and against the tests that ran
	@$(released) go run ./test/rows $(wildcard $(OUT)/*.json)

.PHONY: clean
clean: ## Remove what was built and measured; the installed peers stay
	@rm -rf bin $(OUT)
	@echo "clean: removed bin and $(OUT)"

.PHONY: help
help: ## List the doors
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
