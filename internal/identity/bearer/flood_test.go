package bearer_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/identity/bearer"
)

func TestAttackFlood(t *testing.T) {
	t.Run("unknown key ids", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			taken(t, w, mint(t))
			before := w.one.jwks.Load()
			for i := range 1000 {
				_, err := w.Authenticate(request(forge(oneIssuer, fmt.Sprintf("kid-%d", i))))
				if status, _ := refused(t, err); status != http.StatusUnauthorized {
					t.Fatalf("status %d", status)
				}
				time.Sleep(60 * time.Millisecond) // a minute in all
			}
			if n := w.one.jwks.Load() - before; n < 1 || n > 2 {
				t.Errorf("the keys were fetched %d times in a minute", n)
			}
			if n := w.one.metadata.Load(); n > 2 {
				t.Errorf("the metadata was fetched %d times", n)
			}
			if n := w.two.jwks.Load() + w.two.metadata.Load(); n != 0 {
				t.Errorf("the other issuer was asked %d times", n)
			}
			taken(t, w, mint(t))
		})
	})
	t.Run("unknown key ids at once, before any key is known", func(t *testing.T) {
		w := newWorld(t)
		var all sync.WaitGroup
		for i := range 200 {
			token := forge(oneIssuer, fmt.Sprintf("kid-%d", i))
			all.Go(func() { _, _ = w.Authenticate(request(token)) })
		}
		all.Wait()
		if n := w.one.jwks.Load(); n != 1 {
			t.Errorf("the keys were fetched %d times", n)
		}
		taken(t, w, mint(t))
	})
	t.Run("unknown issuers", func(t *testing.T) {
		w := newWorld(t)
		for i := range 1000 {
			_, err := w.Authenticate(request(forge(fmt.Sprintf("https://%d.example", i), "one-rsa")))
			if status, _ := refused(t, err); status != http.StatusUnauthorized {
				t.Fatalf("status %d", status)
			}
		}
		if n := w.one.jwks.Load() + w.one.metadata.Load() + w.two.jwks.Load() + w.two.metadata.Load(); n != 0 {
			t.Errorf("issuers were asked %d times", n)
		}
		taken(t, w, mint(t))
	})
	t.Run("while the issuer is down", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.one.set(func(p *provider) { p.down = true })
			for range 600 {
				_, err := w.Authenticate(request(forge(oneIssuer, "one-rsa")))
				if status, challenge := refused(t, err); status != http.StatusServiceUnavailable || challenge != "" {
					t.Fatalf("%d %q", status, challenge)
				}
				time.Sleep(time.Second) // ten minutes in all
			}
			// 1+2+4+8+16+32 seconds, then one a minute, two addresses each.
			if n := w.one.metadata.Load(); n < 20 || n > 32 {
				t.Errorf("the metadata was fetched %d times", n)
			}
			w.one.set(func(p *provider) { p.down = false })
			time.Sleep(time.Minute)
			taken(t, w, mint(t))
		})
	})
	t.Run("people who hang up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			release := make(chan struct{})
			w.one.set(func(p *provider) { p.hold = release })
			ctx, hangUp := context.WithCancel(t.Context())
			var all sync.WaitGroup
			first, second := request(mint(t)).WithContext(ctx), request(mint(t)).WithContext(ctx)
			all.Go(func() { // fetches, and goes on with it
				if _, err := w.Authenticate(first); err != nil {
					t.Errorf("who fetched: %v", err)
				}
			})
			synctest.Wait()
			all.Go(func() { // waits for the fetch, and stops waiting
				if _, err := w.Authenticate(second); !errors.Is(err, context.Canceled) {
					t.Errorf("who waited: %v", err)
				}
			})
			synctest.Wait()
			hangUp()
			synctest.Wait()
			close(release)
			all.Wait()
			taken(t, w, mint(t))
			if n := w.one.jwks.Load(); n != 1 {
				t.Errorf("the keys were fetched %d times", n)
			}
		})
	})
}

func TestKeysThatTheIssuerWithdrawsAreGivenUpInFiveMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		early, late := mint(t), mint(t, claim("jti", "late"))
		taken(t, w, early)
		w.one.set(func(p *provider) { p.keys = p.keys[1:] })
		time.Sleep(5*time.Minute - time.Second)
		taken(t, w, early)
		taken(t, w, late)
		time.Sleep(time.Second)
		for _, token := range []string{early, late} {
			_, err := w.Authenticate(request(token))
			if status, _ := refused(t, err); status != http.StatusUnauthorized {
				t.Errorf("status %d", status)
			}
		}
		taken(t, w, mint(t, signedBy("one-ed", methodEd)))
	})
}

