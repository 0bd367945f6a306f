package seal_test

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/answerback/answerback/internal/seal"
)

func TestWhatIsSealedComesBack(t *testing.T) {
	r := seal.Random()
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(purposes).Draw(t, "purpose")
		aad := rapid.SliceOf(rapid.Byte()).Draw(t, "aad")
		plain := rapid.SliceOf(rapid.Byte()).Draw(t, "plain")
		token := r.Seal(p, aad, plain)
		got, err := r.Unseal(p, aad, token)
		if err != nil || !bytes.Equal(got, plain) {
			t.Fatalf("%x, %v", got, err)
		}
		if token == r.Seal(p, aad, plain) {
			t.Fatal("two tokens are the same")
		}
		sealed := r.SealBytes(p, aad, plain)
		was := bytes.Clone(sealed)
		got, err = r.UnsealBytes(p, aad, sealed)
		if err != nil || !bytes.Equal(got, plain) || !bytes.Equal(sealed, was) {
			t.Fatalf("as bytes: %x, %v", got, err)
		}
		if len(plain) >= 8 && bytes.Contains(decode(t, token), plain) {
			t.Fatal("the plaintext is in the token")
		}
	})
}

func decode(t interface{ Fatal(...any) }, token string) []byte {
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestUnsealRefusesEveryFlippedBit(t *testing.T) {
	r := seal.Random()
	raw := decode(t, r.Seal(seal.State, []byte("aad"), []byte("plain")))
	for i := range raw {
		for bit := range 8 {
			raw[i] ^= 1 << bit
			if _, err := r.Unseal(seal.State, []byte("aad"), base64.RawURLEncoding.EncodeToString(raw)); err == nil {
				t.Errorf("bit %d of byte %d does not count", bit, i)
			}
			raw[i] ^= 1 << bit
		}
	}
	for n := range raw {
		if _, err := r.Unseal(seal.State, []byte("aad"), base64.RawURLEncoding.EncodeToString(raw[:n])); err == nil {
			t.Errorf("cut to %d bytes: accepted", n)
		}
	}
}

// No character of a token can be changed, also where the encoding has bits to
// spare, and none added that a decoder would skip.
func TestTokensHaveOneSpelling(t *testing.T) {
	r := seal.Random()
	for n := range 3 {
		token := r.Seal(seal.State, nil, make([]byte, n))
		for bit := range 8 {
			b := []byte(token)
			b[len(b)-1] ^= 1 << bit
			if _, err := r.Unseal(seal.State, nil, string(b)); err == nil {
				t.Errorf("bit %d of the last character does not count", bit)
			}
		}
		for _, bad := range []string{token + "\n", "\r" + token, token[:9] + "\n" + token[9:], token + "=", token + "A", " " + token} {
			if _, err := r.Unseal(seal.State, nil, bad); err == nil {
				t.Errorf("%q: accepted", bad)
			}
		}
	}
}

func TestUnsealRefusesAnotherContext(t *testing.T) {
	r := seal.Random()
	token := r.Seal(seal.Secret, []byte("principal|backend"), []byte("x"))
	for _, aad := range []string{"", "principal|other", "principal|backend "} {
		if _, err := r.Unseal(seal.Secret, []byte(aad), token); err == nil {
			t.Errorf("bound to %q: accepted", aad)
		}
	}
	for _, p := range purposes {
		if _, err := r.Unseal(p, []byte("principal|backend"), token); (err == nil) != (p == seal.Secret) {
			t.Errorf("%s: %v", p, err)
		}
	}
	_, err := seal.Random().Unseal(seal.Secret, []byte("principal|backend"), token)
	if err == nil || !strings.Contains(err.Error(), "key that is not in this ring") {
		t.Errorf("another ring: %v", err)
	}
}

func FuzzUnseal(f *testing.F) {
	r, err := seal.New(bytes.Repeat([]byte{7}, seal.KeySize))
	if err != nil {
		f.Fatal(err)
	}
	f.Add("")
	f.Add(strings.Repeat("A", 80))
	f.Fuzz(func(t *testing.T, token string) {
		if _, err := r.Unseal(seal.State, nil, token); err == nil {
			t.Errorf("a made-up token was accepted: %q", token)
		}
		if _, err := r.Verify(seal.State, token); err == nil {
			t.Errorf("a made-up id was accepted: %q", token)
		}
	})
}

func BenchmarkSeal(b *testing.B) {
	r := seal.Random()
	b.ReportAllocs()
	for b.Loop() {
		r.Seal(seal.State, nil, make([]byte, 200))
	}
}

func TestCurrentKnowsTheFirstKey(t *testing.T) {
	old, fresh := ring(t, key(1)), ring(t, key(2), key(1))
	if token := old.Seal(seal.Secret, nil, []byte("x")); !old.Current(token) || fresh.Current(token) {
		t.Error("a token of the old key counts as one of the new")
	}
	if token := fresh.Seal(seal.Secret, nil, []byte("x")); !fresh.Current(token) || old.Current(token) {
		t.Error("a token of the new key does not count as one")
	}
	if old.Current("") || old.Current("not a token") {
		t.Error("what is no token counts as one")
	}
}
