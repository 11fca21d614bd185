package ps

import "fmt"

// blockBytes is the block size of copy on write.
const blockBytes = 256 << 10

// frozen is the state of a unit at a fence. Data is copied block by block before
// an update changes it, unless it was read already: fields are read in order,
// from beginning to end.
type frozen struct {
	fence  uint64
	saved  []map[int][]byte // by field and block
	whole  bool             // everything left to read is saved
	field  int              // everything before this was read
	offset int
	copied uint64 // bytes
}

// freeze marks the present state for a fence, and drops the state for an earlier one.
func (u *unit) freeze(fence uint64) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	f := &frozen{fence: fence, saved: make([]map[int][]byte, len(u.field))}
	for i := range f.saved {
		f.saved[i] = map[int][]byte{}
		if !u.field[i].scalar {
			continue
		}
		if err := u.save(f, i, 0); err != nil {
			return err
		}
	}
	u.frozen = f
	return nil
}

// thaw drops the state of a fence and returns how many bytes were copied for it.
func (u *unit) thaw(fence uint64) (copied uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.frozen != nil && u.frozen.fence == fence {
		copied = u.frozen.copied
		u.frozen = nil
	}
	return copied
}

// preserve saves all blocks before an update of the whole unit.
func (u *unit) preserve() error {
	f := u.frozen
	if f == nil || f.whole {
		return nil
	}
	for i := f.field; i < len(u.field); i++ {
		for b := range int(ceilDiv(int64(u.field[i].bytes), blockBytes)) {
			if err := u.save(f, i, b); err != nil {
				return err
			}
		}
	}
	f.whole = true
	return nil
}

// preserveRows saves the blocks that hold the given rows.
func (u *unit) preserveRows(rows []int32) error {
	f := u.frozen
	if f == nil || f.whole {
		return nil
	}
	size := u.v.rowBytes()
	for i := f.field; i < len(u.field); i++ {
		if u.field[i].scalar {
			continue
		}
		last := -1
		for _, r := range rows {
			for b := int(r) * size / blockBytes; b <= (int(r)*size+size-1)/blockBytes && size > 0; b++ {
				if b == last {
					continue
				}
				if err := u.save(f, i, b); err != nil {
					return err
				}
				last = b
			}
		}
	}
	return nil
}

// save copies a block, unless it is saved or was read.
func (u *unit) save(f *frozen, field, block int) error {
	at := block * blockBytes
	size := min(blockBytes, u.field[field].bytes-at)
	if field < f.field || field == f.field && at+size <= f.offset || f.saved[field][block] != nil {
		return nil
	}
	b := make([]byte, size)
	if err := u.vars.ReadAt(u.field[field].name, b, at); err != nil {
		return err
	}
	f.saved[field][block] = b
	f.copied += uint64(size)
	return nil
}

// readFrozen reads a part of a field, as it was at a fence, into dst.
func (u *unit) readFrozen(fence uint64, field, offset int, dst []byte) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	f := u.frozen
	switch {
	case f == nil || f.fence != fence:
		return fmt.Errorf("part %d of %s: there is no fence %x", u.Part, u.v.Name, fence)
	case field < 0 || field >= len(u.field) || offset < 0 || offset > u.field[field].bytes || len(dst) > u.field[field].bytes-offset:
		return fmt.Errorf("bytes %d to %d of field %d of part %d of %s do not exist", offset, offset+len(dst), field, u.Part, u.v.Name)
	case u.field[field].scalar: // saved at the beginning, and kept
		copy(dst, f.saved[field][0][offset:])
		return nil
	case field < f.field || field == f.field && offset < f.offset:
		return fmt.Errorf("field %d of part %d of %s: bytes from %d on were read, and forgotten", field, u.Part, u.v.Name, offset)
	}
	f.advance(field, offset)
	for len(dst) > 0 {
		block := offset / blockBytes
		n := min(len(dst), (block+1)*blockBytes-offset)
		if b := f.saved[field][block]; b != nil {
			copy(dst[:n], b[offset-block*blockBytes:])
		} else if err := u.vars.ReadAt(u.field[field].name, dst[:n], offset); err != nil {
			return err
		}
		dst, offset = dst[n:], offset+n
	}
	return nil
}

// advance forgets saved data before a position. The last read may be repeated.
func (f *frozen) advance(field, offset int) {
	for i := f.field; i < field; i++ {
		f.saved[i] = nil
	}
	for b := range f.saved[field] {
		if (b+1)*blockBytes <= offset {
			delete(f.saved[field], b)
		}
	}
	f.field, f.offset = field, offset
}
