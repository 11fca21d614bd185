package estimator

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/graph"
)

// stager turns the records of one step, one per local replica, into batches of
// tensors. It keeps the records while the step needs their memory.
type stager struct {
	feeds   []fed
	readers []*inputs.TensorReader
	staged  []distribute.Batch
	records []arrow.Record
	rows    int
}

// fed says what a feed takes.
type fed struct {
	column  int      // of the schema
	encoder *Encoder // nil: the column as it is
}

func newStager(schema *inputs.Schema, feeds []fed, replicas int) *stager {
	s := &stager{feeds: feeds}
	for range replicas {
		s.readers = append(s.readers, inputs.NewTensorReader(schema))
		b := distribute.Batch{Feeds: make([]*graph.Tensor, len(feeds))}
		for i, f := range feeds {
			if f.encoder != nil {
				b.Feeds[i] = &graph.Tensor{}
			}
		}
		s.staged = append(s.staged, b)
	}
	return s
}

// full reports whether every replica has a batch.
func (s *stager) full() bool { return len(s.records) == len(s.readers) }

// add stages a record and takes it over, whether or not it fails.
func (s *stager) add(rec arrow.Record) error {
	n := len(s.records)
	s.records = append(s.records, rec)
	tensors, err := s.readers[n].Read(rec)
	if err != nil {
		return err
	}
	b := &s.staged[n]
	b.Rows = int(rec.NumRows())
	for i, f := range s.feeds {
		if f.encoder == nil {
			b.Feeds[i] = tensors[f.column].Tensor
			continue
		}
		if err := f.encoder.run(b.Feeds[i], tensors[f.column], b.Rows); err != nil {
			return err
		}
	}
	return nil
}

// batches are those staged so far.
func (s *stager) batches() []distribute.Batch { return s.staged[:len(s.records)] }

// release lets go of the records.
func (s *stager) release() {
	for i, r := range s.records {
		r.Release()
		s.records[i] = nil
	}
	s.records = s.records[:0]
}
