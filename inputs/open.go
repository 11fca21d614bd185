package inputs

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"github.com/goestimator/goestimator/internal/runtime/splitmix"
)

// cacheBytes is the largest size of files that are kept in
// memory to be shuffled: parsed once, shuffled by row number.
const cacheBytes = 64 << 20

// Open returns one pipeline's share of the data set that spec describes.
// In mode Predict labels are neither needed nor read, and the rows keep their
// order; augmentation is only for Train.
func Open(ctx context.Context, spec Spec, ic Context) (Dataset, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	spec = spec.resolved(ic)
	if err := spec.checkPipeline().Err(); err != nil {
		return nil, err
	}
	if err := ic.validate(); err != nil {
		return nil, err
	}
	ic.GlobalBatch = spec.BatchSize
	batch, err := spec.batches(ic)
	if err != nil {
		return nil, err
	}
	ds, err := spec.rows(ctx, ic)
	if err != nil {
		return nil, err
	}
	out := adopt(Pipe(ds, append([]Transform{batch}, spec.prepare(ic)...)...))
	return out, out.err
}

// rows returns the rows of the input, before batches are made of them.
func (s Spec) rows(ctx context.Context, ic Context) (Dataset, error) {
	s, dropped := s.withSplitColumn()
	source := ic
	if by := s.Split.Folding().column(); by != "" && (s.isLabel(by) || len(s.AllColumns()) == 0 || s.ofFolders()) {
		source.labeled = true // labels decide the fold of a row
	}
	ds, files, shardRows, err := s.open(ctx, source)
	if err != nil {
		return nil, err
	}
	if len(ds.Schema().columns) == 0 {
		return nil, fmt.Errorf("no column of %s is read: name at least one feature under columns", baseNames(files))
	}
	later := shardRows && len(s.Transforms) > 0 // transforms depend on the order of all rows
	steps := s.selectRows(ic, shardRows && !later)
	if rest := remaining(ds.Schema(), dropped, ic.unlabeled()); len(rest) < len(ds.Schema().columns) {
		steps = append(steps, Project(rest...))
	}
	steps = append(steps, s.transforms(ic)...)
	if later {
		steps = append(steps, Shard(ic.Pipeline, ic.NumPipelines))
	}
	if s.Shuffle > 0 && ic.Mode != Predict {
		if s.cached(ctx, files) {
			steps = append(steps, Cache())
		}
		steps = append(steps, Shuffle(s.Shuffle, ic.Seed))
	}
	if s.Epochs > 0 {
		steps = append(steps, Repeat(s.Epochs))
	} else if s.Repeat && ic.Mode != Predict {
		steps = append(steps, Repeat(0))
	}
	out := Pipe(ds, steps...)
	return out, adopt(out).err
}

// cached reports whether a shuffle keeps the rows in memory: only those of small files without transforms. Transforms may make many more rows, or different
// ones in each epoch; images are decoded when they are read, and glyphs need not end.
func (s Spec) cached(ctx context.Context, files []string) bool {
	return !s.live() && len(s.Inputs()) == 0 && len(s.Transforms) == 0 && !s.ofFolders() && s.Format != "glyphs" && totalSize(ctx, files) <= cacheBytes
}

// open returns the rows of the source or of several inputs, its files, and whether the pipelines must share rows.
func (s Spec) open(ctx context.Context, ic Context) (ds Dataset, files []string, shardRows bool, err error) {
	if len(s.Inputs()) > 0 {
		ds, shardRows, err = s.openSeveral(ctx, ic)
		return ds, nil, shardRows, err
	}
	switch {
	case s.Format == "sql":
		ds, shardRows, err = s.query(ctx, ic)
		return ds, []string{"the query"}, shardRows, err
	case s.Format == "flight":
		ds, shardRows, err = s.flight(ctx, ic)
		return ds, []string{s.Flight.what()}, shardRows, err
	case s.live():
		ds, err = s.stream(ctx, ic)
		return ds, s.Files, false, err
	}
	ctx = s.cacheObjects(ctx)
	if files, err = s.expand(ctx); err != nil {
		return nil, nil, false, err
	}
	all := files
	files, shardRows = s.share(files, ic)
	ds, err = s.source(ctx, files, all, ic)
	return ds, files, shardRows, err
}

