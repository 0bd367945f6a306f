package a2a

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/wire"
)

// record is all there is of a task, as it is kept. What a record points to is
// not changed once the record was published: a change is made to a draft.
type record struct {
	Owner ask.Principal
	At    string    // the endpoint
	Task  *a2a.Task // as its client sees it
	Text  string    `json:",omitempty"` // the first message's, while it is not known what it calls
	Tool  string    `json:",omitempty"` // which tool it is for, where that is known
	Call  *call     `json:",omitempty"` // nil while that is being asked

	State string     `json:",omitempty"` // the relay's requestState
	Held  bool       `json:",omitempty"` // the gateway holds the call of that state
	Round int        `json:",omitempty"`
	Asked []question `json:",omitempty"`
	Push  []push     `json:"-"` // holds secrets: see keptRecord
}

// keptRecord is a record with the secrets in it.
type keptRecord struct {
	*record
	Push []pushKept `json:",omitempty"`
}

// write gives the record as it is kept.
func (r *record) write() ([]byte, error) {
	k := keptRecord{record: r}
	for i := range r.Push {
		k.Push = append(k.Push, r.Push[i].kept())
	}
	return json.Marshal(k)
}

// maxHistory bounds the messages that are kept of a task. The oldest go first.
const maxHistory = 100

// draft gives a copy that can be changed without changing what r points to.
func (r *record) draft() record {
	d := *r
	task := *r.Task
	d.Task = &task
	task.History, task.Artifacts = slices.Clip(task.History), slices.Clip(task.Artifacts)
	d.Asked, d.Push = slices.Clone(r.Asked), slices.Clone(r.Push)
	return d
}

func (r *record) note(m *a2a.Message) {
	h := append(r.Task.History, m)
	r.Task.History = h[max(0, len(h)-maxHistory):]
}

// hear notes a message of the client's, after what it answers.
func (r *record) hear(m *a2a.Message) {
	if said := r.Task.Status.Message; said != nil {
		r.note(said)
		r.Task.Status.Message = nil
	}
	r.note(m)
}

// status changes the task's, and gives the event that tells so.
func (r *record) status(now time.Time, state a2a.TaskState, parts ...*a2a.Part) a2a.Event {
	if m := r.Task.Status.Message; m != nil {
		r.note(m)
	}
	now = now.UTC()
	r.Task.Status = a2a.TaskStatus{State: state, Timestamp: &now}
	if len(parts) > 0 {
		m := a2a.NewMessageForTask(a2a.MessageRoleAgent, r.Task, parts...)
		if state == a2a.TaskStateInputRequired || state == a2a.TaskStateAuthRequired {
			m.Extensions = []string{FormsExtension}
		}
		r.Task.Status.Message = m
	}
	return &a2a.TaskStatusUpdateEvent{TaskID: r.Task.ID, ContextID: r.Task.ContextID, Status: r.Task.Status}
}

// artifact adds the result of the call.
func (r *record) artifact(parts []*a2a.Part) a2a.Event {
	a := &a2a.Artifact{ID: "result", Name: r.Call.Tool, Parts: parts}
	r.Task.Artifacts = append(r.Task.Artifacts, a)
	return &a2a.TaskArtifactUpdateEvent{TaskID: r.Task.ID, ContextID: r.Task.ContextID, Artifact: a, LastChunk: true}
}

// asker says who asks in this task.
func (r *record) asker() asker {
	if r.Call == nil {
		return asker{}
	}
	return asker{r.At, r.Call.Tool}
}

func (r *record) over() bool { return r.Task.Status.State.Terminal() }

// open are the questions without an answer.
func (r *record) open() []question {
	return slices.DeleteFunc(slices.Clone(r.Asked), func(q question) bool { return q.Answer != nil })
}

// waits reports whether the task needs somebody before it can go on.
func (r *record) waits() bool { return !r.over() && len(r.open()) > 0 }

// name is that of a question of this round.
func (r *record) name(key string) string { return strconv.Itoa(r.Round) + "." + key }

// keyOf is under what a task is kept. Who asks for somebody else's asks under
// another key, so that it is not there for them.
func keyOf(home string, owner ask.Principal, id string) string {
	return ownerKey(home, owner) + "." + id
}

func ownerKey(home string, owner ask.Principal) string {
	words := wire.AppendString(wire.AppendString(nil, owner.Issuer), owner.Subject)
	sum := sha256.Sum256(words)
	return home + "." + base64.RawURLEncoding.EncodeToString(sum[:])
}

// readRecord reads what was kept, with the data of parts as it was written.
func readRecord(raw []byte) (*record, error) {
	r := &record{}
	k := keptRecord{record: r}
	if err := json.Unmarshal(raw, &k); err != nil {
		return nil, err
	}
	if r.Task == nil {
		return nil, errors.New("it holds no task")
	}
	for i := range k.Push {
		r.Push = append(r.Push, k.Push[i].push())
	}
	at, err := wire.Value(raw)
	if err != nil {
		return nil, err
	}
	task := wire.Get(raw, at, "Task")
	i := 0
	for m := range wire.Elements(raw, wire.Get(raw, task, "history")) {
		exact(r.Task.History[i].Parts, raw, wire.Get(raw, m, "parts"))
		i++
	}
	i = 0
	for a := range wire.Elements(raw, wire.Get(raw, task, "artifacts")) {
		exact(r.Task.Artifacts[i].Parts, raw, wire.Get(raw, a, "parts"))
		i++
	}
	if m := r.Task.Status.Message; m != nil {
		exact(m.Parts, raw, wire.Get(raw, wire.Get(raw, wire.Get(raw, task, "status"), "message"), "parts"))
	}
	return r, nil
}

// check reports what of a record that was read would be in the way later.
func (r *record) check() error {
	switch {
	case r.Task.ID == "" || r.Owner.IsZero():
		return errors.New("it does not say whose task it is")
	case r.Task.Status.Timestamp == nil:
		return errors.New("it does not say when the task changed")
	}
	return nil
}

// exact gives the data of parts back as it is written at arr: decoded, large
// numbers would have lost digits. It is false where the two do not belong
// together.
func exact(parts []*a2a.Part, raw []byte, arr wire.Span) bool {
	i := 0
	for at := range wire.Elements(raw, arr) {
		if i == len(parts) {
			return false
		}
		if _, ok := parts[i].Content.(a2a.Data); ok {
			data := wire.Get(raw, at, "data")
			if data.IsZero() {
				return false
			}
			parts[i].Content = a2a.Data{Value: json.RawMessage(slices.Clone(data.Of(raw)))}
		}
		i++
	}
	return i == len(parts)
}
