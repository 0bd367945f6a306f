package relay

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/office"
	"github.com/answerback/answerback/internal/wire"
)

const (
	withForms   = `{"experimental":{"io.github.answerback/forms":{}}}`
	modernForms = `{"extensions":{"io.github.answerback/forms":{}}}`
	createForm  = `{"mode":"form","formDefinition":{"id":"f","title":"Deploy","fields":[{"id":"region","type":"select","label":"Region","required":true,"options":["eu","us"]},{"id":"pw","type":"text","label":"PW","sensitive":true,"validation":{"minLength":3}}],"timeout":{"initial_timeout":120000,"warn_before":24000}}}`
)

func openWith(t *testing.T, r *Relay, peer contract.Peer, caps string) (*Session, string) {
	t.Helper()
	return openAt(t, r, "", peer, caps)
}

func openAt(t *testing.T, r *Relay, at string, peer contract.Peer, caps string) (*Session, string) {
	t.Helper()
	msg := scan(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":` + caps + `,"clientInfo":{"name":"editor","version":"1"}}}`)
	s, resp := r.Initialize(context.Background(), at, "session-1", alice, &msg, peer)
	if s == nil {
		t.Fatalf("no session: %s", resp.Body)
	}
	return s, string(resp.Body)
}

func over(s *Session) { s.Close(context.Background(), ask.Errorf(ask.ClientGone, "The test is over.")) }

func request(method, params string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":` + params + `}`
}

func textOf(m wire.Message, obj wire.Span, key string) string {
	s, _ := wire.Unquote(wire.Get(m.Raw, obj, key).Of(m.Raw))
	return s
}

func wants(t *testing.T, what, got string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(got, p) {
			t.Errorf("%s lacks %s: %s", what, p, got)
		}
	}
}

// aServer answers everything with the method that it was called by.
func aServer(name string) *fakeServer {
	return &fakeServer{name: name, serve: func(_ context.Context, msg *wire.Message, _ contract.Sink) (string, error) {
		return okTo(msg, `{"passed":"`+msg.Method()+`","capabilities":{}}`), nil
	}}
}

// F12: a form lives through its states with its creator told of them, whether
// the client declares the extension or not. The extension is announced to
// those who declare it.
func TestClientCreatesAForm(t *testing.T) {
	for name, caps := range map[string]string{"declared": withForms, "not declared": `{}`} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { clientCreatesAForm(t, caps) })
		})
	}
}

func clientCreatesAForm(t *testing.T, caps string) {
	r, peer := newRelay(t, aServer("one")), newPeer()
	r.secrets = true
	s, welcome := openWith(t, r, peer, caps)
	if announced := strings.Contains(welcome, `"experimental":{"io.github.answerback/forms":{}}`); announced != (caps == withForms) {
		t.Errorf("the welcome: %s", welcome)
	}
	m := send(s, peer, request("elicitation/create", createForm))
	wants(t, "the form", string(m.Raw), `"mode":"form"`, `"status":"pending"`, `"createdAt":`, `"timeoutAt":`, `"formDefinition":{"id":"f"`)
	id := textOf(m, m.Result, "elicitationId")

	time.Sleep(97 * time.Second) // the warning comes before the end
	synctest.Wait()
	wants(t, "the warning", <-peer.notified, "notifications/elicitation/timeout_warning", `"elicitationId":"`+id+`"`, `"remainingMs":24000`, `"extensionAllowed":true`, `"extensionDuration":300000`)
	m = send(s, peer, request("elicitation/extend_timeout", `{"elicitationId":"`+id+`","extensionDuration":60000}`))
	wants(t, "the extension", string(m.Raw), `"newTimeoutAt":`, `"extensionsRemaining":1`)

	m = send(s, peer, request("elicitation/submit", `{"elicitationId":"`+id+`","responses":{"region":"mars","pw":"ab"}}`))
	wants(t, "the refusal", string(m.Raw), `"code":-32007`, `"message":"Form validation failed"`, `"type":"validation"`, `"field":"region"`, `"field":"pw"`, `"retry_allowed":true`, `"retry_limit":3`, `"retry_count":1`)
	for _, bad := range []string{`"form_id":"g"`, `"form_id":7`, `"metadata":[]`, `"metadata":{"x":"` + strings.Repeat("x", office.MaxMetadata) + `"}`} {
		m = send(s, peer, request("elicitation/submit", `{"elicitationId":"`+id+`",`+bad+`,"responses":{"region":"eu","pw":"given-once"}}`))
		wants(t, "a submission for another form", string(m.Raw), `"reason":"bad_message"`)
	}
	m = send(s, peer, request("elicitation/submit", `{"elicitationId":"`+id+`","form_id":"f","metadata":{"session_id":"y"},"responses":{"region":"eu","pw":"given-once"}}`))
	wants(t, "the receipt", string(m.Raw), `"result":{"status":"completed"}`)
	wants(t, "the notification", <-peer.notified, "notifications/elicitation/complete", `"elicitationId":"`+id+`"`, `"status":"completed"`, `"result":{"region":"eu","pw":"given-once"}`, `"metadata":{"session_id":"y"}`)
	if _, err := r.office.Collect(context.Background(), desk.Viewer{Principal: alice.Principal}, "api", id); ask.CodeOf(err) != ask.Collected {
		t.Errorf("what the client was told can be collected: %v", err)
	}
	m = send(s, peer, request("elicitation/submit", `{"elicitationId":"`+id+`","responses":{"region":"eu"}}`))
	wants(t, "a late submission", string(m.Raw), `"code":-32602`, `"reason":"too_late"`, `"type":"submission"`)
	over(s)
	r.Close()
}

