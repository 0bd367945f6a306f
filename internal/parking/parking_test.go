package parking

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/seal"
)

func TestConfigIsChecked(t *testing.T) {
	for name, spoil := range map[string]func(*Config){
		"ring": func(c *Config) { c.Ring = nil }, "logger": func(c *Config) { c.Log = nil },
		"home": func(c *Config) { c.Home = "" }, "total": func(c *Config) { c.Limits.Total = 0 },
		"away": func(c *Config) { c.Limits.Away = 0 }, "round": func(c *Config) { c.Limits.Round = 0 },
		"each": func(c *Config) { c.Limits.Each = 0 },
	} {
		cfg := config(seal.Random(), newWorld(t).kept)
		if _, err := New(cfg); err != nil {
			t.Fatal(err)
		}
		spoil(&cfg)
		if _, err := New(cfg); err == nil {
			t.Errorf("a lot without its %s was made", name)
		}
	}
}

// A principal has room for so many calls; what is over makes room again, and a
// call that is in stays in.
func TestRoomIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		first, _ := w.begin(t, modern())
		w.begin(t, modern())
		third := w.New(modern())
		if err := third.Admit(); ask.CodeOf(err) != ask.TooManyOpen {
			t.Errorf("a third call was let in: %v", err)
		}
		if err := first.Admit(); err != nil {
			t.Errorf("a call that is in was sent off: %v", err)
		}
		first.Forget()
		if err := third.Admit(); err != nil {
			t.Errorf("there is no room after one went: %v", err)
		}
	})
}

// A client is sent away with what it is asked, and its state brings it back:
// once, and nobody else.
func TestStateBringsTheClientBackOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		pk, _ := w.begin(t, modern())
		show(pk, "a")
		reply := serve(t, pk, request(""))
		if m := reply.Msg; m.Text(m.ResultType) != "input_required" || !strings.Contains(string(m.Field(m.InputRequests)), `"q1":{"method":"roots/list","params":{}}`) {
			t.Fatalf("the client was sent away with %s", m.Raw)
		}
		state := reply.Msg.Text(reply.Msg.ResultState)
		if !Ours(state) || Ours("theirs") {
			t.Errorf("the state %s is not known", state)
		}
		for name, again := range map[string]struct {
			who   ask.Principal
			state string
		}{
			"another principal": {ask.Principal{Issuer: "test", Subject: "mallory"}, state},
			"another call":      {alice, ours + "x.0"}, "another round": {alice, pk.ID() + ".7"}, "no round": {alice, pk.ID()},
		} {
			if _, err := w.Attach(t.Context(), again.who, again.state); ask.CodeOf(err) != ask.BadState {
				t.Errorf("%s: %v", name, err)
			}
		}
		if back, err := w.Attach(t.Context(), alice, state); err != nil || back != pk {
			t.Fatalf("the client found %v, %v", back, err)
		}
		if _, err := w.Attach(t.Context(), alice, state); ask.CodeOf(err) != ask.BadState {
			t.Errorf("the state was taken twice: %v", err)
		}
		pk.Finish(replied(`{"n":7}`))
		if reply := serve(t, pk, request("")); !strings.Contains(string(reply.Msg.Raw), `{"resultType":"complete","n":7}`) {
			t.Errorf("the result is %s", reply.Msg.Raw)
		}
	})
}

// Who does not come back loses the call, and so does who did not get the
// question, and a modern client that closes its stream.
func TestClientThatIsGoneStopsTheWork(t *testing.T) {
	for name, tt := range map[string]struct {
		leave func(t *testing.T, pk *Call)
		want  ask.Code
	}{
		"never back": {func(t *testing.T, pk *Call) {
			show(pk, "a")
			serve(t, pk, request(""))
			time.Sleep(6 * time.Minute)
		}, ask.ClientGone},
		"not sent": {func(t *testing.T, pk *Call) {
			show(pk, "a")
			serve(t, pk, request("")).Unsent()
		}, ask.ClientGone},
		"stream closed": {func(t *testing.T, pk *Call) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, _ = pk.Serve(ctx, request(""), &client{})
		}, ask.ClientCancelled},
		"gateway stops": {func(_ *testing.T, pk *Call) {
			pk.lot.End(ask.Errorf(ask.ShuttingDown, "The gateway stops."))
		}, ask.ShuttingDown},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				pk, stopped := w.begin(t, modern())
				tt.leave(t, pk)
				if why := <-stopped; why.Code != tt.want {
					t.Errorf("the work was stopped because of %s, want %s", why.Code, tt.want)
				}
				if w.each[alice] != 0 || len(w.calls) != 0 {
					t.Error("the call takes up room still")
				}
			})
		})
	}
}

