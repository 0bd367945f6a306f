package a2a

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// content is the result of a call while it is being written.
type content struct {
	b       []byte
	items   int
	objects [][]byte // data that is an object
	texts   map[string]bool
}

// complete is the reply of a task that has ended, or of an answer without one.
func (r *run) complete() (contract.Reply, error) {
	t := &r.task
	c := &content{texts: map[string]bool{}}
	for _, a := range t.artifacts {
		for _, p := range a.parts {
			c.part(p, string(a.id))
		}
	}
	said := t.status.Message
	if t.message != nil {
		said = t.message
	}
	if said != nil {
		for _, p := range said.Parts {
			// An agent may say again what it has put into an artifact.
			if p != nil && (p.Text() == "" || !c.texts[p.Text()]) {
				c.part(p, "message")
			}
		}
	}
	ok := t.message != nil || t.status.State == a2a.TaskStateCompleted
	if c.items == 0 {
		c.text(map[a2a.TaskState]string{
			a2a.TaskStateCompleted: "The agent has completed the task, and says nothing of it.",
			a2a.TaskStateFailed:    "The agent failed, and does not say why.",
			a2a.TaskStateRejected:  "The agent rejected the task, and does not say why.",
			a2a.TaskStateCanceled:  "The task was cancelled at the agent.",
		}[t.status.State])
	}
	return r.reply(r.msg, c.result(!ok))
}

// failed is a result that tells a model why there is none.
func (r *run) failed(why string) (contract.Reply, error) {
	c := &content{texts: map[string]bool{}}
	c.text(why)
	return r.reply(r.msg, c.result(true))
}

func (c *content) result(failed bool) []byte {
	b := []byte(`{"resultType":"complete","content":[`)
	b = append(append(b, c.b...), ']')
	if len(c.objects) == 1 {
		b = append(append(b, `,"structuredContent":`...), c.objects[0]...)
	}
	if failed {
		b = append(b, `,"isError":true`...)
	}
	return append(b, '}')
}

// item begins an item of a type.
func (c *content) item(kind string) {
	if c.items > 0 {
		c.b = append(c.b, ',')
	}
	c.items++
	c.b = append(c.b, `{"type":"`+kind+`"`...)
}

// member adds a text to the item, where there is one.
func (c *content) member(key, value string) {
	if value != "" {
		c.b = wire.AppendString(append(c.b, `,"`+key+`":`...), value)
	}
}

func (c *content) text(text string) {
	c.item("text")
	c.b = wire.AppendString(append(c.b, `,"text":`...), text)
	c.b = append(c.b, '}')
	c.texts[text] = true
}

// part writes one part of what is in the agent's words called of.
func (c *content) part(p *a2a.Part, of string) {
	switch v := p.Content.(type) {
	case a2a.Text:
		c.text(string(v))
	case a2a.Data:
		raw, err := json.Marshal(v.Value)
		if err != nil {
			return
		}
		if _, ok := v.Value.(map[string]any); ok {
			c.objects = append(c.objects, raw)
		}
		c.text(string(raw))
	case a2a.Raw:
		c.file(p, v, of)
	case a2a.URL:
		c.link(p, string(v))
	}
}

// file writes bytes: as what a client can show, or as a resource.
func (c *content) file(p *a2a.Part, raw []byte, of string) {
	kind, _, _ := strings.Cut(p.MediaType, "/")
	data := base64.StdEncoding.EncodeToString(raw)
	if kind == "image" || kind == "audio" {
		c.item(kind)
		c.b = append(append(append(c.b, `,"data":"`...), data...), '"')
		c.member("mimeType", p.MediaType)
		c.b = append(c.b, '}')
		return
	}
	c.item("resource")
	uri := "a2a:" + url.PathEscape(of) + "/" + url.PathEscape(cmp.Or(p.Filename, "file"))
	c.b = wire.AppendString(append(c.b, `,"resource":{"uri":`...), uri)
	c.member("mimeType", p.MediaType)
	c.b = append(append(append(c.b, `,"blob":"`...), data...), `"}}`...)
}

// link writes an address that leads to a file. One that no client should open
// is a text.
func (c *content) link(p *a2a.Part, to string) {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		c.text(to)
		return
	}
	c.item("resource_link")
	c.member("uri", to)
	c.member("name", cmp.Or(p.Filename, u.Host+u.Path))
	c.member("mimeType", p.MediaType)
	c.b = append(c.b, '}')
}
