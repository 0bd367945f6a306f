package signin

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
)

// purpose keeps secrets of different kinds apart: one kind never opens what
// another does.
type purpose string

const (
	forSession purpose = "session"
	forFlow    purpose = "flow"
	forBrowser purpose = "browser"
	forLink    purpose = "link"
)

// digest is what the gateway keeps of a secret that it gave out.
type digest [sha256.Size]byte

const secretBytes = 32

// newSecret makes 256 random bits, as text that fits URLs and cookies.
func newSecret() string {
	var b [secretBytes]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// isSecret reports whether s could come from newSecret.
func isSecret(s string) bool {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return err == nil && len(b) == secretBytes && len(s) == base64.RawURLEncoding.EncodedLen(secretBytes)
}

func digestOf(p purpose, s string) digest {
	return sha256.Sum256([]byte(string(p) + ":" + s))
}

func (d digest) String() string { return hex.EncodeToString(d[:]) }

// standFor derives a value from a secret that does not give the secret away.
func standFor(s string) string {
	mac := hmac.New(sha256.New, []byte(s))
	mac.Write([]byte("answerback session binding"))
	return hex.EncodeToString(mac.Sum(nil))
}
