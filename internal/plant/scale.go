//go:build plant

package plant

import (
	"os"
	"reflect"
	"strconv"
	"time"
)

const scaleVariable = "ANSWERBACK_TIME_SCALE"

// Scale is how many times faster time runs in the world that the environment
// describes. In other builds it is the constant 1.
var Scale = readScale()

func readScale() time.Duration {
	if n, err := strconv.ParseInt(os.Getenv(scaleVariable), 10, 64); err == nil && n > 1 {
		return time.Duration(n)
	}
	return 1
}

// ScaleAll scales every duration below v, which is a pointer to a struct.
func ScaleAll(v any) { scaleAll(reflect.ValueOf(v)) }

var duration = reflect.TypeFor[time.Duration]()

func scaleAll(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			scaleAll(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				scaleAll(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			scaleAll(v.Index(i))
		}
	case reflect.Map:
		// What is in a map cannot be changed in place.
		for _, k := range v.MapKeys() {
			e := reflect.New(v.Type().Elem()).Elem()
			e.Set(v.MapIndex(k))
			scaleAll(e)
			v.SetMapIndex(k, e)
		}
	case reflect.Int64:
		if v.Type() == duration && v.CanSet() {
			v.SetInt(v.Int() / int64(Scale))
		}
	}
}
