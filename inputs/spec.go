package inputs

import (
	"fmt"
	"strings"
)

// Spec is one input pipeline: a source, or several inputs combined, and the steps for its rows. The steps run in this
// order: split, shard, skip, take, transforms, shuffle, repeat, batch, scale, augment, prefetch. With transforms,
// workers that share rows (not files) share them after the transforms.
type Spec struct {
	// The source of the rows: glyphs (built-in procedural digits), idx, cifar10, csv, parquet, arrow, jsonl (one JSON object per line), tfrecord (records of tf.train.Example), images (one folder per class), audio (WAV files, one folder per class), npy (one NumPy array per column), npz (an archive of such arrays), sql (the rows of a query), flight (the rows of an Arrow Flight service), or a registered input_fn. Leave it out if zip, concat, interleave or mix is set. Empty: no input.
	Format string `yaml:"format,omitempty"`
	// Inputs to combine row by row: each row has the columns of all of them. The rows end with the shortest input. Each entry has the keys of an input up to repeat.
	Zip []Spec `yaml:"zip,omitempty"`
	// Inputs to read one after another. All have the same columns, as in interleave and mix.
	Concat []Spec `yaml:"concat,omitempty"`
	// Inputs to read in turns.
	Interleave []Spec `yaml:"interleave,omitempty"`
	// Inputs to mix: for each row, one of them is drawn at random.
	Mix []Spec `yaml:"mix,omitempty"`
	// mix: how often each input is drawn, in any unit. Default: equally often.
	Weights []float64 `yaml:"weights,omitempty"`
	// interleave: number of inputs that are open at a time. When one ends, the next takes its place. 0: all.
	Cycle int `yaml:"cycle,omitempty"`
	// interleave: number of rows per turn. 0: 1.
	Block int `yaml:"block,omitempty"`
	// The files of cifar10, csv, parquet, arrow, jsonl, tfrecord, npy and npz: names, globs (** matches any number of folders), or folders, which mean all files below them. images, audio: the folder. csv, jsonl, arrow: also -, standard input, which can be read once. A single name needs no list. files, images and labels may be URLs of objects, such as s3://bucket/train-*.csv, and gs:// and azblob:// if the binary includes them. Files packed with gzip, zstd or bzip2 are unpacked while they are read.
	Files []string `yaml:"files,omitempty"`
	// idx: file of the images. In all image formats the feature is named image, and the label is named label.
	Images string `yaml:"images,omitempty"`
	// idx: file of the labels. Not needed for prediction.
	Labels string `yaml:"labels,omitempty"`
	// images, audio: names of the class folders, in the order of the labels. Predictions have these names, too. Default: all folders, sorted; eval.input and predict.input take the classes of train.input.
	Classes []string `yaml:"classes,omitempty"`
	// Local folder that keeps parts of remote objects for later passes and runs. Relative to the working directory. Empty: none.
	Cache string `yaml:"cache,omitempty"`
	// Largest size of the cache folder in MiB. The least recently used parts are dropped first. 0: 10240.
	CacheMB int `yaml:"cache_mb,omitempty"`
	// images: height and width to which all images are resized. Default: the size of the first image, which all others must have.
	ImageSize []int `yaml:"image_size,omitempty"`
	// images: 1 (grey) or 3. 0: 3. audio: number of channels of a sound. 0: as many as the first sound has.
	Channels int `yaml:"channels,omitempty"`
	// audio: number of samples per channel. Shorter sounds are padded with zeros, longer ones are cut. 0: as many as the first sound has, which all others must have.
	Samples int `yaml:"samples,omitempty"`
	// audio: samples per second. Sounds of another rate are resampled by linear interpolation. 0: the rate of the first sound, which all others must have.
	SampleRate int `yaml:"sample_rate,omitempty"`
	// What to do with a row that cannot be read. fail: end with an error. skip: leave the row out and count it (csv, jsonl, parquet, arrow, tfrecord, sql, flight, npy, npz; also images and audio, which are then all decoded once beforehand). A truncated file is always an error. Default: fail.
	OnError string `yaml:"on_error,omitempty"`
	// on_error skip: number of rows that may be left out. One more is an error. 0: any number.
	MaxErrors int64 `yaml:"max_errors,omitempty"`
	// How a job continues from a checkpoint if its rows come only once (standard input) or may differ each time (sql, flight). error: fail. skip: the same rows come again, so leave out as many as were read. restart: continue with the rows that come. Default: error.
	Resume string `yaml:"resume,omitempty"`
	// The columns. csv: all columns, in the order of the file; with header, the columns to read. npy: one per file, in the order of files. parquet, arrow, jsonl, tfrecord, npz, sql, flight: the columns to read.
	Columns []ColumnSpec `yaml:"columns,omitempty"`
	// csv: the first row contains names, by which the columns are found.
	Header bool `yaml:"header,omitempty"`
	// csv: the character between two cells; or tab; or whitespace, which is any number of spaces and tabs, as in aligned columns.
	Delimiter string `yaml:"delimiter"`
	// csv: cells that mean a missing value, besides the empty cell.
	MissingValues []string `yaml:"missing_values,omitempty"`
	// csv: the decimal mark of float32 and float64 columns, "." or ",". With a comma, points group digits: 1.234,5. Empty: ".".
	Decimal string `yaml:"decimal,omitempty"`
	// csv: the character at the beginning of lines to skip. Empty: none.
	Comment string `yaml:"comment,omitempty"`
	// sql: the database and the query.
	SQL SQLSpec `yaml:"sql,omitempty"`
	// flight: the service and the request.
	Flight FlightSpec `yaml:"flight,omitempty"`
	// Parameters of a registered input_fn. Keys are converted to lower case and split at dots.
	Params map[string]any `yaml:"params,omitempty"`
	// glyphs: number of examples. 0: endless.
	Count int64 `yaml:"count,omitempty"`

	// Keeps only a part of the rows, so that one file serves for training and evaluation.
	Split SplitSpec `yaml:"split,omitempty"`
	// How workers share the rows. auto: by files if there are enough, otherwise by rows. files: by files. rows: by rows. off: each worker sees all rows.
	Shard string `yaml:"shard"`
	// Number of rows to leave out at the start.
	Skip int64 `yaml:"skip,omitempty"`
	// Number of rows to keep. 0: all.
	Take int64 `yaml:"take,omitempty"`
	// Steps that change the rows before shuffle, in the given order.
	Transforms []TransformSpec `yaml:"transforms,omitempty"`
	// Number of rows in the shuffle buffer. 0: rows keep the order of the files.
	Shuffle int `yaml:"shuffle,omitempty"`
	// Repeat the data without end.
	Repeat bool `yaml:"repeat,omitempty"`
	// Passes over the data; wins over Repeat where it is positive.
	Epochs int `yaml:"-"`
	// Divisor of numeric features, for example 255 for the bytes of an image. 0: none.
	Scale float64 `yaml:"scale,omitempty"`
	// Subtracted from numeric features after scaling: one value, or one per entry of their last dimension (channel).
	Mean []float64 `yaml:"mean,omitempty"`
	// Divisor after mean is subtracted: as many values as mean.
	Std []float64 `yaml:"std,omitempty"`
	// Random changes to images, in training only.
	Augment AugmentSpec `yaml:"augment,omitempty"`
	// Number of examples per batch of the whole job. Each worker takes its share.
	BatchSize int `yaml:"batch_size"`
	// Makes batches of rows of similar length, in place of batch_size. Prediction uses batch_size.
	Buckets BucketSpec `yaml:"buckets,omitempty"`
	// Makes batches of rows with the same value in a column, in place of batch_size. Prediction uses batch_size.
	Group GroupSpec `yaml:"group,omitempty"`
	// Leave out the last batch if it is not full.
	DropRemainder bool `yaml:"drop_remainder,omitempty"`
	// Number of batches to prepare ahead. -1: 2 at first, and more if training still waits, up to 16 batches and 64 MiB (or memory_mb). 0: none.
	Prefetch int `yaml:"prefetch"`
	// Largest size in MiB of the rows that a pass holds ahead of training: batches prepared ahead, blocks of files, and the shuffle buffer of a stream. Steps wait while it is used up. A shuffle buffer that needs more is an error. Shuffled files of up to 64 MiB in total are kept in memory whole; it is an error if they need more. 0: no bound.
	MemoryMB int `yaml:"memory_mb,omitempty"`
	// Number of goroutines that prepare batches. The order of the batches does not depend on it. 0: one per core.
	Parallelism int `yaml:"parallelism,omitempty"`
}

