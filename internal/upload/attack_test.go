package upload

import (
	"encoding/base64"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/seal"
)

var zeroRev journal.Rev

func TestAttackGuessedLink(t *testing.T) {
	k := newKit(t)
	f := k.kept("one", "a", noise(100))
	path := k.link(f)
	refused := fetch(k, http.MethodGet, Path+"x")
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(path, Path))
	if err != nil {
		t.Fatal(err)
	}
	guesses := map[string]string{
		"nothing":           Path,
		"the id of a file":  Path + f.ID,
		"an id of an ask":   Path + k.cfg.Ring.Mint(seal.Ask, seal.Home{}, 0),
		"never given":       Path + k.cfg.Ring.Mint(seal.File, seal.Home{}, 0),
		"of another ring":   Path + seal.Random().Mint(seal.File, seal.Home{}, 0),
		"the store's key":   Path + strings.TrimPrefix(linkKey(strings.TrimPrefix(path, Path)), "link."),
		"with a query":      path + "?x=1",
		"with more":         path + "/x",
		"another spelling":  path + "=",
		"up and down again": Path + "../files/" + strings.TrimPrefix(path, Path),
	}
	for i := range raw {
		raw[i] ^= 1
		guesses["flipped "+string(rune('a'+i))] = Path + base64.RawURLEncoding.EncodeToString(raw)
		raw[i] ^= 1
	}
	for name, guess := range guesses {
		got := fetch(k, http.MethodGet, guess)
		if got.Code != http.StatusNotFound || got.Body.String() != refused.Body.String() || len(got.Header()) != len(refused.Header()) {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodDelete, http.MethodPut, http.MethodOptions} {
		if got := fetch(k, method, path); got.Code != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", method, got.Code)
		}
	}
	if got := fetch(k, http.MethodGet, path); got.Code != http.StatusOK {
		t.Errorf("control: %d", got.Code)
	}
}

func TestAttackLinkUsedTooOften(t *testing.T) {
	k := newKit(t)
	path := k.link(k.kept("one", "a", noise(100)))
	var taken atomic.Int32
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			fetch(k, http.MethodHead, path)
			if fetch(k, http.MethodGet, path).Code == http.StatusOK {
				taken.Add(1)
			}
		})
	}
	wg.Wait()
	if taken.Load() != 3 {
		t.Errorf("the file was fetched %d times, want 3", taken.Load())
	}
}

// Whatever is fetched for the last time is gone.
func TestLastUseRemovesTheFile(t *testing.T) {
	k := newKit(t)
	f := k.kept("one", "a", noise(2*mib))
	path := k.link(f)
	k.Settled(t.Context(), "ask1", f)
	for range 3 {
		if got := fetch(k, http.MethodGet, path); got.Code != http.StatusOK {
			t.Fatalf("status %d", got.Code)
		}
	}
	if n, _ := k.size(); n != 0 || k.room.used != 0 {
		t.Errorf("%d records and %d bytes are left", n, k.room.used)
	}
}

func TestAttackExpiredLink(t *testing.T) {
	k := newKit(t)
	f := k.kept("one", "a", noise(100))
	k.now = k.now.Add(59 * time.Minute)
	path := k.link(f)
	k.now = k.now.Add(10*time.Minute - time.Second)
	if got := fetch(k, http.MethodGet, path); got.Code != http.StatusOK {
		t.Errorf("control: %d a second before its end", got.Code)
	}
	k.now = k.now.Add(time.Second)
	if got := fetch(k, http.MethodGet, path); got.Code != http.StatusNotFound {
		t.Errorf("an expired link: %d", got.Code)
	}
	k.now = k.now.Add(time.Minute)
	if n, _ := k.size(); n != 0 {
		t.Errorf("%d records are left", n)
	}
}

func TestAttackRevokedLink(t *testing.T) {
	k := newKit(t)
	f := k.kept("one", "a", noise(100))
	links, err := k.Link(t.Context(), "ask1", "deploy", ada, []File{f})
	if err != nil {
		t.Fatal(err)
	}
	path := strings.TrimPrefix(links.URL(&f), "https://gateway.example")
	if got := fetch(k, http.MethodHead, path); got.Code != http.StatusOK {
		t.Errorf("control: %d", got.Code)
	}
	links.Revoke(t.Context())
	if got := fetch(k, http.MethodGet, path); got.Code != http.StatusNotFound {
		t.Errorf("a link that was taken back: %d", got.Code)
	}
	if files, _ := k.Kept(t.Context(), "ask1", ada); len(files) != 1 {
		t.Error("the draft is lost with it")
	}
}

func TestAttackNamesOfFiles(t *testing.T) {
	for name, want := range map[string]string{
		`../../etc/passwd`: "passwd", `C:\windows\x.exe`: "x.exe", "": "file", "..": "file", "a\r\nSet-Cookie: x": "aSet-Cookie: x",
		"\u202etxt.exe": "txt.exe", "\xff": "\ufffd", "a/": "file", strings.Repeat("é", 300) + ".pdf": "",
	} {
		got := safeName(name)
		if want == "" {
			if len(got) > 210 || !strings.HasSuffix(got, ".pdf") {
				t.Errorf("a long name is %q", got)
			}
			continue
		}
		if got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}
