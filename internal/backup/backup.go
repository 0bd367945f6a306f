package backup

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/seal"
)

const (
	// Format is what this version writes. It reads the formats from
	// OldestFormat on.
	Format       = 1
	OldestFormat = 1

	// intro begins the file, in the clear: the format follows, and a line end.
	intro    = "answerback backup "
	maxIntro = 64

	// maxRecord bounds one record: its body and what is stored with it.
	maxRecord = journal.MaxBody + 64<<10
	kindCount = 'z' // the last record: how many there are
)

// Header says what a backup is of.
type Header struct {
	Store   string    `json:"store"`   // the id of the store
	Home    string    `json:"home"`    // of the gateway that took it
	Epoch   uint64    `json:"epoch"`   // of that home
	At      time.Time `json:"at"`      // when it began
	Now     int64     `json:"now"`     // the same on the clock of the store
	Audit   bool      `json:"audit"`   // the audit is in it
	Stopped bool      `json:"stopped"` // no gateway was running
	Version string    `json:"version"` // of the program
}

// Count is how many records a backup has.
type Count struct {
	Asks  int `json:"asks"`
	Items int `json:"items"`
	Ends  int `json:"ends"`
	Audit int `json:"audit"`
}

// Records is how many there are in all.
func (c Count) Records() int { return c.Asks + c.Items + c.Ends + c.Audit }

func (c *Count) add(k journal.SavedKind) {
	switch k {
	case journal.SavedAsk:
		c.Asks++
	case journal.SavedItem:
		c.Items++
	case journal.SavedEnd:
		c.Ends++
	case journal.SavedAudit:
		c.Audit++
	}
}

// Write takes a backup of a store, and writes it to w. The header's Store, At
// and Now are filled in. After an error, what was written is no backup.
func Write(ctx context.Context, w io.Writer, ring *seal.Ring, h Header, from journal.Saver) (Count, error) {
	info, err := from.Info(ctx)
	if err != nil {
		return Count{}, err
	}
	h.Store, h.Now, h.At = info.ID, info.Now, time.Now().UTC()
	first := intro + strconv.Itoa(Format) + "\n"
	if _, err := io.WriteString(w, first); err != nil {
		return Count{}, err
	}
	sealed, err := ring.SealStream(seal.Backup, []byte(first), w)
	if err != nil {
		return Count{}, err
	}
	out := bufio.NewWriter(sealed)
	head, err := json.Marshal(h)
	if err != nil {
		return Count{}, err
	}
	if err := frame(out, head); err != nil {
		return Count{}, err
	}
	var n Count
	var buf []byte
	for s, err := range from.Save(ctx, h.Audit) {
		if err != nil {
			return Count{}, err
		}
		buf = encode(buf[:0], &s)
		if err := frame(out, buf); err != nil {
			return Count{}, err
		}
		n.add(s.Kind)
	}
	end, err := json.Marshal(n)
	if err != nil {
		return Count{}, err
	}
	err = frame(out, append([]byte{kindCount}, end...))
	return n, errors.Join(err, out.Flush(), sealed.Close())
}

func frame(w *bufio.Writer, b []byte) error {
	if len(b) > maxRecord {
		return fmt.Errorf("a record of %d bytes is larger than any should be", len(b))
	}
	var size [binary.MaxVarintLen64]byte
	if _, err := w.Write(size[:binary.PutUvarint(size[:], uint64(len(b)))]); err != nil {
		return err
	}
	_, err := w.Write(b)
	return err
}

// Reader reads a backup once, from its beginning to its end.
type Reader struct {
	Header Header
	Count  Count // complete after Records has ended without an error
	in     *bufio.Reader
}

