package feature

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"github.com/goestimator/goestimator/internal/platform/atomicfile"
	"github.com/goestimator/goestimator/tensor"
)

// VocabularyFile is categorical_column_with_vocabulary_file: the id is the line
// number, from 0. The file is read when a Plan is made.
type VocabularyFile struct {
	Key        string
	File       string
	Size       int          // number of lines to read; 0: all
	DType      tensor.DType // an integer type if the lines are integers; 0: strings
	Default    *int         // id of values outside the file; nil: -1, they are left out
	OOVBuckets int          // ids after the file's, by fingerprint, for values outside it; excludes Default

	entries table
}

// Name is the key.
func (c *VocabularyFile) Name() string { return c.Key }

// String is like vocabulary_file(word, words.txt). Once the file has been read, a
// fingerprint of its entries replaces its folder, so that the file can be moved.
func (c *VocabularyFile) String() string {
	size := ""
	if c.Size > 0 {
		size = fmt.Sprintf(", size=%d", c.Size)
	}
	file := c.File
	if c.entries.size > 0 {
		file = fmt.Sprintf("%s %016x", filepath.Base(c.File), c.entries.print)
	}
	return fmt.Sprintf("vocabulary_file(%s, %s%s%s%s%s)", c.Key, file, size, dtypeText(c.DType), defaultText(c.Default), oovText(c.OOVBuckets))
}

// Buckets is the number of entries plus the number of out-of-vocabulary buckets. It
// is known once check has read the file.
func (c *VocabularyFile) Buckets() int { return c.entries.size + c.OOVBuckets }

// Entries returns the lines, strings or int64, in the order of their ids; nil before a Plan has the column.
func (c *VocabularyFile) Entries() *tensor.Tensor { return c.entries.tensor() }

func (c *VocabularyFile) check() error {
	if err := noKey(c.Key); err != nil {
		return err
	}
	if err := checkDType(c.DType); err != nil {
		return err
	}
	if c.Size < 0 {
		return fmt.Errorf("size must not be negative, got %d: leave it out to read all lines", c.Size)
	}
	c.entries.once.Do(func() { c.entries.err = c.load() })
	if c.entries.err != nil {
		return c.entries.err
	}
	return checkOOV(c.Default, c.OOVBuckets, c.entries.size)
}

func (c *VocabularyFile) load() error {
	f, err := atomicfile.Open(c.File)
	if err != nil {
		return fmt.Errorf("vocabulary file: %w", err)
	}
	defer f.Close()
	values, err := ReadVocabulary(f, c.Size)
	if err != nil {
		return fmt.Errorf("vocabulary file %s: %w", c.File, err)
	}
	for _, v := range values {
		c.entries.print = FingerprintCat64(c.entries.print, Fingerprint64([]byte(v)))
	}
	if dtypeKind(c.DType) == text {
		return wrapFile(c.File, c.entries.fill(values, nil))
	}
	ints, err := parseInts(values)
	if err != nil {
		return fmt.Errorf("vocabulary file %s: %w", c.File, err)
	}
	return wrapFile(c.File, c.entries.fill(nil, ints))
}

func wrapFile(file string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("vocabulary file %s: %w", file, err)
}

// parseInts reads a vocabulary of integers.
func parseInts(values []string) ([]int64, error) {
	out := make([]int64, len(values))
	for i, v := range values {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("vocabulary entry %d: %q is not an integer: correct it or the dtype", i, v)
		}
		out[i] = n
	}
	return out, nil
}

// ReadVocabulary reads a vocabulary like TensorFlow: an entry per line, without
// carriage returns, at most size lines (0: all). An empty line, an entry that
// occurs twice and a file with fewer lines than size are errors.
func ReadVocabulary(r io.Reader, size int) ([]string, error) {
	var values []string
	seen := map[string]int{}
	br := bufio.NewReader(r)
	for size == 0 || len(values) < size {
		line, err := br.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		end := err != nil
		if end && len(line) == 0 {
			break
		}
		v := string(bytes.ReplaceAll(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"), nil))
		if v == "" {
			return nil, fmt.Errorf("line %d is empty: remove it", len(values)+1)
		}
		if at, dup := seen[v]; dup {
			return nil, fmt.Errorf("vocabulary entry %q occurs twice, in lines %d and %d: remove one", v, at, len(values)+1)
		}
		values = append(values, v)
		seen[v] = len(values)
		if end {
			break
		}
	}
	switch {
	case len(values) == 0:
		return nil, fmt.Errorf("no entries: expected one a line")
	case len(values) < size:
		return nil, fmt.Errorf("%d lines, expected at least %d: correct the size or the file", len(values), size)
	}
	return values, nil
}

func (c *VocabularyFile) parents() []Column { return nil }
func (c *VocabularyFile) reads() []read     { return categoryRead(c.Key, c.DType) }

func (c *VocabularyFile) ids(b *batch) (*idList, error)   { return c.lookup(b, false) }
func (c *VocabularyFile) steps(b *batch) (*idList, error) { return c.lookup(b, true) }

func (c *VocabularyFile) lookup(b *batch, steps bool) (*idList, error) {
	return b.ids(c, stepsOf(steps), func(l *idList) (*idList, error) {
		return c.entries.lookup(b, l, c.Key, steps, outside(c.Default, c.OOVBuckets, c.entries.size))
	})
}
