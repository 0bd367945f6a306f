package era_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/answerback/answerback/internal/era"
)

func TestVersionsBelongToTheirEra(t *testing.T) {
	for version, want := range map[string]era.Era{
		"2024-11-05": era.Legacy, "2025-03-26": era.Legacy, "2025-06-18": era.Legacy,
		"2025-11-25": era.Legacy, "2026-07-28": era.Modern,
	} {
		if got, ok := era.Of(version); got != want || !ok {
			t.Errorf("Of(%q) = %v, %v", version, got, ok)
		}
	}
	for _, version := range []string{"", "2026-07-29", "v999.0.0", "2026-07-28 "} {
		if got, ok := era.Of(version); got != 0 || ok {
			t.Errorf("Of(%q) = %v, %v", version, got, ok)
		}
	}
}

func TestVersionListsAreNewestFirstAndOwnedByTheCaller(t *testing.T) {
	all := era.Supported()
	if all[0] != era.Latest || all[1] != era.LatestLegacy || len(all) != 5 {
		t.Errorf("Supported() = %v", all)
	}
	if !slices.Equal(all[1:], era.Legacies()) {
		t.Errorf("Legacies() = %v", era.Legacies())
	}
	if !slices.IsSortedFunc(all, func(a, b string) int { return -cmpString(a, b) }) {
		t.Errorf("not newest first: %v", all)
	}
	era.Legacies()[0] = "spoilt"
	all[0] = "spoilt"
	if era.Legacies()[0] != era.LatestLegacy || era.Supported()[0] != era.Latest {
		t.Error("the caller's slice is the package's own")
	}
}

func cmpString(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}

func TestDetect(t *testing.T) {
	const plain = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	const modern = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	const odd = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"v999.0.0"}}}`
	for _, tc := range []struct {
		name, body string
		h          http.Header
		want       era.Era
	}{
		{"nothing said", plain, nil, era.Legacy},
		{"legacy header", plain, headers("MCP-Protocol-Version", "2025-11-25"), era.Legacy},
		{"unknown header", plain, headers("MCP-Protocol-Version", "v999.0.0"), era.Legacy},
		{"between the eras", plain, headers("MCP-Protocol-Version", "2026-01-01"), era.Legacy},
		{"modern header", plain, headers("mcp-protocol-version", "2026-07-28"), era.Modern},
		{"modern header, padded", plain, headers("mcp-protocol-version", " 2026-07-28 "), era.Modern},
		{"a version to come", plain, headers("MCP-Protocol-Version", "2031-02-03"), era.Modern},
		{"two headers", plain, headers("MCP-Protocol-Version", "2025-11-25", "MCP-Protocol-Version", "2026-07-28"), era.Modern},
		{"_meta alone", modern, nil, era.Modern},
		{"_meta against the header", modern, headers("MCP-Protocol-Version", "2025-11-25"), era.Modern},
		{"an unknown version in _meta", odd, nil, era.Modern},
	} {
		if got := era.Detect(scan(t, tc.body), tc.h); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestErasHaveNames(t *testing.T) {
	if s := era.Legacy.String() + era.Modern.String() + era.Era(0).String(); s != "legacymodernunknown" {
		t.Error(s)
	}
}