// GroupSpec makes batches of rows with the same value in a column, in place of batch_size.
type GroupSpec struct {
	// The column: text or whole numbers.
	Column string `yaml:"column,omitempty"`
	// Number of examples per batch of the whole job. Each worker takes its share. At the end, the remaining rows of each value make a smaller batch.
	Size int `yaml:"size,omitempty"`
}

// SplitSpec keeps a part of the rows, the same part in every run. Set at most one of stratify, group and time. Without
// them row i is in fold i mod folds, so that folds are balanced even if rows are sorted by class. In Go, see [Folding].
type SplitSpec struct {
	// Number of folds. 0: no split.
	Folds int `yaml:"folds,omitempty"`
	// The fold to hold out for evaluation, counted from 0.
	HeldOut int `yaml:"held_out,omitempty"`
	// The rows to keep. train: all folds but the held-out one. eval: only the held-out fold.
	Part string `yaml:"part,omitempty"`
	// A column of classes. Each fold has about the same class proportions as the whole data. stratify, group and time may name a column with role: ignore.
	Stratify string `yaml:"stratify,omitempty"`
	// A column whose equal values stay in one fold, for example patients.
	Group string `yaml:"group,omitempty"`
	// A column of times (numbers, or dates such as 2006-01-02), or file_order for the order of the rows. The rows are divided into folds+1 consecutive blocks; fold i holds out block i+1 and trains on the blocks before it.
	Time string `yaml:"time,omitempty"`
}

