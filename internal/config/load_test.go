package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/config"
	"github.com/answerback/answerback/internal/secret"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFindLooksInOrder(t *testing.T) {
	t.Chdir(t.TempDir())
	home := t.TempDir()
	env := map[string]string{"HOME": home}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	find := func(given, want string) {
		t.Helper()
		if got, err := config.Find(given, lookup); err != nil || got != want {
			t.Errorf("found %q, %v; want %q", got, err, want)
		}
	}

	_, err := config.Find("", lookup)
	if err == nil || !strings.Contains(err.Error(), "everything: { command: npx") {
		t.Errorf("the error does not show the smallest file: %v", err)
	}
	_, text, _ := strings.Cut(err.Error(), "\n\n")
	if _, _, err := config.Parse("x.yaml", []byte(text), testEnv); err != nil {
		t.Errorf("the smallest file is not valid: %v", err)
	}

	write(t, filepath.Join(home, ".config/answerback/config.yaml"), "")
	find("", filepath.Join(home, ".config/answerback/config.yaml"))
	env["XDG_CONFIG_HOME"] = filepath.Join(home, "xdg")
	write(t, filepath.Join(home, "xdg/answerback/config.yaml"), "")
	find("", filepath.Join(home, "xdg/answerback/config.yaml"))
	write(t, "answerback.yaml", "")
	find("", "answerback.yaml")
	env["ANSWERBACK_CONFIG"] = "/named/by/env.yaml"
	find("", "/named/by/env.yaml")
	find("given.yaml", "given.yaml")
}

func TestLoadNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.yaml")
	if _, _, err := config.Load(path, testEnv); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("missing: %v", err)
	}
	if _, _, err := config.Load(filepath.Dir(path), testEnv); err == nil {
		t.Error("a directory was loaded")
	}
	write(t, path, "\nlistne: x")
	if _, _, err := config.Load(path, testEnv); err == nil || !strings.HasPrefix(err.Error(), path+":2: listne: ") {
		t.Errorf("bad: %v", err)
	}
	write(t, path, "backends: { a: { command: x } }")
	if c, _, err := config.Load(path, testEnv); err != nil || c.Backends["a"].Command != "x" {
		t.Errorf("good: %v, %v", c, err)
	}
	write(t, path, "#"+strings.Repeat("x", 1<<20))
	if _, _, err := config.Load(path, testEnv); err == nil || !strings.Contains(err.Error(), "larger than 1 MiB") {
		t.Errorf("large: %v", err)
	}
}

