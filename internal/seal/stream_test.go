package seal_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/answerback/answerback/internal/seal"
)

func sealed(t *testing.T, r *seal.Ring, plain []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := r.SealStream(seal.Backup, []byte("aad"), &b)
	for some := plain; err == nil && len(some) > 0; {
		n := min(len(some), 40_000)
		_, err = w.Write(some[:n])
		some = some[n:]
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func unsealed(r *seal.Ring, p seal.Purpose, aad string, stream []byte) ([]byte, error) {
	src, err := r.UnsealStream(p, []byte(aad), bytes.NewReader(stream))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(src)
}

func TestStreamsAreOpenedAgain(t *testing.T) {
	r := seal.Random()
	const chunk = 64 << 10
	for _, size := range []int{0, 1, chunk - 1, chunk, chunk + 1, 3 * chunk, 3*chunk + 7} {
		plain := bytes.Repeat([]byte("0123456789abcde"), size/15+1)[:size]
		got, err := unsealed(r, seal.Backup, "aad", sealed(t, r, plain))
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%d bytes: %d bytes back, %v", size, len(got), err)
		}
	}
}

func TestStreamsThatWereChangedAreRefused(t *testing.T) {
	r := seal.Random()
	const chunk, header, tag = 64 << 10, 21, 16
	plain := bytes.Repeat([]byte{7}, 2*chunk+100)
	good := sealed(t, r, plain)
	cases := map[string][]byte{
		"nothing":           nil,
		"the header":        good[:header],
		"without its end":   good[:len(good)-1],
		"a chunk less":      good[:header+2*(chunk+tag)],
		"half a chunk":      good[:header+chunk/2],
		"a byte more":       append(bytes.Clone(good), 0),
		"chunks exchanged":  append(append(append(bytes.Clone(good[:header]), good[header+chunk+tag:header+2*(chunk+tag)]...), good[header:header+chunk+tag]...), good[header+2*(chunk+tag):]...),
		"a chunk left out":  append(bytes.Clone(good[:header+chunk+tag]), good[header+2*(chunk+tag):]...),
		"two streams":       append(bytes.Clone(good), good...),
		"another format":    append([]byte{9}, good[1:]...),
		"of something else": []byte("this is not a sealed stream, but a text that somebody has written"),
	}
	for _, at := range []int{header - 1, header, header + chunk, len(good) - 1} {
		b := bytes.Clone(good)
		b[at] ^= 1
		cases[fmt.Sprint("byte ", at, " changed")] = b
	}
	for name, b := range cases {
		if got, err := unsealed(r, seal.Backup, "aad", b); !errors.Is(err, seal.ErrStreamDamaged) && !errors.Is(err, seal.ErrStreamKey) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
	if _, err := unsealed(r, seal.Secret, "aad", good); !errors.Is(err, seal.ErrStreamDamaged) {
		t.Errorf("for another purpose: %v", err)
	}
	if _, err := unsealed(r, seal.Backup, "other", good); !errors.Is(err, seal.ErrStreamDamaged) {
		t.Errorf("for something else: %v", err)
	}
	if _, err := unsealed(seal.Random(), seal.Backup, "aad", good); !errors.Is(err, seal.ErrStreamKey) {
		t.Errorf("with another ring: %v", err)
	}
}
