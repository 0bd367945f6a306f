package form

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Numbers are kept as they were written and compared exactly. These bounds
// keep an exact comparison cheap, whoever chose the digits.
const (
	maxDigits   = 100
	maxExponent = 400
)

// decimal is a number ready to be compared.
type decimal struct {
	text  string
	whole bool // i is exact
	short bool // so few digits that comparing f compares exactly
	i     int64
	f     float64
}

// parseDecimal reads a JSON number. It refuses those too large to be handled
// exactly at a bounded price.
func parseDecimal(n json.Number) (decimal, bool) {
	s := string(n)
	d := decimal{text: s}
	mantissa, exponent, scientific := s, 0, false
	if at := strings.IndexAny(s, "eE"); at >= 0 {
		var err error
		if exponent, err = strconv.Atoi(s[at+1:]); err != nil {
			return d, false
		}
		mantissa, scientific = s[:at], true
	}
	if len(mantissa) > maxDigits || exponent > maxExponent || exponent < -maxExponent {
		return d, false
	}
	if !scientific && len(s) <= 18 && strings.IndexByte(s, '.') < 0 {
		i, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return d, false
		}
		d.i, d.f, d.whole = i, float64(i), true
		d.short = i > -1e15 && i < 1e15
		return d, true
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return d, false
	}
	d.f = f
	if d.short = digits(mantissa) <= 15 && exponent >= -200 && exponent <= 200; d.short && f == math.Trunc(f) && math.Abs(f) < 1e15 {
		d.i, d.whole = int64(f), true
	}
	return d, true
}

// digits counts what matters for precision: the digits from the first that is
// not zero.
func digits(mantissa string) int {
	n := 0
	for _, c := range mantissa {
		if c >= '1' && c <= '9' || c == '0' && n > 0 {
			n++
		}
	}
	return n
}

func (d decimal) rat() *big.Rat {
	r, _ := new(big.Rat).SetString(d.text)
	return r
}

// compare is exact: two decimals of at most 15 digits are in the order of
// their nearest floats, and all others are compared as fractions.
func (d decimal) compare(e decimal) int {
	switch {
	case d.whole && e.whole:
		switch {
		case d.i < e.i:
			return -1
		case d.i > e.i:
			return 1
		}
		return 0
	case d.short && e.short:
		switch {
		case d.f < e.f:
			return -1
		case d.f > e.f:
			return 1
		}
		return 0
	}
	return d.rat().Cmp(e.rat())
}

func (d decimal) multipleOf(e decimal) bool {
	if d.whole && e.whole {
		return d.i%e.i == 0
	}
	return new(big.Rat).Quo(d.rat(), e.rat()).IsInt()
}

// readNumber reads what people and browsers write as a number into a JSON
// number: leading zeros, a leading plus and ".5" are understood, separators of
// thousands and decimal commas are not, since they mean different things in
// different places.
func readNumber(s string) (json.Number, bool) {
	s = strings.TrimPrefix(s, "+")
	rest, negative := strings.CutPrefix(s, "-")
	exponent := ""
	if at := strings.IndexAny(rest, "eE"); at >= 0 {
		rest, exponent = rest[:at], rest[at:]
		if !onlyDigits(strings.TrimLeft(exponent[1:], "+-")) || len(strings.TrimLeft(exponent[1:], "+-")) < len(exponent)-2 {
			return "", false
		}
	}
	whole, fraction, dotted := strings.Cut(rest, ".")
	if whole == "" && dotted {
		whole = "0"
	}
	if !onlyDigits(whole) || dotted && !onlyDigits(fraction) {
		return "", false
	}
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	out := whole + exponent
	if dotted {
		out = whole + "." + fraction + exponent
	}
	if negative {
		out = "-" + out
	}
	_, ok := parseDecimal(json.Number(out))
	return json.Number(out), ok
}

// onlyDigits reports whether s is one ASCII digit or more.
func onlyDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
