package pieces

// prefixes finds the words of a set that are prefixes of a text.
type prefixes struct {
	next  map[uint64]uint32 // maps a node and a byte to a node
	words map[uint32]int    // maps a node to the value of the word that ends there
}

func newPrefixes() *prefixes {
	return &prefixes{map[uint64]uint32{}, map[uint32]int{}}
}

func (p *prefixes) add(word string, value int) {
	at := uint32(0)
	for _, b := range []byte(word) {
		key := uint64(at)<<8 | uint64(b)
		to, ok := p.next[key]
		if !ok {
			to = uint32(len(p.next) + 1)
			p.next[key] = to
		}
		at = to
	}
	p.words[at] = value
}

// each calls f for each word that is a prefix of s, the shortest first.
func (p *prefixes) each(s string, f func(length, value int)) {
	at := uint32(0)
	for i := 0; i < len(s); i++ {
		to, ok := p.next[uint64(at)<<8|uint64(s[i])]
		if !ok {
			return
		}
		at = to
		if value, ok := p.words[at]; ok {
			f(i+1, value)
		}
	}
}

// longest returns the length of the longest word that is a prefix of s, or 0.
func (p *prefixes) longest(s string) (n int) {
	p.each(s, func(length, _ int) { n = length })
	return n
}
