package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// openAPI is the served document, to hold requests and responses to it.
type openAPI struct {
	paths    map[string]map[string]any
	compiler *jsonschema.Compiler
}

const documentURL = "mem:///openapi.json"

// described gives the document, which compiles each schema once.
func described(t testing.TB) *openAPI {
	t.Helper()
	d, err := readDocument()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

var readDocument = sync.OnceValues(func() (*openAPI, error) {
	raw, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return nil, err
	}
	d := &openAPI{paths: map[string]map[string]any{}, compiler: jsonschema.NewCompiler()}
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	if err := d.compiler.AddResource(documentURL, raw); err != nil {
		return nil, err
	}
	for path, item := range raw.(map[string]any)["paths"].(map[string]any) {
		d.paths[path] = item.(map[string]any)
	}
	return d, nil
})

// find gives the path of the document that a request is for.
func (d *openAPI) find(path string) (string, bool) {
	for p := range d.paths {
		pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(p), `\{id\}`, "[^/]+") + "$"
		if regexp.MustCompile(pattern).MatchString(path) {
			return p, true
		}
	}
	return "", false
}

// pointer is the address of a place in the document, through references of
// responses.
func (d *openAPI) pointer(path, method string, rest ...string) string {
	at := []string{"paths", path, method}
	at = append(at, rest...)
	for i, s := range at {
		at[i] = strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1")
	}
	return documentURL + "#/" + strings.Join(at, "/")
}

func (d *openAPI) holds(pointer, body string) error {
	schema, err := d.compiler.Compile(pointer)
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(body))
	if err != nil {
		return fmt.Errorf("not JSON: %w: %q", err, body)
	}
	return schema.Validate(v)
}

// check holds a response to the document, and the request where it was done.
func (d *openAPI) check(r *http.Request, sent string, got *response) error {
	if kind := got.header.Get("Content-Type"); kind != "application/json" {
		return fmt.Errorf("the response is %q", kind)
	}
	refusal := documentURL + "#/components/schemas/Refusal"
	path, ok := d.find(r.URL.Path)
	method := map[string]string{http.MethodGet: "get", http.MethodHead: "get", http.MethodPost: "post"}[r.Method]
	operation, served := d.paths[path][method].(map[string]any)
	if !ok || !served || got.status == http.StatusForbidden && !strings.HasSuffix(path, "/extend") {
		if got.status < 400 {
			return errors.New("what is not in the document was done")
		}
		return d.holds(refusal, got.body) // paths and methods that are none, and the guard's refusals
	}
	told, ok := operation["responses"].(map[string]any)[strconv.Itoa(got.status)].(map[string]any)
	if !ok {
		return fmt.Errorf("status %d is not in the document", got.status)
	}
	pointer := d.pointer(path, method, "responses", strconv.Itoa(got.status))
	if ref, ok := told["$ref"].(string); ok {
		pointer = documentURL + ref
		retry := strings.HasSuffix(ref, "/TooMany") || strings.HasSuffix(ref, "/Later")
		if n, err := strconv.Atoi(got.header.Get("Retry-After")); retry && (err != nil || n < 1) {
			return errors.New("Retry-After is missing")
		}
	}
	if r.Method != http.MethodHead {
		if err := d.holds(pointer+"/content/application~1json/schema", got.body); err != nil {
			return fmt.Errorf("%w: %s", err, got.body)
		}
	}
	if takesJSON := !strings.HasSuffix(path, "/files"); sent != "" && got.status < 300 && takesJSON {
		return d.holds(d.pointer(path, method, "requestBody", "content", "application/json", "schema"), sent)
	}
	return nil
}

