package seal_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/answerback/answerback/internal/seal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var purposes = []seal.Purpose{
	seal.Ask, seal.Session, seal.Event, seal.State, seal.Task, seal.Resume, seal.Secret, seal.Cursor, seal.Audit, seal.File, seal.Call,
}

func key(c byte) []byte { return bytes.Repeat([]byte{c}, seal.KeySize) }

func ring(t testing.TB, keys ...[]byte) *seal.Ring {
	t.Helper()
	r, err := seal.New(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestNewRefusesWhatIsNoRing(t *testing.T) {
	var many [][]byte
	for c := range byte(17) {
		many = append(many, key(c))
	}
	for name, keys := range map[string][][]byte{
		"no key":         nil,
		"a short key":    {key(1)[1:]},
		"a long key":     {append(key(1), 1)},
		"an empty key":   {key(1), nil},
		"the same twice": {key(1), key(2), key(1)},
		"too many":       many,
	} {
		if r, err := seal.New(keys...); err == nil || r != nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := seal.New(many[:16]...); err != nil {
		t.Error(err)
	}
}

func TestNewCopiesItsKeys(t *testing.T) {
	k := key(1)
	r := ring(t, k)
	k[0] = 99
	if _, err := ring(t, key(1)).Verify(seal.Ask, r.Mint(seal.Ask, seal.Home{}, 0)); err != nil {
		t.Error("the ring changed with the caller's slice")
	}
}

func TestRotation(t *testing.T) {
	older, newer := ring(t, key(1)), ring(t, key(2), key(1))
	id, token := older.Mint(seal.Ask, seal.Home{1}, 7), older.Seal(seal.State, nil, []byte("x"))
	if _, err := newer.Verify(seal.Ask, id); err != nil {
		t.Error("an id of the old key is refused:", err)
	}
	if _, err := newer.Unseal(seal.State, nil, token); err != nil {
		t.Error("a token of the old key is refused:", err)
	}
	id, token = newer.Mint(seal.Ask, seal.Home{1}, 7), newer.Seal(seal.State, nil, []byte("x"))
	if _, err := older.Verify(seal.Ask, id); err == nil {
		t.Error("the new ring mints with its old key")
	}
	if _, err := older.Unseal(seal.State, nil, token); err == nil {
		t.Error("the new ring seals with its old key")
	}
	if _, err := ring(t, key(3), key(2)).Verify(seal.Ask, id); err != nil {
		t.Error("the place of a key in the ring matters:", err)
	}
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	r := ring(t, key('k'))
	type holder struct {
		Public  *seal.Ring
		private *seal.Ring
		value   seal.Ring
	}
	h := holder{r, r, *r}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%c", "%U", "%b", "%o", "%t", "%e"} {
		for _, v := range []any{r, *r, h, &h, []*seal.Ring{r}, map[string]seal.Ring{"r": *r}} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
	}
	for _, v := range []any{r, *r} {
		if got := fmt.Sprintf("%+v", v); got != "seal.Ring(redacted)" {
			t.Errorf("%T prints as %q", v, got)
		}
		if got := fmt.Sprintf("%#v", v); got != "seal.Ring(redacted)" {
			t.Errorf("%T prints as %q", v, got)
		}
		text, err := json.Marshal(v)
		if err != nil || string(text) != `"seal.Ring(redacted)"` {
			t.Errorf("%T in JSON is %s, %v", v, text, err)
		}
	}
	text, err := json.Marshal(h)
	if err != nil {
		t.Error(err)
	}
	out.Write(text)
	for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(handler).Info("ring", "r", r, "v", *r, "h", h, "p", &h)
	}
	if !strings.Contains(out.String(), "redacted") {
		t.Error("nothing was printed at all")
	}
	for _, secret := range []string{
		"kkkkkkkk", hex.EncodeToString(key('k'))[:16], strings.ToUpper(hex.EncodeToString(key('k')))[:16],
		"107 107 107", "107,107,107", "0x6b, 0x6b", "U+006B U+006B", "a2tra2tr",
	} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("the key is printed as %q", secret)
		}
	}
}

func TestRingIsSafeForConcurrentUse(t *testing.T) {
	r := seal.Random()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 100 {
				p := purposes[(i+n)%len(purposes)]
				if _, err := r.Verify(p, r.Mint(p, seal.Home{}, 1)); err != nil {
					t.Error(err)
				}
				if _, err := r.Unseal(p, nil, r.Seal(p, nil, []byte("x"))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestRandomRingsDiffer(t *testing.T) {
	if _, err := seal.Random().Verify(seal.Ask, seal.Random().Mint(seal.Ask, seal.Home{}, 0)); err == nil {
		t.Error("two random rings share a key")
	}
	if a, b := seal.RandomHome(), seal.RandomHome(); a == b {
		t.Error("two random homes are the same")
	}
}

func TestAPurposeThatIsNoneIsAFaultOfTheProgram(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("an unknown purpose has keys")
		}
	}()
	seal.Random().Mint("made up", seal.Home{}, 0)
}