func (s Spec) expand(ctx context.Context) ([]string, error) {
	switch s.Format {
	case "glyphs", "sql", "flight":
		return nil, nil
	case "idx":
		return []string{s.Images}, nil
	case "images", "audio":
		return s.Files, nil
	case "cifar10", "csv", "parquet", "arrow", "jsonl", "tfrecord", "npy", "npz":
		if s.live() {
			return s.Files, nil
		}
		return expandAll(ctx, s.Files)
	}
	return nil, unknownFormat(s.Format)
}

// share returns the files of this pipeline, and whether it must also share the
// rows.
func (s Spec) share(files []string, ic Context) ([]string, bool) {
	n := ic.NumPipelines
	if n <= 1 || s.Shard == "off" {
		return files, false
	}
	// Positions of rows must not depend on which worker reads which file.
	byFile := s.Shard == "files" || (s.Shard != "rows" && !s.byPositions())
	if s.Format == "idx" || s.ofFolders() || s.Format == "npy" || len(files) < n || !byFile {
		return files, true
	}
	return fileShare{ic.Pipeline, n}.of(files), false
}

// source opens files, this pipeline's share of all.
func (s Spec) source(ctx context.Context, files, all []string, ic Context) (Dataset, error) {
	unlabeled := ic.unlabeled()
	damaged := s.damaged(ic)
	arrow := ArrowOptions{Columns: s.Columns, Unlabeled: unlabeled, Partitions: all, Damaged: damaged, Allocator: ic.Allocator}
	switch s.Format {
	case "glyphs":
		return Glyphs(glyphSeed(ic), s.Count, ic.Allocator)
	case "idx":
		if s.Labels == "" && !unlabeled {
			return nil, fmt.Errorf("format idx needs the file of the labels: set labels")
		}
		f := IDXFiles{Images: s.Images, Labels: s.Labels}
		if unlabeled {
			f.Labels = ""
		}
		return openIDX(ctx, f, ic.Allocator)
	case "cifar10":
		return openCIFAR10(ctx, files, ic.Allocator)
	case "images":
		return s.images(ctx, ic)
	case "audio":
		return s.audio(ctx, ic)
	case "csv":
		return openCSV(ctx, files, s.csv(ic, damaged))
	case "parquet":
		return openRecords(ctx, "parquet", files, arrow, openParquet)
	case "arrow":
		return openRecords(ctx, "arrow", files, arrow, openArrow)
	case "jsonl":
		return openJSONL(ctx, files, arrow)
	case "tfrecord":
		return recordsOfTFRecord(ctx, files, arrow)
	case "npy", "npz":
		return arraysOf(ctx, s.Format, files, arrow)
	}
	return nil, unknownFormat(s.Format)
}

// csv returns the options of format csv.
func (s Spec) csv(ic Context, damaged *Damaged) CSVOptions {
	return CSVOptions{Columns: s.Columns, Header: s.Header, Delimiter: s.Delimiter, MissingValues: s.MissingValues,
		Comment: s.Comment, Decimal: s.Decimal, Unlabeled: ic.unlabeled(), Damaged: damaged, Allocator: ic.Allocator}
}

// withSplitColumn reads the ignored column by which rows are split, if there is one. dropped is its name, "" if no column has to be dropped later.
func (s Spec) withSplitColumn() (out Spec, dropped string) {
	name := s.Split.Folding().column()
	at := slices.IndexFunc(s.Columns, func(c ColumnSpec) bool { return c.Name == name })
	s.Columns = slices.Clone(s.Columns)
	switch {
	case name == "" || at >= 0 && s.Columns[at].Role != Ignore:
		return s, ""
	case at >= 0:
		s.Columns[at] = s.Columns[at].Kept(s.Format)
	case len(s.Columns) > 0 && (s.Format == "parquet" || s.Format == "arrow"):
		s.Columns = append(s.Columns, ColumnSpec{Name: name, Role: Feature})
	default:
		return s, ""
	}
	return s, name
}

