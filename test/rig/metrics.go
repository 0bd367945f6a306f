package rig

import (
	"bufio"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Metrics is the configuration of a gateway whose figures Metric reads.
const Metrics = "metrics: { listen: 127.0.0.1:0 }\n"

var metricsAt = regexp.MustCompile(`msg=metrics url=(\S+)`)

// Metric gives the value of one series of the gateway's figures, by its name
// with its labels, and 0 where there is none.
func (g *Gateway) Metric(t testing.TB, series string) float64 {
	t.Helper()
	at := metricsAt.FindStringSubmatch(g.Log())
	if at == nil {
		t.Fatal("the gateway serves no metrics: add rig.Metrics to its configuration")
	}
	resp, err := http.Get(at[1])
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		text, ok := strings.CutPrefix(lines.Text(), series+" ")
		if !ok {
			continue
		}
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	return 0
}
