// Package cover_test checks that what decides about questions is tested whole.
package cover_test

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	module = "github.com/answerback/answerback/"
	root   = "../.."
)

// core are packages of which every statement is reached by their own tests.
var core = []string{"internal/exchange", "internal/desk"}

// routing are the packages that carry questions from a backend to a person and
// the answer back. Their tests, run together, reach every statement of what
// carries says.
var routing = []string{"internal/contract", "internal/relay", "internal/parking"}

// How much of a file must be reached.
const (
	whole     = "whole"     // every statement
	functions = "functions" // every statement of the functions that name a question; the rest of the file carries calls
)

// carries lists every file of the routing packages that handles questions. A
// new one is added here, or TestEveryFileThatHandlesQuestionsIsListed fails.
var carries = map[string]string{
	"internal/contract/question.go": whole,
	"internal/parking/offer.go":     whole,
	"internal/parking/serve.go":     whole, // sends clients away with their questions
	"internal/relay/pages.go":       whole,
	"internal/relay/policy.go":      whole,
	"internal/relay/question.go":    whole,
	"internal/relay/visit.go":       whole,

	"internal/parking/revive.go": functions,
	"internal/relay/call.go":     functions,
	"internal/relay/converse.go": functions,
	"internal/relay/errand.go":   functions,
	"internal/relay/formapi.go":  functions,
	"internal/relay/join.go":     functions,
	"internal/relay/joincall.go": functions,
	"internal/relay/leased.go":   functions,
	"internal/relay/listen.go":   functions,
	"internal/relay/modern.go":   functions,
	"internal/relay/session.go":  functions,
}

// elsewhere are the other files that handle questions, each with the reason
// why its coverage is not counted here.
var elsewhere = map[string]string{
	"internal/relay/revive.go": "takes up questions from before a restart: the tests that hold it start a second gateway (test/e2e, test/crash), whose first one is killed and cannot report coverage",

	"internal/backend/mcp/board.go":    "makes questions of what a server sends, and decides nothing about them",
	"internal/backend/mcp/probe.go":    "makes questions of what a server sends, and decides nothing about them",
	"internal/backend/mcp/question.go": "makes questions of what a server sends, and decides nothing about them",
	"internal/bridge/header.go":        "makes questions of what a modern server's result holds",
	"internal/bridge/input.go":         "makes questions of what a modern server's result holds",
	"internal/bridge/listen.go":        "makes questions of what a modern server's result holds",
	"internal/doorstep/connect.go":     "asks for an account in the gateway's own name",
	"internal/doorstep/resume.go":      "asks for an account in the gateway's own name",
	"cmd/answerback/doctor_backend.go": "refuses every question: an examination has no client",
}

// questions are the types by which a file is known to handle questions.
var questions = map[string][]string{
	"contract": {"Question"},
	"":         {"carried", "posed", "Offer"}, // of relay and parking themselves
}

// TestCoreIsCovered: what decides about asks is small enough to be tested
// whole: requirement A14.
func TestCoreIsCovered(t *testing.T) {
	for _, name := range core {
		t.Run(path.Base(name), func(t *testing.T) {
			out, err := exec.CommandContext(t.Context(), "go", "test", "-cover", module+name).CombinedOutput()
			switch {
			case err != nil:
				t.Fatalf("go test: %v\n%s", err, out)
			case !strings.Contains(string(out), "coverage: 100.0% of statements"):
				t.Errorf("some statement is reached by no test of its own package; go test -coverprofile shows it:\n%s", out)
			}
		})
	}
	t.Run("routing", func(t *testing.T) {
		missed := unreached(t)
		for _, file := range slices.Sorted(maps.Keys(carries)) {
			for _, f := range functionsOf(t, file) {
				if carries[file] == functions && !f.asks {
					continue
				}
				for _, line := range missed[file] {
					if line >= f.from && line <= f.to {
						t.Errorf("%s:%d: a statement of %s is reached by no test of %s", file, line, f.name, strings.Join(routing, ", "))
					}
				}
			}
		}
	})
}

