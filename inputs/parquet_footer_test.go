package inputs

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// schemaNode returns an element of a list of structs: a group that claims that many nodes, or for 0 a 32-bit column.
func schemaNode(nodes int64) []byte {
	if nodes == 0 {
		return append(append(thriftInt(1, 1), thriftInt(2, 1)...), 1<<4|thriftBinary, 1, 'x', thriftStop) // its type, optional, its name
	}
	return append(append([]byte{3<<4 | thriftI32, 2, 1<<4 | thriftBinary, 1, 'g'}, thriftInt(1, nodes)...), thriftStop)
}

// emptyFile returns a file without rows, with the nodes in its schema.
func emptyFile(nodes ...int64) []byte {
	return fileOfFields(thriftInt(1, 2), schemaField(nodes), []byte{1<<4 | thriftI64, 0, 1<<4 | thriftList, thriftStruct})
}

// schemaField returns the schema field of a footer, which follows the first field.
func schemaField(nodes []int64) []byte {
	field := []byte{1<<4 | thriftList}
	if len(nodes) < 15 {
		field = append(field, byte(len(nodes))<<4|thriftStruct)
	} else {
		field = binary.AppendUvarint(append(field, 15<<4|thriftStruct), uint64(len(nodes)))
	}
	for _, n := range nodes {
		field = append(field, schemaNode(n)...)
	}
	return field
}

// fileOfFields returns a file with the fields in its footer.
func fileOfFields(fields ...[]byte) []byte {
	end := append(bytes.Join(fields, nil), thriftStop)
	file := append([]byte("PAR1"), end...)
	return append(binary.LittleEndian.AppendUint32(file, uint32(len(end))), "PAR1"...)
}

// inGroups returns the nodes of a file with a column in n nested groups.
func inGroups(n int) []int64 {
	nodes := make([]int64, n+2)
	for i := range n + 1 {
		nodes[i] = 1
	}
	return nodes
}

// TestParquetSchemas: a schema that claims more nodes than it has, or is nested too deeply, is refused before the library allocates memory for it.
func TestParquetSchemas(t *testing.T) {
	claims := inGroups(90)
	for i := range claims[1:91] {
		claims[i+1] = 1<<31 - 1 // 32 GiB each
	}
	for name, c := range map[string]struct {
		nodes []int64
		err   string
	}{
		"columns":         {[]int64{3, 0, 2, 0, 0, 0}, ""},
		"most groups":     {inGroups(100), ""},
		"one group more":  {inGroups(101), "columns lie in more than 100 groups"},
		"many groups":     {inGroups(1_000_000), "columns lie in more than 100 groups"},
		"claims":          {claims, "a group claims 2147483647 nodes, but 90 follow"},
		"one too many":    {[]int64{3, 0, 0}, "a group claims 3 nodes, but 2 follow"},
		"too few":         {[]int64{2, 1, 0}, "it has 3 nodes, fewer than its groups claim"},
		"a negative size": {[]int64{-1, 0}, "a group claims -1 nodes, but 1 follow"},
		"nothing":         {nil, "it has 0 nodes, fewer than its groups claim"},
		"no group":        {[]int64{1, 0, 0}, "1 of its nodes are in no group"},
	} {
		r, err := parquetRecords(memoryFile{bytes.NewReader(emptyFile(c.nodes...))}, nil, 1)
		if text := fmt.Sprint(err); (err == nil) != (c.err == "") || !strings.Contains(text, c.err) {
			t.Errorf("%s: got %.200s, expected %q", name, text, c.err)
		}
		if err == nil {
			if err := r.stop(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestParquetEnds: a footer with a second schema, or lists that claim more elements than they have, is refused before the library allocates memory for it.
func TestParquetEnds(t *testing.T) {
	version, schema := thriftInt(1, 2), schemaField([]int64{1, 0})
	many := binary.AppendUvarint([]byte{15<<4 | thriftStruct}, 1<<31-1)
	rows := []byte{1<<4 | thriftI64, 0}
	for name, c := range map[string]struct {
		file []byte
		err  string
	}{
		"row groups":  {fileOfFields(version, schema, rows, append([]byte{1<<4 | thriftList}, many...)), "its end is damaged: EOF"},
		"metadata":    {fileOfFields(version, schema, rows, []byte{1<<4 | thriftList, thriftStruct}, append([]byte{1<<4 | thriftList}, many...)), "its end is damaged: EOF"},
		"two schemas": {fileOfFields(version, schema, append([]byte{thriftList, 4}, schemaField([]int64{1, 0})[1:]...)), "it has two schemas"},
		"lists":       {fileOfFields(version, schema, bytes.Repeat([]byte{1<<4 | thriftList}, 40)), "damaged"},
	} {
		if _, err := parquetRecords(memoryFile{bytes.NewReader(c.file)}, nil, 1); err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: got %v, expected %q", name, err, c.err)
		}
	}
}

// TestThriftNumbers: field IDs have 16 bits, as the library reads them.
func TestThriftNumbers(t *testing.T) {
	head := append([]byte{thriftI32}, binary.AppendUvarint(nil, 2*(1<<16+2))...) // field 65538 is field 2
	head = append(binary.AppendUvarint(head, 2*500), thriftStop)
	h, err := (&thriftReader{in: bufio.NewReader(bytes.NewReader(head))}).pageHeader()
	if err != nil || h.unpacked != 500 {
		t.Errorf("got %+v, %v: expected 500 bytes unpacked", h, err)
	}
}
