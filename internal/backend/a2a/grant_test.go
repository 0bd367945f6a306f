package a2a

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/door/doortest"
	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// guarded lets requests pass that bring a key which is none of those named bad.
func guarded(w http.ResponseWriter, r *http.Request) bool {
	key := r.Header.Get("Authorization")
	if key == "" || strings.Contains(key, "bad") {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="https://example.com/.well-known/oauth-protected-resource"`)
		w.WriteHeader(http.StatusUnauthorized)
		return false
	}
	return true
}

// challenge checks that a call waits for an account, and gives why.
func challenge(t *testing.T, err error) *contract.Challenge {
	t.Helper()
	why, _ := errors.AsType[*contract.Challenge](err)
	if ask.CodeOf(err) != ask.NotConnected || why == nil {
		t.Fatalf("%v", err)
	}
	return why
}

// goesOn is the state of a challenge as a member of params.
func goesOn(why *contract.Challenge) string {
	return `"requestState":` + string(wire.AppendString(nil, why.State))
}

// TestARefusedCredentialIsAChallenge: an agent that refuses a request has run
// nothing, and the call can be made again as it was.
func TestARefusedCredentialIsAChallenge(t *testing.T) {
	each(t, map[string]rig.AgentScript{"work": func(tn *rig.Turn) { tn.Done(a2a.NewTextPart("ok")) }}, func(t *testing.T, a *rig.Agent, _ *Backend, _ rig.AgentKind) {
		a.Guard = guarded
		k := &doortest.Keys{}
		k.Connect(ann, "bad")
		k.Connect(bob, "bad", "good")
		b := newBackend(t, a.URL, func(cfg *Config) { cfg.Credentials = k })
		c := newClient(t, b, ann)
		if _, err := c.line.Call(t.Context(), c.request("tools/list", ""), c); err != nil {
			t.Errorf("the card is everybody's: %v", err)
		}
		_, err := c.call("work")
		if why := challenge(t, err); why.Status != 401 || len(why.Authenticate) != 1 || why.State != "" {
			t.Errorf("%+v", why)
		}
		if _, err := c.call("work"); ask.CodeOf(err) != ask.NotConnected {
			t.Errorf("without an account: %v", err)
		}
		if n := len(a.Messages()); n != 0 {
			t.Errorf("%d messages ran", n)
		}
		contains(t, "with another key", result(newClient(t, b, bob).result("work")), "ok")
		k.Connect(ann, "good")
		contains(t, "connected", result(c.result("work")), "ok")
		if n := len(a.Messages()); n != 2 {
			t.Errorf("%d messages ran", n)
		}
	})
}

// TestAuthRequiredWaitsForAGrant: a task that wants another credential is told
// when there is one, and the message that began it is sent once.
func TestAuthRequiredWaitsForAGrant(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		t.Run(fmt.Sprintf("streaming %v", streaming), func(t *testing.T) {
			var sent atomic.Int32
			const wants = `{"id":"t","contextId":"c","status":{"state":"TASK_STATE_AUTH_REQUIRED","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"Your account may not do that."}]}}}`
			url := raw(t, streaming, func(method string, w http.ResponseWriter, r *http.Request) {
				body := okTask
				switch {
				case method == "GetTask":
					sendJSON(w, `"result":`+wants)
					return
				case r.Header.Get("Authorization") != "Bearer better":
					body = `"result":{"task":` + wants + `}`
				}
				sent.Add(1)
				if method == "SendStreamingMessage" {
					sendEvents(w, body)
					return
				}
				sendJSON(w, body)
			})
			k := &doortest.Keys{}
			k.Connect(ann, "good")
			k.Connect(bob, "good", "better")
			b := newBackend(t, url, func(cfg *Config) { cfg.Credentials = k })
			c := newClient(t, b, ann)
			_, err := c.call("work")
			why := challenge(t, err)
			if why.State == "" {
				t.Fatal("the call would begin again")
			}
			if _, err := newClient(t, b, bob).call("work", goesOn(why)); ask.CodeOf(err) != ask.BadState {
				t.Errorf("another's state: %v", err)
			}
			k.Connect(ann, "better")
			contains(t, "connected", result(c.result("work", goesOn(why))), "fine")
			if n := sent.Load(); n != 2 {
				t.Errorf("%d messages", n)
			}
			contains(t, "a second key at once", result(newClient(t, b, bob).result("work")), "fine")
		})
	}
}

// TestATaskThatGoesOnByItself: a task that has gone on by the time the account
// is connected is followed, and told nothing.
func TestATaskThatGoesOnByItself(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			met := make(chan struct{})
			a := rig.NewAgent(t, kind, map[string]rig.AgentScript{"wait": func(tn *rig.Turn) {
				tn.Is(a2a.TaskStateAuthRequired, a2a.NewTextPart("Connect."))
				select {
				case <-met:
				case <-tn.Context.Done():
				}
				tn.Done(a2a.NewTextPart("went on"))
			}})
			k := &doortest.Keys{}
			k.Connect(ann, "good")
			c := newClient(t, newBackend(t, a.URL, func(cfg *Config) { cfg.Credentials = k }), ann)
			_, err := c.call("wait")
			why := challenge(t, err)
			k.Connect(ann, "better")
			end := make(chan string, 1)
			go func() {
				m, err := c.call("wait", goesOn(why))
				if err != nil {
					end <- err.Error()
					return
				}
				end <- result(m)
			}()
			close(met)
			contains(t, "the result", <-end, "went on")
			if n := len(a.Messages()); n != 1 {
				t.Errorf("%d messages ran", n)
			}
		})
	}
}
