package main

import (
	"strings"
	"testing"
	"time"
)

func TestTable(t *testing.T) {
	var samples []sample
	for _, cpu := range []float64{90, 300, 80} { // one round was disturbed
		samples = append(samples,
			sample{Subject: "rproxy", Test: "echo", C: 1, Calls: 10, CPU: 100, RPS: 1000},
			sample{Subject: "answerback", Test: "echo", C: 1, Calls: 10, Errors: 1, CPU: cpu, RPS: 1500, P50: 400},
			sample{Subject: "direct", Test: "echo", C: 1, Calls: 10, RPS: 2000, P50: 150})
	}
	table := medians(samples)
	if got, want := table.summary(), "CPU per call against the reverse proxy: echo 0.90; added to the median over no gateway: echo 0.25 ms"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	text := table.markdown(3, time.Second)
	for _, want := range []string{
		"| echo | 1 | answerback | 90 | 0.90 | 1500 | 1.50 | 400 | 0 | 0.25 | 30 | 3 |",
		"| echo | 1 | direct |  |  | 2000 | 2.00 | 150 | 0 |  | 30 | 0 |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the table lacks %q:\n%s", want, text)
		}
	}
}

func TestMedianOfAnEvenNumber(t *testing.T) {
	got := median([]sample{{CPU: 4}, {CPU: 1}, {CPU: 2}, {CPU: 3}}, func(s sample) float64 { return s.CPU })
	if got != 2.5 {
		t.Errorf("got %v, want 2.5", got)
	}
}
