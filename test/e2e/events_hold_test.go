package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/answerback/answerback/test/rig"
)

// TestEventsStartedOnce: the same Idempotency-Key, however often and however
// quickly it comes, runs its call once and gives its events each time.
func TestEventsStartedOnce(t *testing.T) {
	t.Parallel()
	b := newFrontBackend(t)
	g := rig.Start(t, "backends:\n  one: { url: "+b.URL+" }\n")
	f := newFront(t, g, canAsk, "true")
	key := []string{"Idempotency-Key", "k-1"}

	s := f.Call("one", toolCall("form"), key...)
	q := s.Until("elicitation-request")
	s.Leave() // the first response is lost
	again := f.Call("one", toolCall("form"), key...)
	if again.ID != s.ID || again.Until("elicitation-request")["id"] != q["id"] {
		t.Errorf("another call was started: %s", again.Raw)
	}
	f.Say("POST", "/calls/"+s.ID+"/respond", `{"id":"`+q["id"].(string)+`","action":"decline"}`)
	again.Until("tool-result")

	const crowd = 8
	all := make([]string, crowd)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() { _, all[i] = f.Say("POST", "/one/call", toolCall("echo"), "Idempotency-Key", "k-2") })
	}
	wg.Wait()
	for _, text := range all {
		if text != all[0] || !strings.Contains(text, "tool-result") {
			t.Errorf("one got\n%s\nanother\n%s", all[0], text)
		}
	}
	if n := b.Count("tools/call"); n != 2 {
		t.Errorf("the server ran %d calls, want 2", n)
	}
	if status, text := f.Say("POST", "/one/call", toolCall("url"), key...); status != 422 || !strings.Contains(text, "another call") {
		t.Errorf("a key that was used for another call got %d %s", status, text)
	}
	f.Call("one", toolCall("echo"), "Idempotency-Key", "k-3").Until("tool-result") // the control
	if n := b.Count("tools/call"); n != 3 {
		t.Errorf("the server ran %d calls, want 3", n)
	}
}

// TestEventsResumed: a consumer that comes back with the number of the last
// event that it saw gets the rest, during the call and after it.
func TestEventsResumed(t *testing.T) {
	t.Parallel()
	b := newFrontBackend(t)
	g := rig.Start(t, "backends:\n  one: { url: "+b.URL+" }\n")
	f := newFront(t, g, canAsk, "true")
	s := f.Call("one", toolCall("form"))
	id := s.Until("elicitation-request")["id"].(string)
	s.Leave()
	rest := f.Open("GET", "/calls/"+s.ID, "", "Last-Event-ID", "1")
	if rest.Seen[0].Type() != "elicitation-request" {
		t.Fatalf("after the first event comes %s", rest.Raw)
	}
	f.Say("POST", "/calls/"+s.ID+"/respond", `{"id":"`+id+`","action":"cancel"}`)
	wantTypes(t, rest, "elicitation-request", "elicitation-settled", "tool-result")

	whole := f.Open("GET", "/calls/"+s.ID, "")
	wantTypes(t, whole, "call-started", "elicitation-request", "elicitation-settled", "tool-result")
	for n, e := range whole.Raw[:3] {
		tail := f.Open("GET", "/calls/"+s.ID, "", "Last-Event-ID", fmt.Sprint(n+1))
		tail.Rest()
		if !slices.Equal(tail.Raw, whole.Raw[n+1:]) {
			t.Errorf("after %s comes %s", e, tail.Raw)
		}
	}
	if status, text := f.Say("GET", "/calls/"+s.ID, "", "Last-Event-ID", "4"); status != 200 || text != "retry: 1000" {
		t.Errorf("after the last event comes %d %s", status, text)
	}
	for _, bad := range []string{"5", "-1", "x", "1.1"} {
		if status, text := f.Say("GET", "/calls/"+s.ID, "", "Last-Event-ID", bad); status != 400 {
			t.Errorf("the event %s got %d %s", bad, status, text)
		}
	}
}

