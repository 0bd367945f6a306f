package page

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/upload"
)

// keptSuffix stands behind the name of a file field in that of the boxes in
// which its files are ticked that are there already.
const keptSuffix = "-kept"

// Files keeps what people give for file fields. *upload.Store is one.
type Files interface {
	Take(ctx context.Context, at upload.Place, f *form.Form, name string, content io.Reader) (upload.File, form.Errors, error)
	Kept(ctx context.Context, ask string, by ask.Principal) ([]upload.File, error)
	Link(ctx context.Context, ask, backend string, by ask.Principal, files []upload.File) (*upload.Links, error)
	Settled(ctx context.Context, ask string, sent ...upload.File)
}

// given are the files that somebody gave for a question so far.
type given struct {
	kept    []upload.File
	chosen  map[string]bool // the ids of those that are to be sent
	errs    form.Errors     // why others were not kept
	trouble *ask.Error      // why they could not be
}

// takesFiles reports whether the question asks for files.
func (q *question) takesFiles() bool {
	return q.Form != nil && slices.ContainsFunc(q.Form.Fields(), func(fd form.Field) bool { return fd.Type == form.File })
}

// Uploads reports whether the form of the page must be able to send files.
func (q *question) Uploads() bool { return q.takesFiles() }

// recall finds the files that somebody gave for a question. Those in chosen
// are ticked, all of them where it is nil.
func (h *Handler) recall(ctx context.Context, q *question, v *visitor, chosen map[string]bool) {
	if !q.takesFiles() {
		return
	}
	if q.given == nil {
		q.given = &given{}
	}
	kept, err := h.cfg.Files.Kept(ctx, q.ID, v.Principal)
	if err != nil {
		h.fail("files of a question could not be listed", q.ID, v, err)
		q.given.trouble = ask.From(err)
	}
	q.given.kept, q.given.chosen = kept, chosen
	if chosen == nil {
		q.given.chosen = map[string]bool{}
		for _, f := range kept {
			q.given.chosen[f.ID] = true
		}
	}
}

// of gives the files that are to be sent for a field.
func (g *given) of(field string) []upload.File {
	var some []upload.File
	for _, f := range g.kept {
		if f.Field == field && g.chosen[f.ID] {
			some = append(some, f)
		}
	}
	return some
}

// uploads gives all of them as the form judges them.
func (g *given) uploads(f *form.Form) map[string][]form.Upload {
	all := map[string][]form.Upload{}
	if g == nil {
		return all
	}
	for i := range f.Fields() {
		for _, file := range g.of(f.Fields()[i].ID) {
			all[file.Field] = append(all[file.Field], file.Upload())
		}
	}
	return all
}

// faulty gives all that is wrong with an answer: what its form says, and what
// was wrong with files that were not kept. Whoever gave a file that was
// refused need not be told that there is none.
func (g *given) faulty(errs form.Errors) form.Errors {
	if g == nil || len(g.errs) == 0 {
		return errs
	}
	all := slices.DeleteFunc(slices.Clone(errs), func(e form.Error) bool {
		return len(g.errs.For(e.Field)) > 0 && (e.Constraint == form.ConstraintRequired || e.Constraint == "minItems")
	})
	return append(all, g.errs...)
}

// keep takes files while somebody still fills in the rest.
func (h *Handler) keep(w http.ResponseWriter, r *http.Request) {
	s := h.take(w, r)
	if s == nil {
		return
	}
	switch {
	case s.given == nil:
		h.again(w, s, http.StatusBadRequest, "This question takes no files.")
	case len(s.given.errs) > 0:
		h.ask(w, s.by, http.StatusUnprocessableEntity, s.question, askBody{}, s.values, s.given.errs)
	default:
		h.ask(w, s.by, http.StatusOK, s.question, askBody{News: "Your files are kept."}, s.values, nil)
	}
}

// attach puts the addresses of the files into an answer that its form has
// accepted. Undo takes them back.
func (h *Handler) attach(ctx context.Context, s *sent, answer form.Values) (files []upload.File, undo func(), err error) {
	if s.given == nil {
		return nil, func() {}, nil
	}
	for id, value := range answer {
		if _, ok := value.([]form.Upload); ok {
			files = append(files, s.given.of(id)...)
		}
	}
	if len(files) == 0 {
		return nil, func() {}, nil
	}
	links, err := h.cfg.Files.Link(ctx, s.ID, s.backend, s.by.Principal, files)
	if err != nil {
		return nil, nil, err
	}
	linked := map[string][]form.Upload{}
	for i := range files {
		f := &files[i]
		u := f.Upload()
		u.URL = links.URL(f)
		linked[f.Field] = append(linked[f.Field], u)
	}
	for id, uploads := range linked {
		answer[id] = uploads
	}
	return files, func() { links.Revoke(ctx) }, nil
}

// keptFile is a file that is there already, as a page shows it.
type keptFile struct {
	ID   string
	Name string
	Size string
	On   bool
}

// showFiles puts the files beside the fields that they are for.
func (g *given) showFiles(f *form.Form, rows []row) {
	if g == nil {
		return
	}
	for i := range rows {
		for _, file := range g.kept {
			if file.Field == f.Fields()[i].ID {
				rows[i].Files = append(rows[i].Files, keptFile{file.ID, line(file.Name, maxLabel), sizeWords(file.Size), g.chosen[file.ID]})
			}
		}
	}
}

// place finds the file field that a part of a post is for.
func placeOf(f *form.Form, name string) (*form.Field, bool) {
	for i := range f.Fields() {
		if fd := &f.Fields()[i]; fd.Type == form.File && fieldID(i) == name {
			return fd, true
		}
	}
	return nil, false
}

// ticked gives the ids of the files that were posted as being kept.
func ticked(values map[string][]string) map[string]bool {
	ids := map[string]bool{}
	for name, posted := range values {
		if strings.HasSuffix(name, keptSuffix) {
			for _, id := range posted {
				ids[id] = true
			}
		}
	}
	return ids
}
