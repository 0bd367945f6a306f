package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const (
	typedKey = "long-enough-to-be-a-key"
	keyed    = `{"responses":{"region":"eu","api_key":"` + typedKey + `"}}`
)

// F12, F18: what was typed into a sensitive field goes to the creator of the
// form, once, and is nowhere else.
func TestSecretIsCollectedOnce(t *testing.T) {
	k := newKit(t)
	path := "/v1/forms/" + k.createForm(t, deployForm).ElicitationID
	k.post(path+"/collect", "ada", "").want(409, `"reason":"not_answered"`, `"type":"submission"`)
	k.post(path+"/submit", "ada", keyed).want(200)
	k.get(path, "ada").want(200, `"result":{"region":"eu"}`, `"uncollected":["api_key"]`)
	for _, who := range []string{"bob", "bob@approvers"} {
		k.post(path+"/collect", who, "").want(404, `"reason":"unknown_ask"`)
	}
	k.post(path+"/collect", "", "").want(401)
	k.post(path+"/collect", "ada", "{}").want(400, `"reason":"bad_message"`)

	got := k.post(path+"/collect", "ada", "").want(200, `"status":"completed"`, `"result":{"region":"eu","api_key":"`+typedKey+`"}`, `"collectedAt":`)
	if strings.Contains(got.body, "uncollected") || got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%v %s", got.header, got.body)
	}
	k.post(path+"/collect", "ada", "").want(409, `"reason":"already_collected"`, `"collectedAt":`, `"message":"The result was collected at 2`)
	for _, at := range []string{path, "/v1/asks/" + strings.TrimPrefix(path, "/v1/forms/"), "/v1/asks"} {
		if got := k.get(at, "ada").want(200); strings.Contains(got.body, typedKey) {
			t.Errorf("%s has the secret: %s", at, got.body)
		}
	}
	if got := k.get(path, "ada").want(200, `"result":{"region":"eu"}`, `"collectedAt":`); strings.Contains(got.body, "uncollected") {
		t.Errorf("afterwards it is %s", got.body)
	}
	if strings.Contains(k.logged(), typedKey) {
		t.Error("the secret is in the log")
	}
}

// Two forms: what was collected of one says nothing of the other. A form
// without secrets is collected once as well, and its result stays.
func TestFormsAreCollectedEachForItself(t *testing.T) {
	k := newKit(t)
	one, two := "/v1/forms/"+k.createForm(t, deployForm).ElicitationID, "/v1/forms/"+k.createForm(t, deployForm).ElicitationID
	plain := "/v1/forms/" + k.createForm(t, `{"id":"p","title":"P","fields":[{"id":"n","type":"number","label":"N"}]}`).ElicitationID
	k.post(one+"/submit", "ada", keyed).want(200)
	k.post(two+"/submit", "ada", strings.Replace(keyed, typedKey, "another-key", 1)).want(200)
	k.post(plain+"/submit", "ada", `{"responses":{"n":7}}`).want(200)
	k.post(one+"/collect", "ada", "").want(200, typedKey)
	k.post(two+"/collect", "ada", "").want(200, "another-key")
	k.post(plain+"/collect", "ada", "").want(200, `"result":{"n":7}`)
	k.post(plain+"/collect", "ada", "").want(409, `"reason":"already_collected"`)
	k.get(plain, "ada").want(200, `"result":{"n":7}`)
}

// What ended without an answer, or is a server's, has nothing to collect.
func TestNothingToCollect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(t)
		declined, late := k.createForm(t, deployForm).ElicitationID, k.createForm(t, deployForm).ElicitationID
		k.post("/v1/asks/"+declined+"/decline", "ada", "").want(200)
		k.post("/v1/forms/"+declined+"/collect", "ada", "").want(409, `"reason":"too_late"`, "without an answer")
		time.Sleep(2 * time.Minute)
		k.post("/v1/forms/"+late+"/collect", "ada", "").want(409, `"type":"timeout"`)
		asked := k.put(asking(`{"n":{"type":"number"}}`, `[]`))
		k.post("/v1/forms/"+asked+"/collect", "ada", "").want(404, `"reason":"unknown_ask"`)
		k.post("/v1/asks/"+asked+"/answer", "ada", `{"action":"accept","content":{"n":1}}`).want(200)
		k.post("/v1/forms/"+asked+"/collect", "ada", "").want(404, `"reason":"unknown_ask"`)
		k.post("/v1/forms/nonsense/collect", "ada", "").want(404)

		forgotten := "/v1/forms/" + k.createForm(t, deployForm).ElicitationID
		k.post(forgotten+"/submit", "ada", keyed).want(200)
		time.Sleep(2 * time.Hour) // longer than it is remembered
		k.post(forgotten+"/collect", "ada", "").want(404, `"reason":"unknown_ask"`)
	})
}

