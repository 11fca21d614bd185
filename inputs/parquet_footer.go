package inputs

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	columns "github.com/goestimator/goestimator/internal/format/parquet"
)

// checkParquetFooter checks a file's footer before the library reads it. The library allocates as many elements as a list claims and as many
// nodes as a group of the schema claims, and recurses for each nested group.
func checkParquetFooter(f io.ReaderAt, size int64) error {
	var tail [8]byte
	if size < int64(len(tail)) {
		return nil // the library will report the error
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
	schemas := 0
	err := in.fields(0, func(id int64, typ byte) (bool, error) {
		if id != 2 || typ != thriftList {
			return false, nil
		}
		if schemas++; schemas > 1 {
			return true, errors.New("it has two schemas")
		}
		if err := in.schema(); err != nil {
			return true, fmt.Errorf("its schema cannot be read: %w", err)
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("its end is damaged: %w", err)
	}
	return nil
}

// schema reads a list of Parquet's SchemaElement, the nodes of a tree in depth-first order.
func (t *thriftReader) schema() error {
	n, element, err := t.list()
	if err != nil {
		return err
	}
	if element != thriftStruct {
		return errThrift
	}
	var groups []int64 // nodes still to come in each of the enclosing groups
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
		case len(groups) > columns.MaxNested+1: // the root is a group, too
			return fmt.Errorf("columns lie in more than %d groups", columns.MaxNested)
		}
		if len(groups) > 0 {
			groups[len(groups)-1]--
		}
		groups = append(groups, nodes)
		for len(groups) > 0 && groups[len(groups)-1] == 0 {
			groups = groups[:len(groups)-1]
		}
		switch {
		case len(groups) > 0:
		case left > 0:
			return fmt.Errorf("%d of its nodes are in no group", left)
		default:
			return nil
		}
	}
	return fmt.Errorf("it has %d nodes, fewer than its groups claim", n)
}
