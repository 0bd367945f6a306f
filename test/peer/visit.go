package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"
)

// session is a connected client of a Go SDK.
type session interface {
	negotiated() string
	tools(ctx context.Context) ([]string, error)
	call(ctx context.Context, name string, args map[string]any, token string) (any, error)
	level(ctx context.Context, level string) error
	subscribe(ctx context.Context, uri string) error
	unsubscribe(ctx context.Context, uri string) error
	rootsChanged(ctx context.Context, roots []Root) error
	close()
}

// dialer connects a client of a Go SDK, which tells the watcher what it sees.
type dialer func(ctx context.Context, to Target, w *watcher) (session, error)

// visitAll is drive.mjs for Go: it does the jobs of each target.
func visitAll(t testing.TB, targets []Target, explain func(error) *Failure, connect dialer) []Report {
	t.Helper()
	var reports []Report
	for _, to := range targets {
		reports = append(reports, visit(t, to, explain, connect))
	}
	return reports
}

func visit(t testing.TB, to Target, explain func(error) *Failure, connect dialer) (rep Report) {
	t.Helper()
	w := newWatcher()
	defer w.leave()
	ctx, cancel := context.WithTimeout(t.Context(), to.limit())
	defer cancel()
	s, err := connect(ctx, to, w)
	if err != nil {
		return Report{Error: explain(err)}
	}
	defer func() {
		s.close()
		w.fill(&rep)
	}()
	rep.Version, rep.Era = s.negotiated(), "legacy"
	if rep.Version >= "2026" {
		rep.Era = "modern"
	}
	if rep.Tools, err = s.tools(ctx); err != nil {
		rep.Error = explain(err)
		return rep
	}
	for i, j := range to.Jobs {
		w.begin(j)
		e := Entry{Job: j.Call}
		if err := do(ctx, s, w, j, fmt.Sprint("token-", i), &rep, &e); err != nil {
			e.Error = explain(err)
		}
		e.Asked = w.end(j)
		rep.Results = append(rep.Results, e)
	}
	return rep
}

func do(ctx context.Context, s session, w *watcher, j Job, token string, rep *Report, e *Entry) error {
	ctx, cancel := context.WithTimeout(ctx, j.limit())
	defer cancel()
	switch {
	case j.Call != "":
		if j.Args == nil {
			j.Args = map[string]any{}
		}
		if j.Cancel {
			w.onProgress(token, cancel)
		}
		if j.Times > 0 {
			return callTimes(ctx, s, j, token, e)
		}
		return call(ctx, s, j, token, &e.Result)
	case j.Exists != "":
		return exists(ctx, j.Exists)
	case j.Await != "":
		return w.await(ctx, j.Await)
	case j.Visit:
		return open(ctx, lastURL(rep))
	case j.Level != "":
		return s.level(ctx, j.Level)
	case j.Subscribe != "":
		return s.subscribe(ctx, j.Subscribe)
	case j.Unsubscribe != "":
		return s.unsubscribe(ctx, j.Unsubscribe)
	}
	return s.rootsChanged(ctx, j.Roots)
}

func call(ctx context.Context, s session, j Job, token string, to **Result) error {
	res, err := s.call(ctx, j.Call, j.Args, token)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(res)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, to)
}

// callTimes makes the calls of a job at once, and puts their results together.
func callTimes(ctx context.Context, s session, j Job, token string, e *Entry) error {
	results, errs := make([]*Result, j.Times), make([]error, j.Times)
	var wg sync.WaitGroup
	for i := range j.Times {
		wg.Go(func() { errs[i] = call(ctx, s, j, fmt.Sprint(token, "-", i), &results[i]) })
	}
	wg.Wait()
	e.Result = &Result{}
	for _, r := range results {
		e.Result.add(r)
	}
	return errors.Join(errs...)
}

// exists waits for a file that another process writes.
func exists(ctx context.Context, file string) error {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		if _, err := os.Stat(file); err == nil {
			return nil
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return fmt.Errorf("there is no %s: %w", file, ctx.Err())
		}
	}
}

// lastURL gives the address that the last error asked for.
func lastURL(rep *Report) string {
	f := rep.Results[len(rep.Results)-1].Error
	if f == nil {
		return ""
	}
	url, _ := Pick(f.Data, "elicitations", 0, "url").(string)
	return url
}

// open goes to an address, as a person would in a browser.
func open(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode >= 400 {
		return fmt.Errorf("going to %s: %s", url, resp.Status)
	}
	return nil
}
