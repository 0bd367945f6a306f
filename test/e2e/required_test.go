package e2e

import (
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// barred is a legacy server that refuses a tool until its person has opened a
// page of the server's.
func barred(t *testing.T, open *atomic.Bool) *rig.Backend {
	return legacyBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		if !open.Load() {
			c.Error(`{"code":-32042,"message":"first","data":{"elicitations":[` + page + `]}}`)
			return
		}
		c.Result(`{"content":[],"ok":true}`)
	}})
}

// A client that knows nothing of such pages, and whose person is not asked on
// a page of the gateway's either, is told the address in words, and calls again.
// One that knows them gets the refusal as it is.
func TestAPageThatIsWantedFirstIsToldInWords(t *testing.T) {
	t.Parallel()
	var open atomic.Bool
	b := barred(t, &open)
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		const formsOnly = `{"elicitation":{"form":{}}}`
		for name, call := range map[string]func() wire.Message{
			"legacy": func() wire.Message { return rig.Dial(t, d.URL, formsOnly).Tool(d.Prefix+"ask", "{}").Final() },
			"modern": func() wire.Message {
				return rig.NewClient(t, d.URL).Modern("1", "tools/call", `{"name":"`+d.Prefix+`ask","arguments":{}}`, formsOnly).Final()
			},
		} {
			open.Store(false)
			before := b.Count("tools/call")
			m := call()
			for _, want := range []string{`"isError":true`, `https://example.com/a?b=`, "Why: connect", "It has not run it", "the tool ask"} {
				if !strings.Contains(string(m.Raw), want) {
					t.Errorf("%s: the result lacks %q: %s", name, want, m.Raw)
				}
			}
			open.Store(true)
			if m := call(); member(m, m.Result, "ok") != "true" || b.Count("tools/call") != before+2 {
				t.Errorf("%s: the repeated call: %s", name, m.Raw)
			}
		}
		open.Store(false)
		m := rig.Dial(t, d.URL, linksOnly).Tool(d.Prefix+"ask", "{}").Final()
		equal(t, "the code for a client that takes links", string(m.Field(m.ErrorCode)), "-32042")
	})
}

// A client that can show nothing is told where the question waits; its person
// opens the page of the server's from there, and the repeated call has the
// result. One that is held gets it in the same call.
func TestAPageThatIsWantedFirstWaitsInTheInbox(t *testing.T) {
	t.Parallel()
	var open atomic.Bool
	b := barred(t, &open)
	doors(t, b, "clients: [{ name: Holder, hold: 50s }]\n", func(t *testing.T, d door, g *rig.Gateway) {
		person := rig.SignIn(t, g)
		visits := func(at string) {
			t.Helper()
			if status, body := person.Do("GET", at, nil); status != 200 || !strings.Contains(body, "https://example.com/a?b=") {
				t.Errorf("the page: %d %s", status, body)
			}
			open.Store(true)
			if status, body := person.Answer(at, url.Values{"action": {"accept"}}); status != 200 && status != 303 {
				t.Errorf("the answer: %d %s", status, body)
			}
		}
		dulls(t, d.URL, func(t *testing.T, call dull) {
			open.Store(false)
			args := `{"of":"` + t.Name() + `"}`
			at := told(call(d.Prefix+"ask", args))
			if at == "" {
				t.Fatal("the client was not told where to go")
			}
			visits(at)
			if m := call(d.Prefix+"ask", args); member(m, m.Result, "ok") != "true" {
				t.Errorf("the repeated call: %s", m.Raw)
			}
		})
		open.Store(false)
		c := rig.NewClient(t, d.URL)
		c.Name = "Holder"
		c.Open("{}", "2025-11-25")
		calls := make(chan *rig.Stream, 1)
		go func() {
			calls <- c.Start(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + d.Prefix + `ask","arguments":{"of":"hold"},"_meta":{"progressToken":1}}}`)
		}()
		at := ""
		rig.Eventually(t, func() bool {
			_, inbox := person.Do("GET", "/", nil)
			at = askPath.FindString(inbox)
			return at != ""
		}, "nothing is in the inbox")
		visits(at)
		if m := (<-calls).Final(); member(m, m.Result, "ok") != "true" {
			t.Errorf("the held call: %s", m.Raw)
		}
	})
}
