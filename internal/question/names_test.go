package question

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/answerback/answerback/form"
)

// TestNamesThatLeadToPrivatePlaces: a public name is judged by what it stands
// for, each beside one that is fine.
func TestNamesThatLeadToPrivatePlaces(t *testing.T) {
	f, err := (&form.Compiler{InsecureAllowPrivateURLs: true}).Parse([]byte(`{"id":"f","title":"F","fields":[
		{"id":"a","type":"url","label":"A"},{"id":"b","type":"url","label":"B"},{"id":"t","type":"text","label":"T"},
		{"id":"free","type":"url","label":"Free","validation":{"blockPrivateIPs":false}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string][]string{
		"fine.example.com": {"93.184.216.34", "2606:2800:220:1::1"}, "inner.example.com": {"10.1.2.3"}, "loop.example.com": {"127.0.0.1"},
		"meta.example.com": {"169.254.169.254"}, "six.example.com": {"::1"}, "mapped.example.com": {"::ffff:192.168.0.1"},
		"both.example.com": {"93.184.216.34", "192.168.0.1"}, "nat64.example.com": {"64:ff9b::a00:1"},
	}
	names := Names(func(_ context.Context, host string) ([]netip.Addr, error) {
		var all []netip.Addr
		for _, s := range known[host] {
			all = append(all, netip.MustParseAddr(s))
		}
		if all == nil {
			return nil, errors.New("no such name")
		}
		return all, nil
	})
	for host := range known {
		errs := names.Check(t.Context(), f, form.Values{"a": "https://" + host + "/x", "b": "https://fine.example.com/", "t": "https://inner.example.com", "free": "https://inner.example.com/"})
		if (len(errs) == 0) != (host == "fine.example.com") {
			t.Errorf("%s: %v", host, errs)
		}
		if len(errs) > 0 && (len(errs) > 1 || errs[0].Field != "a" || errs[0].Constraint != "blockPrivateIPs" || errs[0].Actual != host) {
			t.Errorf("%s: %+v", host, errs)
		}
	}
	if errs := names.Check(t.Context(), f, form.Values{"a": "https://unknown.example.com/"}); errs != nil {
		t.Errorf("a name that nobody knows: %v", errs)
	}
	if errs := Names(nil).Check(t.Context(), f, form.Values{"a": "https://inner.example.com/"}); errs != nil {
		t.Errorf("without lookups: %v", errs)
	}
}

// TestLookupsAreBounded in time.
func TestLookupsAreBounded(t *testing.T) {
	f, err := form.Parse([]byte(`{"id":"f","title":"F","fields":[{"id":"a","type":"url","label":"A"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		names := Names(func(ctx context.Context, _ string) ([]netip.Addr, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		if errs := names.Check(t.Context(), f, form.Values{"a": "https://slow.example.com/"}); errs != nil || time.Since(began) != lookupTime {
			t.Errorf("%v after %s", errs, time.Since(began))
		}
	})
}
