package seal_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/answerback/answerback/internal/seal"
)

func TestOpenMakesThePrivateFilesOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "data")
	first, err := seal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	home, err := seal.OpenHome(dir)
	if err != nil {
		t.Fatal(err)
	}
	if home == (seal.Home{}) {
		t.Error("the home is nobody's")
	}
	for name, want := range map[string]os.FileMode{"": 0o700 | os.ModeDir, "keys": 0o600, "home": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode() != want {
			t.Errorf("%q: %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("something is left over: %v, %v", entries, err)
	}
	second, err := seal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second.Verify(seal.Ask, first.Mint(seal.Ask, home, 0)); err != nil {
		t.Error("after a restart:", err)
	}
	if again, err := seal.OpenHome(dir); again != home || err != nil {
		t.Error("the home changed", again, err)
	}
}

func TestOpenInADirectoryThatIsThere(t *testing.T) {
	a, err := seal.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b, err := seal.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Verify(seal.Ask, b.Mint(seal.Ask, seal.Home{}, 0)); err == nil {
		t.Error("two gateways made the same key")
	}
}

// Whoever comes first makes the file, and everybody gets that one.
func TestOpenAtTheSameTime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	rings, homes := make([]*seal.Ring, 16), make([]seal.Home, 16)
	var wg sync.WaitGroup
	for i := range rings {
		wg.Go(func() {
			var err error
			if rings[i], err = seal.Open(dir); err != nil {
				t.Error(err)
			}
			if homes[i], err = seal.OpenHome(dir); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	for i, r := range rings {
		if _, err := rings[0].Verify(seal.Ask, r.Mint(seal.Ask, homes[i], 0)); err != nil || homes[i] != homes[0] {
			t.Errorf("the %d. opened something else: %v", i, err)
		}
	}
}

func TestOpenRefusesFilesThatOthersCanTouch(t *testing.T) {
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o602, 0o644, 0o660, 0o666, 0o601} {
		dir := t.TempDir()
		if _, err := seal.Open(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := seal.OpenHome(dir); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"keys", "home"} {
			path := filepath.Join(dir, name)
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
			var err error
			if name == "keys" {
				_, err = seal.Open(dir)
			} else {
				_, err = seal.OpenHome(dir)
			}
			if err == nil || !strings.Contains(err.Error(), "chmod 600 "+path) {
				t.Errorf("%s with mode %04o: %v", name, mode, err)
			}
		}
	}
	dir := t.TempDir()
	seal.Open(dir)
	os.Chmod(filepath.Join(dir, "keys"), 0o400)
	if _, err := seal.Open(dir); err != nil {
		t.Error("a file that its owner may only read:", err)
	}
}

func TestOpenReadsWhatAnOperatorWrote(t *testing.T) {
	line := func(c byte) string { return base64.StdEncoding.EncodeToString(key(c)) }
	for _, tc := range []struct {
		name, text string
		keys       [][]byte // nil: refused
	}{
		{"one key", line(1), [][]byte{key(1)}},
		{"comments and spaces", "# a\n\n  " + line(2) + "\t\r\n" + line(1) + "\n", [][]byte{key(2), key(1)}},
		{"empty", "", nil},
		{"comments only", "# x\n", nil},
		{"not base64", line(1) + "\nhunter2-hunter2\n", nil},
		{"short", base64.StdEncoding.EncodeToString(key(1)[1:]), nil},
		{"the same twice", line(1) + "\n" + line(1), nil},
		{"huge", strings.Repeat("#", 70<<10), nil},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "keys")
		if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := seal.Open(dir)
		if tc.keys == nil {
			if err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: %v", tc.name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if _, err := ring(t, tc.keys[0]).Verify(seal.Ask, r.Mint(seal.Ask, seal.Home{}, 0)); err != nil {
			t.Errorf("%s: the first key does not make: %v", tc.name, err)
		}
		for _, k := range tc.keys {
			if _, err := r.Verify(seal.Ask, ring(t, k).Mint(seal.Ask, seal.Home{}, 0)); err != nil {
				t.Errorf("%s: a key does not open: %v", tc.name, err)
			}
		}
	}
}

func TestOpenHomeRefusesABrokenFile(t *testing.T) {
	for _, text := range []string{"", "xyz", "0011223344556677ff", "0000000000000000", "00112233"} {
		dir := t.TempDir()
		path := filepath.Join(dir, "home")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if h, err := seal.OpenHome(dir); err == nil || h != (seal.Home{}) || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v, %v", text, h, err)
		}
	}
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "home"), []byte("0011223344556677\n"), 0o600)
	if h, err := seal.OpenHome(dir); err != nil || h.String() != "0011223344556677" {
		t.Error(h, err)
	}
}

func TestOpenFailsWhereNothingCanBeKept(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "keys"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{file, filepath.Join(file, "sub"), dir} {
		if _, err := seal.Open(d); err == nil {
			t.Errorf("%s: opened", d)
		}
	}
	if _, err := seal.OpenHome(file); err == nil {
		t.Error("a home inside a file")
	}
}
