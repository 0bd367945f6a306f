package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// TestBatch: in a session of 2025-03-26 an array of messages is taken apart,
// and each request in it is answered: as one array where nothing else is to
// be said, on one stream where a question comes between.
func TestBatch(t *testing.T) {
	t.Parallel()
	b := rig.NewBackend(t, map[string]rig.Script{
		"tools/call echo": echo,
		"tools/call ask": func(c *rig.Call) {
			a := c.Ask(c.ID(), "sampling/createMessage", `{"messages":[],"maxTokens":1}`)
			c.Result(string(a.Field(a.Result)))
		},
	})
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		c := rig.DialVersion(t, d.URL, rig.AllCaps, "2025-03-26")
		before := b.Count("notifications/roots/list_changed")
		call := func(id, tool, args string) string {
			return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + d.Prefix + tool + `","arguments":` + args + `}}`
		}
		call1, call2 := call(`"one"`, "echo", treacherous), call("2", "echo", "{}")
		c.Tool(d.Prefix+"echo", "{}").Final() // notifications go to backends in use
		status, body := c.Post(`[` + call1 + `,{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}, ` + call2 + `]`)
		if status != http.StatusOK || !wire.IsBatch([]byte(body)) {
			t.Fatalf("the batch was answered with %d %s", status, body)
		}
		parts, err := wire.Batch([]byte(body), wire.Limits{}, 10)
		if err != nil || len(parts) != 2 {
			t.Fatalf("%v: %d responses in %s", err, len(parts), body)
		}
		got := make(map[string]string)
		for _, part := range parts {
			m, err := wire.Scan(part, wire.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			got[string(m.Field(m.ID))] = string(m.Field(m.Result))
		}
		equal(t, "the first response", got[`"one"`], `{"echo":`+treacherous+`}`)
		equal(t, "the second response", got["2"], `{"echo":{}}`)
		rig.Eventually(t, func() bool { return b.Count("notifications/roots/list_changed") == before+1 }, "the notification did not reach the backend")

		s := c.Start(`[` + call("3", "ask", "{}") + `]`)
		q := s.Next()
		equal(t, "the question in a batch", q.Method(), "sampling/createMessage")
		// Answers may come in a batch too.
		if status := c.Send(`[{"jsonrpc":"2.0","id":` + string(q.Field(q.ID)) + `,"result":{"model":"m"}}]`); status != http.StatusAccepted {
			t.Errorf("a batch of answers got status %d", status)
		}
		r := s.Final()
		equal(t, "the response after a question", string(r.Field(r.Result)), `{"model":"m"}`)

		for what, raw := range map[string]string{
			"empty":           `[]`,
			"broken":          `[` + call1 + `,{]`,
			"an ambiguous id": `[` + call1 + `,{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}]`,
			"too long":        `[` + strings.Repeat(call2+",", 1000) + call2 + `]`,
		} {
			before := b.Count("tools/call")
			if status, body := c.Post(raw); status != http.StatusBadRequest {
				t.Errorf("%s: %d %.200s", what, status, body)
			}
			if b.Count("tools/call") != before {
				t.Errorf("%s: a part of it was carried out", what)
			}
		}
	})
}

// TestBatchElsewhere: no other version has batches, and none of one is
// carried out.
func TestBatchElsewhere(t *testing.T) {
	t.Parallel()
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call": echo})
	doors(t, b, "", func(t *testing.T, d door, _ *rig.Gateway) {
		raw := `[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + d.Prefix + `echo","arguments":{}}}]`
		for _, version := range []string{"2024-11-05", "2025-06-18", "2025-11-25"} {
			c := rig.DialVersion(t, d.URL, rig.AllCaps, version)
			if status, body := c.Post(raw); status != http.StatusBadRequest || !strings.Contains(body, `"bad_message"`) {
				t.Errorf("%s: %d %s", version, status, body)
			}
		}
		c := rig.NewClient(t, d.URL)
		if status, body := c.Post(raw); status != http.StatusBadRequest {
			t.Errorf("without a session: %d %s", status, body)
		}
		if n := b.Count("tools/call"); n != 0 {
			t.Errorf("%d calls were carried out", n)
		}
	})
}
