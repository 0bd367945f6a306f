package office

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/question"
	"github.com/answerback/answerback/internal/wire"
)

// Members of a stored answer beside its action and its content.
const (
	memberMetadata  = "metadata"
	memberCollected = "collectedAt" // milliseconds since 1970; present after the collection
)

// Collect returns a completed form with its whole result, including secrets,
// once. The values of sensitive fields are removed from the store before
// Collect returns: a crash in between loses them and cannot return them twice.
// The error's code is NotAnswered for an open form, TooLate for one that ended
// without an answer, Collected, with the time in its data, for one that was
// collected before, and Unknown as for Look.
func (o *Office) Collect(ctx context.Context, who desk.Viewer, via, id string) (Form, error) {
	v, err := o.peek(ctx, who, id)
	switch {
	case err != nil:
		return Form{}, err
	case v.Outcome == nil:
		return Form{}, ask.Errorf(ask.NotAnswered, "The form is still open: there is nothing to collect yet.")
	}
	return o.collect(ctx, who.Principal, via, id)
}

// collect is Collect for a form that is known to be one.
func (o *Office) collect(ctx context.Context, by ask.Principal, via, id string) (Form, error) {
	at := time.Now()
	v, err := o.desk.Collect(ctx, id, desk.Viewer{Principal: by}, via, func(v desk.View) ([]byte, error) {
		switch {
		case v.Outcome.Ending == ask.Expired:
			return nil, over(&v)
		case statusOf(&v) != Completed:
			return nil, ask.Errorf(ask.TooLate, "The form ended without an answer: there is nothing to collect.")
		}
		result := v.Outcome.Answer.Result
		if ms := collectedAt(result); ms != 0 {
			return nil, collected(ms)
		}
		f, err := o.form(&v.Ask)
		if err != nil {
			return nil, err
		}
		return marked(redacted(f, result), at)
	})
	if err != nil {
		return Form{}, err
	}
	f := o.formOf(&v)
	f.Result, f.Uncollected, f.CollectedAt = member(v.Outcome.Answer.Result, "content"), nil, at.UnixMilli()
	return f, nil
}

// collected refuses a second collection.
func collected(ms int64) *ask.Error {
	return &ask.Error{
		Code:    ask.Collected,
		Message: "The result was collected at " + time.UnixMilli(ms).UTC().Format(time.RFC3339) + ", and is given out once.",
		Data:    map[string]any{memberCollected: ms},
	}
}

func (o *Office) form(a *ask.Ask) (*form.Form, error) { return question.Read(a.Params).Form(o.forms) }

// ended is the content of a completion notification. If the creator may get
// secrets and the form has uncollected ones, ended collects them.
func (o *Office) ended(by Creator, id string, f *form.Form, out ask.Outcome) Form {
	view := Form{ElicitationID: id, Mode: "form", Status: statusOf(&desk.View{Outcome: &out})}
	if view.Status != Completed {
		return view
	}
	view.fill(f, out.Answer.Result)
	if len(view.Uncollected) == 0 || !by.Secrets {
		return view
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectTime)
	defer cancel()
	full, err := o.collect(ctx, by.Principal, by.Via, id)
	if err != nil {
		return view // with the names of the uncollected fields
	}
	view.Result, view.Uncollected = full.Result, nil
	return view
}

// collectTime bounds the collection for a notification.
const collectTime = 10 * time.Second

// fill adds the answer without its secrets.
func (f *Form) fill(read *form.Form, result []byte) {
	f.Result = member(redacted(read, result), "content")
	f.Metadata = member(result, memberMetadata)
	f.CollectedAt = collectedAt(result)
	f.Uncollected = secretsIn(read, result)
}

// member gives a member of a kept answer as it stands, nil for none.
func member(result []byte, key string) json.RawMessage {
	obj, err := wire.Value(result)
	if err != nil {
		return nil
	}
	at := wire.Get(result, obj, key)
	if at.IsZero() {
		return nil
	}
	return at.Of(result)
}

func collectedAt(result []byte) int64 {
	ms, _ := strconv.ParseInt(string(member(result, memberCollected)), 10, 64)
	return ms
}

// marked is an answer with the time of its collection.
func marked(result []byte, at time.Time) ([]byte, error) {
	obj, err := wire.Value(result)
	if err != nil {
		return nil, ask.From(err)
	}
	return wire.Splice(nil, result, wire.Amend(result, obj, wire.Change{Key: memberCollected, Value: strconv.AppendInt(nil, at.UnixMilli(), 10)})...), nil
}

// secretsIn names the sensitive fields that have a value in a kept answer.
func secretsIn(f *form.Form, result []byte) (names []string) {
	for _, m := range secretMembers(f, result) {
		name, _ := wire.Unquote(m.Key.Of(result))
		names = append(names, name)
	}
	return names
}

// secretMembers gives the members of an answer's content that only a
// collection returns: those of sensitive fields, and those of unknown fields.
func secretMembers(f *form.Form, result []byte) (found []wire.Member) {
	obj, err := wire.Value(result)
	if err != nil {
		return nil
	}
	for m := range wire.Members(result, wire.Get(result, obj, "content")) {
		name, _ := wire.Unquote(m.Key.Of(result))
		if field, ok := f.Field(name); !ok || field.Sensitive {
			found = append(found, m)
		}
	}
	return found
}

// redacted is an answer without the values of sensitive fields.
func redacted(f *form.Form, result []byte) []byte {
	var changes []wire.Change
	for _, m := range secretMembers(f, result) {
		changes = append(changes, wire.Change{Old: m.Value})
	}
	obj, err := wire.Value(result)
	switch {
	case err != nil:
		return nil
	case changes == nil:
		return result
	}
	return wire.Splice(nil, result, wire.Amend(result, wire.Get(result, obj, "content"), changes...)...)
}
