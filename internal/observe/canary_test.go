package observe

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/journal"
)

// What stands in a question or an answer must not be found anywhere else.
const canary = "canary-4711-tango"

// shows shows questions to nobody, or says that it cannot.
type shows struct{ err error }

func (s shows) Show(*ask.Ask) error       { return s.err }
func (shows) Withdraw(string, *ask.Error) {}

// sing runs questions through a desk that is full of canaries, and gives what
// the audit and the metrics page have of it.
func sing(t *testing.T, m *Metrics) (audit, page string) {
	t.Helper()
	store := newJournal(t)
	auditor, err := NewAuditor(AuditConfig{Journal: store, Ledger: NewLedger(), Metrics: m, Log: mute, MaxPending: 1000})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	d, err := desk.New(desk.Config{
		Now: time.Now, Log: mute,
		Mint:       func(ask.Addressee) string { n++; return fmt.Sprint("ask-", n) },
		Shard:      func(ask.Addressee) uint16 { return 0 },
		Key:        func(id string) (journal.Key, error) { return journal.Key{Home: "home", ID: id}, nil },
		MaxTimeout: time.Hour, Terms: ask.Terms{Extension: 5 * time.Minute, Extensions: 2, Attempts: 3},
		Timeout: func(ask.Kind) time.Duration { return time.Hour },
		Journal: store, Keep: time.Minute, Digest: func(b []byte) []byte { sum := sha256.Sum256(b); return sum[:] },
		Seal:    func(_ string, plain []byte) []byte { return plain },
		Unseal:  func(_ string, sealed []byte) ([]byte, error) { return sealed, nil },
		MaxOpen: 10, MaxOpenPerSession: 10, MaxOpenPerPrincipal: 10, RatePerMinute: 100, Burst: 100,
		Audit: auditor.Record,
	})
	if err != nil {
		t.Fatal(err)
	}
	question := ask.Ask{
		Kind: ask.Form, Method: "elicitation/create", Params: []byte(`{"message":"` + canary + `"}`),
		Backend: "b", During: "tools/call", Name: "tool", Client: "client", Session: "s", Addressee: ask.Addressee{Principal: ada},
	}
	by := desk.Asker{Settled: func(ask.Outcome) error { return nil }, Resume: func() []byte { return []byte(canary) }}
	from := desk.From{Principal: ada, Session: "s", Surface: "mcp"}
	answer := ask.Answer{Action: ask.Accept, Result: []byte(`{"action":"accept","content":{"pin":"` + canary + `"}}`)}

	id := d.Ask(question, desk.Ways{Client: shows{}}, by)
	if err := d.Answer(id, desk.From{Principal: ask.Principal{Issuer: "x", Subject: "eve"}, Surface: "mcp"}, answer); ask.CodeOf(err) != ask.NotYours {
		t.Errorf("somebody else's answer: %v", err)
	}
	if err := d.Answer(id, from, answer); err != nil {
		t.Error(err)
	}
	if err := d.Answer(id, from, answer); ask.CodeOf(err) != ask.TooLate {
		t.Errorf("a late answer: %v", err)
	}
	why := ask.Wrap(ask.BackendLost, canary, fmt.Errorf("token %s", canary))
	id = d.Ask(question, desk.Ways{Client: shows{}}, by)
	d.End(id, ask.Abandoned, why)
	d.Ask(question, desk.Ways{Client: shows{err: why}}, by)
	by.Settled = func(ask.Outcome) error { return why }
	id = d.Ask(question, desk.Ways{Client: shows{}}, by)
	if err := d.Answer(id, from, ask.Answer{Error: []byte(`{"code":1,"message":"` + canary + `"}`)}); err != nil {
		t.Error(err)
	}
	if err := d.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := auditor.Close(t.Context()); err != nil {
		t.Error(err)
	}
	var all strings.Builder
	for e, err := range store.ReadAudit(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		all.Write(e.Data)
	}
	return all.String(), scrape(t, m)
}

func TestNoValueIsInAuditOrMetrics(t *testing.T) {
	audit, page := sing(t, newMetrics(t))
	for _, want := range []string{"asked", "shown", "show_failed", "settled", "late", "not_yours", "undeliverable", "delivered"} {
		if !strings.Contains(audit, `"transition":"`+want+`"`) {
			t.Errorf("the audit lacks %s", want)
		}
	}
	if strings.Contains(audit, canary) || strings.Contains(page, canary) {
		t.Errorf("a value is out:\n%s\n%s", audit, page)
	}
}

// The check above can see a leak: here a value was given as a name, and as
// the name of a backend.
func TestALeakedValueWouldBeSeen(t *testing.T) {
	r := asked("ask-1")
	r.Name = canary
	if line := appendLine(nil, &r); !strings.Contains(string(line), canary) {
		t.Error("a value in a record is not seen in its line")
	}
	m := newMetrics(t)
	m.Backends([]string{canary})
	m.Call(CallStats{Backend: canary})
	if _, page := sing(t, m); !strings.Contains(page, canary) {
		t.Error("a value in a label is not seen on the page")
	}
}
