package e2e

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/aside"
	"github.com/answerback/answerback/internal/desk"
	"github.com/answerback/answerback/internal/epoch"
	"github.com/answerback/answerback/internal/identity"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/journal/natsjournal"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/test/rig"
)

// cellar is the store of a gateway that does not run, with the gateway's keys.
type cellar struct {
	t     *testing.T
	store journal.Journal
	ring  *seal.Ring
	home  seal.Home
	desk  *desk.Desk
}

func dataOf(g *rig.Gateway) string { return filepath.Join(filepath.Dir(g.File), "data") }

// inside opens the store of a gateway that was stopped, for as long as work
// takes.
func inside(t *testing.T, g *rig.Gateway, work func(c *cellar)) {
	t.Helper()
	c := &cellar{t: t}
	var err error
	cfg := natsjournal.Defaults()
	cfg.Dir, cfg.Log = filepath.Join(dataOf(g), "journal"), slog.New(slog.DiscardHandler)
	if c.store, err = natsjournal.Open(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.store.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}()
	if c.ring, err = seal.Open(dataOf(g)); err != nil {
		t.Fatal(err)
	}
	if c.home, err = seal.OpenHome(dataOf(g)); err != nil {
		t.Fatal(err)
	}
	c.desk, err = desk.New(desk.Config{
		Now: time.Now, Log: cfg.Log, Shard: shardOfAddressee, Journal: c.store,
		Mint: func(a ask.Addressee) string { return c.ring.Mint(seal.Ask, c.home, shardOfAddressee(a)) },
		Key: func(id string) (journal.Key, error) {
			at, err := c.ring.Verify(seal.Ask, id)
			return journal.Key{Shard: at.Shard, Home: at.Home.String(), ID: id}, err
		},
		Seal: func(id string, plain []byte) []byte { return c.ring.SealBytes(seal.Secret, []byte(id), plain) },
		Unseal: func(id string, sealed []byte) ([]byte, error) {
			return c.ring.UnsealBytes(seal.Secret, []byte(id), sealed)
		},
		Keep: time.Hour, Timeout: func(ask.Kind) time.Duration { return time.Hour }, MaxTimeout: time.Hour,
		Terms:   ask.Terms{Extension: time.Minute, Attempts: 3},
		MaxOpen: 100, MaxOpenPerSession: 100, MaxOpenPerPrincipal: 100, RatePerMinute: 1000, Burst: 1000,
		Digest: func([]byte) []byte { return nil }, Audit: func(desk.Record) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	work(c)
	if err := c.desk.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func shardOfAddressee(a ask.Addressee) uint16 {
	return seal.Shard(a.Principal.Issuer, a.Principal.Subject, a.Group)
}

// plant leaves an open question in the store whose call is described by thread.
func (c *cellar) plant(backend, group, thread string) string {
	return c.desk.Ask(ask.Ask{
		Kind: ask.Form, Method: "elicitation/create", Params: []byte(nameForm), Backend: backend, During: "tools/call", Name: "ask",
		Session: "planted", Addressee: ask.Addressee{Principal: identity.Local},
	}, desk.Ways{Page: true}, desk.Asker{
		Settled: func(ask.Outcome) error { return nil }, Group: group, Kept: true, Resume: func() []byte { return []byte(thread) },
	})
}

// epoch reads how many lives were counted.
func (c *cellar) epoch() (n int) {
	item, err := c.store.Shelf(epoch.Shelf).Get(c.t.Context(), c.home.String())
	if err != nil {
		c.t.Fatal(err)
	}
	var record struct{ Epoch int }
	if err := json.Unmarshal(item.Value, &record); err != nil {
		c.t.Fatal(err)
	}
	return record.Epoch
}

func (c *cellar) put(shelf, key string, value []byte) {
	if _, err := c.store.Shelf(shelf).Put(c.t.Context(), key, journal.Rev{}, value, time.Hour); err != nil {
		c.t.Fatal(err)
	}
}

// thread describes a call of the local person, at the endpoint of backend one.
func threadOf(message, mark string) string {
	raw, _ := json.Marshal(map[string]any{
		"Who": identity.Local, "Handle": []byte("h"), "Message": []byte(message), "Name": "ask", "At": "one", "Version": "2025-11-25", "Hello": []byte("{}"), "Mark": []byte(mark),
	})
	return string(raw)
}

// asideOf asks a running gateway what it has set aside.
func asideOf(t *testing.T, g *rig.Gateway) []aside.Item {
	t.Helper()
	status, out, stderr := rig.RunAll(t, "journal", "aside", "list", "--output", "json", "--config", g.File)
	var all []aside.Item
	if err := json.Unmarshal([]byte(out), &all); status != 0 || err != nil {
		t.Fatalf("journal aside: status %d, %v\n%s%s", status, err, out, stderr)
	}
	return all
}

// A store with bad records in it does not keep the gateway from starting, once
// or again: each is set aside by its name, its questions can be answered, and
// what is in order goes on.
func TestBadRecordsAreSetAside(t *testing.T) {
	t.Parallel()
	runs := &atomic.Int64{}
	g := rig.Start(t, durable+"limits: { drain: 0s }\nmetrics: { listen: 127.0.0.1:0 }\na2a: { enabled: true }\nbackends:\n  one: { url: "+resumable(t, runs)+" }\n  two: { url: "+rig.NewBackend(t, nil).URL+" }\n")
	c := rig.Dial(t, g.URL+"/one", rig.AllCaps)
	p := rig.SignIn(t, g)
	first, second := keep(t, c, p, "ask"), keep(t, c, p, "ask")
	g.Kill(t)

	call, mark := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"ask"}}`, `{"At":"one","Access":"","Stream":"1"}`
	planted := map[string][]string{} // the questions of each group
	var gone, foreign, garbled string
	inside(t, g, func(x *cellar) {
		for group, threads := range map[string][]string{
			"garbage":       {"garbage"},
			"wrong-shape":   {`{"Who":"me","Message":7}`},
			"no-request":    {threadOf("{", mark)},
			"bad-mark":      {threadOf(call, "garbage")},
			"empty-mark":    {threadOf(call, "{}")},
			"contradictory": {threadOf(call, mark), threadOf(strings.Replace(call, "7", "8", 1), mark)},
			"null":          {"null"},
		} {
			for _, thread := range threads {
				planted[group] = append(planted[group], x.plant("one", group, thread))
			}
		}
		gone = x.plant("gone", "gone", threadOf(call, mark))
		foreign, garbled = x.plant("one", "foreign", "{}"), x.plant("one", "garbled", "{}")
		for id, body := range map[string][]byte{foreign: append([]byte{2, 0}, "sealed with a key that is not there"...), garbled: {99}} {
			at, err := x.ring.Verify(seal.Ask, id)
			if err != nil {
				t.Fatal(err)
			}
			r, err := x.store.Get(t.Context(), journal.Key{Shard: at.Shard, Home: at.Home.String(), ID: id})
			if err != nil {
				t.Fatal(err)
			}
			r.Body = body
			if _, err := x.store.Update(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		told, task := "told."+x.home.String()+".x", x.home.String()+".owner.x"
		x.put("results", told, []byte("garbage"))
		x.put("results", told+"2", []byte(x.ring.Seal(seal.Secret, []byte(told+"2"), []byte("garbage"))))
		x.put("results", told+"3", []byte(x.ring.Seal(seal.Secret, []byte(told+"3"), []byte("{}"))))
		x.put("agent", task, []byte("garbage"))
		x.put("agent", task+"2", []byte(x.ring.Seal(seal.Secret, []byte(task+"2"), []byte("{}"))))
		x.put("agent", task+"3", []byte(x.ring.Seal(seal.Secret, []byte(task+"3"), []byte(`{"Task":{"id":"t","history":[null]}}`))))
	})

	for start := 1; start <= 3; start++ {
		g = g.Again(t)
		all := asideOf(t, g)
		got := map[string]aside.Item{}
		for _, it := range all {
			got[string(it.Kind)+" "+it.Name] = it
		}
		for group, asks := range planted {
			it := got["call "+group]
			slices.Sort(it.Asks)
			slices.Sort(asks)
			if !slices.Equal(it.Asks, asks) || it.Failures != min(start, 2) || it.Reason == "" || it.Stack != "" {
				t.Errorf("start %d: %s: %+v", start, group, it)
			}
		}
		for _, id := range []string{foreign, garbled} {
			if it := got["ask "+id]; it.Failures != start || !strings.Contains(it.Reason, id) {
				t.Errorf("start %d: %+v", start, it)
			}
		}
		if want := len(planted) + 2 + 3 + 3; len(all) != want {
			t.Errorf("start %d: %d things are set aside, want %d: %+v", start, len(all), want, all)
		}
		if start < 3 {
			g.Kill(t)
		}
	}
	p = rig.SignIn(t, g)
	rig.Eventually(t, func() bool {
		status, body := p.Do("GET", "/asks/"+gone, nil)
		return status == 410 && strings.Contains(body, "no longer configured")
	}, "the question of a server that is gone does not end")
	for group, asks := range planted {
		for _, id := range asks {
			if status, body := p.Answer("/asks/"+id, url.Values{"action": {"accept"}, "f0": {"Eve"}}); status != 200 || !strings.Contains(body, "set aside") {
				t.Errorf("the answer to %s: %d %s", group, status, body)
			}
		}
	}
	c.URL = g.URL + "/one"
	first.answered(t, c, p, "Ann")
	second.answered(t, c, p, "Ben")
	if runs.Load() != 2 {
		t.Errorf("the tool ran %d times for two calls", runs.Load())
	}
	status, out, stderr := rig.RunAll(t, "journal", "aside", "retry", "--all", "--config", g.File)
	if status != 0 || strings.Count(out, "is tried again at the next start") != len(asideOf(t, g)) {
		t.Errorf("retry: %d\n%s%s", status, out, stderr)
	}
	if err := g.Stop(); err != nil {
		t.Fatal(err)
	}
	g = g.Again(t)
	for _, it := range asideOf(t, g) {
		if want := 3; it.Kind == aside.Call && it.Failures != want {
			t.Errorf("after retry: %+v", it)
		}
	}
}

// Every start counts, and none twice, however the life before it ended.
func TestEveryStartIsCounted(t *testing.T) {
	t.Parallel()
	g := rig.Start(t, durable+"backends:\n  one: { url: "+rig.NewBackend(t, nil).URL+" }\n")
	for life := 1; life <= 3; life++ {
		if life == 2 {
			if err := g.Stop(); err != nil {
				t.Fatal(err)
			}
		} else {
			g.Kill(t)
		}
		inside(t, g, func(c *cellar) {
			if got := c.epoch(); got != life {
				t.Errorf("after %d starts the epoch is %d", life, got)
			}
		})
		if life < 3 {
			g = g.Again(t)
		}
	}
}
