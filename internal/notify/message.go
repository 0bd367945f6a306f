package notify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/answerback/answerback/ask"
)

// The headers of a post, those of the Standard Webhooks, whose libraries can
// check it.
const (
	HeaderID        = "Webhook-Id"        // of the post: the same when it is repeated
	HeaderTime      = "Webhook-Timestamp" // seconds since 1970, of this attempt
	HeaderSignature = "Webhook-Signature" // "v1," and the signature in base64
)

// Replay is how old a post may be when it is checked: older ones may have been
// recorded and sent again by somebody else.
const Replay = 5 * time.Minute

// Waiting is a question that waits on a page.
type Waiting struct {
	Ask       string // its id
	Kind      ask.Kind
	Backend   string
	During    string // the method of the call that caused it, "" where unknown
	Name      string // what was called, "" where unknown
	Addressee ask.Addressee
	Asked     time.Time
	Deadline  time.Time
}

// body is what is posted. Times are in milliseconds since 1970.
type body struct {
	Type      string    `json:"type"`
	ID        string    `json:"id"`
	Link      string    `json:"link"`
	Kind      string    `json:"kind"`
	Backend   string    `json:"backend"`
	During    string    `json:"during,omitempty"`
	Name      string    `json:"name,omitempty"`
	Addressee addressee `json:"addressee"`
	CreatedAt int64     `json:"createdAt"`
	TimeoutAt int64     `json:"timeoutAt"`
}

type addressee struct {
	Issuer  string `json:"issuer,omitempty"`
	Subject string `json:"subject,omitempty"`
	Group   string `json:"group,omitempty"`
}

// TypeWaiting is the type of a post.
const TypeWaiting = "ask.waiting"

func encode(w *Waiting, link string) []byte {
	raw, _ := json.Marshal(body{ // strings and numbers always can be
		Type: TypeWaiting, ID: w.Ask, Link: link, Kind: w.Kind.String(), Backend: w.Backend, During: w.During, Name: w.Name,
		Addressee: addressee{w.Addressee.Principal.Issuer, w.Addressee.Principal.Subject, w.Addressee.Group},
		CreatedAt: w.Asked.UnixMilli(), TimeoutAt: w.Deadline.UnixMilli(),
	})
	return raw
}

// sign puts the headers of a post on it.
func sign(h http.Header, key []byte, id string, at time.Time, raw []byte) {
	seconds := strconv.FormatInt(at.Unix(), 10)
	h.Set(HeaderID, id)
	h.Set(HeaderTime, seconds)
	h.Set(HeaderSignature, "v1,"+base64.StdEncoding.EncodeToString(mac(key, id, seconds, raw)))
}

func mac(key []byte, id, seconds string, raw []byte) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(id + "." + seconds + "."))
	m.Write(raw)
	return m.Sum(nil)
}

// Verify reports whether a post was signed with this key and is not older
// than Replay. It is what a receiver in Go would do; docs/notify.md has it in
// other words.
func Verify(h http.Header, key, raw []byte, now time.Time) bool {
	id, seconds := h.Get(HeaderID), h.Get(HeaderTime)
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || now.Sub(time.Unix(n, 0)).Abs() > Replay {
		return false
	}
	want := "v1," + base64.StdEncoding.EncodeToString(mac(key, id, seconds, raw))
	return hmac.Equal([]byte(want), []byte(h.Get(HeaderSignature)))
}
