package era_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/answerback/answerback/internal/era"
)

func TestDiscoverRequestPassesOurOwnCheck(t *testing.T) {
	for _, info := range [][]byte{nil, []byte(`{"name":"answerback","version":"1"}`)} {
		m := scan(t, string(era.DiscoverRequest([]byte(`"d-1"`), info)))
		h := headers()
		era.SetHeaders(h, m, era.Latest, "")
		if err := era.CheckRequest(m, h); err != nil {
			t.Error(err)
		}
		if got := string(m.Field(m.ID)); got != `"d-1"` {
			t.Error(got)
		}
		if got := m.Field(m.MetaClientInfo); string(got) != string(info) {
			t.Errorf("%s", got)
		}
	}
}

func TestDiscoverResult(t *testing.T) {
	for _, tc := range []struct {
		in   era.Discovery
		want map[string]any
	}{
		{era.Discovery{}, map[string]any{"capabilities": map[string]any{}}},
		{
			era.Discovery{Capabilities: []byte(`{"tools":{}}`), ServerInfo: []byte(`{"name":"a"}`), Instructions: `say "please"`},
			map[string]any{
				"capabilities": map[string]any{"tools": map[string]any{}},
				"_meta":        map[string]any{"io.modelcontextprotocol/serverInfo": map[string]any{"name": "a"}},
				"instructions": `say "please"`,
			},
		},
	} {
		tc.want["resultType"], tc.want["ttlMs"], tc.want["cacheScope"] = "complete", 0.0, "private"
		tc.want["supportedVersions"] = []any{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}
		var got map[string]any
		if err := json.Unmarshal(era.DiscoverResult(tc.in), &got); err != nil || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%v, %v", got, err)
		}
	}
}