// TestEveryFileThatHandlesQuestionsIsListed: a new file that handles questions
// is held to the same, or says why not.
func TestEveryFileThatHandlesQuestionsIsListed(t *testing.T) {
	found := map[string]bool{}
	for _, dir := range []string{"internal", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			file, err := filepath.Rel(root, name)
			if err != nil {
				return err
			}
			if file = filepath.ToSlash(file); handles(t, file) {
				found[file] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for file := range found {
		if carries[file] == "" && elsewhere[file] == "" {
			t.Errorf("%s handles questions: list it in carries, and test what carries them", file)
		}
	}
	for _, list := range []map[string]string{carries, elsewhere} {
		for file, how := range list {
			if how != whole && !found[file] {
				t.Errorf("%s handles no question any more: take it off the list", file)
			}
		}
	}
}

// TestRoutingOfQuestionsIsSeen: the two checks above can fail. They know a
// function that handles questions from one that does not.
func TestRoutingOfQuestionsIsSeen(t *testing.T) {
	asks := map[string]bool{}
	for _, f := range functionsOf(t, "internal/relay/session.go") {
		asks[f.name] = f.asks
	}
	if !asks["Question"] || !asks["callsOf"] || asks["closeLines"] {
		t.Errorf("functions that handle questions: %v", asks)
	}
	if handles(t, "internal/relay/clock.go") || !handles(t, "internal/parking/offer.go") {
		t.Error("files that handle questions are not told from others")
	}
	profile := "mode: set\n" +
		module + "internal/relay/call.go:10.2,11.3 1 0\n" + // reached by the second package's tests
		module + "internal/relay/call.go:12.2,13.3 1 0\n" +
		module + "internal/relay/call.go:10.2,11.3 1 4\n" +
		module + "internal/relay/call.go:14.2,15.3 0 0\n" // holds no statement
	if got := fmt.Sprint(missedIn(t, profile)); got != "map[internal/relay/call.go:[12]]" {
		t.Errorf("read %s", got)
	}
}

// handles reports whether a file names a type of questions, or declares one.
func handles(t *testing.T, file string) bool {
	t.Helper()
	if file == "internal/contract/question.go" {
		return true // where they are defined
	}
	return slices.ContainsFunc(functionsOf(t, file), func(f function) bool { return f.asks })
}

// function is one function of a file.
type function struct {
	name     string
	from, to int  // lines
	asks     bool // it names a type of questions
}

func functionsOf(t *testing.T, file string) []function {
	t.Helper()
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, filepath.Join(root, filepath.FromSlash(file)), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	own := slices.Contains(routing, path.Dir(file))
	var all []function
	for _, decl := range syntax.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		found := function{name: f.Name.Name, from: set.Position(f.Pos()).Line, to: set.Position(f.End()).Line}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok {
					found.asks = found.asks || slices.Contains(questions[x.Name], n.Sel.Name)
				}
			case *ast.StarExpr: // a parameter, a result or a receiver of a type of the package's own
				if x, ok := n.X.(*ast.Ident); ok {
					found.asks = found.asks || own && slices.Contains(questions[""], x.Name)
				}
			}
			return true
		})
		all = append(all, found)
	}
	return all
}

// unreached runs the tests of the routing packages and gives the first lines
// of the statements that none of them reaches, by file.
func unreached(t *testing.T) map[string][]int {
	t.Helper()
	profile := filepath.Join(t.TempDir(), "profile")
	var packages []string
	for _, name := range routing {
		packages = append(packages, module+name)
	}
	args := append([]string{"test", "-coverpkg", strings.Join(packages, ","), "-coverprofile", profile}, packages...)
	if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
		t.Fatalf("go test: %v\n%s", err, out)
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		t.Fatal(err)
	}
	return missedIn(t, string(text))
}

// missedIn reads a profile in which a statement stands once for each package
// whose tests could reach it.
func missedIn(t *testing.T, profile string) map[string][]int {
	t.Helper()
	reached := map[string]bool{}
	lines := bufio.NewScanner(strings.NewReader(profile))
	lines.Scan() // the mode
	for lines.Scan() {
		at, counts, _ := strings.Cut(lines.Text(), " ")
		var statements, times int
		if _, err := fmt.Sscan(counts, &statements, &times); err != nil {
			t.Fatalf("the profile has a line %q: %v", lines.Text(), err)
		}
		if statements > 0 {
			reached[at] = reached[at] || times > 0
		}
	}
	if len(reached) == 0 {
		t.Fatal("the profile is empty")
	}
	missed := map[string][]int{}
	for at, ok := range reached {
		if ok {
			continue
		}
		file, span, _ := strings.Cut(strings.TrimPrefix(at, module), ":")
		var line int
		if _, err := fmt.Sscanf(span, "%d.", &line); err != nil {
			t.Fatalf("the profile has a place %q: %v", at, err)
		}
		missed[file] = append(missed[file], line)
	}
	return missed
}