// A6: where clients are given no secrets, a form that asks for one is refused
// before anybody types it, in both eras and whoever opts in how. One without
// is taken.
func TestSecretFormOfAClientIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, peer := newRelay(t, aServer("one")), newPeer()
		plain := strings.Replace(createForm, `"sensitive":true`, `"sensitive":false`, 1)
		plain = strings.ReplaceAll(plain, `"PW"`, `"Word"`)
		plain = strings.ReplaceAll(plain, `"pw"`, `"word"`)
		for _, caps := range []string{withForms, `{}`} {
			s, _ := openWith(t, r, peer, caps)
			for params, sign := range map[string]string{
				createForm: `"reason":"asks_for_secret"`, plain: `"status":"pending"`,
				`{"mode":"inline","prompt":"Enter API key:"}`: `"reason":"asks_for_secret"`, `{"mode":"inline","prompt":"Which city?"}`: `"status":"pending"`,
			} {
				m := send(s, peer, request("elicitation/create", params))
				wants(t, params, string(m.Raw), sign)
			}
			if open := r.desk.Waiting(desk.Viewer{Principal: alice.Principal}, 10); len(open) != 2 {
				t.Errorf("%d forms wait", len(open))
			}
			over(s)
			<-peer.notified
			<-peer.notified
		}
		for _, caps := range []string{modernForms, `{}`} {
			for params, sign := range map[string]string{createForm: `"reason":"asks_for_secret"`, plain: `"status":"pending"`} {
				m := scan(request("elicitation/create", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":`+caps+`},`+params[1:]))
				wants(t, params, string(r.Call(context.Background(), "", alice, &m, nil, peer).Body), sign)
			}
		}
		r.Close()
	})
}

// The form of the inline mode is one text, answered as "value" (F21).
func TestClientCreatesAnInlineForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, peer := newRelay(t, aServer("one")), newPeer()
		s, _ := openWith(t, r, peer, `{}`)
		m := send(s, peer, request("elicitation/create", `{"mode":"inline","prompt":"Which city?"}`))
		wants(t, "the form", string(m.Raw), `"mode":"form"`, `"formDefinition":{"id":"inline"`)
		m = send(s, peer, request("elicitation/submit", `{"elicitationId":"`+textOf(m, m.Result, "elicitationId")+`","responses":{"value":"Paris"}}`))
		wants(t, "the receipt", string(m.Raw), `"status":"completed"`)
		wants(t, "the notification", <-peer.notified, `"result":{"value":"Paris"}`)
		over(s)
		r.Close()
	})
}