// TestEventsAbandoned: a call that nobody follows any more goes on for the
// configured while, and then its server is told that it was cancelled.
func TestEventsAbandoned(t *testing.T) {
	t.Parallel()
	b := newFrontBackend(t)
	g := rig.Start(t, "events: { linger: 1s }\nbackends:\n  one: { url: "+b.URL+" }\n")
	f := newFront(t, g, canAsk, "true")
	s := f.Call("one", toolCall("wait"))
	s.Until("log")
	s.Leave()
	b.Await("notifications/cancelled")
	ended := f.Open("GET", "/calls/"+s.ID, "", "Last-Event-ID", s.LastID)
	if e := ended.Seen[0]; e.Type() != "error" || e["code"] != "client_gone" {
		t.Errorf("the call ended with %v", e)
	}
}

// TestAttackEventsOfAnother: whoever has the id of ann's call and is not ann
// gets nothing of it and can do nothing with it: it is to them as if it did
// not exist. Her Idempotency-Key is hers alone.
func TestAttackEventsOfAnother(t *testing.T) {
	t.Parallel()
	b := newFrontBackend(t)
	g := guard(t, "", "  one: { url: "+b.URL+" }\n")
	ann := newFront(t, g.Gateway, canAsk, "true", "Authorization", "Bearer "+g.token("ann"))
	s := ann.Call("one", toolCall("form"), "Idempotency-Key", "hers")
	id := s.Until("elicitation-request")["id"].(string)
	attempts := []struct{ method, tail, body string }{
		{"GET", "", ""},
		{"POST", "/respond", `{"id":"` + id + `","action":"accept","content":{"name":"Eve"}}`},
		{"POST", "/respond", `{"id":"` + id + `","action":"decline"}`},
		{"POST", "/cancel", ""},
		{"DELETE", "", ""},
	}
	for who, token := range impersonators(g) {
		other := newFront(t, g.Gateway, canAsk, "true", "Authorization", "Bearer "+token)
		for _, a := range attempts {
			t.Run(a.method+a.tail+" by "+who, func(t *testing.T) {
				status, text := other.Say(a.method, "/calls/"+s.ID+a.tail, a.body)
				none, madeUp := other.Say(a.method, "/calls/"+strings.Repeat("A", len(s.ID))+a.tail, a.body)
				if status != http.StatusNotFound || status != none || text != madeUp {
					t.Errorf("got %d %s; with an id that is none %d %s", status, text, none, madeUp)
				}
			})
		}
		t.Run("her key by "+who, func(t *testing.T) {
			before := b.Count("tools/call")
			mine := other.Call("one", toolCall("form"), "Idempotency-Key", "hers") // all that she sent
			if q := mine.Until("elicitation-request"); mine.ID == s.ID || q["id"] == id || b.Count("tools/call") != before+1 {
				t.Errorf("the key gave %s", mine.Raw)
			}
			other.Say("DELETE", "/calls/"+mine.ID, "")
		})
		t.Run("her question in a call of their own by "+who, func(t *testing.T) {
			mine := other.Call("one", toolCall("form"))
			mine.Until("elicitation-request")
			if status, text := other.Say("POST", "/calls/"+mine.ID+"/respond", `{"id":"`+id+`","action":"decline"}`); status != http.StatusConflict {
				t.Errorf("got %d %s", status, text)
			}
			other.Say("DELETE", "/calls/"+mine.ID, "")
		})
	}
	for _, a := range attempts {
		anybody := newFront(t, g.Gateway)
		if status, text := anybody.Say(a.method, "/calls/"+s.ID+a.tail, a.body); status != http.StatusUnauthorized {
			t.Errorf("%s%s without a token got %d %s", a.method, a.tail, status, text)
		}
	}
	// The control: ann herself, with her key too.
	again := newFront(t, g.Gateway, canAsk, "true", "Authorization", "Bearer "+annsKey)
	if s2 := again.Call("one", toolCall("form"), "Idempotency-Key", "hers"); s2.ID != s.ID {
		t.Errorf("ann's key gave %s", s2.Raw)
	}
	if status, text := ann.Say("POST", "/calls/"+s.ID+"/respond", `{"id":"`+id+`","action":"accept","content":{"name":"Ann"}}`); status != 200 {
		t.Fatalf("ann's answer got %d %s", status, text)
	}
	rest := ann.Open("GET", "/calls/"+s.ID, "", "Last-Event-ID", "2")
	equal(t, "the answer at the server", resultText(t, rest.Until("tool-result")), `{"action":"accept","content":{"name":"Ann"}}`)
}

