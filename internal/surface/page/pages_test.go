package page

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/identity/signin"
)

var _ signin.Pages = (*Pages)(nil)

func drawn(t *testing.T, draw func(*Pages, http.ResponseWriter, *http.Request)) *page {
	t.Helper()
	w := httptest.NewRecorder()
	draw(NewPages(slog.New(slog.DiscardHandler)), w, httptest.NewRequest(http.MethodGet, "/signin/local?token=in-the-query", nil))
	p := &page{t: t, status: w.Code, header: w.Header(), body: w.Body.String()}
	p.root = parse(t, p.body)
	p.check()
	if strings.Contains(p.body, "in-the-query") {
		t.Error("the page shows the request's query")
	}
	return p
}

func TestChooseLinksEachProvider(t *testing.T) {
	p := drawn(t, func(pages *Pages, w http.ResponseWriter, r *http.Request) {
		pages.Choose(w, r, []signin.Choice{
			{Name: "Work", URL: "/signin?provider=Work&return=%2Fasks%2F1"},
			{Name: `<b>"Home\u202e`, URL: `/signin?provider=%3Cb%3E`},
		}, "/asks/1")
	})
	p.want(200)
	p.says("Continue with\u00a0Work", `<b>"Home`)
	var links []string
	for _, a := range p.root.all("a") {
		if strings.HasPrefix(a.attr["href"], "/signin") {
			links = append(links, a.attr["href"])
		}
	}
	if strings.Join(links, " ") != "/signin?provider=Work&return=%2Fasks%2F1 /signin?provider=%3Cb%3E" {
		t.Errorf("links %v", links)
	}
}

func TestConfirmLocalPostsTheToken(t *testing.T) {
	p := drawn(t, func(pages *Pages, w http.ResponseWriter, r *http.Request) { pages.ConfirmLocal(w, r, `tok"en`) })
	p.want(200)
	f := p.root.all("form")[0]
	if in := f.all("input")[0]; f.attr["action"] != "/signin/local" || in.attr["name"] != "token" || in.attr["value"] != `tok"en` {
		t.Errorf("the form posts %v to %s", in.attr, f.attr["action"])
	}
	for _, a := range p.root.all("a") {
		if strings.Contains(a.attr["href"], "tok") {
			t.Error("a link has the token")
		}
	}
}

func TestSignedOutNamesNobody(t *testing.T) {
	p := drawn(t, (*Pages).SignedOut)
	p.want(200)
	p.says("You are signed out", "Sign in again")
}

func TestProblemsSayWhatToDo(t *testing.T) {
	for status, heading := range map[int]string{
		400: "This did not work", 401: "You are not signed in", 403: "This was refused",
		404: "There is nothing here", 503: "This does not work right now",
	} {
		p := drawn(t, func(pages *Pages, w http.ResponseWriter, r *http.Request) {
			pages.Problem(w, r, status, "Open <the> link again.")
		})
		p.want(status)
		p.says(heading, "Open <the> link again.")
	}
	p := drawn(t, func(pages *Pages, w http.ResponseWriter, _ *http.Request) {
		pages.Refuse(w, 403, ask.Errorf(ask.NotAllowed, "Open it directly."))
	})
	p.want(403)
	p.says("This was refused", "Open it directly.")
}

func TestPageThatCannotBeRenderedIsAnErrorAndNoHalfPage(t *testing.T) {
	var log strings.Builder
	w := httptest.NewRecorder()
	newRenderer(slog.New(slog.NewTextHandler(&log, nil))).show(w, 200, pageInbox, frame{Title: "x", Body: "no list"})
	if w.Code != 500 || strings.Contains(w.Body.String(), "<") || !strings.Contains(log.String(), "page=inbox") {
		t.Errorf("status %d, body %q, log %s", w.Code, w.Body, log.String())
	}
}
