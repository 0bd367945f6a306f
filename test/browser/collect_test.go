//go:build browser

package browser

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

// v1 sends a request to the API of a gateway that authenticates nobody.
func (s *stage) v1(method, path, body string) (status int, text string) {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.base+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(all)
}

// localPerson is the person of such a gateway, signed in.
func (s *stage) localPerson(e eyes) *tab {
	s.t.Helper()
	v := s.person("me", e)
	s.gateway.WaitLog(s.t, "/signin/local?token=")
	v.open(localLink.FindString(s.gateway.Log()))
	v.press("Sign in")
	return v
}

// created has a program create a form, and gives its id.
func (s *stage) created(definition string) string {
	s.t.Helper()
	status, body := s.v1("POST", "/v1/forms", `{"formDefinition":`+definition+`}`)
	var form struct{ ElicitationID, Status string }
	if err := json.Unmarshal([]byte(body), &form); status != http.StatusOK || err != nil || form.Status != "pending" {
		s.t.Fatalf("the form is not created: %d %s", status, body)
	}
	return form.ElicitationID
}

// TestSeedFormInABrowser: the form with which the seed begins, created by a
// program as it stands, filled in by a person, and collected once with its key
// (F12).
func TestSeedFormInABrowser(t *testing.T) {
	const key = "sk-c4naryKeyc4naryKeyc4naryKeyc4naryKeyc4nary"
	definition, err := os.ReadFile("../../form/testdata/api_key.form.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]eyes{"script": {width: 390}, "no script": {width: 390, noJS: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newLocalStage(t, "  ops: { url: "+asking(t, deployForm).URL+" }\n")
			id := s.created(string(definition))
			ann := s.localPerson(e)
			p := ann.open(s.base + "/asks/" + id)
			contains(t, p, "API Key Configuration", "Please provide your API credentials", "Found in your account settings", "kept sealed until api, which created this form in your name, collects it, once")
			ann.fill("API Key", "sk-short")
			ann.tap("Send answer") // the script looks first, where there is one
			ann.await("at least 32 characters")
			ann.fill("API Key", key)
			p = ann.press("Send answer")
			if strings.Contains(p.Text, key) {
				t.Error("the page has the key")
			}
			status, body := s.v1("GET", "/v1/forms/"+id, "")
			if status != http.StatusOK || !strings.Contains(body, `"uncollected":["api_key"]`) || strings.Contains(body, key) {
				t.Errorf("before it is collected: %d %s", status, body)
			}
			status, body = s.v1("POST", "/v1/forms/"+id+"/collect", "")
			if status != http.StatusOK || !strings.Contains(body, `"result":{"api_key":"`+key+`","region":"us-east-1"}`) {
				t.Errorf("collected: %d %s", status, body)
			}
			status, body = s.v1("POST", "/v1/forms/"+id+"/collect", "")
			if status != http.StatusConflict || !strings.Contains(body, `"reason":"already_collected"`) || strings.Contains(body, key) {
				t.Errorf("collected again: %d %s", status, body)
			}
		})
	}
}

// TestCreatedFormWithAFileInABrowser: the creator is told all that is known of
// a file, and can fetch it (F16).
func TestCreatedFormWithAFileInABrowser(t *testing.T) {
	t.Parallel()
	s := newLocalStage(t, "  ops: { url: "+asking(t, deployForm).URL+" }\n")
	id := s.created(filesForm)
	ann := s.localPerson(eyes{})
	ann.open(s.base + "/asks/" + id)
	ann.fill("Name", "third quarter")
	ann.attach("Report", "report.pdf", 1000)
	ann.await("Sent and kept.")
	ann.press("Send answer")
	_, body := s.v1("GET", "/v1/forms/"+id, "")
	var form struct {
		Result struct {
			Report struct {
				Filename    string
				ContentType string `json:"content_type"`
				Size        int64
				Content     struct{ Type, Location string }
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &form); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	report := form.Result.Report
	if report.Filename != "report.pdf" || report.ContentType != "application/pdf" || report.Size != 1000 || report.Content.Type != "url" {
		t.Errorf("the creator is told %s", body)
	}
	status, content := s.v1("GET", strings.TrimPrefix(report.Content.Location, s.base), "")
	if status != http.StatusOK || len(content) != 1000 || !strings.HasPrefix(content, "%PDF-1.7\n") {
		t.Errorf("the file is %d, %d bytes", status, len(content))
	}
}
