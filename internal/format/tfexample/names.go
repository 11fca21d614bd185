package tfexample

import "encoding/binary"

// Names finds the place of a feature's name in a list; it is several times as fast as a map.
type Names struct {
	names []string
	slots []int32 // a place + 1, 0: none; a power of 2 of them, at least half of them free
}

// NewNames returns the Names of a list without duplicates.
func NewNames(names []string) *Names {
	size := 4
	for size < 2*len(names) {
		size *= 2
	}
	n := &Names{names, make([]int32, size)}
	for i, name := range names {
		at := n.slot([]byte(name))
		for n.slots[at] != 0 {
			at = (at + 1) & (size - 1)
		}
		n.slots[at] = int32(i + 1)
	}
	return n
}

// Find returns the place of a name, -1 where it is not in the list.
func (n *Names) Find(name []byte) int {
	for at := n.slot(name); ; at = (at + 1) & (len(n.slots) - 1) {
		i := int(n.slots[at]) - 1
		if i < 0 || n.names[i] == string(name) {
			return i
		}
	}
}

// slot returns where the search of a name begins: names differ most at their ends.
func (n *Names) slot(name []byte) int {
	var h uint64
	if k := len(name); k >= 8 {
		h = binary.LittleEndian.Uint64(name[k-8:])
	} else {
		for _, c := range name {
			h = h<<8 | uint64(c)
		}
	}
	h = (h + uint64(len(name))) * 0x9e3779b97f4a7c15 // 2^64 over the golden ratio (Knuth, volume 3, 6.4)
	return int(h>>32) & (len(n.slots) - 1)
}
