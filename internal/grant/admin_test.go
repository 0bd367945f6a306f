package grant

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/egress"
	"github.com/answerback/answerback/internal/journal/natsjournal"
	"github.com/answerback/answerback/internal/seal"
	"github.com/answerback/answerback/internal/secret"
)

func TestListTellsAndRevokeForgets(t *testing.T) {
	w := newWorld(t)
	w.as.resource = func(m map[string]any) { m["scopes_supported"] = []string{"read"} }
	w.connect(annHere)
	w.connect(bobHere)
	if _, err := w.EnterKey(t.Context(), annHere, "keyed", "", secret.New("canary-key")); err != nil {
		t.Fatal(err)
	}
	all, err := w.List(t.Context(), ask.Principal{}, 100)
	if err != nil || len(all) != 3 {
		t.Fatalf("%+v, %v", all, err)
	}
	hers, err := w.List(t.Context(), ann, 100)
	if err != nil || len(hers) != 2 {
		t.Fatalf("%+v, %v", hers, err)
	}
	i := slices.IndexFunc(hers, func(i Info) bool { return i.Backend == "tracker" })
	if got := hers[i]; got.Principal != ann || got.Issuer != w.as.URL || !slices.Equal(got.Scopes, []string{"read"}) || !got.Refreshes || got.Since.IsZero() {
		t.Errorf("%+v", got)
	}
	if few, err := w.List(t.Context(), ask.Principal{}, 1); err != nil || len(few) != 1 {
		t.Errorf("at most one: %+v, %v", few, err)
	}
	if told, err := w.Revoke(t.Context(), ann, "tracker"); err != nil || !told {
		t.Errorf("%v, %v", told, err)
	}
	if !slices.Contains(w.as.revoked, "canary-refresh-1") || slices.Contains(w.as.revoked, "canary-refresh-2") {
		t.Errorf("given back: %v", w.as.revoked)
	}
	w.needs(ann, Never)
	w.has(bob, "canary-access-2")
	if told, err := w.Revoke(t.Context(), ann, "keyed"); err != nil || told {
		t.Errorf("a key cannot be given back: %v, %v", told, err)
	}
	if _, err := w.Revoke(t.Context(), ann, "tracker"); ask.CodeOf(err) != ask.UnknownName {
		t.Errorf("a second time: %v", err)
	}
}

// Another gateway's revocation is noticed by those who read before.
func TestRevocationReachesOtherGateways(t *testing.T) {
	w := newWorld(t)
	w.connect(annHere)
	w.has(ann, "canary-access-1")
	changed, stop := w.changes(ann, "tracker")
	defer stop()
	if _, err := w.another().Revoke(t.Context(), ann, "tracker"); err != nil {
		t.Fatal(err)
	}
	<-changed
	w.needs(ann, Never)
}