// Folding returns the split as a Folding.
func (s SplitSpec) Folding() Folding {
	return Folding{Folds: s.Folds, Stratify: s.Stratify, Group: s.Group, Time: s.Time}
}

// AugmentSpec lists random changes to images, for training.
type AugmentSpec struct {
	// Number of zero pixels to add on each side, before a random crop to the original size.
	CropPadding int `yaml:"crop_padding,omitempty"`
	// Mirror left and right with probability 1/2.
	Flip bool `yaml:"flip,omitempty"`
	// Rotate by a random angle of up to this many degrees, in either direction.
	Rotate float64 `yaml:"rotate,omitempty"`
	// Multiply pixels by a random factor of 1 plus or minus up to this fraction, 0 to 1.
	Brightness float64 `yaml:"brightness,omitempty"`
	// Multiply each pixel's distance from the mean of its channel by a random factor of 1 plus or minus up to this fraction, 0 to 1.
	Contrast float64 `yaml:"contrast,omitempty"`
	// Multiply each pixel's distance from grey by a random factor of 1 plus or minus up to this fraction, 0 to 1. For images of 3 channels.
	Saturation float64 `yaml:"saturation,omitempty"`
	// Side in pixels of a square of zeros at a random place.
	Cutout int `yaml:"cutout,omitempty"`
	// RandAugment: number of operations to draw for each image of type uint8. They are applied before scale. The operations are identity, auto contrast, equalize, rotate, solarize, color, posterize, contrast, brightness, sharpness, and shear and translate by x and by y.
	RandAugment int `yaml:"rand_augment,omitempty"`
	// RandAugment: strength of the operations, 0 to 30. Default: 9.
	Magnitude int `yaml:"magnitude,omitempty"`
	// Mixup: alpha, for example 0.2. Pairs of examples of a batch are blended, including their labels, with weights drawn from Beta(alpha, alpha). For images, and for features and labels that are floats.
	Mixup float64 `yaml:"mixup,omitempty"`
	// CutMix: alpha, for example 1. A box of each image is taken from another image of the batch, and labels are mixed by its area. With mixup, each batch gets one of the two.
	CutMix float64 `yaml:"cutmix,omitempty"`
	// Number of classes, if labels are class ids. mixup and cutmix turn ids into probabilities. Default: classes or n_classes of model.params.
	Classes int `yaml:"classes,omitempty"`
}

// DefaultSpec returns the spec of an empty section of a config file.
func DefaultSpec() Spec {
	return Spec{Delimiter: ",", Shard: "auto", BatchSize: 128, Prefetch: -1}
}

// formats are the known values of Spec.Format.
var formats = []string{"glyphs", "idx", "cifar10", "csv", "parquet", "arrow", "jsonl", "tfrecord", "images", "audio", "npy", "npz", "sql", "flight"}

// Formats returns the formats that Open reads.
func Formats() []string { return append(append([]string(nil), formats...), severalFormats...) }

func unknownFormat(name string) error {
	if name == "" {
		return fmt.Errorf("input has no format: set format to one of %s", strings.Join(Formats(), ", "))
	}
	return fmt.Errorf("unknown input format %q: expected one of %s", name, strings.Join(Formats(), ", "))
}
