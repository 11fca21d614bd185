package eager

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/goestimator/goestimator/tensor"
)

// The part of a line that is a key or value: a column, counted from 0, or one of these.
const (
	wholeLine  = -2
	lineNumber = -1
)

// textTable says how to read a table from a text file.
type textTable struct {
	key, value int
	size       int // lines to read, -1: all
	offset     int // lines to skip
	delimiter  []byte
}

func initializeFromFile(s *site) (kernel, error) {
	f := textTable{key: s.node.Int("key_index", 0), value: s.node.Int("value_index", 0), size: s.node.Int("vocab_size", -1),
		offset: s.node.Int("offset", 0), delimiter: []byte(s.str("delimiter", "\t"))}
	if f.key < wholeLine || f.value < wholeLine || f.size < -1 || f.size == 0 || f.offset < 0 || len(f.delimiter) != 1 {
		return nil, fmt.Errorf("key_index %d, value_index %d, vocab_size %d, offset %d and delimiter %q do not fit", f.key, f.value, f.size, f.offset, f.delimiter)
	}
	read := onTable(func(t *Table, c call) error {
		if t.data.Load() != nil {
			return nil
		}
		name, err := text("filename", c.t(1))
		if err != nil {
			return err
		}
		file, err := c.modelFile(string(name))
		if err != nil {
			return fmt.Errorf("vocabulary: %w", err)
		}
		defer file.Close()
		keys, values, err := f.read(c, t, file)
		if err != nil {
			return fmt.Errorf("vocabulary %s: %w", name, err)
		}
		return t.initializePaid(c, keys, values)
	})
	return read(s)
}

// modelFile opens a file named by a model: a file of the model or, on a server, one that ops may read.
func (c call) modelFile(name string) (io.ReadCloser, error) {
	switch {
	case c.env != nil && c.env.Open != nil:
		return c.env.Open(name)
	case c.env == nil || c.env.Files == nil:
		return nil, fmt.Errorf("file %q: this model may read no files", clip([]byte(name)))
	}
	f, err := c.open()(name)
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(f, 0, size), f}, nil
}

// read returns the keys and values of a file.
func (f textTable) read(c call, t *Table, file io.Reader) (keys, values *tensor.Tensor, err error) {
	k, v := &columnReader{at: f.key, dtype: t.key}, &columnReader{at: f.value, dtype: t.value}
	room := c.textRoom()
	r := bufio.NewReaderSize(file, 1<<16)
	for n := 0; f.size < 0 || n < f.size+f.offset; n++ {
		line, err := readLine(r, &room)
		if err == io.EOF {
			if f.size >= 0 {
				return nil, nil, fmt.Errorf("Invalid vocab_size in the file: expected %d lines but got %d", f.size, n-f.offset)
			}
			break
		}
		if err != nil {
			return nil, nil, err
		}
		if n&0xfff == 0 && c.ctx.Err() != nil {
			return nil, nil, c.ctx.Err()
		}
		if n < f.offset {
			continue
		}
		if err := errors.Join(k.add(line, n, f.delimiter), v.add(line, n, f.delimiter)); err != nil {
			return nil, nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if keys, err = k.tensor(); err != nil {
		return nil, nil, err
	}
	values, err = v.tensor()
	return keys, values, err
}

// readLine returns the next line without carriage returns, as in TensorFlow,
// and io.EOF after the last line.
func readLine(r *bufio.Reader, room *textRoom) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if err := room.take(len(part) + stringHeader); err != nil {
			return nil, err
		}
		line = append(line, part...)
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && len(line) > 0, err == nil:
			line = bytes.TrimSuffix(line, []byte{'\n'})
			if bytes.IndexByte(line, '\r') >= 0 {
				line = bytes.ReplaceAll(line, []byte{'\r'}, nil)
			}
			return line, nil
		}
		return nil, err
	}
}

// columnReader collects one column of a file's lines.
type columnReader struct {
	at    int
	dtype tensor.DType
	texts [][]byte
	ints  []int64
}

func (r *columnReader) add(line []byte, n int, delimiter []byte) error {
	switch r.at {
	case lineNumber:
		if r.dtype != tensor.Int64 {
			return fmt.Errorf("line numbers are int64, the table has %v", r.dtype)
		}
		r.ints = append(r.ints, int64(n))
		return nil
	case wholeLine:
		if r.dtype != tensor.String {
			return fmt.Errorf("whole lines are strings, the table has %v", r.dtype)
		}
		r.texts = append(r.texts, line)
		return nil
	}
	parts := bytes.SplitN(line, delimiter, r.at+2)
	if r.at >= len(parts) {
		return fmt.Errorf("Invalid number of columns: expected at least %d but got %d", r.at+1, len(parts))
	}
	r.texts = append(r.texts, parts[r.at])
	return nil
}

// tensor returns the column in the table's type.
func (r *columnReader) tensor() (*tensor.Tensor, error) {
	if r.at == lineNumber {
		return tensor.FromSlice(r.ints, len(r.ints))
	}
	if r.dtype == tensor.String {
		return tensor.FromStrings(r.texts, len(r.texts))
	}
	t := tensor.New(r.dtype, len(r.texts))
	for i, s := range r.texts {
		if err := parseNumber(t, i, s); err != nil {
			return nil, fmt.Errorf("field %q is not a valid %v", clip(s), r.dtype)
		}
	}
	return t, nil
}