// What is in the document is served, and what is served is in the document.
func TestDocumentHasEveryOperationAndNoOther(t *testing.T) {
	k := newKit(t)
	var listed, served []string
	for path, item := range k.doc.paths {
		for method := range item {
			if method != "parameters" {
				listed = append(listed, strings.ToUpper(method)+" "+path)
			}
		}
	}
	for _, r := range (&Handler{}).routes() {
		served = append(served, r.method+" "+r.path)
	}
	slices.Sort(listed)
	slices.Sort(served)
	if !slices.Equal(listed, served) {
		t.Errorf("the document has %q, served is %q", listed, served)
	}
	for _, op := range listed {
		method, path, _ := strings.Cut(op, " ")
		got := k.send(request(method, strings.ReplaceAll(path, "{id}", "ask-0-0"), "ada", ""))
		if got.status == http.StatusMethodNotAllowed || strings.Contains(got.body, "nothing at this path") {
			t.Errorf("%s is not served: %s", op, got.body)
		}
	}
}

func TestDocumentIsServedToAnybody(t *testing.T) {
	got := newKit(t).get("/v1/openapi.json", "").want(http.StatusOK)
	if got.body != string(document) {
		t.Error("another document is served")
	}
	var d struct {
		OpenAPI string
		Info    struct{ Title, Version string }
	}
	if err := json.Unmarshal([]byte(got.body), &d); err != nil || !strings.HasPrefix(d.OpenAPI, "3.1.") || d.Info.Title == "" || d.Info.Version == "" {
		t.Errorf("%v, %+v", err, d)
	}
}

// Every schema compiles, every operation has a name of its own, and every
// reference leads somewhere.
func TestDocumentIsWhole(t *testing.T) {
	d := described(t)
	var all any
	if err := json.Unmarshal(document, &all); err != nil {
		t.Fatal(err)
	}
	refs := regexp.MustCompile(`"\$ref": "#/([^"]+)"`).FindAllStringSubmatch(string(document), -1)
	if len(refs) == 0 {
		t.Error("found no reference")
	}
	for _, ref := range refs {
		at := all
		for step := range strings.SplitSeq(ref[1], "/") {
			object, _ := at.(map[string]any)
			at = object[step]
		}
		if at == nil {
			t.Errorf("%s leads nowhere", ref[1])
		}
		if strings.Contains(ref[1], "/schemas/") {
			if _, err := d.compiler.Compile(documentURL + "#/" + ref[1]); err != nil {
				t.Errorf("%s: %v", ref[1], err)
			}
		}
	}
	names := map[any]bool{}
	for path, item := range d.paths {
		for method, op := range item {
			if method == "parameters" {
				continue
			}
			name := op.(map[string]any)["operationId"]
			if name == nil || names[name] {
				t.Errorf("%s %s is called %v", method, path, name)
			}
			names[name] = true
		}
	}
}

// The checker itself can fail.
func TestDocumentRefusesWhatItDoesNotDescribe(t *testing.T) {
	d := described(t)
	for name, body := range map[string]string{
		"an undescribed member": `{"status":"completed","delivered":true,"secret":1}`,
		"a missing member":      `{"status":"completed"}`,
		"another status":        `{"status":"pending","delivered":true}`,
	} {
		got := &response{t, 200, http.Header{"Content-Type": {"application/json"}}, body}
		r := request(http.MethodPost, "/v1/asks/x/decline", "ada", "")
		if d.check(r, "", got) == nil {
			t.Errorf("%s passes", name)
		}
		got.body = `{"status":"completed","delivered":true}`
		if err := d.check(r, "", got); err != nil {
			t.Errorf("control: %v", err)
		}
		got.status = 418
		if d.check(r, "", got) == nil {
			t.Error("an undescribed status passes")
		}
	}
	page := &response{t, 200, http.Header{"Content-Type": {"application/json"}}, `{"asks":[{"id":"a","mode":"form","status":"pending","backend":"b","message":"","createdAt":1,"timeoutAt":1,"extensionsRemaining":0,"url":"x"}],"more":false}`}
	if d.check(request(http.MethodGet, "/v1/asks", "ada", ""), "", page) == nil {
		t.Error("a list with more than summaries passes")
	}
}
