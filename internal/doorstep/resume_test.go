package doorstep

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/wire"
)

// TestAWaitingCallGoesOnAfterARestart: from the handle of its question, a call
// is sent when the account is there, once, or ends as it would have.
func TestAWaitingCallGoesOnAfterARestart(t *testing.T) {
	for name, each := range map[string]struct{ answer, want string }{
		"connected": {want: `"ran":"tools/call"`},
		"declined":  {answer: `{"action":"decline"}`, want: "declined to connect"},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := newServer(), newClient()
			l := openLine(t, s, c, nil)
			ctx, crash := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			out := request(t, "tools/call", "search")
			out.Edits = []wire.Edit{{Span: out.Msg.Name, With: []byte(`"own_search"`)}}
			go func() {
				_, err := l.Call(ctx, out, c)
				ended <- err
			}()
			handle := (<-c.questions).Resume
			crash()
			<-ended

			d := l.(*line).step
			var told contract.Hello
			r, err := d.Resume(contract.Hello{Principal: ann, Events: c}, func(ctx context.Context, h contract.Hello) (contract.Line, error) {
				told = h
				return s.open(ctx, h)
			}, c, handle)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Line.Close(t.Context())
			q := r.Questions[0]
			context.AfterFunc(q.Gone, q.Over)
			if each.answer == "" {
				s.accounts.connect()
			} else if err := q.Reply(t.Context(), []byte(each.answer), nil); err != nil {
				t.Fatal(err)
			}
			reply, err := r.Wait(t.Context())
			if err != nil || !strings.Contains(string(reply.Msg.Raw), each.want) || !strings.Contains(string(reply.Msg.Raw), `"id":"7"`) {
				t.Errorf("%s %v", reply.Msg.Raw, err)
			}
			if each.answer == "" && (s.ran != 1 || string(told.Params) != `{"protocolVersion":"2025-06-18"}` || len(s.notes) != 1) {
				t.Errorf("ran %d times, told %s, heard %q", s.ran, told.Params, s.notes)
			}
		})
	}
	d, err := New(Config{Backend: "docs", Accounts: newAccounts(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for _, handle := range []string{"", "{}", `{"call":"e30="}`} {
		if _, err := d.Resume(contract.Hello{}, nil, newClient(), []byte(handle)); ask.CodeOf(err) != ask.BadState {
			t.Errorf("handle %q: %v", handle, err)
		}
	}
}

// TestNothingIsSentBeforeTheQuestionHasEnded: a call that is found waiting
// after a crash was not sent.
func TestNothingIsSentBeforeTheQuestionHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := newServer(), &slow{newClient()}
		l := openLine(t, s, c.client, nil)
		end := make(chan error, 1)
		go func() {
			_, err := l.Call(t.Context(), request(t, "tools/call", "search"), c)
			end <- err
		}()
		q := <-c.questions
		s.accounts.connect()
		time.Sleep(time.Minute)
		if s.ran != 0 || q.Gone.Err() == nil {
			t.Errorf("ran %d times before the end of the question was stored", s.ran)
		}
		q.Over()
		if err := <-end; err != nil || s.ran != 1 {
			t.Errorf("ran %d times, %v", s.ran, err)
		}
	})
}

// slow is a client whose questions end when the test says so.
type slow struct{ *client }

func (c *slow) Question(q *contract.Question) { c.questions <- q }
