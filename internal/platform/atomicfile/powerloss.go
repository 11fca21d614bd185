package atomicfile

import (
	"bytes"
	"iter"
	"path/filepath"
	"sort"
)

// Contents that an unsynced file may have after a power cut.
const (
	keepDurable = iota // the content at the last Sync
	keepAll            // the kernel happened to write everything
	keepHalf           // or only the first half
	contentChoices
)

// PowerLosses yields the states in which a power cut now could leave the disk:
// every subset of the name changes that are not durable, times, for each file
// with unsynced content, the old content, the new, and half of the new. At most
// about limit states are yielded, spread evenly, always with the first and the
// last. The yielded file systems are independent of m and have no faults.
func (m *Mem) PowerLosses(limit int) iter.Seq[*Mem] {
	return func(yield func(*Mem) bool) {
		m.mu.Lock()
		dirty := m.dirtyNodes()
		total := 1 << len(m.log)
		for range dirty {
			total *= contentChoices
		}
		var states []*Mem
		stride := max(1, (total+limit-1)/limit)
		for i := 0; i < total; i += stride {
			states = append(states, m.after(i, dirty))
		}
		if (total-1)%stride != 0 {
			states = append(states, m.after(total-1, dirty))
		}
		m.mu.Unlock()
		for _, s := range states {
			if !yield(s) {
				return
			}
		}
	}
}

// dirtyNodes returns the nodes with unsynced content in a fixed order.
func (m *Mem) dirtyNodes() []*memNode {
	paths := map[string]*memNode{}
	for p, n := range m.seen {
		paths[p] = n
	}
	for _, op := range m.log {
		if op.node != nil {
			paths[op.link] = op.node
		}
	}
	keys := make([]string, 0, len(paths))
	for p := range paths {
		keys = append(keys, p)
	}
	sort.Strings(keys)
	var dirty []*memNode
	known := map[*memNode]bool{}
	for _, p := range keys {
		n := paths[p]
		if !known[n] && !n.dir && !bytes.Equal(n.data, n.durable) {
			dirty = append(dirty, n)
		}
		known[n] = true
	}
	return dirty
}

// after builds state number i: its low bits choose name changes, the rest the
// contents of the dirty nodes.
func (m *Mem) after(i int, dirty []*memNode) *Mem {
	names := map[string]*memNode{}
	for p, n := range m.disk {
		names[p] = n
	}
	for _, op := range m.log {
		if i&1 == 1 {
			applyTo(names, op)
		}
		i >>= 1
	}
	dropUnreachable(names)
	content := map[*memNode][]byte{}
	for _, n := range dirty {
		switch i % contentChoices {
		case keepAll:
			content[n] = n.data
		case keepHalf:
			content[n] = n.data[:len(n.data)/2]
		default:
			content[n] = n.durable
		}
		i /= contentChoices
	}
	out := NewMem()
	for p, n := range names {
		data, ok := content[n]
		if !ok {
			data = n.data
		}
		c := &memNode{dir: n.dir, data: bytes.Clone(data), durable: bytes.Clone(data)}
		out.seen[p], out.disk[p] = c, c
	}
	return out
}

// dropUnreachable removes the names below directories that do not exist.
func dropUnreachable(names map[string]*memNode) {
	for p := range names {
		for above := filepath.Dir(p); !isRoot(above); above = filepath.Dir(above) {
			if names[above] == nil {
				delete(names, p)
				break
			}
		}
	}
}