// TestAttackEventsWithLessAccess: a call is only its caller's as long as they
// may make it. A key of ann's that no rule lets in finds nothing of what she
// called with a token, not even by the Idempotency-Key.
func TestAttackEventsWithLessAccess(t *testing.T) {
	t.Parallel()
	b := newFrontBackend(t)
	g := guard(t, "  access:\n    - { claim: groups, values: [staff-of-ann], backends: [one] }\n", "  one: { url: "+b.URL+" }\n")
	front := func(token string) *rig.Front {
		return newFront(t, g.Gateway, canAsk, "true", "Authorization", "Bearer "+token)
	}
	s := front(g.token("ann")).Call("one", toolCall("form"), "Idempotency-Key", "hers")
	id := s.Until("elicitation-request")["id"].(string)
	answer := `{"id":"` + id + `","action":"accept","content":{"name":"Ann"}}`
	key := front(annsKey)
	for _, a := range []struct {
		method, path, body string
		want               int
	}{
		{"GET", "/calls/" + s.ID, "", http.StatusNotFound},
		{"POST", "/calls/" + s.ID + "/respond", answer, http.StatusNotFound},
		{"DELETE", "/calls/" + s.ID, "", http.StatusNotFound},
		{"POST", "/one/call", toolCall("form"), http.StatusNotFound},
		{"POST", "/call", toolCall("one__form"), http.StatusUnprocessableEntity},
	} {
		if status, text := key.Say(a.method, a.path, a.body, "Idempotency-Key", "hers"); status != a.want {
			t.Errorf("%s %s got %d %s, want %d", a.method, a.path, status, text, a.want)
		}
	}
	// The control: ann, with another token.
	ann := front(g.token("ann"))
	if status, text := ann.Say("POST", "/calls/"+s.ID+"/respond", answer); status != http.StatusOK {
		t.Fatalf("ann's answer got %d %s", status, text)
	}
	whole := ann.Open("GET", "/calls/"+s.ID, "")
	equal(t, "the answer at the server", resultText(t, whole.Until("tool-result")), `{"action":"accept","content":{"name":"Ann"}}`)
	if n := b.Count("tools/call"); n != 1 {
		t.Errorf("the server ran %d calls", n)
	}
}

// TestEventsAcrossOrigins: pages of allowed origins may use the event stream,
// preflight included, and no others.
func TestEventsAcrossOrigins(t *testing.T) {
	t.Parallel()
	b := newFrontBackend(t)
	g := rig.Start(t, "allowed_origins: [\"https://chat.example.com\"]\nbackends:\n  one: { url: "+b.URL+" }\n")
	f := newFront(t, g)
	ask := func(origin string) *http.Response {
		return f.Do("OPTIONS", "/one/call", "", "Origin", origin, "Access-Control-Request-Method", "POST",
			"Access-Control-Request-Headers", "authorization, content-type, idempotency-key, last-event-id, x-supports-elicitation, x-supports-sampling")
	}
	good := ask("https://chat.example.com")
	if good.StatusCode != http.StatusNoContent || good.Header.Get("Access-Control-Allow-Origin") != "https://chat.example.com" ||
		!strings.Contains(good.Header.Get("Access-Control-Allow-Headers"), "x-supports-elicitation") {
		t.Errorf("the preflight of an allowed origin got %d %v", good.StatusCode, good.Header)
	}
	resp := f.Do("POST", "/one/call", toolCall("echo"), "Origin", "https://chat.example.com")
	if resp.StatusCode != 200 || resp.Header.Get("Access-Control-Allow-Origin") != "https://chat.example.com" {
		t.Errorf("a call of an allowed origin got %d %v", resp.StatusCode, resp.Header)
	}
	for _, origin := range []string{"https://evil.example.com", "null", "https://chat.example.com.evil.com"} {
		if bad := ask(origin); bad.StatusCode != http.StatusForbidden || bad.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("the preflight of %s got %d", origin, bad.StatusCode)
		}
		if status, text := f.Say("POST", "/one/call", toolCall("echo"), "Origin", origin); status != http.StatusForbidden || !strings.HasPrefix(text, `{"error"`) {
			t.Errorf("a call of %s got %d %s", origin, status, text)
		}
	}
	rig.Eventually(t, func() bool { return b.Count("tools/call") == 1 }, "the calls that reached the server are not one")
}

