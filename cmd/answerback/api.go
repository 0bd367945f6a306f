package main

import (
	"context"
	"net"
	"net/http"
	"net/netip"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/identity"
	"github.com/answerback/answerback/internal/surface/api"
)

// lookup finds out what a name in an answer stands for.
func lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// newAPI makes the API of a gateway for those of whom who says who they are.
func newAPI(g *gateway, who func(*http.Request) (desk.Viewer, error)) (http.Handler, error) {
	if g.desk == nil {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			api.Refuse(w, http.StatusNotFound, ask.Errorf(ask.SwitchedOff, "Questions are switched off at this gateway."))
		}), nil
	}
	cfg := api.Config{Desk: g.desk, Forms: g.office, Who: who, Log: g.log, Names: lookup, MaxLength: g.cfg.Asks.MaxFieldLength, MaxFile: int64(g.given.MaxSize), Budget: g.requests}
	if g.files != nil {
		cfg.Files = g.files
	}
	return api.New(cfg)
}

// viewer says who calls the API. A credential that an agent calls tools with
// must not let it answer in its person's place: answering takes a scope of
// its own.
func (d *doors) viewer(r *http.Request) (desk.Viewer, error) {
	if d.open {
		caller, err := d.authenticate(r)
		return desk.Viewer{Principal: caller.Principal}, err
	}
	person, err := d.bearer.Authenticate(r)
	if err != nil {
		return desk.Viewer{}, err
	}
	if !person.Claims.Scope(d.answerScope) {
		return desk.Viewer{}, d.bearer.Lacks(d.answerScope)
	}
	return desk.Viewer{Principal: person.Principal, Groups: d.groups.Of(person)}, nil
}

// localViewer is who calls the API through the socket in the data directory,
// which only the gateway's owner can open.
func localViewer(*http.Request) (desk.Viewer, error) {
	return desk.Viewer{Principal: identity.Local}, nil
}