func TestNewKeysOfAnIssuerAreFoundOnDemand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		taken(t, w, mint(t))
		w.one.set(func(p *provider) { p.keys = append(p.keys, public("stranger")) })
		rotated := mint(t, signedBy("stranger", methodRS))
		if _, err := w.Authenticate(request(rotated)); err == nil {
			t.Fatal("was known at once")
		}
		time.Sleep(30 * time.Second)
		taken(t, w, rotated)
	})
}

func TestLastKnownKeysServeForAnHourWhileTheIssuerIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		token := mint(t, claim("exp", time.Now().Add(3*time.Hour).Unix()))
		taken(t, w, token)
		w.one.set(func(p *provider) { p.down = true })
		time.Sleep(time.Hour - time.Second)
		taken(t, w, token)
		_, err := w.Authenticate(request(mint(t, header("kid", "new"))))
		if status, _ := refused(t, err); status != http.StatusServiceUnavailable {
			t.Errorf("a key that may be new: status %d", status)
		}
		time.Sleep(time.Second)
		_, err = w.Authenticate(request(token))
		if status, challenge := refused(t, err); status != http.StatusServiceUnavailable || challenge != "" || ask.CodeOf(err) != ask.Internal {
			t.Errorf("after an hour: %d %q %v", status, challenge, err)
		}
		w.one.set(func(p *provider) { p.down = false })
		time.Sleep(time.Minute)
		taken(t, w, token)
	})
}

func TestWhileOneFetchesOthersGoOnWithTheKeysThereAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		taken(t, w, mint(t))
		release := make(chan struct{})
		w.one.set(func(p *provider) { p.hold = release })
		time.Sleep(5 * time.Minute)
		var slow sync.WaitGroup
		token := mint(t, claim("jti", "slow"))
		slow.Go(func() {
			if _, err := w.Authenticate(request(token)); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		taken(t, w, mint(t, claim("jti", "quick")))
		close(release)
		slow.Wait()
	})
}

func TestFetchEndsAfterTenSecondsAndAtClose(t *testing.T) {
	for _, c := range []struct {
		name  string
		end   func(w *world)
		takes time.Duration
	}{
		{"time", func(*world) {}, 10 * time.Second},
		{"close", func(w *world) {
			w.Close()
			w.Close()
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.one.set(func(p *provider) { p.hold = make(chan struct{}) })
				var waiting sync.WaitGroup
				token := mint(t)
				waiting.Go(func() {
					_, err := w.Authenticate(request(token))
					if status, _ := refused(t, err); status != http.StatusServiceUnavailable {
						t.Errorf("status %d", status)
					}
				})
				synctest.Wait()
				start := time.Now()
				c.end(w)
				waiting.Wait()
				if took := time.Since(start); took != c.takes {
					t.Errorf("took %v, want %v", took, c.takes)
				}
				if _, err := w.Authenticate(request(staticKey)); err != nil {
					t.Errorf("the static key: %v", err)
				}
			})
		})
	}
}

// A fetch that panics ends like one that fails: nobody waits for it forever.
func TestFetchThatPanicsIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := true
		w := newWorld(t)
		handlers := direct{"one.example": w.one}
		w = newWorld(t, func(c *bearer.Config) {
			c.HTTP = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				if broken {
					panic("broken")
				}
				return handlers.RoundTrip(r)
			})}
		})
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed")
				}
			}()
			_, _ = w.Authenticate(request(mint(t)))
		}()
		_, err := w.Authenticate(request(mint(t)))
		if status, _ := refused(t, err); status != http.StatusServiceUnavailable {
			t.Errorf("status %d", status)
		}
		broken = false
		time.Sleep(time.Second)
		taken(t, w, mint(t))
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// forge makes what floods are made of: tokens that nobody signed.
func forge(issuer, kid string) string {
	text := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		return base64.RawURLEncoding.EncodeToString(b)
	}
	head := map[string]any{"alg": "RS256", "typ": "at+jwt", "kid": kid}
	return text(head) + "." + text(map[string]any{"iss": issuer, "sub": "ada"}) + ".AAAA"
}

// taken checks that the token is ada's.
func taken(t testing.TB, w *world, token string) {
	t.Helper()
	p, err := w.Authenticate(request(token))
	if err != nil {
		t.Fatal(err)
	}
	if want := (ask.Principal{Issuer: oneIssuer, Subject: "ada"}); p.Principal != want {
		t.Fatalf("is %v, want %v", p.Principal, want)
	}
}

var _ interface{ Challenge() (int, string) } = (*bearer.Refusal)(nil)
