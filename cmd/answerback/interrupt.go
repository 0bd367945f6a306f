package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// interrupts is what the signals to stop do: the first ends the commands'
// context, the second the program, after what must not outlive it.
type interrupts struct {
	mu     sync.Mutex
	atOnce []func()
}

// beforeExit has f called before a second signal ends the program. It must not
// wait for anything.
func (i *interrupts) beforeExit(f func()) {
	if i == nil {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.atOnce = append(i.atOnce, f)
}

func (i *interrupts) now() {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, f := range i.atOnce {
		f()
	}
}

type interruptsKey struct{}

// interruptsOf gives the interrupts of the running program, nil in tests.
func interruptsOf(ctx context.Context) *interrupts {
	i, _ := ctx.Value(interruptsKey{}).(*interrupts)
	return i
}

// interrupted is the status of a program that a second signal ended.
const interrupted = 130

// untilInterrupted gives a context that ends at the first signal to stop. At
// the second, exit is called. The function it returns ends all of that, and
// waits.
func untilInterrupted(exit func(status int)) (context.Context, func()) {
	i := &interrupts{}
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), interruptsKey{}, i))
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	over := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-over:
				return
			case <-signals:
			}
			if n == 0 {
				cancel()
				continue
			}
			i.now()
			exit(interrupted)
		}
	})
	return ctx, func() {
		signal.Stop(signals)
		close(over)
		wg.Wait()
		cancel()
	}
}

// killer is what ends its processes at once.
type killer interface{ Kill() }

// brood is the backends that may have processes, so that these can be ended
// whatever else goes on.
type brood struct {
	mu  sync.Mutex
	all map[killer]struct{}
}

func (b *brood) add(of backend) {
	k, ok := of.(killer)
	if !ok {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all == nil {
		b.all = map[killer]struct{}{}
	}
	b.all[k] = struct{}{}
}

func (b *brood) remove(of backend) {
	k, ok := of.(killer)
	if !ok {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.all, k)
}

func (b *brood) kill() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for k := range b.all {
		k.Kill()
	}
}
