//go:build crash

package crash

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// collectPoints are all the moments of a collection at which the gateway dies,
// and how often the secret is given out then, by this gateway and by the next.
var collectPoints = []struct {
	name string
	left bool // it can still be collected
}{
	{"desk.collect.before", true}, // nobody has it, and the store has
	{"journal.put.before:3", true},
	{"journal.put.after:3", false}, // the store has given it away, and nobody has it
	{"desk.collect.after", false},
}

const collectedSecret = "sk-crash-canary-5ca1ab1e"

// A gateway dies at every moment of a collection. The secret is given out once
// at most: where the store has given it away it is lost, and the next
// collector is told that it was collected.
func TestACollectionIsAtMostOnceAtEachPoint(t *testing.T) {
	for _, point := range collectPoints {
		t.Run(point.name, func(t *testing.T) {
			t.Parallel()
			transport := &http.Transport{}
			t.Cleanup(transport.CloseIdleConnections)
			c := &http.Client{Transport: transport}
			say := func(g *gateway, path, body string) (int, string) {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.base+"/v1/forms"+path, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				if body != "" {
					req.Header.Set("Content-Type", "application/json")
				}
				resp, err := c.Do(req)
				if err != nil {
					return 0, "" // the gateway died
				}
				defer resp.Body.Close()
				all, err := io.ReadAll(resp.Body)
				if err != nil {
					return 0, string(all)
				}
				return resp.StatusCode, string(all)
			}
			s := newSite(t, "backends:\n  none: { url: http://127.0.0.1:1/mcp }\n")
			g := s.up(s.start())
			_, body := say(g, "", `{"formDefinition":{"id":"f","title":"F","fields":[{"id":"key","type":"text","label":"API key"}]}}`)
			var form struct{ ElicitationID string }
			if err := json.Unmarshal([]byte(body), &form); err != nil || form.ElicitationID == "" {
				t.Fatalf("the form is %s: %v", body, err)
			}
			at := "/" + form.ElicitationID
			if status, body := say(g, at+"/submit", `{"responses":{"key":"`+collectedSecret+`"}}`); status != http.StatusOK {
				t.Fatalf("submitted: %d %s", status, body)
			}
			g.kill()

			g = s.up(s.start("ANSWERBACK_KILL_AT=" + point.name))
			if status, body := say(g, at+"/collect", ""); strings.Contains(body, collectedSecret) {
				t.Errorf("a gateway that died gave it out: %d %s", status, body)
			}
			s.dies(g)

			given := 0
			for range 2 { // two restarts, two collectors each
				g = s.up(s.start())
				for range 2 {
					status, body := say(g, at+"/collect", "")
					switch {
					case status == http.StatusOK && strings.Contains(body, collectedSecret):
						given++
					case status != http.StatusConflict || !strings.Contains(body, "already_collected"):
						t.Errorf("collected: %d %s", status, body)
					}
				}
				g.kill()
			}
			if want := map[bool]int{true: 1}[point.left]; given != want {
				t.Errorf("it was given out %d times, want %d", given, want)
			}
		})
	}
}
