//go:build browser

package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/answerback/answerback/internal/wire"
	"github.com/answerback/answerback/test/rig"
)

// answers counts the answers that a backend got.
func answers(b *rig.Backend) int {
	return len(b.Received(func(r rig.Received) bool { return r.Msg.Kind == wire.Result }))
}

var sheetPath = regexp.MustCompile(`/static/[^"]+\.css`)

// site is somebody else's site with one page. It is at localhost: another site
// than the gateway's, or at 127.0.0.1: the same site, on another port, to which
// browsers send the gateway's cookies too.
func site(t *testing.T, host, body string) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/plain" {
			fmt.Fprint(w, `<!doctype html><title>Plain</title>A page that may be framed`)
			return
		}
		fmt.Fprint(w, `<!doctype html><title>Elsewhere</title><link rel="icon" href="data:,">`, body)
	}))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return strings.Replace(srv.URL, "127.0.0.1", host, 1)
}

// TestAttackFraming: no site, not even one beside the gateway, gets a page into
// a frame, over which it could put something else to be pressed. A page that
// allows it is shown in the same frame.
func TestAttackFraming(t *testing.T) {
	t.Parallel()
	s := newStage(t, "  ops: { url: "+asking(t, deployForm).URL+" }\n")
	ann, at, call := s.asked("ann", eyes{})
	for _, host := range []string{"localhost", "127.0.0.1"} {
		evil := site(t, host, `<h1>Win a prize</h1><iframe src="`+at+`" width="600" height="600"></iframe><iframe src="/plain"></iframe>`)
		ann.open(evil)
		var frames []string
		ann.do("frames", nil, &frames)
		all := strings.Join(frames, "\n")
		if len(frames) != 2 || strings.Contains(all, "Where should it go?") || strings.Contains(all, "Send answer") {
			t.Errorf("a page at %s frames the question: %q", host, frames)
		}
		if !strings.Contains(all, "A page that may be framed") {
			t.Errorf("the frames at %s show nothing at all: %q", host, frames)
		}
		if faults := strings.Join(ann.faults(), "\n"); !strings.Contains(faults, "frame-ancestors 'none'") {
			t.Errorf("the browser did not say why: %s", faults)
		}
	}
	ann.open(at)
	contains(t, ann.press("Decline"), "You declined")
	equal(t, "the answer", got(t, call.Final()), `{"action":"decline"}`)
}

// TestAttackForgedPost: a form on another site, or on another port of the same
// one, posts an answer in ann's browser, with the right names and even with the
// token from her page. It is refused; the same form from her page is taken.
func TestAttackForgedPost(t *testing.T) {
	t.Parallel()
	b := asking(t, deployForm)
	s := newStage(t, "  ops: { url: "+b.URL+" }\n")
	ann, at, call := s.asked("ann", eyes{})
	p := ann.look()
	_, form, _ := strings.Cut(p.HTML, `id="ask"`)
	token := formToken.FindStringSubmatch(form)[1]
	fields := map[string]string{"token": token, "action": "accept", "f0": "forged", "f2": "9"}
	for _, host := range []string{"localhost", "127.0.0.1"} {
		ann.open(site(t, host, "<h1>Elsewhere</h1>"))
		p := ann.post(at, fields)
		if p.Status != http.StatusForbidden {
			t.Errorf("what %s posts got status %d: %s", host, p.Status, p.Text)
		}
		contains(t, p, "This was refused")
	}
	ann.inspect("forged")
	// Without the token her own page cannot do it either.
	ann.open(at)
	p = ann.post(at, map[string]string{"token": "forged", "action": "accept", "f0": "forged", "f2": "9"})
	if p.Status != http.StatusForbidden {
		t.Errorf("a post without the token got status %d", p.Status)
	}
	contains(t, p, "Nothing was sent yet")
	if n := answers(b); n != 0 {
		t.Fatalf("the server was answered %d times", n)
	}
	fields["f0"] = "hers"
	contains(t, ann.post(at, fields), "Your answer is on its way back")
	equal(t, "the answer", got(t, call.Final()), `{"action":"accept","content":{"copies":9,"loud":false,"name":"hers"}}`)
}

// TestAttackReplay: what was sent once and taken is not taken again, neither by
// a reload nor by a page that was open all the while; and it says so.
func TestAttackReplay(t *testing.T) {
	t.Parallel()
	b := asking(t, deployForm)
	s := newStage(t, "  ops: { url: "+b.URL+" }\n")
	ann, at, call := s.asked("ann", eyes{})
	_, form, _ := strings.Cut(ann.look().HTML, `id="ask"`)
	fields := map[string]string{"token": formToken.FindStringSubmatch(form)[1], "action": "accept", "f0": "first", "f2": "1"}
	contains(t, ann.post(at, fields), "Your answer is on its way back")
	equal(t, "the answer", got(t, call.Final()), `{"action":"accept","content":{"copies":1,"loud":false,"name":"first"}}`)

	fields["f0"] = "again"
	for _, see := range []func() page{ann.reload, func() page { return ann.post(at, fields) }} {
		p := see()
		if p.Status != http.StatusGone {
			t.Errorf("the second time got status %d", p.Status)
		}
		contains(t, p, "You have answered this question")
	}
	if n := answers(b); n != 1 {
		t.Errorf("the server was answered %d times", n)
	}
}

// TestNothingIsKeptByCaches: pages are for one person and one moment; what is
// the same for everybody may be kept.
func TestNothingIsKeptByCaches(t *testing.T) {
	t.Parallel()
	s := newStage(t, "  ops: { url: "+asking(t, deployForm).URL+" }\n")
	ann, at, _ := s.asked("ann", eyes{})
	for _, url := range []string{s.base + "/", at, s.base + "/nothing"} {
		p := ann.open(url)
		equal(t, url, p.Headers["cache-control"], "no-store")
	}
	// Nobody need be signed in for it.
	resp := s.done(http.Get(s.base + sheetPath.FindString(ann.look().HTML)))
	if kept := resp.Header.Get("Cache-Control"); resp.StatusCode != http.StatusOK || !strings.Contains(kept, "immutable") {
		t.Errorf("the stylesheet comes with %s and is kept as %q", resp.Status, kept)
	}
}
