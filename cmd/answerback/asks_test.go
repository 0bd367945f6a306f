package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/surface/api"
	"github.com/answerback/answerback/internal/surface/terminal"
	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
	"github.com/spf13/cobra"
)

const detailsForm = `{"message":"A few \u001b[31mdetails","requestedSchema":{"type":"object","properties":{` +
	`"city":{"type":"string","title":"City"},"n":{"type":"integer","default":7},"tags":{"type":"array","items":{"type":"string","enum":["a","b"]}},"password":{"type":"string"}},"required":["city"]}}`

// asksKit is a gateway with a question open in it, and the command line.
type asksKit struct {
	t      *testing.T
	gw     *gateway
	config string
	typed  []string // what the person at the terminal types; nil is no terminal
	client *rig.Client
	stream *rig.Stream
}

// newAsksKit runs a gateway whose only tool asks with these params.
func newAsksKit(t *testing.T, params string) *asksKit { return newAsksKitWith(t, "", params) }

// newAsksKitWith does so with these settings.
func newAsksKitWith(t *testing.T, settings, params string) *asksKit {
	t.Helper()
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		answer := c.Ask(c.ID(), "elicitation/create", params)
		got := answer.Field(answer.Result)
		if answer.Kind == wire.Failure {
			got = answer.Field(answer.Error)
		}
		c.Result(`{"content":[],"structuredContent":` + string(got) + `}`)
	}})
	gw, url := inProcess(t, settings+"backends: { one: { url: "+b.URL+" } }\n")
	k := &asksKit{t: t, gw: gw, config: filepath.Join(t.TempDir(), "c.yaml")}
	k.write("data_dir: " + gw.cfg.DataDir + "\nbackends: { one: { url: " + b.URL + " } }\n")
	h, err := newAPI(gw, localViewer)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", statusSocket(gw.cfg.DataDir))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(h)
	server.Listener.Close()
	server.Listener = ln
	server.Start()
	t.Cleanup(server.Close)
	k.client = rig.Dial(t, url, rig.AllCaps)
	k.stream = k.client.Tool("ask", "{}")
	k.stream.Next()
	return k
}

func (k *asksKit) write(yaml string) {
	k.t.Helper()
	if err := os.WriteFile(k.config, []byte(yaml), 0o600); err != nil {
		k.t.Fatal(err)
	}
}

// command is the whole command line with this way to a terminal.
func command(a *asks) *cobra.Command {
	root := &cobra.Command{Use: "answerback", SilenceErrors: true, SilenceUsage: true}
	root.PersistentFlags().StringP("config", "c", "", "")
	root.AddCommand(a.command())
	return root
}

// run executes one command.
func (k *asksKit) run(stdin string, args ...string) (stdout, stderr string, err error) {
	k.t.Helper()
	var out, errs bytes.Buffer
	root := command(&asks{terminal: func() (*terminal.Terminal, func(), error) {
		t, err := terminal.Open(terminal.Config{In: &lines{k.typed}, Out: &errs, IsTerminal: k.typed != nil})
		return t, func() {}, err
	}})
	root.SetArgs(append([]string{"asks", "--config", k.config}, args...))
	root.SetIn(strings.NewReader(stdin))
	root.SetOut(&out)
	root.SetErr(&errs)
	err = root.ExecuteContext(k.t.Context())
	for _, s := range []string{out.String(), errs.String()} {
		if strings.ContainsAny(s, "\x1b\x07\u009b") {
			k.t.Errorf("%v prints an escape sequence: %q", args, s)
		}
	}
	return out.String(), errs.String(), err
}

// id is that of the question that waits.
func (k *asksKit) id() string {
	k.t.Helper()
	out, _, err := k.run("", "list", "-o", "json")
	var p api.Page
	if err != nil || json.Unmarshal([]byte(out), &p) != nil || len(p.Asks) != 1 {
		k.t.Fatalf("%v: %s", err, out)
	}
	return p.Asks[0].ID
}

// wantOpen fails where the question was answered.
func (k *asksKit) wantOpen() {
	k.t.Helper()
	if k.gw.desk.Open() != 1 {
		k.t.Error("the question is not open any more")
	}
}

// wantResult fails unless the call went on with this answer.
func (k *asksKit) wantResult(want string) {
	k.t.Helper()
	m := k.stream.Final()
	got := wire.Get(m.Raw, m.Result, "structuredContent").Of(m.Raw)
	if string(got) != want {
		k.t.Errorf("the server got %s, want %s", got, want)
	}
}

// lines types a line whenever one is read.
type lines struct{ left []string }

