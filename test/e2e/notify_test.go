package e2e

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/notify"
	"github.com/answerback/answerback/test/rig"
)

const notifySecret = "canary-notify-secret-66d0"

// receiver is where an operator has people told of what waits for them.
func receiver(t *testing.T) (address string, posts chan *http.Request) {
	posts = make(chan *http.Request, 16)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(raw)))
		posts <- r
	}))
	t.Cleanup(server.Close)
	return server.URL + "/canary-hook-11f2", posts
}

// A17: whoever is asked on a page is told: signed, with the link, and without
// a word of the question.
func TestSomebodyIsNotified(t *testing.T) {
	t.Parallel()
	address, posts := receiver(t)
	b := newAsker(t)
	g := rig.Start(t, "notify: { webhook: \""+address+"\", secret: "+notifySecret+" }\nbackends:\n  one: { url: "+b.URL+" }\n")

	shown := rig.Dial(t, g.URL+"/one", rig.AllCaps)
	s := shown.Tool("name", "{}")
	shown.Answer(s.Next(), `{"action":"decline"}`)
	s.Final()

	c := rig.Dial(t, g.URL+"/one", linksOnly)
	s = c.Tool("name", "{}")
	q := s.Next()
	link := strings.Trim(member(q, q.Params, "url"), `"`)
	select {
	case r := <-posts:
		raw, _ := io.ReadAll(r.Body)
		if !notify.Verify(r.Header, []byte(notifySecret), raw, time.Now()) {
			t.Errorf("the signature is wrong: %v %s", r.Header, raw)
		}
		if !strings.Contains(string(raw), `"link":"`+link+`"`) || !strings.Contains(string(raw), `"backend":"one"`) || strings.Contains(string(raw), "Who are you") {
			t.Errorf("posted %s, for %s", raw, link)
		}
	case <-time.After(rig.Patience):
		t.Fatal("nobody was told")
	}
	if n := len(posts); n != 0 {
		t.Errorf("%d more were told: what a client shows itself needs nobody else to tell of it", n)
	}
	c.Answer(q, `{"action":"decline"}`)
	s.Final()
	if found := (canaries{"secret": notifySecret, "address": "canary-hook-11f2"}).find(g.Log()); len(found) > 0 {
		t.Errorf("the log has %v", found)
	}
}

// A receiver that is not there is nobody else's problem.
func TestDeadReceiverIsHarmless(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(nil)
	address := server.URL
	server.Close()
	b := newAsker(t)
	g := rig.Start(t, "notify: { webhook: \""+address+"\", secret: "+notifySecret+" }\nbackends:\n  one: { url: "+b.URL+" }\n")
	person := rig.SignIn(t, g)
	c := rig.Dial(t, g.URL+"/one", linksOnly)
	s := c.Tool("name", "{}")
	q := s.Next()
	page := askPath.FindString(member(q, q.Params, "url"))
	g.WaitLog(t, "notification failed")
	if status, body := person.Answer(page, map[string][]string{"action": {"accept"}, "f0": {"Ann"}}); status != 200 {
		t.Errorf("the answer: %d %s", status, body)
	}
	s.Final()
}
