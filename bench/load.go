package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// sample is one measurement.
type sample struct {
	Subject  string
	Test     string
	C        int // calls at once
	Calls    int
	Errors   int
	CPU      float64 // microseconds of the subject per call
	RPS      float64
	P50, P99 float64 // microseconds
}

const (
	warmUp      = 400 * time.Millisecond
	callTimeout = 10 * time.Second
	tick        = 10 * time.Millisecond // of the CPU times in /proc
)

// isModern reports whether a test is of the modern era: mecho, mask.
func isModern(test string) bool { return strings.HasPrefix(test, "m") }

// runLoad measures one test of one subject and prints a sample for each
// number of calls at once.
func runLoad(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("load", flag.ExitOnError)
	url := fs.String("url", "", "what to call")
	prefix := fs.String("prefix", "", "what stands before the names of tools")
	pid := fs.Int("pid", 0, "the process whose CPU time is measured")
	test := fs.String("test", "echo", "echo, mecho, ask or mask")
	conc := fs.String("c", "1", "calls at once, several with commas")
	length := fs.Duration("d", time.Second, "how long to measure")
	if err := fs.Parse(args); err != nil {
		return err
	}
	w := workload{url: *url, tool: *prefix + strings.TrimPrefix(*test, "m"), modern: isModern(*test), pid: *pid}
	for field := range strings.SplitSeq(*conc, ",") {
		c, err := strconv.Atoi(field)
		if err != nil {
			return err
		}
		s, err := w.measure(ctx, c, *length)
		if err != nil {
			return err
		}
		s.Test = *test
		if err := json.NewEncoder(os.Stdout).Encode(s); err != nil {
			return err
		}
	}
	return nil
}

type workload struct {
	url    string
	tool   string
	modern bool
	pid    int
}

// measure has c clients call for a while.
func (w workload) measure(ctx context.Context, c int, length time.Duration) (sample, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: 4096, DisableCompression: true}
	defer transport.CloseIdleConnections()
	var workers []*worker
	for range c {
		wk := &worker{workload: w, client: client{http: &http.Client{Transport: transport}, url: w.url}}
		if err := wk.client.open(ctx, w.modern); err != nil {
			return sample{}, err
		}
		defer wk.client.close(ctx)
		workers = append(workers, wk)
	}
	if err := workers[0].once(ctx); err != nil {
		return sample{}, err
	}
	var measuring, stop atomic.Bool
	var wg sync.WaitGroup
	for _, wk := range workers {
		wg.Go(func() { wk.run(ctx, &measuring, &stop) })
	}
	time.Sleep(warmUp)
	cpu0, err0 := cpuTime(w.pid)
	began := time.Now()
	measuring.Store(true)
	time.Sleep(length)
	measuring.Store(false)
	took := time.Since(began)
	cpu1, err1 := cpuTime(w.pid)
	stop.Store(true)
	wg.Wait()
	if err := errors.Join(err0, err1, ctx.Err()); err != nil {
		return sample{}, err
	}
	return tally(workers, c, took, cpu1-cpu0)
}

func tally(workers []*worker, c int, took, cpu time.Duration) (sample, error) {
	s := sample{C: c}
	var all []time.Duration
	var first error
	for _, wk := range workers {
		all = append(all, wk.times...)
		s.Errors += wk.errors
		if first == nil {
			first = wk.first
		}
	}
	if len(all) == 0 {
		return s, errors.Join(fmt.Errorf("no call ended well within %s", took), first)
	}
	slices.Sort(all)
	n := float64(len(all))
	us := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
	s.Calls = len(all)
	s.CPU = us(cpu) / n
	s.RPS = n / took.Seconds()
	s.P50, s.P99 = us(all[len(all)/2]), us(all[len(all)*99/100])
	return s, nil
}

// worker is one client with what it measured.
type worker struct {
	workload
	client client
	times  []time.Duration
	errors int
	first  error
}

func (wk *worker) run(ctx context.Context, measuring, stop *atomic.Bool) {
	for !stop.Load() && ctx.Err() == nil {
		began := time.Now()
		err := wk.once(ctx)
		switch {
		case err != nil:
			wk.errors++
			if wk.first == nil {
				wk.first = err
			}
			if wk.errors > 100 {
				return
			}
		case measuring.Load():
			wk.times = append(wk.times, time.Since(began))
		}
	}
}

// once makes one call and checks that its result is the right one.
func (wk *worker) once(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	call := wk.client.call
	if wk.modern {
		call = wk.client.callModern
	}
	res, err := call(ctx, wk.tool)
	if err != nil {
		return err
	}
	want := "0123456789abcdef0123456789abcdef"
	if strings.HasSuffix(wk.tool, "ask") {
		want = "thank you"
	}
	if !bytes.Contains(res, []byte(want)) {
		return fmt.Errorf("wrong result: %.200s", res)
	}
	return nil
}

// cpuTime gives the CPU time that a process has used, in user and system.
func cpuTime(pid int) (time.Duration, error) {
	if pid == 0 {
		return 0, nil
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The second field is the name in brackets, which may hold spaces.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	user, err1 := strconv.ParseInt(string(fields[11]), 10, 64)
	system, err2 := strconv.ParseInt(string(fields[12]), 10, 64)
	return time.Duration(user+system) * tick, errors.Join(err1, err2)
}
