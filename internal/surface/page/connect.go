package page

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/grant"
	"github.com/answerback/answerback/internal/secret"
)

// Accounts are what people have connected, and how they do it. *grant.Grants
// are such.
type Accounts interface {
	Plan(ctx context.Context, v grant.Visit, backend string) (grant.Plan, error)
	Begin(ctx context.Context, v grant.Visit, backend, question string) (string, error)
	Finish(ctx context.Context, v grant.Visit, backend, rawQuery string) (grant.Done, error)
	EnterKey(ctx context.Context, v grant.Visit, backend, question string, key secret.Text) (grant.Done, error)
	List(ctx context.Context, who ask.Principal, limit int) ([]grant.Info, error)
	Revoke(ctx context.Context, who ask.Principal, backend string) (told bool, err error)
}

// connectBody is the page on which somebody agrees to connect an account.
type connectBody struct {
	Backend string
	Token   string
	Notice  string
	Ask     *question // for which it is, nil where nobody asked
	Answer  string    // the token for declining that
	Plan    grant.Plan
	Why     string
	Scopes  []string
	Since   *moment // it is connected already
}

// connectPath is the page on which somebody connects an account, for a
// question or of their own accord.
func connectPath(backend, question string) string {
	path := "/connect/" + url.PathEscape(backend)
	if question != "" {
		path += "?ask=" + url.QueryEscape(question)
	}
	return path
}

func (v *visitor) visit() grant.Visit {
	return grant.Visit{Who: v.Principal, Session: v.session}
}

// account serves what is about accounts to whoever is signed in, where there
// are any.
func (h *Handler) account(do func(http.ResponseWriter, *http.Request, *visitor)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		v, ok := h.visitor(r)
		switch {
		case h.cfg.Accounts == nil:
			h.notFound(w, v)
		case !ok:
			h.cfg.People.Challenge(w, r)
		default:
			do(w, r, v)
		}
	}
}

// connect shows what connecting a backend means.
func (h *Handler) connect(w http.ResponseWriter, r *http.Request, v *visitor) {
	backend := r.PathValue("backend")
	id := r.URL.Query().Get("ask")
	if id == "" {
		h.plan(w, r, v, http.StatusOK, connectBody{Backend: backend})
		return
	}
	view, err := h.wanted(r, v, backend, id)
	switch {
	case err != nil:
		h.closed(w, v, err)
	case view.Outcome != nil:
		h.over(w, v, view, nil)
	default:
		h.plan(w, r, v, http.StatusOK, connectBody{Backend: backend, Ask: h.question(view)})
	}
}

// wanted finds the question that somebody connects an account for.
func (h *Handler) wanted(r *http.Request, v *visitor, backend, id string) (*desk.View, error) {
	if len(id) > maxID {
		return nil, ask.Errorf(ask.Unknown, "There is no such question.")
	}
	view, err := h.cfg.Desk.Look(r.Context(), id, v.Viewer, surface)
	if err == nil && (view.Ask.Kind != ask.Connect || view.Ask.Backend != backend) {
		err = ask.Errorf(ask.Unknown, "There is no such question.")
	}
	return &view, err
}

// plan writes the page.
func (h *Handler) plan(w http.ResponseWriter, r *http.Request, v *visitor, status int, body connectBody) {
	plan, err := h.cfg.Accounts.Plan(r.Context(), v.visit(), body.Backend)
	switch code := ask.CodeOf(err); {
	case code == ask.UnknownBackend:
		h.notFound(w, v)
		return
	case err != nil:
		h.fail("what connecting means cannot be found out", "", v, err)
		h.rd.note(w, http.StatusBadGateway, v.bar(), note{
			Heading: "This account cannot be connected right now",
			Words:   []string{ask.From(err).Message, "Nothing was changed. Load this page again in a while."},
			Link:    "/connections", LinkText: "Go to your accounts",
		})
		return
	}
	now := h.cfg.Now()
	body.Plan, body.Why = plan, whyConnect[plan.Why]
	body.Token = h.cfg.Guard.Token(v.session, purposeConnect+body.Backend)
	if body.Ask != nil {
		body.Answer = h.cfg.Guard.Token(v.session, purposeAnswer+body.Ask.ID)
	}
	for _, s := range plan.Scopes {
		body.Scopes = append(body.Scopes, line(s, maxLabel))
	}
	if plan.Why == "" && !plan.Since.IsZero() {
		since := ago(plan.Since, now)
		body.Since = &since
	}
	if plan.Address != "" {
		// The browser follows where the form leads only where it is told that
		// it may.
		h.cfg.Guard.LeadTo(w.Header(), plan.Address)
	}
	h.rd.show(w, status, pageConnect, frame{Title: "Connect your account with " + line(body.Backend, maxName), Me: v.me, Body: body})
}

