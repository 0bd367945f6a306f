package relay

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/wire"
)

// fakePages has pages for alice.
type fakePages struct{}

func (fakePages) Link(id string) string        { return "https://gw.example/asks/" + id }
func (fakePages) Opens(who ask.Principal) bool { return who == alice.Principal }

const linkCaps = `{"elicitation":{"url":{}}}`

// callWith makes one round of a modern call at the server "old", by a client
// with these capabilities.
func callWith(r *Relay, who contract.Caller, caps, method, rest string) wire.Message {
	m := scan(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + caps + `},"name":"t"` + rest + `}}`)
	return scan(string(r.Call(context.Background(), "old", who, &m, nil, newPeer()).Body))
}

// A form reaches the person behind a client that can only offer links: by the
// link to its page. The client's accept is not taken for the answer.
func TestFormBecomesALink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		r := newRelay(t, legacyServer(asksFor(1, &runs)))
		r.pages = fakePages{}
		m := callWith(r, alice, linkCaps, "tools/call", "")
		shown := r.desk.Waiting(desk.Viewer{Principal: alice.Principal}, 10)
		if len(shown) != 1 {
			t.Fatalf("%d asks wait: %s", len(shown), m.Raw)
		}
		inputs, link := string(m.Field(m.InputRequests)), fakePages{}.Link(shown[0].Ask.ID)
		if !strings.Contains(inputs, `"mode":"url"`) || !strings.Contains(inputs, `"`+link+`"`) || strings.Contains(inputs, "requestedSchema") {
			t.Fatalf("the client is asked %s", inputs)
		}
		done := make(chan wire.Message)
		go func() {
			done <- callWith(r, alice, linkCaps, "tools/call", `,"inputResponses":{"q1":{"action":"accept"}},"requestState":`+stateOf(m))
		}()
		synctest.Wait()
		select {
		case m := <-done:
			t.Fatalf("the client's consent was taken for an answer: %s", m.Raw)
		default:
		}
		answer := ask.Answer{Action: ask.Accept, Result: []byte(`{"action":"accept","content":{"n":1.10}}`)}
		if _, err := r.desk.Submit(shown[0].Ask.ID, desk.Viewer{Principal: alice.Principal}, "page", answer); err != nil {
			t.Fatal(err)
		}
		if m := <-done; !strings.Contains(string(m.Field(m.Result)), `{"action":"accept","content":{"n":1.10}}`) || runs != 1 {
			t.Errorf("the result after %d runs: %s", runs, m.Raw)
		}
		r.Close()
	})
}

func TestALinkThatIsDeclinedDeclinesTheForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		r := newRelay(t, legacyServer(asksFor(1, &runs)))
		r.pages = fakePages{}
		m := callWith(r, alice, linkCaps, "tools/call", "")
		m = callWith(r, alice, linkCaps, "tools/call", `,"inputResponses":{"q1":{"action":"decline"}},"requestState":`+stateOf(m))
		if !strings.Contains(string(m.Field(m.Result)), `{"action":"decline"}`) {
			t.Errorf("the result: %s", m.Raw)
		}
		r.Close()
	})
}

// Nobody is promised what no page delivers: a client without forms whose
// person has no pages is not said to have forms.
func TestPagesAreForThoseWhoCanOpenThem(t *testing.T) {
	for name, tt := range map[string]struct {
		who   contract.Caller
		caps  string
		want  bool   // the server is told of forms
		asked string // what the client gets
	}{
		"a person with pages, a client with links":     {alice, linkCaps, true, "input_required"},
		"a person without pages":                       {person("bob"), linkCaps, false, "complete"},
		"a person with pages, a client without links":  {alice, `{}`, true, "complete"},
		"nobody with pages, a client without links":    {person("bob"), `{}`, false, "complete"},
		"a person without pages, a client with a form": {person("bob"), `{"elicitation":{"form":{}}}`, true, "input_required"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				runs := 0
				server := legacyServer(asksFor(1, &runs))
				r := newRelay(t, server)
				r.pages = fakePages{}
				m := callWith(r, tt.who, tt.caps, "tools/call", "")
				if m.Text(m.ResultType) != tt.asked {
					t.Errorf("the client got %s", m.Raw)
				}
				if refused := strings.Contains(string(m.Raw), "requiredCapabilities"); refused == tt.want {
					t.Errorf("the server was refused %t: %s", refused, m.Raw)
				}
				if hello := string(server.opened[0].Params); strings.Contains(hello, `"form":{}`) != tt.want {
					t.Errorf("the server was told %s", hello)
				}
				r.Close()
			})
		})
	}
}

// The forms of a backend that a group answers go to that group, whatever the
// client can show, and the client cannot answer them.
func TestGroupAnswersInPlaceOfTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		r := newRelay(t, legacyServer(asksFor(1, &runs)))
		r.pages = fakePages{}
		r.table.Load().entries[0].AnsweredBy = "approvers"
		done := make(chan wire.Message)
		go func() { done <- callWith(r, alice, `{"elicitation":{"form":{}}}`, "tools/call", "") }()
		synctest.Wait()
		if n := len(r.desk.Waiting(desk.Viewer{Principal: alice.Principal}, 10)); n != 0 {
			t.Errorf("the caller was asked")
		}
		approver := desk.Viewer{Principal: person("bob").Principal, Groups: []string{"approvers"}}
		shown := r.desk.Waiting(approver, 10)
		if len(shown) != 1 {
			t.Fatalf("%d asks wait for the group", len(shown))
		}
		answer := ask.Answer{Action: ask.Accept, Result: []byte(`{"action":"accept","content":{}}`)}
		err := r.desk.Answer(shown[0].Ask.ID, desk.From{Principal: alice.Principal, Session: shown[0].Ask.Session, Surface: "mcp"}, answer)
		if ask.CodeOf(err) != ask.NotYours {
			t.Errorf("the client answered: %v", err)
		}
		if _, err := r.desk.Submit(shown[0].Ask.ID, approver, "page", answer); err != nil {
			t.Fatal(err)
		}
		if m := <-done; !strings.Contains(string(m.Field(m.Result)), `"accept"`) {
			t.Errorf("the result: %s", m.Raw)
		}
		r.Close()
	})
}

// The modern era has no questions in the middle of a list: one that comes is
// refused at once, and the list is served.
func TestQuestionInAListIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		r := newRelay(t, legacyServer(asksFor(1, &runs)))
		m := callWith(r, alice, `{"elicitation":{"form":{}}}`, "tools/list", "")
		if got := string(m.Field(m.Result)); !strings.Contains(got, `"no_client"`) || m.Text(m.ResultType) != "complete" {
			t.Errorf("the list: %s", m.Raw)
		}
		r.Close()
	})
}
