package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/config"
	"github.com/answerback/answerback/test/rig"
)

var update = flag.Bool("update", false, "rewrite the golden files; read the difference before keeping it")

// protected is an MCP server that lets nobody in without a token, and its
// authorization server.
func protected(t *testing.T) string {
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	reply := func(v map[string]any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(v) }
	}
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		w.WriteHeader(http.StatusUnauthorized)
	})
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", reply(map[string]any{"resource": server.URL + "/mcp", "authorization_servers": []string{server.URL}}))
	mux.HandleFunc("/.well-known/oauth-authorization-server", reply(map[string]any{
		"issuer": server.URL, "authorization_endpoint": server.URL + "/a", "token_endpoint": server.URL + "/t",
		"registration_endpoint": server.URL + "/r", "code_challenge_methods_supported": []string{"S256"}, "response_types_supported": []string{"code"},
	}))
	return server.URL
}

// closedPort is an address at which nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

func parseConfig(t *testing.T, text string) *config.Config {
	t.Helper()
	cfg, _, err := config.Parse("test.yaml", []byte(text), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

var freeWords = regexp.MustCompile(`\d+ [GMK]iB free`)

// The doctor names what is wrong with each thing, in the words that help.
func TestDoctorTellsWhatIsWrong(t *testing.T) {
	well, oauth, dead, issuer := rig.NewBackend(t, nil), protected(t), closedPort(t), rig.NewIssuer(t)
	well.LegacyOnly = true
	silent := filepath.Join(t.TempDir(), "silent")
	dir := t.TempDir()
	cfg := parseConfig(t, `data_dir: `+dir+`
public_url: https://gw.example
identity:
  issuers:
    corp: `+issuer.Config()+`
    gone: { url: "http://`+dead+`" }
backends:
  account: { url: `+oauth+`/mcp, grant: { kind: oauth } }
  dead: { url: "http://`+dead+`/mcp" }
  echoes: { command: cat }
  ends: { command: sh, args: ["-c", "echo no config >&2; exit 3"] }
  locked: { url: `+oauth+`/mcp }
  missing: { command: `+silent+` }
  silent: { command: sh, args: ["-c", "echo fetching foo >&2; echo waiting for a key >&2; while read l; do :; done"] }
  well: { url: `+well.URL+` }
`)
	var out, progress bytes.Buffer
	err := doctor(t.Context(), cfg, patience{network: 30 * time.Second, command: 10 * time.Second, every: time.Hour}, &out, &progress)
	text := out.String() + "error: " + fmt.Sprint(err) + "\n"
	for real, word := range map[string]string{issuer.URL: "ISSUER", oauth: "OAUTH", dead: "DEAD:1", dir: "DIR", silent: "/no/such/program"} {
		text = strings.ReplaceAll(text, real, word)
	}
	text = freeWords.ReplaceAllString(text, "9 GiB free")
	golden(t, "testdata/doctor.golden", text)
}

func TestDialProblem(t *testing.T) {
	addr := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 443}
	for want, err := range map[string]error{
		"the name a.invalid does not exist (DNS); check the url":                                        &net.OpError{Op: "dial", Err: &net.DNSError{Name: "a.invalid", IsNotFound: true}},
		"the name a.invalid could not be looked up (DNS): no servers":                                   &net.OpError{Op: "dial", Err: &net.DNSError{Name: "a.invalid", Err: "no servers"}},
		"192.0.2.1:443 refused the connection: nothing listens there; check that it runs, and the port": &url.Error{Op: "Post", URL: "https://secret", Err: &net.OpError{Op: "dial", Addr: addr, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}},
		"192.0.2.1:443 did not answer; check that it runs, and firewalls on the way":                    &net.OpError{Op: "dial", Addr: addr, Err: os.ErrDeadlineExceeded},
		"the connection to 192.0.2.1:443 failed: network is unreachable":                                &net.OpError{Op: "dial", Addr: addr, Err: syscall.ENETUNREACH},
		"": errors.New("something else"),
	} {
		if got := dialProblem(ask.Wrap(ask.BackendUnreachable, "m", err)); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
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
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// opener opens a gate once it reads that somebody waits.
type opener struct {
	mu   sync.Mutex
	text bytes.Buffer
	gate string
}

func (o *opener) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Write(p)
	if strings.Contains(o.text.String(), "downloading") {
		if err := os.WriteFile(o.gate, nil, 0o600); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// A command that takes long to start is waited for, and the doctor says for
// what, with what the command writes meanwhile.
func TestDoctorWaitsForASlowCommand(t *testing.T) {
	gate := filepath.Join(t.TempDir(), "gate")
	script := "echo downloading the internet >&2; until test -e " + gate + "; do sleep 0.05; done; exec " + rig.StdioPeer(t)
	cfg := parseConfig(t, "data_dir: "+t.TempDir()+"\nbackends: { slow: { command: sh, args: [\"-c\", "+strconv.Quote(script)+"] } }\n")
	o := &opener{gate: gate}
	var out bytes.Buffer
	if err := doctor(t.Context(), cfg, patience{network: time.Minute, command: time.Minute, every: 20 * time.Millisecond}, &out, o); err != nil {
		t.Fatalf("%v\n%s\n%s", err, &out, &o.text)
	}
	want(t, out.String(), "slow  ", "legacy 2025-11-25")
	want(t, o.text.String(), "slow: waiting for its command to answer, which may have to be downloaded first", "it wrote: downloading the internet")
}

// What the doctor says of the place where things are kept.
func TestDoctorLooksAtTheStore(t *testing.T) {
	well := rig.NewBackend(t, nil)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	nats := rig.StartNATS(t).URL
	web := strings.TrimPrefix(well.URL, "http://")
	for name, c := range map[string]struct {
		yaml string
		fine bool
		says []string
	}{
		"new":       {"data_dir: " + filepath.Join(t.TempDir(), "new", "dir") + "\n", true, []string{"data_dir  ok", "made at the first start", "there is none yet"}},
		"a file":    {"data_dir: " + filepath.Join(file, "data") + "\n", false, []string{"cannot be used", "choose another with data_dir"}},
		"in memory": {"data_dir: " + t.TempDir() + "\njournal: { in_memory: true }\n", true, []string{"nothing is kept across a restart"}},
		"refused":   {"data_dir: " + t.TempDir() + "\njournal: { url: \"nats://" + closedPort(t) + "\" }\n", false, []string{"cannot be reached", "refused the connection"}},
		"no nats":   {"data_dir: " + t.TempDir() + "\njournal: { url: \"nats://" + web + "\" }\n", false, []string{"no NATS server"}},
		"nats":      {"data_dir: " + t.TempDir() + "\njournal: { url: \"" + nats + "\" }\n", true, []string{"journal   ok  NATS server at"}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := parseConfig(t, c.yaml+"backends: { well: { url: "+well.URL+" } }\n")
			var out bytes.Buffer
			err := doctor(t.Context(), cfg, patience{network: 5 * time.Second, command: time.Minute, every: time.Hour}, &out, &bytes.Buffer{})
			if (err == nil) != c.fine {
				t.Errorf("%v", err)
			}
			want(t, out.String(), c.says...)
		})
	}
}