// whyConnect says why an account has to be connected.
var whyConnect = map[grant.Reason]string{
	grant.Expired:     "It was connected before, and the connection is too old.",
	grant.Rejected:    "It was connected before, and is not accepted any more.",
	grant.Withdrawn:   "It was connected before, and the access was ended.",
	grant.Suspended:   "It was connected before, and is suspended: the gateway was restored from a backup.",
	grant.Interrupted: "It was connected before, and the connection was lost while it was being renewed.",
	grant.Moved:       "It was connected before, and how it is signed in to has changed.",
	grant.MoreScopes:  "It is connected, and needs more access than you gave it.",
}

// agree takes somebody to where they sign in, or takes the key they typed.
func (h *Handler) agree(w http.ResponseWriter, r *http.Request, v *visitor) {
	backend := r.PathValue("backend")
	posted, status := readForm(w, r)
	if status != 0 {
		h.unreadable(w, v, status)
		return
	}
	body := connectBody{Backend: backend}
	id := posted.Get("ask")
	if id != "" {
		view, err := h.wanted(r, v, backend, id)
		switch {
		case err != nil:
			h.closed(w, v, err)
			return
		case view.Outcome != nil:
			// The account is worth connecting all the same.
			id = ""
		default:
			body.Ask = h.question(view)
		}
	}
	if len(posted[TokenField]) != 1 || !h.cfg.Guard.Check(v.session, purposeConnect+backend, posted.Get(TokenField)) {
		h.cfg.Log.Warn("page refused a post without a valid token", "backend", backend, "principal", v.Principal.String(), "surface", surface)
		body.Notice = "This page was too old, or the request did not come from it. Check what is below, and go on if it is what you want."
		h.plan(w, r, v, http.StatusForbidden, body)
		return
	}
	if key, typed := posted["key"]; typed {
		done, err := h.cfg.Accounts.EnterKey(r.Context(), v.visit(), backend, id, secret.New(strings.Join(key, "")))
		if ask.CodeOf(err) == ask.BadMessage {
			body.Notice = ask.From(err).Message
			h.plan(w, r, v, http.StatusUnprocessableEntity, body)
			return
		}
		h.connected(w, v, backend, done, err)
		return
	}
	to, err := h.cfg.Accounts.Begin(r.Context(), v.visit(), backend, id)
	if err != nil {
		h.connected(w, v, backend, grant.Done{Backend: backend, Ask: id}, err)
		return
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// callback takes back whoever signed in elsewhere.
func (h *Handler) callback(w http.ResponseWriter, r *http.Request, v *visitor) {
	backend := r.PathValue("backend")
	done, err := h.cfg.Accounts.Finish(r.Context(), v.visit(), backend, r.URL.RawQuery)
	h.connected(w, v, backend, done, err)
}

// connected says what became of a connection, and lets the call go on that
// waits for it.
func (h *Handler) connected(w http.ResponseWriter, v *visitor, backend string, done grant.Done, err error) {
	name := line(backend, maxName)
	again := connectPath(backend, done.Ask)
	switch ask.CodeOf(err) {
	case "":
	case ask.UnknownBackend:
		h.notFound(w, v)
		return
	case ask.NotConnected, ask.BadState, ask.BackendBroken, ask.BackendUnreachable, ask.TooManyOpen:
		n := note{
			Heading: "Your account was not connected",
			Words:   []string{ask.From(err).Message},
			Link:    again, LinkText: "Try again",
		}
		if done.Ask != "" {
			n.Words = append(n.Words, "What you asked for is still waiting. To end that, go back and choose Decline.")
			n.LinkText = "Go back"
		}
		h.rd.note(w, http.StatusConflict, v.bar(), n)
		return
	default:
		h.fail("account could not be connected", done.Ask, v, err)
		h.broken(w, v, err, note{
			Heading: "Your account could not be connected right now",
			Link:    again, LinkText: "Try again",
		})
		return
	}
	n := note{
		Mark: true, Heading: "Your account is connected",
		Words: []string{name + " can be used in your name until you disconnect it. You can close this page."},
		Link:  "/connections", LinkText: "Your accounts",
	}
	if done.Ask != "" {
		// The call may have gone on already: it waits for the account, and
		// this only says by whom the question was answered.
		_, err := h.cfg.Desk.Submit(done.Ask, v.Viewer, surface, ask.Answer{Action: ask.Accept, Result: []byte(`{"action":"accept"}`)})
		if err != nil && !ended(err) {
			h.fail("a connected account could not be told of", done.Ask, v, err)
		}
		n.Words = append([]string{"What was waiting for it goes on now."}, n.Words...)
	}
	h.rd.note(w, http.StatusOK, v.bar(), n)
}
