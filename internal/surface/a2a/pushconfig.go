package a2a

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/secret"
)

const (
	// maxPush bounds the configurations of one task.
	maxPush = 8
	// maxSecret bounds what a client gives for its receiver to know us by.
	maxSecret = 4096
)

// push is where a client wants to be told of the events of a task.
type push struct {
	ID, URL     string
	Token       secret.Text
	Scheme      string
	Credentials secret.Text
}

// pushKept is a push as it is kept, which is sealed as a whole.
type pushKept struct {
	ID, URL, Token, Scheme, Credentials string
}

func (p *push) kept() pushKept {
	return pushKept{p.ID, p.URL, p.Token.Reveal(), p.Scheme, p.Credentials.Reveal()}
}

func (k *pushKept) push() push {
	return push{k.ID, k.URL, secret.New(k.Token), k.Scheme, secret.New(k.Credentials)}
}

// newPush checks what a client gave.
func (s *Surface) newPush(c *a2a.PushConfig) (push, error) {
	p := push{ID: c.ID, URL: c.URL, Token: secret.New(c.Token)}
	if p.ID == "" {
		p.ID = "1"
	}
	if c.Auth != nil {
		p.Scheme, p.Credentials = c.Auth.Scheme, secret.New(c.Auth.Credentials)
	}
	if len(p.ID) > maxName || len(c.Token) > maxSecret || len(p.Credentials.Reveal()) > maxSecret || len(p.Scheme) > maxName {
		return p, unfit("The push configuration is too large.")
	}
	if !isHeader(c.Token) || !isHeader(p.Scheme) || !isHeader(p.Credentials.Reveal()) {
		return p, unfit("What the receiver is to know us by does not fit into a header.")
	}
	if err := s.cfg.Outward.Check(p.URL); err != nil {
		return p, unfit("The url of the push configuration cannot be used: " + err.Error())
	}
	return p, nil
}

func isHeader(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// setPush adds a configuration to a task, or changes it.
func (s *Surface) setPush(t *task, c *a2a.PushConfig) (push, error) {
	p, err := s.newPush(c)
	if err != nil {
		return p, err
	}
	full := false
	err = t.change(func(d *record) ([]a2a.Event, bool) {
		if i := d.push(p.ID); i >= 0 {
			d.Push[i] = p
		} else if full = len(d.Push) >= maxPush; !full {
			d.Push = append(d.Push, p)
		}
		return nil, !full
	})
	if full {
		err = ask.Errorf(ask.TooLarge, "The task has as many push configurations as it may have.")
	}
	return p, err
}

func (r *record) push(id string) int {
	return slices.IndexFunc(r.Push, func(p push) bool { return p.ID == id })
}

// shown is a configuration as its owner is told. The credentials, which are
// somebody else's to check, are not given out again.
func (p *push) shown(task a2a.TaskID) *a2a.PushConfig {
	c := &a2a.PushConfig{TaskID: task, ID: p.ID, URL: p.URL, Token: p.Token.Reveal()}
	if p.Scheme != "" {
		c.Auth = &a2a.PushAuthInfo{Scheme: p.Scheme}
	}
	return c
}

// header adds what the receiver knows us by.
func (p *push) header(h http.Header) {
	if token := p.Token.Reveal(); token != "" {
		h.Set("A2A-Notification-Token", token)
	}
	if p.Scheme != "" {
		h.Set("Authorization", strings.TrimSpace(p.Scheme+" "+p.Credentials.Reveal()))
	}
}

func (h handler) CreateTaskPushConfig(ctx context.Context, c *a2a.PushConfig) (*a2a.PushConfig, error) {
	t, err := h.s.underway(ctx, c.TaskID)
	if err != nil {
		return nil, told(err)
	}
	p, err := h.s.setPush(t, c)
	if err != nil {
		return nil, told(err)
	}
	return p.shown(c.TaskID), nil
}

func (h handler) GetTaskPushConfig(ctx context.Context, req *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error) {
	_, r, err := h.s.lookup(ctx, req.TaskID)
	if err != nil {
		return nil, told(err)
	}
	i := r.push(req.ID)
	if i < 0 {
		return nil, told(errNoPush)
	}
	return r.Push[i].shown(req.TaskID), nil
}

func (h handler) ListTaskPushConfigs(ctx context.Context, req *a2a.ListTaskPushConfigRequest) (*a2a.ListTaskPushConfigResponse, error) {
	_, r, err := h.s.lookup(ctx, req.TaskID)
	if err != nil {
		return nil, told(err)
	}
	resp := &a2a.ListTaskPushConfigResponse{Configs: []*a2a.PushConfig{}}
	for _, p := range r.Push {
		resp.Configs = append(resp.Configs, p.shown(req.TaskID))
	}
	return resp, nil
}

func (h handler) DeleteTaskPushConfig(ctx context.Context, req *a2a.DeleteTaskPushConfigRequest) error {
	t, err := h.s.underway(ctx, req.TaskID)
	if err != nil {
		return told(err)
	}
	return told(t.change(func(d *record) ([]a2a.Event, bool) {
		i := d.push(req.ID)
		if i < 0 {
			return nil, false // it is not there, as was wanted
		}
		d.Push = slices.Delete(d.Push, i, i+1)
		return nil, true
	}))
}
