package bearer

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/MicahParks/jwkset"
)

// maxSet is how many keys an issuer may publish.
const maxSet = 100

// algorithms are the signatures that are taken: those that a key proves which
// only the issuer has. Neither "none" nor shared secrets are.
var algorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

// keySet are the keys of an issuer that verify tokens.
type keySet []issuerKey

type issuerKey struct {
	kid    string
	alg    string // the only algorithm it is for, "" for all that fit
	public crypto.PublicKey
}

// readKeySet reads a JSON Web Key Set. Keys that are of no use here, such as
// for encryption or of unknown kinds, are left out; a set with no key at all
// that is of use is an error.
func readKeySet(text []byte) (keySet, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, errors.New("the key set is not JSON")
	}
	if len(set.Keys) > maxSet {
		return nil, fmt.Errorf("the key set has %d keys: at most %d are read", len(set.Keys), maxSet)
	}
	var keys keySet
	for _, raw := range set.Keys {
		if key, ok := readKey(raw); ok {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("none of the %d keys in the key set can verify a token", len(set.Keys))
	}
	return keys, nil
}

func readKey(raw json.RawMessage) (issuerKey, bool) {
	// Without "private", shared secrets are not read at all, and of a private
	// key only its public half.
	jwk, err := jwkset.NewJWKFromRawJSON(raw, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
	if err != nil {
		return issuerKey{}, false
	}
	m := jwk.Marshal()
	if m.USE != "" && m.USE != jwkset.UseSig || len(m.KEYOPS) > 0 && !slices.Contains(m.KEYOPS, jwkset.KeyOpsVerify) {
		return issuerKey{}, false
	}
	key := issuerKey{kid: m.KID, alg: m.ALG.String(), public: jwk.Key()}
	return key, slices.ContainsFunc(algorithms, key.fits)
}

// find gives the keys for a token. A token without a key id is only taken
// when there is no choice.
func (s keySet) find(kid, alg string) []crypto.PublicKey {
	var found []crypto.PublicKey
	for _, key := range s {
		if (kid == "" || key.kid == kid) && key.fits(alg) {
			found = append(found, key.public)
		}
	}
	if kid == "" && len(found) > 1 {
		return nil
	}
	return found
}

// fits reports whether the key may verify signatures of the algorithm: its
// kind, its size and, if it names one, its algorithm must be right.
func (k issuerKey) fits(alg string) bool {
	if k.alg != "" && k.alg != alg {
		return false
	}
	switch public := k.public.(type) {
	case *rsa.PublicKey:
		bits := public.N.BitLen()
		return (strings.HasPrefix(alg, "RS") || strings.HasPrefix(alg, "PS")) &&
			bits >= 2048 && bits <= 8192 && public.E >= 3 && public.E%2 == 1
	case *ecdsa.PublicKey:
		return alg == "ES256" && public.Curve == elliptic.P256() ||
			alg == "ES384" && public.Curve == elliptic.P384() ||
			alg == "ES512" && public.Curve == elliptic.P521()
	case ed25519.PublicKey:
		return alg == "EdDSA"
	}
	return false
}

func (s keySet) same(other keySet) bool {
	return slices.EqualFunc(s, other, func(a, b issuerKey) bool {
		public, ok := a.public.(interface{ Equal(crypto.PublicKey) bool })
		return ok && a.kid == b.kid && a.alg == b.alg && public.Equal(b.public)
	})
}
