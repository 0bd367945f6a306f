// Package answerback_test holds the rules of the whole tree, each with the
// reason for it, as tests.
package answerback_test

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/answerback/answerback"

// product are the parts of the tree that make the program; the rest tests and
// measures it.
var product = []string{"ask", "form", "internal", "cmd"}

// importRule says which packages a part of the tree may or may not import.
// Paths are relative to the module for our own packages, and stand for
// everything below them as well.
type importRule struct {
	in    []string // where the rule holds; all of the tree when empty
	not   []string // where in there it does not
	never []string // what is not imported there
	ours  []string // what of ours alone may be; no limit when nil
	why   string
}

var importRules = []importRule{
	{
		in: []string{"ask"}, ours: []string{},
		why: "every package speaks the vocabulary, so it may depend on none of them",
	},
	{
		in: []string{"form"}, ours: []string{"form"},
		why: "the form language is a library that others can use without a gateway",
	},
	{
		in: []string{"internal/wire"}, ours: []string{"ask", "internal/wire"},
		why: "messages are bytes; what they mean is decided above",
	},
	{
		in: []string{"internal/exchange"}, ours: []string{"ask", "internal/exchange"},
		why: "the core is pure: what it does depends on its input alone",
	},
	{
		in: []string{"internal/exchange"}, never: []string{"net", "net/http", "os", "context", "sync", "log/slog"},
		why: "the core has no clock, no goroutine and no I/O, so it needs nothing that serves them",
	},
	{
		in: []string{"internal/journal"}, ours: []string{"ask", "internal/journal", "internal/plant"},
		why: "a store keeps what it is given, and knows nothing of what it means",
	},
	{
		in: []string{"internal/aside", "internal/epoch"}, ours: []string{"internal/aside", "internal/epoch", "internal/journal"},
		why: "a start counts its lives and lists its failures before there is anything else",
	},
	{
		in: []string{"internal/backup"}, ours: []string{"internal/backup", "internal/journal", "internal/seal"},
		why: "a backup holds records, whatever they mean",
	},
	{
		in: []string{"internal/identity"}, ours: []string{"ask", "internal/identity", "internal/glob", "internal/secret"},
		why: "who somebody is does not depend on what they want",
	},
	{
		in: []string{"internal/grant/oauth"}, ours: []string{"internal/grant/oauth", "internal/secret"},
		why: "speaking to an authorization server takes no knowledge of people or of what is kept",
	},
	{
		in: []string{"internal/grant"}, ours: []string{"ask", "internal/grant", "internal/journal", "internal/plant", "internal/seal", "internal/secret"},
		why: "credentials are kept apart from those who use them and from those who ask for them",
	},
	{
		in: []string{"internal/signins"}, ours: []string{"ask", "internal/identity", "internal/journal", "internal/seal", "internal/signins"},
		why: "keeping sign-ins takes no knowledge of what people do with them",
	},
	{
		in: []string{"internal/webguard"}, ours: []string{"ask", "internal/webguard"},
		why: "what stands before every handler knows none of them",
	},
	{
		in: []string{"internal/entry"}, ours: []string{"ask", "internal/entry", "internal/budget"},
		why: "what surfaces do alike depends on none of them",
	},
	{
		in: []string{"internal/flight"}, ours: []string{},
		why: "that a call is in flight does not depend on what it carries",
	},
	{
		in: []string{"internal/budget"}, ours: []string{"ask"},
		why: "memory is counted in the same way whatever it is used for",
	},
	{
		in: []string{"internal/glob"}, ours: []string{},
		why: "patterns mean the same wherever they are written",
	},
	{
		in: []string{"internal/desk"}, never: []string{"internal/surface", "internal/backend", "internal/relay"},
		why: "the desk runs questions wherever they come from and whoever answers them",
	},
	{
		in: []string{"internal/contract"}, ours: []string{"ask", "internal/contract", "internal/desk", "internal/wire"},
		why: "surfaces and backends are written against it, so it knows nobody who is",
	},
	{
		in: []string{"internal/lease"}, ours: []string{"ask", "internal/contract", "internal/lease", "internal/wire"},
		why: "it keeps sessions, whatever is said on them and however they are opened",
	},
	{
		in: []string{"internal/parking"}, never: []string{"internal/lease", "internal/exchange", "internal/office", "internal/surface", "internal/backend", "internal/journal"},
		why: "a call waits for its client in the same way whoever does its work and wherever its questions go",
	},
	{
		in: []string{"internal/backend", "internal/bridge", "internal/doorstep"}, never: []string{"internal/relay", "internal/parking", "internal/lease"},
		why: "a kind of server is written against the contract, and knows nothing of who calls it",
	},
	{
		in: []string{"internal/surface"}, never: []string{"internal/backend", "internal/journal", "github.com/nats-io"},
		why: "a way to people must work with every kind of server and every store",
	},
	{
		in: []string{"internal/surface/events"}, ours: []string{"ask", "form", "internal/budget", "internal/contract", "internal/desk", "internal/entry", "internal/flight", "internal/relay", "internal/seal", "internal/wire", "internal/surface/events"},
		why: "the event stream translates at the edge: what a question means is decided behind it",
	},
	{
		in: []string{"internal/surface/a2a"}, ours: []string{"ask", "form", "internal/budget", "internal/contract", "internal/egress", "internal/entry", "internal/seal", "internal/secret", "internal/wire", "internal/surface/a2a"},
		why: "the agent translates at the edge: what a question means is decided behind it",
	},
	{
		in: product, not: []string{"internal/backend/a2a", "internal/surface/a2a"}, never: []string{"github.com/a2aproject/a2a-go"},
		why: "A2A is spoken at the two edges, and nothing between them knows of it",
	},
	{
		in: []string{"internal/backend"}, never: []string{"internal/surface", "internal/journal", "github.com/nats-io"},
		why: "a kind of server must work with every way to people and every store",
	},
	{
		not: []string{"internal/journal/natsjournal", "bench", "test"}, never: []string{"github.com/nats-io"},
		why: "one package knows the engine, so that it can be replaced",
	},
	{
		in: []string{"ask", "form", "internal"}, never: []string{"internal/config"}, not: []string{"internal/config"},
		why: "packages take what they need from whoever wires them, not from the configuration file",
	},
	{
		in: product, never: []string{"github.com/modelcontextprotocol/go-sdk/mcp", "github.com/modelcontextprotocol/go-sdk/jsonrpc", "github.com/mark3labs/mcp-go"},
		why: "decoding into an SDK's types loses what the types do not know; SDKs are peers in tests",
	},
	{
		in: product, not: []string{"internal/backend/a2a", "internal/surface/a2a"}, never: []string{"github.com/a2aproject"},
		why: "two adapters speak A2A; all else knows it as what it is translated to",
	},
	{
		in: product, never: []string{
			"github.com/a2aproject/a2a-go/v2/a2acompat", "github.com/a2aproject/a2a-go/v2/a2agrpc", "github.com/a2aproject/a2a-go/v2/a2apb",
			"google.golang.org/grpc", "google.golang.org/protobuf",
		},
		why: "one version of A2A, over HTTP: each further one would double the binary and what can go wrong",
	},
	{
		in: []string{"internal/door"}, ours: []string{"ask", "internal/contract", "internal/secret", "internal/door"},
		why: "a credential leaves by one door, whatever is spoken behind it",
	},
	{
		in: product, not: []string{"internal/testproc"}, never: []string{"test", "bench", "internal/testproc"},
		why: "the program does not depend on what tests and measures it",
	},
}