// The keys of the ring are rotated: everything is sealed anew, and the old key
// can go.
func TestResealLetsTheOldKeyGo(t *testing.T) {
	w := newWorld(t)
	old, fresh := bytes.Repeat([]byte{1}, seal.KeySize), bytes.Repeat([]byte{2}, seal.KeySize)
	ring := func(keys ...[]byte) *seal.Ring {
		r, err := seal.New(keys...)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	w.ring = ring(old)
	w.start()
	w.connect(annHere)
	w.ring = ring(fresh)
	w.start()
	if _, err := w.For(t.Context(), ann, "tracker"); ask.CodeOf(err) != ask.StoreCorrupt {
		t.Fatalf("without the old key: %v", err)
	}
	if n, err := w.Reseal(t.Context()); err != nil || n != (Resealed{Unreadable: 2}) {
		t.Errorf("without the old key: %+v, %v", n, err)
	}
	w.ring = ring(fresh, old)
	w.start()
	w.has(ann, "canary-access-1")
	if n, err := w.Reseal(t.Context()); err != nil || n != (Resealed{Sealed: 2}) {
		t.Errorf("%+v, %v", n, err)
	}
	if n, err := w.Reseal(t.Context()); err != nil || n != (Resealed{Current: 2}) {
		t.Errorf("a second time: %+v, %v", n, err)
	}
	w.ring = ring(fresh)
	w.start()
	w.has(ann, "canary-access-1")
	w.clock.pass(time.Hour)
	w.has(ann, "canary-access-2") // the registration can be read too
}

// A sealed grant put in another's place opens for nobody.
func TestAttackSwappedRecords(t *testing.T) {
	w := newWorld(t)
	w.connect(annHere)
	w.connect(bobHere)
	from, err := w.grants.Get(t.Context(), keyOf(ann, "tracker"))
	if err != nil {
		t.Fatal(err)
	}
	to, err := w.grants.Get(t.Context(), keyOf(bob, "tracker"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.grants.Put(t.Context(), to.Key, to.Rev, from.Value, 0); err != nil {
		t.Fatal(err)
	}
	if u, err := w.another().For(t.Context(), bob, "tracker"); ask.CodeOf(err) != ask.StoreCorrupt {
		t.Errorf("%v, %v", u, err)
	}
	w.has(ann, "canary-access-1") // the control
}

// canaries are the secrets of a run; find gives those that a text shows, as
// they are or encoded.
var canaries = []string{"canary-access", "canary-refresh", "canary-key", "canary-client-secret", "canary-configured", "canary-description", "code-1"}

func find(text []byte) []string {
	var found []string
	for _, c := range canaries {
		for _, form := range []string{c, hex.EncodeToString([]byte(c)), base64.StdEncoding.EncodeToString([]byte(c))[:len(c)], fmt.Sprintf("%q", []byte(c))} {
			if bytes.Contains(text, []byte(form)) {
				found = append(found, c)
			}
		}
	}
	return found
}

// C8: what is secret is in no log, event, list, error or printed value, and on
// disk only sealed.
func TestCanariesStayInTheSealedStore(t *testing.T) {
	dir := t.TempDir()
	c := natsjournal.Defaults()
	c.Dir, c.Log = dir, slog.New(slog.DiscardHandler)
	store, err := natsjournal.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	var events []Event
	g, err := Open(t.Context(), Config{
		Store: store, Ring: w.ring, PublicURL: "https://gateway.example", Now: w.clock.Now,
		Log: slog.New(slog.NewJSONHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})), Audit: func(e Event) { events = append(events, e) },
	})
	if err != nil {
		t.Fatal(err)
	}
	client := egress.ForNamed(w.as.URL)
	t.Cleanup(client.CloseIdleConnections)
	if err := g.SetBackends([]Backend{
		{Name: "tracker", URL: w.as.URL + "/mcp", Kind: OAuth, HTTP: client},
		{Name: "keyed", URL: "https://keyed.example", Kind: Key, Header: "X-Key"},
	}); err != nil {
		t.Fatal(err)
	}
	w.Grants = g
	w.connect(annHere)
	w.clock.pass(time.Hour)
	u := w.has(ann, "canary-access-2")
	if _, err := w.EnterKey(t.Context(), annHere, "keyed", "", secret.New("canary-key")); err != nil {
		t.Fatal(err)
	}
	w.as.valid = map[string]bool{} // the next refresh fails, with a talkative error
	w.clock.pass(time.Hour)
	_, failed := w.For(t.Context(), ann, "tracker")
	w.connect(bobHere)
	_, refused := w.Finish(t.Context(), annHere, "tracker", "code=code-1&state=canary-key-canary-access&iss=x")
	all, err := w.List(t.Context(), ask.Principal{}, 10)
	if err != nil {
		t.Fatal(err)
	}
	told, err := json.Marshal([]any{all, events, u, failed, refused})
	if err != nil {
		t.Fatal(err)
	}
	shown := fmt.Sprintf("%s %v %+v %#v %v %v %+v", told, u, u, u, failed, refused, w.Grants.backend("tracker").Backend)
	rec, err := w.load(t.Context(), bob, "tracker")
	if err != nil {
		t.Fatal(err)
	}
	shown += fmt.Sprintf("%v %+v %#v", rec, rec, rec.record)
	g.Close(t.Context())
	if err := store.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"log": []byte(w.log.String()), "told": []byte(shown)} {
		if f := find(text); len(f) > 0 {
			t.Errorf("%s shows %v:\n%s", name, f, text)
		}
	}
	if len(w.log.String()) == 0 || len(events) == 0 {
		t.Error("nothing was logged or audited, so nothing was searched")
	}
	files := 0
	search := func() (found []string) {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			files++
			for _, f := range find(text) {
				found = append(found, filepath.Base(path)+": "+f)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if f := search(); len(f) > 0 || files == 0 {
		t.Errorf("on disk, in %d files: %v", files, f)
	}
	// The control: planted, the same searches find it.
	if err := os.WriteFile(filepath.Join(dir, "planted"), []byte("x"+strings.Repeat("y", 100)+"canary-refresh-1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f := search(); len(f) == 0 {
		t.Error("a planted secret is not found on disk")
	}
	if len(find([]byte(`level=WARN err="canary-access-1"`))) == 0 {
		t.Error("a planted secret is not found in a log")
	}
}
