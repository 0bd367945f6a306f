package webguard

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"
)

const (
	expiryBytes = 8
	tokenBytes  = expiryBytes + sha256.Size
)

// Strict, so that a token has one spelling.
var tokenText = base64.RawURLEncoding.Strict()

// Token makes the token that a form carries to prove that it was served to
// this session for this purpose, such as the answer to one ask. It may be used
// more than once until it expires: that a thing happens once is for those to
// see to who do it. Without a session or a purpose there is none.
func (g *Guard) Token(session, purpose string) string {
	if session == "" || purpose == "" {
		return ""
	}
	var token [tokenBytes]byte
	binary.BigEndian.PutUint64(token[:], uint64(g.cfg.Now().Add(g.cfg.TokenLife).Unix()))
	copy(token[expiryBytes:], g.cfg.Signer.Sign(signedPart(token[:expiryBytes], session, purpose)))
	return tokenText.EncodeToString(token[:])
}

// Check reports whether Token made the token, for the same session and
// purpose, and it has not expired. It takes the same time for every token that
// is not right.
func (g *Guard) Check(session, purpose, token string) bool {
	if session == "" || purpose == "" || len(token) != tokenText.EncodedLen(tokenBytes) {
		return false
	}
	raw, err := tokenText.DecodeString(token)
	if err != nil || len(raw) != tokenBytes {
		return false
	}
	made := g.cfg.Signer.Signed(signedPart(raw[:expiryBytes], session, purpose), raw[expiryBytes:])
	expires := time.Unix(int64(binary.BigEndian.Uint64(raw)), 0)
	return made && g.cfg.Now().Before(expires)
}

// signedPart puts the parts together with their lengths, so that none can pass
// a piece of itself on to its neighbour.
func signedPart(expiry []byte, session, purpose string) []byte {
	const head = "answerback form token 1\n"
	msg := make([]byte, 0, len(head)+len(expiry)+8+len(session)+len(purpose))
	msg = append(append(msg, head...), expiry...)
	msg = binary.BigEndian.AppendUint64(msg, uint64(len(session)))
	return append(append(msg, session...), purpose...)
}

// oneKey is a Signer with one key.
type oneKey []byte

func (k oneKey) Sign(msg []byte) []byte {
	m := hmac.New(sha256.New, k)
	m.Write(msg)
	return m.Sum(nil)
}

func (k oneKey) Signed(msg, signature []byte) bool { return hmac.Equal(k.Sign(msg), signature) }
