package inputs

import (
	"fmt"
	"strings"
)

// Spec describes a data set and its pipeline as a config file does. The steps
// come in this order: split, shard, skip, take, shuffle, repeat, batch, scale,
// augment, prefetch.
type Spec struct {
	Format        string       // glyphs, idx, cifar10, csv, parquet, arrow, jsonl or tfrecord
	Files         []string     // names or globs (cifar10, csv, parquet, arrow, jsonl, tfrecord)
	Images        string       // idx: file of the images
	Labels        string       // idx: file of the labels; may be "" to predict
	Columns       []ColumnSpec // csv: in the order of the file; else the ones to read
	Header        bool         // csv: the first row holds names
	Delimiter     string       // csv: between two cells; "" means a comma
	MissingValues []string     // csv: cells that mean a missing value, besides the empty one
	Comment       string       // csv: character that starts lines to pass over
	Count         int64        // glyphs: number of images; 0: endless

	Split  SplitSpec
	Shard  string // how pipelines share the rows: auto (or ""), files, rows, off
	Skip   int64  // rows left out at the start
	Take   int64  // rows kept; 0: all
	Repeat bool   // for ever
	Epochs int    // passes over the data; wins over Repeat where it is positive

	Shuffle int       // rows of the shuffle buffer; 0: the order of the files
	Scale   float64   // divisor of numeric features; 0: none
	Mean    []float64 // subtracted after scaling; one value or one for each channel
	Std     []float64 // divisor after that
	Augment AugmentSpec

	// BatchSize counts the examples of one step of all replicas in sync; each
	// takes its share. Context.GlobalBatch wins where it is set.
	BatchSize     int
	DropRemainder bool
	Prefetch      int // batches prepared ahead; -1: as many as serve, 0: none
	Parallelism   int // goroutines that prepare batches; 0: as many as there are cores
}

// SplitSpec keeps a part of the rows: row i belongs to fold i mod Folds.
type SplitSpec struct {
	Folds   int    // 0: no split
	HeldOut int    // the fold held out for evaluation, from 0
	Part    string // train: all folds but that one; eval: that one
}

// AugmentSpec names random changes to images, made in training only.
type AugmentSpec struct {
	CropPadding int  // zero pixels on each side before a random crop to the old size
	Flip        bool // mirror left and right with probability 1/2
}

// formats are the known values of Spec.Format.
var formats = []string{"glyphs", "idx", "cifar10", "csv", "parquet", "arrow", "jsonl", "tfrecord"}

// Formats returns the formats that Open reads.
func Formats() []string { return append([]string(nil), formats...) }

func unknownFormat(name string) error {
	if name == "" {
		return fmt.Errorf("input has no format: set format to one of %s", strings.Join(formats, ", "))
	}
	return fmt.Errorf("unknown input format %q: expected one of %s", name, strings.Join(formats, ", "))
}

// check reports settings that contradict each other or make no sense.
func (s Spec) check() error {
	switch {
	case s.Skip < 0 || s.Take < 0 || s.Count < 0:
		return fmt.Errorf("skip, take and count must not be negative, got %d, %d and %d", s.Skip, s.Take, s.Count)
	case s.Shuffle < 0:
		return fmt.Errorf("shuffle must not be negative, got %d: give the rows of its buffer, 0 for none", s.Shuffle)
	case s.Split.Folds != 0 && s.Split.Part != "train" && s.Split.Part != "eval":
		return fmt.Errorf("split.part must be train or eval, got %q", s.Split.Part)
	case s.Scale < 0:
		return fmt.Errorf("scale must be positive, got %g: it is a divisor, for example 255", s.Scale)
	case len(s.Std) > 0 && len(s.Mean) == 0:
		return fmt.Errorf("std is set without mean: give both")
	}
	switch s.Shard {
	case "", "auto", "files", "rows", "off":
		return nil
	}
	return fmt.Errorf("shard must be auto, files, rows or off, got %q", s.Shard)
}