// What says that it is a form is the gateway's, at every endpoint and in both
// eras, and so is all that is done to one. What else a client means by
// elicitation/create is its backend's, unless the client declares the
// extension; and where clients create no forms everything is.
func TestWhoseFormsAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, peer := newRelay(t, aServer("one"), aServer("two")), newPeer()
		r.secrets = true
		const ours, theirs = "ours", "the backend's"
		sort := func(got string) string {
			if strings.Contains(got, `"passed":"elicitation/`) {
				return theirs
			}
			return ours
		}
		office := r.office
		for _, c := range []struct {
			method, params       string
			want, declared, none string
		}{
			{"elicitation/create", createForm, ours, ours, theirs},
			{"elicitation/create", `{"mode":"form","formDefinition":7}`, ours, ours, theirs},
			{"elicitation/create", `{"mode":"inline","prompt":"City?"}`, ours, ours, theirs},
			{"elicitation/create", strings.Replace(createForm, `"mode":"form",`, "", 1), theirs, ours, theirs},
			{"elicitation/create", `{"mode":"form","message":"m","requestedSchema":{}}`, theirs, ours, theirs},
			{"elicitation/create", `{"mode":"url","formDefinition":{}}`, theirs, ours, theirs},
			{"elicitation/create", `{}`, theirs, ours, theirs},
			{"elicitation/submit", `{"elicitationId":"elic_xyz789","responses":{"api_key":"x"}}`, ours, ours, theirs},
			{"elicitation/submit", `{}`, ours, ours, theirs},
			{"elicitation/extend_timeout", `{"elicitationId":"elic_xyz789"}`, ours, ours, theirs},
			{"elicitation/other", `{}`, theirs, theirs, theirs},
		} {
			for caps, want := range map[string]string{`{}`: c.want, withForms: c.declared, "none": c.none} {
				modern := caps
				r.office = office
				switch caps {
				case "none":
					caps, modern, r.office = `{}`, `{}`, nil
				case withForms:
					modern = modernForms
				}
				s, _ := openAt(t, r, "one", peer, caps)
				m := send(s, peer, request(c.method, c.params))
				if got := sort(string(m.Raw)); got != want {
					t.Errorf("%s %s with %s is %s: %s", c.method, c.params, caps, got, m.Raw)
				}
				over(s)
				for len(peer.notified) > 0 {
					<-peer.notified
				}
				params := `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + modern + `},` + c.params[1:]
				msg := scan(request(c.method, strings.Replace(params, ",}", "}", 1)))
				if got := string(r.Call(context.Background(), "one", alice, &msg, nil, peer).Body); sort(got) != want {
					t.Errorf("modern %s %s with %s is %s: %s", c.method, c.params, modern, sort(got), got)
				}
			}
		}
		r.office = office
		r.Close()
	})
}

// The extension is announced to those who declare it, at every endpoint.
func TestFormsAreAnnouncedToThoseWhoAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, peer := newRelay(t, aServer("one"), aServer("two")), newPeer()
		for _, at := range []string{"", "one"} {
			for caps, want := range map[string]bool{withForms: true, `{}`: false} {
				s, welcome := openAt(t, r, at, peer, caps)
				if got := strings.Contains(welcome, `"experimental":{"io.github.answerback/forms":{}}`); got != want {
					t.Errorf("the welcome at %q with %s: %s", at, caps, welcome)
				}
				over(s)
			}
			for caps, want := range map[string]bool{modernForms: true, `{}`: false} {
				msg := scan(request("server/discover", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":`+caps+`}}`))
				if got := string(r.Call(context.Background(), at, alice, &msg, nil, peer).Body); strings.Contains(got, `"extensions":{"io.github.answerback/forms":{}}`) != want {
					t.Errorf("server/discover at %q with %s: %s", at, caps, got)
				}
			}
		}
		r.Close()
	})
}

// A16: in the modern era an answer that does not fit is -32602, with the same
// data, and nobody is notified.
func TestModernClientCreatesAForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, peer := newRelay(t, aServer("one")), newPeer()
		r.secrets = true
		call := func(who contract.Caller, method, params string) wire.Message {
			m := scan(request(method, `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":`+modernForms+`},`+params[1:]))
			return scan(string(r.Call(context.Background(), "one", who, &m, nil, peer).Body))
		}
		m := call(alice, "elicitation/create", createForm)
		wants(t, "the form", string(m.Raw), `"resultType":"complete"`, `"status":"pending"`)
		id := textOf(m, m.Result, "elicitationId")
		m = call(alice, "elicitation/submit", `{"elicitationId":"`+id+`","responses":{}}`)
		wants(t, "the refusal", string(m.Raw), `"code":-32602`, `"reason":"invalid_content"`, `"type":"validation"`, `"errors":[{"field":"region","code":-32007`, `"retry_count":1`)
		m = call(person("bob"), "elicitation/submit", `{"elicitationId":"`+id+`","responses":{"region":"eu"}}`)
		wants(t, "somebody else's", string(m.Raw), `"reason":"unknown_ask"`)
		m = call(alice, "elicitation/submit", `{"elicitationId":"`+id+`","responses":{"region":"eu"}}`)
		wants(t, "the receipt", string(m.Raw), `"resultType":"complete"`, `"status":"completed"`)
		if len(peer.notified) > 0 {
			t.Errorf("a modern client was notified: %s", <-peer.notified)
		}
		for _, bad := range []string{`{"responses":{}}`, `{"elicitationId":7}`} {
			m = call(alice, "elicitation/submit", bad)
			wants(t, "a bad request", string(m.Raw), `"reason":"bad_message"`)
		}
		m = call(alice, "elicitation/extend_timeout", `{"elicitationId":"`+id+`","extensionDuration":-1}`)
		wants(t, "a bad extension", string(m.Raw), `"reason":"bad_message"`)
		r.Close()
	})
}

