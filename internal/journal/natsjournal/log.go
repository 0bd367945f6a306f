package natsjournal

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
)

// serverLog gives the embedded server's log to ours, all of it at level debug:
// what matters to an operator is logged by the journal in its own words.
type serverLog struct {
	log   *slog.Logger
	fatal atomic.Bool // the server has given up
}

func (l *serverLog) line(level, format string, args []any) {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		l.log.Debug("nats: "+fmt.Sprintf(format, args...), "severity", level)
	}
}

func (l *serverLog) Noticef(format string, args ...any) { l.line("notice", format, args) }
func (l *serverLog) Warnf(format string, args ...any)   { l.line("warning", format, args) }
func (l *serverLog) Errorf(format string, args ...any)  { l.line("error", format, args) }
func (l *serverLog) Fatalf(format string, args ...any) {
	l.fatal.Store(true)
	l.line("fatal", format, args)
}
func (l *serverLog) Debugf(format string, args ...any) { l.line("debug", format, args) }
func (l *serverLog) Tracef(format string, args ...any) { l.line("trace", format, args) }
