package form

import (
	"encoding/json"
	"slices"
	"strconv"
)

// Values are answers by field id: string, json.Number, bool, []string or
// []Upload, as the comment on each [Type] says. A field without an answer is
// not in the map; nothing in it is nil.
type Values map[string]any

// Upload is a file that was received for a file field. Type is what the
// content was found to be, not what the sender called it. The URL stands for
// the file in an answer.
type Upload struct {
	Name string
	Type string
	Size int64
	URL  string
}

// Strings gives a field's value as an HTML form or a terminal would send it;
// nil when it has none. Files are given by name.
func (v Values) Strings(id string) []string { return valueStrings(v[id]) }

func valueStrings(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case json.Number:
		return []string{v.String()}
	case bool:
		return []string{strconv.FormatBool(v)}
	case []string:
		return slices.Clone(v)
	case []Upload:
		names := make([]string, len(v))
		for i, u := range v {
			names[i] = u.Name
		}
		return names
	}
	return nil
}

// Encode writes answers as a JSON object in the order of the fields. A file
// is written as its URL, and as a list of them where the field takes several.
// What is no field of the form is left out.
func (f *Form) Encode(v Values) []byte {
	var o object
	o.open()
	for i := range f.fields {
		field := &f.fields[i]
		switch value := v[field.ID].(type) {
		case nil:
		case []Upload:
			urls := make([]string, len(value))
			for i, u := range value {
				urls[i] = u.URL
			}
			if field.Multiple() {
				o.texts(field.ID, urls)
			} else if len(urls) > 0 {
				o.text(field.ID, urls[0])
			}
		default:
			o.value(field.ID, value)
		}
	}
	return o.close()
}

// Redacted is a copy of v in which the values of sensitive fields are left
// out: what may be logged, kept as a draft or shown to others.
func (f *Form) Redacted(v Values) Values {
	out := make(Values, len(v))
	for i := range f.fields {
		field := &f.fields[i]
		if value, ok := v[field.ID]; ok && !field.Sensitive {
			out[field.ID] = value
		}
	}
	return out
}
