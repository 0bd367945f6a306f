package natsjournal

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/answerback/answerback/internal/journal"
)

// sized is an ask as large as most are.
func sized(i int) journal.Record {
	r := ask(fmt.Sprint("ask-", i))
	r.Shard, r.Addressee = uint16(i*40503), fmt.Sprint("https://id.example.com|person-", i)
	r.Body = make([]byte, 700)
	return r
}

// BenchmarkAsk stores an ask and settles it: two writes, each on disk.
func BenchmarkAsk(b *testing.B) {
	for _, writers := range []int{1, 32} {
		b.Run(fmt.Sprint(writers, "-writers"), func(b *testing.B) {
			j := open(b, config(b))
			var next atomic.Int64
			var wg sync.WaitGroup
			b.ReportAllocs()
			b.ResetTimer()
			for range writers {
				wg.Go(func() {
					for i := int(next.Add(1)); i <= b.N; i = int(next.Add(1)) {
						settle(b, j, create(b, j, sized(i)), time.Hour)
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "asks/s")
		})
	}
}

// BenchmarkBare is the engine's own part of one write: a publish of the same
// size with an expected sequence, and nothing of ours around it.
func BenchmarkBare(b *testing.B) {
	j := open(b, config(b))
	data := make([]byte, 800)
	b.ReportAllocs()
	for i := range b.N {
		p := publication{subject: fmt.Sprintf("%s0000.%s.bare-%d", j.layout.askSubjects(0), home, i), data: data}
		if _, err := j.link.conn.RequestMsg(p.message(), time.Minute); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	crashed(b, j)
}

// crashed closes a journal whose store is not to be used again.
func crashed(b *testing.B, j *Journal) {
	j.end()
	j.running.Wait()
	if err := j.shut(); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkCreate(b *testing.B) {
	j := open(b, config(b))
	b.ReportAllocs()
	for i := range b.N {
		create(b, j, sized(i))
	}
}

func BenchmarkGet(b *testing.B) {
	j := open(b, config(b))
	r := create(b, j, sized(1))
	b.ReportAllocs()
	for range b.N {
		if _, err := j.Get(b.Context(), r.Key); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMany is a store with many open asks: NATSJOURNAL_ASKS of them, or
// 2,000. It tells what each takes of memory and disk, how long a start takes
// and how long reading them all, and what a list costs among so many.
func BenchmarkMany(b *testing.B) {
	n, err := strconv.Atoi(os.Getenv("NATSJOURNAL_ASKS"))
	if err != nil {
		n = 2_000
	}
	cfg := config(b)
	cfg.MaxStore = 64 << 30
	j := open(b, cfg)
	base := heap()
	began := time.Now()
	var next atomic.Int64
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for i := int(next.Add(1)); i <= n; i = int(next.Add(1)) {
				create(b, j, sized(i))
			}
		})
	}
	wg.Wait()
	fill := time.Since(began)
	memory := heap() - base
	shut(b, j)
	disk := size(b, cfg.Dir)

	for range b.N {
		began = time.Now()
		j = open(b, cfg)
		b.ReportMetric(time.Since(began).Seconds(), "s-start")
		began = time.Now()
		seen := 0
		for _, err := range j.Open(b.Context(), home) {
			if err != nil {
				b.Fatal(err)
			}
			seen++
		}
		if seen != n {
			b.Fatalf("%d of %d asks are there", seen, n)
		}
		b.ReportMetric(time.Since(began).Seconds(), "s-read")
		began = time.Now()
		const lists = 100
		for i := range lists {
			r := sized(1 + i*n/lists)
			if l, err := j.List(b.Context(), r.Shard, r.Addressee, 10); err != nil || len(l) != 1 {
				b.Fatal(len(l), err)
			}
		}
		b.ReportMetric(float64(time.Since(began).Microseconds())/lists, "µs/list")
		shut(b, j)
	}
	b.ReportMetric(float64(n)/fill.Seconds(), "creates/s")
	b.ReportMetric(float64(memory)/float64(n), "heapB/ask")
	b.ReportMetric(float64(disk)/float64(n), "diskB/ask")
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func size(b *testing.B, dir string) (total int64) {
	err := filepath.Walk(dir, func(_ string, i os.FileInfo, err error) error {
		if err == nil && !i.IsDir() {
			total += i.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return total
}

// BenchmarkStart opens and closes a store that is there already.
func BenchmarkStart(b *testing.B) {
	cfg := config(b)
	shut(b, open(b, cfg))
	for range b.N {
		b.StartTimer()
		j := open(b, cfg)
		b.StopTimer()
		shut(b, j)
	}
}
