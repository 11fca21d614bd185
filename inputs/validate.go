package inputs

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/goestimator/goestimator/runconfig/violation"
)

// maxBatch bounds batches, so that a typing error does not take all memory.
const maxBatch = 1 << 24

// Complete fills in missing kinds and roles of columns.
func (s *Spec) Complete() {
	s.Columns = slices.Clone(s.Columns)
	for i := range s.Columns {
		s.Columns[i].complete()
	}
	s.completeSeveral()
}

// resolved returns the spec as Open uses it: complete, with defaults for keys that must not be
// empty.
func (s Spec) resolved(ic Context) Spec {
	s.Complete()
	s = s.EachInput(Spec.textual)
	s.Delimiter, s.Shard = cmp.Or(s.Delimiter, DefaultSpec().Delimiter), cmp.Or(s.Shard, DefaultSpec().Shard)
	s.BatchSize = cmp.Or(ic.GlobalBatch, s.BatchSize)
	return s
}

// textual gives categorical columns of files without types the type string.
func (s Spec) textual() Spec {
	s.Columns = slices.Clone(s.Columns)
	for i, c := range s.Columns {
		if c.textual(s.Format) {
			s.Columns[i].DType = "string"
		}
	}
	return s
}

// Validate reports all invalid values in a complete spec, by the keys of
// the config file. It does not check the names of formats: a command line may know more.
func (s Spec) Validate() error {
	vs := s.checkPipeline()
	for i, c := range s.Columns {
		field := "columns[" + strconv.Itoa(i) + "]"
		vs.Include(field, c.validate())
		vs.Require(!c.Ragged || s.Format != "csv", field+".ragged", c.Ragged, "expected a shape instead, or format jsonl, tfrecord, parquet or arrow: csv has no lists")
	}
	seen := map[string]bool{}
	for i, c := range s.Columns {
		vs.Require(!seen[c.Name], "columns["+strconv.Itoa(i)+"].name", c.Name, "expected a name that no other column has")
		seen[c.Name] = true
	}
	return vs.Err()
}

// checkPipeline reports errors except those of columns.
func (s Spec) checkPipeline() *violation.List {
	vs := &violation.List{}
	s.validateSource(vs)
	s.validateRows(vs)
	s.validateBatches(vs)
	s.Split.validate(vs)
	all := s
	all.Repeat, all.Take = false, 0
	vs.Require(s.Split.Time == "" || all.Ends(), "split.time", s.Split.Time, "expected none: the rows have no end")
	s.validateSeveral(vs)
	return vs
}

// Reading returns the input with a file, if its format reads files and it names none.
func (s Spec) Reading(file string) Spec {
	switch s.Format {
	case "idx":
		s.Images = cmp.Or(s.Images, file)
	case "cifar10", "csv", "parquet", "arrow", "jsonl", "tfrecord", "npy", "npz", "images", "audio":
		if len(s.Files) == 0 {
			s.Files = []string{file}
		}
	}
	return s
}

func (s Spec) validateSource(vs *violation.List) {
	switch s.Format {
	case "idx":
		vs.Require(s.Images != "", "images", s.Images, "expected the file of the images")
	case "images":
		s.validateImages(vs)
	case "audio":
		s.validateAudio(vs)
	case "cifar10", "csv", "parquet", "arrow", "jsonl", "tfrecord", "npy", "npz":
		vs.Require(len(s.Files) > 0, "files", s.Files, "expected at least one file name")
	}
	if slices.Contains([]string{"csv", "jsonl", "tfrecord"}, s.Format) {
		vs.Require(len(s.Columns) > 0, "columns", nil, "expected the columns of the file")
	}
	s.validateDamaged(vs)
	s.validateStream(vs)
	s.validateSQL(vs)
	s.validateFlight(vs)
	vs.Require(s.Cache == "" || !IsURL(s.Cache), "cache", s.Cache, "expected a folder of this machine")
	vs.Require(s.Cache == "" || !s.live() && len(s.Inputs()) == 0, "cache", s.Cache, "expected it for files alone: of several inputs, set it on each")
	vs.Require(s.CacheMB >= 0 && s.CacheMB < 1<<40, "cache_mb", s.CacheMB, "expected > 0, or 0 for 10240")
	vs.Require(s.CacheMB == 0 || s.Cache != "", "cache_mb", s.CacheMB, "expected none without cache, the folder")
	vs.Require(s.delimits(), "delimiter", s.Delimiter, "expected one character, tab or whitespace")
	vs.Require(s.Count >= 0, "count", s.Count, "expected >= 0")
}

