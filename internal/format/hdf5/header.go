package hdf5

import (
	"github.com/goestimator/goestimator/internal/format/tensorfile"
)

// The types of object header messages that matter here.
const (
	messageDataspace    = 0x01
	messageLinkInfo     = 0x02
	messageDatatype     = 0x03
	messageFill         = 0x05
	messageLink         = 0x06
	messageExternal     = 0x07
	messageLayout       = 0x08
	messageFilters      = 0x0b
	messageContinuation = 0x10
	messageSymbolTable  = 0x11
)

// maxMessages bounds a header; h5py's have about ten.
const maxMessages = 1 << 16

// message is a part of an object's header.
type message struct {
	kind   int
	shared bool // it is stored elsewhere
	*cursor
}

// header reads the messages of the object at an address.
func (f *file) header(address uint64) ([]message, error) {
	start, err := f.read(address, 16)
	if err != nil {
		return nil, err
	}
	if string(start.b[:4]) == "OHDR" {
		return f.header2(address, start)
	}
	if start.b[0] != 1 {
		return nil, tensorfile.Errorf("version %d of an object's header at address %d, expected 1 or 2", start.b[0], address)
	}
	start.skip(8)
	size := start.number(4)
	h := headerOf{file: f, version: 1}
	err = h.block(address+16, size)
	return h.messages, err
}

// header2 reads a header of version 2: its first block comes after flags and times.
func (f *file) header2(address uint64, start *cursor) ([]message, error) {
	h := headerOf{file: f, version: int(start.b[4]), flags: start.b[5]}
	if h.version != 2 {
		return nil, tensorfile.Errorf("version %d of an object's header at address %d, expected 2", h.version, address)
	}
	skip := 6
	if h.flags&0x20 != 0 {
		skip += 16 // times
	}
	if h.flags&0x10 != 0 {
		skip += 4 // limits of the attribute storage
	}
	c, err := f.read(address+uint64(skip), 1<<(h.flags&3))
	if err != nil {
		return nil, err
	}
	width := len(c.b)
	err = h.block(address+uint64(skip+width), c.number(width))
	return h.messages, err
}

// headerOf collects messages.
type headerOf struct {
	*file
	version  int
	flags    byte
	messages []message
	depth    int
}

// block reads the messages of one block, and of the blocks that continue it.
func (h *headerOf) block(address, size uint64) error {
	const maxDepth = 1000
	if h.depth++; h.depth > maxDepth {
		return tensorfile.Errorf("an object's header has more than %d blocks", maxDepth)
	}
	c, err := h.read(address, int(min(size, 1<<62)))
	if err != nil {
		return err
	}
	for len(c.b) >= h.least() {
		m := h.message(c)
		if c.err != nil {
			return c.err
		}
		if m.kind != messageContinuation {
			if h.messages = append(h.messages, m); len(h.messages) > maxMessages {
				return tensorfile.Errorf("an object has more than %d messages", maxMessages)
			}
			continue
		}
		if err := h.next(m); err != nil {
			return err
		}
	}
	return nil
}

// least is the size of the smallest message.
func (h *headerOf) least() int {
	switch {
	case h.version == 1:
		return 8
	case h.flags&4 != 0:
		return 6
	}
	return 4
}

func (h *headerOf) message(c *cursor) message {
	width := 2
	if h.version == 2 {
		width = 1
	}
	kind, size := int(c.number(width)), int(c.number(2))
	flags := c.number(1)
	if h.version == 1 {
		c.skip(3)
	} else if h.flags&4 != 0 {
		c.skip(2)
	}
	return message{kind: kind, shared: flags&2 != 0, cursor: &cursor{f: h.file, b: c.next(size)}}
}

// next follows a continuation message.
func (h *headerOf) next(m message) error {
	address, size := m.address(), m.length()
	if m.err != nil {
		return m.err
	}
	if h.version == 1 {
		return h.block(address, size)
	}
	if size < 8 {
		return tensorfile.Errorf("a block of %d bytes continues an object's header", size)
	}
	c, err := h.read(address, 4)
	if err != nil {
		return err
	}
	if c.expect("OCHK"); c.err != nil {
		return c.err
	}
	return h.block(address+4, size-8) // without the checksum
}
