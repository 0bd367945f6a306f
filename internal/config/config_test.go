package config_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/answerback/answerback/internal/config"
)

var update = flag.Bool("update", false, "rewrite the golden files; read the difference before keeping it")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testEnv is the environment of all tests. The values of secret variables
// contain hunter2, which must never be shown.
func testEnv(name string) (string, bool) {
	value, ok := map[string]string{
		"HOME":    "/home/me",
		"TOKEN":   "hunter2-from-env",
		"FIVE":    "5",
		"EMPTY":   "",
		"NOTUTF8": "hunter2\xff",
	}[name]
	return value, ok
}

func parse(t *testing.T, text string) (*config.Config, []config.Note) {
	t.Helper()
	c, notes, err := config.Parse("/etc/answerback/test.yaml", []byte(text), testEnv)
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	return c, notes
}

func describe(t *testing.T, c *config.Config) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.Describe(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (rewrite with -update); got:\n%s", path, got)
	}
}

// inputs gives the files under dir that are not golden files.
func inputs(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join("testdata", dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, f := range all {
		if !strings.HasSuffix(f, ".golden") {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		t.Fatalf("no files in testdata/%s", dir)
	}
	return files
}

func parseFile(t *testing.T, path string) (*config.Config, []config.Note, error) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return config.Parse("/etc/answerback/"+filepath.Base(path), data, testEnv)
}

// A bad value stops the program with a message that names the key (A3), and
// all of them are named at once.
func TestBadFilesReportEveryProblemWithoutSecrets(t *testing.T) {
	for _, path := range inputs(t, "bad") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			c, _, err := parseFile(t, path)
			if c != nil {
				t.Error("a bad file gave a configuration")
			}
			if _, ok := errors.AsType[*config.Error](err); !ok {
				t.Fatalf("the error is %T: %v", err, err)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error shows a secret:\n%v", err)
			}
			golden(t, path+".golden", err.Error()+"\n")
		})
	}
}

func TestGoodFilesAreDescribedAndDescribedAgainTheSame(t *testing.T) {
	for _, path := range inputs(t, "good") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			c, notes, err := parseFile(t, path)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Validate(); err != nil {
				t.Errorf("Validate after Parse: %v", err)
			}
			text := describe(t, c)
			var b strings.Builder
			for _, n := range notes {
				fmt.Fprintf(&b, "# note: %v\n", n)
			}
			if strings.Contains(b.String()+text, "hunter2") {
				t.Errorf("a secret is shown:\n%s%s", b.String(), text)
			}
			golden(t, path+".golden", b.String()+text)
			again, _ := parse(t, text)
			sameButSecrets(t, c, again)
		})
	}
}

func TestSecretsReachTheirUsers(t *testing.T) {
	c, _, err := parseFile(t, "testdata/good/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	web, program := c.Backends["web"], c.Backends["program"]
	for what, got := range map[string][2]string{
		"header":         {web.Headers["Authorization"].Reveal(), "Bearer hunter2-from-env"},
		"literal header": {web.Headers["X-Literal"].Reveal(), "hunter2"},
		"url":            {web.URL, "https://mcp.example.com/hunter2-from-env/mcp?key=hunter2-from-env&plain=hunter2"},
		"env":            {program.Env["TOKEN"].Reveal(), "hunter2-from-env"},
		"numeric env":    {program.Env["PORT"].Reveal(), "8080"},
		"boolean env":    {program.Env["DEBUG"].Reveal(), "true"},
		"args":           {strings.Join(program.Args, " "), "--key hunter2-from-env --literal ${TOKEN} --port 8080 fallback true ~ "},
		"command":        {program.Command, "/home/me/bin/server"},
		"dir":            {program.Dir, "/etc/answerback/work"},
	} {
		if got[0] != got[1] {
			t.Errorf("%s is %q, want %q", what, got[0], got[1])
		}
	}
}

// The defaults of questions are those of requirements A3, A7 and F17.
func TestDefaultsAreTheRequiredOnes(t *testing.T) {
	c, notes := parse(t, "backends: { a: { command: x } }")
	golden(t, "testdata/defaults.golden", describe(t, c))
	if len(notes) != 0 {
		t.Errorf("notes on the smallest file: %v", notes)
	}
	if diff := config.Diff(c, config.Default()); len(diff.Keys) != 1 || diff.Keys[0] != "data_dir" {
		t.Errorf("Default differs from an empty file in %v", diff.Keys)
	}
}

func TestDefaultNeedsOnlyBackendsAndDataDir(t *testing.T) {
	c := config.Default()
	err := c.Validate()
	if err == nil || strings.Count(err.Error(), "\n") != 1 || !strings.Contains(err.Error(), "data_dir: ") || !strings.Contains(err.Error(), "backends: ") {
		t.Errorf("Validate: %v", err)
	}
	c.DataDir = "/data"
	c.Backends = map[string]config.Backend{"a": {Command: "x", Transport: "auto", FormSchema: "reject", Secrets: "page"}}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
}

func TestDataDirFollowsTheEnvironment(t *testing.T) {
	text := []byte("backends: { a: { command: x } }")
	for name, test := range map[string]struct{ env, want string }{
		"XDG":      {"XDG_DATA_HOME=/xdg", "/xdg/answerback"},
		"HOME":     {"HOME=/home/me", "/home/me/.local/share/answerback"},
		"relative": {"XDG_DATA_HOME=xdg", ""},
		"none":     {"X=", ""},
	} {
		t.Run(name, func(t *testing.T) {
			key, value, _ := strings.Cut(test.env, "=")
			c, _, err := config.Parse("x.yaml", text, func(n string) (string, bool) {
				if n != key {
					return "", false
				}
				return value, true
			})
			switch {
			case test.want == "" && (err == nil || !strings.Contains(err.Error(), "data_dir: ")):
				t.Errorf("error: %v", err)
			case test.want != "" && (err != nil || c.DataDir != test.want):
				t.Errorf("got %v, %v", c, err)
			}
		})
	}
}

func TestHomeIsNeededForTilde(t *testing.T) {
	_, _, err := config.Parse("x.yaml", []byte("data_dir: /d\nbackends:\n  a:\n    command: ~/x\n"), func(string) (string, bool) { return "", false })
	if err == nil || !strings.HasPrefix(err.Error(), "x.yaml:4: backends.a.command: starts with ~") {
		t.Errorf("error: %v", err)
	}
}

func TestPrefixNames(t *testing.T) {
	for text, want := range map[string]bool{
		"backends: { a: { command: x } }":                                                    false,
		"backends: { a: { command: x }, b: { command: x } }":                                 true,
		"backends: { a: { command: x }, b: { command: x, disabled: true } }":                 false,
		"{ names: plain, backends: { a: { command: x }, b: { command: x } } }":               false,
		"{ names: prefix, backends: { a: { command: x } } }":                                 true,
		`{ "names": "prefix", "mcpServers": { "a": { "command": "x" } } }`:                   true,
		`{ "mcpServers": { "a": { "command": "x" } }, "servers": { "b": {"command":"x"} } }`: true,
	} {
		if c, _ := parse(t, text); c.PrefixNames() != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}