// NewReader begins to read a backup. Its error says, for the operator, why src
// is none that can be read with the ring.
func NewReader(src io.Reader, ring *seal.Ring) (*Reader, error) {
	in := bufio.NewReaderSize(src, 32<<10)
	first, err := readIntro(in)
	if err != nil {
		return nil, err
	}
	plain, err := ring.UnsealStream(seal.Backup, []byte(first), in)
	if err != nil {
		return nil, explain(err)
	}
	r := &Reader{in: bufio.NewReader(plain)}
	head, err := r.frame()
	if err != nil {
		return nil, explain(err)
	}
	if err := json.Unmarshal(head, &r.Header); err != nil {
		return nil, explain(errMeaning)
	}
	return r, nil
}

// readIntro reads the first line, and checks the format.
func readIntro(in *bufio.Reader) (string, error) {
	start, err := in.Peek(len(intro))
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if string(start) != intro {
		return "", errors.New("it is not a backup made by answerback backup")
	}
	line, err := in.Peek(maxIntro)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	end := bytes.IndexByte(line, '\n')
	format, err := strconv.Atoi(strings.TrimPrefix(string(line[:max(end, 0)]), intro))
	switch {
	case end < 0 || err != nil:
		return "", explain(seal.ErrStreamDamaged)
	case format > Format:
		return "", fmt.Errorf("it is of format %d, made by a newer version of Answerback, and this version reads formats %d to %d: restore it with that version or a later one", format, OldestFormat, Format)
	case format < OldestFormat:
		return "", fmt.Errorf("it is of format %d, and this version of Answerback reads formats %d to %d: restore it with the version that made it", format, OldestFormat, Format)
	}
	first := string(line[:end+1])
	_, err = in.Discard(len(first))
	return first, err
}

var errMeaning = errors.New("it holds something that this version does not understand")

// explain puts an error into words that say what to do.
func explain(err error) error {
	switch {
	case errors.Is(err, seal.ErrStreamKey):
		return fmt.Errorf("%w: put the file keys of the gateway that made the backup into data_dir, or add its keys to the one there", err)
	case errors.Is(err, seal.ErrStreamDamaged), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("%w since it was made, or is not complete: use another backup", seal.ErrStreamDamaged)
	}
	return err
}

func (r *Reader) frame() ([]byte, error) {
	n, err := binary.ReadUvarint(r.in)
	if err != nil {
		return nil, err
	}
	if n > maxRecord {
		return nil, errMeaning
	}
	b := make([]byte, n)
	_, err = io.ReadFull(r.in, b)
	return b, err
}

// Records gives the records in their order, once. Only after it has ended
// without an error is it known that the backup is whole.
func (r *Reader) Records() iter.Seq2[journal.Saved, error] {
	return func(yield func(journal.Saved, error) bool) {
		for {
			b, err := r.frame()
			if err == nil && len(b) > 0 && b[0] == kindCount {
				if err := r.end(b[1:]); err != nil {
					yield(journal.Saved{}, err)
				}
				return
			}
			var s journal.Saved
			if err == nil {
				s, err = decode(b)
			}
			if err != nil {
				yield(journal.Saved{}, explain(err))
				return
			}
			r.Count.add(s.Kind)
			if !yield(s, nil) {
				return
			}
		}
	}
}

// end checks that nothing is missing.
func (r *Reader) end(said []byte) error {
	var n Count
	if err := json.Unmarshal(said, &n); err != nil {
		return explain(errMeaning)
	}
	if n != r.Count {
		return explain(seal.ErrStreamDamaged)
	}
	if _, err := r.in.ReadByte(); !errors.Is(err, io.EOF) {
		if err == nil {
			err = seal.ErrStreamDamaged
		}
		return explain(err)
	}
	return nil
}

// Verify reads a backup to its end, and gives what it is of.
func Verify(src io.Reader, ring *seal.Ring) (Header, Count, error) {
	r, err := NewReader(src, ring)
	if err != nil {
		return Header{}, Count{}, err
	}
	for _, err := range r.Records() {
		if err != nil {
			return Header{}, Count{}, err
		}
	}
	return r.Header, r.Count, nil
}
