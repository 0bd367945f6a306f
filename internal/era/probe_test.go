package era_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/era"
	"github.com/answerback/answerback/internal/wire"
)

// Bridging rule 34: anything that is not a modern answer means legacy.
func TestProberReadsTheAnswer(t *testing.T) {
	for _, tc := range []struct {
		name, answer string
		want         era.Era
		code         ask.Code
	}{
		{"modern", `{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}`, era.Modern, ""},
		{"both eras", `{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2025-11-25","2026-07-28"]}}`, era.Modern, ""},
		{"discovers legacy only", `{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2025-11-25"]}}`, era.Legacy, ""},
		{"versions to come", `{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2031-01-01",7]}}`, 0, ask.BadVersion},
		{"no versions", `{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":[]}}`, 0, ask.BadVersion},
		{"a result of something else", `{"jsonrpc":"2.0","id":1,"result":{"ok":true}}`, era.Legacy, ""},
		{"header mismatch", `{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"m"}}`, era.Modern, ""},
		{"missing capability", `{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"m","data":{"requiredCapabilities":{}}}}`, era.Modern, ""},
		{"other modern versions", `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"m","data":{"supported":["2031-01-01"]}}}`, 0, ask.BadVersion},
		{"a modern error that names legacy versions", `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"m","data":{"supported":["2025-11-25","2025-06-18"]}}}`, era.Legacy, ""},
		{"method not found", `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"m"}}`, era.Legacy, ""},
		{"not initialized", `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"m"}}`, era.Legacy, ""},
		{"any other error", `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"m"}}`, era.Legacy, ""},
		{"nothing that is JSON-RPC", ``, era.Legacy, ""},
	} {
		p := era.NewProber(func(context.Context, ask.Principal) (wire.Message, error) {
			if tc.answer == "" {
				return wire.Message{}, nil
			}
			return *scan(t, tc.answer), nil
		}, time.Second)
		got, err := p.Era(t.Context(), ask.Principal{})
		if got != tc.want || ask.CodeOf(err) != tc.code {
			t.Errorf("%s: %v, %v", tc.name, got, err)
		}
	}
}

const modernAnswer = `{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"]}}`

func TestProberRemembersUntilToldToForget(t *testing.T) {
	n := 0
	p := era.NewProber(func(context.Context, ask.Principal) (wire.Message, error) {
		n++
		if n == 1 {
			return *scan(t, modernAnswer), nil
		}
		return wire.Message{}, nil
	}, 0)
	for range 3 {
		if e, err := p.Era(t.Context(), ask.Principal{}); e != era.Modern || err != nil {
			t.Fatal(e, err)
		}
	}
	p.Forget()
	if e, err := p.Era(t.Context(), ask.Principal{}); e != era.Legacy || err != nil || n != 2 {
		t.Error(e, err, n)
	}
}

func TestProberDoesNotRememberErrors(t *testing.T) {
	down := ask.Errorf(ask.BackendUnreachable, "down")
	n := 0
	p := era.NewProber(func(context.Context, ask.Principal) (wire.Message, error) {
		if n++; n == 1 {
			return wire.Message{}, down
		}
		return *scan(t, modernAnswer), nil
	}, time.Second)
	if e, err := p.Era(t.Context(), ask.Principal{}); e != 0 || !errors.Is(err, down) {
		t.Error(e, err)
	}
	if e, err := p.Era(t.Context(), ask.Principal{}); e != era.Modern || err != nil {
		t.Error(e, err)
	}
}

func silent(ctx context.Context, _ ask.Principal) (wire.Message, error) {
	<-ctx.Done()
	return wire.Message{}, ctx.Err()
}

func TestProberTakesASilentServerForLegacy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		p := era.NewProber(silent, 3*time.Second)
		if e, err := p.Era(t.Context(), ask.Principal{}); e != era.Legacy || err != nil {
			t.Error(e, err)
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Error(took)
		}
		if e, err := p.Era(t.Context(), ask.Principal{}); e != era.Legacy || err != nil || time.Since(start) != 3*time.Second {
			t.Error("the verdict was not remembered", e, err)
		}
	})
}

func TestProberSaysNothingOfTheServerWhenItsCallerGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, timeout := range []time.Duration{0, 3 * time.Second} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			p := era.NewProber(silent, timeout)
			if e, err := p.Era(ctx, ask.Principal{}); e != 0 || !errors.Is(err, context.DeadlineExceeded) {
				t.Error(e, err)
			}
			cancel()
		}
	})
}

func TestProberSharesOneProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		p := era.NewProber(func(context.Context, ask.Principal) (wire.Message, error) {
			n++
			time.Sleep(time.Second)
			return *scan(t, modernAnswer), nil
		}, 0)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if e, err := p.Era(t.Context(), ask.Principal{}); e != era.Modern || err != nil {
					t.Error(e, err)
				}
			})
		}
		wg.Wait()
		if n != 1 {
			t.Errorf("%d probes", n)
		}
	})
}

func TestProberGoesOnWhenTheLeaderGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		p := era.NewProber(func(ctx context.Context, who ask.Principal) (wire.Message, error) {
			if n++; n == 1 {
				return silent(ctx, who)
			}
			return *scan(t, modernAnswer), nil
		}, time.Minute)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if e, err := p.Era(ctx, ask.Principal{}); e != 0 || !errors.Is(err, context.Canceled) {
				t.Error("the leader:", e, err)
			}
		})
		synctest.Wait()
		wg.Go(func() {
			if e, err := p.Era(t.Context(), ask.Principal{}); e != era.Modern || err != nil {
				t.Error("the next:", e, err)
			}
		})
		impatient, stop := context.WithCancelCause(t.Context())
		mine := errors.New("my own reason")
		wg.Go(func() {
			if e, err := p.Era(impatient, ask.Principal{}); e != 0 || !errors.Is(err, mine) {
				t.Error("the impatient:", e, err)
			}
		})
		synctest.Wait()
		stop(mine)
		synctest.Wait()
		cancel()
		wg.Wait()
	})
}

func TestProberForgetsAlsoTheProbeUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		p := era.NewProber(func(context.Context, ask.Principal) (wire.Message, error) {
			n++
			time.Sleep(time.Second)
			return *scan(t, modernAnswer), nil
		}, 0)
		var wg sync.WaitGroup
		wg.Go(func() { p.Era(t.Context(), ask.Principal{}) })
		synctest.Wait()
		p.Forget()
		wg.Wait()
		if e, err := p.Era(t.Context(), ask.Principal{}); e != era.Modern || err != nil || n != 2 {
			t.Error(e, err, n)
		}
	})
}

func TestProberSurvivesAProbeThatPanics(t *testing.T) {
	n := 0
	p := era.NewProber(func(context.Context, ask.Principal) (wire.Message, error) {
		if n++; n == 1 {
			panic("probe")
		}
		return *scan(t, modernAnswer), nil
	}, 0)
	func() {
		defer func() { recover() }()
		p.Era(t.Context(), ask.Principal{})
	}()
	if e, err := p.Era(t.Context(), ask.Principal{}); e != era.Modern || err != nil {
		t.Error(e, err)
	}
}
