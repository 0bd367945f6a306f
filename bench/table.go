package main

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"
)

// table holds the median of all rounds for each test, number of calls at once
// and subject, tests and subjects in the order in which they were measured.
type table []sample

type cell struct {
	test    string
	c       int
	subject string
}

func medians(samples []sample) table {
	byCell := map[cell][]sample{}
	var order []cell
	var tests []string
	for _, s := range samples {
		k := cell{s.Test, s.C, s.Subject}
		if byCell[k] == nil {
			order = append(order, k)
		}
		byCell[k] = append(byCell[k], s)
		if !slices.Contains(tests, s.Test) {
			tests = append(tests, s.Test)
		}
	}
	slices.SortStableFunc(order, func(a, b cell) int {
		return cmp.Or(cmp.Compare(slices.Index(tests, a.test), slices.Index(tests, b.test)), cmp.Compare(a.c, b.c))
	})
	var t table
	for _, k := range order {
		all := byCell[k]
		m := sample{Test: k.test, C: k.c, Subject: k.subject}
		m.CPU = median(all, func(s sample) float64 { return s.CPU })
		m.RPS = median(all, func(s sample) float64 { return s.RPS })
		m.P50 = median(all, func(s sample) float64 { return s.P50 })
		m.P99 = median(all, func(s sample) float64 { return s.P99 })
		for _, s := range all {
			m.Calls += s.Calls
			m.Errors += s.Errors
		}
		t = append(t, m)
	}
	return t
}

func median(samples []sample, of func(sample) float64) float64 {
	var v []float64
	for _, s := range samples {
		v = append(v, of(s))
	}
	slices.Sort(v)
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}

// find gives the row of a subject beside another one.
func (t table) find(like sample, subject string) (sample, bool) {
	i := slices.IndexFunc(t, func(s sample) bool {
		return s.Test == like.Test && s.C == like.C && s.Subject == subject
	})
	if i < 0 {
		return sample{}, false
	}
	return t[i], true
}

func (t table) markdown(rounds int, length time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Medians of %d interleaved rounds of %s each; %s, %d CPUs, one for the subject, one for backend and load.\n\n",
		rounds, length, runtime.Version(), runtime.NumCPU())
	b.WriteString("| test | calls at once | subject | CPU us per call | x rproxy | calls/s | x rproxy | p50 us | p99 us | p50 added ms | calls | errors |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, s := range t {
		cpu, cpuRatio, rpsRatio := "", "", ""
		if s.CPU > 0 {
			cpu = fmt.Sprintf("%.0f", s.CPU)
		}
		if p, ok := t.find(s, "rproxy"); ok {
			rpsRatio = fmt.Sprintf("%.2f", s.RPS/p.RPS)
			if s.CPU > 0 && p.CPU > 0 {
				cpuRatio = fmt.Sprintf("%.2f", s.CPU/p.CPU)
			}
		}
		added := ""
		if ms, ok := t.added(s); ok {
			added = fmt.Sprintf("%.2f", ms)
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %.0f | %s | %.0f | %.0f | %s | %d | %d |\n",
			s.Test, s.C, s.Subject, cpu, cpuRatio, s.RPS, rpsRatio, s.P50, s.P99, added, s.Calls, s.Errors)
	}
	return b.String()
}

// added is what a subject adds to the median time of a call over no gateway
// at all, in milliseconds.
func (t table) added(s sample) (ms float64, ok bool) {
	direct, ok := t.find(s, "direct")
	return (s.P50 - direct.P50) / 1000, ok && s.Subject != "direct"
}

// summary says how the gateway's CPU time per call compares with the proxy's,
// for each test at the largest number of calls at once, and what it adds to
// the time of a call at the smallest, where no call waits for another.
func (t table) summary() string {
	first, last := map[string]sample{}, map[string]sample{}
	var order []string
	for _, s := range t {
		if s.Subject != "answerback" {
			continue
		}
		if _, ok := last[s.Test]; !ok {
			order = append(order, s.Test)
			first[s.Test] = s
		}
		last[s.Test] = s
	}
	var cpu, added []string
	for _, test := range order {
		s := last[test]
		if p, ok := t.find(s, "rproxy"); ok && p.CPU > 0 {
			cpu = append(cpu, fmt.Sprintf("%s %.2f", test, s.CPU/p.CPU))
		}
		if ms, ok := t.added(first[test]); ok {
			added = append(added, fmt.Sprintf("%s %.2f ms", test, ms))
		}
	}
	return "CPU per call against the reverse proxy: " + strings.Join(cpu, ", ") +
		"; added to the median over no gateway: " + strings.Join(added, ", ")
}
