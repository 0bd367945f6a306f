package relay

import (
	"context"
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// only allows the tools that it lists as backend/tool.
type only []string

func (o only) Key() string { return strings.Join(o, " ") }

func (o only) Backend(name string) bool {
	for _, one := range o {
		if strings.HasPrefix(one, name+"/") {
			return true
		}
	}
	return false
}

func (o only) Tool(backend, tool string) bool {
	for _, one := range o {
		if one == backend+"/"+tool {
			return true
		}
	}
	return false
}

// What somebody may not use is neither listed nor served to them, in either
// era, at either endpoint; to whom it is allowed, it is.
func TestAttackUseWhatIsNotAllowed(t *testing.T) {
	servers := []*fakeServer{
		{name: "files", serve: listing(`{"name":"read"},{"name":"write"}`)},
		{name: "bank", serve: listing(`{"name":"pay"}`)},
	}
	limited := alice
	limited.Access = only{"files/read"}
	r := newRelay(t, servers...)

	legacy := func(who contract.Caller, at, raw string) string {
		hello, peer := scan(helloAll), newPeer()
		s, resp := r.Initialize(context.Background(), at, "session-1", who, &hello, peer)
		if s == nil {
			return string(resp.Body)
		}
		defer s.Close(context.Background(), nil)
		m := send(s, peer, raw)
		return string(m.Raw)
	}
	modern := func(who contract.Caller, at, method, params string) string {
		m := scan(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}` + params + `}}`)
		return string(r.Call(context.Background(), at, who, &m, nil, newPeer()).Body)
	}
	call := func(name string) string { return strings.Replace(toolCall, `"t"`, `"`+name+`"`, 1) }
	for _, tt := range []struct {
		name string
		do   func(who contract.Caller) string
		want string // in what everybody gets, and not in what the limited caller does
		kept string // in what both get
	}{
		{"list, legacy, joined", func(w contract.Caller) string { return legacy(w, "", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`) }, `"files__write"`, `"files__read"`},
		{"list of another backend, legacy, joined", func(w contract.Caller) string { return legacy(w, "", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`) }, `"bank__pay"`, ""},
		{"list, legacy, alone", func(w contract.Caller) string {
			return legacy(w, "files", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		}, `"write"`, `"read"`},
		{"call, legacy, joined", func(w contract.Caller) string { return legacy(w, "", call("files__write")) }, `"served"`, ""},
		{"call of another backend, legacy, joined", func(w contract.Caller) string { return legacy(w, "", call("bank__pay")) }, `"served"`, ""},
		{"call, legacy, alone", func(w contract.Caller) string { return legacy(w, "files", call("write")) }, `"served"`, ""},
		{"another backend, legacy, alone", func(w contract.Caller) string { return legacy(w, "bank", call("pay")) }, `"served"`, ""},
		{"list, modern, joined", func(w contract.Caller) string { return modern(w, "", "tools/list", "") }, `"files__write"`, `"files__read"`},
		{"list, modern, alone", func(w contract.Caller) string { return modern(w, "files", "tools/list", "") }, `"write"`, `"read"`},
		{"call, modern, joined", func(w contract.Caller) string { return modern(w, "", "tools/call", `,"name":"files__write"`) }, `"served"`, ""},
		{"call of another backend, modern, joined", func(w contract.Caller) string { return modern(w, "", "tools/call", `,"name":"bank__pay"`) }, `"served"`, ""},
		{"call, modern, alone", func(w contract.Caller) string { return modern(w, "files", "tools/call", `,"name":"write"`) }, `"served"`, ""},
		{"another backend, modern, alone", func(w contract.Caller) string { return modern(w, "bank", "tools/call", `,"name":"pay"`) }, `"served"`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.do(alice); !strings.Contains(got, tt.want) {
				t.Fatalf("control: whoever may use everything got %s", got)
			}
			got := tt.do(limited)
			if strings.Contains(got, tt.want) {
				t.Errorf("allowed: %s", got)
			}
			if !strings.Contains(got, tt.kept) {
				t.Errorf("what is allowed is gone too: %s", got)
			}
		})
	}
	if !r.Knows("bank", alice) || r.Knows("bank", limited) || !r.Knows("files", limited) || !r.Knows("", limited) {
		t.Error("an endpoint is known to the wrong people")
	}
	if m := scan(legacy(limited, "files", call("read"))); m.Kind != wire.Result {
		t.Errorf("what is allowed: %s", m.Raw)
	}
}
