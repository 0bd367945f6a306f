package seal

import "encoding/binary"

// Words writes words one after the other, each with its length, so that no
// other words are written alike: what something is sealed for.
func Words(words ...string) []byte {
	var b []byte
	for _, w := range words {
		b = binary.BigEndian.AppendUint32(b, uint32(len(w)))
		b = append(b, w...)
	}
	return b
}
