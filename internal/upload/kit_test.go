package upload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/journal/memjournal"
	"github.com/answerback/answerback/internal/seal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ada = ask.Principal{Issuer: "https://issuer.example", Subject: "ada"}
	bob = ask.Principal{Issuer: "https://issuer.example", Subject: "bob"}
)

const mib = 1 << 20

// kit is a Store over a journal in memory, with a clock of its own.
type kit struct {
	*Store
	t     testing.TB
	now   time.Time
	shelf journal.Shelf
	log   strings.Builder
}

func newKit(t testing.TB, change ...func(*Limits)) *kit {
	t.Helper()
	k := &kit{t: t, now: time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)}
	j, err := memjournal.New(memjournal.Config{Now: func() time.Time { return k.now }, MaxBytes: 256 * mib, MaxAudit: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close(context.Background()) })
	k.shelf = j.Shelf("files")
	limits := Limits{PerAsk: 50 * mib, Total: 100 * mib, Draft: time.Hour, Keep: 10 * time.Minute, Uses: 3}
	for _, c := range change {
		c(&limits)
	}
	k.Store = k.again(seal.Random(), limits)
	return k
}

// again is another Store over the same shelf.
func (k *kit) again(ring *seal.Ring, limits Limits) *Store {
	k.t.Helper()
	s, err := New(Config{
		Shelf: k.shelf, Ring: ring, Now: func() time.Time { return k.now }, Log: slog.New(slog.NewTextHandler(&k.log, nil)),
		PublicURL: "https://gateway.example", Limits: limits,
	})
	if err != nil {
		k.t.Fatal(err)
	}
	return s
}

// fileForm is a form with one file, several files, a picture and a setting.
func fileForm(t testing.TB) *form.Form {
	t.Helper()
	f, err := form.Parse([]byte(`{"id":"f","title":"F","fields":[
		{"id":"one","type":"file","label":"One"},
		{"id":"some","type":"file","label":"Some","validation":{"minItems":1,"maxItems":3}},
		{"id":"picture","type":"file","label":"Picture","validation":{"maxSize":1000,"allowedMimeTypes":["image/*"],"allowedExtensions":[".png",".jpg"]}},
		{"id":"setting","type":"file","label":"Setting","validation":{"allowedMimeTypes":["application/json","text/yaml"]}},
		{"id":"note","type":"text","label":"Note"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (k *kit) take(field, name string, content []byte) (File, form.Errors, error) {
	k.t.Helper()
	return k.Take(k.t.Context(), Place{Ask: "ask1", Field: field, By: ada}, fileForm(k.t), name, bytes.NewReader(content))
}

// kept takes a file that must be taken.
func (k *kit) kept(field, name string, content []byte) File {
	k.t.Helper()
	f, errs, err := k.take(field, name, content)
	if err != nil || len(errs) > 0 {
		k.t.Fatalf("%s is not kept: %v, %v", name, errs, err)
	}
	return f
}

// link gives the address of a file, without the host.
func (k *kit) link(f File) string {
	k.t.Helper()
	links, err := k.Link(k.t.Context(), "ask1", "deploy", ada, []File{f})
	if err != nil {
		k.t.Fatal(err)
	}
	path, ok := strings.CutPrefix(links.URL(&f), "https://gateway.example")
	if !ok || !strings.HasPrefix(path, Path) {
		k.t.Fatalf("the link is %q", links.URL(&f))
	}
	return path
}

func fetch(s http.Handler, method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}

// size is how many records there are, and how many bytes.
func (k *kit) size() (records, bytes int) {
	k.t.Helper()
	for item, err := range k.shelf.Scan(k.t.Context(), "") {
		if err != nil {
			k.t.Fatal(err)
		}
		records++
		bytes += len(item.Value)
	}
	return records, bytes
}

// noise is content that no signature fits.
func noise(size int) []byte {
	b := make([]byte, size)
	src := rand.NewChaCha8([32]byte{7})
	src.Read(b)
	b[0] = 0xf7
	return b
}

var png = append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), make([]byte, 100)...)

// broken is a body that ends with an error after some bytes.
type broken struct {
	left int
}

var errBroken = errors.New("the line is dead")

func (b *broken) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errBroken
	}
	n := min(len(p), b.left)
	b.left -= n
	return n, nil
}

var _ io.Reader = (*broken)(nil)

func constraints(errs form.Errors) string {
	var all []string
	for _, e := range errs {
		all = append(all, e.Constraint)
	}
	return fmt.Sprint(all)
}