func TestHostileFilesAreRefusedCheaply(t *testing.T) {
	var deep, wide, many strings.Builder
	deep.WriteString("backends: &b\n  a: { command: x, args: &args [" + strings.Repeat("x,", 5000) + "] }\n")
	for i := range 5000 {
		fmt.Fprintf(&deep, "  b%d: { command: x, args: *args }\n", i)
	}
	wide.WriteString("a: &a [x,x,x,x,x,x,x,x,x]\n")
	for c := 'b'; c < 'k'; c++ {
		fmt.Fprintf(&wide, "%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	wide.WriteString("allowed_hosts: *j\n")
	for i := range 1000 {
		fmt.Fprintf(&many, "key%d: x\n", i)
	}
	for name, test := range map[string]struct{ file, text, want string }{
		"aliases in a backend": {"x.yaml", deep.String(), "too many values"},
		"aliases of aliases":   {"x.yaml", wide.String(), "is a list where one value belongs"},
		"alias of itself":      {"x.yaml", "backends: &b\n  a: *b\n", "there is no such key"},
		"unknown alias":        {"x.yaml", "backends: *b\n", "not YAML"},
		"deep YAML":            {"x.yaml", strings.Repeat("[", 20000), "not YAML"},
		"deep JSON":            {"x.json", strings.Repeat(`{"a":`, 20000), "nested too deeply"},
		"JSON and more":        {"x.json", `{} {}`, "something follows"},
		"open comment":         {"x.json", `{ /* `, "ends too early"},
		"open string":          {"x.json", `{ "a\`, "ends too early"},
		"not UTF-8":            {"x.yaml", "listen: \xff", "not UTF-8"},
		"problems without end": {"x.yaml", many.String(), "and 950 more"},
		"control characters":   {"x.json", "{\"a\\u001b[31m\\n\": 1}", `"a\x1b[31m\n": there is no such key`},
		"endless key":          {"x.json", `{"` + strings.Repeat("k", 1000) + `": 1}`, "kkk…: "},
		"endless expansion":    {"x.yaml", "names: " + strings.Repeat("${BIG}", 100), "expands to too much"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := config.Parse(test.file, []byte(test.text), func(name string) (string, bool) {
				if name == "BIG" {
					return strings.Repeat("x", 100_000), true
				}
				return testEnv(name)
			})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error: %.2000v", err)
			}
			if len(err.Error()) > 100_000 {
				t.Errorf("the error is %d bytes long", len(err.Error()))
			}
		})
	}
}

func TestDiff(t *testing.T) {
	a, _ := parse(t, `
backends:
  same: { url: "https://example.com/${FIVE}", headers: { A: "${TOKEN}" } }
  secret: { command: x, env: { A: one } }
  gone: { command: x }
  off: { command: x }
  on: { command: x, disabled: true }
  still-off: { command: x, disabled: true }
`)
	b, _ := parse(t, `
listen: 127.0.0.1:1
data_dir: /elsewhere
asks: { timeout: 1m }
backends:
  same: { url: "https://example.com/5", headers: { A: hunter2-from-env } }
  secret: { command: x, env: { A: two } }
  new: { command: x }
  off: { command: x, disabled: true }
  on: { command: x }
  still-off: { command: y, disabled: true }
`)
	if d := config.Diff(a, a); !d.Empty() {
		t.Errorf("differs from itself: %+v", d)
	}
	got, want := config.Diff(a, b), config.Changes{
		Added: []string{"new", "on"}, Removed: []string{"gone", "off"}, Changed: []string{"secret"},
		Keys: []string{"listen", "data_dir", "asks"}, Restart: []string{"listen", "data_dir", "asks"},
	}
	if !reflect.DeepEqual(got, want) || got.Empty() {
		t.Errorf("got %+v", got)
	}
}

// A server that is only offered otherwise is the same server.
func TestSameServer(t *testing.T) {
	a := config.Backend{URL: "https://example.com/", Headers: map[string]secret.Text{"A": secret.New("one")}}
	b := a
	b.Tools.Deny, b.CallTimeout, b.FormSchema, b.Secrets = []string{"x"}, time.Minute, "pass", "refuse"
	if !a.SameServer(b) {
		t.Error("another allow-list made it another server")
	}
	b.Headers = map[string]secret.Text{"A": secret.New("two")}
	if a.SameServer(b) {
		t.Error("another credential left it the same server")
	}
}

// tagged calls visit for every key that the structs declare.
func tagged(t reflect.Type, path string, visit func(path string, f reflect.StructField)) {
	for i := range t.NumField() {
		f := t.Field(i)
		key := f.Tag.Get("yaml")
		if key == "" {
			continue
		}
		visit(path+key, f)
		switch {
		case f.Type == reflect.TypeFor[map[string]config.Backend]():
			tagged(f.Type.Elem(), path+key+".*.", visit)
		case f.Type.Kind() == reflect.Struct:
			tagged(f.Type, path+key+".", visit)
		}
	}
}

func TestSchemaAndReferenceNameEveryKey(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(config.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/schema.golden.json", string(config.Schema()))
	golden(t, "testdata/reference.golden.md", string(config.Reference()))
	properties := func(object any) map[string]any {
		m := object.(map[string]any)
		if any, ok := m["anyOf"].([]interface{}); ok {
			m = any[0].(map[string]interface{})
		}
		return m["properties"].(map[string]any)
	}
	tagged(reflect.TypeFor[config.Config](), "", func(path string, f reflect.StructField) {
		object := any(schema)
		rest, inBackend := strings.CutPrefix(path, "backends.*.")
		if inBackend {
			object = schema["$defs"].(map[string]any)["backend"]
		}
		for key := range strings.SplitSeq(rest, ".") {
			object = properties(object)[key]
			if object == nil {
				t.Fatalf("the schema does not know %s", path)
			}
		}
		doc := f.Tag.Get("doc")
		if got := object.(map[string]any)["description"]; doc == "" || got != doc {
			t.Errorf("%s is described as %v", path, got)
		}
		if !bytes.Contains(config.Reference(), []byte("| `"+f.Tag.Get("yaml")+"` |")) {
			t.Errorf("the reference does not know %s", path)
		}
	})
}