func (l *lines) Read(p []byte) (int, error) {
	if len(l.left) == 0 {
		return 0, io.EOF
	}
	n := copy(p, l.left[0]+"\n")
	l.left = l.left[1:]
	return n, nil
}

func want(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q is not in %q", p, text)
		}
	}
}

func TestAsksListAndShow(t *testing.T) {
	k := newAsksKit(t, detailsForm)
	id := k.id()
	out, _, err := k.run("", "list")
	if err != nil {
		t.Fatal(err)
	}
	want(t, out, "ID ", "QUESTION\n", id, " one ", "4 minutes", "A few \ufffd[31mdetails")
	out, _, err = k.run("", "show", id)
	if err != nil {
		t.Fatal(err)
	}
	want(t, out, "Status: active\n", "A question from one:\n", "tool       ask\n", "name: city\n  | City\n", "default: 7\n")
	out, _, err = k.run("", "show", id, "--output", "json")
	var a api.Ask
	if err != nil || json.Unmarshal([]byte(out), &a) != nil || a.ID != id || a.Message != "A few \x1b[31mdetails" {
		t.Errorf("%v: %s", err, out)
	}
	if _, _, err := k.run("", "show", "nothing"); err == nil || err.Error() != "There is no such question." {
		t.Errorf("%v", err)
	}
	for _, args := range [][]string{{"shwo", id}, {"show"}, {"show", id, "more"}, {"list", "x"}, {"list", "-o", "xml"}, {"list", "--limit", "0"}, {"answer", id, "--accept", "--json", "-"}, {"extend", id, "--by", "2h"}} {
		if _, _, err := k.run("", args...); err == nil {
			t.Errorf("%v works", args)
		}
	}
	if _, _, err := k.run("", "decline", id); err != nil {
		t.Fatal(err)
	}
	out, errs, err := k.run("", "list")
	if err != nil || out != "" || errs != "No question waits for you.\n" {
		t.Errorf("%q, %q, %v", out, errs, err)
	}
}

// A9, at the command line.
func TestAsksActions(t *testing.T) {
	for args, result := range map[string]string{
		"decline":         `{"action":"decline"}`,
		"cancel":          `{"action":"cancel"}`,
		"answer --accept": `{"action":"accept","content":{}}`,
	} {
		t.Run(args, func(t *testing.T) {
			k := newAsksKit(t, `{"message":"Go on?","requestedSchema":{"type":"object","properties":{}}}`)
			id := k.id()
			words := append(strings.Fields(args), id)
			out, _, err := k.run("", words...)
			if err != nil || !strings.HasSuffix(out, ": the server has it\n") {
				t.Errorf("%q, %v", out, err)
			}
			k.wantResult(result)
			if _, _, err := k.run("", words...); err == nil || !strings.Contains(err.Error(), "over") && !strings.Contains(err.Error(), "too late") {
				t.Errorf("again: %v", err)
			}
		})
	}
}

