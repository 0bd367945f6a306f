package upload

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/seal"
)

func TestFileComesBackByteForByte(t *testing.T) {
	for _, size := range []int{0, 1, partSize - 1, partSize, partSize + 1, 10 * mib} {
		k := newKit(t)
		content := make([]byte, size)
		if size > 0 {
			content = noise(size)
		}
		f := k.kept("one", "données \u202egnp.exe", content)
		if f.Name != "données gnp.exe" || f.Size != int64(size) || f.Field != "one" {
			t.Errorf("it is kept as %+v", f)
		}
		got := fetch(k, http.MethodGet, k.link(f))
		if got.Code != http.StatusOK || !bytes.Equal(got.Body.Bytes(), content) {
			t.Fatalf("%d bytes: status %d, %d bytes", size, got.Code, got.Body.Len())
		}
		for name, want := range map[string]string{
			"Content-Disposition": "attachment; filename*=utf-8''donn%C3%A9es%20gnp.exe", "X-Content-Type-Options": "nosniff",
			"Cache-Control": "no-store", "Content-Security-Policy": "sandbox; default-src 'none'",
		} {
			if got.Header().Get(name) != want {
				t.Errorf("%s is %q", name, got.Header().Get(name))
			}
		}
	}
}

func TestActiveContentIsServedAsBytes(t *testing.T) {
	for content, want := range map[string]string{
		"<!DOCTYPE html><script>alert(1)</script>":                      binaryType,
		"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>":   binaryType,
		"<?xml version='1.0'?><svg onload='alert(1)'/>":                 binaryType,
		"<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/x'/>": binaryType,
		string(png): "image/png",
	} {
		k := newKit(t)
		if got := fetch(k, http.MethodGet, k.link(k.kept("one", "x", []byte(content)))); got.Header().Get("Content-Type") != want {
			t.Errorf("%.30q is served as %s", content, got.Header().Get("Content-Type"))
		}
	}
}

// What is stored has nothing of the file or its name in the clear, and a
// record moved to another key opens nothing.
func TestFilesAreSealed(t *testing.T) {
	k := newKit(t)
	const canary = "canary-of-the-file-3f9a"
	f := k.kept("one", canary+".txt", []byte(strings.Repeat(canary, 40_000)))
	path := k.link(f)
	found := func() (n int) {
		for item := range k.shelf.Scan(t.Context(), "") {
			n += bytes.Count(item.Value, []byte(canary)) + strings.Count(item.Key, canary) + strings.Count(item.Key, strings.TrimPrefix(path, Path))
		}
		return n
	}
	if n := found(); n != 0 {
		t.Errorf("the canary is in the store %d times", n)
	}
	if _, err := k.shelf.Put(t.Context(), "control", zeroRev, []byte("x"+canary), 0); err != nil || found() != 1 {
		t.Errorf("control: the planted canary was found %d times, %v", found(), err)
	}
	other := k.again(seal.Random(), k.cfg.Limits)
	if got := fetch(other, http.MethodGet, path); got.Code != http.StatusNotFound {
		t.Errorf("another ring opens it: %d", got.Code)
	}
}

func TestWhatAFieldDoesNotTakeIsNotKept(t *testing.T) {
	for name, c := range map[string]struct {
		field, name string
		content     []byte
		want        string
	}{
		"too large":                              {"one", "x", noise(10*mib + 1), "[maxSize]"},
		"larger than its field":                  {"picture", "x.png", append(bytes.Clone(png), noise(1000)...), "[maxSize]"},
		"another type by content, claimed right": {"picture", "x.png", []byte("<html><body>"), "[allowedMimeTypes]"},
		"a program called json":                  {"setting", "x.json", noise(100), "[allowedMimeTypes]"},
		"a picture called yaml":                  {"setting", "x.yaml", png, "[allowedMimeTypes]"},
		"a broken json":                          {"setting", "x.json", []byte(`{"a":`), "[allowedMimeTypes]"},
		"another ending":                         {"picture", "x.gif", png, "[allowedExtensions]"},
		"a hidden ending":                        {"picture", "x.png.gif", png, "[allowedExtensions]"},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			f, errs, err := k.take(c.field, c.name, c.content)
			if err != nil || constraints(errs) != c.want || f.ID != "" {
				t.Errorf("%s %v", constraints(errs), err)
			}
			if n, _ := k.size(); n != 0 {
				t.Errorf("%d records are left", n)
			}
			if k.room.used != 0 {
				t.Errorf("%d bytes of room are lost", k.room.used)
			}
		})
	}
	k := newKit(t)
	k.kept("picture", "x.PNG", png)
	k.kept("setting", "x.json", []byte(`{"a": 1}`))
	k.kept("setting", "x.yml", []byte("a: 1\n"))
	k.kept("one", "x", noise(10*mib))
}

func TestBrokenStreamLeavesNothing(t *testing.T) {
	k := newKit(t)
	_, _, err := k.Take(t.Context(), Place{"ask1", "one", ada}, fileForm(t), "x", &broken{left: 2 * mib})
	if ask.CodeOf(err) != ask.BadMessage || !errors.Is(err, errBroken) {
		t.Errorf("error %v", err)
	}
	if n, _ := k.size(); n != 0 || k.room.used != 0 {
		t.Errorf("%d records and %d bytes are left", n, k.room.used)
	}
	if _, _, err := k.take("note", "x", nil); ask.CodeOf(err) != ask.BadMessage {
		t.Errorf("a file for a text: %v", err)
	}
}