// The way to answer in a person's place is not open: what a server asked is
// no form of the client's, nor can a form be answered like a question.
func TestAttackQuestionSubmittedAsAForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, peer := newRelay(t, aServer("one")), newPeer()
		r.secrets = true
		s, _ := openWith(t, r, peer, withForms)
		asked := r.desk.Ask(ask.Ask{
			Kind: ask.Form, Method: "elicitation/create", Params: []byte(anyForm), Backend: "one", Addressee: ask.Addressee{Principal: alice.Principal},
		}, desk.Ways{Page: true}, desk.Asker{Settled: func(ask.Outcome) error { return nil }})
		m := send(s, peer, request("elicitation/submit", `{"elicitationId":"`+asked+`","responses":{}}`))
		wants(t, "the answer", string(m.Raw), `"reason":"unknown_ask"`)

		m = send(s, peer, request("elicitation/create", createForm))
		id := textOf(m, m.Result, "elicitationId")
		reply := scan(`{"jsonrpc":"2.0","id":"` + id + `","result":{"action":"accept","content":{"region":"mars"}}}`)
		if err := s.Answer(&reply); err != nil {
			t.Errorf("a reply to nothing: %v", err)
		}
		m = send(s, peer, request("elicitation/submit", `{"elicitationId":"`+id+`","responses":{"region":"eu"}}`))
		wants(t, "control", string(m.Raw), `"status":"completed"`)
		over(s)
		r.desk.End(asked, ask.Withdrawn, ask.Errorf(ask.BackendWithdrew, "The test is over."))
		r.Close()
	})
}

// F11: the forms of a session end with it.
func TestFormsEndWithTheirSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, peer := newRelay(t, aServer("one")), newPeer()
		r.secrets = true
		s, _ := openWith(t, r, peer, withForms)
		m := send(s, peer, request("elicitation/create", createForm))
		id := textOf(m, m.Result, "elicitationId")
		over(s)
		synctest.Wait()
		v, err := r.desk.Peek(context.Background(), id, desk.Viewer{Principal: alice.Principal}, "test")
		if err != nil || v.Outcome == nil || v.Outcome.Ending != ask.Abandoned || v.Outcome.Err.Code != ask.ClientGone {
			t.Errorf("%+v %v", v.Outcome, err)
		}
		wants(t, "the notification", <-peer.notified, `"status":"cancelled"`)
		r.Close()
	})
}

// F10: a client that knows the extension is warned of a server's question as
// well, by link or in its own form, and may ask for more time; another is not.
func TestClientIsWarned(t *testing.T) {
	for name, c := range map[string]struct {
		caps   string
		warned bool
	}{
		"own form":       {`{"elicitation":{"form":{}},"experimental":{"io.github.answerback/forms":{}}}`, true},
		"link":           {`{"elicitation":{"url":{}},"experimental":{"io.github.answerback/forms":{}}}`, true},
		"not asked for":  {`{"elicitation":{"form":{}}}`, false},
		"link, not told": {linkCaps, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := aServer("one")
				server.serve = func(_ context.Context, msg *wire.Message, sink contract.Sink) (string, error) {
					q, replies, _ := newQuestion("elicitation/create", `{"formDefinition":{"id":"f","title":"T","fields":[],"timeout":{"initial_timeout":60000,"warn_before":10000}}}`)
					sink.Question(q)
					<-replies
					return okTo(msg, `{}`), nil
				}
				r, peer := newRelay(t, server), newPeer()
				r.pages = fakePages{}
				s, _ := openWith(t, r, peer, c.caps)
				done := make(chan wire.Message)
				go func() { done <- send(s, peer, request("tools/call", `{"name":"t"}`)) }()
				id := (<-peer.shown).ID
				time.Sleep(51 * time.Second)
				synctest.Wait()
				if warned := len(peer.notified) == 1; warned != c.warned {
					t.Fatalf("%d notifications", len(peer.notified))
				}
				if c.warned {
					wants(t, "the warning", <-peer.notified, "timeout_warning", id, `"remainingMs":10000`)
					m := send(s, peer, strings.Replace(request("elicitation/extend_timeout", `{"elicitationId":"`+id+`"}`), `"id":7`, `"id":8`, 1))
					wants(t, "the extension", string(m.Raw), `"extensionsRemaining":1`)
				}
				<-done
				over(s)
				r.Close()
			})
		})
	}
}
