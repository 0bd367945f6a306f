package mcp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/door/doortest"
	"github.com/answerback/answerback/internal/wire"
)

// locked is a server that takes one token, and counts the calls it ran.
func locked(t *testing.T, ran map[string]int) string {
	t.Helper()
	var mu sync.Mutex
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.Header.Get("Authorization") {
		case "Bearer good":
		case "Bearer narrow":
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="files:write"`)
			w.WriteHeader(http.StatusForbidden)
			return
		case "Bearer banned":
			w.WriteHeader(http.StatusForbidden)
			return
		default:
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="https://example.com/.well-known/oauth-protected-resource"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		m, err := wire.Scan(body, wire.Limits{})
		if err != nil || m.Kind != wire.Request {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		mu.Lock()
		ran[m.Method()]++
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		switch m.Method() {
		case "initialize":
			w.Header().Set("Mcp-Session-Id", "s")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}`, m.Field(m.ID))
		case "server/discover":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"]}}`, m.Field(m.ID))
		default:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, m.Field(m.ID))
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestEachPersonsRequestsCarryTheirOwnCredential, in both eras, and what was
// refused is sent again where there is another, and has run once.
func TestEachPersonsRequestsCarryTheirOwnCredential(t *testing.T) {
	ann, bob := ask.Principal{Issuer: "i", Subject: "ann"}, ask.Principal{Issuer: "i", Subject: "bob"}
	for name, each := range map[string]struct {
		have   []string
		want   ask.Code
		status int // of the last challenge
	}{
		"good":              {have: []string{"good"}},
		"refreshed":         {have: []string{"stale", "good"}, status: 401},
		"nothing":           {want: ask.NotConnected},
		"stale":             {have: []string{"stale"}, want: ask.NotConnected, status: 401},
		"refreshed in vain": {have: []string{"stale", "staler", "stalest"}, want: ask.NotConnected, status: 401},
		"too narrow":        {have: []string{"narrow"}, want: ask.NotConnected, status: 403},
		"banned":            {have: []string{"banned"}, want: ask.BackendUnreachable},
	} {
		for _, modern := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/modern=%v", name, modern), func(t *testing.T) {
				ran := map[string]int{}
				k := &doortest.Keys{}
				k.Connect(ann, each.have...)
				k.Connect(bob, "good")
				b := newBackend(t, Config{URL: locked(t, ran), Client: http.DefaultClient, Credentials: k, Transport: HTTP})
				_, err := b.useAs(t, ann, modern)
				if ask.CodeOf(err) != each.want {
					t.Fatalf("%v, want %s", err, each.want)
				}
				if each.want == "" && ran["tools/call"] != 1 {
					t.Errorf("ran %v", ran)
				}
				refused := k.Challenges()
				if n := len(refused); (n > 0) != (each.status > 0) || n > 0 && refused[n-1].Status != each.status {
					t.Errorf("refused with %v", refused)
				}
				challenge, challenged := errors.AsType[*contract.Challenge](err)
				if challenged != (each.want == ask.NotConnected && each.status > 0) || challenged && len(challenge.Authenticate) != 1 {
					t.Errorf("challenged with %v", challenge)
				}
				if _, err := b.useAs(t, bob, modern); err != nil {
					t.Errorf("somebody else: %v", err)
				}
			})
		}
	}
}

// useAs calls a tool as somebody.
func (b *Backend) useAs(t *testing.T, who ask.Principal, modern bool) (contract.Reply, error) {
	t.Helper()
	if modern {
		if _, err := b.Discover(t.Context(), who); err != nil {
			return contract.Reply{}, err
		}
		line, err := b.Stateless(t.Context(), who)
		if err != nil {
			return contract.Reply{}, err
		}
		if err := line.Notify(t.Context(), []byte(`{"jsonrpc":"2.0","method":"notifications/x"}`)); err != nil {
			return contract.Reply{}, err
		}
		return line.Call(t.Context(), toolCall(t, "x", "{}"), newRecorder())
	}
	line, err := b.Open(t.Context(), contract.Hello{Principal: who, Params: []byte(`{"protocolVersion":"2025-11-25","capabilities":{}}`), Events: newRecorder()})
	if err != nil {
		return contract.Reply{}, err
	}
	return line.Call(t.Context(), toolCall(t, "x", "{}"), newRecorder())
}
