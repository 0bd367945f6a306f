package form_test

import (
	"encoding/json"
	"testing"

	"github.com/answerback/answerback/form"
	"github.com/answerback/answerback/form/formtest"
)

// answer is a form with a field of every type but file, as a definition, and
// an answer to it in the ways in which answers come.
type answer struct {
	raw     []byte
	form    *form.Form
	values  form.Values
	json    []byte
	strings map[string][]string
}

func testAnswer(b testing.TB) answer {
	b.Helper()
	f := formtest.Comprehensive()
	raw, err := json.Marshal(f.Definition())
	if err != nil {
		b.Fatal(err)
	}
	v, err := formtest.Valid(f)
	if err != nil {
		b.Fatal(err)
	}
	strings := map[string][]string{}
	for id := range v {
		strings[id] = v.Strings(id)
	}
	return answer{raw, f, v, f.Encode(v), strings}
}

// F20: the form beside the bare validator on the same schema and values.
func BenchmarkValidate(b *testing.B) {
	a := testAnswer(b)
	b.Run("form", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, errs := a.form.Validate(a.values); len(errs) > 0 {
				b.Fatal(errs)
			}
		}
	})
	b.Run("schema", func(b *testing.B) {
		schema := oracle(b, a.form)
		instance := map[string]any{}
		for id, v := range a.values {
			instance[id] = plain(a.form, id, v)
		}
		b.ReportAllocs()
		for b.Loop() {
			if err := schema.Validate(instance); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("form on all cores", func(b *testing.B) {
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				a.form.Validate(a.values)
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "validations/s")
	})
}

func BenchmarkInvalid(b *testing.B) {
	a := testAnswer(b)
	bad := form.Values{
		"username": "a!", "port": json.Number("80"), "enable_ssl": "maybe", "start_date": "2025-01-01", "log_level": "loud",
		"features": []string{"x", "x"}, "webhook_url": "http://10.0.0.1/", "more": "x",
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, errs := a.form.Validate(bad); len(errs) < 8 {
			b.Fatal(errs)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	a := testAnswer(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, errs := a.form.Read(a.strings, nil); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	a := testAnswer(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, errs := a.form.Decode(a.json, nil); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	a := testAnswer(b)
	b.Run("uncached", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := form.Parse(a.raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("cached", func(b *testing.B) {
		cache := form.NewCache(nil, 8)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := cache.Parse(a.raw); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("schema", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			oracle(b, a.form)
		}
	})
}
