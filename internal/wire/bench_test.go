package wire

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
)

// callOf is a tools/call of about size bytes, of the shape that agents send:
// prose with escapes in it, small values, and a _meta of the modern era.
func callOf(size int) []byte {
	const head = `{"jsonrpc":"2.0","id":42,"method":"tools/call","params":{"_meta":{"progressToken":7,` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1.0"},` +
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}},"sampling":{}}},` +
		`"name":"search__documents","arguments":{"limit":20,"exact":false,"range":[0.5,1e3,-7],"parts":[`
	var b bytes.Buffer
	b.WriteString(head)
	for i := 0; b.Len() < size-3; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		const text = `The quick brown fox said: \"jump over the lazy dog\" and went on its way.\n`
		b.WriteString(`{"index":` + strconv.Itoa(i) + `,"text":"` + strings.Repeat(text, 1+i%3) + `","ok":true}`)
	}
	b.WriteString("]}}}")
	return b.Bytes()
}

// denseOf is a result of about size bytes with many small values.
func denseOf(size int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"jsonrpc":"2.0","id":1,"result":{"structuredContent":[0`)
	for i := 0; b.Len() < size; i++ {
		b.WriteString(`,{"id":` + strconv.Itoa(i*7919) + `,"a":[1,2,3.5],"b":true,"c":null,"d":"x` + strconv.Itoa(i) + `"}`)
	}
	b.WriteString(`]}}`)
	return b.Bytes()
}

func benchScan(b *testing.B, raw []byte) {
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Scan(raw, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkScan1K(b *testing.B)       { benchScan(b, callOf(1<<10)) }
func BenchmarkScan64K(b *testing.B)      { benchScan(b, callOf(64<<10)) }
func BenchmarkScanDense64K(b *testing.B) { benchScan(b, denseOf(64<<10)) }

func BenchmarkSplice(b *testing.B) {
	raw := callOf(1 << 10)
	m, err := Scan(raw, Limits{})
	if err != nil {
		b.Fatal(err)
	}
	dst := make([]byte, 0, 2*len(raw))
	b.ReportAllocs()
	for b.Loop() {
		dst = Splice(dst[:0], raw,
			Edit{m.ID, []byte("1234567")},
			Edit{m.MetaToken, []byte("1234567")},
			Edit{m.Name, []byte(`"documents"`)})
	}
}
