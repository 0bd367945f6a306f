package relay

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// modern makes a modern tools/call with the members given in its params.
func modern(params string) *wire.Message {
	m := scan(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}},` + params + `}}`)
	return &m
}

// A requestState is taken back only from the same principal, for the same
// backend, tool and arguments, unchanged, in time; and the backend gets its
// own state back byte for byte.
func TestRequestStateIsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const own = `st <&> \"é`
		seen := make(chan string, 1)
		serve := func(_ context.Context, msg *wire.Message, _ contract.Sink) (string, error) {
			if msg.RequestState.IsZero() {
				return okTo(msg, `{"resultType":"input_required","requestState":"`+own+`"}`), nil
			}
			seen <- string(msg.Field(msg.RequestState))
			return okTo(msg, `{"resultType":"complete"}`), nil
		}
		r := newRelay(t, &fakeServer{name: "one", serve: serve}, &fakeServer{name: "two", serve: serve})
		do := func(at string, who contract.Caller, params string) wire.Message {
			return scan(string(r.Call(context.Background(), at, who, modern(params), nil, newPeer()).Body))
		}
		first := do("one", alice, `"name":"t","arguments":{"a":1,"b":2}`)
		state := string(first.Field(first.ResultState))
		if strings.Contains(state, "st ") {
			t.Errorf("the state is not sealed: %s", state)
		}
		retry := func(rest string) string { return `"requestState":` + state + `,` + rest }

		mallory := person("mallory")
		for name, m := range map[string]wire.Message{
			"another principal":  do("one", mallory, retry(`"name":"t","arguments":{"a":1,"b":2}`)),
			"another backend":    do("two", alice, retry(`"name":"t","arguments":{"a":1,"b":2}`)),
			"another tool":       do("one", alice, retry(`"name":"u","arguments":{"a":1,"b":2}`)),
			"other arguments":    do("one", alice, retry(`"name":"t","arguments":{"a":1,"b":3}`)),
			"a tampered state":   do("one", alice, `"requestState":`+state[:8]+flip(state[8:9])+state[9:]+`,"name":"t","arguments":{"a":1,"b":2}`),
			"a state of its own": do("one", alice, `"requestState":"`+own+`","name":"t","arguments":{"a":1,"b":2}`),
		} {
			if !strings.Contains(string(m.Raw), "bad_request_state") || string(m.Field(m.ErrorCode)) != "-32602" {
				t.Errorf("%s: %s", name, m.Raw)
			}
		}

		if m := do("one", alice, retry(`"arguments":{ "b":2, "a":1.0 },"name":"t"`)); m.Kind != wire.Result {
			t.Errorf("the same call written otherwise was refused: %s", m.Raw)
		}
		if got := <-seen; got != `"`+own+`"` {
			t.Errorf("the backend got %s, want its own state", got)
		}
		time.Sleep(time.Hour + 2*time.Second)
		if m := do("one", alice, retry(`"name":"t","arguments":{"a":1,"b":2}`)); !strings.Contains(string(m.Raw), "expired") {
			t.Errorf("an old state: %s", m.Raw)
		}
	})
}

func flip(c string) string {
	if c == "A" {
		return "B"
	}
	return "A"
}

// Nothing waits at the gateway between two modern peers, so the time that a
// person has to answer is bound to the state that travels with the question.
func TestModernAnswerThatComesTooLateIsRefused(t *testing.T) {
	const form = `"inputRequests":{"q":{"method":"elicitation/create","params":{"mode":"form","message":"?","requestedSchema":{"type":"object","properties":{}}}}}`
	for name, own := range map[string]string{"a state of the backend": `,"requestState":"mine"`, "no state": ""} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				retried := make(chan wire.Message, 2)
				r := newRelay(t, &fakeServer{name: "one", serve: func(_ context.Context, msg *wire.Message, _ contract.Sink) (string, error) {
					if wire.Get(msg.Raw, msg.Params, "inputResponses").IsZero() {
						return okTo(msg, `{"resultType":"input_required",`+form+own+`}`), nil
					}
					retried <- scan(string(msg.Raw))
					return okTo(msg, `{"resultType":"complete"}`), nil
				}})
				do := func(params string) wire.Message {
					return scan(string(r.Call(context.Background(), "one", alice, modern(params), nil, newPeer()).Body))
				}
				first := do(`"name":"t"`)
				retry := `"name":"t","inputResponses":{"q":{"action":"accept","content":{}}},"requestState":` + string(first.Field(first.ResultState))

				time.Sleep(r.desk.Timeout(ask.Form) - 2*time.Second)
				if m := do(retry); m.Kind != wire.Result {
					t.Fatalf("an answer in time: %s", m.Raw)
				}
				got := <-retried
				if own == "" && !got.RequestState.IsZero() || own != "" && got.Text(got.RequestState) != "mine" {
					t.Errorf("the backend got %s", got.Raw)
				}
				time.Sleep(4 * time.Second)
				if m := do(retry); m.Kind != wire.Failure || !strings.Contains(string(m.Raw), `"reason":"timeout"`) {
					t.Errorf("an answer too late: %s", m.Raw)
				}
				if len(retried) != 0 {
					t.Error("the backend heard an answer that came too late")
				}
			})
		})
	}
}
