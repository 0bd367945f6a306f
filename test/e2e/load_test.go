package e2e

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/answerback/answerback/test/rig"
)

// TestParallelCalls: 64 calls at once on one session, each with its own form,
// its own sampling and its own progress, each on its own stream.
func TestParallelCalls(t *testing.T) {
	t.Parallel()
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		n := member(*c.Msg, c.Msg.Arguments, "n")
		c.Send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + string(c.Msg.Field(c.Msg.MetaToken)) + `,"progress":` + n + `}}`)
		form := c.Ask(`"f`+n+`"`, "elicitation/create", `{"message":"`+n+`","requestedSchema":{"type":"object","properties":{}}}`)
		sample := c.Ask(`"s`+n+`"`, "sampling/createMessage", `{"messages":[],"maxTokens":`+n+`}`)
		c.Result(`{"form":` + string(form.Field(form.Result)) + `,"sample":` + string(sample.Field(sample.Result)) + `}`)
	}})
	doors(t, b, "asks: { burst: 10000, max_open_per_session: 200 }\n", func(t *testing.T, d door, _ *rig.Gateway) {
		c := rig.Dial(t, d.URL, rig.AllCaps)
		var wg sync.WaitGroup
		for i := range 64 {
			wg.Go(func() {
				n := strconv.Itoa(i + 1)
				s := c.Start(`{"jsonrpc":"2.0","id":"c` + n + `","method":"tools/call","params":{"name":"` + d.Prefix + `ask","arguments":{"n":` + n + `},"_meta":{"progressToken":"t` + n + `"}}}`)
				p := s.Next()
				equal(t, "the progress", string(p.Field(p.Params)), `{"progressToken":"t`+n+`","progress":`+n+`}`)
				form := s.Next()
				equal(t, "the form on this stream", member(form, form.Params, "message"), `"`+n+`"`)
				c.Answer(form, `{"action":"accept","content":{"n":`+n+`}}`)
				sample := s.Next()
				equal(t, "the sampling on this stream", member(sample, sample.Params, "maxTokens"), n)
				c.Answer(sample, `{"model":"m`+n+`"}`)
				r := s.Next()
				equal(t, "the result", string(r.Field(r.Result)), `{"form":{"action":"accept","content":{"n":`+n+`}},"sample":{"model":"m`+n+`"}}`)
			})
		}
		wg.Wait()
	})
}

// parallel runs f for each index, 32 at a time. A run that fails its test
// frees its place.
func parallel(n int, f func(i int)) {
	room := make(chan struct{}, 32)
	var wg sync.WaitGroup
	for i := range n {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			f(i)
		})
	}
	wg.Wait()
}

// memory is the resident size of the gateway.
func memory(t *testing.T, g *rig.Gateway) int {
	t.Helper()
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", g.Cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(statm))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// handles counts the open files of the gateway.
func handles(t *testing.T, g *rig.Gateway) int {
	t.Helper()
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", g.Cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(fds)
}