// dependencies are the modules that go.mod may require directly. A new one is
// added here with the reason why it is worth having.
var dependencies = map[string]string{
	"github.com/a2aproject/a2a-go/v2":          "speaks A2A 1.0: its types and its bindings to HTTP",
	"github.com/anishathalye/porcupine":        "tests: histories of answers are linearizable",
	"github.com/cockroachdb/datadriven":        "tests: scripts of the state machines",
	"github.com/MicahParks/jwkset":             "reads the keys of issuers",
	"github.com/coreos/go-oidc/v3":             "verifies who signed in at a browser",
	"github.com/fsnotify/fsnotify":             "notices that the configuration file changed",
	"github.com/gabriel-vasile/mimetype":       "tests: a second judge of what a file is, which must agree with the uploads' own",
	"github.com/go-json-experiment/json":       "tests: a second parser that must read what the scanner reads",
	"github.com/golang-jwt/jwt/v5":             "verifies callers' tokens",
	"github.com/hanwen/go-fuse/v2":             "tests: a disk that loses what was not synced",
	"github.com/mark3labs/mcp-go":              "tests: a peer",
	"github.com/modelcontextprotocol/go-sdk":   "tests: a peer",
	"github.com/nats-io/nats-server/v2":        "the store, inside the process",
	"github.com/nats-io/nats.go":               "speaks to the store",
	"github.com/nats-io/nkeys":                 "tests: a store that wants to know who comes",
	"github.com/prometheus/client_golang":      "figures in the form that everybody scrapes",
	"github.com/rogpeppe/go-internal":          "tests: scripts of the command line",
	"github.com/spf13/cobra":                   "the command line",
	"github.com/santhosh-tekuri/jsonschema/v6": "tests: a second validator that must agree with the form language",
	"go.uber.org/goleak":                       "tests: no goroutine outlives its owner",
	"go.yaml.in/yaml/v3":                       "reads the configuration with line numbers",
	"golang.org/x/net":                         "reads international names and registrable domains, so that look-alike addresses are noticed",
	"golang.org/x/sys":                         "locks the data directory on Windows",
	"golang.org/x/oauth2":                      "exchanges the code of a sign-in",
	"pgregory.net/rapid":                       "tests: properties",
}

