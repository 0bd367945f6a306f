package bearer

import (
	"crypto/subtle"
	"maps"

	"github.com/answerback/answerback/internal/identity"
)

// staticKey is a key as it is kept: its digest, and who has it.
type staticKey struct {
	sum    digest
	person identity.Person
}

func newStaticKey(k Key, sum digest) staticKey {
	claims := maps.Clone(k.Claims)
	if claims == nil {
		claims = identity.Claims{}
	}
	principal := k.principal()
	claims["sub"] = principal.Subject
	name := k.Display
	if name == "" {
		name = claims.Name()
	}
	return staticKey{sum: sum, person: identity.Person{Principal: principal, Name: name, Claims: claims}}
}

// matchKey finds the key with the digest. It looks at all keys in full, so
// that the time it takes tells nothing about any of them.
func matchKey(keys []staticKey, sum digest) (identity.Person, bool) {
	found := -1
	for i := range keys {
		same := subtle.ConstantTimeCompare(keys[i].sum[:], sum[:])
		found = subtle.ConstantTimeSelect(same, i, found)
	}
	if found < 0 {
		return identity.Person{}, false
	}
	return keys[found].person, true
}
