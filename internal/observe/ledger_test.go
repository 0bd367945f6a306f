package observe

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
)

// Each ending of each backend's questions is counted apart, and told as JSON
// in the order of names.
func TestLedgerCountsEndingsByBackend(t *testing.T) {
	l := NewLedger()
	for _, how := range []ask.Ending{ask.Answered, ask.Expired, ask.Withdrawn, ask.Withdrawn, ask.Abandoned, ask.Refused} {
		l.Record(desk.Record{Transition: "asked", Backend: "b"})
		l.Record(desk.Record{Transition: "settled", Backend: "b", Ending: how})
	}
	l.Record(desk.Record{Transition: "late", Backend: "b"})
	l.Record(desk.Record{Transition: "asked", Backend: "a"})
	l.Record(desk.Record{Transition: "late"})
	w := httptest.NewRecorder()
	l.ServeHTTP(w, nil)
	want := `{"asks":[{"backend":"a","asked":1,"answered":0,"expired":0,"withdrawn":0,"abandoned":0,"refused":0,"late":0},` +
		`{"backend":"b","asked":6,"answered":1,"expired":1,"withdrawn":2,"abandoned":1,"refused":1,"late":1}]}`
	if got := strings.TrimSpace(w.Body.String()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