// delimits reports whether the delimiter is valid.
func (s Spec) delimits() bool {
	switch s.Delimiter {
	case "whitespace", "tab", `\t`:
		return true
	}
	return utf8.RuneCountInString(s.Delimiter) == 1 && s.Delimiter != "\n" && s.Delimiter != `"`
}

func (s Spec) validateRows(vs *violation.List) {
	vs.OneOf("shard", s.Shard, "auto", "files", "rows", "off")
	vs.Require(s.Skip >= 0, "skip", s.Skip, "expected >= 0")
	vs.Require(s.Take >= 0, "take", s.Take, "expected > 0, or 0 for all")
	vs.Require(s.Shuffle >= 0, "shuffle", s.Shuffle, "expected >= 0")
	vs.Require(s.Scale >= 0, "scale", s.Scale, "expected > 0, or 0 for none")
	vs.Require(len(s.Mean) == len(s.Std) || len(s.Std) == 0, "std", s.Std, "expected as many values as mean")
	for i, x := range s.Std {
		vs.Require(x > 0, "std["+strconv.Itoa(i)+"]", x, "expected > 0")
	}
}

func (s Spec) validateBatches(vs *violation.List) {
	vs.Require(s.BatchSize > 0 && s.BatchSize <= maxBatch, "batch_size", s.BatchSize, fmt.Sprintf("expected 1 to %d", maxBatch))
	vs.Require(s.Prefetch >= -1, "prefetch", s.Prefetch, "expected >= 0, or -1 for as many as serve")
	vs.Require(s.MemoryMB >= 0 && s.MemoryMB < 1<<40, "memory_mb", s.MemoryMB, "expected > 0, or 0 for no bound")
	vs.Require(s.Parallelism >= 0, "parallelism", s.Parallelism, "expected >= 0")
	vs.Require(s.Augment.CropPadding >= 0, "augment.crop_padding", s.Augment.CropPadding, "expected >= 0")
	vs.Require(s.Augment.Rotate >= 0 && s.Augment.Rotate <= 180, "augment.rotate", s.Augment.Rotate, "expected 0 to 180")
	vs.Require(s.Augment.Brightness >= 0 && s.Augment.Brightness <= 1, "augment.brightness", s.Augment.Brightness, "expected 0 to 1")
	vs.Require(s.Augment.Contrast >= 0 && s.Augment.Contrast <= 1, "augment.contrast", s.Augment.Contrast, "expected 0 to 1")
	vs.Require(s.Augment.Saturation >= 0 && s.Augment.Saturation <= 1, "augment.saturation", s.Augment.Saturation, "expected 0 to 1")
	vs.Require(s.Augment.Cutout >= 0, "augment.cutout", s.Augment.Cutout, "expected >= 0")
	s.Augment.validateMixing(vs)
}

func (s SplitSpec) validate(vs *violation.List) {
	if s == (SplitSpec{}) {
		return
	}
	vs.Require(s.Folds >= 2, "split.folds", s.Folds, "expected >= 2")
	vs.Require(s.HeldOut >= 0 && s.HeldOut < max(s.Folds, 1), "split.held_out", s.HeldOut, "expected >= 0 and < folds")
	vs.OneOf("split.part", s.Part, "train", "eval")
	vs.Require(s.Group == "" || s.Stratify == "", "split.group", s.Group, "expected none beside stratify")
	vs.Require(s.Time == "" || s.Stratify == "" && s.Group == "", "split.time", s.Time, "expected none beside stratify and group")
}

func (s ColumnSpec) validate() error {
	vs := &violation.List{}
	vs.Require(s.Name != "", "name", s.Name, "expected a name")
	vs.OneOf("kind", s.Kind, "numeric", "categorical")
	vs.OneOf("dtype", s.DType, "", "float32", "float64", "int64", "string")
	vs.OneOf("role", string(s.Role), "feature", "label", "weight", "ignore")
	vs.Require(s.Kind != "numeric" || s.DType != "string" || s.Role == Ignore, "dtype", s.DType, "expected a number type for kind numeric")
	for i, n := range s.Shape {
		vs.Require(n > 0, "shape["+strconv.Itoa(i)+"]", n, "expected > 0")
	}
	if s.Ragged {
		vs.Require(len(s.Shape) == 0, "shape", s.Shape, "expected none: a ragged column is a list of any length")
		vs.Require(s.Default == nil, "default", s.Default, "expected none: a missing list of a ragged column is empty")
		vs.Require(s.Role != Weight, "role", string(s.Role), "expected feature or label for a ragged column")
	}
	seen := map[string]bool{}
	for _, word := range s.Vocabulary {
		vs.Require(!seen[word], "vocabulary", word, "expected each value once")
		seen[word] = true
	}
	return vs.Err()
}
