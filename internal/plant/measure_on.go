//go:build plant && unix

package plant

import (
	"encoding/json"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"sync"
	"syscall"
)

const measureVariable = "ANSWERBACK_MEASURE"

// collections is how often garbage is collected before the memory is looked
// at: a stack that was once deep halves with each.
const collections = 4

// Measure starts writing the memory of this process down at each SIGUSR1, where
// the environment asks for that. The function it returns ends it.
func Measure() (stop func()) {
	dir := os.Getenv(measureVariable)
	if dir == "" {
		return func() {}
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 1; ; n++ {
			if _, ok := <-signals; !ok {
				return
			}
			if err := measure(filepath.Join(dir, strconv.Itoa(n))); err != nil {
				panic("plant: the memory cannot be written down: " + err.Error())
			}
		}
	})
	return func() {
		signal.Stop(signals)
		close(signals)
		wg.Wait()
	}
}

// measure writes what the memory is used for into the files of that name: the
// figures come last, so that where they are, the others are as well.
func measure(name string) error {
	for range collections {
		debug.FreeOSMemory()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	for _, of := range []string{"heap", "goroutine"} {
		f, err := os.Create(name + "." + of)
		if err != nil {
			return err
		}
		err = pprof.Lookup(of).WriteTo(f, 0)
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return err
		}
	}
	text, err := json.Marshal(map[string]any{"heap": m.HeapAlloc, "stacks": m.StackInuse, "goroutines": runtime.NumGoroutine()})
	if err != nil {
		return err
	}
	if err := os.WriteFile(name+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name+".json")
}
