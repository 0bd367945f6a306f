package budget

import (
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/answerback/answerback/ask"
)

// A process that is short of memory stays so until it has clearly more, and is
// looked at no more often than is needed.
func TestShortOfMemory(t *testing.T) {
	now, used, looks := time.Unix(1_000_000, 0), int64(0), 0
	var told []bool
	m := Watch(MemoryConfig{
		Limit: 1000, Every: time.Second, Now: func() time.Time { return now },
		Live: func() int64 { looks++; return used }, Tell: func(short bool) { told = append(told, short) },
	})
	b := New(Config{Memory: m})
	for _, k := range []struct {
		used  int64
		short bool
	}{{0, false}, {799, false}, {800, true}, {5000, true}, {700, true}, {651, true}, {650, false}, {799, false}, {800, true}, {0, false}} {
		now, used = now.Add(time.Second), k.used
		for range 100 {
			no := b.Admit(who(1))
			if (no != nil) != k.short {
				t.Fatalf("with %d bytes: %v", k.used, no)
			}
			if no != nil && no.Code != ask.Overloaded {
				t.Errorf("refused with %s", no.Code)
			}
		}
	}
	if looks != 10 {
		t.Errorf("it looked %d times", looks)
	}
	if len(told) != 4 || !told[0] || told[1] {
		t.Errorf("told %v", told)
	}
}

// A process that refuses everything makes no garbage: it must look by itself
// whether memory is there again.
func TestShortOfMemoryLooksAgain(t *testing.T) {
	now, used, free, collections := time.Unix(1_000_000, 0), int64(900), int64(900), 0
	m := Watch(MemoryConfig{
		Limit: 1000, Now: func() time.Time { return now },
		Live: func() int64 { return used }, Collect: func() { collections++; used = free },
	})
	for range 30 { // three seconds
		now = now.Add(100 * time.Millisecond)
		if !m.Short() {
			t.Fatal("it is not short")
		}
	}
	if collections != 3 {
		t.Errorf("%d collections in three seconds", collections)
	}
	free = 0
	now = now.Add(time.Second)
	if m.Short() {
		t.Error("it is short after all was given back")
	}
	now = now.Add(time.Minute)
	if m.Short() || collections != 4 {
		t.Errorf("%d collections", collections)
	}
}

func TestMemoryThatNobodyWatchesIsNeverShort(t *testing.T) {
	if m := Watch(MemoryConfig{}); m != nil || m.Short() {
		t.Error("without a limit it can be short")
	}
}

// What is in use is seen, garbage is not.
func TestLiveMemoryIsSeen(t *testing.T) {
	const size = 64 << 20
	runtime.GC()
	before := live()
	kept := make([]byte, size)
	for i := range kept {
		kept[i] = 1
	}
	runtime.GC()
	with := live()
	runtime.KeepAlive(kept)
	kept = nil
	runtime.GC()
	after := live()
	if with < before+size/2 || after > with-size/2 {
		t.Errorf("%d bytes before, %d with %d more, %d after", before, with, size, after)
	}
}

func TestSurroundings(t *testing.T) {
	const v2, v1, machine = "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/proc/meminfo"
	for _, k := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"nothing known", nil, 0},
		{"a machine", map[string]string{machine: "MemTotal:       1000 kB\nMemFree: 1 kB\n"}, 1000 << 10 / 10 * 9},
		{"a group without a limit", map[string]string{v2: "max\n", machine: "MemTotal: 1000 kB\n"}, 1000 << 10 / 10 * 9},
		{"a group", map[string]string{v2: "1000\n", machine: "MemTotal: 1000 kB\n"}, 900},
		{"an older group", map[string]string{v1: "1000\n"}, 900},
		{"an older group without a limit", map[string]string{v1: "9223372036854771712\n", machine: "MemTotal: 1000 kB\n"}, 1000 << 10 / 10 * 9},
		{"nonsense", map[string]string{v2: "-1", v1: "x", machine: "MemTotal: lots kB\n"}, 0},
	} {
		got := surroundings(func(file string) ([]byte, error) {
			if text, ok := k.files[file]; ok {
				return []byte(text), nil
			}
			return nil, errors.Join(os.ErrNotExist)
		})
		if got != k.want {
			t.Errorf("%s: %d, want %d", k.name, got, k.want)
		}
	}
}
