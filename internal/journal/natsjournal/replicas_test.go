//go:build crash

package natsjournal

import (
	"fmt"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/journal"
	"github.com/answerback/answerback/internal/journal/journaltest"
)

// A cluster of three servers, with every stream on each of them. It is too
// much work for the race detector, so it runs with the crash tests.

func TestThreeReplicasForgetWhatIsOver(t *testing.T) {
	t.Parallel()
	overAfterACrash(t, newServerSite(t, 3), false)
}

func TestThreeReplicasKeepTheContract(t *testing.T) {
	t.Parallel()
	s := newServerSite(t, 3)
	var stores int
	prefixes := make(chan string, 1)
	prefixes <- ""
	journaltest.Run(t, func(t *testing.T) journaltest.Opened {
		<-prefixes
		stores++
		cfg := s.cfg
		cfg.Recovery, cfg.grain, cfg.slack = Defaults().Recovery, Defaults().grain, Defaults().slack
		cfg.Prefix = fmt.Sprint("s", stores)
		prefixes <- cfg.Prefix
		cfg.Timeout = 30 * time.Second
		j := open(t, cfg)
		return journaltest.Opened{
			Journal: j,
			Reopen: func(t *testing.T) journal.Journal {
				j = reopen(t, cfg, j)
				return j
			},
		}
	})
}
