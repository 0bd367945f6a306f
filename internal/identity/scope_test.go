package identity

import "testing"

func TestScope(t *testing.T) {
	for name, tt := range map[string]struct {
		claims Claims
		want   bool
	}{
		"a word among others":   {Claims{"scope": "mcp answer  other"}, true},
		"an element":            {Claims{"scp": []any{"mcp", "answer"}}, true},
		"an element of scope":   {Claims{"scope": []any{"answer"}}, true},
		"part of a word":        {Claims{"scope": "answering xanswer answer:x"}, false},
		"another claim":         {Claims{"scopes": "answer"}, false},
		"another case":          {Claims{"scope": "Answer"}, false},
		"no claims":             {nil, false},
		"a number":              {Claims{"scope": 7}, false},
		"a list of other words": {Claims{"scp": []any{"answers", 7}}, false},
	} {
		if got := tt.claims.Scope("answer"); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if (Claims{"scope": ""}).Scope("") {
		t.Error("no scope is granted by an empty claim")
	}
}
