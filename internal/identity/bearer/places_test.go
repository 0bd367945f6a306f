package bearer

import (
	"slices"
	"testing"
)

func TestMetadataIsLookedForWhereTheSpecificationSays(t *testing.T) {
	root := []string{"https://a.example/.well-known/oauth-authorization-server", "https://a.example/.well-known/openid-configuration"}
	tenant := []string{
		"https://a.example:8443/.well-known/oauth-authorization-server/t/1",
		"https://a.example:8443/.well-known/openid-configuration/t/1",
		"https://a.example:8443/t/1/.well-known/openid-configuration",
	}
	for issuer, want := range map[string][]string{
		"https://a.example": root, "https://a.example/": root,
		"https://a.example:8443/t/1": tenant, "https://a.example:8443/t/1/": tenant,
	} {
		if got := places(issuer); !slices.Equal(got, want) {
			t.Errorf("%s: %q", issuer, got)
		}
	}
}
