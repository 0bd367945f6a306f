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
func (f *Form) Encode(v Values) []byte { return f.encode(v, (*object).url) }

// EncodeFiles is Encode for a reader of the form language: a file is written
// as an object with filename, content_type, size and content, which is a
// reference with its type, "url", and its location.
func (f *Form) EncodeFiles(v Values) []byte { return f.encode(v, (*object).upload) }

func (f *Form) encode(v Values, file func(*object, *Upload)) []byte {
	var o object
	o.open()
	for i := range f.fields {
		field := &f.fields[i]
		switch value := v[field.ID].(type) {
		case nil:
		case []Upload:
			if field.Multiple() {
				o.key(field.ID)
				o.buf = append(o.buf, '[')
				for i := range value {
					if i > 0 {
						o.buf = append(o.buf, ',')
					}
					file(&o, &value[i])
				}
				o.buf = append(o.buf, ']')
			} else if len(value) > 0 {
				o.key(field.ID)
				file(&o, &value[0])
			}
		default:
			o.value(field.ID, value)
		}
	}
	return o.close()
}

// url writes a file as its address.
func (o *object) url(u *Upload) { o.buf = appendString(o.buf, u.URL) }

// upload writes a file with what is known of it.
func (o *object) upload(u *Upload) {
	o.sub(func(o *object) {
		o.text("filename", u.Name)
		o.text("content_type", u.Type)
		o.int("size", u.Size)
		o.nest("content", func(o *object) {
			o.text("type", "url")
			o.text("location", u.URL)
		})
	})
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
