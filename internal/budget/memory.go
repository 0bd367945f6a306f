package budget

import (
	"log/slog"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// MemoryConfig is what a Memory is made of.
type MemoryConfig struct {
	Limit int64         // bytes that the process may use; not positive: it is never short
	Live  func() int64  // bytes that are in use; those of the last collection where nil
	Every time.Duration // how often they are looked at; 100 ms
	// Collect finds out what is in use, where Live would not notice by
	// itself: a process that refuses work makes little garbage, so that
	// nothing is collected. It is called while memory is short, once a second
	// at most; a collection where Live and Collect are nil.
	Collect func()
	Now     func() time.Time // time.Now
	Log     *slog.Logger     // of changes; nil for none
	Tell    func(short bool) // is told of changes; nil for none
}

// The process is short of memory once as much of its limit is in use as high
// says, until no more is than low says: a load at the mark does not switch it
// to and fro.
const (
	high = 0.80
	low  = 0.65
)

// Memory says whether the process is short of memory. It looks only when it
// is asked, and seldom. A nil Memory never is short. Safe for concurrent use.
type Memory struct {
	cfg   MemoryConfig
	next  atomic.Int64 // nanoseconds since 1970: when to look again
	short atomic.Bool
	mu    sync.Mutex // one looks at a time

	collected time.Time // guarded by mu
}

// Watch makes a Memory.
func Watch(cfg MemoryConfig) *Memory {
	if cfg.Limit <= 0 {
		return nil
	}
	if cfg.Live == nil {
		cfg.Live = live
		if cfg.Collect == nil {
			cfg.Collect = runtime.GC
		}
	}
	if cfg.Every <= 0 {
		cfg.Every = 100 * time.Millisecond
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Memory{cfg: cfg}
}

// Short reports whether the process is short of memory.
func (m *Memory) Short() bool {
	if m == nil {
		return false
	}
	now := m.cfg.Now().UnixNano()
	if next := m.next.Load(); now >= next && m.next.CompareAndSwap(next, now+int64(m.cfg.Every)) {
		m.look()
	}
	return m.short.Load()
}

func (m *Memory) look() {
	m.mu.Lock()
	defer m.mu.Unlock()
	was := m.short.Load()
	if now := m.cfg.Now(); was && m.cfg.Collect != nil && now.Sub(m.collected) >= time.Second {
		m.collected = now
		m.cfg.Collect()
	}
	used := m.cfg.Live()
	is := float64(used) >= high*float64(m.cfg.Limit) || was && float64(used) > low*float64(m.cfg.Limit)
	if is == was {
		return
	}
	m.short.Store(is)
	if m.cfg.Tell != nil {
		m.cfg.Tell(is)
	}
	if m.cfg.Log == nil {
		return
	}
	if is {
		m.cfg.Log.Warn("short of memory: new calls and sessions are refused", "live_bytes", used, "limit_bytes", m.cfg.Limit)
	} else {
		m.cfg.Log.Info("memory is there again: calls and sessions are taken", "live_bytes", used, "limit_bytes", m.cfg.Limit)
	}
}

// live is what the last collection found to be in use, on the heap and on
// stacks. Garbage does not count: it is collected before the limit is reached.
func live() int64 {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(samples)
	var sum int64
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			sum += int64(s.Value.Uint64())
		}
	}
	return sum
}

// Limit finds out how many bytes the process may use, and has the garbage
// collector keep to it: what was configured, what GOMEMLIMIT says, or nine
// tenths of what its control group or the machine has. It is 0 where nothing
// says it.
func Limit(configured int64) int64 {
	if configured > 0 {
		debug.SetMemoryLimit(configured)
		return configured
	}
	if set := debug.SetMemoryLimit(-1); set != math.MaxInt64 {
		return set
	}
	limit := surroundings(os.ReadFile)
	if limit > 0 {
		debug.SetMemoryLimit(limit)
	}
	return limit
}

// surroundings gives nine tenths of the least limit around the process.
func surroundings(read func(string) ([]byte, error)) int64 {
	least := int64(math.MaxInt64)
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if text, err := read(file); err == nil {
			if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
				least = min(least, n)
			}
		}
	}
	if text, err := read("/proc/meminfo"); err == nil {
		if _, rest, ok := strings.Cut(string(text), "MemTotal:"); ok {
			words := strings.Fields(rest)
			if len(words) > 1 && words[1] == "kB" {
				if n, err := strconv.ParseInt(words[0], 10, 64); err == nil && n > 0 && n < math.MaxInt64>>10 {
					least = min(least, n<<10)
				}
			}
		}
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least / 10 * 9
}
