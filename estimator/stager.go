package estimator

import (
	"github.com/apache/arrow/go/v15/arrow"
	"github.com/goestimator/goestimator/inputs"
	"github.com/goestimator/goestimator/internal/distribute"
	"github.com/goestimator/goestimator/models"
	"github.com/goestimator/goestimator/tensor"
)

// stager turns the records of one step, one per local replica, into batches of tensors.
// It keeps the records for as long as the step needs their memory.
type stager struct {
	schema  *inputs.Schema
	feeds   []fed
	readers []*inputs.TensorReader
	staged  []distribute.Batch
	ragged  [][]raggedTensors // by replica and feed
	records []arrow.Record
	need    raggedSizes // the capacity that the program needs; nil: it suffices
}

// fed is the source of a feed.
type fed struct {
	column  int         // of the schema
	encoder *Encoder    // nil: the column as it is
	ragged  *raggedFeed // of a ragged column, which makes two feeds; else nil
}

func newStager(schema *inputs.Schema, feeds []fed, replicas int) *stager {
	s := &stager{schema: schema}
	for range replicas {
		s.readers = append(s.readers, inputs.NewTensorReader(schema))
	}
	s.staged = make([]distribute.Batch, replicas)
	s.ragged = make([][]raggedTensors, replicas)
	s.setFeeds(feeds)
	return s
}

// setFeeds sets the feeds of the batches that follow.
func (s *stager) setFeeds(feeds []fed) {
	s.feeds = feeds
	for n := range s.staged {
		b := &s.staged[n]
		s.ragged[n], b.Feeds = make([]raggedTensors, len(feeds)), nil
		for i, f := range feeds {
			switch {
			case f.ragged != nil:
				b.Feeds = append(b.Feeds, &s.ragged[n][i].values, &s.ragged[n][i].offsets)
			case f.encoder != nil:
				b.Feeds = append(b.Feeds, &tensor.Tensor{})
			default:
				b.Feeds = append(b.Feeds, nil)
			}
		}
	}
}

// full reports whether every replica has a batch.
func (s *stager) full() bool { return len(s.records) == len(s.readers) }

// add stages a record and takes ownership of it, even if it fails.
func (s *stager) add(rec arrow.Record) error {
	s.records = append(s.records, rec)
	return s.stage(len(s.records) - 1)
}

// drop forgets the record that was added last.
func (s *stager) drop() {
	last := len(s.records) - 1
	s.records[last].Release()
	s.records = s.records[:last]
}

// again stages all records again.
func (s *stager) again() error {
	s.need = nil
	for n := range s.records {
		if err := s.stage(n); err != nil {
			return err
		}
	}
	return nil
}

// stage stages the batch of record n.
func (s *stager) stage(n int) error {
	rec := s.records[n]
	tensors, err := s.readers[n].Read(rec)
	if err != nil {
		return err
	}
	b := &s.staged[n]
	b.Rows = int(rec.NumRows())
	at := 0
	for i, f := range s.feeds {
		switch {
		case f.ragged != nil:
			need, err := f.ragged.stage(&s.ragged[n][i], tensors, b.Rows)
			if err != nil {
				return err
			}
			if need.Capacity > f.ragged.Capacity || need.Length > f.ragged.Length {
				s.need = s.need.raise(map[string]models.RaggedSize{f.ragged.Name: need})
			}
			at++
		case f.encoder != nil:
			if err := f.encoder.run(b.Feeds[at], tensors[f.column], b.Rows); err != nil {
				return err
			}
		default:
			b.Feeds[at] = tensors[f.column].Tensor
		}
		at++
	}
	return nil
}

// batches are the batches staged so far.
func (s *stager) batches() []distribute.Batch { return s.staged[:len(s.records)] }

// release releases the records.
func (s *stager) release() {
	for i, r := range s.records {
		r.Release()
		s.records[i] = nil
	}
	s.records, s.need = s.records[:0], nil
}
