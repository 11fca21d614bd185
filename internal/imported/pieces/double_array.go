package pieces

import "encoding/binary"

// doubleArray is a trie as Darts-clone writes it: units of 32 bits.
type doubleArray []byte

// noUnit is a unit that no byte leads to. It stands for units that are missing in a damaged array.
const noUnit = 1 << 31

func (a doubleArray) unit(node uint32) uint32 {
	if i := 4 * int64(node); i+4 <= int64(len(a)) {
		return binary.LittleEndian.Uint32(a[i:])
	}
	return noUnit
}

// cursor is a node of a trie.
type cursor struct{ node, unit uint32 }

func (a doubleArray) at(node uint32) cursor { return cursor{node, a.unit(node)} }

// children is where the children of a node are.
func (c cursor) children() uint32 { return c.node ^ c.unit>>10<<(c.unit&(1<<9)>>6) }

// step follows a byte.
func (a doubleArray) step(c cursor, b byte) (cursor, bool) {
	to := a.at(c.children() ^ uint32(b))
	return to, to.unit&(noUnit|0xff) == uint32(b)
}

// follow follows all bytes of s, or fails.
func (a doubleArray) follow(c cursor, s string) (cursor, bool) {
	to := c
	for i := 0; i < len(s); i++ {
		var ok bool
		if to, ok = a.step(to, s[i]); !ok {
			return c, false
		}
	}
	return to, true
}

// value returns the value of the word that ends at a node.
func (a doubleArray) value(c cursor) (int, bool) {
	if c.unit>>8&1 == 0 {
		return 0, false
	}
	return int(a.unit(c.children()) &^ noUnit), true
}

// longest returns the length of the longest word that s begins with, and its value.
func (a doubleArray) longest(s string) (length, value int) {
	at := a.at(0)
	for i := 0; i < len(s); i++ {
		var ok bool
		if at, ok = a.step(at, s[i]); !ok {
			break
		}
		if v, ok := a.value(at); ok {
			length, value = i+1, v
		}
	}
	return length, value
}
