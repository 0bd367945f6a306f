package a2a

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// task is what has come of a task so far.
type task struct {
	b         *Backend
	id        a2a.TaskID
	context   string
	status    a2a.TaskStatus
	artifacts []*artifact
	message   *a2a.Message // an answer without a task
	parts     int
	bytes     int
	events    int
}

// artifact is one that may come in pieces.
type artifact struct {
	id    a2a.ArtifactID
	parts []*a2a.Part
	tail  *strings.Builder // the text of the last part, where that is text
	count int              // parts, as they came
	bytes int
}

// take enters an event. The error says that the agent brings too much, or
// what cannot be.
func (t *task) take(ev a2a.Event) error {
	t.events++
	switch ev := ev.(type) {
	case *a2a.Message:
		t.message = ev
		return t.count(ev.Parts)
	case *a2a.Task:
		if err := t.is(ev.ID, ev.ContextID); err != nil {
			return err
		}
		t.status = ev.Status
		return t.replace(ev.Artifacts)
	case *a2a.TaskStatusUpdateEvent:
		if err := t.is(ev.TaskID, ev.ContextID); err != nil {
			return err
		}
		t.status = ev.Status
	case *a2a.TaskArtifactUpdateEvent:
		if err := t.is(ev.TaskID, ev.ContextID); err != nil {
			return err
		}
		if ev.Artifact != nil {
			return t.piece(ev.Artifact, ev.Append)
		}
	}
	return nil
}

// is checks that an event is of this task.
func (t *task) is(id a2a.TaskID, context string) error {
	switch {
	case !validID(string(id)) || len(context) > maxID:
		return t.b.broken("a task without an id that can be used", nil)
	case t.id != "" && t.id != id:
		return t.b.broken("events of another task", nil)
	}
	t.id = id
	if context != "" {
		t.context = context
	}
	return nil
}

// replace takes all artifacts of a task. A snapshot without any says nothing
// of those that came before.
func (t *task) replace(all []*a2a.Artifact) error {
	if len(all) == 0 {
		return nil
	}
	t.artifacts, t.parts, t.bytes = nil, 0, 0
	for _, a := range all {
		if a == nil {
			continue
		}
		if err := t.piece(a, true); err != nil {
			return err
		}
	}
	return nil
}

// piece takes an artifact, or more of one.
func (t *task) piece(a *a2a.Artifact, more bool) error {
	var to *artifact
	for _, have := range t.artifacts {
		if have.id == a.ID {
			to = have
		}
	}
	if to == nil {
		if len(t.artifacts) == t.b.cfg.Limits.Artifacts {
			return t.b.tooLarge()
		}
		to = &artifact{id: a.ID}
		t.artifacts = append(t.artifacts, to)
	} else if !more {
		t.parts, t.bytes = t.parts-to.count, t.bytes-to.bytes
		*to = artifact{id: to.id}
	}
	parts, bytes := t.parts, t.bytes
	if err := t.count(a.Parts); err != nil {
		return err
	}
	to.count, to.bytes = to.count+t.parts-parts, to.bytes+t.bytes-bytes
	for _, p := range a.Parts {
		to.add(p)
	}
	return nil
}

// add puts a part at the end. Text goes on where the text before it ended: the
// pieces in which an agent wrote it are not told from parts.
func (a *artifact) add(p *a2a.Part) {
	if p == nil {
		return
	}
	text, ok := p.Content.(a2a.Text)
	if !ok {
		a.parts, a.tail = append(a.parts, p), nil
		return
	}
	if a.tail == nil || a.parts[len(a.parts)-1].MediaType != p.MediaType {
		a.parts, a.tail = append(a.parts, p), &strings.Builder{}
	}
	a.tail.WriteString(string(text))
	last := *a.parts[len(a.parts)-1]
	last.Content = a2a.Text(a.tail.String())
	a.parts[len(a.parts)-1] = &last
}

// count bounds what a task brings altogether.
func (t *task) count(parts a2a.ContentParts) error {
	t.parts += len(parts)
	for _, p := range parts {
		if p == nil {
			continue
		}
		switch c := p.Content.(type) {
		case a2a.Text:
			t.bytes += len(c)
		case a2a.Raw:
			t.bytes += len(c) / 3 * 4
		case a2a.URL:
			t.bytes += len(c)
		}
	}
	if t.parts > t.b.cfg.Limits.Parts || t.bytes > t.b.cfg.Limits.MessageBytes {
		return t.b.tooLarge()
	}
	return nil
}

// words are what the status says, in words.
func (t *task) words() string { return words(t.status.Message) }

// words joins the texts of a message.
func words(m *a2a.Message) string {
	if m == nil {
		return ""
	}
	var all []string
	for _, p := range m.Parts {
		if p == nil {
			continue
		}
		if text := strings.TrimSpace(p.Text()); text != "" {
			all = append(all, text)
		}
	}
	return clip(strings.Join(all, "\n\n"), maxWords)
}

// digest tells the status from others in which a task wants something.
func (t *task) digest() string {
	h := sha256.New()
	h.Write([]byte(t.status.State))
	if m := t.status.Message; m != nil {
		h.Write([]byte("\x00" + m.ID + "\x00" + words(m)))
		for _, p := range m.Parts {
			if p == nil {
				continue
			}
			if data, err := json.Marshal(p.Data()); err == nil {
				h.Write(data)
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}
