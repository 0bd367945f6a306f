package upload

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"strconv"
	"time"
	"unicode"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/seal"
)

// ConstraintTotal is what files break that are too large together. No
// definition says so: the operator does.
const ConstraintTotal = "maxTotalSize"

// Take reads a file to its end and keeps it as a draft. What the field does
// not take is not kept: then there are errors of the form, and the file's
// content may not have been read to its end. A file that is there already is
// kept once; where the field takes one file only, the new one takes the place
// of the old. An error says that the file could not be kept, or not be read.
func (s *Store) Take(ctx context.Context, at Place, f *form.Form, name string, content io.Reader) (File, form.Errors, error) {
	fd, ok := f.Field(at.Field)
	if !ok || fd.Type != form.File {
		return File{}, nil, ask.Errorf(ask.BadMessage, "The question has no file field of this name.")
	}
	name = safeName(name)
	if errs := about(f.CheckUpload(fd.ID, form.Upload{Name: name}), "allowedExtensions"); len(errs) > 0 {
		return File{}, errs, nil
	}
	leave, err := s.busy.enter(ctx, at.Ask)
	if err != nil {
		return File{}, nil, err
	}
	defer leave()
	there, err := s.drafts(ctx, at.Ask)
	if err != nil {
		return File{}, nil, err
	}
	if len(there) >= maxFiles {
		return File{}, nil, ask.Errorf(ask.TooLarge, "There are too many files for this question.")
	}
	t := &taking{store: s, form: f, field: fd, room: s.cfg.Limits.PerAsk}
	for i := range there {
		t.room -= there[i].Size
	}
	now := s.cfg.Now()
	t.draft = draft{
		Format: recordFormat, File: File{ID: s.cfg.Ring.Mint(seal.File, s.cfg.Home, 0), Field: fd.ID, Name: name},
		Ask: at.Ask, By: at.By,
		Until: now.Add(s.cfg.Limits.Draft), Gone: now.Add(s.cfg.Limits.Draft + s.cfg.Limits.Keep),
	}
	errs, err := t.read(ctx, content)
	if err == nil && len(errs) == 0 {
		for i := range there {
			if d := &there[i]; d.By == at.By && d.Field == fd.ID && d.Name == name && bytes.Equal(d.Sum, t.draft.Sum) {
				s.discard(ctx, &t.draft)
				return d.File, nil, nil
			}
		}
		err = s.write(ctx, draftKey(at.Ask, t.draft.ID), journal.Rev{}, &t.draft, t.draft.Gone.Sub(now))
	}
	if err != nil || len(errs) > 0 {
		s.discard(ctx, &t.draft)
		return File{}, errs, err
	}
	if !fd.Multiple() {
		s.drop(ctx, there, func(d *draft) bool { return d.By == at.By && d.Field == fd.ID })
	}
	s.cfg.Log.Info("file kept", "ask", at.Ask, "principal", at.By.String(), "bytes", t.draft.Size, "type", t.draft.Type)
	return t.draft.File, nil, nil
}

// taking is a file on its way in.
type taking struct {
	store *Store
	form  *form.Form
	field *form.Field
	room  int64 // bytes that the question may still have
	draft draft
}

// read stores the content part by part, as far as it fits.
func (t *taking) read(ctx context.Context, content io.Reader) (form.Errors, error) {
	s, d := t.store, &t.draft
	largest := t.form.Largest(t.field.ID)
	sum, found := sha256.New(), newSniffer()
	buf := make([]byte, partSize)
	for last := false; !last; {
		n, err := io.ReadFull(content, buf)
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) && n > 0:
			last = true
		case err != nil:
			return nil, ask.Wrap(ask.BadMessage, "The file could not be read to its end.", err)
		}
		part := buf[:n]
		if d.Size += int64(n); d.Size > largest {
			return about(t.form.CheckUpload(t.field.ID, d.Upload()), "maxSize"), nil
		}
		if d.Size > t.room {
			return form.Errors{t.tooMuch()}, nil
		}
		sum.Write(part)
		found.Write(part)
		if err := t.store.room.take(ctx, d.ID, occupied{d.Ask, int64(n), d.Gone}); err != nil {
			return nil, err
		}
		if n == 0 {
			break
		}
		key := partKey(d.ID, len(d.Parts))
		rev, err := s.cfg.Shelf.Put(ctx, key, journal.Rev{}, s.cfg.Ring.SealBytes(seal.File, []byte(key), part), d.Gone.Sub(s.cfg.Now()))
		if err != nil {
			return nil, refusal(err)
		}
		d.Parts = append(d.Parts, rev)
	}
	d.Sum = sum.Sum(nil)
	d.Type = found.Type(d.Name, t.field.TakesType)
	return t.form.CheckUpload(t.field.ID, d.Upload()), nil
}