func TestFilesOfOneQuestionHaveALimit(t *testing.T) {
	k := newKit(t, func(l *Limits) { l.PerAsk = 3 * mib })
	k.kept("some", "a", noise(2*mib))
	if _, errs, err := k.take("some", "b", noise(1*mib+1)); err != nil || constraints(errs) != "["+ConstraintTotal+"]" {
		t.Errorf("more than there is room for: %v %v", errs, err)
	}
	k.kept("some", "b", noise(1*mib))
	if f, errs, err := k.Take(t.Context(), Place{"ask2", "some", ada}, fileForm(t), "b", bytes.NewReader(noise(2*mib))); err != nil || len(errs) > 0 || f.ID == "" {
		t.Errorf("control: another question has room of its own: %v %v", errs, err)
	}
}

func TestAllFilesHaveALimit(t *testing.T) {
	k := newKit(t, func(l *Limits) { l.Total = 3 * mib })
	k.kept("some", "a", noise(2*mib))
	full := func(s *Store) bool {
		_, _, err := s.Take(t.Context(), Place{"ask2", "some", ada}, fileForm(t), "b", bytes.NewReader(noise(2*mib)))
		return ask.CodeOf(err) == ask.StoreFull
	}
	if !full(k.Store) {
		t.Error("there is room for too much")
	}
	if !full(k.again(k.cfg.Ring, k.cfg.Limits)) {
		t.Error("after a restart there is room for too much")
	}
	k.now = k.now.Add(2 * time.Hour)
	if full(k.Store) {
		t.Error("what is gone still takes room")
	}
}

func TestSameFileIsKeptOnce(t *testing.T) {
	k := newKit(t)
	first := k.kept("some", "a", noise(2*mib))
	records, size := k.size()
	if again := k.kept("some", "a", noise(2*mib)); again != first {
		t.Errorf("%+v is not %+v", again, first)
	}
	if r, s := k.size(); r != records || s != size {
		t.Errorf("there are %d records of %d bytes, there were %d of %d", r, s, records, size)
	}
	k.kept("some", "b", noise(2*mib))
	if files, err := k.Kept(t.Context(), "ask1", ada); err != nil || len(files) != 2 {
		t.Errorf("control: under another name it is another: %v %v", files, err)
	}
}

func TestNewFileTakesThePlaceOfTheOld(t *testing.T) {
	k := newKit(t)
	k.kept("one", "a", noise(mib))
	b := k.kept("one", "b", noise(2*mib))
	files, err := k.Kept(t.Context(), "ask1", ada)
	if err != nil || len(files) != 1 || files[0] != b || k.room.used != 2*mib {
		t.Errorf("there are %v, %d bytes, %v", files, k.room.used, err)
	}
}

func TestDraftIsNobodyElses(t *testing.T) {
	k := newKit(t)
	f := k.kept("one", "a", noise(10))
	if files, err := k.Kept(t.Context(), "ask1", bob); err != nil || len(files) != 0 {
		t.Errorf("bob sees %v %v", files, err)
	}
	for _, c := range []struct {
		ask string
		by  ask.Principal
	}{{"ask1", bob}, {"ask2", ada}} {
		if _, err := k.Link(t.Context(), c.ask, "x", c.by, []File{f}); ask.CodeOf(err) != ask.Unknown {
			t.Errorf("it was sent by %v for %s: %v", c.by, c.ask, err)
		}
	}
	if _, err := k.Link(t.Context(), "ask1", "x", ada, []File{f}); err != nil {
		t.Errorf("control: %v", err)
	}
}

func TestSettledLeavesWhatWasSent(t *testing.T) {
	k := newKit(t)
	sent := k.kept("some", "a", noise(2*mib))
	k.kept("some", "b", noise(3*mib))
	path := k.link(sent)
	k.Settled(t.Context(), "ask1", sent)
	if files, _ := k.Kept(t.Context(), "ask1", ada); len(files) != 0 {
		t.Errorf("drafts are left: %v", files)
	}
	if k.room.used != 2*mib {
		t.Errorf("%d bytes are counted", k.room.used)
	}
	if got := fetch(k, http.MethodGet, path); got.Code != http.StatusOK || got.Body.Len() != 2*mib {
		t.Errorf("what was sent: %d, %d bytes", got.Code, got.Body.Len())
	}
}

func TestManyFilesAtOnceStayWithinTheLimit(t *testing.T) {
	k := newKit(t, func(l *Limits) { l.PerAsk = 4 * mib })
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			_, errs, err := k.Take(t.Context(), Place{"ask1", "some", ada}, fileForm(t), strings.Repeat("x", i+1), bytes.NewReader(noise(mib)))
			if err != nil || len(errs) > 0 && constraints(errs) != "["+ConstraintTotal+"]" {
				t.Error(errs, err)
			}
		})
	}
	wg.Wait()
	if files, _ := k.Kept(t.Context(), "ask1", ada); len(files) != 4 || k.room.used != 4*mib {
		t.Errorf("%d files, %d bytes", len(files), k.room.used)
	}
}
