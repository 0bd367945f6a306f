package bearer

import (
	"encoding/json"
	"net/http"
	"slices"
)

// protectedResource is the document of RFC 9728.
type protectedResource struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
	ScopesSupported      []string `json:"scopes_supported,omitempty"`
	BearerMethods        []string `json:"bearer_methods_supported"`
	ResourceName         string   `json:"resource_name"`
}

// document is nil without issuers: nobody could get a token anywhere.
func document(cfg Config) ([]byte, error) {
	if len(cfg.Issuers) == 0 {
		return nil, nil
	}
	d := protectedResource{Resource: cfg.Resource, BearerMethods: []string{"header"}, ResourceName: "Answerback"}
	for _, issuer := range cfg.Issuers {
		d.AuthorizationServers = append(d.AuthorizationServers, issuer.URL)
		for _, scope := range issuer.Scopes {
			if !slices.Contains(d.ScopesSupported, scope) {
				d.ScopesSupported = append(d.ScopesSupported, scope)
			}
		}
	}
	return json.Marshal(d)
}

// Metadata serves the protected resource's metadata (RFC 9728), which tells
// clients where to get a token. It needs no credential. Without issuers there
// is none: 404.
func (b *Bearer) Metadata() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "Only GET and HEAD.", http.StatusMethodNotAllowed)
			return
		}
		if b.document == nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "public, max-age=300")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(b.document)
	})
}
