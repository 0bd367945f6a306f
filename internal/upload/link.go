package upload

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/seal"
)

// Links are the addresses of the files of one answer. They work from the
// moment in which they were made, and are told to the asking server alone, as
// part of the answer.
type Links struct {
	store *Store
	urls  map[string]string // by the id of the file
	keys  []string
}

// URL is the address of a file.
func (l *Links) URL(f *File) string { return l.urls[f.ID] }

// Revoke takes the addresses back: the answer was not taken. The drafts stay.
func (l *Links) Revoke(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyTime)
	defer cancel()
	for _, key := range l.keys {
		item, err := l.store.cfg.Shelf.Get(ctx, key)
		if err == nil {
			err = l.store.cfg.Shelf.Delete(ctx, key, item.Rev)
		}
		if err != nil && !errors.Is(err, journal.NotFound) {
			l.store.cfg.Log.Warn("link of a file not removed: it goes when its time is over", "err", err)
		}
	}
}

// Link makes the addresses of drafts that somebody sends as an answer to the
// question of a backend. On an error there are none.
func (s *Store) Link(ctx context.Context, askID, backend string, by ask.Principal, files []File) (*Links, error) {
	all, err := s.drafts(ctx, askID)
	if err != nil {
		return nil, err
	}
	mine := map[string]*draft{}
	for i := range all {
		if all[i].By == by {
			mine[all[i].ID] = &all[i]
		}
	}
	links := &Links{store: s, urls: map[string]string{}}
	for _, f := range files {
		d := mine[f.ID]
		if d == nil {
			links.Revoke(ctx)
			return nil, ask.Errorf(ask.Unknown, "A file is not kept any more. Choose it again.")
		}
		// The random part of an id is 128 bits long, and its MAC spares the
		// store everything that is guessed.
		token := s.cfg.Ring.Mint(seal.File, s.cfg.Home, 0)
		key := linkKey(token)
		until := s.cfg.Now().Add(s.cfg.Limits.Keep)
		l := &link{Format: recordFormat, draft: *d, Backend: backend, Until: until, Left: s.cfg.Limits.Uses}
		if err := s.write(ctx, key, journal.Rev{}, l, span(s.cfg.Limits.Keep)); err != nil {
			links.Revoke(ctx)
			return nil, err
		}
		links.urls[f.ID] = s.cfg.PublicURL + Path + token
		links.keys = append(links.keys, key)
	}
	return links, nil
}

// linkKey is where a link is kept. Whoever can read the keys of the store
// cannot use it.
func linkKey(token string) string {
	sum := sha256.Sum256([]byte(token))
	return "link." + base64.RawURLEncoding.EncodeToString(sum[:])
}