// remaining returns the names of the columns that the model gets.
func remaining(s *Schema, dropped string, unlabeled bool) []string {
	var names []string
	for _, c := range s.columns {
		if c.Name != dropped && !(unlabeled && c.Role == Label) {
			names = append(names, c.Name)
		}
	}
	return names
}

// glyphSeed gives training and evaluation different glyphs.
func glyphSeed(ic Context) int64 {
	if ic.Mode == Train {
		return ic.Seed
	}
	return int64(splitmix.Mix(uint64(ic.Seed), 0xe7a1))
}

// selectRows returns the steps that select rows by position.
func (s Spec) selectRows(ic Context, shardRows bool) []Transform {
	var steps []Transform
	if s.Split.Folds > 0 {
		steps = append(steps, s.Split.Folding().Keep(s.Split.HeldOut, s.Split.Part == "eval"))
	}
	if shardRows {
		steps = append(steps, Shard(ic.Pipeline, ic.NumPipelines))
	}
	if s.Skip > 0 {
		steps = append(steps, Skip(s.Skip))
	}
	if s.Take > 0 {
		steps = append(steps, Take(s.Take))
	}
	return steps
}

// prepare returns the steps after Batch.
func (s Spec) prepare(ic Context) []Transform {
	var maps []Mapper
	g := s.Augment
	if ic.Mode != Train {
		g = AugmentSpec{}
	}
	if g.RandAugment > 0 {
		maps = append(maps, RandAugment(RandAugmentation{Ops: g.RandAugment, Magnitude: cmp.Or(g.Magnitude, defaultMagnitude), Seed: ic.Seed}))
	}
	if s.Scale != 0 || len(s.Mean) > 0 {
		maps = append(maps, Normalize(Normalization{Except: s.ids(), Scale: s.Scale, Mean: s.Mean, Std: s.Std}))
	}
	if a := g.images(ic.Seed); a != (Augmentation{Seed: ic.Seed}) {
		maps = append(maps, Augment(a))
	}
	if g.Mixes() {
		maps = append(maps, Mixing{Mixup: g.Mixup, CutMix: g.CutMix, Classes: g.Classes, Seed: ic.Seed}.Mapper())
	}
	var steps []Transform
	if len(maps) > 0 {
		workers := s.Parallelism
		if workers == 0 {
			workers = runtime.GOMAXPROCS(0)
		}
		steps = append(steps, ParallelMap(Compose(maps...), workers))
	}
	ahead := Prefetch(s.Prefetch)
	if s.Prefetch < 0 {
		ahead = AutoPrefetch()
	}
	if steps = append(steps, ahead); s.MemoryMB > 0 {
		steps = append(steps, MemoryLimit(int64(s.MemoryMB)<<20))
	}
	return steps
}

// images returns the random changes to single images.
func (g AugmentSpec) images(seed int64) Augmentation {
	return Augmentation{CropPadding: g.CropPadding, Flip: g.Flip, Rotate: g.Rotate, Brightness: g.Brightness,
		Contrast: g.Contrast, Saturation: g.Saturation, Cutout: g.Cutout, Seed: seed}
}

// ids returns the names of the numeric columns whose values are ids.
func (s Spec) ids() []string {
	var ids []string
	for _, c := range s.AllColumns() {
		if len(c.Vocabulary) > 0 || c.Kind == "categorical" {
			ids = append(ids, c.Name)
		}
	}
	return ids
}

// totalSize returns the size of all files. It ignores files whose size cannot be read: reading them will fail.
func totalSize(ctx context.Context, files []string) (total int64) {
	all, err := sizes(ctx, files)
	if err != nil {
		return math.MaxInt64
	}
	for _, n := range all {
		total += n
	}
	return total
}
