package natsjournal

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/answerback/answerback/internal/journal"
)

// A store of each format is kept in testdata, so that the versions that read
// it can be shown to. With -update one of the format of now is made; a format
// that was released is never made again.
var update = flag.Bool("update", false, "make the store of the current format in testdata again")

func goldenFile(format int) string {
	return filepath.Join("testdata", fmt.Sprintf("format-%d.tar.gz", format))
}

func goldenConfig(t *testing.T) Config {
	cfg := config(t)
	cfg.Shards = 2
	return cfg
}

// farDeadline is so far ahead that the store is of use for decades.
var farDeadline = time.Date(2090, 1, 1, 0, 0, 0, 0, time.UTC)

func makeGolden(t *testing.T) {
	t.Helper()
	cfg := goldenConfig(t)
	j := open(t, cfg)
	for i := range 4 {
		r := ask(fmt.Sprint("ask-", i))
		r.Shard, r.Deadline = uint16(i), farDeadline
		r = create(t, j, r)
		if i == 3 {
			settle(t, j, r, 60*365*24*time.Hour)
		}
	}
	s := j.Shelf("grants")
	for _, key := range []string{"kept", "ended"} {
		rev, err := s.Put(t.Context(), key, journal.Rev{}, []byte("value of "+key), 0)
		if err == nil && key == "ended" {
			err = s.Delete(t.Context(), key, rev)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Append(t.Context(), []byte("entry")); err != nil {
		t.Fatal(err)
	}
	shut(t, j)
	if err := os.WriteFile(goldenFile(format), pack(t, cfg.Dir), 0o600); err != nil {
		t.Fatal(err)
	}
}

func pack(t *testing.T, dir string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	err := w.AddFS(os.DirFS(dir))
	if err = errors.Join(err, w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func unpack(t *testing.T, file, dir string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatalf("there is no store of this format: make it with -update: %v", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		if err != nil || !filepath.IsLocal(h.Name) {
			t.Fatal(h, err)
		}
		path := filepath.Join(dir, h.Name)
		if h.FileInfo().IsDir() {
			err = os.MkdirAll(path, 0o700)
		} else {
			data, bad := io.ReadAll(r)
			err = errors.Join(bad, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A store that an earlier version has made is read, as far back as this
// version says that it reads.
func TestStoresOfEveryReadableFormatAreRead(t *testing.T) {
	if *update {
		makeGolden(t)
	}
	for f := oldestFormat; f <= format; f++ {
		cfg := goldenConfig(t)
		unpack(t, goldenFile(f), cfg.Dir)
		j := open(t, cfg)
		n := 0
		for r, err := range j.Open(t.Context(), home) {
			if err != nil {
				t.Fatal(err)
			}
			n++
			if string(r.Body) != "body of "+r.ID || !r.Deadline.Equal(farDeadline) || r.Settled != (r.ID == "ask-3") {
				t.Errorf("format %d: %+v", f, r)
			}
		}
		if n != 4 {
			t.Errorf("format %d: %d asks are read, want 4", f, n)
		}
		item, err := j.Shelf("grants").Get(t.Context(), "kept")
		if err != nil || string(item.Value) != "value of kept" {
			t.Errorf("format %d: %q %v", f, item.Value, err)
		}
		if _, err := j.Shelf("grants").Get(t.Context(), "ended"); !errors.Is(err, journal.NotFound) {
			t.Errorf("format %d: what was ended is read: %v", f, err)
		}
		for e, err := range j.ReadAudit(t.Context(), 0) {
			if err != nil || string(e.Data) != "entry" {
				t.Errorf("format %d: the audit has %q: %v", f, e.Data, err)
			}
		}
		if _, err := j.Shelf("grants").Put(t.Context(), "kept", item.Rev, []byte("newer"), 0); err != nil {
			t.Errorf("format %d: an item cannot be replaced: %v", f, err)
		}
		reopen(t, cfg, j)
	}
}

// A store of another format is refused, and the operator is told what to do.
func TestStoresOfOtherFormatsAreRefused(t *testing.T) {
	for f, want := range map[int]string{
		format + 1:       "run the newer version again",
		oldestFormat - 1: "begin with an empty one",
	} {
		cfg := goldenConfig(t)
		unpack(t, goldenFile(format), cfg.Dir)
		j := open(t, cfg)
		js, err := jetstream.New(j.link.conn)
		if err != nil {
			t.Fatal(err)
		}
		c := stream(t, j, j.shelf.stream).CachedInfo().Config
		c.Metadata[metaFormat] = strconv.Itoa(f)
		if _, err := js.UpdateStream(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		shut(t, j)
		wantCorrupt(t, cfg, want, fmt.Sprint("format ", f))

		some := someFrame()
		b := some.encode("subject")
		b[1] = byte(f)
		if _, err := decode("subject", b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a frame of format %d gives %v", f, err)
		}
	}
}
