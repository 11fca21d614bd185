package hdf5

import (
	"bytes"
	"fmt"

	"github.com/goestimator/goestimator/internal/format/tensorfile"
)

// maxDepth bounds nested groups, and the levels of a B-tree.
const maxDepth = 64

// walk visits all objects of a file.
type walk struct {
	*file
	entries []tensorfile.Entry
}

// object lists the datasets at and below an address.
func (w *walk) object(address uint64, path string, depth int) error {
	if depth > maxDepth {
		return tensorfile.Errorf("groups within groups, %d deep", depth)
	}
	messages, err := w.header(address)
	if err != nil {
		return named(path, err)
	}
	if find(messages, messageLayout) != nil {
		e, ok, err := w.dataset(path, messages)
		if err != nil {
			return named(path, err)
		}
		if ok {
			w.entries = append(w.entries, e)
		}
		return nil
	}
	links, err := w.links(messages)
	if err != nil {
		return named(path, err)
	}
	for _, l := range links {
		below := l.name
		if path != "" {
			below = path + "/" + l.name
		}
		if err := w.object(l.address, below, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// named adds the path of the object to an error.
func named(path string, err error) error { return fmt.Errorf("%q: %w", "/"+path, err) }

func find(messages []message, kind int) *message {
	for i := range messages {
		if messages[i].kind == kind {
			return &messages[i]
		}
	}
	return nil
}

// link is a name in a group.
type link struct {
	name    string
	address uint64
}

// links lists the names in a group.
func (w *walk) links(messages []message) (out []link, err error) {
	for _, m := range messages {
		switch m.kind {
		case messageSymbolTable:
			tree, heap := m.address(), m.address()
			if m.err != nil {
				return nil, m.err
			}
			if out, err = w.symbols(tree, heap, out); err != nil {
				return nil, err
			}
		case messageLink:
			l, ok, err := linkOf(m)
			if err != nil {
				return nil, err
			}
			if ok {
				out = append(out, l)
			}
		case messageLinkInfo:
			m.skip(1)
			if m.number(1)&1 != 0 {
				m.skip(8)
			}
			if heap := m.address(); m.err != nil || heap != undefined {
				return nil, tensorfile.Errorf("a group whose links are in a heap, as libver=\"latest\" writes large ones, is not supported")
			}
		}
	}
	return out, nil
}

// linkOf reads a link message; hard is false for other kinds of links.
func linkOf(m message) (l link, hard bool, err error) {
	m.skip(1)
	flags := m.number(1)
	kind := uint64(0)
	if flags&8 != 0 {
		kind = m.number(1)
	}
	if flags&4 != 0 {
		m.skip(8) // order of creation
	}
	if flags&16 != 0 {
		m.skip(1) // character set
	}
	n := m.number(1 << (flags & 3))
	l.name = string(m.next(int(min(n, 1<<32))))
	if kind != 0 {
		return l, false, m.err
	}
	l.address = m.address()
	return l, true, m.err
}

// symbols adds the names in a symbol table.
func (w *walk) symbols(tree, heap uint64, out []link) ([]link, error) {
	c, err := w.read(heap, 8+2*w.lengths+w.offsets)
	if err != nil {
		return nil, err
	}
	c.expect("HEAP")
	c.skip(4)
	size := c.length()
	c.skip(w.lengths)
	at := c.address()
	if c.err != nil {
		return nil, c.err
	}
	names, err := w.read(at, int(min(size, 1<<62)))
	if err != nil {
		return nil, err
	}
	err = w.tree(tree, 0, w.lengths, 0, func(_ *cursor, child uint64) error {
		out, err = w.leaf(child, names.b, out)
		return err
	})
	return out, err
}

// leaf adds the names of one symbol table node.
func (w *walk) leaf(address uint64, names []byte, out []link) ([]link, error) {
	c, err := w.read(address, 8)
	if err != nil {
		return nil, err
	}
	c.expect("SNOD")
	c.skip(2)
	n := int(c.number(2))
	if c.err != nil {
		return nil, c.err
	}
	if c, err = w.read(address+8, n*(2*w.offsets+24)); err != nil {
		return nil, err
	}
	for range n {
		at, object := c.number(w.offsets), c.address()
		kind := c.number(4)
		c.skip(20)
		if kind == 2 {
			continue // a symbolic link
		}
		if c.err != nil || at >= uint64(len(names)) {
			return nil, tensorfile.Errorf("a name lies outside of its heap")
		}
		name, _, ok := bytes.Cut(names[at:], []byte{0})
		if !ok {
			return nil, tensorfile.Errorf("a name does not end in its heap")
		}
		out = append(out, link{string(name), object})
	}
	return out, nil
}

// tree calls visit with the key and address of each child of a B-tree's leaves.
func (f *file) tree(address uint64, kind byte, key, depth int, visit func(key *cursor, child uint64) error) error {
	if depth > maxDepth {
		return tensorfile.Errorf("a B-tree of %d levels", depth)
	}
	c, err := f.read(address, 8+2*f.offsets)
	if err != nil {
		return err
	}
	c.expect("TREE")
	got, level, n := c.number(1), c.number(1), int(c.number(2))
	if c.err != nil || byte(got) != kind {
		return tensorfile.Errorf("at address %d: expected a B-tree of kind %d", address, kind)
	}
	if c, err = f.read(address+8+2*uint64(f.offsets), n*(key+f.offsets)); err != nil {
		return err
	}
	for range n {
		k := &cursor{f: f, b: c.next(key)}
		child := c.address()
		if c.err != nil {
			return c.err
		}
		if level == 0 {
			err = visit(k, child)
		} else {
			err = f.tree(child, kind, key, depth+1, visit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
