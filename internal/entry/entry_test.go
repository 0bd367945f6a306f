package entry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/answerback/answerback/ask"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// challenged is an error that says how to answer it.
type challenged struct {
	status int
	with   string
}

func (challenged) Error() string              { return "no" }
func (c challenged) Challenge() (int, string) { return c.status, c.with }

func TestChallenge(t *testing.T) {
	for _, k := range []struct {
		name   string
		err    error
		status int
		with   []string
	}{
		{"an error of any kind", errors.New("no"), 401, []string{"Bearer"}},
		{"nobody, and no error", nil, 401, []string{"Bearer"}},
		{"one that says how", fmt.Errorf("wrapped: %w", challenged{401, `Bearer error="invalid_token"`}), 401, []string{`Bearer error="invalid_token"`}},
		{"one that nothing helps against", challenged{403, ""}, 403, nil},
	} {
		h := http.Header{}
		if status := Challenge(h, k.err); status != k.status || !slices.Equal(h["Www-Authenticate"], k.with) {
			t.Errorf("%s: %d %q", k.name, status, h["Www-Authenticate"])
		}
	}
}

func TestRefusalOf(t *testing.T) {
	busy := &ask.Error{Code: ask.RateLimited, Message: "Slower.", Data: map[string]any{"retryAfterMs": int64(1200)}}
	for _, k := range []struct {
		name   string
		err    error
		status int
		code   ask.Code
		after  string
	}{
		{"a reason of the sender", ask.Errorf(ask.BadMessage, "No."), 400, ask.BadMessage, ""},
		{"a reason of ours", ask.Errorf(ask.StoreCorrupt, "No."), 500, ask.StoreCorrupt, ""},
		{"no reason", errors.New("no"), 500, ask.Internal, ""},
		{"a store that is away", ask.Errorf(ask.JournalUnavailable, "No."), 503, ask.JournalUnavailable, "5"},
		{"a limit that says when", fmt.Errorf("wrapped: %w", busy), 429, ask.RateLimited, "2"},
		{"one that has its status", fmt.Errorf("wrapped: %w", NotJSON), 415, ask.BadMessage, ""},
	} {
		r, h := RefusalOf(k.err), http.Header{}
		RetryAfter(h, r.Retry)
		if r.Status != k.status || r.Reason.Code != k.code || h.Get("Retry-After") != k.after {
			t.Errorf("%s: %d %s, Retry-After %q", k.name, r.Status, r.Reason.Code, h.Get("Retry-After"))
		}
		if ask.CodeOf(r) != k.code {
			t.Errorf("%s: the reason cannot be found again", k.name)
		}
	}
}

func TestReadJSON(t *testing.T) {
	const plain = "application/json"
	broken := io.MultiReader(strings.NewReader("{"), errReader{})
	for _, k := range []struct {
		name  string
		types []string
		body  io.Reader
		want  string // the body, or the code
	}{
		{"plain", []string{plain}, strings.NewReader("{}"), "{}"},
		{"its charset said", []string{`Application/JSON; charset="UTF-8"`}, strings.NewReader("{}"), "{}"},
		{"as large as may be", []string{plain}, strings.NewReader("12345678"), "12345678"},
		{"larger", []string{plain}, strings.NewReader("123456789"), "413 too_large"},
		{"cut off", []string{plain}, broken, "400 bad_message"},
		{"its charset misspelt", []string{plain + "; charset=utf8"}, strings.NewReader("{}"), "{}"},
		{"another type", []string{"text/plain"}, strings.NewReader("{}"), "415 bad_message"},
		{"another charset", []string{plain + "; charset=utf-16"}, strings.NewReader("{}"), "415 bad_message"},
		{"two types", []string{plain, plain}, strings.NewReader("{}"), "415 bad_message"},
		{"no type", nil, strings.NewReader("{}"), "415 bad_message"},
		{"a broken parameter", []string{plain + "; charset"}, strings.NewReader("{}"), "415 bad_message"},
	} {
		r := httptest.NewRequest("POST", "/", k.body)
		r.Header["Content-Type"] = k.types
		raw, err := ReadJSON(httptest.NewRecorder(), r, 8)
		got := string(raw)
		if err != nil {
			no := RefusalOf(err)
			got = fmt.Sprint(no.Status, " ", no.Reason.Code)
		}
		if got != k.want {
			t.Errorf("%s: got %s, want %s", k.name, got, k.want)
		}
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// What cannot be written is no success.
func TestUnwritableBodyIsAnError(t *testing.T) {
	w := httptest.NewRecorder()
	WriteJSON(w, http.StatusOK, func() {})
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), `"code":"internal"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	w = httptest.NewRecorder()
	WriteJSON(w, http.StatusOK, []int{1})
	if w.Code != http.StatusOK || w.Body.String() != "[1]\n" || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%d %s %v", w.Code, w.Body, w.Header())
	}
}

// timed is a response that notes its deadline at each write.
type timed struct {
	http.ResponseWriter
	deadline time.Time
	at       []time.Duration // of each write; 0 without a deadline
}

func (w *timed) SetWriteDeadline(at time.Time) error { w.deadline = at; return nil }

func (w *timed) Write(b []byte) (int, error) {
	w.at = append(w.at, time.Until(w.deadline))
	return w.ResponseWriter.Write(b)
}

// A push has its time, and leaves no deadline behind.
func TestPushHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := httptest.NewRecorder()
		w := &timed{ResponseWriter: rec}
		p := NewPusher(w)
		p.Begin()
		for range 2 {
			if err := p.Push([]byte("x")); err != nil {
				t.Error(err)
			}
			if !w.deadline.IsZero() {
				t.Error("a deadline is left behind")
			}
			time.Sleep(time.Hour)
		}
		if !slices.Equal(w.at, []time.Duration{PushTime, PushTime}) {
			t.Errorf("the writes had %v", w.at)
		}
		if rec.Header().Get("Content-Type") != "text/event-stream" || rec.Body.String() != "xx" {
			t.Errorf("sent %v %s", rec.Header(), rec.Body)
		}
	})
}

// Closing lets nobody in, ends what there is, some at a time, and waits for
// all who are inside.
func TestEndWaitsForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var in Inside
		if !in.Enter() {
			t.Fatal("an open door lets nobody in")
		}
		in.Go(func() { time.Sleep(time.Minute) })
		in.Close()
		if in.Enter() {
			t.Error("a closed door lets somebody in")
		}
		var ending, most atomic.Int64
		end := func(int) {
			most.Store(max(most.Load(), ending.Add(1)))
			time.Sleep(time.Second)
			ending.Add(-1)
		}
		short, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("too long"))
		defer cancel()
		if err := End(short, &in, slices.Values(make([]int, 3*endAtOnce)), end); err == nil || err.Error() != "too long" {
			t.Errorf("it did not wait for all: %v", err)
		}
		synctest.Wait()
		go func() {
			time.Sleep(time.Hour)
			in.Leave()
		}()
		began := time.Now()
		if err := End(t.Context(), &in, slices.Values(make([]int, 1)), end); err != nil {
			t.Error(err)
		}
		if waited := time.Since(began); waited != time.Hour {
			t.Errorf("it waited for %s", waited)
		}
		if most.Load() > endAtOnce+1 {
			t.Errorf("%d ended at once", most.Load())
		}
	})
}
