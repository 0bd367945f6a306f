package parking

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/parking/parkingtest"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var alice = ask.Principal{Issuer: "test", Subject: "alice"}

func config(ring *seal.Ring, kept Results) Config {
	return Config{
		Ring: ring, Results: kept, Home: "home", Log: slog.New(slog.DiscardHandler),
		Limits: Limits{Total: 24 * time.Hour, Away: 5 * time.Minute, Round: 50 * time.Second, Each: 2},
	}
}

func newLot(t *testing.T, ring *seal.Ring, kept Results) *Lot {
	t.Helper()
	l, err := New(config(ring, kept))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// world is a lot, and what outlives it.
type world struct {
	*Lot
	ring *seal.Ring
	kept *parkingtest.Memory
}

func newWorld(t *testing.T) *world {
	w := &world{ring: seal.Random(), kept: &parkingtest.Memory{}}
	w.Lot = newLot(t, w.ring, w.kept)
	return w
}

// restart replaces the lot, as a restart of the gateway does.
func (w *world) restart(t *testing.T) {
	t.Helper()
	w.End(ask.Errorf(ask.ShuttingDown, "The gateway stops."))
	w.Lot = newLot(t, w.ring, w.kept)
	if err := w.Restore(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// client is the sink of one request.
type client struct{ heard []string }

func (c *client) Notify(msg *wire.Message)    { c.heard = append(c.heard, string(msg.Raw)) }
func (c *client) Question(*contract.Question) {}

func scan(raw string) *wire.Message {
	m, err := wire.Scan([]byte(raw), wire.Limits{})
	if err != nil {
		panic(err)
	}
	return &m
}

// request is a call of the tool t by a client of the modern era.
func request(rest string) *wire.Message {
	return scan(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{}` + rest + `}}`)
}

const takesTasks = `,"_meta":{"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

func modern() Terms {
	return Terms{Who: alice, Era: era.Modern, Backend: "b", Name: "t", Asks: true}
}

// begin makes a call and lets it in. Why its work is stopped comes on stopped.
func (w *world) begin(t *testing.T, terms Terms) (pk *Call, stopped chan *ask.Error) {
	t.Helper()
	pk, stopped = w.New(terms), make(chan *ask.Error, 4)
	if err := pk.Admit(); err != nil {
		t.Fatal(err)
	}
	pk.Begin(request(""), func(why *ask.Error) { stopped <- why })
	return pk, stopped
}

// show puts a question to the client of a call.
func show(pk *Call, id string) (o *Offer) {
	pk.Offer(func(offer *Offer) {
		o = offer
		_ = o.Show(&ask.Ask{ID: id, Method: "roots/list"})
	})
	return o
}

func replied(result string) Result {
	return Result{Reply: contract.Reply{Msg: *scan(`{"jsonrpc":"2.0","id":9,"result":` + result + `}`)}}
}

func serve(t *testing.T, pk *Call, msg *wire.Message) contract.Reply {
	t.Helper()
	reply, err := pk.Serve(t.Context(), msg, &client{})
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

// told serves a request whose client is told to call again.
func told(t *testing.T, pk *Call, in era.Era) contract.Response {
	t.Helper()
	msg := request("")
	_, err := pk.Serve(t.Context(), msg, &client{})
	resp, ok := CallAgain(msg.Field(msg.ID), msg.Method(), err, in)
	if !ok || !strings.Contains(string(resp.Body), `https://gw.example/1`) {
		t.Fatalf("the client was not told to call again: %v %s", err, resp.Body)
	}
	return resp
}