// What a backend says while its client is away is told to it first when it is
// back: of progress the latest, with the token of the round under way.
func TestNotesWaitForTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		pk, _ := w.begin(t, modern())
		for i := range maxHeldNotes + 10 {
			pk.Notify([]byte(`{"jsonrpc":"2.0","method":"notifications/n","params":{"i":` + strconv.Itoa(i) + `}}`))
			pk.Notify([]byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"old","progress":` + strconv.Itoa(i) + `}}`))
		}
		pk.Finish(replied("{}"))
		c := &client{}
		if _, err := pk.Serve(t.Context(), request(`,"_meta":{"progressToken":"new"}`), c); err != nil {
			t.Fatal(err)
		}
		if len(c.heard) != maxHeldNotes+1 || !strings.Contains(c.heard[0], `"i":0`) {
			t.Fatalf("the client heard %d notes", len(c.heard))
		}
		if last := c.heard[maxHeldNotes]; !strings.Contains(last, `"progressToken":"new","progress":73`) {
			t.Errorf("the progress is %s", last)
		}
	})
}

// A client is told to call again while its question waits on a page, and its
// repeated call has the result, once. So it is after a restart.
func TestRepeatedCallGetsTheResultOnce(t *testing.T) {
	for _, in := range []era.Era{era.Legacy, era.Modern} {
		for _, restart := range []bool{false, true} {
			t.Run(in.String()+" "+strconv.FormatBool(restart), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t)
					terms, lent := modern(), 0
					terms.Era, terms.Told = in, func() { lent++ }
					pk, _ := w.begin(t, terms)
					pk.Page(Page{Link: "https://gw.example/1", Message: "Sure?"})
					if !pk.Passes() {
						t.Error("notifications do not pass to who began the call")
					}
					told(t, pk, in)
					if lent != 1 || pk.Passes() {
						t.Errorf("its owner heard %d times that the client was told", lent)
					}
					msg := request("")
					_, err := w.Again(alice, in, "b", "t", msg)
					if resp, ok := CallAgain([]byte("1"), "prompts/get", err, in); !ok || !strings.Contains(string(resp.Body), "the tool t") || strings.Contains(string(resp.Body), "isError") {
						t.Errorf("while the question is open: %v %s", err, resp.Body)
					}
					pk.Settled("https://gw.example/1")
					pk.Finish(replied(`{"n":7}`))
					if restart {
						w.restart(t)
					}
					for name, other := range map[string][3]string{"backend": {"alice", "c", "t"}, "name": {"alice", "b", "u"}, "principal": {"bob", "b", "t"}} {
						if pk, _ := w.Again(ask.Principal{Issuer: "test", Subject: other[0]}, in, other[1], other[2], msg); pk != nil {
							t.Errorf("the call of another %s was found", name)
						}
					}
					back, err := w.Again(alice, in, "b", "t", msg)
					if err != nil || back == nil {
						t.Fatalf("the repeated call found %v, %v", back, err)
					}
					if second, err := w.Again(alice, in, "b", "t", msg); second != nil || err != nil {
						t.Errorf("a second repeat found %v, %v", second, err)
					}
					if reply := serve(t, back, msg); !strings.Contains(string(reply.Msg.Raw), `"n":7`) {
						t.Errorf("the result is %s", reply.Msg.Raw)
					}
					if n := w.kept.Len(); n != 0 {
						t.Errorf("%d responses are kept that were collected", n)
					}
				})
			})
		}
	}
}

// A result that could not be sent is there for the next repeat; one that
// nobody calls for is forgotten.
func TestUnsentResultIsThereForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		pk, _ := w.begin(t, modern())
		pk.Page(Page{Link: "https://gw.example/1"})
		told(t, pk, era.Modern)
		pk.Settled("https://gw.example/1")
		pk.Finish(replied(`{}`))
		for range 2 {
			back, err := w.Again(alice, era.Modern, "b", "t", request(""))
			if err != nil || back == nil {
				t.Fatalf("the repeated call found %v, %v", back, err)
			}
			serve(t, back, request("")).Unsent()
		}
		time.Sleep(6 * time.Minute)
		if back, _ := w.Again(alice, era.Modern, "b", "t", request("")); back != nil || w.each[alice] != 0 {
			t.Error("a result that nobody wants takes up room still")
		}
	})
}

// A response that comes while the client is being given its task is kept, and
// what is over becomes no task.
func TestResponseThatMeetsItsTaskIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		terms := modern()
		terms.Tasks = true
		pk, _ := w.begin(t, terms)
		show(pk, "a")
		msg := request(takesTasks)
		if m := serve(t, pk, msg).Msg; m.Text(m.ResultType) != "task" {
			t.Fatalf("the call became no task: %s", m.Raw)
		}
		pk.Finish(replied(`{"n":7}`))
		if w.kept.Len() != 1 {
			t.Error("the response was not kept")
		}
		if _, err := pk.becomeTask(msg); err != errStays {
			t.Errorf("a call that is over became a task: %v", err)
		}
		w.restart(t)
		get := scan(`{"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{}}`)
		if reply, err := w.Task(t.Context(), alice, pk.ID(), get); err != nil || !strings.Contains(string(reply.Msg.Raw), `"status":"completed"`) {
			t.Errorf("the task after a restart: %v %s", err, reply.Msg.Raw)
		}
		if _, err := w.Task(t.Context(), ask.Principal{Subject: "mallory"}, pk.ID(), get); ask.CodeOf(err) != ask.UnknownName {
			t.Errorf("the task of another: %v", err)
		}
	})
}