// TestEventsAreAudited: questions of event streams are on record like any
// other, with the surface through which they were answered.
func TestEventsAreAudited(t *testing.T) {
	t.Parallel()
	b := newFrontBackend(t)
	g := rig.Start(t, "backends:\n  one: { url: "+b.URL+" }\n")
	f := newFront(t, g, canAsk, "true")
	s := f.Call("one", toolCall("form"))
	id := s.Until("elicitation-request")["id"].(string)
	f.Say("POST", "/calls/"+s.ID+"/respond", `{"id":"`+id+`","action":"decline"}`)
	s.Until("tool-result")
	rig.Eventually(t, func() bool {
		return strings.Contains(g.Log(), "surface=events") && strings.Contains(g.Log(), id)
	}, "the log does not say through which surface the question was answered")
}

// TestEventsAttempts: answers that do not fit count, as they do on a page; one
// too many ends the question.
func TestEventsAttempts(t *testing.T) {
	t.Parallel()
	b := newFrontBackend(t)
	g := rig.Start(t, "asks: { attempts: 1 }\nbackends:\n  one: { url: "+b.URL+" }\n")
	f := newFront(t, g, canAsk, "true")
	s := f.Call("one", toolCall("form"))
	id := s.Until("elicitation-request")["id"].(string)
	for _, want := range []string{`"retry":{"allowed":true,"limit":1,"count":1}`, `"retry":{"allowed":false,"limit":1,"count":2}`} {
		if status, text := f.Say("POST", "/calls/"+s.ID+"/respond", `{"id":"`+id+`","action":"accept","content":{}}`); status != 422 || !strings.Contains(text, want) {
			t.Errorf("%d %s, want %s in it", status, text, want)
		}
	}
	done := s.Until("elicitation-settled")
	if done["outcome"] != "abandoned" || done.Path("reason", "code") != "form_invalidated" {
		t.Errorf("it was settled as %v", done)
	}
	s.Until("tool-result")
}

// TestEventsSentToAPage: where a front end cannot be asked and its person has a
// page, the notice and the result lead there; the same call, made again when
// the question is answered, gives the result of the first (C2, C5).
func TestEventsSentToAPage(t *testing.T) {
	t.Parallel()
	b := newFrontBackend(t)
	g := rig.Start(t, "backends:\n  one: { url: "+b.URL+" }\n")
	f := newFront(t, g)
	s := f.Call("one", toolCall("form"))
	wantTypes(t, s, "call-started", "data-tool-auth-required", "tool-result")
	page, _ := s.Seen[1].Path("data", "url").(string)
	base := strings.TrimSuffix(g.URL, "/mcp")
	id, ok := strings.CutPrefix(page, base+"/asks/")
	if !ok || s.Seen[1].Path("data", "mode") != "url" || s.Seen[1].Path("data", "message") != "Your name?" {
		t.Fatalf("the notice is %v", s.Seen[1])
	}
	text := resultText(t, s.Seen[2])
	if s.Seen[2].Path("result", "isError") != true || !strings.Contains(text, page) || strings.Count(text, "Do not call") != 1 {
		t.Errorf("the result is %q", text)
	}
	r := send(t, newRequest(t, "POST", base+"/v1/asks/"+id+"/answer", `{"action":"accept","content":{"name":"Ann"}}`, "Content-Type", "application/json"))
	if r.status != 200 {
		t.Fatalf("the answer got %d %s", r.status, r.body)
	}
	again := f.Call("one", toolCall("form"))
	equal(t, "the result", resultText(t, again.Until("tool-result")), `{"action":"accept","content":{"name":"Ann"}}`)
	if n := b.Count("tools/call"); n != 1 {
		t.Errorf("the server ran %d calls", n)
	}
}
