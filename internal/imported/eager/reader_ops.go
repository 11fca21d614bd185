package eager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/goestimator/goestimator/internal/compiler/ops"
	"github.com/goestimator/goestimator/internal/imported/dataset"
	"github.com/goestimator/goestimator/internal/imported/queue"
	"github.com/goestimator/goestimator/tensor"
)

// readerOps read records from the files that queues name. They may wait for the queue.
var readerOps = readerTable()

func readerTable() map[*ops.Def]maker {
	all := map[*ops.Def]maker{}
	both := func(op, v2 *ops.Def, m maker) { all[op], all[v2] = m, m }
	both(ops.TFRecordReader, ops.TFRecordReaderV2, makeReader(func(s *site) opener {
		compression := s.str("compression_type", "")
		return func(c call, work string) (dataset.Records, error) {
			return c.recordFile(work, compression).TFRecords(c.open())
		}
	}))
	both(ops.TextLineReader, ops.TextLineReaderV2, makeReader(func(s *site) opener {
		skip := s.count("skip_header_lines", 0, math.MaxInt32)
		return func(c call, work string) (dataset.Records, error) {
			r, err := c.recordFile(work, "").Lines(c.open(), dataset.DropLastReturns)
			for i := 0; i < skip && err == nil; i++ {
				if _, err = r.Next(); err == io.EOF {
					return r, nil
				}
			}
			return r, err
		}
	}))
	both(ops.FixedLengthRecordReader, ops.FixedLengthRecordReaderV2, makeReader(func(s *site) opener {
		fixed := dataset.Fixed{Header: int64(s.node.Int("header_bytes", 0)), Record: int64(s.node.Int("record_bytes", 0)), Footer: int64(s.node.Int("footer_bytes", 0)), Hop: int64(s.node.Int("hop_bytes", 0))}
		compression := s.str("encoding", "")
		return func(c call, work string) (dataset.Records, error) {
			return c.recordFile(work, compression).FixedLength(c.open(), fixed)
		}
	}))
	both(ops.WholeFileReader, ops.WholeFileReaderV2, makeReader(func(*site) opener {
		return func(c call, work string) (dataset.Records, error) {
			b, err := c.readFile(work)
			return &oneRecord{b: b}, err
		}
	}))
	both(ops.IdentityReader, ops.IdentityReaderV2, makeReader(func(*site) opener {
		return func(_ call, work string) (dataset.Records, error) { return &oneRecord{b: []byte(work)}, nil }
	}))
	both(ops.ReaderRead, ops.ReaderReadV2, plain(readOne))
	both(ops.ReaderReadUpTo, ops.ReaderReadUpToV2, plain(readUpTo))
	both(ops.ReaderReset, ops.ReaderResetV2, plain(func(c call) error {
		r, err := c.reader()
		if err == nil {
			err = r.reset(c.ctx)
		}
		return err
	}))
	both(ops.ReaderNumRecordsProduced, ops.ReaderNumRecordsProducedV2, plain(func(c call) error {
		return c.counted(func(r *reader) int64 { return r.records })
	}))
	both(ops.ReaderNumWorkUnitsCompleted, ops.ReaderNumWorkUnitsCompletedV2, plain(func(c call) error {
		return c.counted(func(r *reader) int64 { return r.finished })
	}))
	return all
}

// opener opens the records of a piece of work: a file.
type opener func(c call, work string) (dataset.Records, error)

func (c call) recordFile(path, compression string) dataset.RecordFile {
	return dataset.RecordFile{Path: path, Compression: compression, Limit: c.recordLimit()}
}

// recordLimit returns the maximum bytes of a record, which is paid for once it is read: a quarter of the server's memory.
func (c call) recordLimit() int {
	limit := c.env.limit()
	if most := c.env.Payer.Account.Server().Most(); most > 0 {
		limit = int(min(int64(limit), most/4))
	}
	return limit
}

// oneRecord implements Records with one record, whose key is the work itself.
type oneRecord struct {
	b    []byte
	done bool
}

func (r *oneRecord) Next() ([]byte, error) {
	if r.done {
		return nil, io.EOF
	}
	r.done = true
	return r.b, nil
}

func (*oneRecord) Position() int64 { return -1 }

func (*oneRecord) Close() error { return nil }

// reader is a reader shared by steps.
type reader struct {
	open opener
	turn chan struct{} // full while a step reads

	mu       sync.Mutex
	work     string
	in       dataset.Records // nil: the next piece of work comes from the queue
	records  int64
	finished int64
}