func (t *taking) tooMuch() form.Error {
	return form.Error{
		Field: t.field.ID, Code: form.Code, Constraint: ConstraintTotal, Expected: t.store.cfg.Limits.PerAsk,
		Message: t.field.Label + " makes the files of this form too large together", Path: []string{t.field.ID},
	}
}

func partKey(id string, n int) string { return "part." + id + "." + strconv.Itoa(n) }

// about gives those errors that are about one constraint.
func about(errs form.Errors, constraint string) form.Errors {
	var some form.Errors
	for _, e := range errs {
		if e.Constraint == constraint {
			some = append(some, e)
		}
	}
	return some
}

// Kept gives somebody the drafts that they gave for a question, oldest first.
func (s *Store) Kept(ctx context.Context, askID string, by ask.Principal) ([]File, error) {
	all, err := s.drafts(ctx, askID)
	if err != nil {
		return nil, err
	}
	var files []File
	for i := range all {
		if all[i].By == by {
			files = append(files, all[i].File)
		}
	}
	return files, nil
}

// Settled removes the drafts of a question that is over. Those that were sent
// with its answer are the server's from then on.
func (s *Store) Settled(ctx context.Context, askID string, sent ...File) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyTime)
	defer cancel()
	all, err := s.drafts(ctx, askID)
	if err != nil {
		s.cfg.Log.Warn("drafts not removed: they go when their time is over", "ask", askID, "err", err)
		return
	}
	isSent := map[string]bool{}
	for _, f := range sent {
		isSent[f.ID] = true
	}
	for i := range all {
		if d := &all[i]; isSent[d.ID] {
			s.forget(ctx, d)
		}
	}
	s.drop(ctx, all, func(d *draft) bool { return !isSent[d.ID] })
}

// drop removes those drafts that it is to, and says how many.
func (s *Store) drop(ctx context.Context, all []draft, which func(*draft) bool) (dropped int) {
	for i := range all {
		if d := &all[i]; which(d) && s.forget(ctx, d) {
			s.discard(ctx, d)
			dropped++
		}
	}
	return dropped
}

// forget removes the record of a draft, and leaves its parts.
func (s *Store) forget(ctx context.Context, d *draft) bool {
	key := draftKey(d.Ask, d.ID)
	item, err := s.cfg.Shelf.Get(ctx, key)
	if err == nil {
		err = s.cfg.Shelf.Delete(ctx, key, item.Rev)
	}
	if err != nil && !errors.Is(err, journal.NotFound) {
		s.cfg.Log.Warn("draft not removed: it goes when its time is over", "ask", d.Ask, "err", err)
	}
	return err == nil
}

// discard removes the parts of a file, as far as it gets, also for somebody
// who has gone away.
func (s *Store) discard(ctx context.Context, d *draft) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyTime)
	defer cancel()
	for n, rev := range d.Parts {
		if err := s.cfg.Shelf.Delete(ctx, partKey(d.ID, n), rev); err != nil && !errors.Is(err, journal.NotFound) {
			s.cfg.Log.Warn("file not removed: it goes when its time is over", "ask", d.Ask, "err", err)
			return // what is left still takes room
		}
	}
	s.room.free(d.ID)
}

// visible leaves out what cannot be seen in a name.
func visible(r rune) rune {
	if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
		return -1
	}
	return r
}

// span is how long something has, in whole seconds and at least one.
func span(d time.Duration) time.Duration { return max(journal.MinKeep, d.Truncate(time.Second)) }
