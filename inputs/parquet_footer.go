package inputs

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	columns "github.com/goestimator/goestimator/internal/format/parquet"
)

// errChecked ends the reading of a file's end where its schema was checked.
var errChecked = errors.New("checked")

// checkParquetSchema checks the schema in a file's end before the library reads it, which makes room for as many nodes as a group claims, and calls
// itself for each group in a group.
func checkParquetSchema(f io.ReaderAt, size int64) error {
	var tail [8]byte
	if size < int64(len(tail)) {
		return nil // the library says what is wrong
	}
	end := size - int64(len(tail))
	if _, err := f.ReadAt(tail[:], end); err != nil {
		return fmt.Errorf("its end cannot be read: %w", err)
	}
	n := int64(binary.LittleEndian.Uint32(tail[:]))
	if string(tail[4:]) != "PAR1" || n > end {
		return nil
	}
	in := &thriftReader{in: bufio.NewReader(io.NewSectionReader(f, end-n, n))}
	err := in.fields(0, func(id int64, typ byte) (bool, error) {
		if id != 2 || typ != thriftList {
			return false, nil
		}
		if err := in.schema(); err != nil {
			return true, err
		}
		return true, errChecked
	})
	if err != nil && !errors.Is(err, errChecked) {
		return fmt.Errorf("its schema cannot be read: %w", err)
	}
	return nil
}

// schema reads a list of Parquet's SchemaElement, which are the nodes of a tree: each group before its nodes.
func (t *thriftReader) schema() error {
	n, err := t.structs()
	if err != nil {
		return err
	}
	var groups []int64 // how many nodes are still to come of the groups around
	for left := n - 1; left >= 0; left-- {
		nodes := int64(0)
		err := t.fields(1, func(id int64, typ byte) (bool, error) {
			if id == 5 {
				return t.int(typ, &nodes)
			}
			return false, nil
		})
		switch {
		case err != nil:
			return err
		case nodes < 0 || nodes > left:
			return fmt.Errorf("a group claims %d nodes, but %d follow", nodes, left)
		case len(groups) > columns.MaxNested+1: // the root is around all
			return fmt.Errorf("columns lie in more than %d groups", columns.MaxNested)
		}
		if len(groups) > 0 {
			groups[len(groups)-1]--
		}
		groups = append(groups, nodes)
		for len(groups) > 0 && groups[len(groups)-1] == 0 {
			groups = groups[:len(groups)-1]
		}
		if len(groups) == 0 {
			return nil
		}
	}
	return fmt.Errorf("it has %d nodes, fewer than its groups claim", n)
}

// structs reads the head of a list of structs: how many there are.
func (t *thriftReader) structs() (int64, error) {
	head, err := t.ReadByte()
	if err != nil {
		return 0, err
	}
	if head&15 != thriftStruct {
		return 0, errThrift
	}
	n := uint64(head >> 4)
	if n == 15 {
		if n, err = binary.ReadUvarint(t); err != nil {
			return 0, err
		}
	}
	if n > 1<<31-1 {
		return 0, errThrift
	}
	return int64(n), nil
}
