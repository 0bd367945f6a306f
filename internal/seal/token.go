package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"strings"
)

// A token is format, key id, salt, nonce, ciphertext and tag: as bytes, or in
// base64url.
//
// Each token has a key of its own, derived from the salt. With one key for
// all of them, random nonces of 96 bits would be safe for only 2^32 tokens,
// and a busy gateway makes as many in a few days.
const (
	saltSize   = 16
	headerSize = 1 + keyIDSize + saltSize
	sealedSize = headerSize + 12 + 16 // nonce and tag
)

// Seal encrypts plaintext and binds it to the purpose and to aad, which is
// not part of the token: Unseal must be given the same. Two tokens of the same
// plaintext differ. A token has letters, digits, '-' and '_' only.
func (r *Ring) Seal(p Purpose, aad, plaintext []byte) string {
	return encoding.EncodeToString(r.SealBytes(p, aad, plaintext))
}

// SealBytes is Seal for what needs no letters: what it gives is shorter, and
// UnsealBytes opens it.
func (r *Ring) SealBytes(p Purpose, aad, plaintext []byte) []byte {
	k := r.primary()
	b := make([]byte, headerSize, sealedSize+len(plaintext))
	b[0] = format
	copy(b[1:], k.id[:])
	rand.Read(b[1+keyIDSize:])
	return tokenCipher(k, p, b).Seal(b, nil, plaintext, bound(b, aad))
}

// Unseal opens a token that Seal made for the same purpose and aad. The
// caller owns the bytes. The error is an *ask.Error: Unknown where the purpose
// is Ask, BadState for every other.
func (r *Ring) Unseal(p Purpose, aad []byte, token string) ([]byte, error) {
	// The decoder skips line breaks, which would make two tokens out of one.
	if strings.IndexByte(token, '\r') >= 0 || strings.IndexByte(token, '\n') >= 0 {
		return nil, refuse(p, errShape)
	}
	b, err := encoding.DecodeString(token)
	if err != nil {
		return nil, refuse(p, errShape)
	}
	return r.UnsealBytes(p, aad, b)
}

// UnsealBytes is Unseal for what SealBytes made, which stays as it is.
func (r *Ring) UnsealBytes(p Purpose, aad, b []byte) ([]byte, error) {
	if len(b) < sealedSize {
		return nil, refuse(p, errShape)
	}
	if b[0] != format {
		return nil, refuse(p, errFormat)
	}
	k := r.find(b[1 : 1+keyIDSize])
	if k == nil {
		return nil, refuse(p, errKey)
	}
	header, sealed := b[:headerSize], b[headerSize:]
	plaintext, err := tokenCipher(k, p, header).Open(nil, nil, sealed, bound(header, aad))
	if err != nil {
		return nil, refuse(p, errContext)
	}
	return plaintext, nil
}

// tokenCipher makes the cipher of the one token that begins with header.
func tokenCipher(k *key, p Purpose, header []byte) cipher.AEAD {
	var secret [32]byte
	mac(secret[:0], &k.purpose(p).seal, header)
	block, err := aes.NewCipher(secret[:])
	if err != nil {
		panic(err) // only for keys of another size
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // only for ciphers other than AES
	}
	return aead
}

// bound is what a token authenticates beside its plaintext. The header has a
// fixed size, so that it and aad cannot run into each other.
func bound(header, aad []byte) []byte {
	b := make([]byte, 0, headerSize+len(aad))
	return append(append(b, header[:headerSize]...), aad...)
}

// Current reports whether a token was sealed with the ring's first key, going
// by its name: whether it can be opened is not checked.
func (r *Ring) Current(token string) bool {
	b, err := encoding.DecodeString(token)
	return err == nil && len(b) >= sealedSize && b[0] == format && string(b[1:1+keyIDSize]) == string(r.primary().id[:])
}