const (
	maxLines     = 500
	maxTestLines = 1000
)

// unwanted are texts that no file may hold. They are split so that this file
// does not hold them either.
var unwanted = map[string]string{
	"registry.npm" + "js.org": "names a package registry",
	"registry.yarn" + "pkg":   "names a package registry",
	"proxy.go" + "lang.org":   "names a package registry",
	"sum.go" + "lang.org":     "names a package registry",
	`"resol` + `ved":`:        "is a lock file that names a package registry",
	"GOPROXY" + "=http":       "names a package registry",
	"/ho" + "me/":             "names a path of one machine",
	"/ro" + "ot/":             "names a path of one machine",
	"/Use" + "rs/":            "names a path of one machine",
	"/work/" + "shared":       "names a path of one machine",
	"/work/" + "main":         "names a path of one machine",
}

// madeUp is a path of no machine, for examples.
var madeUp = regexp.MustCompile(`/home/me\b`)

var (
	unfinishedWords = []string{"TO" + "DO", "FIX" + "ME", "X" + "XX"}
	unfinished      = regexp.MustCompile(`\b(` + strings.Join(unfinishedWords, "|") + `)\b`)
)

func TestImports(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.test {
			continue
		}
		for _, r := range importRules {
			if r.in != nil && !under(f.dir, r.in) || under(f.dir, r.not) {
				continue
			}
			for _, imp := range f.imports() {
				mine, ours := strings.CutPrefix(imp, module+"/")
				if under(mine, r.never) {
					t.Errorf("%s imports %s: %s", f.path, mine, r.why)
				}
				if ours && r.ours != nil && !under(mine, r.ours) {
					t.Errorf("%s imports %s: %s", f.path, mine, r.why)
				}
			}
		}
	}
}

func TestSurfacesAndBackendsKeepApart(t *testing.T) {
	for _, f := range goFiles(t) {
		for _, kind := range []string{"internal/surface/", "internal/backend/"} {
			rest, ok := strings.CutPrefix(f.dir, kind)
			if !ok || f.test {
				continue
			}
			own := kind + strings.SplitN(rest, "/", 2)[0]
			for _, imp := range f.imports() {
				if mine := strings.TrimPrefix(imp, module+"/"); strings.HasPrefix(mine, kind) && !under(mine, []string{own}) {
					t.Errorf("%s imports %s: each can be added and taken away alone", f.path, mine)
				}
			}
		}
	}
}

func TestOnlyCommandsWire(t *testing.T) {
	parts := []string{"internal/surface", "internal/backend"}
	for dir, files := range packages(t) {
		if under(dir, []string{"cmd"}) {
			continue
		}
		seen := map[string]bool{}
		for _, f := range files {
			for _, imp := range f.imports() {
				for _, p := range parts {
					seen[p] = seen[p] || under(strings.TrimPrefix(imp, module+"/"), []string{p})
				}
			}
		}
		if seen[parts[0]] && seen[parts[1]] {
			t.Errorf("%s imports surfaces and backends: putting the parts together is the work of cmd", dir)
		}
	}
}

