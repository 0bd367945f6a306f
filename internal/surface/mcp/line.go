package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// cutAt is how much is kept of a line that is too long, to find its id in.
const cutAt = 4 << 10

// line is one line of input, without its end. The bytes belong to whoever
// takes it.
type line struct {
	text []byte
	cut  bool // it was too long, and text is only its head
}

// lineReader reads lines of a bounded length, and skips empty ones.
type lineReader struct {
	r   *bufio.Reader
	max int
}

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10), max: limit}
}

// next gives the next line. The last one needs no end. The error is io.EOF
// after it.
func (l *lineReader) next() (line, error) {
	for {
		ln, err := l.read()
		ln.text = bytes.TrimSpace(ln.text)
		if len(ln.text) > 0 && (err == nil || errors.Is(err, io.EOF)) {
			return ln, nil
		}
		if err != nil {
			return line{}, err
		}
	}
}

func (l *lineReader) read() (line, error) {
	var ln line
	for {
		part, err := l.r.ReadSlice('\n')
		if !ln.cut {
			ln.text = append(ln.text, part...)
			if len(ln.text) > l.max+1 {
				ln.cut = true
				ln.text = bytes.Clone(ln.text[:min(cutAt, len(ln.text))])
			}
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return ln, err
		}
	}
}
