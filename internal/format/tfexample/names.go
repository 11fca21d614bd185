package tfexample

import "encoding/binary"

// Names finds the place of a feature's name in a list; it is several times as fast as a map.
type Names struct {
	names  []string
	slots  []nameSlot // a power of 2 of them, at least half of them free
	factor uint64     // odd: of the multiplicative hash
}

// nameSlot is a name of the list.
type nameSlot struct {
	key   uint64
	size  int32
	place int32 // + 1; 0: the slot is free
}

// wholeKey is how long a name is at most that its key and its length tell from all others.
const wholeKey = 8

// A search that goes past another name costs a mispredicted branch, so NewNames looks for a hash without collisions, within these bounds.
const (
	mostRoom    = 32      // slots for each name
	mostFactors = 16      // that are tried for each number of slots
	mostNames   = 1 << 10 // more would not all find a slot of their own
)

// NewNames returns the Names of a list without duplicates.
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

// fill puts the names into the slots and returns how many were not free.
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

// Find returns the place of a name, -1 where it is not in the list.
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

// keyOf returns eight bytes of a name, with all of it where it is not longer: names differ most at their ends. Its few branches go by the length alone.
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

// first returns where the search of a name begins.
func (n *Names) first(key uint64, size int) int {
	h := (key + uint64(size)) * n.factor
	return int(h>>32) & (len(n.slots) - 1)
}
