package parking

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/era"
)

// Questions that come close together are asked in one round, also where one of
// them takes a while to be stored.
func TestQuestionsAreGathered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		pk, _ := w.begin(t, modern())
		show(pk, "a")
		stored := make(chan struct{})
		go pk.Offer(func(o *Offer) {
			if o.Mark() != nil {
				t.Error("a parked call is found by a connection")
			}
			time.Sleep(3 * gatherFor)
			_ = o.Show(&ask.Ask{ID: "b", Method: "roots/list"})
			close(stored)
		})
		synctest.Wait()
		m := serve(t, pk, request("")).Msg
		<-stored
		if inputs := string(m.Field(m.InputRequests)); !strings.Contains(inputs, `"q1"`) || !strings.Contains(inputs, `"q2"`) {
			t.Errorf("the round asked %s", inputs)
		}
		pk.end(ask.Errorf(ask.ClientGone, "over"))
	})
}

// A call that takes longer than a client is kept waiting becomes a task, where
// its client takes tasks, and else the client is asked to come back.
func TestLongCallOfAModernClient(t *testing.T) {
	for rest, want := range map[string]string{takesTasks: `"resultType":"task"`, "": `"resultType":"input_required"`} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			terms := modern()
			terms.Tasks = true
			pk, _ := w.begin(t, terms)
			start := time.Now()
			m := serve(t, pk, request(rest)).Msg
			if !strings.Contains(string(m.Raw), want) || time.Since(start) != w.limits.Round {
				t.Errorf("after %v: %s, want %s", time.Since(start), m.Raw, want)
			}
			pk.end(ask.Errorf(ask.ClientGone, "over"))
		})
	}
}

// A legacy client whose request ends without a word has not cancelled: the
// call waits for the next that repeats it. One that says so has.
func TestLegacyClientThatLeaves(t *testing.T) {
	for code, stops := range map[ask.Code]bool{ask.ClientGone: false, ask.ClientCancelled: true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			terms := modern()
			terms.Era, terms.Asks = era.Legacy, false
			pk, stopped := w.begin(t, terms)
			ctx, leave := context.WithCancelCause(t.Context())
			leave(ask.Errorf(code, "It went."))
			if _, err := pk.Serve(ctx, request(""), &client{}); ask.CodeOf(err) != code {
				t.Errorf("the request ended with %v", err)
			}
			if len(stopped) == 1 != stops {
				t.Errorf("%s: the work was stopped: %v", code, !stops)
			}
			pk.Finish(replied(`{}`))
		})
	}
}

// A client is not sent away from a call that was answered in the same moment.
func TestAnsweredCallSendsNobodyAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		pk, _ := w.begin(t, modern())
		msg := request("")
		pk.board(msg, &client{})
		pk.Finish(replied(`{"n":1}`))
		if _, err := pk.inputRequired(msg); err != error(errStays) {
			t.Errorf("it was sent away: %v", err)
		}
		if m := serve(t, pk, msg).Msg; !strings.Contains(string(m.Raw), `"n":1`) {
			t.Errorf("the client got %s", m.Raw)
		}
	})
}
