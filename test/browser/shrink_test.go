//go:build browser

package browser

import (
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"slices"
)

// shrink writes a picture with the 64 colours that it has most of, which is
// how a page of text becomes a small file without looking different.
func shrink(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	decoded, err := png.Decode(in)
	if err != nil {
		return err
	}
	b := decoded.Bounds()
	full := image.NewNRGBA(b)
	draw.Draw(full, b, decoded, b.Min, draw.Src)
	small := image.NewPaletted(b, palette(full))
	known := map[color.NRGBA]uint8{}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := full.NRGBAAt(x, y)
			i, ok := known[c]
			if !ok {
				i = uint8(small.Palette.Index(c))
				known[c] = i
			}
			small.SetColorIndex(x, y, i)
		}
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer out.Close()
	enc := png.Encoder{CompressionLevel: png.BestCompression}
	if err := enc.Encode(out, small); err != nil {
		return err
	}
	return out.Close()
}

func palette(full *image.NRGBA) color.Palette {
	count := map[color.NRGBA]int{}
	b := full.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			count[full.NRGBAAt(x, y)]++
		}
	}
	all := make([]color.NRGBA, 0, len(count))
	for c := range count {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.NRGBA) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	var p color.Palette
	for _, c := range all[:min(64, len(all))] {
		p = append(p, c)
	}
	return p
}
