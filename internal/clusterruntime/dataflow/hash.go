package dataflow

import "encoding/binary"

// hash is TensorFlow's Hash64 of a string (tsl/platform/hash.cc): MurmurHash64A with its own seed. Frames have the same ids
// as in TensorFlow's servers, as the ids are part of rendezvous keys.
func hash(s string) uint64 {
	const seed, m, r = 0xDECAFCAFFE, 0xc6a4a7935bd1e995, 47
	h := seed ^ uint64(len(s))*m
	data := []byte(s)
	for ; len(data) >= 8; data = data[8:] {
		k := binary.LittleEndian.Uint64(data) * m
		k = (k ^ k>>r) * m
		h = (h ^ k) * m
	}
	if len(data) > 0 {
		var rest [8]byte
		copy(rest[:], data)
		h = (h ^ binary.LittleEndian.Uint64(rest[:])) * m
	}
	h = (h ^ h>>r) * m
	return h ^ h>>r
}

// combine is TensorFlow's Hash64Combine.
func combine(a, b uint64) uint64 {
	return a ^ (b + 0x9e3779b97f4a7800 + a<<10 + a>>4)
}
