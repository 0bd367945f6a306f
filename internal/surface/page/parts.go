package page

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/upload"
)

// maxPostParts is how many parts a post with files may have: more than any
// form that is shown has fields and choices.
const maxPostParts = 2*maxParts + 100

// isParts reports whether a post comes in parts, as forms with files do.
func isParts(r *http.Request) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "multipart/form-data"
}

// parts reads a post that comes in parts, one after the other. Files are kept
// on their way, where the form's token came before them; otherwise nobody
// knows whether the person wants that.
type parts struct {
	h      *Handler
	s      *sent
	r      *http.Request
	open   bool  // files may be kept at all
	left   int64 // bytes of everything but files
	chosen map[string]bool
}

// readParts reads the values of a post into s, and keeps its files where the
// question is open. A status other than 0 says why it cannot.
func (h *Handler) readParts(r *http.Request, s *sent, open bool) int {
	body, err := r.MultipartReader()
	if err != nil || !s.takesFiles() {
		return http.StatusUnsupportedMediaType
	}
	p := &parts{h: h, s: s, r: r, open: open, left: maxPost, chosen: map[string]bool{}}
	s.values, s.given = url.Values{}, &given{}
	for range maxPostParts {
		part, err := body.NextPart()
		if errors.Is(err, io.EOF) {
			for id := range ticked(s.values) {
				p.chosen[id] = true
			}
			h.recall(r.Context(), s.question, s.by, p.chosen)
			return 0
		}
		if err != nil {
			return unreadableStatus(err)
		}
		if status := p.read(part); status != 0 {
			return status
		}
	}
	return http.StatusRequestEntityTooLarge
}

func unreadableStatus(err error) int {
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadRequest
}

// read takes one part: a value, or a file.
func (p *parts) read(part *multipart.Part) int {
	name := part.FormName()
	if part.FileName() != "" {
		return p.file(name, part)
	}
	value, err := io.ReadAll(io.LimitReader(part, p.left+1))
	if err != nil {
		return unreadableStatus(err)
	}
	if p.left -= int64(len(name) + len(value)); p.left < 0 {
		return http.StatusRequestEntityTooLarge
	}
	p.s.values.Add(name, string(value))
	return 0
}

// file keeps a file. What is wrong with it is said on the page; what is not to
// be kept is passed over.
func (p *parts) file(name string, part *multipart.Part) int {
	if !p.open || !p.h.proven(p.s) || p.s.given.trouble != nil {
		return 0
	}
	fd, ok := placeOf(p.s.Form, name)
	if !ok {
		return 0
	}
	at := upload.Place{Ask: p.s.ID, Field: fd.ID, By: p.s.by.Principal}
	f, errs, err := p.h.cfg.Files.Take(p.r.Context(), at, p.s.Form, part.FileName(), part)
	switch {
	case err == nil && len(errs) == 0:
		p.chosen[f.ID] = true
	case err == nil:
		p.s.given.errs = append(p.s.given.errs, errs...)
	case ask.CodeOf(err) == ask.BadMessage:
		return unreadableStatus(err)
	default:
		p.h.fail("file could not be kept", p.s.ID, p.s.by, err)
		p.s.given.trouble = ask.From(err)
	}
	return 0
}