// A hundred at once: one gets the secret, and everybody else is told that it
// was collected.
func TestOfManyCollectorsOneGetsTheSecret(t *testing.T) {
	k := newKit(t)
	path := "/v1/forms/" + k.createForm(t, deployForm).ElicitationID
	k.post(path+"/submit", "ada", keyed).want(200)
	var won, refused atomic.Int64
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for range 100 {
		wg.Go(func() {
			w := httptest.NewRecorder()
			<-begin
			k.ServeHTTP(w, request(http.MethodPost, path+"/collect", "ada", ""))
			switch has := strings.Contains(w.Body.String(), typedKey); {
			case w.Code == 200 && has:
				won.Add(1)
			case w.Code == 409 && !has && strings.Contains(w.Body.String(), "already_collected"):
				refused.Add(1)
			default:
				t.Errorf("%d: %s", w.Code, w.Body)
			}
		})
	}
	close(begin)
	wg.Wait()
	if won.Load() != 1 || refused.Load() != 99 {
		t.Errorf("%d got it, %d were refused", won.Load(), refused.Load())
	}
}

// F12: a submission for another form is refused and is no attempt; what it
// says of itself goes to the creator, within bounds.
func TestSubmissionSaysOfItself(t *testing.T) {
	k := newKit(t)
	path := "/v1/forms/" + k.createForm(t, deployForm).ElicitationID
	for _, more := range []string{`"form_id":"another"`, `"metadata":{"x":"` + strings.Repeat("x", 4096) + `"}`} {
		k.post(path+"/submit", "ada", "{"+more+","+keyed[1:]).want(400, `"reason":"bad_message"`, `"type":"submission"`)
	}
	k.post(path+"/submit", "ada", `{"form_id":"deploy","metadata":{"submitted_at":1706889600000,"user_agent":"MCP-Client/1.0","session_id":"sess_xyz789"},"responses":{"region":"mars"}}`).want(422, `"retry_count":1`)
	k.post(path+"/submit", "ada", `{"form_id":"deploy","metadata":{"submitted_at":1706889600000,"user_agent":"MCP-Client/1.0","session_id":"sess_xyz789"},`+keyed[1:]).want(200)
	const metadata = `"metadata":{"submitted_at":1706889600000,"user_agent":"MCP-Client/1.0","session_id":"sess_xyz789"}`
	k.get(path, "ada").want(200, metadata)
	k.post(path+"/collect", "ada", "").want(200, metadata, typedKey)
	k.get(path, "ada").want(200, metadata)

	bare := "/v1/forms/" + k.createForm(t, deployForm).ElicitationID
	k.post(bare+"/submit", "ada", keyed).want(200)
	if got := k.get(bare, "ada"); strings.Contains(got.body, "metadata") {
		t.Errorf("it says of itself %s", got.body)
	}
}

// F16: who created a form gets a file with what is known of it, as the form
// language has it; a server that asks gets its address alone.
func TestCreatorGetsFilesInFull(t *testing.T) {
	k, _ := filing(t)
	id := k.createForm(t, strings.TrimSuffix(strings.SplitN(cvForm, `"formDefinition":`, 2)[1], "}")).ElicitationID
	k.post(filesPath(id, "cv", "cv.pdf"), "ada", pdf).want(200)
	k.post(filesPath(id, "more", "a.txt"), "ada", "a").want(200)
	k.post(filesPath(id, "more", "b.txt"), "ada", "bb").want(200)
	k.post("/v1/asks/"+id+"/answer", "ada", `{"action":"accept","content":{"name":"Ada"}}`).want(200)
	for _, got := range []*response{k.get("/v1/forms/"+id, "ada"), k.post("/v1/forms/"+id+"/collect", "ada", "")} {
		f := decode[struct {
			Result struct {
				CV   file
				More []file
			}
		}](t, got.want(200))
		if cv := f.Result.CV; cv.Filename != "cv.pdf" || cv.ContentType != "application/pdf" || cv.Size != 19 || cv.Content.Type != "url" || !strings.HasPrefix(cv.Content.Location, public+"/files/") {
			t.Errorf("the file is %+v: %s", cv, got.body)
		}
		if more := f.Result.More; len(more) != 2 || more[1].Size != 2 || more[0].Content.Location == more[1].Content.Location {
			t.Errorf("the others are %+v", more)
		}
	}
}

type file struct {
	Filename    string `json:"filename"`
	ContentType string `json:"content_type"`
	Size        int64  `json:"size"`
	Content     struct{ Type, Location string }
}