func TestAsksAnswerWithValues(t *testing.T) {
	for name, c := range map[string]struct {
		stdin  string
		args   []string
		result string
	}{
		"set":   {"", []string{"--set", "city=Bern = CH", "--set", "tags=b", "--set", "tags=a"}, `{"action":"accept","content":{"city":"Bern = CH","tags":["b","a"]}}`},
		"types": {"", []string{"--set", "city=B", "--set", "n= 12 "}, `{"action":"accept","content":{"city":"B","n":12}}`},
		"json":  {` { "city" : "B", "n":1.0,"password":"p" }` + "\n", []string{"--json", "-"}, `{"action":"accept","content":{ "city" : "B", "n":1.0,"password":"p" }}`},
	} {
		t.Run(name, func(t *testing.T) {
			k := newAsksKit(t, detailsForm)
			out, errs, err := k.run(c.stdin, append([]string{"answer", k.id(), "-o", "json"}, c.args...)...)
			var r api.Receipt
			if err != nil || json.Unmarshal([]byte(out), &r) != nil || r.Status != "completed" || !r.Delivered {
				t.Errorf("%q, %q, %v", out, errs, err)
			}
			k.wantResult(c.result)
		})
	}
	k := newAsksKit(t, detailsForm)
	file := filepath.Join(t.TempDir(), "values.json")
	if err := os.WriteFile(file, []byte(`{"city":"F"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := k.run("", "answer", k.id(), "--json", file); err != nil {
		t.Error(err)
	}
	k.wantResult(`{"action":"accept","content":{"city":"F"}}`)
}

// Whatever is not a complete answer is none: the command fails with a
// sentence, and the question stays open.
func TestAsksNeverConsents(t *testing.T) {
	k := newAsksKit(t, detailsForm)
	id := k.id()
	for name, c := range map[string]struct {
		stdin string
		args  []string
		says  string
	}{
		"no terminal":         {"send\n", nil, "no terminal"},
		"empty input":         {"", []string{"--json", "-"}, "no complete JSON object"},
		"half an object":      {`{"city":"B"`, []string{"--json", "-"}, "no complete JSON object"},
		"no object":           {`"yes"`, []string{"--json", "-"}, "no complete JSON object"},
		"two objects":         {`{"city":"B"}{}`, []string{"--json", "-"}, "no complete JSON object"},
		"a large object":      {`{"city":"` + strings.Repeat("a", 1<<20) + `"}`, []string{"--json", "-"}, "more than 1 MiB"},
		"no file":             {"", []string{"--json", filepath.Join(t.TempDir(), "none")}, "none"},
		"an empty name":       {`{"city":"B"}`, []string{"--json", ""}, "nothing was sent"},
		"a wrong value":       {"", []string{"--set", "city=B", "--set", "n=x"}, "n must be a number"},
		"a missing value":     {"", []string{"--set", "n=1"}, "City is required"},
		"an unknown field":    {"", []string{"--set", "city=B", "--set", "x=1"}, `no field called "x"`},
		"no value":            {"", []string{"--set", "city"}, "name=value"},
		"a secret in a flag":  {"", []string{"--set", "city=B", "--set", "password=hunter2"}, "other programs can read a command line"},
		"wrong JSON":          {`{"city":1}`, []string{"--json", "-"}, "City must be text"},
		"a field twice":       {`{"city":"a","city":"b"}`, []string{"--json", "-"}, "does not fit"},
		"bare with a needful": {"", []string{"--accept"}, "City is required"},
	} {
		out, _, err := k.run(c.stdin, append([]string{"answer", id}, c.args...)...)
		if err == nil || out != "" || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %q, %v, want %q", name, out, err, c.says)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: a secret comes back", name)
		}
	}
	k.wantOpen()

	sends := newAsksKit(t, `{"message":"m","requestedSchema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}`)
	id = sends.id()
	for name, typed := range map[string][]string{
		"EOF at once":           {},
		"EOF at the last word":  {"Bern"},
		"something else":        {"Bern", "yes", "y"},
		"^D":                    {"Bern", "\x04"},
		"^C":                    {"Bern", "\x03"},
		"leave":                 {"Bern", "leave"},
		"EOF where one is sent": {"send"},
	} {
		sends.typed = typed
		out, _, err := sends.run("", "answer", id)
		if err == nil || out != "" || !strings.Contains(err.Error(), "othing was sent") {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
	sends.wantOpen()
	sends.typed = []string{"Bern", "send"}
	out, errs, err := sends.run("", "answer", id)
	if err != nil || out != "completed: the server has it\n" {
		t.Errorf("%q, %v", out, err)
	}
	want(t, errs, "A question from one:", "Type one of these words: ")
	sends.wantResult(`{"action":"accept","content":{"city":"Bern"}}`)
}

func TestAsksAnswerOnATerminalCanDecline(t *testing.T) {
	k := newAsksKit(t, `{"message":"m","requestedSchema":{"type":"object","properties":{}}}`)
	k.typed = []string{"decline"}
	if _, _, err := k.run("", "answer", k.id()); err != nil {
		t.Error(err)
	}
	k.wantResult(`{"action":"decline"}`)
}

func TestAsksExtend(t *testing.T) {
	k := newAsksKit(t, detailsForm)
	id := k.id()
	out, _, err := k.run("", "extend", id)
	if err != nil || out != "time left: 9 minutes; it can be extended 1 time more\n" {
		t.Errorf("%q, %v", out, err)
	}
	if out, _, err = k.run("", "extend", id, "--by", "60s", "-o", "json"); err != nil || !strings.Contains(out, `"extensionsRemaining": 0`) {
		t.Errorf("%q, %v", out, err)
	}
	if _, _, err = k.run("", "extend", id); err == nil || !strings.Contains(err.Error(), "cannot be extended any further") {
		t.Errorf("%v", err)
	}
}

// A question that cannot be read is shown as far as it can be, and takes no
// answer.
func TestAsksUnreadableQuestion(t *testing.T) {
	posted := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		posted = posted || r.Method == http.MethodPost
		io.WriteString(w, `{"id":"x","mode":"form","status":"pending","backend":"one","message":"m\u001b]0;t\u0007","requestedSchema":{"type":"object","properties":{"deep":{"type":"object"}}}}`)
	}))
	defer server.Close()
	k := &asksKit{t: t, typed: []string{"send"}}
	out, errs, err := k.run("", "show", "x", "--url", server.URL)
	if err != nil {
		t.Fatal(err)
	}
	want(t, out, "A question from one:")
	want(t, errs, "cannot be read here")
	for _, args := range [][]string{nil, {"--accept"}, {"--set", "deep=1"}, {"--json", "-"}} {
		if _, _, err := k.run(`{"deep":{}}`, append([]string{"answer", "x", "--url", server.URL}, args...)...); err == nil || posted {
			t.Errorf("%v: it can be answered", args)
		}
	}
}

func TestAsksWithoutGateway(t *testing.T) {
	k := &asksKit{t: t, config: filepath.Join(t.TempDir(), "c.yaml")}
	k.write("data_dir: " + t.TempDir() + "\nbackends: { one: { url: \"http://127.0.0.1:1/\" } }\n")
	for _, args := range [][]string{{"list"}, {"show", "x"}, {"decline", "x"}, {"extend", "x"}, {"answer", "x"}} {
		if _, _, err := k.run("", args...); err == nil || !strings.Contains(err.Error(), "no gateway runs with this data_dir: start one") {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// At a gateway elsewhere the token says who somebody is, and goes nowhere
// else.
func TestAsksElsewhere(t *testing.T) {
	k := newAsksKit(t, detailsForm)
	id := k.id()
	h, err := newAPI(k.gw, func(r *http.Request) (desk.Viewer, error) {
		if r.Header.Get("Authorization") != "Bearer the-token" {
			return desk.Viewer{}, ask.Errorf(ask.NotAllowed, "no")
		}
		return localViewer(r)
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	defer server.Close()
	t.Setenv(tokenVariable, "wrong")
	if _, _, err := k.run("", "list", "--url", server.URL); err == nil || !strings.Contains(err.Error(), "bearer token") {
		t.Errorf("%v", err)
	}
	t.Setenv(tokenVariable, "the-token")
	out, _, err := k.run("", "list", "--url", server.URL+"/")
	if err != nil || !strings.Contains(out, id) {
		t.Errorf("%q, %v", out, err)
	}
	leaked := make(chan string, 1)
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { leaked <- r.Header.Get("Authorization") }))
	defer thief.Close()
	moved := httptest.NewServer(http.RedirectHandler(thief.URL, http.StatusTemporaryRedirect))
	defer moved.Close()
	if _, _, err := k.run("", "list", "--url", moved.URL); err == nil || !strings.Contains(err.Error(), "no gateway that takes questions") {
		t.Errorf("%v", err)
	}
	select {
	case token := <-leaked:
		t.Errorf("the token went elsewhere: %q", token)
	default:
	}
	for _, address := range []string{"http://mcp.example.com", "https://", "mcp.example.com", "https://a.example/path", "https://u:p@a.example", "ftp://a.example", "https://a.example?x", "http://127.0.0.1.evil.example"} {
		if _, err := gatewayAt(address); err == nil {
			t.Errorf("%s takes the token", address)
		}
	}
	for _, address := range []string{"https://mcp.example.com", "https://a.example:8443/", "http://127.0.0.1:8808", "http://localhost:1", "http://[::1]:1"} {
		if _, err := gatewayAt(address); err != nil {
			t.Errorf("control: %s: %v", address, err)
		}
	}
}

// Where the gateway takes an answer and its reply is lost, nobody is told
// that nothing was sent.
func TestAsksSaysWhatIsNotKnown(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			conn.Close()
		}
	}))
	defer server.Close()
	k := &asksKit{t: t}
	_, _, err := k.run("", "decline", "x", "--url", server.URL)
	if err == nil || !strings.Contains(err.Error(), "it is not known whether the gateway took this") || !strings.Contains(err.Error(), "asks show x") {
		t.Errorf("%v", err)
	}
}

func TestAsksSwitchedOff(t *testing.T) {
	g, _ := inProcess(t, "asks: { enabled: false }\nbackends: { one: { url: \"http://127.0.0.1:1/\" } }\n")
	h, err := newAPI(g, localViewer)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/asks", nil))
	if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), `"code":"switched_off"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A request that its caller gave up ends.
func TestAsksLocalRequestEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	ln, err := net.Listen("unix", statusSocket(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://answerback/v1/asks", nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := within(sendLocal(dir))(r); err == nil {
		resp.Body.Close()
		t.Error("nobody answered, and there is a response")
	}
}
