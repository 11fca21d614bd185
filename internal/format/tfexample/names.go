package tfexample

import "encoding/binary"

// Names finds the index of a feature's name in a list; it is several times as fast as a map.
type Names struct {
	names  []string
	slots  []nameSlot // their number is a power of 2; at least half of them are free
	factor uint64     // of the multiplicative hash; odd
}

// nameSlot is a name of the list.
type nameSlot struct {
	key   uint64
	size  int32
	place int32 // index + 1; 0: the slot is free
}

// wholeKey is the longest name that is determined by its key and length.
const wholeKey = 8

// Passing another name during a search costs a mispredicted branch, so NewNames looks for a hash without collisions, within these bounds.
const (
	mostRoom    = 32      // slots per name
	mostFactors = 16      // tried for each number of slots
	mostNames   = 1 << 10 // with more names, not all would find their own slot
)

// NewNames returns the Names for a list without duplicates.
func NewNames(names []string) *Names {
	var first *Names
	for size := 4; size < mostRoom*max(1, len(names)); size *= 2 {
		if size < 2*len(names) {
			continue
		}
		for i := range uint64(mostFactors) {
			n := &Names{names, make([]nameSlot, size), 0x9e3779b97f4a7c15 + 2*i*0xbf58476d1ce4e5b9} // 2^64 over the golden ratio (Knuth, volume 3, 6.4), and others
			if n.fill() == 0 || len(names) > mostNames {
				return n
			}
			if first == nil {
				first = n
			}
		}
	}
	return first
}

// fill puts the names into slots and returns the number of collisions.
func (n *Names) fill() (collisions int) {
	for i, name := range n.names {
		key := keyOf([]byte(name))
		at := n.first(key, len(name))
		for n.slots[at].place != 0 {
			at = (at + 1) & (len(n.slots) - 1)
			collisions++
		}
		n.slots[at] = nameSlot{key, int32(len(name)), int32(i + 1)}
	}
	return collisions
}

// Find returns the index of a name, -1 if it is not in the list.
func (n *Names) Find(name []byte) int {
	key := keyOf(name)
	for at := n.first(key, len(name)); ; at = (at + 1) & (len(n.slots) - 1) {
		s := &n.slots[at&(len(n.slots)-1)]
		i := int(s.place) - 1
		if i < 0 || s.key == key && int(s.size) == len(name) && (len(name) <= wholeKey || n.names[i] == string(name)) {
			return i
		}
	}
}

// keyOf returns eight bytes of a name: its last eight, since names differ most at the end, or all of a shorter one. It branches only on the length.
func keyOf(name []byte) uint64 {
	switch k := len(name); {
	case k >= 8:
		return binary.LittleEndian.Uint64(name[k-8:])
	case k >= 4:
		return uint64(binary.LittleEndian.Uint32(name))<<32 | uint64(binary.LittleEndian.Uint32(name[k-4:]))
	case k > 0:
		return uint64(name[0])<<16 | uint64(name[k>>1])<<8 | uint64(name[k-1])
	}
	return 0
}

// first returns the slot at which the search for a name begins.
func (n *Names) first(key uint64, size int) int {
	h := (key + uint64(size)) * n.factor
	return int(h>>32) & (len(n.slots) - 1)
}
