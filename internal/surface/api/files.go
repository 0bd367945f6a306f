package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/question"
	"github.com/answerback/answerback/internal/upload"
	"github.com/answerback/answerback/internal/wire"
)

// Files keeps what people give for file fields. *upload.Store is one.
type Files interface {
	Take(ctx context.Context, at upload.Place, f *form.Form, name string, content io.Reader) (upload.File, form.Errors, error)
	Kept(ctx context.Context, ask string, by ask.Principal) ([]upload.File, error)
	Link(ctx context.Context, ask, backend string, by ask.Principal, files []upload.File) (*upload.Links, error)
	Settled(ctx context.Context, ask string, sent ...upload.File)
}

// File is a file that is kept for the answer to a question.
type File struct {
	ID    string `json:"id"`
	Field string `json:"field"`
	Name  string `json:"name"`
	Type  string `json:"type"` // by its content
	Size  int64  `json:"size"`
}

func fileOf(f *upload.File) File { return File{f.ID, f.Field, f.Name, f.Type, f.Size} }

// errNoFiles is what somebody hears where no files are taken.
var errNoFiles = newProblem(http.StatusForbidden, ask.NotAllowed, "This gateway takes no files.")

// errFileTooLarge is said of what no field takes.
var errFileTooLarge = newProblem(http.StatusRequestEntityTooLarge, ask.TooLarge, "The file is too large.")

// keepFile takes the body of a request as a file.
func (h *Handler) keepFile(r *http.Request, who desk.Viewer) (any, error) {
	query, err := queryOf(r)
	if err != nil || len(query) != 2 || len(query["field"]) != 1 || len(query["name"]) != 1 {
		return nil, bad("The query takes one field and one name, and nothing else.")
	}
	if h.cfg.Files == nil {
		return nil, errNoFiles
	}
	v, err := h.look(r, who)
	switch {
	case err != nil:
		return nil, err
	case v.Outcome != nil:
		return nil, errTooLate
	}
	f, err := h.formOf(&v.Ask)
	if err != nil {
		return nil, err
	}
	at := upload.Place{Ask: v.Ask.ID, Field: query.Get("field"), By: who.Principal}
	file, errs, err := h.cfg.Files.Take(r.Context(), at, f, query.Get("name"), r.Body)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, errFileTooLarge
	}
	switch {
	case err != nil:
		return nil, err
	case len(errs) > 0:
		return nil, invalid(errs)
	}
	return fileOf(&file), nil
}

func invalid(errs form.Errors) *problem {
	p := newProblem(http.StatusUnprocessableEntity, ask.InvalidContent, "The answer does not fit the question.")
	p.Errors = errs
	return p
}

// formOf gives the form of a question.
func (h *Handler) formOf(a *ask.Ask) (*form.Form, error) {
	return question.Read(a.Params).Form(h.forms)
}

// Form gives the form of a question. The error's code is BadSchema.
func (a *Ask) Form() (*form.Form, error) {
	q := question.Question{Message: a.Message, Schema: a.RequestedSchema, Definition: a.FormDefinition}
	// What is too large is for the gateway to say.
	return q.Form(form.NewCache(&form.Compiler{MaxSize: 1 << 40}, 1))
}

// kept gives the files that somebody gave for a question.
func (h *Handler) kept(ctx context.Context, a *ask.Ask, who desk.Viewer) ([]upload.File, error) {
	if h.cfg.Files == nil || a.Kind != ask.Form || question.Read(a.Params).Definition == nil {
		return nil, nil
	}
	return h.cfg.Files.Kept(ctx, a.ID, who.Principal)
}

// choose gives those of the kept files that an answer names: all of them where
// it names none.
func choose(kept []upload.File, named []byte) ([]upload.File, error) {
	if named == nil {
		return kept, nil
	}
	var ids []string
	if json.Unmarshal(named, &ids) != nil {
		return nil, bad("files must be a list of the ids of files.")
	}
	var files []upload.File
	for _, id := range ids {
		at := slices.IndexFunc(kept, func(f upload.File) bool { return f.ID == id })
		if at < 0 {
			return nil, bad("files has an id of no file that you gave for this question.")
		}
		files = append(files, kept[at])
	}
	return files, nil
}

// uploadsOf gives files as a form judges them.
func uploadsOf(files []upload.File) map[string][]form.Upload {
	all := map[string][]form.Upload{}
	for i := range files {
		all[files[i].Field] = append(all[files[i].Field], files[i].Upload())
	}
	return all
}

// attach writes the addresses of files into the content of an answer, behind
// what the caller wrote.
func attach(a *ask.Ask, f *form.Form, content []byte, files []upload.File, links *upload.Links) []byte {
	linked := form.Values{}
	for i := range files {
		u := files[i].Upload()
		u.URL = links.URL(&files[i])
		all, _ := linked[files[i].Field].([]form.Upload)
		linked[files[i].Field] = append(all, u)
	}
	at, err := wire.Value(content)
	if err != nil {
		return content // it was read before
	}
	open := bytes.TrimRight(content[at.Start:at.End-1], " \t\r\n")
	out := slices.Clone(open)
	if len(open) > 1 {
		out = append(out, ',')
	}
	return append(out, question.Encode(question.Created(a), f, linked)[1:]...)
}

// submitFiles is submit for an accept with files.
func (h *Handler) submitFiles(r *http.Request, who desk.Viewer, a *ask.Ask, content []byte, files []upload.File) (any, error) {
	f, err := h.formOf(a)
	if err != nil {
		return nil, err
	}
	links, err := h.cfg.Files.Link(r.Context(), a.ID, a.Backend, who.Principal, files)
	if err != nil {
		return nil, err
	}
	receipt, err := h.submit(r, who, ask.Accept, attach(a, f, content, files, links))
	switch taken, _ := receipt.(Receipt); {
	case err != nil && ended(err), err == nil && !taken.Delivered:
		links.Revoke(r.Context())
		files = nil
	}
	if err == nil {
		h.cfg.Files.Settled(r.Context(), a.ID, files...)
	}
	return receipt, err
}

// ended reports whether an error means that an answer was not taken, for
// certain.
func ended(err error) bool {
	switch ask.CodeOf(err) {
	case ask.TooLate, ask.Unknown, ask.NotYours:
		return true
	}
	return false
}
