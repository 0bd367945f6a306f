package mcp

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/catalog"
	"github.com/answerback/answerback/internal/contract"
	"github.com/answerback/answerback/internal/relay"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/wire"
)

func TestThroughARelay(t *testing.T) {
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	cache, err := catalog.NewCache(catalog.Config{Max: 1, Bytes: 1 << 20, Age: time.Minute, Timeout: time.Minute, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	r, err := relay.New(relay.Config{
		Cross: func(contract.Crossing) (contract.Line, error) { return nil, errors.New("no bridge here") },
		Ring:  seal.Random(), Catalog: cache, Forms: form.NewCache(nil, 1), Log: log,
		Info:   []byte(`{"name":"answerback","version":"0"}`),
		Limits: relay.Limits{CallTimeout: time.Minute, CallCap: time.Hour, CallsPerSession: 10, StateAge: time.Hour, Away: time.Minute, Round: time.Minute, Parked: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	msg, err := wire.Scan([]byte(initializeBody), wire.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	g := Through(r)
	s, resp := g.Initialize(t.Context(), "unknown", "id", alice, &msg, nil)
	if s != nil || !strings.Contains(string(resp.Body), `"error"`) {
		t.Errorf("an unknown endpoint gave %v %s", s, resp.Body)
	}
}
