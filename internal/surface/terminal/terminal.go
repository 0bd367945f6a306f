package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/answerback/answerback/ask"
)

// Config is what a Terminal is made of. In and Out are required.
type Config struct {
	// In is where lines come from. Where it has a SetReadDeadline that works,
	// as an *os.File of a terminal can, a read that nobody waits for any more
	// is ended with it; otherwise it ends with In.
	In  io.Reader
	Out io.Writer
	// IsTerminal says that a person can be at the other end.
	IsTerminal bool
	// Hide keeps what is typed from being seen until show is called. Without
	// it nobody is asked for a secret.
	Hide func() (show func() error, err error)
	// Flush forgets what was typed and not yet read, if that is possible.
	Flush func()
	// Now is time.Now where it is nil.
	Now func() time.Time
}

// Terminal is a person to ask, one question at a time.
type Terminal struct {
	cfg Config
	in  *bufio.Reader
	err error // of Out: with a screen that shows nothing there is nothing to agree to
}

// Open gives the terminal of cfg. The error says that nobody can be asked
// there.
func Open(cfg Config) (*Terminal, error) {
	if !cfg.IsTerminal || cfg.In == nil || cfg.Out == nil {
		return nil, errNoTerminal
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Terminal{cfg: cfg, in: bufio.NewReaderSize(cfg.In, maxLine+2)}, nil
}

// maxLine is how many bytes a line may have. Terminals cut longer ones
// without a word, some of them at 1024.
const maxLine = 1000

// maxSkipped is how much of a line that is too long is read to find its end.
const maxSkipped = 1 << 20

// Why there is no decision. Each message is a sentence that says so.
var (
	errNoTerminal  = ask.Errorf(ask.NoClient, "There is no terminal to ask on; nothing was sent.")
	errEnd         = ask.Errorf(ask.ClientGone, "The input ended before the answer was complete; nothing was sent.")
	errInterrupted = ask.Errorf(ask.ClientCancelled, "Interrupted; nothing was sent.")
	errTimeout     = ask.Errorf(ask.Timeout, "The time for this question is up; nothing was sent.")
	errLeft        = ask.Errorf(ask.ClientCancelled, "You left the question; nothing was sent, and it still waits.")
	errAttempts    = ask.Errorf(ask.ClientGone, "Too many lines could not be used; nothing was sent.")
	errSecret      = ask.Errorf(ask.NotAllowed, "This question asks for a secret, and what is typed here would be seen. Answer it on its page; nothing was sent.")
	errScreen      = ask.Errorf(ask.NoClient, "The terminal cannot be written to; nothing was sent.")
)

// errLong is a line that is too long to be trusted.
var errLong = errors.New("too long")

// say prints text of ours.
func (t *Terminal) say(format string, args ...any) {
	if _, err := fmt.Fprintf(t.cfg.Out, format, args...); err != nil && t.err == nil {
		t.err = err
	}
}

// read gives the next line that was typed in full, without its end. The error
// is errLong, or says why there will be no more.
func (t *Terminal) read(ctx context.Context) (string, error) {
	if t.err != nil {
		return "", errScreen
	}
	if err := ended(ctx); err != nil {
		return "", err
	}
	type read struct {
		line string
		err  error
	}
	got := make(chan read, 1)
	go func() {
		line, err := t.line()
		got <- read{line, err}
	}()
	select {
	case r := <-got:
		// What ended while somebody typed has ended.
		if err := ended(ctx); err != nil {
			return "", err
		}
		return r.line, r.err
	case <-ctx.Done():
		if in, ok := t.cfg.In.(interface{ SetReadDeadline(time.Time) error }); ok && in.SetReadDeadline(time.Unix(1, 0)) == nil {
			<-got
		}
		return "", ended(ctx)
	}
}

// ended says why ctx has ended, if it has.
func ended(ctx context.Context) error {
	switch err := ctx.Err(); {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return errTimeout
	}
	return errInterrupted
}

// Bytes that stand for keys where the terminal does not act on them itself.
const (
	keyInterrupt = "\x03"
	keyEnd       = "\x04"
)

// line reads to the end of a line. A line without an end is none: it may be
// half of what somebody wanted to say.
func (t *Terminal) line() (string, error) {
	raw, err := t.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		for skipped := 0; errors.Is(err, bufio.ErrBufferFull); skipped += len(raw) {
			if skipped > maxSkipped {
				return "", errAttempts
			}
			raw, err = t.in.ReadSlice('\n')
		}
		if err == nil {
			return "", errLong
		}
	}
	if err != nil {
		return "", errEnd
	}
	line := strings.TrimSuffix(strings.TrimSuffix(string(raw), "\n"), "\r")
	switch {
	case strings.Contains(line, keyInterrupt):
		return "", errInterrupted
	case strings.Contains(line, keyEnd):
		return "", errEnd
	case len(line) > maxLine:
		return "", errLong
	}
	return line, nil
}

// readable reports whether a line is text that somebody can have meant.
func readable(line string) bool {
	return utf8.ValidString(line) && !strings.ContainsFunc(line, func(r rune) bool {
		return r != '\t' && !joins(r) && unicode.In(r, unicode.Cc, unicode.Cf)
	})
}

// forget drops what was typed before somebody was asked for it.
func (t *Terminal) forget() {
	_, _ = t.in.Discard(t.in.Buffered()) // never more than there is
	if t.cfg.Flush != nil {
		t.cfg.Flush()
	}
}