var _ lasting = (*reader)(nil)

// Close implements lasting.
func (r *reader) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end()
}

// end forgets the present work. The mutex is held.
func (r *reader) end() {
	if r.in != nil {
		_ = r.in.Close()
		r.in = nil
	}
}

func makeReader(open func(s *site) opener) maker {
	return func(s *site) (kernel, error) {
		at, opens := s.place(), open(s)
		return func(c call) error {
			if c.env == nil || c.env.Resources == nil {
				return errors.New("readers need Env.Resources")
			}
			c.out[0].Resource = c.env.Resources.lasting(c.env, at, func() lasting { return &reader{open: opens, turn: make(chan struct{}, 1)} })
			return nil
		}, nil
	}
}

func (c call) reader() (*reader, error) {
	r, ok := c.in[0].Resource.(*reader)
	if !ok {
		return nil, fmt.Errorf("expected a reader, got %T", c.in[0].Resource)
	}
	return r, nil
}

func (c call) counted(n func(r *reader) int64) error {
	r, err := c.reader()
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c.set(0, tensor.Scalar(n(r)))
	return nil
}

// wait waits for the reader's turn.
func (r *reader) wait(ctx context.Context) (done func(), err error) {
	select {
	case r.turn <- struct{}{}:
		return func() { <-r.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (r *reader) reset(ctx context.Context) error {
	done, err := r.wait(ctx)
	if err != nil {
		return err
	}
	defer done()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end()
	r.work, r.records, r.finished = "", 0, 0
	return nil
}

// next returns the next record and its key, io.EOF at the end of a piece of work.
func (r *reader) next(c call) (key string, record []byte, err error) {
	if err := r.begin(c); err != nil {
		return "", nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.in == nil {
		return "", nil, io.EOF
	}
	b, err := r.in.Next()
	if err != nil {
		r.end()
		if err == io.EOF {
			r.finished++
		}
		return "", nil, err
	}
	r.records++
	if at := r.in.Position(); at >= 0 {
		return fmt.Sprintf("%s:%d", r.work, at), b, nil
	}
	return r.work, b, nil
}

// begin takes work out of the queue if there is none.
func (r *reader) begin(c call) error {
	r.mu.Lock()
	has := r.in != nil
	r.mu.Unlock()
	if has {
		return nil
	}
	q, ok := c.in[1].Resource.(*queue.Queue)
	if !ok {
		return fmt.Errorf("expected a queue, got %T", c.in[1].Resource)
	}
	e, err := q.Dequeue(c.ctx, 1, false)
	if err != nil {
		return err
	}
	if len(e) != 1 || len(e[0]) != 1 || e[0][0].DType != tensor.String || e[0][0].Len() != 1 {
		return errors.New("expected a queue of one string in each element")
	}
	work := string(e[0][0].Strings[0])
	in, err := r.open(c, work)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.in, r.work = in, work
	return nil
}

func readOne(c call) error {
	r, err := c.reader()
	if err != nil {
		return err
	}
	done, err := r.wait(c.ctx)
	if err != nil {
		return err
	}
	defer done()
	for {
		key, record, err := r.next(c)
		if err == io.EOF {
			continue
		}
		if err != nil {
			return err
		}
		c.set(0, textScalar(key))
		c.set(1, textScalar(string(record)))
		return nil
	}
}

// readUpTo reads until it has enough records, or until a piece of work ends that had some.
func readUpTo(c call) error {
	r, err := c.reader()
	if err != nil {
		return err
	}
	n, err := integer("num_records", c.t(2))
	if err != nil {
		return err
	}
	if n <= 0 {
		return errors.New("num_records must be positive")
	}
	done, err := r.wait(c.ctx)
	if err != nil {
		return err
	}
	defer done()
	var keys, records [][]byte
	room := c.textRoom()
	for len(records) < n {
		key, record, err := r.next(c)
		if err == io.EOF && len(records) == 0 {
			continue
		}
		if err == io.EOF {
			break
		}
		if err == nil {
			err = room.take(len(key) + len(record) + 2*stringHeader)
		}
		if err != nil {
			return err
		}
		keys, records = append(keys, []byte(key)), append(records, record)
	}
	c.set(0, &tensor.Tensor{DType: tensor.String, Shape: []int{len(keys)}, Strings: keys})
	c.set(1, &tensor.Tensor{DType: tensor.String, Shape: []int{len(keys)}, Strings: records})
	return nil
}
