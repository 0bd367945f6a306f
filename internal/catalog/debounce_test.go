package catalog

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// fired notes what a Debouncer fires, and when.
type fired struct {
	mu    sync.Mutex
	start time.Time
	lists []List
	at    []time.Duration
	takes time.Duration
}

func (f *fired) fire(l List) {
	f.mu.Lock()
	f.lists = append(f.lists, l)
	f.at = append(f.at, time.Since(f.start))
	f.mu.Unlock()
	time.Sleep(f.takes)
}

func (f *fired) want(t *testing.T, lists []List, at []time.Duration) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Equal(f.lists, lists) || !slices.Equal(f.at, at) {
		t.Fatalf("fired %v at %v, want %v at %v", f.lists, f.at, lists, at)
	}
}

func TestDebouncerFiresOncePerWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fired{start: time.Now()}
		d := NewDebouncer(100*time.Millisecond, f.fire)
		for range 25 { // a stream of changes for 250 ms
			d.Changed(Tools)
			d.Changed(Tools)
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Hour)
		d.Close()
		if len(f.at) != 3 || f.at[0] != 100*time.Millisecond {
			t.Fatalf("fired at %v", f.at)
		}
	})
}

func TestDebouncerKeepsListsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fired{start: time.Now()}
		d := NewDebouncer(100*time.Millisecond, f.fire)
		d.Changed(Prompts)
		time.Sleep(time.Millisecond)
		d.Changed(Templates) // counts as Resources
		time.Sleep(time.Millisecond)
		d.Changed(Resources)
		d.Changed(Tools)
		d.Changed(0)
		d.Changed(99)
		time.Sleep(time.Second)
		f.want(t, []List{Prompts, Resources, Tools}, []time.Duration{100e6, 101e6, 102e6})
		d.Close()
	})
}

func TestDebouncerNeverOverlapsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fired{start: time.Now(), takes: time.Second}
		d := NewDebouncer(100*time.Millisecond, f.fire)
		d.Changed(Tools)
		time.Sleep(200 * time.Millisecond) // firing until 1100 ms
		d.Changed(Tools)
		d.Changed(Tools)
		time.Sleep(10 * time.Second)
		f.want(t, []List{Tools, Tools}, []time.Duration{100e6, 1200e6})
		d.Close()
	})
}

func TestDebouncerCloseWaitsAndDrops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fired{start: time.Now(), takes: time.Second}
		d := NewDebouncer(100*time.Millisecond, f.fire)
		d.Changed(Tools)
		time.Sleep(150 * time.Millisecond)
		d.Changed(Tools)   // wants another window
		d.Changed(Prompts) // has one open
		d.Close()
		if since := time.Since(f.start); since != 1100*time.Millisecond {
			t.Errorf("Close returned after %v", since)
		}
		d.Changed(Resources)
		time.Sleep(time.Hour)
		f.want(t, []List{Tools}, []time.Duration{100e6})
		d.Close()
	})
}

func TestDebouncerCloseAgainstTimers(t *testing.T) {
	for range 200 {
		d := NewDebouncer(time.Nanosecond, func(List) {})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				d.Changed(Tools)
				d.Changed(Prompts)
			})
		}
		wg.Go(d.Close)
		wg.Wait()
		d.Close()
	}
}
