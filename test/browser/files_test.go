//go:build browser

package browser

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

const filesForm = `{"id":"import","title":"Import","fields":[
	{"id":"name","type":"text","label":"Name","required":true},
	{"id":"report","type":"file","label":"Report","required":true,"validation":{"allowedMimeTypes":["application/pdf"]},"rendering":{"dragAndDrop":true}}]}`

const tenMB = 10 << 20

var fileLink = regexp.MustCompile(`http://[^"]+/files/[A-Za-z0-9_-]+`)

// attach chooses a PDF of so many bytes.
func (v *tab) attach(label, name string, size int) {
	v.t.Helper()
	v.do("attach", map[string]any{"label": label, "files": []map[string]any{
		{"name": name, "type": "application/pdf", "head": "%PDF-1.7\n", "size": size},
	}}, nil)
}

// TestFiles: a file of 10 MB is given and reaches the server whole, with a
// script, which sends it at once and keeps it over a reload, and without. One
// that is too large is refused, and costs nobody what they typed.
func TestFiles(t *testing.T) {
	for name, e := range map[string]eyes{"script": {width: 390}, "no script": {width: 390, noJS: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, "  ops: { url: "+asking(t, defined("Which report should be imported?", filesForm)).URL+" }\n")
			ann, _, call := s.asked("ann", e)
			ann.fill("Name", "third quarter")
			ann.attach("Report", "too-large.pdf", tenMB+1)
			if e.noJS {
				p := ann.press("Send answer")
				if p.Status != http.StatusUnprocessableEntity {
					t.Errorf("a file that is too large got status %d", p.Status)
				}
			}
			ann.await("The file is too large")
			equal(t, "the name", ann.value("Name"), "third quarter")
			if !e.noJS {
				ann.inspect("file-too-large")
			}

			ann.attach("Report", "report.pdf", tenMB)
			if !e.noJS {
				ann.await("Sent and kept.")
				contains(t, ann.reload(), "report.pdf")
				ann.inspect("file-kept")
				equal(t, "the name", ann.value("Name"), "third quarter")
			}
			if faults := ann.misfits(320, 390, 1280); faults != "" {
				t.Error(faults)
			}
			contains(t, ann.press("Send answer"), "Your answer is on its way back")
			link := fileLink.FindString(got(t, call.Final()))
			resp, err := http.Get(link)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil || len(body) != tenMB || !strings.HasPrefix(string(body), "%PDF-1.7\n") {
				t.Errorf("the server gets %s, %d bytes: %v", resp.Status, len(body), err)
			}
		})
	}
}
