package relay

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/wire"
)

const withToken = `"progressToken":"p",`

// A client that is configured so is held while its person answers, and the
// first call has the result; where that takes too long it is told after all.
// A client that does not want to hear of progress is not held.
func TestHeldClientGetsTheResultAtOnce(t *testing.T) {
	eras(t, func(t *testing.T, r *Relay, runs *atomic.Int64, c caller) {
		r.clients = Clients{{Name: "du*", Version: "1.*", Hold: 40 * time.Second}}
		done := make(chan contract.Response)
		hold := func() {
			go func() { done <- c.call(alice, "tools/call", `,"arguments":{}`, withToken) }()
			synctest.Wait()
		}
		hold()
		time.Sleep(30 * time.Second)
		answerAsks(t, r, alice, `{"n":7}`)
		if resp := <-done; !strings.Contains(string(resp.Body), `{"n":7}`) {
			t.Errorf("the held call: %s", resp.Body)
		}

		began := time.Now()
		hold()
		if _, ok := toldIn(scan(string((<-done).Body))); !ok || time.Since(began) != 40*time.Second {
			t.Errorf("a call was held for %s", time.Since(began))
		}
		hold()
		time.Sleep(10 * time.Second)
		answerAsks(t, r, alice, `{"n":8}`)
		if resp := <-done; !strings.Contains(string(resp.Body), `{"n":8}`) || runs.Load() != 2 {
			t.Errorf("the repeated call after %d runs: %s", runs.Load(), resp.Body)
		}

		began = time.Now()
		if _, ok := toldIn(c.tool(alice, `{"other":1}`)); !ok || time.Since(began) > time.Second {
			t.Errorf("without a progress token the call ended after %s", time.Since(began))
		}
	})
}

// A held client hears of progress often enough for its timer, in numbers that
// grow, beside the backend's own.
func TestHeldClientHearsOfProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		ask := asksFor(1, &runs)
		r := newRelay(t, legacyServer(func(ctx context.Context, msg *wire.Message, sink contract.Sink) (string, error) {
			n := scan(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":5}}`)
			sink.Notify(&n)
			return ask(ctx, msg, sink)
		}))
		r.pages, r.clients = fakePages{}, Clients{{Name: "*", Hold: time.Minute, Timer: 20 * time.Second}}
		hello := scan(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		s, _ := r.Initialize(t.Context(), "old", "s", alice, &hello, newPeer())
		peer := newPeer()
		m := scan(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":"p"},"name":"t"}}`)
		began := time.Now()
		if _, ok := toldIn(scan(string(s.Call(t.Context(), &m, peer).Body))); !ok || time.Since(began) != 18*time.Second {
			t.Errorf("a client with a timer of 20 seconds was held for %s", time.Since(began))
		}
		var got []string
		for len(peer.notified) > 0 {
			n := scan(<-peer.notified)
			got = append(got, string(wire.Get(n.Raw, n.Params, "progress").Of(n.Raw)))
		}
		if want := "5 5.001 5.002 5.003"; strings.Join(got, " ") != want {
			t.Errorf("the client heard %v, want %s", got, want)
		}
		s.Close(t.Context(), askGone)
		r.Close()
	})
}

var askGone = ask.Errorf(ask.ClientGone, "It went.")

func TestManners(t *testing.T) {
	rules := Clients{{Name: "old*", Version: "1.*", Hold: time.Minute, Doubt: time.Second}, {Name: "*", Hold: 10 * time.Minute}}
	if err := rules.check(); err != nil {
		t.Fatal(err)
	}
	for info, want := range map[string]Manner{
		`{"name":"old-client","version":"1.9"}`:  {Hold: 54 * time.Second, Beat: 10 * time.Second, Doubt: time.Second},
		`{"name":"old-client","version":"2.0"}`:  {Hold: 54 * time.Second, Beat: 10 * time.Second},
		`{"name":"claude-ai","version":"0.1.0"}`: {Hold: 216 * time.Second, Beat: 10 * time.Second},
		`{"name":"claude-code","version":"2"}`:   {Hold: 10 * time.Minute, Beat: 10 * time.Second},
		`{"version":"2"}`:                        {Hold: 54 * time.Second, Beat: 10 * time.Second},
		``:                                       {},
	} {
		if got := rules.Of([]byte(info)); got != want {
			t.Errorf("%s: %+v, want %+v", info, got, want)
		}
	}
	if got := (Clients)(nil).Of([]byte(`{"name":"claude-code"}`)); got != (Manner{}) {
		t.Errorf("without a rule a client is treated in the manner %+v", got)
	}
	for _, bad := range []Clients{{{Hold: 1}}, {{Name: "a[b]", Hold: 1}}, {{Name: "a", Hold: -1}}} {
		if bad.check() == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// A form that a client declines at once goes on to its page where that is
// configured for the client, and is declined where it is not.
func TestInstantDecline(t *testing.T) {
	for name, tt := range map[string]struct {
		doubt, after time.Duration
		page         bool
	}{
		"believed":                 {0, 20 * time.Millisecond, false},
		"doubted":                  {300 * time.Millisecond, 20 * time.Millisecond, true},
		"doubted, and slow enough": {300 * time.Millisecond, time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runs := atomic.Int64{}
				r := muted(t, &runs, nil)
				if tt.doubt > 0 {
					r.clients = Clients{{Name: "c", Doubt: tt.doubt}}
				}
				msg := scan(helloAll)
				s, _ := r.Initialize(t.Context(), "old", "s", alice, &msg, newPeer())
				peer, done := newPeer(), make(chan wire.Message)
				go func() {
					done <- send(s, peer, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}`)
				}()
				q := <-peer.shown
				time.Sleep(tt.after)
				decline := scan(`{"jsonrpc":"2.0","id":"` + q.ID + `","result":{"action":"decline"}}`)
				if err := s.Answer(&decline); err != nil {
					t.Fatal(err)
				}
				m := <-done
				if _, told := toldIn(m); told != tt.page {
					t.Errorf("the call: %s", m.Raw)
				}
				if waits := len(r.desk.Waiting(desk.Viewer{Principal: alice.Principal}, 10)); (waits == 1) != tt.page {
					t.Errorf("%d questions wait on a page", waits)
				}
				if tt.page {
					answerAsks(t, r, alice, `{"n":7}`)
					if m := send(s, newPeer(), `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"t"}}`); !strings.Contains(string(m.Raw), `{"n":7}`) {
						t.Errorf("the repeated call: %s", m.Raw)
					}
				} else if !strings.Contains(string(m.Raw), `{"action":"decline"}`) {
					t.Errorf("the decline became %s", m.Raw)
				}
				s.Close(t.Context(), askGone)
				r.Close()
			})
		})
	}
}
