package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/answerback/answerback/test/rig"
)

// The doors serve the API, to whom it concerns, with its own words for a no.
func TestDoorsServeTheAPI(t *testing.T) {
	b := rig.NewBackend(t, map[string]rig.Script{"tools/call ask": func(c *rig.Call) {
		c.Ask(c.ID(), "elicitation/create", `{"message":"m","requestedSchema":{"type":"object","properties":{}}}`)
		c.Result("{}")
	}})
	_, url := inProcess(t, "backends: { one: { url: "+b.URL+" } }\n")
	base := strings.TrimSuffix(url, "/mcp")
	s := rig.Dial(t, url, rig.AllCaps).Tool("ask", "{}")
	s.Next()
	get := func(path, origin string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	if status, body := get("/v1/asks", ""); status != 200 || !strings.Contains(body, `"backend":"one"`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := get("/v1/openapi.json", ""); status != 200 || !strings.Contains(body, `"openapi"`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := get("/v1/asks", "https://evil.example"); status != 403 || !strings.HasPrefix(body, `{"error":{"code":"not_allowed"`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := get("/v1/other", ""); status != 404 || !strings.Contains(body, `"code":"unknown_name"`) {
		t.Errorf("%d %s", status, body)
	}
	s.Drop()
}
