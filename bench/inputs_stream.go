package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/goestimator/goestimator/inputs"
)

// The case stream of the subject inputs reads Arrow record batches from a pipe, into which a goroutine writes the same batch repeatedly: streamBytes of
// 20 float32 columns, shuffled and in batches of 512, with at most streamMemory MiB read ahead. It only runs if named with -cases, and has no peer.
const (
	streamBytes   = 10_000_000_000
	streamRows    = 1 << 16 // in each record batch
	streamShuffle = 100_000
	streamMemory  = 64
)

// streamBatch is the batch that the stream repeats.
func streamBatch() arrow.Record {
	r := rand.New(rand.NewPCG(7, 8))
	fields, columns := make([]arrow.Field, inputFloats), make([]arrow.Array, inputFloats)
	for i := range fields {
		fields[i] = arrow.Field{Name: fmt.Sprintf("f%02d", i), Type: arrow.PrimitiveTypes.Float32}
		b := array.NewFloat32Builder(memory.DefaultAllocator)
		for range streamRows {
			b.Append(float32(r.NormFloat64()))
		}
		columns[i] = b.NewArray()
	}
	return array.NewRecord(arrow.NewSchema(fields, nil), columns, streamRows)
}

// counted counts the bytes written.
type counted struct {
	io.Writer
	n int64
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	c.n += int64(n)
	return n, err
}

// writeStream writes to a pipe until all bytes are written or the reader closes it.
func writeStream(to *io.PipeWriter) {
	rec, out := streamBatch(), &counted{Writer: to}
	defer rec.Release()
	w := ipc.NewWriter(out, ipc.WithSchema(rec.Schema()))
	var err error
	for err == nil && out.n < streamBytes {
		err = w.Write(rec)
	}
	if err == nil {
		err = w.Close()
	}
	_ = to.CloseWithError(err) // always nil
}

// readStream reads the stream once.
func readStream() (reply, error) {
	from, to := io.Pipe()
	defer from.Close()
	begun := time.Now()
	go writeStream(to)
	s := inputs.DefaultSpec()
	s.Format, s.Files, s.BatchSize, s.Shuffle, s.MemoryMB = "arrow", []string{inputs.StdinFile}, inputBatch, streamShuffle, streamMemory
	ds, err := inputs.Open(context.Background(), s, inputs.Context{Mode: inputs.Train, Stdin: inputs.NewStream(from)})
	if err != nil {
		return reply{}, err
	}
	rows := int64(0)
	if err := readRows(ds, func(rec arrow.Record) { rows += rec.NumRows() }); err != nil {
		return reply{}, err
	}
	seconds := time.Since(begun).Seconds()
	return reply{Seconds: seconds, More: map[string]float64{"rows": float64(rows), "MB/s": streamBytes / 1e6 / seconds, "peak MB": float64(peakKB()) / 1024}}, nil
}
