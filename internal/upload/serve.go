package upload

import (
	"context"
	"encoding/base64"
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/seal"
)

const (
	// partTime is how long whoever fetches a file may take for one part.
	partTime = 30 * time.Second
	// maxRaces is how often a use is counted anew because somebody else's was
	// counted in between.
	maxRaces = 20
)

// ServeHTTP gives a file to whoever has its link. Whatever is no link, or not
// any more, is not found, and nobody can tell which it is. A file is never
// shown in a browser: it is saved, under its name.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "Files can only be fetched.", http.StatusMethodNotAllowed)
		return
	}
	token := strings.TrimPrefix(r.URL.Path, Path)
	if _, err := s.cfg.Ring.Verify(seal.File, token); err != nil || r.URL.RawQuery != "" {
		notFound(w)
		return
	}
	l, err := s.use(r.Context(), token, r.Method == http.MethodGet)
	if err != nil {
		if e := ask.From(err); e.Code != ask.Unknown {
			s.cfg.Log.Error("file could not be read", "code", string(e.Code), "err", err)
			http.Error(w, e.Message, http.StatusServiceUnavailable)
			return
		}
		notFound(w)
		return
	}
	s.send(w, r, l)
	if r.Method == http.MethodGet && l.Left == 0 {
		s.discard(r.Context(), &l.draft)
	}
}

func notFound(w http.ResponseWriter) { http.Error(w, "There is no such file.", http.StatusNotFound) }

// use finds what a link stands for, and counts that it was used. The last use
// ends it.
func (s *Store) use(ctx context.Context, token string, count bool) (*link, error) {
	key := linkKey(token)
	for range maxRaces {
		item, err := s.cfg.Shelf.Get(ctx, key)
		if err != nil {
			return nil, refusal(err)
		}
		var l link
		if err := s.read(&item, &l); err != nil {
			return nil, ask.Wrap(ask.StoreCorrupt, "What is kept of this file is damaged.", err)
		}
		now := s.cfg.Now()
		if l.Left < 1 || !now.Before(l.Until) {
			return nil, ask.Errorf(ask.Unknown, "There is no such file.")
		}
		if !count {
			return &l, nil
		}
		if l.Left--; l.Left == 0 {
			err = s.cfg.Shelf.Delete(ctx, key, item.Rev)
		} else {
			err = s.write(ctx, key, item.Rev, &l, span(l.Until.Sub(now)))
		}
		if err == nil {
			return &l, nil
		}
		if !errors.Is(err, journal.Conflict) {
			return nil, refusal(err)
		}
	}
	return nil, ask.Errorf(ask.Internal, "This file is fetched by too many at once.")
}

// send writes a file. Once its first part is out there is no way to say that
// something went wrong but to break off.
func (s *Store) send(w http.ResponseWriter, r *http.Request, l *link) {
	h := w.Header()
	h.Set("Content-Type", servedType(l.Type))
	h.Set("Content-Length", strconv.FormatInt(l.Size, 10))
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": l.Name}))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Repr-Digest", "sha-256=:"+base64.StdEncoding.EncodeToString(l.Sum)+":")
	if r.Method == http.MethodHead {
		return
	}
	began := false
	for n := range l.Parts {
		part, err := s.part(r.Context(), l, n)
		if err == nil {
			began = true
			// A writer without a connection has nobody to wait for.
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(partTime))
			_, err = w.Write(part)
		}
		switch {
		case err != nil && began:
			s.cfg.Log.Warn("file broken off", "ask", l.Ask, "backend", l.Backend, "err", err)
			panic(http.ErrAbortHandler)
		case err != nil:
			s.cfg.Log.Error("file could not be read", "ask", l.Ask, "backend", l.Backend, "err", err)
			for name := range h {
				h.Del(name)
			}
			http.Error(w, "The file cannot be read at the moment.", http.StatusServiceUnavailable)
			return
		}
	}
	s.cfg.Log.Info("file fetched", "ask", l.Ask, "backend", l.Backend, "bytes", l.Size, "left", l.Left)
}

func (s *Store) part(ctx context.Context, l *link, n int) ([]byte, error) {
	key := partKey(l.ID, n)
	item, err := s.cfg.Shelf.Get(ctx, key)
	if err != nil {
		return nil, refusal(err)
	}
	return s.cfg.Ring.UnsealBytes(seal.File, []byte(key), item.Value)
}

// servedType is the type that a response names. Whatever a browser could run
// goes out as mere bytes, although it is not shown either way.
func servedType(found string) string {
	kind, _, _ := strings.Cut(found, ";")
	switch kind {
	case "text/html", "text/xml", "application/xml", "image/svg+xml", "application/xhtml+xml":
		return "application/octet-stream"
	}
	return found
}
