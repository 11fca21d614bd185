package inputs

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/apache/arrow/go/v15/parquet/compress"
	"github.com/golang/snappy"
)

// pageChunk is a column chunk of a row group, as the footer describes it: a sequence of pages.
type pageChunk struct {
	start, size int64 // bytes in the file
	values      int64
	codec       compress.Compression
}

// pageChecker checks pages before the library reads them, since the library trusts the sizes in pages and in
// their content.
type pageChecker struct {
	file io.ReaderAt
	size int64 // of the file
	most int64 // bytes that a page may unpack to
}

// check fails if a page of the chunk claims, or unpacks to, more than the file can hold. The error names the
// page.
func (c pageChecker) check(chunk pageChunk) error {
	if chunk.start < 0 || chunk.size < 0 || chunk.start > c.size || chunk.size > c.size-chunk.start {
		return fmt.Errorf("its %d bytes at offset %d do not lie in the file of %d bytes", chunk.size, chunk.start, c.size)
	}
	at := chunk.start
	end := chunk.start + chunk.size
	for n, seen := 0, int64(0); seen < chunk.values && at < end; n++ {
		in := &thriftReader{in: bufio.NewReaderSize(io.NewSectionReader(c.file, at, end-at), 512)}
		h, err := in.pageHeader()
		if err != nil {
			return fmt.Errorf("page %d at offset %d: its header cannot be read: %w", n, at, err)
		}
		body := at + in.read
		if err := c.page(h, chunk.codec, body, end); err != nil {
			return fmt.Errorf("page %d at offset %d: %w", n, at, err)
		}
		seen += h.values
		at = body + h.packed
	}
	return nil
}

// page checks the sizes of one page, whose content begins at offset body.
func (c pageChecker) page(h pageHeader, codec compress.Compression, body, end int64) error {
	switch {
	case h.packed < 0 || h.unpacked < 0 || h.values < 0 || h.levels < 0 || h.levels > h.packed || h.levels > h.unpacked:
		return fmt.Errorf("sizes of %d bytes, %d unpacked, and %d values cannot be", h.packed, h.unpacked, h.values)
	case h.packed > end-body:
		return fmt.Errorf("it claims %d bytes, but its column has %d more", h.packed, end-body)
	case h.unpacked > c.most:
		return fmt.Errorf("it claims to unpack to %d bytes: a file of %d may have pages of %d", h.unpacked, c.size, c.most)
	case h.plain || codec == compress.Codecs.Uncompressed:
		return nil
	}
	content := io.NewSectionReader(c.file, body+h.levels, h.packed-h.levels)
	size, known, err := unpackedSize(content, codec)
	if err != nil {
		return err
	}
	room := h.unpacked - h.levels
	if codec == compress.Codecs.Zstd { // zstdSize is only an upper bound
		room = max(room, c.most)
	}
	if known && size > room || !known && room == 0 && content.Size() > emptyContent {
		return fmt.Errorf("%d bytes unpack to more than the %d that it claims", content.Size(), h.unpacked)
	}
	return nil
}

// emptyContent is the largest compressed size of empty content.
const emptyContent = 64

// unpackedSize returns the unpacked size of compressed content, if the library reads the size from the
// content and not from the page header. It is exact for Snappy and an upper bound for Zstandard. For other
// codecs the library unpacks no more than the header says.
func unpackedSize(content *io.SectionReader, codec compress.Compression) (size int64, known bool, err error) {
	switch codec {
	case compress.Codecs.Snappy:
		head := make([]byte, min(binary.MaxVarintLen64, content.Size()))
		if _, err := io.ReadFull(content, head); err != nil {
			return 0, false, err
		}
		if len(head) == 0 {
			return 0, true, nil
		}
		n, err := snappy.DecodedLen(head)
		return int64(n), true, err
	case compress.Codecs.Zstd:
		size, err := zstdSize(content)
		return size, true, err
	}
	return 0, false, nil
}

// pageHeader has the fields of Parquet's PageHeader that need checking.
type pageHeader struct {
	unpacked, packed int64
	values           int64 // in a data page
	levels           int64 // uncompressed bytes before the content
	plain            bool  // the content is not compressed
}

// thriftReader reads Thrift's compact protocol.
type thriftReader struct {
	in   *bufio.Reader
	read int64
}

var errThrift = errors.New("damaged Thrift data")

// maxThrift bounds the bytes of a header that may be skipped: statistics have values of
// any size.
const maxThrift = 64 << 20

