package e2e

import (
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// A gateway that is told to stop does not wait for questions that are kept,
// however long it may drain: it is gone while they are open, twice, and they
// are answered after the second start.
func TestStopDoesNotWaitForKeptQuestions(t *testing.T) {
	t.Parallel()
	runs := &atomic.Int64{}
	other := rig.NewBackend(t, nil)
	g := rig.Start(t, durable+"limits: { drain: 1h }\nasks: { timeout: 1h }\nbackends:\n  one: { url: "+resumable(t, runs)+" }\n  two: { url: "+other.URL+" }\n")
	solo, joined := rig.Dial(t, g.URL+"/one", rig.AllCaps), rig.Dial(t, g.URL, rig.AllCaps)
	streams := []*rig.Stream{solo.Tool("ask", "{}"), joined.Tool("one__ask", "{}")}
	clients := []*rig.Client{solo, joined}
	paths := []string{"/one", ""}
	var ids []string
	for _, s := range streams {
		q := s.Next()
		id, _ := wire.Unquote(q.Field(q.ID))
		ids = append(ids, id)
	}
	rig.SignIn(t, g).Do("GET", "/", nil) // what is listed is kept
	last := []string{streams[0].LastID, streams[1].LastID}

	for range 2 {
		g.Signal(t, syscall.SIGTERM)
		if err := g.Wait(t); err != nil {
			t.Fatalf("the gateway ended with %v", err)
		}
		if log := g.Log(); !strings.Contains(log, "questions=2") || strings.Contains(log, "still in flight") {
			t.Errorf("the log of the end:\n%s", log)
		}
		g = g.Again(t)
		person := rig.SignIn(t, g)
		_, inbox := person.Do("GET", "/", nil)
		for _, id := range ids {
			if !strings.Contains(inbox, id) {
				t.Errorf("%s is not in the list after the start: %s", id, inbox)
			}
		}
	}
	person := rig.SignIn(t, g)
	for i, c := range clients {
		c.URL = g.URL + paths[i]
		s := c.Listen(last[i])
		if status, body := person.Answer("/asks/"+ids[i], url.Values{"action": {"accept"}, "f0": {"Ann"}}); status != 200 {
			t.Fatalf("the answer: %d %s", status, body)
		}
		if m := s.Final(); !strings.Contains(string(m.Field(m.Result)), "accept Ann") {
			t.Errorf("the result: %s", m.Raw)
		}
	}
	if runs.Load() != 2 {
		t.Errorf("the tool ran %d times, want 2", runs.Load())
	}
}

// While calls are at work, a gateway that stops says which, and waits for
// them beside questions that are kept.
func TestStopSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	release, working := make(chan struct{}), make(chan struct{}, 2)
	b := rig.NewBackend(t, map[string]rig.Script{
		"tools/call ask":  func(c *rig.Call) { c.Ask(c.ID(), "elicitation/create", formParams) },
		"tools/call work": func(c *rig.Call) { working <- struct{}{}; <-release; c.Result("{}") },
	})
	g := rig.Start(t, durable+"limits: { drain: 1h }\n"+backends("one", b.URL, "two", b.URL))
	c := rig.Dial(t, g.URL+"/one", rig.AllCaps)
	c.Tool("ask", "{}").Next()
	rig.SignIn(t, g).Do("GET", "/", nil)
	joined := rig.Dial(t, g.URL, rig.AllCaps)
	results := make(chan wire.Message, 2)
	var calling sync.WaitGroup
	defer calling.Wait()
	calling.Go(func() { results <- c.Tool("work", "{}").Final() })
	calling.Go(func() { results <- joined.Tool("two__work", "{}").Final() })
	for range 2 {
		<-working
	}
	g.Signal(t, syscall.SIGTERM)
	g.WaitLog(t, "a second signal ends them at once")
	log := g.Log()
	for _, want := range []string{"msg=stopping drain=1h0m0s calls=2 questions=1", "one/work", "two__work", "calls wait for questions that are kept"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
	close(release)
	for range 2 {
		if m := <-results; m.Kind != wire.Result {
			t.Errorf("a call at work got %s", m.Raw)
		}
	}
	if err := g.Wait(t); err != nil {
		t.Errorf("the gateway ended with %v", err)
	}
}

// A second signal ends the gateway at once, and with it the processes of
// servers that would outlive it: they hear neither its signals nor the end of
// their input.
func TestSecondSignalLeavesNoProcess(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Fatal("this test needs a shell")
	}
	dir := t.TempDir()
	script := `trap "" TERM INT HUP; echo $$ > "` + dir + `/$0.new"; mv "` + dir + `/$0.new" "` + dir + `/$0"; while :; do sleep 0.2; done`
	config := "limits: { drain: 1h }\nbackends:\n"
	for _, name := range []string{"one", "two"} {
		config += "  " + name + ": { command: sh, args: [\"-c\", " + strconv.Quote(script) + ", " + name + "] }\n"
	}
	g := rig.Start(t, config)
	var calling sync.WaitGroup
	defer calling.Wait()
	for _, name := range []string{"one", "two"} {
		calling.Go(func() {
			const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"rig","version":"1"}}}`
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+"/"+name, strings.NewReader(hello))
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			if resp, err := http.DefaultClient.Do(req); err == nil { // the gateway goes before it answers
				resp.Body.Close()
			}
		})
	}
	var pids []int
	for _, name := range []string{"one", "two"} {
		var text []byte
		rig.Eventually(t, func() (ok bool) {
			var err error
			text, err = os.ReadFile(filepath.Join(dir, name))
			return err == nil
		}, "the process did not start")
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	g.Signal(t, syscall.SIGINT)
	g.WaitLog(t, "msg=stopping")
	for _, pid := range pids {
		if syscall.Kill(pid, 0) != nil {
			t.Fatalf("control: the process %d is gone before the second signal", pid)
		}
	}
	g.Abandon(t, syscall.SIGINT)
	for _, pid := range pids {
		rig.Eventually(t, func() bool { return syscall.Kill(pid, 0) != nil }, "a process of a server outlives the gateway")
	}
}

// A client that can show nothing, and whose call is held while its person is
// asked on a page, does not hold the gateway back either.
func TestStopDoesNotWaitForHeldCalls(t *testing.T) {
	t.Parallel()
	runs := &atomic.Int64{}
	g := rig.Start(t, durable+"limits: { drain: 1h }\nasks: { timeout: 1h }\nclients: [ { name: \"*\", hold: 30m, timer: 1h } ]\nbackends:\n  one: { url: "+resumable(t, runs)+" }\n")
	legacy, modern := rig.Dial(t, g.URL+"/one", "{}"), rig.NewClient(t, g.URL+"/one")
	var calling sync.WaitGroup
	defer calling.Wait()
	follow := func(s *rig.Stream) {
		for more := true; more; {
			_, more = s.Poll(rig.Patience)
		}
	}
	// Who wants to hear of progress is held.
	modern.Meta = `"progressToken":1`
	calling.Go(func() {
		follow(legacy.Start(`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"ask","arguments":{},"_meta":{"progressToken":1}}}`))
	})
	calling.Go(func() { follow(modern.Modern("1", "tools/call", `{"name":"ask","arguments":{}}`, "{}")) })
	person := rig.SignIn(t, g)
	inbox := ""
	rig.Eventually(t, func() bool {
		_, inbox = person.Do("GET", "/", nil)
		return len(asksIn(inbox)) == 2
	}, "two questions do not come")
	g.Signal(t, syscall.SIGTERM)
	if err := g.Wait(t); err != nil {
		t.Fatalf("the gateway ended with %v", err)
	}
	if log := g.Log(); strings.Contains(log, "still in flight") || !strings.Contains(log, `and go on after the next start" calls=2`) {
		t.Errorf("the log of the end:\n%s", log)
	}
	_, after := rig.SignIn(t, g.Again(t)).Do("GET", "/", nil)
	for id := range asksIn(inbox) {
		if !strings.Contains(after, id) {
			t.Errorf("%s is gone after the start", id)
		}
	}
}

// asksIn gives the pages of the questions in a list.
func asksIn(inbox string) map[string]bool {
	found := map[string]bool{}
	for _, path := range askPath.FindAllString(inbox, -1) {
		found[path] = true
	}
	return found
}
