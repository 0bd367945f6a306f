package upload

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/internal/journal"
)

// keys are those of everything that is stored.
func (k *kit) keys() []string {
	k.t.Helper()
	var all []string
	for item, err := range k.shelf.Scan(context.Background(), "") {
		if err != nil {
			k.t.Fatal(err)
		}
		all = append(all, item.Key)
	}
	return all
}

func TestDraftsGoWithTheirQuestion(t *testing.T) {
	for name, restarted := range map[string]bool{"at once": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(t)
				k.kept("one", "a.txt", make([]byte, partSize+1))
				k.kept("some", "empty.txt", nil)
				bobs := Place{Ask: "ask1", Field: "one", By: bob}
				other := Place{Ask: "ask2", Field: "one", By: ada}
				for _, at := range []Place{bobs, other} {
					if _, errs, err := k.Take(t.Context(), at, fileForm(t), "b.txt", strings.NewReader("hello")); err != nil || len(errs) > 0 {
						t.Fatal(errs, err)
					}
				}
				s := k.Store
				if restarted {
					s = k.again(k.cfg.Ring, k.cfg.Limits)
				}
				tidier := s.Tidy()
				defer tidier.Close()
				tidier.Over("ask1")
				tidier.Over("ask3") // which has none
				synctest.Wait()
				for _, key := range k.keys() {
					if strings.HasPrefix(key, "ask.ask1.") {
						t.Errorf("the draft %s is still there", key)
					}
				}
				if n := len(k.keys()); n != 2 {
					t.Errorf("the store has %v, want the draft of the other question and its part", k.keys())
				}
				if files, err := k.Kept(t.Context(), "ask2", ada); err != nil || len(files) != 1 {
					t.Errorf("the other question has %v, %v", files, err)
				}
				if s.room.used != 5 || s.room.asks["ask1"] != 0 || s.room.asks["ask2"] != 1 {
					t.Errorf("the room counts %d bytes, for %v", s.room.used, s.room.asks)
				}
				if log := k.log.String(); !strings.Contains(log, `"files of a question that is over removed" ask=ask1 files=3`) || strings.Contains(log, "ask=ask3") {
					t.Errorf("the log says:\n%s", log)
				}
			})
		})
	}
}

// away is a shelf that does not answer.
type away struct {
	Shelf
	mu    sync.Mutex
	calls int
}

func (a *away) Scan(context.Context, string) iter.Seq2[journal.Item, error] {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls++
	return func(yield func(journal.Item, error) bool) {
		yield(journal.Item{}, &journal.Error{Reason: journal.Unavailable, Message: "scanning", Cause: errors.New("no route to host")})
	}
}

func TestTidyingNeverHoldsAnybodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		s := &away{Shelf: k.shelf}
		k.cfg.Shelf = s
		tidier := k.Tidy()
		began := time.Now()
		for range 3 * maxOver {
			tidier.Over("ask1")
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("whoever said so waited %v", took)
		}
		synctest.Wait()
		tidier.Close()
		tidier.Over("ask1") // and nothing happens
		if s.calls == 0 || !strings.Contains(k.log.String(), "they go when their time is over") {
			t.Errorf("after %d calls the log says:\n%s", s.calls, k.log.String())
		}
	})
}
