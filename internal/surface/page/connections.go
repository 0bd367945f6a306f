package page

import (
	"net/http"
	"slices"
	"strings"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/grant"
)

// maxAccounts is how many accounts one page lists.
const maxAccounts = 200

// connections is what somebody has connected.
type connections struct {
	Token string
	News  string
	Items []connection
	More  bool
}

type connection struct {
	Backend string
	Name    string
	Letter  string
	With    string // the issuer, or that it is a key
	Since   *moment
	Why     string // why it has to be connected again
	Scopes  []string
}

// connections lists somebody's accounts.
func (h *Handler) connections(w http.ResponseWriter, r *http.Request, v *visitor) {
	h.listAccounts(w, r, v, http.StatusOK, "")
}

func (h *Handler) listAccounts(w http.ResponseWriter, r *http.Request, v *visitor, status int, news string) {
	all, err := h.cfg.Accounts.List(r.Context(), v.Principal, maxAccounts+1)
	if err != nil {
		h.fail("accounts could not be listed", "", v, err)
		h.broken(w, v, err, note{Heading: "Your accounts cannot be shown right now"})
		return
	}
	slices.SortFunc(all, func(a, b grant.Info) int { return strings.Compare(a.Backend, b.Backend) })
	body := connections{Token: h.cfg.Guard.Token(v.session, purposeDisconnect), News: news}
	if len(all) > maxAccounts {
		all, body.More = all[:maxAccounts], true
	}
	for i := range all {
		body.Items = append(body.Items, h.connection(&all[i]))
	}
	h.rd.show(w, status, pageConnections, frame{Title: "Your accounts", Me: v.me, Tabs: h.tabs(tabAccounts), Body: body})
}

func (h *Handler) connection(g *grant.Info) connection {
	c := connection{Backend: g.Backend, Name: line(g.Backend, maxName), With: "a key that you entered"}
	first, _ := clip(c.Name, 1)
	c.Letter = strings.ToUpper(first)
	if g.Kind == grant.OAuth {
		c.With = line(g.Issuer, maxLabel)
	}
	for _, s := range g.Scopes {
		c.Scopes = append(c.Scopes, line(s, maxLabel))
	}
	switch {
	case g.Why == grant.Never:
		c.Why = "It is not connected yet."
	case g.Why != "":
		c.Why = whyConnect[g.Why]
	case !g.Since.IsZero():
		since := ago(g.Since, h.cfg.Now())
		c.Since = &since
	}
	return c
}

// disconnect forgets one of somebody's accounts.
func (h *Handler) disconnect(w http.ResponseWriter, r *http.Request, v *visitor) {
	posted, status := readForm(w, r)
	if status != 0 {
		h.unreadable(w, v, status)
		return
	}
	if len(posted[TokenField]) != 1 || !h.cfg.Guard.Check(v.session, purposeDisconnect, posted.Get(TokenField)) {
		h.listAccounts(w, r, v, http.StatusForbidden, "Nothing was disconnected, because this page was too old. Try again.")
		return
	}
	backend := posted.Get("backend")
	name := line(backend, maxName)
	told, err := h.cfg.Accounts.Revoke(r.Context(), v.Principal, backend)
	switch {
	case ask.CodeOf(err) == ask.UnknownName:
		h.listAccounts(w, r, v, http.StatusOK, name+" was not connected any more.")
	case err != nil:
		h.fail("account could not be disconnected", "", v, err)
		h.listAccounts(w, r, v, brokenStatus(err), name+" could not be disconnected right now. Try again in a moment.")
	case told:
		h.listAccounts(w, r, v, http.StatusOK, name+" is disconnected. Its server was told.")
	default:
		h.listAccounts(w, r, v, http.StatusOK, name+" is disconnected here. Its server could not be told: if it lists Answerback among its apps, remove it there too.")
	}
}
