//go:build crash

package crash

import (
	"encoding/json"
	"testing"
)

// A gateway dies while a call that waited for an account goes on: the account
// is stored, the question is being answered, the backend runs the call. The
// client that comes back has the result of one run, or is told that there is
// none. The backend never runs the call twice.
func TestACallThatWaitedForAnAccountRunsOnce(t *testing.T) {
	p := newProvider(t)
	for point, want := range map[string]struct {
		goesOn bool // the next gateway takes the call up
		sent   bool // the call may have been sent before the gateway died
	}{
		"desk.update.before": {goesOn: true}, // there is an account, and the question is open
		"desk.update.after":  {},
		"desk.reply.before":  {},
		"desk.reply.after":   {sent: true},
		"desk.note.before":   {sent: true},
		"desk.note.after":    {sent: true},
		runs:                 {sent: true},
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			a := newAccount(t, p)
			g := a.site.up(a.site.start("ANSWERBACK_KILL_AT=" + point))
			m := a.call(g, "")
			var q struct{ Params struct{ URL string } }
			if err := json.Unmarshal(m.Result.Inputs["q1"], &q); err != nil {
				t.Fatalf("%v: %+v", err, m)
			}
			p.on(a.resource, func(when string) {
				if when == point {
					g.kill()
				}
			})
			who, err := g.visit(t.Context(), a.http)
			if err != nil {
				t.Fatal(err)
			}
			_ = who.connect(t.Context(), q.Params.URL) // it may die before it has answered
			a.site.dies(g)
			p.on(a.resource, nil)

			g = a.site.up(a.site.start())
			m, err = a.client.modernCall(t.Context(), g, "work", "url", `,"arguments":{},"requestState":"`+m.Result.RequestState+`","inputResponses":{"q1":{"action":"accept"}}`)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := m.value()
			n := a.backend.Count("tools/call")
			most := 0
			switch {
			case want.goesOn:
				if most = 1; got != "ran" || n != 1 {
					t.Errorf("the call of before: %+v, run %d times", m, n)
				}
			case want.sent:
				// The call and the storing of its result go on beside what the gateway
				// dies at: either the result of the one run was stored in time, or
				// the client is told that there is none.
				if most = 1; (got == "ran") == (m.failure() != nil) || got == "ran" && n != 1 {
					t.Errorf("the call of before: %+v, run %d times", m, n)
				}
			case got == "ran" || m.failure() == nil:
				t.Errorf("the call of before: %+v", m)
			}
			if n > most {
				t.Errorf("it was run %d times, want at most %d", n, most)
			}
			// The account is there, whatever became of the call.
			if got, _ := a.call(g, "").value(); got != "ran" || a.backend.Count("tools/call") != n+1 {
				t.Error("the next call does not go on")
			}
		})
	}
}