// ReadByte implements io.ByteReader.
func (t *thriftReader) ReadByte() (byte, error) {
	b, err := t.in.ReadByte()
	if err == nil {
		t.read++
	}
	return b, err
}

func (t *thriftReader) varint() (int64, error) {
	u, err := binary.ReadUvarint(t)
	return int64(u>>1) ^ -int64(u&1), err
}

func (t *thriftReader) discard(n uint64) error {
	if n > maxThrift {
		return errThrift
	}
	k, err := t.in.Discard(int(n))
	t.read += int64(k)
	return err
}

// The types of the compact protocol.
const (
	thriftStop = iota
	thriftTrue
	thriftFalse
	thriftByte
	thriftI16
	thriftI32
	thriftI64
	thriftDouble
	thriftBinary
	thriftList
	thriftSet
	thriftMap
	thriftStruct
)

// fields calls f for each field of a struct; f returns false for fields to skip.
func (t *thriftReader) fields(depth int, f func(id int64, typ byte) (bool, error)) error {
	if depth > 16 {
		return errThrift
	}
	for id := int64(0); ; {
		head, err := t.ReadByte()
		if err != nil {
			return err
		}
		typ := head & 15
		if typ == thriftStop {
			return nil
		}
		if delta := int64(head >> 4); delta > 0 {
			id += delta
		} else if id, err = t.varint(); err != nil {
			return err
		}
		id = int64(int16(id)) // like the library
		taken, err := f(id, typ)
		if err == nil && !taken {
			err = t.skip(typ, depth)
		}
		if err != nil {
			return err
		}
	}
}

// skip skips a value, all of whose bytes must exist.
func (t *thriftReader) skip(typ byte, depth int) error {
	if depth > 16 {
		return errThrift
	}
	switch typ {
	case thriftTrue, thriftFalse:
		return nil
	case thriftByte:
		return t.discard(1)
	case thriftI16, thriftI32, thriftI64:
		_, err := t.varint()
		return err
	case thriftDouble:
		return t.discard(8)
	case thriftBinary:
		n, err := binary.ReadUvarint(t)
		if err != nil {
			return err
		}
		return t.discard(n)
	case thriftStruct:
		return t.fields(depth+1, func(int64, byte) (bool, error) { return false, nil })
	case thriftList, thriftSet:
		n, element, err := t.list()
		for ; n > 0 && err == nil; n-- {
			err = t.element(element, depth+1)
		}
		return err
	}
	return errThrift // Parquet has no maps
}

// element skips an element of a list.
func (t *thriftReader) element(typ byte, depth int) error {
	if typ == thriftTrue || typ == thriftFalse {
		return t.discard(1)
	}
	return t.skip(typ, depth)
}

// list reads the head of a list: the number of elements that it claims, and their type.
func (t *thriftReader) list() (n int64, element byte, err error) {
	head, err := t.ReadByte()
	if err != nil {
		return 0, 0, err
	}
	size := uint64(head >> 4)
	if size == 15 {
		if size, err = binary.ReadUvarint(t); err != nil {
			return 0, 0, err
		}
	}
	if size > math.MaxInt32 {
		return 0, 0, errThrift
	}
	return int64(size), head & 15, nil
}

// int reads an integer field into to.
func (t *thriftReader) int(typ byte, to *int64) (bool, error) {
	if typ != thriftI16 && typ != thriftI32 && typ != thriftI64 {
		return false, errThrift
	}
	var err error
	*to, err = t.varint()
	return true, err
}

// pageHeader reads Parquet's PageHeader, including the headers of data pages (5; 8 in version 2) and dictionaries.
func (t *thriftReader) pageHeader() (h pageHeader, err error) {
	var definition, repetition int64
	err = t.fields(0, func(id int64, typ byte) (bool, error) {
		switch id {
		case 2:
			return t.int(typ, &h.unpacked)
		case 3:
			return t.int(typ, &h.packed)
		case 5, 8:
			if typ != thriftStruct {
				return false, errThrift
			}
			return true, t.fields(1, func(in int64, typ byte) (bool, error) {
				switch {
				case in == 1:
					return t.int(typ, &h.values)
				case id == 8 && in == 5:
					return t.int(typ, &definition)
				case id == 8 && in == 6:
					return t.int(typ, &repetition)
				case id == 8 && in == 7:
					h.plain = typ == thriftFalse
				}
				return false, nil
			})
		}
		return false, nil
	})
	if definition < 0 || repetition < 0 || definition > math.MaxInt32 || repetition > math.MaxInt32 {
		return h, errThrift
	}
	h.levels = definition + repetition
	return h, err
}
