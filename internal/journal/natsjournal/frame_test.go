package natsjournal

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/answerback/answerback/internal/journal"
)

func someFrame() frame {
	return frame{
		kind: kindAsk, pinned: true, oldPinned: true, oldSeq: 77, version: 3, nonce: 1 << 63,
		expires: 1 << 60, until: journal.Never, writer: writer{home: "home", epoch: 1 << 50},
		stamp:   []ledger{{last: 1, tally: tally{pins: 2, sum: 3}, asof: 7}, {last: 1 << 40, tally: tally{pins: 5, sum: 1 << 63}, asof: 1 << 62}},
		payload: []byte("payload"),
	}
}

func TestFramesAreReadBack(t *testing.T) {
	for _, want := range []frame{someFrame(), {kind: kindMark}, {kind: kindDeleted, payload: []byte{0}}} {
		got, err := decode("subject", want.encode("subject"))
		if err != nil {
			t.Fatal(err)
		}
		if got.kind != want.kind || got.pinned != want.pinned || got.oldPinned != want.oldPinned || got.oldSeq != want.oldSeq ||
			got.version != want.version || got.nonce != want.nonce || got.expires != want.expires || got.until != want.until || got.writer != want.writer || !slices.Equal(got.stamp, want.stamp) || !bytes.Equal(got.payload, want.payload) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

func TestP9EveryChangedBitOfAFrameIsNoticed(t *testing.T) {
	f := someFrame()
	whole := f.encode("subject")
	for i := range len(whole) * 8 {
		b := bytes.Clone(whole)
		b[i/8] ^= 1 << (i % 8)
		if _, err := decode("subject", b); err == nil {
			t.Errorf("bit %d was changed, and nobody noticed", i)
		}
	}
	for n := range whole {
		if _, err := decode("subject", whole[:n]); err == nil {
			t.Errorf("only %d bytes were left, and nobody noticed", n)
		}
	}
	if _, err := decode("another", whole); !errors.Is(err, errChecksum) {
		t.Errorf("under another subject: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	some := someFrame()
	f.Add(some.encode("subject"))
	f.Fuzz(func(t *testing.T, b []byte) {
		// Whoever can fix the checksum gets further.
		if len(b) > 4 {
			b = append(bytes.Clone(b[:len(b)-4]), 0, 0, 0, 0)
			sum := checksum("subject", b[:len(b)-4])
			b[len(b)-4], b[len(b)-3], b[len(b)-2], b[len(b)-1] = byte(sum>>24), byte(sum>>16), byte(sum>>8), byte(sum)
		}
		got, err := decode("subject", b)
		if err != nil {
			return
		}
		j := &Journal{layout: layout{prefix: "p", shards: 4}}
		_, _ = j.record(&stored{subject: "p.ask.0.beef.home.id", frame: got})
	})
}

func TestRefusalsOfTheEngineAreToldApart(t *testing.T) {
	for code, want := range map[int]journal.Reason{
		10002: journal.Full, 10023: journal.Full, 10047: journal.Full, 10077: journal.Full,
		10054: journal.TooLarge,
		10039: journal.Unavailable, 10167: journal.Unavailable, 1: journal.Unavailable,
	} {
		e := &apiError{ErrCode: code, Description: "because"}
		if got := e.reason(); got != want {
			t.Errorf("%v means %q, want %q", e, got, want)
		}
	}
}