func TestOnlyEgressMakesClients(t *testing.T) {
	const why = "outbound requests go where the rules of internal/egress let them"
	types := []string{"Client", "Transport"}
	ready := []string{"DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm"}
	for _, f := range goFiles(t) {
		http, ok := f.nameOf("net/http")
		if !ok || f.test || f.dir == "internal/egress" || !under(f.dir, product) {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			made := false
			switch n := n.(type) {
			case *ast.CompositeLit:
				made = isSelector(n.Type, http, types)
			case *ast.ValueSpec:
				made = isSelector(n.Type, http, types)
			case *ast.CallExpr:
				fun, ok := n.Fun.(*ast.Ident)
				made = ok && fun.Name == "new" && isSelector(n.Args[0], http, types)
			case *ast.SelectorExpr:
				made = isSelector(n, http, ready)
			}
			if made {
				t.Errorf("%s makes or uses an HTTP client: %s", f.at(n), why)
			}
			return true
		})
	}
}

func TestNoSleepInTests(t *testing.T) {
	for _, f := range goFiles(t) {
		name, ok := f.nameOf("time")
		_, bubble := f.nameOf("testing/synctest") // where time is not real
		if !ok || !f.test || bubble {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if isSelector(n, name, []string{"Sleep"}) {
				t.Errorf("%s sleeps: wait for what is expected, or use testing/synctest", f.at(n))
			}
			return true
		})
	}
}

func TestPackagesAreDocumentedOnce(t *testing.T) {
	for dir, files := range packages(t) {
		docs := 0
		for _, f := range files {
			if f.syntax.Doc != nil {
				docs++
			}
		}
		if docs != 1 {
			t.Errorf("%s has %d package comments, want 1: it says what the package is for and what not", dir, docs)
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	for _, f := range goFiles(t) {
		limit := maxLines
		if f.test {
			limit = maxTestLines
		}
		if n := strings.Count(f.text, "\n"); n > limit {
			t.Errorf("%s has %d lines, more than %d: split it by what it does", f.path, n, limit)
		}
	}
}

// protocols are words of the protocols that surfaces and backends speak.
var protocols = regexp.MustCompile(`(?i)\ba2a\b|\blegacy\b|\bmodern\b|\beras?\b|event.stream|2025-11-25|2026-07-28`)

// TestTheCoreKnowsNoProtocol: a new way in or out changes nothing in the core
// or in the language of forms.
func TestTheCoreKnowsNoProtocol(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.test || !under(f.dir, []string{"internal/exchange", "form"}) || under(f.dir, []string{"form/formdoc", "form/formtest"}) {
			continue
		}
		if m := protocols.FindString(f.text); m != "" {
			t.Errorf("%s says %q: what a protocol calls things is for surfaces and backends to know", f.path, m)
		}
	}
}

func TestNothingIsLeftForLater(t *testing.T) {
	for _, f := range goFiles(t) {
		// An expression takes long to see that there is nothing to find.
		if !slices.ContainsFunc(unfinishedWords, func(w string) bool { return strings.Contains(f.text, w) }) {
			continue
		}
		if m := unfinished.FindString(f.text); m != "" {
			t.Errorf("%s says %s: finish it, or open an issue", f.path, m)
		}
	}
}

func TestFilesNameNoMachine(t *testing.T) {
	for name, text := range tree(t) {
		for bad, why := range unwanted {
			if strings.Contains(text, bad) && strings.Contains(madeUp.ReplaceAllString(text, ""), bad) {
				t.Errorf("%s %s: %s", name, why, bad)
			}
		}
	}
}

func TestDependencies(t *testing.T) {
	text, ok := tree(t)["go.mod"]
	if !ok {
		t.Fatal("there is no go.mod")
	}
	required := regexp.MustCompile(`(?m)^(?:require )?\t?(\S+\.\S+/?\S*) v\S+$`)
	found := map[string]bool{}
	for _, m := range required.FindAllStringSubmatch(text, -1) {
		found[m[1]] = true
		if dependencies[m[1]] == "" {
			t.Errorf("go.mod requires %s: if it is worth having, add it here with the reason", m[1])
		}
	}
	for name := range dependencies {
		if !found[name] {
			t.Errorf("go.mod does not require %s any more: take it off the list", name)
		}
	}
}
