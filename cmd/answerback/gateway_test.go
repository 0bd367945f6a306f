package main

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/config"
	"github.com/answerback/answerback/test/rig"
)

// inProcess runs a whole gateway inside the test, so that its goroutines can
// be counted.
func inProcess(t *testing.T, yaml string) (*gateway, string) {
	t.Helper()
	cfg, _, err := config.Parse("test.yaml", []byte("data_dir: "+t.TempDir()+"\n"+yaml), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	d, err := newDoors(cfg, "http://127.0.0.1", log)
	if err != nil {
		t.Fatal(err)
	}
	store, err := openStore(t.Context(), cfg, log)
	if err != nil {
		t.Fatal(err)
	}
	g, err := newGateway(t.Context(), cfg, d, store, log)
	if err != nil {
		t.Fatal(err)
	}
	handler, err := d.handler(g)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		d.close()
		g.close(context.Background())
		server.Close()
	})
	return g, server.URL + "/mcp"
}

// A hundred sessions with a pending question each, answered and closed, leave
// no goroutine and no open ask behind.
func TestSessionsLeaveNothingBehind(t *testing.T) {
	const form = `{"message":"m","requestedSchema":{"type":"object","properties":{}}}`
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		c.Ask(c.ID(), "elicitation/create", form)
		c.Result("{}")
	}})
	g, url := inProcess(t, "asks: { burst: 1000 }\nbackends: { one: { url: "+b.URL+" } }\n")
	idle := ours()
	round := func(sessions int) {
		type pending struct {
			c *rig.Client
			s *rig.Stream
			a func()
		}
		var all []pending
		for range sessions {
			c := rig.Dial(t, url, rig.AllCaps)
			s := c.Tool("ask", "{}")
			q := s.Next()
			all = append(all, pending{c, s, func() { c.Answer(q, `{"action":"decline"}`) }})
		}
		if open := g.desk.Open(); open != sessions {
			t.Errorf("%d asks are open, want %d", open, sessions)
		}
		if ours() < idle+sessions {
			t.Error("no goroutine was found where there are many")
		}
		for _, p := range all {
			p.a()
			p.s.Final()
			p.c.Close()
		}
	}
	round(100)
	if open := g.desk.Open(); open != 0 {
		t.Errorf("%d asks are still open", open)
	}
	rig.Eventually(t, func() bool { return ours() <= idle }, "goroutines of the gateway are left")
}

// ours counts the goroutines that run code of the gateway. Those of idle
// connections run only the standard library's.
func ours() int {
	stacks := make([]byte, 16<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	n := 0
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if strings.Contains(stack, "answerback/internal/") {
			n++
		}
	}
	return n
}

// Switched off there is no desk at all (A15).
func TestSwitchedOffHasNoDesk(t *testing.T) {
	g, _ := inProcess(t, "asks: { enabled: false }\nbackends: { one: { url: \"http://127.0.0.1:1/\" } }\n")
	if g.desk != nil {
		t.Error("there is a desk")
	}
}

// A gateway that authenticates nobody does not face a network by accident.
func TestNetworkIsRefusedWithoutAuthentication(t *testing.T) {
	cfg := config.Default()
	cfg.Listen = "0.0.0.0:0"
	if ln, err := listen(cfg, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "insecure_open_to_network") {
		if ln != nil {
			ln.Close()
		}
		t.Errorf("it listens: %v", err)
	}
	cfg.InsecureOpenToNetwork = true
	ln, err := listen(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
}
