package yggdrasil_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"io/fs"
	"math"
	"slices"

	"github.com/goestimator/goestimator/internal/format/yggdrasil"
	"google.golang.org/protobuf/encoding/protowire"
)

// message is a message under construction.
type message []byte

func (m message) int(field protowire.Number, v int64) message {
	return protowire.AppendVarint(protowire.AppendTag(slices.Clip(m), field, protowire.VarintType), uint64(v))
}

func (m message) float(field protowire.Number, v float32) message {
	return protowire.AppendFixed32(protowire.AppendTag(slices.Clip(m), field, protowire.Fixed32Type), math.Float32bits(v))
}

func (m message) double(field protowire.Number, v float64) message {
	return protowire.AppendFixed64(protowire.AppendTag(slices.Clip(m), field, protowire.Fixed64Type), math.Float64bits(v))
}

func (m message) bytes(field protowire.Number, v []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(slices.Clip(m), field, protowire.BytesType), v)
}

// packed adds packed four-byte numbers.
func (m message) packed(field protowire.Number, v ...float32) message {
	var all []byte
	for _, x := range v {
		all = binary.LittleEndian.AppendUint32(all, math.Float32bits(x))
	}
	return m.bytes(field, all)
}

// files are the files of a model.
type files map[string][]byte

func (f files) read() (*yggdrasil.Model, error) {
	return yggdrasil.Read(yggdrasil.Source{Open: f.open})
}

func (f files) open(name string) (io.ReadCloser, error) {
	data, ok := f[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// blobs makes a file of nodes.
func blobs(head string, nodes ...message) []byte {
	var body []byte
	for _, n := range nodes {
		body = append(binary.LittleEndian.AppendUint32(body, uint32(len(n))), n...)
	}
	if head != zipped {
		return append([]byte(head), body...)
	}
	b := bytes.NewBufferString(head)
	z := gzip.NewWriter(b)
	z.Write(body)
	z.Close()
	return b.Bytes()
}

// Headers of node files: version 0, and compressed version 1.
const (
	plain  = "BS\x00\x00\x00\x00\x00\x00"
	zipped = "BS\x01\x00\x01\x00\x00\x00"
)

// condition returns a node with the given field of Condition.
func condition(column int64, field protowire.Number, test message) message {
	return message{}.bytes(3, message{}.int(1, 1).int(2, column).bytes(3, message{}.bytes(field, test)))
}

func leaf(v float32) message { return message{}.bytes(2, message{}.float(1, v)) }

// all returns a model of boosted trees with every kind of condition. Its columns are the label, a number, words, a set, a truth value and bins.
func all() files {
	column := func(kind int64, name string, more message) message {
		return message{}.bytes(1, append(message{}.int(1, kind).bytes(2, []byte(name)), more...))
	}
	words := message{}.bytes(6, message{}.int(1, 2).int(2, 9))
	spec := column(1, "label", nil)
	spec = append(spec, column(1, "number", message{}.bytes(5, message{}.double(1, 0.5)))...)
	spec = append(spec, column(4, "word", words)...)
	spec = append(spec, column(5, "set", words)...)
	spec = append(spec, column(7, "truth", message{}.bytes(9, message{}.int(1, 3).int(2, 4)))...)
	spec = append(spec, column(9, "bins", message{}.bytes(8, message{}.packed(1, -1, 0, 2.5)))...)
	header := message{}.bytes(1, []byte("GRADIENT_BOOSTED_TREES")).int(2, 2).int(3, 0)
	for i := range int64(5) {
		header = header.int(5, i+1)
	}
	oblique := message{}.bytes(1, []byte{1}).packed(2, 2).float(3, 0.25).packed(4, 7)
	tests := []message{condition(1, 2, message{}.float(1, 1.5)), condition(2, 4, message{}.bytes(1, []byte{7, 3, 1})), condition(3, 5, message{}.bytes(1, []byte{0x0a, 1})),
		condition(4, 3, nil), condition(5, 6, message{}.int(1, 3)), condition(1, 7, oblique), condition(2, 1, nil)}
	var nodes []message
	for _, t := range tests {
		nodes = append(nodes, t, leaf(-1), leaf(1))
	}
	return files{"header.pb": header, "data_spec.pb": spec,
		"gradient_boosted_trees_header.pb": message{}.int(1, 2).int(2, int64(len(tests))).int(3, 2).float(4, 0.125).bytes(7, []byte("BLOB_SEQUENCE")),
		"nodes-00000-of-00002":             blobs(plain, nodes[:4]...), "nodes-00001-of-00002": blobs(plain, nodes[4:]...)}
}

// edit returns all with one file changed.
func edit(name string, f func(old []byte) []byte) files {
	m := all()
	m[name] = f(bytes.Clone(m[name]))
	return m
}