// A call that is revived goes on with the round and the keys that it had; one
// that is lost says so to its client.
func TestRevivedCallGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		pk, _ := w.begin(t, modern())
		o := show(pk, "a")
		state := serve(t, pk, request("")).Msg
		place := o.Place()
		pk.Finish(Result{Err: ask.Errorf(ask.ShuttingDown, "The gateway stops."), Suspended: true})
		w.restart(t)

		back, offers, err := w.Revive(modern(), time.Now(), []Place{place})
		if err != nil || back.ID() != pk.ID() {
			t.Fatalf("revived: %v, %v", back, err)
		}
		back.Begin(request(""), func(*ask.Error) {})
		_ = offers[0].Show(&ask.Ask{ID: "a", Method: "roots/list"})
		show(back, "b")
		back.Await()
		found, err := w.Attach(t.Context(), alice, state.Text(state.ResultState))
		if err != nil || found != back {
			t.Fatalf("its client found %v, %v", found, err)
		}
		if m := serve(t, found, request("")).Msg; !strings.Contains(string(m.Field(m.InputRequests)), `"q1"`) || !strings.Contains(string(m.Field(m.InputRequests)), `"q2"`) {
			t.Errorf("it is asked %s", m.Raw)
		}
	})
}

func TestLostCallSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		place := Place{Parked: ours + "x", Told: true, Era: era.Legacy, Away: time.Minute}
		pk, _, err := w.Revive(modern(), time.Now(), []Place{place})
		if err != nil {
			t.Fatal(err)
		}
		pk.Begin(request(""), func(*ask.Error) {})
		pk.Lost(ask.Errorf(ask.BackendLost, "It is gone."))
		back, err := w.Again(alice, era.Legacy, "b", "t", request(""))
		if err != nil || back != pk {
			t.Fatalf("its client found %v, %v", back, err)
		}
		_, err = back.Serve(t.Context(), request(""), &client{})
		if ask.CodeOf(err) != ask.BackendLost || !strings.Contains(err.Error(), "A further call starts anew") {
			t.Errorf("its client hears %v", err)
		}
	})
}
