package seal_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/answerback/answerback/ask"
	"github.com/answerback/answerback/internal/seal"
)

func TestIDsSayWhereTheyBelong(t *testing.T) {
	r := seal.Random()
	rapid.Check(t, func(t *rapid.T) {
		home := seal.Home(rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(t, "home"))
		shard := rapid.Uint16().Draw(t, "shard")
		p := rapid.SampledFrom(purposes).Draw(t, "purpose")
		id := r.Mint(p, home, shard)
		if got, err := r.Verify(p, id); err != nil || got != (seal.ID{Home: home, Shard: shard}) {
			t.Fatalf("%+v, %v", got, err)
		}
		if len(id) != seal.IDLen || len(id) > 80 {
			t.Fatalf("%d characters", len(id))
		}
		if i := strings.IndexFunc(id, func(c rune) bool {
			return !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", c)
		}); i >= 0 {
			t.Fatalf("%q is not safe in a URL", id)
		}
	})
}

func TestIDsAreUnique(t *testing.T) {
	r := seal.Random()
	seen := map[string]bool{}
	for range 1000 {
		id := r.Mint(seal.Ask, seal.Home{}, 0)
		if seen[id] {
			t.Fatal("an id was minted twice")
		}
		seen[id] = true
	}
}

// A1: an id cannot be forged. Every single bit of it counts, those that the
// encoding has to spare included.
func TestVerifyRefusesEveryFlippedBit(t *testing.T) {
	r := seal.Random()
	id := r.Mint(seal.Ask, seal.Home{1, 2, 3}, 4)
	for i := range id {
		for bit := range 8 {
			b := []byte(id)
			b[i] ^= 1 << bit
			if _, err := r.Verify(seal.Ask, string(b)); err == nil {
				t.Errorf("bit %d of character %d does not count", bit, i)
			}
		}
	}
	raw, err := base64.RawURLEncoding.DecodeString(id)
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		for bit := range 8 {
			raw[i] ^= 1 << bit
			if _, err := r.Verify(seal.Ask, base64.RawURLEncoding.EncodeToString(raw)); err == nil {
				t.Errorf("bit %d of byte %d does not count", bit, i)
			}
			raw[i] ^= 1 << bit
		}
	}
}

func TestVerifyRefusesAnotherPurpose(t *testing.T) {
	r := seal.Random()
	for _, minted := range purposes {
		id := r.Mint(minted, seal.Home{}, 0)
		for _, p := range purposes {
			if _, err := r.Verify(p, id); (err == nil) != (p == minted) {
				t.Errorf("minted for %s, verified for %s: %v", minted, p, err)
			}
		}
	}
}

func TestVerifyRefusesOtherText(t *testing.T) {
	r := seal.Random()
	id := r.Mint(seal.Session, seal.Home{}, 0)
	for name, bad := range map[string]string{
		"empty":          "",
		"shorter":        id[:len(id)-1],
		"longer":         id + "A",
		"padded":         id + "=",
		"a line break":   id[:5] + "\n" + id[5:],
		"a break inside": id[:5] + "\n" + id[6:],
		"a space":        id[:5] + " " + id[6:],
		"not base64":     strings.Repeat("*", len(id)),
		"zeros":          strings.Repeat("A", len(id)),
		"huge":           strings.Repeat("A", 1<<20),
		"a token":        r.Seal(seal.Session, nil, nil),
	} {
		if got, err := r.Verify(seal.Session, bad); err == nil || got != (seal.ID{}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestRefusalsAreCodedAndTellOutsidersNothing(t *testing.T) {
	r, other := seal.Random(), seal.Random()
	id := r.Mint(seal.Ask, seal.Home{}, 0)
	for _, bad := range []string{"", other.Mint(seal.Ask, seal.Home{}, 0), id[:len(id)-2] + "AA"} {
		_, err := r.Verify(seal.Ask, bad)
		e, ok := errors.AsType[*ask.Error](err)
		if !ok || e.Code != ask.Unknown || e.Message != "There is no such question." || e.Cause == nil {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, p := range purposes {
		_, err := r.Verify(p, "")
		_, err2 := r.Unseal(p, nil, "")
		want := ask.BadState
		if p == seal.Ask {
			want = ask.Unknown
		}
		if ask.CodeOf(err) != want || ask.CodeOf(err2) != want {
			t.Errorf("%s: %v, %v", p, err, err2)
		}
	}
}

func TestUnknownKeyIsNamedForTheLog(t *testing.T) {
	_, err := seal.Random().Verify(seal.Session, seal.Random().Mint(seal.Session, seal.Home{}, 0))
	if err == nil || !strings.Contains(err.Error(), "key that is not in this ring") {
		t.Error(err)
	}
}

// Stored ids carry their shard, so that it must never change.
func TestShardIsStableAndCountsEachWord(t *testing.T) {
	if got := seal.Shard("https://issuer.example", "subject", ""); got != 53873 {
		t.Errorf("the shard of a principal has become %d", got)
	}
	seen := map[uint16][]string{}
	for _, words := range [][]string{nil, {""}, {"", ""}, {"ab", "c"}, {"a", "bc"}, {"abc"}, {"abc", ""}, {"", "abc"}} {
		s := seal.Shard(words...)
		if other, there := seen[s]; there {
			t.Errorf("%q and %q share a shard", words, other)
		}
		seen[s] = words
	}
}

func BenchmarkMint(b *testing.B) {
	r := seal.Random()
	b.ReportAllocs()
	for b.Loop() {
		r.Mint(seal.Ask, seal.Home{}, 1)
	}
}

func BenchmarkVerify(b *testing.B) {
	r := seal.Random()
	id := r.Mint(seal.Ask, seal.Home{}, 1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Verify(seal.Ask, id); err != nil {
			b.Fatal(err)
		}
	}
}
