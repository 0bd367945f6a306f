package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"io"
)

// A sealed stream is format, key id and salt, and then chunks, each of them
// ciphertext and tag. As a token does, a stream has a key of its own, derived
// from the salt. The nonce of a chunk is its number and whether it is the
// last, so that chunks cannot be left out, moved, or cut off at the end.
const (
	streamChunk = 64 << 10 // bytes of plaintext in every chunk but the last
	streamTag   = 16
	streamNonce = 12
)

// Why a stream cannot be opened.
var (
	// ErrStreamKey means that the stream was sealed with a key that is not in
	// the ring.
	ErrStreamKey = errors.New("it was sealed with a key that is not in this key ring")
	// ErrStreamDamaged means that the stream was changed or cut off, is of
	// another purpose, or was never one.
	ErrStreamDamaged = errors.New("it was changed or cut off")
)

type stream struct {
	aead  cipher.AEAD
	aad   []byte
	chunk uint64
}

func (r *Ring) newStream(k *key, p Purpose, header, aad []byte) stream {
	var secret [32]byte
	mac(secret[:0], &k.purpose(p).seal, header)
	block, err := aes.NewCipher(secret[:])
	if err != nil {
		panic(err) // only for keys of another size
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // only for ciphers other than AES
	}
	return stream{aead: aead, aad: bound(header, aad)}
}

// nonce gives the nonce of the current chunk.
func (s *stream) nonce(last bool) []byte {
	n := make([]byte, streamNonce)
	binary.BigEndian.PutUint64(n[3:], s.chunk)
	if last {
		n[streamNonce-1] = 1
	}
	return n
}

// SealStream encrypts what is written to it, to w, and binds it to the purpose
// and to aad. A stream that was not closed cannot be opened to its end. Not
// safe for concurrent use.
func (r *Ring) SealStream(p Purpose, aad []byte, w io.Writer) (io.WriteCloser, error) {
	k := r.primary()
	header := make([]byte, 0, headerSize)
	header = append(append(append(header, format), k.id[:]...), randomBytes(saltSize)...)
	if _, err := w.Write(header); err != nil {
		return nil, err
	}
	return &sealer{stream: r.newStream(k, p, header, aad), w: w, plain: make([]byte, 0, streamChunk)}, nil
}

type sealer struct {
	stream
	w     io.Writer
	plain []byte // of the current chunk
	out   []byte
	err   error
}

func (s *sealer) Write(b []byte) (n int, err error) {
	for len(b) > 0 && s.err == nil {
		if len(s.plain) == streamChunk { // there is more, so it is not the last
			s.flush(false)
			continue
		}
		some := min(len(b), streamChunk-len(s.plain))
		s.plain = append(s.plain, b[:some]...)
		b, n = b[some:], n+some
	}
	return n, s.err
}

func (s *sealer) flush(last bool) {
	s.out = s.aead.Seal(s.out[:0], s.nonce(last), s.plain, s.aad)
	s.plain = s.plain[:0]
	s.chunk++
	if _, err := s.w.Write(s.out); err != nil && s.err == nil {
		s.err = err
	}
}

// Close writes the end of the stream. It does not close what it writes to.
func (s *sealer) Close() error {
	if s.err != nil {
		return s.err
	}
	s.flush(true)
	err := s.err
	s.err = errors.New("seal: the stream is closed")
	return err
}

// UnsealStream opens what SealStream made for the same purpose and aad. What
// is read from it was checked, but for whether more follows: only io.EOF says
// that the stream is whole. Other errors are ErrStreamKey, ErrStreamDamaged and
// those of src. Not safe for concurrent use.
func (r *Ring) UnsealStream(p Purpose, aad []byte, src io.Reader) (io.Reader, error) {
	header := make([]byte, headerSize)
	if _, err := io.ReadFull(src, header); err != nil {
		return nil, damaged(err)
	}
	if header[0] != format {
		return nil, ErrStreamDamaged
	}
	k := r.find(header[1 : 1+keyIDSize])
	if k == nil {
		return nil, ErrStreamKey
	}
	return &unsealer{stream: r.newStream(k, p, header, aad), src: src, buf: make([]byte, streamChunk+streamTag)}, nil
}

// damaged gives the error for a stream that has too few bytes.
func damaged(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrStreamDamaged
	}
	return err
}

type unsealer struct {
	stream
	src   io.Reader
	buf   []byte
	plain []byte // of the current chunk, what was not read yet
	err   error  // after plain
}

func (u *unsealer) Read(b []byte) (int, error) {
	for len(u.plain) == 0 && u.err == nil {
		u.next()
	}
	if len(u.plain) == 0 {
		return 0, u.err
	}
	n := copy(b, u.plain)
	u.plain = u.plain[n:]
	return n, nil
}

// next opens the next chunk.
func (u *unsealer) next() {
	n, err := io.ReadFull(u.src, u.buf)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		u.err = damaged(err) // a stream ends with a chunk that says so
		return
	}
	sealed, short := u.buf[:n], err != nil
	if !short {
		// Opening writes over its input where it fails, so the output is apart.
		if plain, err := u.aead.Open(nil, u.nonce(false), sealed, u.aad); err == nil {
			u.plain, u.chunk = plain, u.chunk+1
			return
		}
	}
	plain, err := u.aead.Open(nil, u.nonce(true), sealed, u.aad)
	if err != nil {
		u.err = ErrStreamDamaged
		return
	}
	u.plain, u.err = plain, io.EOF
	if more, err := io.ReadFull(u.src, make([]byte, 1)); more > 0 || !errors.Is(err, io.EOF) {
		u.plain, u.err = nil, ErrStreamDamaged
	}
}
